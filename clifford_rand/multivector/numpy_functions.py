"""NumPy's functions on multivectors: ufuncs mean operators and methods, array functions act on batch axes."""

from collections.abc import Callable
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.multivector import along_axes
from clifford_rand.multivector.along_axes import OWN, of_coefficients
from clifford_rand.multivector.batch import FIRST, moved
from clifford_rand.multivector.comparison import as_numbers, is_multivector

_BINARY = {
    np.add: "add",
    np.subtract: "sub",
    np.multiply: "mul",
    np.true_divide: "truediv",
    np.power: "pow",
    np.bitwise_xor: "xor",
    np.bitwise_or: "or",
    np.bitwise_and: "and",
    np.left_shift: "lshift",
    np.right_shift: "rshift",
    np.equal: "eq",
    np.not_equal: "ne",
    np.less: "lt",
    np.less_equal: "le",
    np.greater: "gt",
    np.greater_equal: "ge",
}
_REFLECTED = {"eq": "eq", "ne": "ne", "lt": "gt", "le": "ge", "gt": "lt", "ge": "le"}
_CIRCULAR = ("sin", "cos", "tan", "sinh", "cosh", "tanh")
_UNARY = {
    np.negative: "__neg__",
    np.positive: "__pos__",
    np.invert: "reverse",
    np.absolute: "norm",
    np.reciprocal: "inv",
    **{getattr(np, prefix + name): prefix + name for name in _CIRCULAR for prefix in ("", "arc")},
    **{getattr(np, name): name for name in ("exp", "log", "sqrt")},
}


def by_ufunc(A: MV, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    """Let ``array * A``, ``np.add(array, A)``, ``np.exp(A)``, ``np.add.reduce(A)`` mean the operators and methods.

    Any other ufunc takes scalars as the numbers that they are, ``np.arctan2(a | b, c | d)``, and returns numbers.
    """
    if not all(isinstance(x, np.ndarray) or not hasattr(x, "__array_ufunc__") or is_multivector(x) for x in inputs):
        return NotImplemented  # another library's
    name = f"numpy.{ufunc.__name__}"
    if kwargs.get("out") is not None:
        raise TypeError(f"{name} cannot write into out= here: a multivector is a value")
    if method in ("reduce", "accumulate"):
        return _along_an_axis(ufunc, method, inputs[0], kwargs)
    if method != "__call__" or kwargs:
        raise TypeError(f"{name} of multivectors takes no keywords, and has no method {method!r}: use the operators")
    if ufunc in _BINARY:
        a, b = inputs
        operator = _BINARY[ufunc]
        if isinstance(a, type(A)):
            return getattr(a, f"__{operator}__")(b)
        return getattr(b, f"__{_REFLECTED.get(operator, 'r' + operator)}__")(a)
    if ufunc in _UNARY:
        return getattr(inputs[0], _UNARY[ufunc])()
    own = _OWN.get(ufunc)
    return ufunc(*as_numbers(inputs, name)) if own is None else own(*inputs)


def _along_an_axis(ufunc: Any, method: str, A: Any, kwargs: dict[str, Any]) -> Any:
    meanings: dict[Any, Callable[..., Any]] = {
        (np.add, "reduce"): along_axes.sum,
        (np.multiply, "reduce"): along_axes.prod,
        (np.add, "accumulate"): along_axes.cumsum,
        (np.multiply, "accumulate"): along_axes.cumprod,
    }
    if (ufunc, method) not in meanings:
        raise TypeError(f"numpy.{ufunc.__name__}.{method} has no meaning for multivectors")
    return meanings[ufunc, method](A, **{"axis": 0, **kwargs})


def _conjugate(A: Any) -> Any:
    """Return the Clifford conjugate of real coefficients; of complex ones it might be meant or not."""
    if A.dtype.kind == "c":
        rule = "of real coefficients, as complex ones have two conjugates"
        hint = "A.conjugate() is the Clifford conjugate, A.map(np.conj) that of the coefficients."
        raise fail("A", "numpy.conjugate", rule, describe(f"dtype {A.dtype}"), hint)
    return A.conjugate()


_OWN: dict[Any, Callable[..., Any]] = {
    np.square: lambda A: A * A,
    np.conjugate: _conjugate,
    np.isnan: lambda A: np.isnan(A.coefficients).any(axis=-1),
    np.isinf: lambda A: np.isinf(A.coefficients).any(axis=-1),
    np.isfinite: lambda A: np.isfinite(A.coefficients).all(axis=-1),
    np.rint: of_coefficients(np.rint),
}


# ---- array functions
#
# A function that only moves elements about (stack, where, roll, take, …) is NumPy's own, applied to the numbers 0, 1, 2
# and so on of the elements: what comes out says which element stands where, with every option and error of NumPy's.


def by_array_function(A: MV, function: Any, types: Any, args: Any, kwargs: Any) -> Any:
    """Let ``np.sum(A)``, ``np.stack([A, B])``, ``np.where(mask, A, B)`` act on the batch axes of multivectors.

    Functions without a meaning for multivectors take scalars as the numbers that they are, and refuse others.
    """
    name = f"{function.__module__}.{function.__name__}"
    if type(A.coefficients) is not np.ndarray:
        hint = "cr.stack and cr.concatenate take tensors; A.to_numpy() is the same multivector of NumPy."
        raise fail("A", name, "a multivector of NumPy", describe("a tensor"), hint)
    own = OWN.get(function)
    if own is not None:
        return own(*args, **kwargs)
    operands = _MOVES.get(function)
    if operands is not None:
        return moved(function, operands, list(args), dict(kwargs))
    return function(*as_numbers(list(args), name), **{key: as_numbers(value, name) for key, value in kwargs.items()})


# ---- functions that move elements about: {function: where its multivectors are, by position and name}

_MOVES: dict[Any, tuple[tuple[int, tuple[str, ...]], ...]] = {
    **dict.fromkeys(
        (
            *(np.moveaxis, np.rollaxis, np.swapaxes, np.transpose, np.squeeze, np.expand_dims, np.reshape, np.ravel),
            *(np.broadcast_to, np.repeat, np.tile, np.flip, np.fliplr, np.flipud, np.rot90, np.roll, np.take),
            *(np.take_along_axis, np.compress, np.delete, np.diagonal, np.resize, np.copy),
            *(np.split, np.array_split, np.hsplit, np.vsplit, np.dsplit),
            *(np.stack, np.concatenate, np.hstack, np.vstack, np.dstack, np.column_stack, np.block),
        ),
        FIRST,
    ),
    **({np.unstack: FIRST} if hasattr(np, "unstack") else {}),
    np.compress: ((1, ("a",)),),
    np.extract: ((1, ("arr",)),),
    np.append: ((0, ("arr",)), (1, ("values",))),
    np.insert: ((0, ("arr",)), (2, ("values",))),
    np.where: ((1, ("x",)), (2, ("y",))),
    np.select: ((1, ("choicelist",)), (2, ("default",))),
    np.choose: ((1, ("choices",)),),
    **dict.fromkeys((np.broadcast_arrays, np.atleast_1d, np.atleast_2d, np.atleast_3d), ((-1, ()),)),
}
