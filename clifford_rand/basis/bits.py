"""Sign rules of basis blades written as bit masks: bit i stands for basis vector i, factors ascend.

Masks are int64 arrays up to 62 dimensions and object arrays of Python integers beyond; every function takes both.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

WORD = 62  # dimensions whose masks fit an int64 with room for a shift

_count = np.frompyfunc(int.bit_count, 1, 1)


def bits_of(mask: int) -> list[int]:
    """Return the indices of the set bits, ascending, in time linear in the dimension."""
    return [i for i, bit in enumerate(bin(mask)[:1:-1]) if bit == "1"]


def as_masks(masks: Any, d: int) -> NDArray[Any]:
    """Return ``masks`` as an int64 array, or as an object array where d > 62."""
    if d <= WORD:
        return np.asarray(masks, dtype=np.int64)
    array = np.empty(len(masks), dtype=object)
    array[:] = [int(mask) for mask in masks]
    return array


def bit_count(masks: NDArray[Any]) -> NDArray[np.int64]:
    """Return the number of set bits of each mask: the grade of the blade."""
    if masks.dtype == object:
        return np.asarray(_count(masks), dtype=np.int64)
    count: NDArray[np.int64] = np.bitwise_count(masks).astype(np.int64)
    return count


def parity_above(masks: NDArray[Any], d: int) -> NDArray[Any]:
    """Return masks whose bit j is the parity of the bits of ``masks`` strictly above j."""
    result = masks >> 1
    shift = 1
    while shift < d:
        result = result ^ (result >> shift)
        shift *= 2
    return result


def is_odd_swap(left: NDArray[Any], right: NDArray[Any], d: int) -> NDArray[np.bool_]:
    """Tell where sorting the factors of e_left e_right takes an odd number of swaps."""
    odd: NDArray[np.bool_] = bit_count(parity_above(left, d) & right) % 2 == 1
    return odd


def reverse_is_negative(grade: Any) -> Any:
    """Tell for which grades k the reverse is negative: (-1)^{k(k-1)/2} = -1."""
    return grade % 4 >= 2
