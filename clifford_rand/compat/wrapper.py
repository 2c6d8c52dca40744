"""Methods of multivectors of other packages that stand around one of this library, ``inner``.

Their class has ``wrap(inner)``, which returns a multivector of its own, and ``with_operand(other, function)``, which
returns ``function(B)`` of the other operand B as one of its own, or NotImplemented.
"""

from collections.abc import Callable
from typing import Any

Rule = str | Callable[[Any, Any], Any]


def unary(name: str, doc: str) -> Any:
    """Return the method of an operation of one multivector, by its name in this library."""

    def method(self: Any) -> Any:
        return self.wrap(getattr(self.inner, name)())

    method.__name__, method.__doc__ = name, doc
    return method


def binary(rule: Rule, reflected: bool = False) -> Any:
    """Return the method of an operation of two, by its name or by a function of both that returns one of this library.

    With ``reflected`` the multivector is the second factor.
    """
    combine: Any = (lambda A, B: getattr(A.inner, rule)(B.inner)) if isinstance(rule, str) else rule

    def method(self: Any, other: Any) -> Any:
        return self.with_operand(other, lambda B: self.wrap(combine(B, self) if reflected else combine(self, B)))

    return method


def both(rule: Rule) -> tuple[Any, Any]:
    """Return the methods of an operation with the multivector as the first and as the second factor."""
    return binary(rule), binary(rule, reflected=True)
