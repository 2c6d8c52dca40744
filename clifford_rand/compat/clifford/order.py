"""Names of basis vectors in a layout, and orders of its blades."""

import itertools
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.keys import dense_order
from clifford_rand.basis.rules import bits_of, parity


def _powerset(items: Iterable[Any]) -> Iterator[tuple[Any, ...]]:
    """Return all subsets of a sequence, by size and then in the order of the sequence."""
    pool = list(items)
    return itertools.chain.from_iterable(itertools.combinations(pool, k) for k in range(len(pool) + 1))


class BasisBladeOrder:
    """An order of basis blades, each a bit mask: bit i is the i-th basis vector.

    Attributes
    ----------
    index_to_bitmap : ndarray of int
        The mask of each place.
    bitmap_to_index : ndarray of int
        The place of each mask, -1 for masks that are left out.
    grades : ndarray of int
        The number of bits at each place.
    """

    def __init__(self, bitmaps: Sequence[int]) -> None:
        masks = [int(mask) for mask in bitmaps]
        if len(set(masks)) < len(masks):
            raise fail("bitmaps", "BasisBladeOrder", "distinct masks", masks)
        self._set(np.array(masks, dtype=np.int64))

    def _set(self, masks: NDArray[np.int64]) -> None:
        self.index_to_bitmap = masks
        self.grades = np.array([int(mask).bit_count() for mask in masks], dtype=np.int64)
        self.bitmap_to_index = np.full(int(np.bitwise_or.reduce(masks)) + 1, -1, dtype=np.int64)
        self.bitmap_to_index[masks] = np.arange(len(masks))

    @classmethod
    def shortlex(cls, n_vectors: int) -> "BasisBladeOrder":
        """Return the usual order, by grade and then lexicographically by indices."""
        return _Shortlex(n_vectors)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, BasisBladeOrder) and np.array_equal(self.index_to_bitmap, other.index_to_bitmap)

    def __hash__(self) -> int:
        return hash(tuple(self.index_to_bitmap.tolist()))

    def __repr__(self) -> str:
        width = max((int(mask).bit_length() for mask in self.index_to_bitmap), default=1)
        masks = ", ".join(f"0b{int(mask):0{max(width, 1)}b}" for mask in self.index_to_bitmap)
        return f"BasisBladeOrder([{masks}])"


class _Shortlex(BasisBladeOrder):
    def __init__(self, n_vectors: int) -> None:
        self.n_vectors = n_vectors
        self._set(dense_order(n_vectors)[0].astype(np.int64))

    __hash__ = BasisBladeOrder.__hash__

    def __reduce__(self) -> Any:
        return _Shortlex, (self.n_vectors,)

    def __repr__(self) -> str:
        return f"BasisBladeOrder.shortlex({self.n_vectors})"


class BasisVectorIds:
    """The ids of the basis vectors in tuples, ``A[1, 3]``, and in names: integers, letters, anything.

    Examples
    --------
    >>> from clifford_rand.compat.clifford import BasisVectorIds
    >>> ids = BasisVectorIds(["x", "y", "z"])
    >>> ids.tuple_as_sign_and_bitmap(("z", "x")), ids.bitmap_as_tuple(0b110)
    ((-1, 5), ('y', 'z'))
    """

    def __init__(self, blade_ids: Sequence[Hashable]) -> None:
        if len(set(blade_ids)) < len(blade_ids):
            raise fail("blade_ids", "BasisVectorIds", "distinct", list(blade_ids))
        self.values = blade_ids

    @classmethod
    def ordered_integers(cls, n: int, *, first_index: int = 1) -> "BasisVectorIds":
        """Return successive integers as ids."""
        return _Integers(n, first_index)

    def id_as_bitmap(self, id: Hashable) -> int:
        """Return the mask of one basis vector."""
        if id not in self.values:
            raise fail("id", "BasisVectorIds", f"one of {list(self.values)}", id)
        return 1 << self.values.index(id)

    def bitmap_as_tuple(self, bitmap: int) -> tuple[Hashable, ...]:
        """Return the ids of a blade, ascending."""
        return tuple(self.values[i] for i in bits_of(int(bitmap)))

    def tuple_as_sign_and_bitmap(self, blade: Sequence[Hashable]) -> tuple[int, int]:
        """Return the sign that sorting the vectors of a blade gives, and its mask."""
        places = [self.id_as_bitmap(id).bit_length() - 1 for id in blade]
        if len(set(places)) < len(places):
            raise fail("blade", "BasisVectorIds", "without a repeated basis vector", tuple(blade))
        return parity(places), sum(1 << place for place in places)

    def order_from_tuples(self, blades: Iterable[Sequence[Hashable]]) -> BasisBladeOrder:
        """Return the order that lists blades as these tuples of ids do; each ascends, as a blade is stored so."""
        masks = []
        for blade in blades:
            sign, mask = self.tuple_as_sign_and_bitmap(blade)
            if sign < 0:
                ascending = self.bitmap_as_tuple(mask)
                raise NotImplementedError(
                    f"a blade is stored with ascending vectors: write {ascending}, not {tuple(blade)}"
                )
            masks.append(mask)
        return BasisBladeOrder(masks)

    def order_as_tuples(self, ordering: BasisBladeOrder) -> list[tuple[Hashable, ...]]:
        """Return the tuples of ids of an order."""
        return [self.bitmap_as_tuple(mask) for mask in ordering.index_to_bitmap]

    def augmented_with(self, n: int) -> "BasisVectorIds":
        """Return these ids and n integers after the largest."""
        if not all(isinstance(value, int) for value in self.values):
            raise fail("ids", "augmented_with", "integers", describe(f"{list(self.values)}"), "Give ids of your own.")
        largest = max((value for value in self.values if isinstance(value, int)), default=0)
        return BasisVectorIds([*self.values, *range(largest + 1, largest + 1 + n)])

    def __repr__(self) -> str:
        return f"BasisVectorIds({self.values!r})"


class _Integers(BasisVectorIds):
    values: range

    def __init__(self, n: int, first_index: int = 1) -> None:
        self.first_index = first_index
        self.values = range(first_index, first_index + n)

    def augmented_with(self, n: int) -> BasisVectorIds:
        return _Integers(len(self.values) + n, self.first_index)

    def __repr__(self) -> str:
        first = f", first_index={self.first_index}" if self.first_index != 1 else ""
        return f"BasisVectorIds.ordered_integers({len(self.values)}{first})"
