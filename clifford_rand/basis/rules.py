"""Signs of basis blades as bit masks, and the products as grade rules: each keeps ⟨A_r B_s⟩_t for some (r, s, t).

Bit i of a mask stands for basis vector i, factors ascend. Masks are int64 arrays up to 62 dimensions and object arrays
of Python integers beyond; every function takes both.

A new product is one line in `RULES`, and a method. It is then computed by its table, or not at all where that would be
too large; the sets below name the rules for which there is a faster way, and none of them is assumed of a new one. The
commutator needs no second product: ⟨BA⟩_t = ρ_r ρ_s ρ_t ⟨AB⟩_t for A of grade r and B of grade s, ρ_k =
(-1)^{k(k-1)/2} the sign of the reverse.
"""

from collections.abc import Callable
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


# ---- products


def _sign(grade: Any) -> Any:
    return np.where(reverse_is_negative(grade), -1, 1)


def _keep(condition: Any) -> NDArray[np.int8]:
    return np.asarray(condition, dtype=np.int8)


RULES: dict[str, Callable[[Any, Any, Any], NDArray[np.int8]]] = {
    "gp": lambda r, s, t: _keep((r >= 0) & (s >= 0) & (t >= 0)),
    "wedge": lambda r, s, t: _keep(t == r + s),
    "fat_dot": lambda r, s, t: _keep(t == abs(r - s)),
    "hestenes": lambda r, s, t: _keep((t == abs(r - s)) & (r > 0) & (s > 0)),
    "lc": lambda r, s, t: _keep(t == s - r),
    "rc": lambda r, s, t: _keep(t == r - s),
    "scalar_product": lambda r, s, t: _keep((t == 0) & (r == s)),
    "inner": lambda r, s, t: _keep(((t == 0) & (r == s)) * _sign(s)),
    "commutator": lambda r, s, t: _keep(_sign(r) * _sign(s) * _sign(t) < 0),
    "anticommutator": lambda r, s, t: _keep(_sign(r) * _sign(s) * _sign(t) > 0),
    "vee": lambda r, s, t: _keep((r >= 0) & (s >= 0) & (t >= 0)),  # the wedge of the complements, see table.py
}

METRIC_FREE = frozenset({"wedge", "vee"})  # computed from disjoint masks, of the blades or of their complements
SCALAR = frozenset({"scalar_product", "inner"})  # only equal blades count where the metric is diagonal
BY_TRANSFORM = frozenset({"gp", "commutator", "anticommutator"})
BY_SUBSETS = frozenset({"wedge", "vee", "lc", "rc", "fat_dot", "hestenes"})
