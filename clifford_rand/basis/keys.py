"""Keys: the basis blades that a multivector stores, in order: by grade, then lexicographically."""

import itertools
import math
import weakref
from collections.abc import Sequence
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail, is_whole, quantity
from clifford_rand._threads import cached_property
from clifford_rand.basis.coefficients import read_only
from clifford_rand.basis.rules import WORD, as_masks, bit_count, bits_of

_COUNTED = 2**14  # blades from which a position is counted by binomials instead of looked up in a dictionary
_SMALL, _REMEMBERED = 2**10, 64  # blades of other keys whose places are remembered, and how many of such keys
LARGEST = 2**27  # components of one multivector: 1 GiB of float64


def check_size(count: int, owner: str, what: str = "this result") -> None:
    """Refuse more components than one multivector may have."""
    if count > LARGEST:
        raise fail(
            what,
            owner,
            f"at most 2^27 components ({8 * LARGEST >> 30} GiB)",
            describe(f"{quantity(count, 'components')}, {quantity(8 * count)} as float64"),
            "Use fewer grades or fewer basis blades.",
        )


def count_of(d: int, grades: Sequence[int]) -> int:
    """Return the number of blades of these grades, or of the first of them that are more than 2^61."""
    if len(grades) == d + 1:
        return 1 << d
    total = 0
    for k in grades:
        few = min(k, d - k)
        total += 1 << WORD if few > WORD else math.comb(d, few)
        if total >> WORD:
            break
    return total


_numbers = itertools.count()
_labelled: "weakref.WeakValueDictionary[str, Keys]" = weakref.WeakValueDictionary()


def keys_labelled(label: str) -> "Keys":
    """Return the keys with a label, of this process."""
    return _labelled[label]


class Keys:
    """The basis blades of a multivector: masks in storage order.

    One object stands for one set wherever it is used (the makers below intern), so that products find their plan by
    identity. ``complete`` means every blade of every grade in ``grades``, of which some may have no blade otherwise.
    """

    def __init__(self, d: int, grades: tuple[int, ...], masks: NDArray[Any] | None) -> None:
        self.d = d
        self.grades = grades
        self.complete = masks is None
        self.size = count_of(d, grades) if masks is None else len(masks)
        if masks is not None:
            self.masks = read_only(masks)
        self.label = f"keys {next(_numbers)}"  # a name for where an object cannot go: into the trace of a compiler
        _labelled[self.label] = self

    def __reduce__(self) -> Any:
        if self.complete:
            return keys_of_grades, (self.d, self.grades)
        return keys_of_masks, (self.d, tuple(int(mask) for mask in self.masks), self.grades)

    def __repr__(self) -> str:
        return f"Keys(d={self.d}, grades={self.grades}, size={self.size})"

    @cached_property
    def masks(self) -> NDArray[Any]:
        """The masks in storage order."""
        check_size(self.size, "a multivector", "keys")
        if self.d <= 20 and len(self.grades) > 1:
            order, grade = dense_order(self.d)
            return read_only(order[np.isin(grade[order], self.grades)]) if len(self.grades) <= self.d else order
        ordered = []
        for k in self.grades:
            few = min(k, self.d - k)
            masks = [sum(1 << i for i in indices) for indices in itertools.combinations(range(self.d), few)]
            full = (1 << self.d) - 1
            ordered += masks if few == k else [full ^ mask for mask in reversed(masks)]
        return read_only(as_masks(ordered, self.d))

    @cached_property
    def grade_of(self) -> NDArray[np.int64]:
        """The grade of each component."""
        if not self.complete:
            return read_only(bit_count(self.masks))
        counts = [math.comb(self.d, k) for k in self.grades]
        return read_only(np.repeat(np.array(self.grades, dtype=np.int64), counts))

    @cached_property
    def slices(self) -> dict[int, slice]:
        """Where the components of each grade lie."""
        counts = np.bincount(self.grade_of, minlength=self.d + 1) if not self.complete else None
        result, start = {}, 0
        for k in self.grades:
            size = math.comb(self.d, k) if counts is None else int(counts[k])
            result[k] = slice(start, start + size)
            start += size
        return result

    @cached_property
    def _position(self) -> dict[int, int]:
        return {int(mask): i for i, mask in enumerate(self.masks)}

    def find(self, mask: int) -> int:
        """Return the position of one mask, or -1."""
        if self.complete and len(self.grades) == 1 and self.grades[0] == 1:
            return mask.bit_length() - 1 if mask.bit_count() == 1 else -1
        if mask.bit_count() not in self.grades:
            return -1
        if self.complete and self.size > _COUNTED:
            return int(self.slices[mask.bit_count()].start) + _rank(mask, self.d)
        return self._position.get(mask, -1)

    def positions(self, masks: NDArray[Any]) -> NDArray[np.int64]:
        """Return the position of each mask, all of which must be here."""
        if len(masks) * 4 < self.size or self.d > WORD - 6:
            return np.fromiter((self.find(int(mask)) for mask in masks), dtype=np.int64, count=len(masks))
        return np.searchsorted(_order_of(self.masks, self.d), _order_of(masks, self.d))

    def place(self, other: "Keys") -> NDArray[np.int64] | slice:
        """Return where the components of ``other``, a subset, lie in this set."""
        if other is self:
            return slice(None)
        if self.complete and other.complete and len(other.grades) == 1:
            return self.slices[other.grades[0]]
        place = self._placed.get(other)
        if place is None:
            place = positions = read_only(self.positions(other.masks))
            if len(positions) and positions[-1] - positions[0] == len(positions) - 1:  # they ascend
                place = slice(int(positions[0]), int(positions[-1]) + 1)
            if other.size <= _SMALL:
                if len(self._placed) >= _REMEMBERED:
                    self._placed.clear()
                self._placed[other] = place
        return place

    @cached_property
    def _placed(self) -> "dict[Keys, NDArray[np.int64] | slice]":
        return {}

    @cached_property
    def filled(self) -> "Keys":
        """Every blade of the grades that are present."""
        return self if self.complete else keys_of_grades(self.d, self.grades)


def _rank(mask: int, d: int) -> int:
    """Return the lexicographic rank of a mask among those of its grade."""
    left, previous, rank = mask.bit_count(), -1, 0
    for i in range(d):
        if mask >> i & 1:
            rank += sum(math.comb(d - 1 - j, left - 1) for j in range(previous + 1, i))
            left, previous = left - 1, i
    return rank


def _order_of(masks: NDArray[Any], d: int) -> NDArray[np.int64]:
    """Return integers that sort blades by grade, then lexicographically by their indices."""
    flipped = np.zeros_like(masks)
    for i in range(d):
        flipped |= (masks >> i & 1) << (d - 1 - i)
    order: NDArray[np.int64] = (bit_count(masks) << d) + ((1 << d) - 1 - flipped)
    return order


def _storage_order(masks: NDArray[Any], d: int) -> NDArray[np.int64]:
    """Return the indices that sort masks as keys are sorted, in many dimensions too."""
    if d <= WORD - 6:
        return np.argsort(_order_of(masks, d))
    size = -(-d // 8)
    octets = np.frombuffer(b"".join([mask.to_bytes(size, "little") for mask in masks.tolist()]), dtype=np.uint8)
    bits = np.unpackbits(octets.reshape(-1, size), axis=1, bitorder="little")
    return np.lexsort((*np.packbits(bits ^ 1, axis=1).T[::-1], bit_count(masks)))  # the last is compared first


@lru_cache(maxsize=32)
def dense_order(d: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return all masks in storage order, and the grade of every mask."""
    flipped = grade = np.zeros(1, dtype=np.int64)
    for _ in range(d):
        flipped = np.concatenate([2 * flipped, 2 * flipped + 1])
        grade = np.concatenate([grade, grade + 1])
    order = np.argsort((grade << d) - flipped)
    return read_only(order), read_only(grade)


@lru_cache(maxsize=1024)
def keys_of_grades(d: int, grades: tuple[int, ...]) -> Keys:
    """Return every blade of ``grades``, which ascend."""
    return Keys(d, grades, None)


def dense_keys(d: int) -> Keys:
    """Return all 2^d blades."""
    return keys_of_grades(d, tuple(range(d + 1)))


@lru_cache(maxsize=4096)
def keys_of_masks(d: int, masks: tuple[int, ...], grades: tuple[int, ...] = ()) -> Keys:
    """Return the set of ``masks``, which are distinct and in any order; of their grades and ``grades``."""
    ordered = tuple(sorted(masks, key=lambda mask: (mask.bit_count(), bits_of(mask))))
    held = tuple(sorted({mask.bit_count() for mask in masks}.union(grades)))
    if (ordered, held) != (masks, grades):
        return keys_of_masks(d, ordered, held)
    if len(masks) == count_of(d, grades):
        return keys_of_grades(d, grades)
    return Keys(d, grades, as_masks(masks, d))


def sorted_grades(grades: tuple[int, ...], d: int) -> tuple[int, ...]:
    """Return grades in ascending order, or the error that there is none, or what is not a grade."""
    rule = f"one or more integers from 0 to {d}"
    for k in grades:
        if not is_whole(k) or not 0 <= k <= d:
            hint = "Several are written A.grade(1, 3)." if hasattr(k, "__len__") else ""
            raise fail("grades", "grade", rule, describe(repr(k)), hint)
    if not grades:
        raise fail("grades", "grade", rule, describe("none"), "A.grades are those that are stored.")
    return tuple(sorted({int(k) for k in grades}))


def keys_of_array(d: int, masks: NDArray[Any]) -> tuple[Keys, NDArray[np.int64]]:
    """Return the set of the masks in an array with repetitions, and where each entry lies in it."""
    distinct, inverse = np.unique(masks, return_inverse=True)
    grades = tuple(int(k) for k in np.unique(bit_count(distinct))) if len(distinct) else ()
    if len(distinct) == count_of(d, grades):
        keys = keys_of_grades(d, grades)
    else:
        keys = keys_of_masks(d, tuple(int(mask) for mask in distinct))
    places = np.empty(len(distinct), dtype=np.int64)
    places[_storage_order(distinct, d)] = np.arange(len(distinct))
    return keys, places[inverse.ravel()]


@lru_cache(maxsize=4096)
def _union(a: Keys, b: Keys) -> Keys:
    grades = tuple(sorted({*a.grades, *b.grades}))
    if all(any(keys.complete and k in keys.grades for keys in (a, b)) for k in grades):
        return keys_of_grades(a.d, grades)
    return keys_of_masks(a.d, tuple({*map(int, a.masks), *map(int, b.masks)}), grades)


def union(a: Keys, b: Keys) -> Keys:
    """Return the blades that are in either set."""
    return a if a is b else _union(a, b)
