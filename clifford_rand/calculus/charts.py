"""Well-known coordinates: a table of names and positions."""

from collections.abc import Sequence
from typing import Any

from clifford_rand._checks import fail
from clifford_rand.algebra import Algebra
from clifford_rand.multivector.multivector import Multivector

_ROUND = ("cos(phi)", "sin(phi)")

_APART = "(cosh(tau) - cos(sigma))"
_PARABOLA, _ELLIPSE, _OVAL = "sqrt(sigma**2 + tau**2)", "a*sqrt(sinh(mu)**2 + sin(nu)**2)", f"a/{_APART}"


def _turned(radius: str) -> tuple[str, str]:
    """Return a distance from the axis as x and y."""
    return f"{radius}*cos(phi)", f"{radius}*sin(phi)"


CHARTS: dict[str, tuple[str, tuple[str, ...], tuple[str, ...]]] = {
    # coordinates (the positive ones with +), position, lengths of ∂x/∂u^i
    "polar": ("+r theta", ("r*cos(theta)", "r*sin(theta)"), ("1", "r")),
    "elliptic": ("+mu nu", ("a*cosh(mu)*cos(nu)", "a*sinh(mu)*sin(nu)"), (_ELLIPSE, _ELLIPSE)),
    "parabolic": ("sigma +tau", ("sigma*tau", "(tau**2 - sigma**2)/2"), (_PARABOLA, _PARABOLA)),
    "bipolar": ("sigma tau", (f"a*sinh(tau)/{_APART}", f"a*sin(sigma)/{_APART}"), (_OVAL, _OVAL)),
    "cylindrical": ("+rho phi z", (*_turned("rho"), "z"), ("1", "rho", "1")),
    "spherical": ("+r theta phi", (*_turned("r*sin(theta)"), "r*cos(theta)"), ("1", "r", "r*sin(theta)")),
    "paraboloidal": (
        "+sigma +tau phi",
        (*_turned("sigma*tau"), "(sigma**2 - tau**2)/2"),
        (_PARABOLA, _PARABOLA, "sigma*tau"),
    ),
    "prolate_spheroidal": (
        "+mu nu phi",
        (*_turned("a*sinh(mu)*sin(nu)"), "a*cosh(mu)*cos(nu)"),
        (_ELLIPSE, _ELLIPSE, "a*sinh(mu)*sin(nu)"),
    ),
    "oblate_spheroidal": (
        "+mu nu phi",
        (*_turned("a*cosh(mu)*sin(nu)"), "a*sinh(mu)*cos(nu)"),
        (*2 * ("a*sqrt(sinh(mu)**2 + cos(nu)**2)",), "a*cosh(mu)*sin(nu)"),
    ),
    "toroidal": (
        "+tau sigma phi",
        (*_turned(f"a*sinh(tau)/{_APART}"), f"a*sin(sigma)/{_APART}"),
        (_OVAL, _OVAL, f"a*sinh(tau)/{_APART}"),
    ),
    "bispherical": (
        "sigma tau phi",
        (*_turned(f"a*sin(sigma)/{_APART}"), f"a*sinh(tau)/{_APART}"),
        (_OVAL, _OVAL, f"a*sin(sigma)/{_APART}"),
    ),
    "sphere": ("theta phi", (*_turned("R*sin(theta)"), "R*cos(theta)"), ("R", "R*sin(theta)")),
    "torus": ("theta phi", (*_turned("(R + a*cos(theta))"), "a*sin(theta)"), ("a", "R + a*cos(theta)")),
}
for _plane in ("elliptic", "parabolic", "bipolar"):
    _names, _position, _lengths = CHARTS[_plane]
    CHARTS[f"{_plane}_cylindrical"] = (_names + " z", (*_position, "z"), (*_lengths, "1"))


def named(name: str) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the symbols, the position and the lengths of a chart of the table."""
    from clifford_rand.symbolic import coordinate_symbols, expressions

    words, place, lengths = CHARTS[name]
    positive = [word[1:] for word in words.split() if word[0] == "+"]
    symbols = coordinate_symbols(words.replace("+", ""), positive, "Coordinates.named")
    read = expressions((*place, *lengths), symbols, "position", "Coordinates.named").tolist()
    return symbols, read[: len(place)], read[len(place) :]


def position(given: Sequence[Any] | Multivector | None, symbols: Sequence[Any]) -> Multivector:
    """Return the point as a vector of the ambient algebra."""
    from clifford_rand.symbolic import expressions

    if isinstance(given, Multivector):
        if given.grades != (1,) or given.ndim:
            raise fail("position", "Coordinates", "a vector, or the components of one", given)
        point = given
    else:
        values = expressions(given or (), symbols, "position", "Coordinates")
        if len(values) < len(symbols):
            rule = f"at least {len(symbols)} expressions, one a Cartesian coordinate"
            raise fail("position", "Coordinates", rule, list(given or ()))
        point = Algebra(len(values)).vector(values)
    if point.algebra.d < len(symbols):
        raise fail("position", "Coordinates", f"in at least {len(symbols)} dimensions", given)
    return point
