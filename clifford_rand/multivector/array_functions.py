"""NumPy's functions on multivectors: they act on batch axes, never on components. A table; all else is refused.

A function that only moves elements about (stack, where, roll, take, …) is NumPy's own, applied to the numbers 0, 1, 2
and so on of the elements: what comes out says which element stands where, with every option and error of NumPy's.
"""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import MV
from clifford_rand.multivector.along_axes import OWN
from clifford_rand.multivector.elements import FIRST, as_numbers, moved


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
