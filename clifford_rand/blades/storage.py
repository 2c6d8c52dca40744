"""Data of a blade: k vectors, a sign and the logarithm of a factor; batch axes, scalars, zero."""

import math
from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Self

import numpy as np

from clifford_rand._checks import as_real, check_tolerance, describe, extremes, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import read_only
from clifford_rand.blades.determinant import check_metric
from clifford_rand.blades.rows import (
    LARGEST_GRAM_RTOL,
    LARGEST_SQUARE,
    LN2,
    Frame,
    default_rtol,
    frame_of,
    is_ordinary,
    plain_log_volume,
    unit_gram,
)
from clifford_rand.crossproduct.factor import unit_scaled


@lru_cache(maxsize=8)
def _euclidean(d: int) -> Algebra:
    return Algebra(d)  # names for d = 10,000 vectors take 2 ms


_FLOAT64 = np.dtype(np.float64)
_ONE, _ZERO, _FALSE = read_only(np.ones(())), read_only(np.zeros(())), read_only(np.zeros((), dtype=bool))


class Storage:
    """sign · exp(log_scale) · f1∧…∧fk, with factors (..., k, d), sign and log_scale (...): never 2^d numbers.

    A blade is a value: its arrays are read-only, and what is computed of them is kept.
    """

    __array_ufunc__ = None  # NumPy leaves ``array * blade`` to the blade

    algebra: Algebra
    factors: NDArray[Any]
    _sign: NDArray[np.float64]
    _log_scale: NDArray[np.float64]
    rtol: float | None
    _is_plain = False  # a single wedge of rows in float64, none of them long, without a scalar or tolerance

    def __init__(self, factors: ArrayLike, algebra: Algebra | None = None, *, rtol: float | None = None) -> None:
        if type(factors) is np.ndarray and factors.dtype is _FLOAT64:
            array: NDArray[Any] = factors  # what `as_real` would find out
        elif hasattr(factors, "tocsr"):
            rule, received = "an array of vectors, one per row", describe("a sparse matrix")
            raise fail("factors", "Blade", rule, received, "LargeBlade takes sparse rows.")
        else:
            array = as_real(factors, "factors", "Blade", finite=False)
        if array.ndim < 2 or array.shape[-1] < 1:
            rule = "of shape (..., k, d), one vector per row"
            hint = "A single vector x is the blade of x[None]." if array.ndim == 1 else ""
            raise fail("factors", "Blade", rule, describe(f"shape {array.shape}"), hint)
        k, d = array.shape[-2:]
        if k > d:
            rule = "at most d vectors of R^d, one per row"
            hint = "More are always dependent, and their wedge is zero. For columns pass the transpose."
            raise fail("factors", "Blade", rule, describe(f"{k} vectors of R^{d}"), hint)
        if not isinstance(factors, list | tuple):
            array = array.copy()  # the user's may change
        least, most = extremes(array) if array.size else (0.0, 0.0)
        if not -math.inf < least <= most < math.inf:
            as_real(array, "factors", "Blade")
        if algebra is None:
            algebra = _euclidean(d)
        elif not isinstance(algebra, Algebra):
            raise fail("algebra", "Blade", "an Algebra or None", algebra)
        if algebra.d != d:
            rule = f"of {d} dimensions, as the vectors are"
            raise fail("algebra", "Blade", rule, describe(f"one of {algebra.d} dimensions"))
        check_metric(algebra.form, "Blade")
        self.algebra, self.rtol = algebra, None if rtol is None else check_tolerance(rtol, 0.0, "Blade")
        array.flags.writeable = False
        self.factors = array
        if array.ndim == 2:
            peak = max(most, -least)
            self._sign, self._log_scale = _ONE, _ZERO
            self._is_plain = k > 0 and array.dtype is _FLOAT64 and rtol is None and peak * peak * d < LARGEST_SQUARE
        else:
            self._sign, self._log_scale = np.ones(array.shape[:-2]), np.zeros(array.shape[:-2])

    def _set(self, factors: NDArray[Any], algebra: Algebra, sign: Any, log_scale: Any, rtol: float | None) -> None:
        shape = factors.shape[:-2]
        self.algebra, self.rtol = algebra, rtol
        self.factors = factors.view()
        self._sign = np.full(shape, sign, dtype=np.float64)
        self._log_scale = np.full(shape, log_scale, dtype=np.float64)
        if not self._sign.all():
            self._log_scale[self._sign == 0] = -np.inf
        self.factors.flags.writeable = False

    def _make(self, factors: NDArray[Any], sign: Any, log_scale: Any, dtype: Any = None) -> Self:
        """Return a blade of the same algebra; the fast way, without checks, in the blade's own dtype or another."""
        array = factors.astype(self.dtype if dtype is None else dtype, copy=False)
        blade: Self = _restore(type(self), array, self.algebra, sign, log_scale, self.rtol)
        return blade

    def __reduce__(self) -> Any:
        return _restore, (type(self), np.array(self.factors), self.algebra, self._sign, self._log_scale, self.rtol)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __repr__(self) -> str:
        batch = f", batch of shape {self.shape}" if self.shape else ""
        kind = "" if self.dtype == np.float64 else f", {self.dtype}"
        return f"<Blade of grade {self.grade} in {algebra_text(self.algebra)}{batch}{kind}>"

    # ---- what is stored

    @property
    def d(self) -> int:
        """The dimension of the space."""
        return int(self.factors.shape[-1])

    @property
    def grade(self) -> int:
        """The number k of vectors."""
        return int(self.factors.shape[-2])

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes: ``()`` for one blade."""
        return self.factors.shape[:-2]

    @property
    def ndim(self) -> int:
        """The number of batch axes."""
        return self.factors.ndim - 2

    @property
    def dtype(self) -> np.dtype:
        """float32 or float64, that of the factors and of every value but logarithms."""
        return self.factors.dtype

    @property
    def sign(self) -> Any:
        """The sign (1, -1 or 0) of the scalar before the wedge of the factors."""
        return self._sign[()]

    @property
    def log_scale(self) -> Any:
        """The logarithm of the absolute value of the scalar before the wedge of the factors; float64."""
        return self._log_scale[()]

    def is_zero(self) -> Any:
        """Return whether the blade is zero: factors dependent to rounding, or to ``rtol``, or a scalar of zero.

        Rows of length 1 are dependent where their smallest singular value is at most ``rtol``, by default 8·√k·eps; the
        length of a vector does not count.
        """
        return truth(self._volume[0])

    # ---- numbers that are computed once

    @cached_property
    def _rows(self) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
        """Rows of moderate size in float64, sign and log: the blade is sign · exp(log) · r1∧…∧rk."""
        if is_ordinary(self.factors):
            return self.factors.astype(np.float64, copy=False), self._sign, self._log_scale
        rows, exponent = unit_scaled(self.factors.astype(np.float64, copy=False))
        return rows, self._sign, self._log_scale + exponent.sum(axis=-1) * LN2

    @cached_property
    def _frame(self) -> Frame:
        """Orthonormal rows in coordinates, sign and log-volume of the whole blade."""
        rows, sign, log = self._rows
        frame = frame_of(rows, self._zero_rtol)
        sign = frame.sign * sign
        return Frame(frame.basis, sign, np.where(sign == 0, -np.inf, frame.log_volume + log))

    @cached_property
    def _volume(self) -> tuple[NDArray[np.bool_], Any]:
        """Whether the blade is zero, and the logarithm of its volume in coordinates.

        By the Gram matrix of the vectors where that is well-conditioned, which half of a QR's products and no
        orthonormal basis give; by the frame elsewhere, and where it is there already.
        """
        if self._is_plain:
            volume_of_one = plain_log_volume(self.factors)
            if volume_of_one is not None:
                return _FALSE, np.float64(volume_of_one)
        if "_frame" in self.__dict__ or not self.grade or self._zero_rtol > LARGEST_GRAM_RTOL:
            return self._frame.sign == 0, self._frame.log_volume
        rows, sign, log = self._rows
        _, _, log_volume, good = unit_gram(rows)
        if not good.any():
            return self._frame.sign == 0, self._frame.log_volume
        zero = np.asarray(sign == 0)
        volume = np.asarray(log_volume + log)  # -inf where the scalar is 0
        if not good.all():
            frame = frame_of(rows[~good], self._zero_rtol)
            volume[~good] = frame.log_volume + log[~good]
            zero[~good] |= frame.sign == 0
        return zero, volume

    @property
    def _zero_rtol(self) -> float:
        return default_rtol(self.grade, self.dtype) if self.rtol is None else self.rtol

    def _value(self, sign: Any, log: Any, dtype: Any = None) -> Any:
        """Return sign · exp(log) in the blade's dtype; inf with NumPy's warning where it does not fit."""
        with np.errstate(under="ignore"):
            return np.asarray(sign * np.exp(log)).astype(self.dtype if dtype is None else dtype)[()]

    # ---- batch axes

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a single blade has no len(); its vectors are in .factors")
        return int(self.factors.shape[0])

    def __iter__(self) -> Iterator[Self]:
        if not self.ndim:
            raise TypeError("a single blade is not iterable; its vectors are in .factors")
        return (self[i] for i in range(len(self)))

    def __getitem__(self, index: Any) -> Self:
        """Return a part of the batch."""
        if not self.ndim:
            raise TypeError("a single blade has no batch axis to index; its vectors are in .factors")
        parts = index if isinstance(index, tuple) else (index,)
        if not any(part is Ellipsis for part in parts):
            parts = (*parts, Ellipsis)
        return self._make(self.factors[(*parts, slice(None), slice(None))], self._sign[parts], self._log_scale[parts])

    # ---- scalars

    def scaled(self, log: ArrayLike, sign: ArrayLike = 1) -> Self:
        """Return the blade times sign · exp(log), which need not fit into a float."""
        logs = as_real(log, "log", "scaled").astype(np.float64)
        signs = as_real(sign, "sign", "scaled").astype(np.float64)
        if not np.isin(signs, (-1, 0, 1)).all():
            raise fail("sign", "scaled", "1, -1 or 0", sign)
        return self._times(signs, logs)

    def _times(self, sign: Any, log: Any) -> Self:
        try:
            shape = np.broadcast_shapes(self.shape, np.shape(sign), np.shape(log))
        except ValueError:
            received = describe(f"shapes {np.shape(sign)} and {np.shape(log)}")
            raise fail("other", "Blade", f"a scalar or scalars for the batch of shape {self.shape}", received) from None
        factors = self.factors if shape == self.shape else np.broadcast_to(self.factors, (*shape, self.grade, self.d))
        return self._make(factors, self._sign * sign, self._log_scale + log)

    def __mul__(self, other: Any) -> Self:
        """Return the blade times a scalar, or times an array of scalars over the batch."""
        if isinstance(other, Storage):
            hint = "use to_multivector() for it, ^ to wedge"
            raise TypeError(f"the geometric product of two blades is not a blade; {hint}")
        if not isinstance(other, int | float | np.ndarray | np.generic | list):
            return NotImplemented
        return self._times(*_sign_and_log(other))

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> Self:
        if not isinstance(other, int | float | np.ndarray | np.generic | list):
            return NotImplemented
        sign, log = _sign_and_log(other)
        if (sign == 0).any():
            raise fail("other", "a blade's division", "other than zero", other)
        return self._times(sign, -log)

    def __neg__(self) -> Self:
        return self._times(-1.0, 0.0)

    def __pos__(self) -> Self:
        return self

    def reverse(self) -> Self:
        """Return fk∧…∧f1 = (-1)^{k(k-1)/2} times the blade; also ``~A``."""
        return self._times((-1.0) ** (self.grade * (self.grade - 1) // 2), 0.0)

    __invert__ = reverse

    # ---- other blades

    def _checked(self, other: Any, owner: str, name: str = "b") -> Self:
        """Return a blade if it is one of the same algebra."""
        if not isinstance(other, Storage):
            received = describe(f"{type(other).__name__} {other!r}")
            raise fail(name, owner, "a Blade", received, "Make one of vectors as rows: Blade(rows, algebra).")
        if other.algebra is not self.algebra and other.algebra != self.algebra:
            rule = f"of the same algebra, {algebra_text(self.algebra)}"
            hint = "Make it with Blade(factors, algebra)."
            raise fail(name, owner, rule, describe(f"a blade of {algebra_text(other.algebra)}, another metric"), hint)
        try:
            np.broadcast_shapes(self.shape, other.shape)
        except ValueError:
            rule = f"a batch that fits the shape {self.shape}"
            raise fail(name, owner, rule, describe(f"shape {other.shape}")) from None
        return other  # type: ignore[return-value]

    def _checked_grade(self, other: Any, owner: str) -> Self:
        """Return a blade if it is one of the same algebra and grade."""
        if self._checked(other, owner).grade != self.grade:
            raise fail("b", owner, f"of grade {self.grade}", describe(f"a blade of grade {other.grade}"))
        return other  # type: ignore[no-any-return]

    def _check_subspace(self, owner: str, name: str = "blade") -> None:
        """Refuse zero, which has no subspace."""
        if np.any(self._frame.sign == 0):
            rule = "other than zero, of independent vectors"
            raise fail(name, owner, rule, describe("a zero blade"), "Check is_zero() first.")


def algebra_text(algebra: Algebra) -> str:
    """Return a short name of the algebra, whatever its dimension."""
    text = repr(algebra) if algebra.form.is_unit else ""
    return text if 0 < len(text) <= 40 else f"an algebra of {algebra.d} dimensions"


def truth(flags: Any) -> Any:
    """Return a bool, or an array of them over the batch."""
    flags_of_batch = np.asarray(flags, dtype=bool)
    return flags_of_batch if flags_of_batch.ndim else bool(flags_of_batch)


def _sign_and_log(value: Any) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    array = as_real(value, "other", "Blade").astype(np.float64)
    with np.errstate(divide="ignore"):
        return np.sign(array), np.log(np.abs(array))


def _restore(kind: type[Storage], *data: Any) -> Any:
    blade = object.__new__(kind)
    type(blade)._set(blade, *data)
    return blade
