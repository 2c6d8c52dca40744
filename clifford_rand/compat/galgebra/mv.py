"""Functions of multivectors by galgebra's names, beside the class `Mv` and the operators `Dop`."""

from collections.abc import Callable
from typing import Any

import sympy  # type: ignore[import-untyped]

from clifford_rand._checks import fail
from clifford_rand.compat.galgebra.dop import Dop as Dop
from clifford_rand.compat.galgebra.multivector import Mv


def _checked(A: Any, owner: str) -> Mv:
    if not isinstance(A, Mv):
        raise fail("A", owner, "a multivector", A)
    return A


def _function(name: str) -> Callable[..., Any]:
    def function(A: Any, *arguments: Any, **keywords: Any) -> Any:
        return getattr(_checked(A, name), name)(*arguments, **keywords)

    function.__name__, function.__doc__ = name, f"Return ``A.{name}(…)``."
    return function


even, odd, rev, ccon, g_invol = map(_function, ("even", "odd", "rev", "ccon", "g_invol"))
inv, hitzer_inverse, shirokov_inverse = map(_function, ("inv", "hitzer_inverse", "shirokov_inverse"))
dual, undual, scalar = map(_function, ("dual", "undual", "scalar"))
sp = _function("sp")
qform, norm, norm2, mag, mag2 = map(_function, ("qform", "norm", "norm2", "mag", "mag2"))


def grade(A: Any, r: int = 0) -> Mv:
    """Return the part of grade r."""
    return _checked(A, "grade").get_grade(r)


def exp(A: Any, hint: str = "-") -> Any:
    """Return the exponential of a multivector or of an expression."""
    return A.exp(hint) if isinstance(A, Mv) else sympy.exp(A)


def proj(B: Mv, A: Mv) -> Mv:
    """Return the projection of A on the blade B."""
    return _checked(A, "proj").project_in_blade(B)


def refl(B: Mv, A: Mv) -> Mv:
    """Return the reflection of A in the blade B."""
    return _checked(A, "refl").reflect_in_blade(B)


def rot(itheta: Mv, A: Mv, hint: str = "-") -> Any:
    """Return A rotated by the bivector itheta."""
    return _checked(A, "rot").rotate_multivector(itheta, hint)


def com(A: Mv, B: Mv) -> Any:
    """Return the commutator (AB - BA)/2."""
    return A >> B


def cross(v1: Mv, v2: Mv) -> Any:
    """Return -I (v1 ∧ v2), the cross product of two vectors of Euclidean space."""
    return -v1.Ga.I() * (v1 ^ v2)


def Nga(A: Any, prec: int = 5) -> Any:
    """Return the numbers among the coefficients to so many digits."""
    return A.func(lambda value: value.evalf(prec)) if isinstance(A, Mv) else sympy.sympify(A).evalf(prec)
