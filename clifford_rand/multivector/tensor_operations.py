"""Operations of multivectors of tensors: batch axes, comparison, sums and multiples."""

import math
from collections.abc import Callable
from typing import Any

from clifford_rand._checks import fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import Tensor, beside, namespace
from clifford_rand.multivector.batch import axes_of
from clifford_rand.multivector.tensor_functions import inverse
from clifford_rand.plans.tensors import place_of, union_of

# ---- batch axes


def item(A: MV, index: Any) -> Any:
    """Return the coefficient of a blade by its name, or a part of the batch."""
    array = A.coefficients
    if isinstance(index, str):
        position, sign = place_of(A.algebra, A.keys.label, index)
        if position < 0:
            return namespace(array).zeros(A.shape, **beside(array))
        return array[..., position] if sign > 0 else -array[..., position]
    if not A.ndim:
        raise TypeError("a single multivector has no batch axis to index; use a blade's name, as in A['e12']")
    parts = index if isinstance(index, tuple) else (index,)
    if not any(part is Ellipsis for part in parts):
        parts = (*parts, Ellipsis)
    return A.new(A.keys, array[(*parts, slice(None))])


def reshape(A: MV, *shape: Any) -> MV:
    """Return the batch in another shape."""
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    if -1 in wanted:
        known = -math.prod(wanted)
        wanted = tuple(math.prod(A.shape) // known if n == -1 else n for n in wanted)
    array = A.coefficients
    return A.new(A.keys, namespace(array).reshape(array, (*wanted, A.keys.size)))


def total(A: MV, axis: Any = None, *, keepdims: bool = False) -> MV:
    """Return the sum over batch axes, over all of them by default."""
    axes = axes_of(A, axis)
    array = A.coefficients
    return A.new(A.keys, namespace(array).sum(array, axis=axes, keepdims=keepdims)) if axes else A


def mean(A: MV, axis: Any = None, *, keepdims: bool = False) -> MV:
    """Return the mean over batch axes, over all of them by default."""
    axes = axes_of(A, axis)
    return total(A, axis, keepdims=keepdims) / math.prod(A.shape[k] for k in axes)


# ---- comparison


def equal(A: MV, other: object) -> Any:
    """Return where all coefficients are equal, a tensor of truth values."""
    return _compared(A, other, lambda xp, a, b: xp.all(a == b, axis=-1))


def unequal(A: MV, other: object) -> Any:
    """Return where some coefficients differ."""
    return _compared(A, other, lambda xp, a, b: xp.any(a != b, axis=-1))


def _compared(A: MV, other: object, test: Callable[[Any, Any, Any], Any]) -> Any:
    B = A.coerce(other)
    if B is None:
        return NotImplemented
    keys = union_of(A.algebra.form, A.keys, B.keys)
    return test(namespace(A.coefficients), A.on_keys(keys).coefficients, B.on_keys(keys).coefficients)


def isclose(A: MV, other: Any, rtol: float = 1e-9, atol: float = 0.0) -> Any:
    """Compare to rounding, max |a - b| ≤ atol + rtol · max(|a|, |b|): a tensor of truth values over the batch."""

    def test(xp: Any, a: Tensor, b: Tensor) -> Tensor:
        sizes = (xp.where(xp.isfinite(x), xp.abs(x), xp.zeros_like(xp.abs(x))) for x in (a, b))
        scale = xp.maximum(*(xp.max(size, axis=-1) for size in sizes))
        apart = xp.abs(a - b)  # of what is infinite and equal, NaN
        apart = xp.where(a == b, xp.zeros_like(apart), apart)
        return xp.max(apart, axis=-1) <= atol + rtol * scale

    close = _compared(A, other, test)
    if close is NotImplemented:
        raise fail("other", "isclose", "a multivector or a scalar", other)
    return close


def is_zero(A: MV) -> Any:
    """Tell whether every coefficient is zero: a tensor of truth values over the batch."""
    return namespace(A.coefficients).all(A.coefficients == 0, axis=-1)


# ---- the vector space


def _sum(A: MV, other: Any, sign: int) -> Any:
    B = A.coerce(other)
    if B is None:
        return NotImplemented
    keys = union_of(A.algebra.form, A.keys, B.keys)
    a, b = A.on_keys(keys).coefficients, B.on_keys(keys).coefficients
    return A.new(keys, a + b if sign > 0 else a - b)


def add(A: MV, other: Any) -> Any:
    """Return A + B."""
    return A if other.__class__ is int and other == 0 else _sum(A, other, 1)


def subtract(A: MV, other: Any) -> Any:
    """Return A - B."""
    return _sum(A, other, -1)


def subtract_from(A: MV, other: Any) -> Any:
    """Return B - A."""
    return _sum(-A, other, 1)


def times(A: MV, other: Any) -> Any:
    """Return A B, or a multiple of A."""
    if other.__class__ is float or other.__class__ is int:
        return A.new(A.keys, A.coefficients * other)
    B = A.coerce(other)
    return NotImplemented if B is None else A.multiply("gp", B)


def times_from(A: MV, other: Any) -> Any:
    """Return B A, or a multiple of A."""
    if other.__class__ is float or other.__class__ is int:
        return A.new(A.keys, A.coefficients * other)
    B = A.coerce(other)
    return NotImplemented if B is None else B.multiply("gp", A)


def divide(A: MV, other: Any) -> Any:
    """Return A B⁻¹, or a multiple of A."""
    if other.__class__ is float or other.__class__ is int:
        if other == 0:
            raise ZeroDivisionError("division of a multivector by zero")
        return A.new(A.keys, A.coefficients / other)
    B = A.coerce(other)
    return NotImplemented if B is None else A.multiply("gp", inverse(B))
