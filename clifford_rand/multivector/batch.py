"""Batch axes: parts of a batch, other shapes, sums, means and products along them."""

import functools
import math
from collections.abc import Iterator
from typing import Any

import numpy as np

from clifford_rand._checks import check_bool, describe, fail, is_whole
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import in_integers, largest


def length(A: MV) -> int:
    """Return the length of the first batch axis."""
    if not A.ndim:
        raise TypeError("a single multivector has no len(); its components are in .values")
    return int(A.coefficients.shape[0])


def iterate(A: MV) -> Iterator[MV]:
    """Return the multivectors, or batches, along the first batch axis."""
    if not A.ndim:
        raise TypeError("a single multivector is not iterable; its components are in .values")
    return (A.new(A.keys, row) for row in A.coefficients)


def item(A: MV, index: Any) -> Any:
    """Return the coefficient of a blade by its name, or a part of the batch by an index.

    Examples
    --------
    >>> A = cr.Algebra(3)("2 + 3*e12")
    >>> int(A["e12"]), int(A["e21"]), int(A["1"])
    (3, -3, 2)
    """
    array = A.coefficients
    if isinstance(index, str):
        position, sign = A.algebra.place(A.keys, index)
        if position < 0:
            return np.zeros(A.shape, dtype=A.dtype)[()]
        value = array[position] if array.ndim == 1 else array[..., position]
        return value if sign > 0 else -value
    if array.ndim == 1:
        raise TypeError("a single multivector has no batch axis to index; use a blade's name, as in A['e12']")
    try:
        return A.new(A.keys, array[on_batch(index)])
    except (TypeError, OverflowError) as error:
        raise fail("index", "A[…]", "the name of a blade, or an index of NumPy", index) from error


def on_batch(index: Any) -> tuple[Any, ...]:
    """Return an index of the batch axes as one of the coefficients."""
    parts = index if isinstance(index, tuple) else (index,)
    if Ellipsis not in [part for part in parts if not isinstance(part, np.ndarray | list)]:
        parts = (*parts, Ellipsis)
    return (*parts, slice(None))


def refuse_item(A: MV, index: Any, value: Any) -> None:
    """Refuse an assignment, with what to write in its place."""
    replacement = f"A.replace({{{index!r}: …}})" if isinstance(index, str) else "A.replace(B, at=index)"
    raise TypeError(f"a multivector is a value: its parts are not assigned. Write A = {replacement}.")


def reshape(A: MV, *shape: int | tuple[int, ...]) -> MV:
    """Return the batch in another shape.

    Examples
    --------
    >>> A = cr.Algebra(2).vector([[1, 0], [0, 1], [2, 0], [0, 2]])
    >>> A.shape, A.reshape(2, 2).shape, A.reshape(2, 2)[1, 0]
    ((4,), (2, 2), 2*e1)
    """
    wanted = shape[0] if len(shape) == 1 and isinstance(shape[0], tuple) else shape
    rows = int(np.prod(A.shape))
    try:
        template = np.empty(rows, dtype=np.bool_).reshape(wanted)  # type: ignore[arg-type]
    except (TypeError, ValueError, OverflowError) as error:
        rule = f"integers ≥ 0 whose product is {rows}, the number of multivectors; one may be -1"
        raise fail("shape", "reshape", rule, wanted) from error
    return A.new(A.keys, A.coefficients.reshape(*template.shape, A.keys.size))


def _axes(A: MV, axis: Any) -> tuple[int, ...]:
    """Return batch axes as integers ≥ 0, all of them for None."""
    if axis is None:
        return tuple(range(A.ndim))
    rule = f"one of the {A.ndim} batch axes"
    axes = []
    for k in axis if isinstance(axis, tuple) else (axis,):
        if not is_whole(k) or not -A.ndim <= k < A.ndim:
            raise fail("axis", "sum, mean and prod", rule, axis)
        axes.append(int(k) % A.ndim)
    if len(set(axes)) < len(axes):
        raise fail("axis", "sum, mean and prod", f"{rule}, each once", axis)
    return tuple(axes)


def total(A: MV, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> MV:
    """Return the sum over batch axes, over all of them by default; with ``keepdims`` these stay, of length 1.

    Examples
    --------
    >>> A = cr.Algebra(2).vector([[1, 2], [3, 4], [5, 6]])
    >>> A.sum(), A[:2].sum(axis=0, keepdims=True).shape
    (9*e1 + 12*e2, (1,))
    """
    array, axes, keepdims = A.coefficients, _axes(A, axis), check_bool(keepdims, "keepdims", "sum")
    if array.dtype.kind != "i":
        return A.new(A.keys, array.sum(axis=axes, keepdims=keepdims))
    count = math.prod(A.shape[k] for k in axes)
    return A.new(A.keys, in_integers(lambda x: x.sum(axis=axes, keepdims=keepdims), count * largest(array), array))


def mean(A: MV, axis: int | tuple[int, ...] | None = None, *, keepdims: bool = False) -> MV:
    """Return the mean over batch axes, over all of them by default; with ``keepdims`` these stay, of length 1.

    Examples
    --------
    >>> cr.Algebra(2).vector([[1, 2], [3, 6]]).mean()
    2.0*e1 + 4.0*e2
    """
    axes, keepdims = _axes(A, axis), check_bool(keepdims, "keepdims", "mean")
    if not all(A.shape[k] for k in axes):
        raise fail("axis", "mean", "axes with at least one multivector", describe(f"a batch of shape {A.shape}"))
    return A.new(A.keys, A.coefficients.mean(axis=axes, keepdims=keepdims))


def prod(A: MV, axis: int = 0, *, rule: str = "gp") -> MV:
    """Return the product along a batch axis, first factor on the left; ``rule`` names it ("gp", "wedge", …).

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> A = alg.vector([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> A.prod()
    e3 + e123
    >>> A.prod(rule="wedge")
    e123
    """
    axes = _axes(A, axis)
    if len(axes) != 1:
        raise fail("axis", "prod", f"one of the {A.ndim} batch axes", axis)
    (k,) = axes
    if not isinstance(rule, str):
        raise fail("rule", "prod", 'the name of a product, as "gp" or "wedge"', rule)
    array = np.moveaxis(A.coefficients, k, 0)
    if not len(array):
        raise fail("axis", "prod", "an axis with at least one multivector", axis)
    factors = [A.new(A.keys, row) for row in array]
    return functools.reduce(lambda a, b: a.multiply(rule, b), factors)
