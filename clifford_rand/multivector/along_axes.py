"""Sums and other linear functions of NumPy along batch axes, comparison, shapes, and batches of the same kind."""

import functools
import itertools
import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import check_choice, check_integer, describe, fail
from clifford_rand.basis.coefficients import common_dtype, copy_by_component, in_integers, largest, zero_coefficients
from clifford_rand.basis.keys import keys_of_grades, union
from clifford_rand.multivector.batch import operand, stack
from clifford_rand.multivector.comparison import aligned, as_numbers, is_multivector

# ---- sums and other linear functions along batch axes


def _keywords(name: str, **refused: Any) -> None:
    """Refuse NumPy's further options unless they are left as they are."""
    for key, value in refused.items():
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


def prod(A: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **more: Any) -> Any:
    """Return the geometric product along a batch axis, first factor on the left; of all elements by default."""
    _keywords("prod", out=out, **more)
    A = A if dtype is None else A.astype(dtype)
    return A.prod(axis, keepdims=keepdims)


def cumsum(A: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the sums of the first elements along a batch axis; of all in one row by default."""
    _keywords("cumsum", out=out)
    A = A if dtype is None else A.astype(dtype)
    if axis is None:
        A, axis = A.reshape(-1), 0
    array = A.coefficients
    along = _axis(A, axis, "cumsum")
    if array.dtype.kind != "i":
        return A.new(A.keys, array.cumsum(axis=along))
    bound = A.shape[along] * largest(array)
    return A.new(A.keys, in_integers(lambda x: x.cumsum(axis=along), bound, array))


def cumprod(A: Any, axis: int | None = None, dtype: Any = None, out: Any = None) -> Any:
    """Return the geometric products of the first elements along a batch axis, first factor on the left."""
    _keywords("cumprod", out=out)
    A = A if dtype is None else A.astype(dtype)
    if axis is None:
        A, axis = A.reshape(-1), 0
    along = _axis(A, axis, "cumprod")
    if not A.shape[along]:
        return A
    factors = (A.new(A.keys, row) for row in np.moveaxis(A.coefficients, along, 0))
    return stack(list(itertools.accumulate(factors, operator.mul)), along)


def trapezoid(y: Any, x: Any = None, dx: Any = 1.0, axis: int = -1) -> Any:
    """Return Σ (x_{i+1} - x_i) (y_i + y_{i+1})/2 along a batch axis."""
    along = _axis(y, axis, "trapezoid")
    x, dx = as_numbers(x, "numpy.trapezoid"), as_numbers(dx, "numpy.trapezoid")
    step = dx if x is None else np.diff(x, axis=along if np.ndim(x) > 1 else -1)
    step = np.reshape(step, (-1, *(1,) * (y.ndim - 1 - along))) if np.ndim(step) == 1 else step
    before = (slice(None),) * along
    return ((y[(*before, slice(1, None))] + y[(*before, slice(None, -1))]) * (step / 2)).sum(along)


def gradient(A: Any, *spacing: Any, axis: Any = None, edge_order: int = 1) -> Any:
    """Return NumPy's central differences of the coefficients along batch axes, a list of them for several."""
    axes = range(A.ndim) if axis is None else axis if isinstance(axis, tuple) else (axis,)
    axes = tuple(_axis(A, index, "gradient") for index in axes)
    if not axes:
        raise fail("axis", "gradient", "a batch axis, or several", axis if A.ndim else describe("a single multivector"))
    array = A.coefficients.astype(np.float64) if A.dtype.kind == "i" else _numeric(A).coefficients
    differences: Any = np.gradient
    arrays = differences(array, *as_numbers(spacing, "numpy.gradient"), axis=axes, edge_order=edge_order)
    parts = [
        A.new(A.keys, copy_by_component(part)) for part in (arrays if isinstance(arrays, list | tuple) else [arrays])
    ]
    return parts if len(axes) > 1 else parts[0]


def interp(x: Any, xp: Any, fp: Any, left: Any = None, right: Any = None, period: Any = None) -> Any:
    """Return the values at x, real, of the line through (xp_i, fp_i), fp multivectors along one batch axis."""
    line: Any = np.interp
    x, xp = as_numbers(x, "numpy.interp"), as_numbers(xp, "numpy.interp")
    like = next((A for A in (fp, left, right) if is_multivector(A) and A.grades not in ((), (0,))), None)
    if like is None:
        return line(x, xp, *(as_numbers(value, "numpy.interp") for value in (fp, left, right)), period)
    arguments = {"fp": fp, "left": left, "right": right}
    values = {name: _numeric(operand(like, value)) for name, value in arguments.items() if value is not None}
    for name, value in values.items():
        if value.ndim != (name == "fp"):
            rule = "multivectors of batch shape (n,)" if name == "fp" else "one multivector"
            raise fail(name, "interp", rule, describe(f"batch shape {value.shape}"))
    keys = functools.reduce(union, (value.keys for value in values.values()))
    arrays = {name: np.moveaxis(value.on_keys(keys).coefficients, -1, 0) for name, value in values.items()}
    columns = [
        line(x, xp, fp=column, period=period, **{name: array[k] for name, array in arrays.items() if name != "fp"})
        for k, column in enumerate(arrays["fp"])
    ]
    return like.new(keys, np.stack(columns, axis=-1))


def _numeric(A: Any) -> Any:
    """Return fractions and symbols with a value as floats."""
    return A.to_numeric() if A.dtype.kind == "O" else A


def convolve(a: Any, v: Any, mode: str = "full") -> Any:
    """Return Σ_k a_k v_{n-k}, the factors of each geometric product in this order; modes as NumPy's."""
    if all(not is_multivector(factor) or factor.grades in ((), (0,)) for factor in (a, v)):
        return np.convolve(*(as_numbers(factor, "numpy.convolve") for factor in (a, v)), mode)  # type: ignore[call-overload]
    like = a if is_multivector(a) else v
    a, v = (operand(like, factor if is_multivector(factor) else np.asarray(factor)) for factor in (a, v))
    if a.ndim != 1 or v.ndim != 1 or not (a.shape[0] and v.shape[0]):
        raise fail("a", "convolve", "not empty, of one batch axis like v", describe(f"shapes {a.shape}, {v.shape}"))
    n, m = a.shape[0], v.shape[0]
    lengths = {"full": n + m - 1, "same": max(n, m), "valid": abs(n - m) + 1}
    size = lengths[check_choice(mode, "mode", "convolve", tuple(lengths))]
    products = a[:, None] * v[None, :]
    array = np.zeros((n + m - 1, products.keys.size), dtype=products.dtype)
    for i in range(n):
        array[i : i + m] += products.coefficients[i]
    first = (n + m - 1 - size) // 2
    return products.new(products.keys, copy_by_component(array[first : first + size]))


def _axis(A: Any, axis: Any, name: str) -> int:
    if not isinstance(axis, int | np.integer) or not -A.ndim <= axis < A.ndim:
        raise fail("axis", name, f"one of the {A.ndim} batch axes", axis)
    return int(axis) % A.ndim


def diff(A: Any, n: int = 1, axis: int = -1, prepend: Any = None, append: Any = None) -> Any:
    """Return the n-th differences A[i + 1] - A[i] along a batch axis, of more elements before and after."""
    place, n = _axis(A, axis, "diff"), check_integer(n, "n", "diff", low=0)
    ends = [None if end is None else operand(A, end) for end in (prepend, append)]
    shape = (*A.shape[:place], 1, *A.shape[place + 1 :])
    first, last = ([] if end is None else [end if end.ndim else np.broadcast_to(end, shape)] for end in ends)
    A = np.concatenate([*first, A, *last], axis=place) if first or last else A
    along = (slice(None),) * place
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
        result = A.mean(axis, keepdims=keepdims)
        return (result, np.full(result.shape, _size(A) / max(_size(result), 1))[()]) if returned else result
    w = np.asarray(weights)
    if w.shape != A.shape:
        if w.ndim != 1 or axis is None or w.shape[0] != A.shape[_axis(A, axis, "average")]:
            rule = f"of the batch shape {A.shape}, or one for each along the axis"
            raise fail("weights", "average", rule, describe(f"shape {w.shape}"))
        w = np.moveaxis(np.broadcast_to(w, (*np.delete(A.shape, axis), len(w))), -1, axis)
    total = w.sum(axis=axis, keepdims=keepdims)
    result = (A * w).sum(axis, keepdims=keepdims) / total
    return (result, total) if returned else result


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
    A, B = like.coerce(A), like.coerce(B)
    if equal_nan and None not in (A, B):
        A, B = _without_common_nan(A, B)
    return A.isclose(B, rtol=rtol, atol=atol)


def _without_common_nan(A: Any, B: Any) -> tuple[Any, Any]:
    """Return both with zeros where both have NaN."""
    keys = union(A.keys, B.keys)
    a, b = aligned(A, B, "isclose")
    nan = np.isnan(a) & np.isnan(b)
    return A.new(keys, np.where(nan, 0, a)), B.new(keys, np.where(nan, 0, b))


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


def _size(A: Any, axis: int | None = None) -> int:
    return int(np.prod(A.shape)) if axis is None else int(A.shape[axis])


def _batch(A: Any, shape: Any) -> tuple[int, ...]:
    """Return the batch shape of what is like A, unless another is given."""
    return A.shape if shape is None else (shape,) if isinstance(shape, int) else tuple(shape)


def _full_like(A: Any, fill_value: Any, dtype: Any = None, *, shape: Any = None, **more: Any) -> Any:
    B = operand(A, fill_value)
    B = B if B.keys.size else B.on_keys(A.keys)
    return np.broadcast_to(B.astype(common_dtype(A.dtype, B.dtype) if dtype is None else dtype), _batch(A, shape))


def _zeros_like(A: Any, dtype: Any = None, *, shape: Any = None, **more: Any) -> Any:
    return A.new(A.keys, zero_coefficients(_batch(A, shape), A.keys.size, A.dtype if dtype is None else dtype))


def _ones_like(A: Any, dtype: Any = None, *, shape: Any = None, **more: Any) -> Any:
    return _full_like(A, A.new(keys_of_grades(A.algebra.d, (0,)), np.ones(1, dtype=A.dtype)), dtype, shape=shape)


def of_coefficients(function: Any) -> Callable[..., Any]:
    """Return a function of NumPy that acts on each coefficient."""

    def method(A: Any, *args: Any, out: Any = None, **keywords: Any) -> Any:
        _keywords(function.__name__, out=out)
        return A.new(A.keys, np.array(function(A.coefficients, *args, **keywords)))

    return method


def _result_type(*arguments: Any) -> np.dtype:
    return np.result_type(*(x.dtype if is_multivector(x) else x for x in arguments))


OWN: dict[Any, Callable[..., Any]] = {
    np.sum: sum,
    np.mean: mean,
    np.prod: prod,
    np.cumsum: cumsum,
    np.cumprod: cumprod,
    **({np.cumulative_sum: cumsum, np.cumulative_prod: cumprod} if hasattr(np, "cumulative_sum") else {}),
    np.trapezoid: trapezoid,
    np.gradient: gradient,
    np.interp: interp,
    np.convolve: convolve,
    np.diff: diff,
    np.average: average,
    np.linspace: linspace,
    np.isclose: isclose,
    np.allclose: allclose,
    np.array_equal: array_equal,
    np.shape: lambda A: tuple(A.shape),
    np.ndim: lambda A: int(A.ndim),
    np.size: _size,
    np.zeros_like: _zeros_like,
    np.empty_like: _zeros_like,
    np.ones_like: _ones_like,
    np.full_like: _full_like,
    np.iscomplexobj: lambda A: A.dtype.kind == "c",
    np.isrealobj: lambda A: A.dtype.kind != "c",
    **{function: of_coefficients(function) for function in (np.real, np.imag, np.round, np.around, np.nan_to_num)},
    np.result_type: _result_type,
}
