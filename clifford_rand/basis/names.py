"""Names of basis blades: `e12` below ten dimensions, `e1_12` from ten on, and names of one's own."""

import keyword
import math
import re
import unicodedata
from collections.abc import Sequence
from itertools import combinations

from clifford_rand._checks import check_listed, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.basis.rules import bits_of

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
        """Return (mask, sign) of a blade's name, None if it is not one.

        Examples
        --------
        >>> default_names(3, first=1).parse("e21"), default_names(12, first=1).parse("e1_12")
        ((3, -1), (2049, 1))
        """
        if name == "1":
            return 0, 1
        places = [self._find(part) for part in self._split(name) or []]
        if not places or None in places or len(set(places)) < len(places):
            return None
        indices = [i for i in places if i is not None]
        return sum(1 << i for i in indices), parity(indices)

    def listed(self) -> list[str]:
        """Return names for completion: vectors, then each grade of which all names are among the first 256.

        Examples
        --------
        >>> default_names(3, first=1).listed(), len(default_names(1000, first=1).listed())
        (['e1', 'e2', 'e3', 'e12', 'e13', 'e23', 'e123'], 256)
        """
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
