"""Batches put together and taken apart: a function of NumPy that only moves elements about, applied to their numbers.

What comes out says which element stands where, with every option and error of NumPy's. `stack` and `concatenate` too.
"""

import functools
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_listed, describe, fail, is_whole
from clifford_rand._threads import cached_property
from clifford_rand._typing import MV
from clifford_rand.basis import layout
from clifford_rand.basis.arrays import namespace
from clifford_rand.basis.coefficients import common_dtype
from clifford_rand.basis.keys import keys_of_masks, union
from clifford_rand.multivector.comparison import numbers_of

_MOST = 64  # axes of an array
FIRST = ((0, ("a", "m", "ary", "arr", "array", "x", "tup", "arrays", "v")),)


def is_multivector(value: object) -> bool:
    """Tell whether a value is a multivector, of NumPy or of tensors."""
    return hasattr(value, "keys") and hasattr(value, "coefficients") and hasattr(value, "algebra")


def as_numbers(value: Any, name: str) -> Any:
    """Return arguments with scalars as numbers; a multivector that is not a scalar is an error with what to use."""
    if is_multivector(value):
        try:
            return numbers_of(value, name)[()]
        except TypeError as error:
            hint = INSTEAD.get(name.split(".")[-1], "A.coefficients has the numbers, A.map(f) maps them.")
            raise TypeError(f"{str(error).split('. A.scalar_part')[0]}. {hint}") from None
    if isinstance(value, list | tuple):
        return type(value)([as_numbers(part, name) for part in value])
    return value


def moved(function: Any, operands: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of the numbers of the elements, with the elements in their place."""
    owner = f"numpy.{function.__name__}"
    if kwargs.pop("out", None) is not None:
        raise TypeError(f"{owner} cannot write into out= here: a multivector is a value")
    dtype = kwargs.pop("dtype", None)
    if function is np.select and len(args) < 3:
        kwargs.setdefault("default", 0)
    held = _Elements(_first_multivector([*args, *kwargs.values()]))
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


def _first_multivector(values: Any) -> Any:
    first = next((A for A in _all_multivectors(values) if type(A.coefficients) is np.ndarray), None)
    assert first is not None
    return first


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
        return self._like_of(np.asarray(index))

    def _like_of(self, index: NDArray[np.int64]) -> Any:
        keys, parts = self._parts
        return self.like.new(keys, layout.coefficients(parts[:, index.reshape(-1)], index.shape))

    @cached_property
    def _parts(self) -> tuple[Any, NDArray[Any]]:
        keys = functools.reduce(union, (A.keys for A in self.operands))
        dtype = functools.reduce(common_dtype, (A.dtype for A in self.operands))
        aligned = (layout.components(A.on_keys(keys).astype(dtype).coefficients) for A in self.operands)
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
    ((3,), (0, 1, 2), 3.0 + 1.0*e1 + 2.0*e23)
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


# ---- what to use instead of functions without a meaning for multivectors

_PRODUCTS = "A | B, A * B, A.inner(B) and A.wedge(B) are the products; A.left_matrix() is A as a matrix."
INSTEAD = {
    **dict.fromkeys(("dot", "vdot", "inner", "matmul", "einsum", "tensordot", "outer", "kron"), _PRODUCTS),
    "cross": "cr.cross and A.commutator(B) are near to it.",
    "norm": "A.norm() has the norm of each element.",
    "inv": "A.inv() is the inverse.",
    "det": "A.left_matrix() is A as a matrix.",
    "copyto": "A multivector is a value: A.replace makes another.",
    "put": "A multivector is a value: A.replace makes another.",
    "putmask": "A multivector is a value: np.where and A.replace make another.",
    "place": "A multivector is a value: np.where and A.replace make another.",
    "save": "Save A.coefficients, or pickle A.",
    "savez": "Save A.coefficients, or pickle A.",
    **dict.fromkeys(
        ("max", "min", "amax", "amin", "argmax", "argmin", "sort", "argsort", "median", "std", "var"),
        "Multivectors have no order; A.norm() and A['e12'] are arrays of numbers.",
    ),
}
