"""NumPy's functions on multivectors: they act on batch axes, never on components. A table; all else is refused.

A function that only moves elements about (stack, where, roll, take, …) is NumPy's own, applied to the numbers 0, 1, 2
and so on of the elements: what comes out says which element stands where, with every option and error of NumPy's.
"""

import functools
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.basis import layout
from clifford_rand.basis.arrays import namespace
from clifford_rand.basis.coefficients import common_dtype, in_integers, largest
from clifford_rand.basis.keys import keys_of_grades, keys_of_masks, union
from clifford_rand.multivector.scalars import numbers_of

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def is_multivector(value: object) -> bool:
    """Tell whether a value is a multivector, of NumPy or of tensors."""
    return hasattr(value, "keys") and hasattr(value, "coefficients") and hasattr(value, "algebra")


def by_array_function(A: "Multivector", function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Let ``np.sum(A)``, ``np.stack([A, B])``, ``np.where(mask, A, B)`` act on the batch axes of multivectors.

    Functions without a meaning for multivectors take scalars as the numbers that they are, and refuse others.
    """
    name = f"{function.__module__}.{function.__name__}"
    if type(A.coefficients) is not np.ndarray:
        hint = "cr.stack and cr.concatenate take tensors; A.to_numpy() is the same multivector of NumPy."
        raise fail("A", name, "a multivector of NumPy", describe("a tensor"), hint)
    own = _OWN.get(function)
    if own is not None:
        return own(*args, **kwargs)
    operands = _MOVES.get(function)
    if operands is not None:
        return _moved(function, operands, list(args), dict(kwargs))
    return function(*as_numbers(list(args), name), **{key: as_numbers(value, name) for key, value in kwargs.items()})


def as_numbers(value: Any, name: str) -> Any:
    """Return arguments with scalars as numbers; a multivector that is no scalar is an error with what to use."""
    if is_multivector(value):
        try:
            return numbers_of(value, name)[()]
        except TypeError as error:
            hint = _INSTEAD.get(name.split(".")[-1], "A.coefficients has the numbers, A.map(f) maps them.")
            raise TypeError(f"{str(error).split('. A.scalar_part')[0]}. {hint}") from None
    if isinstance(value, list | tuple):
        return type(value)([as_numbers(one, name) for one in value])
    return value


# ---- functions that move elements about: {function: where its multivectors are, by position and name}

_FIRST = ("a", "m", "ary", "arr", "array", "x", "tup", "arrays", "v")
_ONE = ((0, _FIRST),)
_MOVES: dict[Any, tuple[tuple[int, tuple[str, ...]], ...]] = {
    **dict.fromkeys(
        (
            *(np.moveaxis, np.rollaxis, np.swapaxes, np.transpose, np.squeeze, np.expand_dims, np.reshape, np.ravel),
            *(np.broadcast_to, np.repeat, np.tile, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.take),
            *(np.take_along_axis, np.compress, np.delete, np.diagonal, np.resize, np.copy),
            *(np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit),
            *(np.stack, np.concatenate, np.hstack, np.vstack, np.dstack, np.block),
        ),
        _ONE,
    ),
    **({np.unstack: _ONE} if hasattr(np, "unstack") else {}),
    np.compress: ((1, ("a",)),),
    np.extract: ((1, ("arr",)),),
    np.append: ((0, ("arr",)), (1, ("values",))),
    np.insert: ((0, ("arr",)), (2, ("values",))),
    np.where: ((1, ("x",)), (2, ("y",))),
    np.select: ((1, ("choicelist",)), (2, ("default",))),
    np.choose: ((1, ("choices",)),),
    **dict.fromkeys((np.broadcast_arrays, np.atleast_1d, np.atleast_2d, np.atleast_3d), ((-1, ()),)),
}


def _moved(function: Any, operands: Any, args: list[Any], kwargs: dict[str, Any]) -> Any:
    """Return what a function makes of the numbers of the elements, with the elements in their place."""
    if function is np.select and len(args) < 3:
        kwargs.setdefault("default", 0)
    held = _Elements(_first_multivector([*args, *kwargs.values()]))
    for position, names in operands:
        name = next((one for one in names if one in kwargs), None)
        if position < 0:
            args = [held.places(one) for one in args]
        elif name is not None:
            kwargs[name] = held.places(kwargs[name])
        elif position < len(args):
            args[position] = held.places(args[position])
    owner = f"numpy.{function.__name__}"
    found = function(*as_numbers(args, owner), **{key: as_numbers(value, owner) for key, value in kwargs.items()})
    return held.at(found)


def _first_multivector(values: Any) -> "Multivector":
    found = next((A for A in _all_multivectors(values) if type(A.coefficients) is np.ndarray), None)
    assert found is not None
    return found


def _all_multivectors(value: Any) -> list["Multivector"]:
    if is_multivector(value):
        return [value]
    return [A for one in value for A in _all_multivectors(one)] if isinstance(value, list | tuple) else []


class _Elements:
    """The elements of some batches one after the other, each known by its number."""

    def __init__(self, like: "Multivector") -> None:
        self.like, self.count = like, 0
        self.operands: list[Multivector] = []

    def places(self, value: Any) -> Any:
        """Return the numbers of the elements of a multivector, or of several in a list, in its batch shape."""
        if isinstance(value, list | tuple):
            return [self.places(one) for one in value]
        A = _operand(self.like, value)
        first = self.count
        self.operands.append(A)
        self.count += A.coefficients[..., :1].size if A.keys.size else int(np.prod(A.shape))
        return np.arange(first, self.count).reshape(A.shape)

    def at(self, found: Any) -> Any:
        """Return the multivectors with these numbers, in a list or tuple where NumPy makes one."""
        if isinstance(found, list | tuple):
            return type(found)([self.at(one) for one in found])
        return self._like_of(np.asarray(found))

    def _like_of(self, index: NDArray[np.int64]) -> "Multivector":
        keys, parts = self._parts
        return self.like._make(keys, layout.coefficients(parts[:, index.reshape(-1)], index.shape))

    @cached_property
    def _parts(self) -> tuple[Any, NDArray[Any]]:
        keys = functools.reduce(union, (A.keys for A in self.operands))
        dtype = functools.reduce(common_dtype, (A.dtype for A in self.operands))
        aligned = (layout.components(A._on(keys).astype(dtype).coefficients) for A in self.operands)
        return keys, np.concatenate(list(aligned), axis=1)


def _operand(like: "Multivector", value: Any) -> "Multivector":
    """Return a value beside a multivector as one; a zero adds no grade."""
    if value.__class__ in (int, float) and value == 0:
        return like._make(keys_of_masks(like.algebra.d, ()), np.zeros((0,), dtype=like.dtype))
    found = like._coerced(np.asarray(value) if isinstance(value, bool | np.bool_) else value)
    if found is None:
        raise fail("values", "a NumPy function", "multivectors, numbers or arrays of them", value)
    return found


# ---- stack and concatenate, for tensors too


def stack(multivectors: Sequence["Multivector"], axis: int = 0) -> "Multivector":
    """Return multivectors of one batch shape along a new batch axis; grades are united, dtypes promoted.

    Parameters
    ----------
    multivectors : sequence of Multivector
        Numbers and arrays of numbers among them are scalars. Of tensors all are.
    axis : int, default=0
        Where the new axis comes; -1 is the last batch axis.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> A = cr.stack([alg.e1, 2.0 * alg.e23, alg.scalar(3)])
    >>> A.shape, A.grades, A.sum()
    ((3,), (0, 1, 2), 3.0 + 1.0*e1 + 2.0*e23)
    """
    return _combined("stack", multivectors, axis)


def concatenate(multivectors: Sequence["Multivector"], axis: int = 0) -> "Multivector":
    """Return batches one after the other along a batch axis; grades are united, dtypes promoted.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(2)
    >>> A = cr.concatenate([alg.vector([[1, 0], [0, 1]]), alg.scalar([5])])
    >>> [str(one) for one in A]
    ['e1', 'e2', '5']
    """
    return _combined("concatenate", multivectors, axis)


def _combined(name: str, multivectors: Sequence[Any], axis: int) -> Any:
    listed = list(multivectors)
    found = [A for A in listed if is_multivector(A)]
    if not found:
        raise fail("multivectors", name, "a sequence with at least one multivector", multivectors)
    tensor = next((A for A in found if type(A.coefficients) is not np.ndarray), None)
    try:
        if tensor is None:
            return _moved(getattr(np, name), _ONE, [listed], {"axis": axis})
        return _of_tensors(name, [_operand(tensor, A) for A in listed], axis)
    except (ValueError, TypeError) as error:
        shapes = ", ".join(str(A.shape if is_multivector(A) else np.shape(A)) for A in listed[:8])
        rule = "of batch shapes that fit, and of one algebra" if isinstance(error, ValueError) else "multivectors"
        raise fail("multivectors", name, rule, describe(f"shapes {shapes}"), f"NumPy says: {error}") from error


def _of_tensors(name: str, operands: list[Any], axis: int) -> Any:
    keys = functools.reduce(union, (A.keys for A in operands))
    arrays = [A._on(keys).coefficients for A in operands]
    xp = namespace(arrays[0])
    dtype = functools.reduce(xp.result_type, (array.dtype for array in arrays))
    ndim = operands[0].ndim + (name == "stack")
    if not -ndim <= axis < ndim:
        raise fail("axis", name, f"one of the {ndim} batch axes", axis)
    arrays = [xp.astype(array, dtype, copy=False) for array in arrays]
    return operands[0]._make(keys, getattr(xp, "concat" if name == "concatenate" else name)(arrays, axis=axis % ndim))


# ---- sums and other linear functions along batch axes


def _keywords(name: str, **given: Any) -> None:
    """Refuse NumPy's further options unless they are left as they are."""
    for key, value in given.items():
        if value is not None:
            raise TypeError(f"numpy.{name} of multivectors takes no {key}=")


def sum(A: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **more: Any) -> Any:
    """Return the sum over batch axes, over all by default: as `Multivector.sum`."""
    _keywords("sum", out=out, **more)
    return (A if dtype is None else A.astype(dtype)).sum(axis, keepdims=keepdims)


def mean(A: Any, axis: Any = None, dtype: Any = None, out: Any = None, keepdims: bool = False, **more: Any) -> Any:
    """Return the mean over batch axes, over all by default: as `Multivector.mean`."""
    _keywords("mean", out=out, **more)
    return (A if dtype is None else A.astype(dtype)).mean(axis, keepdims=keepdims)


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


def average(A: Any, axis: int | None = None, weights: Any = None) -> Any:
    """Return the mean over batch axes, or Σ w_i A_i / Σ w_i for weights of the batch's shape or of the axis' length."""
    if weights is None:
        return A.mean(axis)
    w = np.asarray(weights)
    if w.shape != A.shape:
        if w.ndim != 1 or axis is None or w.shape[0] != A.shape[_axis(A, axis, "average")]:
            rule = f"of the batch shape {A.shape}, or one for each along the axis"
            raise fail("weights", "average", rule, describe(f"shape {w.shape}"))
        w = np.moveaxis(np.broadcast_to(w, (*np.delete(A.shape, axis), len(w))), -1, axis)
    return (A * w).sum(axis) / w.sum(axis=axis)


def linspace(start: Any, stop: Any, num: int = 50, endpoint: bool = True, axis: int = 0) -> Any:
    """Return ``num`` multivectors at equal steps from one to the other, along a new first batch axis."""
    if axis:
        raise TypeError("numpy.linspace of multivectors makes the first batch axis: move it with np.moveaxis")
    like = start if is_multivector(start) else stop
    a, b = _operand(like, start), _operand(like, stop)
    t = np.linspace(0.0, 1.0, num, endpoint=endpoint).reshape(num, *(1,) * max(a.ndim, b.ndim))
    return a * (1 - t) + b * t


# ---- comparison


def isclose(A: Any, B: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> Any:
    """Compare by `Multivector.isclose` with NumPy's tolerances: max |a - b| ≤ atol + rtol · max(|a|, |b|)."""
    if equal_nan:
        raise TypeError("numpy.isclose of multivectors takes no equal_nan=")
    like = A if is_multivector(A) else B
    return like._coerced(A).isclose(B, rtol, atol) if like is B else A.isclose(B, rtol, atol)


def allclose(A: Any, B: Any, rtol: float = 1e-5, atol: float = 1e-8, equal_nan: bool = False) -> bool:
    """Tell whether all elements are close: see `isclose`."""
    return bool(np.all(isclose(A, B, rtol, atol, equal_nan)))


def array_equal(A: Any, B: Any, equal_nan: bool = False) -> bool:
    """Tell whether two batches have one shape and equal elements."""
    if equal_nan:
        raise TypeError("numpy.array_equal of multivectors takes no equal_nan=")
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
    B = _operand(A, value)
    B = B if B.keys.size else B._on(A.keys)
    return np.broadcast_to((B if dtype is None else B.astype(dtype)), batch)


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


_OWN: dict[Any, Callable[..., Any]] = {
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

_PRODUCTS = "A | B, A * B, A.inner(B) and A.wedge(B) are the products; A.left_matrix() is A as a matrix."
_INSTEAD = {
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
