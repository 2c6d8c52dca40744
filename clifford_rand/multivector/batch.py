"""Batch axes: parts, shapes, sums along them; batches put together and taken apart.

A function of NumPy that only moves elements is applied to their numbers: what comes out says which stands where.
"""

import functools
import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_listed, describe, fail, is_whole
from clifford_rand._threads import cached_property
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import (
    as_components,
    common_dtype,
    from_components,
    in_integers,
    largest,
    namespace,
)
from clifford_rand.basis.keys import keys_of_masks, union
from clifford_rand.multivector.comparison import as_numbers, is_multivector


def length(A: MV) -> int:
    """Return the length of the first batch axis."""
    if not A.ndim:
        raise TypeError("a single multivector has no len(); its components are in .values")
    return int(A.coefficients.shape[0])


def iterate(A: MV) -> Iterator[MV]:
    """Return the multivectors, or batches, along the first batch axis."""
    if not A.ndim:
        raise TypeError("a single multivector is not iterable; its components are in .values")
    return (A.new(A.keys, A.coefficients[i, ...]) for i in range(A.shape[0]))


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


def axes_of(A: MV, axis: Any) -> tuple[int, ...]:
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
    array, axes, keepdims = A.coefficients, axes_of(A, axis), check_bool(keepdims, "keepdims", "sum")
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
    axes, keepdims = axes_of(A, axis), check_bool(keepdims, "keepdims", "mean")
    if not all(A.shape[k] for k in axes):
        raise fail("axis", "mean", "axes with at least one multivector", describe(f"a batch of shape {A.shape}"))
    return A.new(A.keys, A.coefficients.mean(axis=axes, keepdims=keepdims))


def prod(A: MV, axis: int | None = None, *, rule: str = "gp", keepdims: bool = False) -> MV:
    """Return the product along a batch axis, first factor on the left; ``rule`` names it ("gp", "wedge", …).

    By default it is the product of all elements, in the order of ``A.reshape(-1)``.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> A = alg.vector([[1, 0, 0], [1, 1, 0], [0, 0, 1]])
    >>> A.prod()
    e3 + e123
    >>> A.prod(rule="wedge")
    e123
    """
    keepdims = check_bool(keepdims, "keepdims", "prod")
    if axis is None:
        product = prod(A.reshape(-1), 0, rule=rule)
        return product.reshape((1,) * A.ndim) if keepdims else product
    axes = axes_of(A, axis)
    if len(axes) != 1:
        raise fail("axis", "prod", f"one of the {A.ndim} batch axes", axis)
    (k,) = axes
    if not isinstance(rule, str):
        raise fail("rule", "prod", 'the name of a product, as "gp" or "wedge"', rule)
    if not A.shape[k]:
        raise fail("axis", "prod", "an axis with at least one multivector", axis)
    before = (slice(None),) * k
    factors = [A.new(A.keys, A.coefficients[(*before, i, ...)]) for i in range(A.shape[k])]
    product = functools.reduce(lambda a, b: a.multiply(rule, b), factors)
    return product.reshape(tuple(1 if i == k else n for i, n in enumerate(A.shape))) if keepdims else product


_MOST = 64  # axes of an array
FIRST = ((0, ("a", "m", "ary", "arr", "array", "x", "tup", "arrays", "v")),)


def moved(function: Any, operands: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of the numbers of the elements, with the elements in their place."""
    owner = f"numpy.{function.__name__}"
    if kwargs.pop("out", None) is not None:
        raise TypeError(f"{owner} cannot write into out= here: a multivector is a value")
    dtype = kwargs.pop("dtype", None)
    if function is np.select and len(args) < 3:
        kwargs.setdefault("default", 0)
    multivectors = _all_multivectors([*args, *kwargs.values()])
    held = _Elements(next(A for A in multivectors if type(A.coefficients) is np.ndarray))
    for position, names in operands:
        name = next((word for word in names if word in kwargs), None)
        if position < 0:
            args = [held.places(word) for word in args]
        elif name is not None:
            kwargs[name] = held.places(kwargs[name])
        elif position < len(args):
            args[position] = held.places(args[position])
    args, kwargs = as_numbers(args, owner), {key: as_numbers(value, owner) for key, value in kwargs.items()}
    try:
        result = function(*args, **kwargs)
    except np.exceptions.AxisError:
        raise
    except ValueError as error:
        shapes = ", ".join(str(A.shape) for A in held.operands)
        hint = f"NumPy says: {error}"
        raise fail("A", owner, "of batch shapes that fit", describe(f"shapes {shapes}"), hint) from error
    if not held.operands:
        return result
    result = held.at(result)
    return result if dtype is None else result.astype(dtype)


def _all_multivectors(value: Any) -> list[Any]:
    if is_multivector(value):
        return [value]
    return [A for part in value for A in _all_multivectors(part)] if isinstance(value, list | tuple) else []


class _Elements:
    """The elements of some batches one after the other, each known by its number."""

    def __init__(self, like: MV) -> None:
        self.like, self.count = like, 0
        self.operands: list[Any] = []

    def places(self, value: Any) -> Any:
        """Return the numbers of the elements of a multivector, or of several in a list, in its batch shape."""
        if isinstance(value, list | tuple):
            return [self.places(part) for part in value]
        A = operand(self.like, value)
        first = self.count
        self.operands.append(A)
        self.count += A.coefficients[..., :1].size if A.keys.size else int(np.prod(A.shape))
        return np.arange(first, self.count).reshape(A.shape)

    def at(self, index: Any) -> Any:
        """Return the multivectors with these numbers, in a list or tuple where NumPy makes one."""
        if isinstance(index, list | tuple):
            return type(index)([self.at(part) for part in index])
        keys, parts = self._parts
        places = np.asarray(index)
        return self.like.new(keys, from_components(parts[:, places.reshape(-1)], places.shape))

    @cached_property
    def _parts(self) -> tuple[Any, NDArray[Any]]:
        keys = functools.reduce(union, (A.keys for A in self.operands))
        dtype = functools.reduce(common_dtype, (A.dtype for A in self.operands))
        aligned = (as_components(A.on_keys(keys).astype(dtype).coefficients) for A in self.operands)
        return keys, np.concatenate(list(aligned), axis=1)


def operand(like: MV, value: Any) -> MV:
    """Return a value beside a multivector as one; a zero adds no grade."""
    if value.__class__ in (int, float) and value == 0:
        return like.new(keys_of_masks(like.algebra.d, ()), np.zeros((0,), dtype=like.dtype))
    A = like.coerce(np.asarray(value) if isinstance(value, bool | np.bool_) else value)
    if A is None:
        raise fail("values", "a function of NumPy", "multivectors, numbers or arrays of them", value)
    return A


# ---- stack and concatenate, for tensors too


def stack(multivectors: Sequence[MV], axis: int = 0) -> MV:
    """Return multivectors of one batch shape along a new batch axis; grades are united, dtypes promoted.

    Parameters
    ----------
    multivectors : sequence of Multivector
        Numbers and arrays of numbers among them are scalars. Of tensors all are.
    axis : int, default=0
        Where the new axis comes; -1 is the last batch axis.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> A = cr.stack([alg.e1, 2.0 * alg.e23, alg.scalar(3)])
    >>> A.shape, A.grades, A.sum()
    ((3,), (0, 1, 2), 3.0 + e1 + 2.0*e23)
    """
    return _combined("stack", multivectors, axis)


def concatenate(multivectors: Sequence[MV], axis: int = 0) -> MV:
    """Return batches one after the other along a batch axis; grades are united, dtypes promoted.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> A = cr.concatenate([alg.vector([[1, 0], [0, 1]]), alg.scalar([5])])
    >>> [str(one) for one in A]
    ['e1', 'e2', '5']
    """
    return _combined("concatenate", multivectors, axis)


def _combined(name: str, multivectors: Sequence[Any], axis: int) -> Any:
    listed = check_listed(multivectors, "multivectors", name, "a sequence of multivectors")
    if not is_whole(axis) or not -_MOST <= axis < _MOST:
        raise fail("axis", name, "one of the batch axes", axis)
    operands = [A for A in listed if is_multivector(A)]
    if not operands:
        raise fail("multivectors", name, "a sequence with at least one multivector", multivectors)
    tensor = next((A for A in operands if type(A.coefficients) is not np.ndarray), None)
    try:
        if tensor is None:
            return moved(getattr(np, name), FIRST, [listed], {"axis": axis})
        return _of_tensors(name, [operand(tensor, A) for A in listed], axis)
    except (ValueError, TypeError, IndexError) as error:
        shapes = ", ".join(str(A.shape if is_multivector(A) else np.shape(A)) for A in listed[:8])
        rule = "of batch shapes that fit, and of one algebra" if isinstance(error, ValueError) else "multivectors"
        raise fail("multivectors", name, rule, describe(f"shapes {shapes}"), f"NumPy says: {error}") from error


def _of_tensors(name: str, operands: list[Any], axis: int) -> Any:
    keys = functools.reduce(union, (A.keys for A in operands))
    arrays = [A.on_keys(keys).coefficients for A in operands]
    xp = namespace(arrays[0])
    dtype = functools.reduce(xp.result_type, (array.dtype for array in arrays))
    ndim = operands[0].ndim + (name == "stack")
    if not -ndim <= axis < ndim:
        raise fail("axis", name, f"one of the {ndim} batch axes", axis)
    arrays = [xp.astype(array, dtype, copy=False) for array in arrays]
    return operands[0].new(keys, getattr(xp, "concat" if name == "concatenate" else name)(arrays, axis=axis % ndim))
