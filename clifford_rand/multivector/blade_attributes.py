"""What ``A.e12`` says: `BladeAttributes`, a base class whose attributes are errors that name ``A["e12"]``.

A method `__getattr__` would do it for every name, and would make each attribute of every multivector five times as slow
to read (Python 3.11: 19 ns for 3.4), some ten of which are read in each operation.
"""

from itertools import combinations
from typing import Any


class _Taught:
    """An attribute that no multivector has, by the name of a basis blade."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def __get__(self, instance: Any, owner: type) -> Any:
        if instance is None:
            raise AttributeError(f"type object {owner.__name__!r} has no attribute {self.name!r}")
        name = self.name
        raise AttributeError(
            f"a multivector has no attribute {name!r}. Its coefficient is A[{name!r}], the blade itself alg.{name}.",
            name=name,
            obj=instance,
        )


def _names() -> list[str]:
    """Return the names of vectors e0 to e9, of bivectors and trivectors of them, and of all blades of e0 to e5."""
    found = ["".join(digits) for k in (1, 2, 3) for digits in combinations("0123456789", k)]
    found += [b + a for a, b in combinations("0123456789", 2)]
    found += ["".join(digits) for k in (4, 5, 6) for digits in combinations("012345", k)]
    return ["e" + digits for digits in found]


class BladeAttributes:
    """Names of basis blades as attributes that say how coefficients are written."""

    __slots__ = ()


for _name in _names():
    setattr(BladeAttributes, _name, _Taught(_name))
