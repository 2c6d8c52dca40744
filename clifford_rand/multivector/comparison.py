"""Equality, exact and to rounding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_broadcast, check_number, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import INT, is_symbolic, largest
from clifford_rand.basis.keys import union


def _same(x: Any, y: Any) -> bool:
    """Compare exact numbers or symbols."""
    if not (is_symbolic(x) or is_symbolic(y)):
        return bool(x == y)
    from clifford_rand.symbolic.coefficients import is_same

    return is_same(x, y)


equal_entries = np.frompyfunc(_same, 2, 1)


def _hashable(value: Any) -> Any:
    if not is_symbolic(value):
        return value
    from clifford_rand.symbolic.coefficients import plain

    return plain(value)


def aligned(A: MV, other: MV, owner: str = "==") -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the coefficients of both on the blades that either has, their batch shapes such that they broadcast."""
    if A.coefficients.shape[:-1] != other.coefficients.shape[:-1]:
        check_broadcast("other", owner, A.shape, other.shape)
    keys = union(A.keys, other.keys)
    return A.on_keys(keys).coefficients, other.on_keys(keys).coefficients


def equal(A: MV, other: object) -> Any:
    """Compare exactly: a bool, or an array of them over the batch."""
    if isinstance(other, type(A)) and other.algebra != A.algebra:
        return False
    same = A.coerce(other, keep=False)
    if same is None:
        return NotImplemented
    a, b = aligned(A, same)
    one_by_one = "O" in (a.dtype.kind, b.dtype.kind) or (
        a.dtype.kind != b.dtype.kind and any(x.dtype == INT and largest(x) > 2**53 for x in (a, b))
    )
    same_entries = np.asarray(equal_entries(a, b) if one_by_one else a == b, dtype=bool).all(axis=-1)
    return bool(same_entries) if same_entries.ndim == 0 else same_entries


def unequal(A: MV, other: object) -> Any:
    """Return the opposite of `equal`."""
    same = equal(A, other)
    return same if same is NotImplemented else (not same if isinstance(same, bool) else ~same)


def hash_of(A: MV) -> int:
    """Return a hash that equal multivectors, and equal scalars, share."""
    if A.ndim:
        raise TypeError("a batch of multivectors is not hashable, as == compares it element by element")
    pairs = zip(map(int, A.keys.masks), A.coefficients.tolist(), strict=True)
    if A.dtype.kind == "O":
        pairs = ((mask, _hashable(value)) for mask, value in pairs if not _same(value, 0))  # type: ignore[assignment]
    terms = {mask: value for mask, value in pairs if value != 0}
    if not terms.keys() - {0}:
        return hash(terms.get(0, 0))
    return hash(frozenset(terms.items()))


def apart_and_scale(a: NDArray[Any], b: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return max |a - b| and max(|a|, |b|) over the components; infinite ones are equal, or apart by ∞ in no scale."""
    with np.errstate(invalid="ignore"):
        apart = np.abs(a - b).max(axis=-1, initial=0)
    scale = np.maximum(np.abs(a).max(axis=-1, initial=0), np.abs(b).max(axis=-1, initial=0))
    if scale.dtype.kind == "f" and not np.isfinite(scale).all():
        known = np.isfinite(a) & np.isfinite(b)
        if not known.all():
            apart, scale = apart_and_scale(np.where(known, a, 0), np.where(known, b, 0))
            apart = np.where((known | (a == b)).all(axis=-1), apart, np.inf)
    return apart, scale


def isclose(A: MV, other: Any, /, *, rtol: float = 1e-9, atol: float = 0.0) -> Any:
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
    >>> alg = cr.Algebra(3)
    >>> (0.1 * alg.e1 + 0.2 * alg.e1).isclose(0.3 * alg.e1), 0.1 * alg.e1 + 0.2 * alg.e1 == 0.3 * alg.e1
    (True, False)
    """
    same = A.coerce(other)
    if same is None:
        raise fail("other", "isclose", "a multivector or a scalar", other)
    rtol = check_number(rtol, "rtol", "isclose", "a number ≥ 0", lambda x: x >= 0)
    atol = check_number(atol, "atol", "isclose", "a number ≥ 0", lambda x: x >= 0)
    if same.__class__ is not A.__class__:  # a tensor
        return same.isclose(A, rtol=rtol, atol=atol)
    a, b = aligned(A, same, "isclose")
    if "O" in (a.dtype.kind, b.dtype.kind):
        try:
            a, b = a.astype(np.complex128), b.astype(np.complex128)
        except TypeError:
            hint = "Compare with == or is_zero, or substitute numbers."
            raise fail("other", "isclose", "numeric", describe("symbols"), hint) from None
    apart, scale = apart_and_scale(a, b)
    close = apart <= atol + rtol * scale
    return bool(close) if close.ndim == 0 else close


def is_zero(A: MV) -> Any:
    """Tell whether every coefficient is exactly zero once it is multiplied out: a bool, or an array over the batch.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> a, b, c = (alg.symbols(name) for name in "abc")
    >>> ((a * b) * c - a * (b * c)).is_zero()
    True
    """
    if A.dtype == object:
        from clifford_rand.symbolic.coefficients import is_zero

        entries = [is_zero(value) for value in A.coefficients.ravel().tolist()]
        zero = np.array(entries, dtype=bool).reshape(A.coefficients.shape).all(axis=-1)
    else:
        zero = (A.coefficients == 0).all(axis=-1)
    return bool(zero) if zero.ndim == 0 else zero
