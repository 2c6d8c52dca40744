"""Base classes of traced multivectors: linear maps, and the operations that are not traced."""

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
        """Return the part of one or several grades."""
        if not grades or any(isinstance(k, bool) or not 0 <= k <= self.algebra.d for k in grades):
            raise TraceError(f"it takes grades {grades} of {self.algebra!r}")
        return self.part(grades)

    def part(self, grades: tuple[int, ...]) -> Any:
        """Return the part of some grades, or of none."""
        return self.of({mask: ref for mask, ref in self.terms.items() if mask.bit_count() in grades})

    def even(self) -> Any:
        """Return the part of even grades."""
        return self.part(tuple(range(0, self.algebra.d + 1, 2)))

    def odd(self) -> Any:
        """Return the part of odd grades."""
        return self.part(tuple(range(1, self.algebra.d + 1, 2)))

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


_BATCH = "it is about the batch, and samples are computed one by one"
_VALUES = "it tells about values, and there are none yet; use numpy.where on coefficients"
_ARRAY = "it is an array; A['e12'] is a coefficient"
_COUNT = "what it returns depends on values: how many factors there are, and of what grade"
_MATRIX = "it is a matrix; write the product itself, which becomes a matrix where that is faster"
_SYMBOLS = "it is about symbols"
_DTYPE = "the code has the dtype of the arguments; convert these, or the result"
_CIRCULAR = "its closed forms are not written as terms; those of exp, log, sqrt, sinh, cosh and tanh are"

REASONS = {
    **dict.fromkeys(("shape", "ndim", "reshape", "sum", "mean", "prod"), _BATCH),
    **dict.fromkeys(("isclose", "is_zero", "is_versor", "is_blade"), _VALUES),
    **dict.fromkeys(("coefficients", "values"), _ARRAY),
    **dict.fromkeys(("factorize", "factorize_blade", "factorize_versor"), _COUNT),
    **dict.fromkeys(("join", "meet"), "the grade of the result depends on values; that of A ^ B and A & B does not"),
    **dict.fromkeys(("vector_matrix", "left_matrix", "right_matrix", "spinor_matrix"), _MATRIX),
    **dict.fromkeys(("symbols_used", "diff", "subs", "simplify", "expand", "factor"), _SYMBOLS),
    **dict.fromkeys(("evalf", "integrate", "lambdify", "args", "func"), _SYMBOLS),
    **dict.fromkeys(("dtype", "astype", "to_numeric"), _DTYPE),
    **dict.fromkeys(("sin", "cos", "tan", "arcsin", "arccos", "arctan", "arcsinh", "arccosh", "arctanh"), _CIRCULAR),
    "dense": "results leave out blades that are zero for all arguments; call it on the result",
    **dict.fromkeys(("sparse", "filter"), "which blades stay depends on values; call it on the result"),
}


class Untraced:
    """A multivector without comparisons, conversions to numbers, and attributes of `REASONS`."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        reason = REASONS.get(name)
        raise TraceError(f"it uses .{name}, which is not traced" + (f": {reason}" if reason else ""))

    def __bool__(self) -> bool:
        raise TraceError("it branches on a multivector")

    def __float__(self) -> float:
        raise TraceError("it needs the number that a scalar is; use NumPy's functions of A['1'] instead of math's")

    __complex__ = __int__ = __float__

    def _ordered(self, other: Any) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['1'] < 2, for numpy.where")

    __lt__ = __le__ = __gt__ = __ge__ = _ordered

    __hash__ = None  # type: ignore[assignment]

    def __eq__(self, other: object) -> Any:
        raise TraceError("it compares multivectors; compare their coefficients, as in A['e12'], for numpy.where")

    __ne__ = __eq__

    def __array_function__(self, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
        raise TraceError(f"it calls numpy.{function.__name__}, which is not traced")
