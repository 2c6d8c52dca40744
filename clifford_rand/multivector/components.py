"""Which blades are stored and what their coefficients are: filling up, leaving out, other dtypes, other numbers."""

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, DTypeLike

from clifford_rand._checks import describe, fail
from clifford_rand.basis import layout
from clifford_rand.basis.coefficients import INT, as_coefficients, common_dtype
from clifford_rand.basis.keys import Keys, check_size, dense_keys, keys_of_masks, union
from clifford_rand.multivector.comparison import equal_entries

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def replace(A: "Multivector", coefficients: Mapping[str, ArrayLike]) -> "Multivector":
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
        mask, sign = A.algebra.parse_blade(name)
        number = as_coefficients(value, name, "replace")
        given[mask] = number if sign > 0 else -number
    parts = A._on(union(A.keys, keys_of_masks(A.algebra.d, tuple(given))))
    dtype = functools.reduce(common_dtype, (number.dtype for number in given.values()), A.dtype)
    batch = np.broadcast_shapes(A.shape, *(number.shape for number in given.values()))
    array = layout.empty(batch, parts.keys.size, dtype)
    array[...] = parts.coefficients
    for mask, number in given.items():
        array[..., parts.keys.find(mask)] = number
    return A._make(parts.keys, array)


def on_keys(A: "Multivector", keys: Keys) -> "Multivector":
    """Return the same multivector on more keys."""
    if keys is A.keys:
        return A
    check_size(keys.size, type(A).__name__)
    array = layout.zeros(A.shape, keys.size, A.dtype)
    array[..., keys.place(A.keys)] = A.coefficients
    return A._make(keys, array)


def dense(A: "Multivector") -> "Multivector":
    """Return the same multivector with all 2^d components."""
    d = A.algebra.d
    check_size(2**d, "dense", "the array of components")
    return A._on(dense_keys(d))


def sparse(A: "Multivector") -> "Multivector":
    """Return the same multivector without the blades, and grades, whose coefficients are zero everywhere.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> (alg.vector([1, 0, 2])).sparse().keys.size
    2
    """
    array = A.coefficients
    nonzero = ~np.asarray(equal_entries(array, 0) if array.dtype.kind == "O" else array == 0, dtype=bool)
    kept = np.flatnonzero(nonzero.any(axis=tuple(range(A.ndim))))
    if len(kept) == A.keys.size:
        return A
    keys = keys_of_masks(A.algebra.d, tuple(int(mask) for mask in A.keys.masks[kept]))
    return A._make(keys, A.coefficients[..., kept])


def select(A: "Multivector", keys: Keys) -> "Multivector":
    """Return the components on ``keys`` only; those that are not stored are zero."""
    if keys is A.keys:
        return A
    held = [A.keys.find(int(mask)) for mask in keys.masks]
    array = layout.zeros(A.shape, keys.size, A.dtype)
    found = [i for i, position in enumerate(held) if position >= 0]
    array[..., found] = A.coefficients[..., [held[i] for i in found]]
    return A._make(keys, array)


def astype(A: "Multivector", dtype: DTypeLike) -> "Multivector":
    """Return the multivector with coefficients of another dtype.

    Fractions of floats are cut off for integers; symbols must have values, as in `to_numeric`.
    """
    return _as_numbers(A, np.dtype(dtype), "astype")


def to_numeric(A: "Multivector", dtype: DTypeLike = np.float64) -> "Multivector":
    """Return a multivector of numbers once every symbol has a value.

    Parameters
    ----------
    dtype : float64 by default, or float32, complex64, complex128, int64

    Raises
    ------
    ArgumentError
        If symbols are left, or a value is not of that kind (complex for float64, 1/2 for int64).

    Examples
    --------
    >>> import clifford_rand as cr, sympy
    >>> (sympy.sqrt(2) * cr.Algebra(2).e1).to_numeric()
    1.4142135623730951*e1
    """
    return _as_numbers(A, np.dtype(dtype), "to_numeric")


def _as_numbers(A: "Multivector", dtype: np.dtype, owner: str) -> "Multivector":
    if dtype == A.dtype:
        return A
    array = A.coefficients
    if array.dtype.kind == "O":
        from clifford_rand.symbolic import numeric

        return A._make(A.keys, numeric(array, dtype, owner))
    if dtype.kind in "iu":
        dtype = INT
        if array.dtype.kind in "fc" and not (abs(array.real) < 2.0**63).all():
            raise fail("coefficients", owner, "within ±2^63 for integers", describe("larger ones, or NaN"))
    return A._make(A.keys, as_coefficients(array.astype(dtype), "dtype", owner))
