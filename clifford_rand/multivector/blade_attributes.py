"""Attributes that multivectors do not have, ``A.e12`` and those of SymPy's expressions: their errors name the remedy.

A method `__getattr__` would do it for every name, and would make each attribute of every multivector five times as slow
to read (Python 3.11: 19 ns for 3.4), some ten of which are read in each operation.
"""

from itertools import combinations
from typing import Any


class _Missing:
    """An attribute that no multivector has, and what to write instead."""

    __slots__ = ("name", "remedy")

    def __init__(self, name: str, remedy: str) -> None:
        self.name, self.remedy = name, remedy

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        name = self.name
        raise AttributeError(f"a multivector has no attribute {name!r}{self.remedy}", name=name, obj=instance)


def _names() -> list[str]:
    """Return the names of vectors e0 to e9, of bivectors and trivectors of them, and of all blades of e0 to e5."""
    found = ["".join(digits) for k in (1, 2, 3) for digits in combinations("0123456789", k)]
    found += [b + a for a, b in combinations("0123456789", 2)]
    found += ["".join(digits) for k in (4, 5, 6) for digits in combinations("012345", k)]
    return ["e" + digits for digits in found]


# read by the functions of SymPy that take one expression apart: cancel, collect, limit, nsimplify, series, solve, …
_OF_EXPRESSIONS = "atoms has is_Add is_Number is_Poly is_Relational is_extended_real series xreplace _eval_conjugate"


class BladeAttributes:
    """Names of basis blades and of attributes of expressions; their errors say what to write."""

    __slots__ = ()


for _name in _names():
    _remedy = f". Its coefficient is A[{_name!r}], the blade itself alg.{_name}."
    setattr(BladeAttributes, _name, _Missing(_name, _remedy))
for _name in _OF_EXPRESSIONS.split():
    _remedy = ", as SymPy's expressions have. A.simplify(f) applies a function f of expressions to each coefficient."
    setattr(BladeAttributes, _name, _Missing(_name, _remedy))
