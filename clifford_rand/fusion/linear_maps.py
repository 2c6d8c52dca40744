"""Grades, involutions and duals of a traced multivector: each takes a blade to a multiple of one blade."""

from typing import Any

from clifford_rand.basis.keys import Keys
from clifford_rand.basis.rules import is_odd_swap, reverse_is_negative
from clifford_rand.compiler.scalar import TraceError


class LinearMaps:
    """The linear maps of a traced multivector, which has ``algebra``, ``keys``, the nodes ``refs`` and `of`."""

    __slots__ = ()

    algebra: Any
    keys: Keys
    refs: list[int]
    terms: Any
    of: Any

    # ---- grades and involutions

    def _signed(self, is_negative: Any) -> Any:
        return self.of({mask: -ref if is_negative(mask.bit_count()) else ref for mask, ref in self.terms.items()})

    def grade(self, *grades: int) -> Any:
        """Return the part of some grades."""
        if any(isinstance(k, bool) or not 0 <= k <= self.algebra.d for k in grades):
            raise TraceError(f"it takes grades {grades} of {self.algebra!r}")
        return self.of({mask: ref for mask, ref in self.terms.items() if mask.bit_count() in grades})

    def even(self) -> Any:
        """Return the part of even grades."""
        return self.grade(*range(0, self.algebra.d + 1, 2))

    def odd(self) -> Any:
        """Return the part of odd grades."""
        return self.grade(*range(1, self.algebra.d + 1, 2))

    def reverse(self) -> Any:
        """Return ~A."""
        return self._signed(reverse_is_negative)

    __invert__ = reverse

    def involute(self) -> Any:
        """Return the grade involution."""
        return self._signed(lambda k: k % 2 == 1)

    def conjugate(self) -> Any:
        """Return the Clifford conjugate."""
        return self._signed(lambda k: k % 4 in (1, 2))

    # ---- duals

    def star(self) -> Any:
        """Return I ~A."""
        return self.algebra.I * ~self

    def star_right(self) -> Any:
        """Return ~A I."""
        return ~self * self.algebra.I

    def dual(self) -> Any:
        """Return A I⁻¹."""
        return self * self.algebra.inverse_I

    def undual(self) -> Any:
        """Return A I."""
        self.algebra.inverse_I  # noqa: B018  # the same error as the plain one's
        return self * self.algebra.I

    def _complement(self, left: bool) -> Any:
        d = self.algebra.d
        full = (1 << d) - 1
        complement = full ^ self.keys.masks
        odd = is_odd_swap(complement, self.keys.masks, d) if left else is_odd_swap(self.keys.masks, complement, d)
        pairs = zip(complement.tolist(), self.refs, odd.tolist(), strict=True)
        return self.of({mask: -ref if negative else ref for mask, ref, negative in pairs})

    def left_complement(self) -> Any:
        """Return LC(A)."""
        return self._complement(left=True)

    def right_complement(self) -> Any:
        """Return RC(A)."""
        return self._complement(left=False)
