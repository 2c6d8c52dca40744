"""Sums and other linear functions of NumPy along batch axes, comparison, shapes, and batches of the same kind."""

from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.basis import layout
from clifford_rand.basis.coefficients import common_dtype, in_integers, largest
from clifford_rand.basis.keys import keys_of_grades, union
from clifford_rand.multivector.comparison import aligned
from clifford_rand.multivector.elements import is_multivector, operand

# ---- sums and other linear functions along batch axes


def _keywords(name: str, **given: Any) -> None:
    """Refuse NumPy's further options unless they are left as they are."""
    for key, value in given.items():
        if value is not None:
            raise TypeError(f"numpy.{name} of multivectors takes no {key}=")


def sum(
    A: Any,
    axis: Any = None,
    dtype: Any = None,
    out: Any = None,
    keepdims: bool = False,
    initial: Any = None,
    where: Any = None,
) -> Any:
    """Return the sum over batch axes, over all by default, as `Multivector.sum`: of elements where a mask is true."""
    _keywords("sum", out=out)
    A = A if dtype is None else A.astype(dtype)
    total = (A if where is None else np.where(_mask(A, where, "sum"), A, 0)).sum(axis, keepdims=keepdims)
    return total if initial is None else total + initial


def mean(
    A: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, *, where: Any = None
) -> Any:
    """Return the mean over batch axes, over all by default, as `Multivector.mean`: of elements where a mask is true."""
    _keywords("mean", out=out)
    A = A if dtype is None else A.astype(dtype)
    if where is None:
        return A.mean(axis, keepdims=keepdims)
    mask = _mask(A, where, "mean")
    return np.where(mask, A, 0).sum(axis, keepdims=keepdims) / mask.sum(axis=axis, keepdims=keepdims)


def _mask(A: Any, where: Any, name: str) -> Any:
    """Return a mask of the elements of A."""
    mask = np.asarray(where, dtype=bool)
    try:
        return np.broadcast_to(mask, A.shape)
    except ValueError:
        rule = f"of a shape that broadcasts to the batch shape {A.shape}"
        raise fail("where", name, rule, describe(f"shape {mask.shape}")) from None


def prod(A: Any, axis: Any = None, dtype: Any = None, out: Any = None, **more: Any) -> Any:
    """Return the geometric product along a batch axis, first factor on the left."""
    _keywords("prod", out=out, **more)
    A = A if dtype is None else A.astype(dtype)
    return A.reshape(-1).prod() if axis is None else A.prod(axis)


def cumsum(A: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the sums of the first elements along a batch axis; of all in one row by default."""
    _keywords("cumsum", out=out)
    A = A if dtype is None else A.astype(dtype)
    if axis is None:
        A, axis = A.reshape(-1), 0
    array = A.coefficients
    along = _axis(A, axis, "cumsum")
    if array.dtype.kind != "i":
        return A._make(A.keys, array.cumsum(axis=along))
    bound = A.shape[along] * largest(array)
    return A._make(A.keys, in_integers(lambda x: x.cumsum(axis=along), bound, array))


def _axis(A: Any, axis: Any, name: str) -> int:
    if not isinstance(axis, int | np.integer) or not -A.ndim <= axis < A.ndim:
        raise fail("axis", name, f"one of the {A.ndim} batch axes", axis)
    return int(axis) % A.ndim


def diff(A: Any, n: int = 1, axis: int = -1) -> Any:
    """Return the n-th differences A[i + 1] - A[i] along a batch axis."""
    along = (slice(None),) * _axis(A, axis, "diff")
    for _ in range(n):
        A = A[(*along, slice(1, None))] - A[(*along, slice(None, -1))]
    return A


def average(
    A: Any, axis: int | None = None, weights: Any = None, returned: bool = False, *, keepdims: bool = False
) -> Any:
    """Return the mean over batch axes, or Σ w_i A_i / Σ w_i for weights of the batch's shape or of the axis' length.

    With ``returned`` the sums of the weights, too.
    """
    if weights is None:
        found = A.mean(axis, keepdims=keepdims)
        return (found, np.full(found.shape, _size(A) / max(_size(found), 1))[()]) if returned else found
    w = np.asarray(weights)
    if w.shape != A.shape:
        if w.ndim != 1 or axis is None or w.shape[0] != A.shape[_axis(A, axis, "average")]:
            rule = f"of the batch shape {A.shape}, or one for each along the axis"
            raise fail("weights", "average", rule, describe(f"shape {w.shape}"))
        w = np.moveaxis(np.broadcast_to(w, (*np.delete(A.shape, axis), len(w))), -1, axis)
    total = w.sum(axis=axis, keepdims=keepdims)
    found = (A * w).sum(axis, keepdims=keepdims) / total
    return (found, total) if returned else found


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, axis: int = 0) -> Any:
    """Return ``num`` multivectors at equal steps from one to the other, along a new first batch axis."""
    if axis:
        raise TypeError("numpy.linspace of multivectors makes the first batch axis: move it with np.moveaxis")
    like = start if is_multivector(start) else stop
    a, b = operand(like, start), operand(like, stop)
    t = np.linspace(0.0, 1.0, num, endpoint=endpoint).reshape(num, *(1,) * max(a.ndim, b.ndim))
    return a * (1 - t) + b * t


# ---- comparison


def isclose(A: Any, B: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Compare by `Multivector.isclose` with NumPy's tolerances: max |a - b| ≤ atol + rtol · max(|a|, |b|)."""
    like = A if is_multivector(A) else B
    A, B = like._coerced(A), like._coerced(B)
    if equal_nan and None not in (A, B):
        A, B = _without_common_nan(A, B)
    return A.isclose(B, rtol, atol)


def _without_common_nan(A: Any, B: Any) -> tuple[Any, Any]:
    """Return both with zeros where both have NaN."""
    keys = union(A.keys, B.keys)
    a, b = aligned(A, B, "isclose")
    nan = np.isnan(a) & np.isnan(b)
    return A._make(keys, np.where(nan, 0, a)), B._make(keys, np.where(nan, 0, b))


def allclose(A: Any, B: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Tell whether all elements are close: see `isclose`."""
    return bool(np.all(isclose(A, B, rtol, atol, equal_nan)))


def array_equal(A: Any, B: Any, equal_nan: bool = False) -> bool:
    """Tell whether two batches have one shape and equal elements."""
    if equal_nan and is_multivector(A) and is_multivector(B) and A.shape == B.shape:
        A, B = _without_common_nan(A, B)
    same = (A.shape if is_multivector(A) else np.shape(A)) == (B.shape if is_multivector(B) else np.shape(B))
    return bool(same and np.all(A == B))


# ---- shapes, other batches of the same kind, parts of complex coefficients


def _shape(A: Any) -> tuple[int, ...]:
    return tuple(A.shape)


def _ndim(A: Any) -> int:
    return int(A.ndim)


def _size(A: Any, axis: int | None = None) -> int:
    return int(np.prod(A.shape)) if axis is None else int(A.shape[axis])


def _filled(A: Any, value: Any, dtype: Any, shape: Any) -> Any:
    batch = A.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    B = operand(A, value)
    B = B if B.keys.size else B._on(A.keys)
    return np.broadcast_to(B.astype(common_dtype(A.dtype, B.dtype) if dtype is None else dtype), batch)


def _zeros_like(A: Any, dtype: Any = None, *, shape: Any = None, **more: Any) -> Any:
    batch = A.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)
    return A._make(A.keys, layout.zeros(batch, A.keys.size, A.dtype if dtype is None else dtype))


def _ones_like(A: Any, dtype: Any = None, *, shape: Any = None, **more: Any) -> Any:
    one = A._make(keys_of_grades(A.algebra.d, (0,)), np.ones(1, dtype=A.dtype))
    return _filled(A, one, dtype, shape)


def _full_like(A: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None, **more: Any) -> Any:
    return _filled(A, fill_value, dtype, shape)


def _real(A: Any) -> Any:
    return A._make(A.keys, A.coefficients.real.copy())


def _imag(A: Any) -> Any:
    return A._make(A.keys, A.coefficients.imag.copy())


def _is_complex(A: Any) -> bool:
    return bool(A.dtype.kind == "c")


def _is_real(A: Any) -> bool:
    return not _is_complex(A)


def _round(A: Any, decimals: int = 0, out: Any = None) -> Any:
    _keywords("round", out=out)
    return A._make(A.keys, np.round(A.coefficients, decimals))


def _nan_to_num(A: Any, copy: bool = True, **values: Any) -> Any:
    return A._make(A.keys, np.nan_to_num(A.coefficients, **values))


def _result_type(*arguments: Any) -> np.dtype:
    return np.result_type(*(one.dtype if is_multivector(one) else one for one in arguments))


OWN: dict[Any, Callable[..., Any]] = {
    np.sum: sum,
    np.mean: mean,
    np.prod: prod,
    np.cumsum: cumsum,
    np.diff: diff,
    np.average: average,
    np.linspace: linspace,
    np.isclose: isclose,
    np.allclose: allclose,
    np.array_equal: array_equal,
    np.shape: _shape,
    np.ndim: _ndim,
    np.size: _size,
    np.zeros_like: _zeros_like,
    np.empty_like: _zeros_like,
    np.ones_like: _ones_like,
    np.full_like: _full_like,
    np.real: _real,
    np.imag: _imag,
    np.iscomplexobj: _is_complex,
    np.isrealobj: _is_real,
    np.round: _round,
    np.around: _round,
    np.nan_to_num: _nan_to_num,
    np.result_type: _result_type,
}
