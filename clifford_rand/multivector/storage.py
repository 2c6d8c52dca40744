"""Where the numbers of a multivector are: keys, coefficients, batch axes, indexing, equality."""

import functools
import math
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.coefficients import (
    INT,
    as_coefficients,
    common_dtype,
    in_integers,
    is_scalar,
    is_symbolic,
    largest,
    read_only,
)
from clifford_rand.basis.keys import Keys, check_size, dense_keys, keys_of_grades, keys_of_masks, union

if TYPE_CHECKING:
    from clifford_rand.algebra import Algebra


def _same(x: Any, y: Any) -> bool:
    """Compare exact numbers or symbols."""
    if not (is_symbolic(x) or is_symbolic(y)):
        return bool(x == y)
    from clifford_rand.symbolic import is_same

    return is_same(x, y)


def _hashable(value: Any) -> Any:
    if not is_symbolic(value):
        return value
    from clifford_rand.symbolic import plain

    return plain(value)


_equal = np.frompyfunc(_same, 2, 1)


class Storage:
    """Keys and coefficients. The coefficient array is (..., number of keys): batch axes first, components last.

    A multivector is a value: the array is its own and read-only, so that it can be shared, hashed and cached.
    """

    __slots__ = ("algebra", "coefficients", "keys")

    algebra: "Algebra"
    keys: Keys
    coefficients: NDArray[Any]

    def __init__(self, algebra: "Algebra", keys: Keys, coefficients: ArrayLike) -> None:
        array = as_coefficients(coefficients, "coefficients", type(self).__name__, own=True)
        if array.ndim == 0 or array.shape[-1] != keys.size:
            raise fail(
                "coefficients",
                type(self).__name__,
                f"an array with {keys.size} components on its last axis",
                describe(f"shape {array.shape}"),
            )
        self.algebra = algebra
        self.keys = keys
        self.coefficients = read_only(array)

    def _make(self, keys: Keys, coefficients: NDArray[Any]) -> Self:
        """Return a multivector of the same algebra, its array one that nobody else holds; without checks."""
        coefficients.setflags(False)  # type: ignore[call-arg]  # by keyword it takes three times as long
        made = object.__new__(type(self))
        made.algebra = self.algebra
        made.keys = keys
        made.coefficients = coefficients
        return made

    def __reduce__(self) -> Any:
        return type(self), (self.algebra, self.keys, self.coefficients)

    def __copy__(self, memo: object = None) -> Self:
        return self

    __deepcopy__ = __copy__

    def copy(self) -> Self:
        """Return a multivector with coefficients of its own, as a part of a batch holds on to all of it."""
        return self._make(self.keys, self.coefficients.copy())

    def replace(self, coefficients: Mapping[str, ArrayLike]) -> Self:
        """Return a multivector with other coefficients on some blades, {name: number, or one for each of the batch}.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Algebra(3)("e1 + 2*e23")
        >>> A.replace({"e1": 3.0, "e32": 1})
        3.0*e1 - 1.0*e23
        """
        given = {}
        for name, value in coefficients.items():
            mask, sign = self.algebra.parse_blade(name)
            number = as_coefficients(value, name, "replace")
            given[mask] = number if sign > 0 else -number
        parts = self._on(union(self.keys, keys_of_masks(self.algebra.d, tuple(given))))
        dtype = functools.reduce(common_dtype, (number.dtype for number in given.values()), self.dtype)
        batch = np.broadcast_shapes(self.shape, *(number.shape for number in given.values()))
        array = np.empty((*batch, parts.keys.size), dtype=dtype)
        array[...] = parts.coefficients
        for mask, number in given.items():
            array[..., parts.keys.find(mask)] = number
        return self._make(parts.keys, array)

    # ---- what is stored

    @property
    def shape(self) -> tuple[int, ...]:
        """The batch axes: ``()`` for one multivector."""
        return self.coefficients.shape[:-1]

    @property
    def ndim(self) -> int:
        """The number of batch axes."""
        return self.coefficients.ndim - 1

    @property
    def dtype(self) -> np.dtype:
        """The dtype of the coefficients."""
        return self.coefficients.dtype

    @property
    def grades(self) -> tuple[int, ...]:
        """The grades that it may have: for each there are components, zero or not, in `values`."""
        return self.keys.grades

    @property
    def values(self) -> NDArray[Any]:
        """The components of all blades of `grades`, by grade then lexicographically: (..., n), read-only.

        A dense multivector has all 2^d of them; blades of these grades that are not stored are filled up with zeros.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (alg.e1 + 2 * alg.e31).values  # e1 e2 e3, e12 e13 e23
        array([ 1,  0,  0,  0, -2,  0])
        """
        filled = self.keys.filled
        check_size(filled.size, "values", "the array of components")
        return self._on(filled).coefficients

    def _on(self, keys: Keys) -> Self:
        """Return the same multivector on more keys."""
        if keys is self.keys:
            return self
        check_size(keys.size, type(self).__name__)
        place = keys.place(self.keys)
        array = np.zeros((*self.shape, keys.size), dtype=self.dtype)
        array[..., place] = self.coefficients
        return self._make(keys, array)

    def dense(self) -> Self:
        """Return the same multivector with all 2^d components."""
        d = self.algebra.d
        check_size(2**d, "dense", "the array of components")
        return self._on(dense_keys(d))

    def sparse(self) -> Self:
        """Return the same multivector without the blades, and grades, whose coefficients are zero everywhere.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (alg.vector([1, 0, 2])).sparse().keys.size
        2
        """
        array = self.coefficients
        nonzero = ~np.asarray(_equal(array, 0) if array.dtype.kind == "O" else array == 0, dtype=bool)
        kept = np.flatnonzero(nonzero.any(axis=tuple(range(self.ndim))))
        if len(kept) == self.keys.size:
            return self
        keys = keys_of_masks(self.algebra.d, tuple(int(mask) for mask in self.keys.masks[kept]))
        return self._make(keys, self.coefficients[..., kept])

    def _select(self, keys: Keys) -> Self:
        """Return the components on ``keys`` only; those that are not stored are zero."""
        if keys is self.keys:
            return self
        held = [self.keys.find(int(mask)) for mask in keys.masks]
        array = np.zeros((*self.shape, keys.size), dtype=self.dtype)
        found = [i for i, position in enumerate(held) if position >= 0]
        array[..., found] = self.coefficients[..., [held[i] for i in found]]
        return self._make(keys, array)

    def astype(self, dtype: DTypeLike) -> Self:
        """Return the multivector with coefficients of another dtype; fractions of floats are cut off for integers."""
        wanted = np.dtype(dtype)
        if wanted == self.dtype:
            return self
        array = self.coefficients
        if wanted.kind in "iu":
            wanted = INT
            if array.dtype.kind in "fc" and not (abs(array.real) < 2.0**63).all():
                raise fail("coefficients", "astype", "within ±2^63 for integers", describe("larger ones, or NaN"))
        return self._make(self.keys, as_coefficients(array.astype(wanted), "dtype", "astype"))

    # ---- batch axes

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("a single multivector has no len(); its components are in .values")
        return int(self.coefficients.shape[0])

    def __iter__(self) -> Iterator[Self]:
        if not self.ndim:
            raise TypeError("a single multivector is not iterable; its components are in .values")
        return (self._make(self.keys, row) for row in self.coefficients)

    def __getitem__(self, index: Any) -> Any:
        """Return the coefficient of a blade by its name, or a part of the batch by an index.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> A = cr.Algebra(3)("2 + 3*e12")
        >>> int(A["e12"]), int(A["e21"]), int(A["1"])
        (3, -3, 2)
        """
        if isinstance(index, str):
            mask, sign = self.algebra.parse_blade(index)
            position = self.keys.find(mask)
            if position < 0:
                return np.zeros(self.shape, dtype=self.dtype)[()]
            value = self.coefficients[..., position][()]
            return value if sign > 0 else -value
        if not self.ndim:
            raise TypeError("a single multivector has no batch axis to index; use a blade's name, as in A['e12']")
        parts = index if isinstance(index, tuple) else (index,)
        if Ellipsis not in [part for part in parts if not isinstance(part, np.ndarray | list)]:
            parts = (*parts, Ellipsis)
        array = self.coefficients[(*parts, slice(None))]
        return self._make(self.keys, array)

    def reshape(self, *shape: int | tuple[int, ...]) -> Self:
        """Return the batch in another shape."""
        wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
        rows = int(np.prod(self.shape))
        template = np.empty(rows, dtype=np.bool_).reshape(wanted)  # type: ignore[arg-type]
        return self._make(self.keys, self.coefficients.reshape(*template.shape, self.keys.size))

    def _axes(self, axis: int | tuple[int, ...] | None) -> tuple[int, ...]:
        if axis is None:
            return tuple(range(self.ndim))
        axes = axis if isinstance(axis, tuple) else (axis,)
        for one in axes:
            if not -self.ndim <= one < self.ndim:
                raise fail("axis", "sum or mean", f"one of the {self.ndim} batch axes", axis)
        return tuple(one % self.ndim for one in axes)

    def sum(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """Return the sum over batch axes, over all of them by default."""
        array, axes = self.coefficients, self._axes(axis)
        if array.dtype.kind != "i":
            return self._make(self.keys, array.sum(axis=axes))
        count = math.prod(self.shape[one] for one in axes)
        return self._make(self.keys, in_integers(lambda x: x.sum(axis=axes), count * largest(array), array))

    def mean(self, axis: int | tuple[int, ...] | None = None) -> Self:
        """Return the mean over batch axes, over all of them by default."""
        return self._make(self.keys, self.coefficients.mean(axis=self._axes(axis)))

    def prod(self, axis: int = 0, *, rule: str = "gp") -> Self:
        """Return the product along a batch axis, first factor on the left; ``rule`` names it ("gp", "wedge", …)."""
        from clifford_rand.multivector.products import multiply

        (one,) = self._axes(axis)
        array = np.moveaxis(self.coefficients, one, 0)
        if not len(array):
            raise fail("axis", "prod", "an axis with at least one multivector", axis)
        factors = [self._make(self.keys, row) for row in array]
        return functools.reduce(lambda a, b: multiply(rule, a, b), factors)

    # ---- equality

    def _aligned(self, other: Self) -> tuple[NDArray[Any], NDArray[Any]]:
        keys = union(self.keys, other.keys)
        return self._on(keys).coefficients, other._on(keys).coefficients

    def _coerced(self, other: object, *, keep: bool = True) -> Self | None:
        """Return ``other`` (a scalar, an array of scalars) as a multivector of this algebra; None if it is neither.

        With ``keep`` a Python number takes the dtype of this multivector (NEP 50).
        """
        if isinstance(other, Storage):
            if other.algebra is not self.algebra and other.algebra != self.algebra:
                raise fail(
                    "other",
                    type(self).__name__,
                    f"of the same algebra, {self.algebra!r}",
                    describe(f"a multivector of {other.algebra!r}"),
                    "Convert it with algebra.convert(…).",
                )
            return other  # type: ignore[return-value]
        if is_scalar(other) or isinstance(other, np.ndarray):
            exact = self.dtype.kind == "O" or (self.dtype == INT and isinstance(other, int))
            if keep and isinstance(other, int | float | complex) and not (exact or isinstance(other, np.generic)):
                other = np.asarray(other, dtype=np.result_type(self.dtype, other))
            array = as_coefficients(other, "other", type(self).__name__, own=True)  # type: ignore[arg-type]
            return self._make(keys_of_grades(self.algebra.d, (0,)), array[..., None])
        return None

    def __eq__(self, other: object) -> Any:
        """Compare exactly: a bool, or an array of them over the batch."""
        if isinstance(other, Storage) and other.algebra != self.algebra:
            return False
        same = self._coerced(other, keep=False)
        if same is None:
            return NotImplemented
        a, b = self._aligned(same)
        one_by_one = "O" in (a.dtype.kind, b.dtype.kind) or (
            a.dtype.kind != b.dtype.kind and any(x.dtype == INT and largest(x) > 2**53 for x in (a, b))
        )
        equal = np.asarray(_equal(a, b) if one_by_one else a == b, dtype=bool).all(axis=-1)
        return bool(equal) if equal.ndim == 0 else equal

    def __ne__(self, other: object) -> Any:
        equal = self.__eq__(other)
        return equal if equal is NotImplemented else (not equal if isinstance(equal, bool) else ~equal)

    def __hash__(self) -> int:
        if self.ndim:
            raise TypeError("a batch of multivectors is not hashable, as == compares it element by element")
        pairs = zip(map(int, self.keys.masks), self.coefficients.tolist(), strict=True)
        if self.dtype.kind == "O":
            pairs = ((mask, _hashable(value)) for mask, value in pairs if not _same(value, 0))  # type: ignore[assignment]
        terms = {mask: value for mask, value in pairs if value != 0}
        if not terms.keys() - {0}:
            return hash(terms.get(0, 0))
        return hash(frozenset(terms.items()))

    def isclose(self, other: Any, rtol: float = 1e-9, atol: float = 0.0) -> Any:
        """Compare to rounding: max |a - b| ≤ atol + rtol · max(|a|, |b|), maxima over the components.

        Parameters
        ----------
        other : Multivector, scalar or array of scalars
        rtol : float, default=1e-9
            Relative to the largest component of either: a scale-free comparison.
        atol : float, default=0
            To compare with zero.

        Returns
        -------
        bool, or an array of them over the batch

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> (0.1 * alg.e1 + 0.2 * alg.e1).isclose(0.3 * alg.e1), 0.1 * alg.e1 + 0.2 * alg.e1 == 0.3 * alg.e1
        (True, False)
        """
        same = self._coerced(other)
        if same is None:
            raise fail("other", "isclose", "a multivector or a scalar", other)
        a, b = self._aligned(same)
        if "O" in (a.dtype.kind, b.dtype.kind):
            try:
                a, b = a.astype(np.complex128), b.astype(np.complex128)
            except TypeError:
                raise fail(
                    "other",
                    "isclose",
                    "numeric",
                    describe("symbols"),
                    "Compare with == or is_zero, or substitute numbers.",
                ) from None
        scale = np.maximum(np.abs(a).max(axis=-1, initial=0), np.abs(b).max(axis=-1, initial=0))
        close = np.abs(a - b).max(axis=-1, initial=0) <= atol + rtol * scale
        return bool(close) if close.ndim == 0 else close

    def __bool__(self) -> bool:
        raise TypeError("a multivector is neither true nor false: compare it, as in A == 0 or A.isclose(0, atol=1e-12)")
