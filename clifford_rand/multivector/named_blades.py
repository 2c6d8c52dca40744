"""The basis blades of an algebra as a mapping from names."""

from typing import TYPE_CHECKING, Any

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand.basis.keys import check_size, dense_keys, keys_of_grades
from clifford_rand.basis.rules import WORD

if TYPE_CHECKING:
    from clifford_rand.algebra import Algebra
    from clifford_rand.multivector.multivector import Multivector


class Blades:
    """The basis blades of an algebra by name, in storage order where they are listed."""

    def __init__(self, algebra: "Algebra") -> None:
        self._algebra = algebra

    def __getitem__(self, name: str) -> "Multivector":
        try:
            return self._algebra.blade(name)
        except ValueError as error:
            raise KeyError(str(error)) from None

    def __getattr__(self, name: str) -> "Multivector":
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._algebra, name)

    def __contains__(self, name: object) -> bool:
        return isinstance(name, str) and self._algebra.names.parse(name) is not None

    def __len__(self) -> int:
        d = self._algebra.d
        if d > WORD:
            raise fail("blades", "len", f"of at most {WORD} basis vectors", describe(f"d = {d}, so 2^{d} blades"))
        return 1 << d

    def __iter__(self) -> Any:
        check_size(1 << self._algebra.d, "blades", "the list of blades")
        return (self._algebra.names.blade(int(mask)) for mask in dense_keys(self._algebra.d).masks)

    def keys(self) -> list[str]:
        """Return the names of all blades, "1" first."""
        return list(self)

    def grade(self, k: int) -> "dict[str, Multivector]":
        """Return the blades of one grade by name."""
        masks = keys_of_grades(self._algebra.d, (check_integer(k, "k", "grade", low=0, high=self._algebra.d),)).masks
        names = [self._algebra.names.blade(int(mask)) for mask in masks]
        return {name: self._algebra.blade(name) for name in names}

    def items(self) -> "list[tuple[str, Multivector]]":
        """Return (name, blade) of all blades."""
        return [(name, self[name]) for name in self]

    def __repr__(self) -> str:
        return f"Blades({self._algebra!r}: {self._algebra.names.hint})"
