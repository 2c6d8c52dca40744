"""Basis blades as bit masks: their names, their signs, and the products as rules of grades.

Bit i of a mask stands for basis vector i, factors ascend. Masks are int64 arrays up to 62 dimensions and object arrays
of Python integers beyond; every function takes both.

A new product is one line in `RULES`, and a method. It is then computed by its table, or not at all where that would be
too large; the sets below name the rules for which there is a faster way, and none of them is assumed of a new one. The
commutator needs no second product: ⟨BA⟩_t = ρ_r ρ_s ρ_t ⟨AB⟩_t for A of grade r and B of grade s, ρ_k =
(-1)^{k(k-1)/2} the sign of the reverse.
"""

import keyword
import math
import re
import unicodedata
from collections.abc import Callable, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_listed, describe, fail
from clifford_rand._threads import cached_property

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


MOST_LISTED = 256  # names that completion offers; the 255 blades of eight dimensions are among them
_SHORT = re.compile(r"([A-Za-z]+)([A-Za-z0-9])")


class Names:
    """Names of the basis vectors, and of the blades made of them.

    If all begin alike and differ in one last character (``e1``, ``e2``, ``eo``) these are joined: ``e12``, ``e1o``.
    Otherwise the parts are joined by underscores: ``e1_12`` for e1∧e12, ``x_y`` for x∧y. A name in another order has
    its sign: e21 = -e12.
    """

    def __init__(self, vectors: Sequence[str] | range) -> None:
        self.vectors = vectors  # a range of integers stands for e0, e1, …, so that d = 10^6 costs nothing
        self.d = len(vectors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Names) and self.vectors == other.vectors

    def __hash__(self) -> int:
        return hash(self.vectors if isinstance(self.vectors, range) else tuple(self.vectors))

    def __reduce__(self) -> tuple[type["Names"], tuple[Sequence[str] | range]]:
        return Names, (self.vectors,)

    @cached_property
    def prefix(self) -> str | None:
        """The common letters if every name is these and one more character, else None."""
        if isinstance(self.vectors, range):
            return "e" if not self.vectors or self.vectors[-1] <= 9 else None
        matches = [_SHORT.fullmatch(name) for name in self.vectors]
        prefixes = {match.group(1) if match else None for match in matches}
        return prefixes.pop() if len(prefixes) == 1 else None

    def vector(self, i: int) -> str:
        """Return the name of basis vector ``i``."""
        return f"e{self.vectors[i]}" if isinstance(self.vectors, range) else self.vectors[i]

    def blade(self, mask: int) -> str:
        """Return the name of a blade; ``"1"`` for the scalar."""
        if mask == 0:
            return "1"
        names = [self.vector(i) for i in bits_of(mask)]
        if len(names) == 1:
            return names[0]
        if self.prefix is not None:
            return self.prefix + "".join(name[-1] for name in names)
        if isinstance(self.vectors, range):
            return "e" + "_".join(name[1:] for name in names)
        return "_".join(names)

    @cached_property
    def _index(self) -> dict[str, int]:
        return {name: i for i, name in enumerate(self.vectors)} if not isinstance(self.vectors, range) else {}

    def _find(self, name: str) -> int | None:
        if isinstance(self.vectors, range):
            if not re.fullmatch(r"e(0|[1-9]\d{0,17})", name) or int(name[1:]) not in self.vectors:
                return None
            return self.vectors.index(int(name[1:]))
        return self._index.get(name)

    def _split(self, name: str) -> list[str] | None:
        if self.prefix is not None and re.fullmatch(re.escape(self.prefix) + r"[A-Za-z0-9]+", name):
            return [self.prefix + digit for digit in name[len(self.prefix) :]]
        if isinstance(self.vectors, range):
            parts = name[1:].split("_") if name.startswith("e") else []
            return ["e" + part for part in parts]
        return name.split("_") if self._find(name) is None else [name]

    def parse(self, name: str) -> tuple[int, int] | None:
        """Return (mask, sign) of a blade's name, None if it is not one."""
        if name == "1":
            return 0, 1
        places = [self._find(part) for part in self._split(name) or []]
        if not places or None in places or len(set(places)) < len(places):
            return None
        indices = [i for i in places if i is not None]
        return sum(1 << i for i in indices), parity(indices)

    def listed(self) -> list[str]:
        """Return names for completion: vectors, then each grade of which all names are among the first 256."""
        names = [self.vector(i) for i in range(min(self.d, MOST_LISTED))]
        for k in range(2, self.d + 1):
            if len(names) + math.comb(self.d, k) > MOST_LISTED:
                break
            names += [self.blade(sum(1 << i for i in places)) for places in combinations(range(self.d), k)]
        return names

    @property
    def hint(self) -> str:
        """A sentence that shows what names look like here."""
        if not self.d:
            return "There are no basis vectors: the only blade is 1."
        first, last = self.vector(0), self.vector(self.d - 1)
        example = self.blade((1 << 0) | (1 << (self.d - 1))) if self.d > 1 else first
        return f"Basis vectors are {first} to {last}, blades are written like {example}."


def parity(indices: list[int]) -> int:
    """Return the sign of sorting distinct indices: a cycle of n of them takes n - 1 swaps."""
    order = sorted(range(len(indices)), key=indices.__getitem__)
    cycles = 0
    left = set(order)
    while left:
        cycles += 1
        i = left.pop()
        while (i := order[i]) in left:
            left.remove(i)
    return -1 if (len(indices) - cycles) % 2 else 1


def default_names(d: int, first: int) -> Names:
    """Return the names e<first>, e<first+1>, and so on."""
    return Names(range(first, first + d))


def custom_names(names: Sequence[str], d: int) -> Names:
    """Return names that the user chose, one identifier for each basis vector."""
    rule = f"{d} different identifiers, one for each basis vector"
    chosen = check_listed(names, "names", "Algebra", rule) if not isinstance(names, str) else names.split()
    chosen = [unicodedata.normalize("NFKC", name) if isinstance(name, str) else name for name in chosen]  # as Python's
    valid = all(
        isinstance(name, str) and name.isidentifier() and not (name.startswith("_") or keyword.iskeyword(name))
        for name in chosen
    )
    if len(chosen) != d or not valid or len(set(chosen)) < len(chosen):
        raise fail("names", "Algebra", rule, chosen)
    short = [_SHORT.fullmatch(name) is not None for name in chosen]
    if not all(short) and any("_" in name for name in chosen):
        raise fail("names", "Algebra", "free of underscores, which join the parts of a blade", chosen)
    result = Names(tuple(chosen))
    for mask_name in chosen:
        if (result.parse(mask_name) or (0, 0))[0] != 1 << chosen.index(mask_name):
            raise fail("names", "Algebra", "names that no blade has", describe(repr(mask_name)))
    return result
