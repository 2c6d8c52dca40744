"""Centers, radii, carriers and normals of conformal rounds, and the points of point pairs."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.measures import direct_blade, model_of, parts_of, up
from clifford_rand.presets.cga.parts import Round, imprecise, round_of, split
from clifford_rand.presets.inputs import largest, lengths, unit_factor, unit_scale

_BLADE = 1e-6  # of X ~X above grade 0, for components ≤ 1: more than the rounding of a blade


@specialized()
def center(X: Multivector, /, *, rtol: float | None = None) -> NDArray[Any]:
    """Return the centers (..., n) of rounds (point pairs, circles, spheres), direct or dual: the point X n_∞ ~X.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> (cga.center(cga.circle(alg, [1, 2, 3], 2, [0, 0, 1])).round(12) + 0.0).tolist()
    [1.0, 2.0, 3.0]
    """
    return _round(X, "center", False, rtol).c + 0.0  # no -0.0


def _round(X: Any, owner: str, dual: bool, rtol: float | None) -> Round:
    """Return the parameters of rounds, which other blades have not."""
    whole, (X, _, flat) = X, direct_blade(X, owner, dual, rtol)
    factor = unit_factor(whole, X)
    if flat.any():
        raise fail("X", owner, "round", describe("a flat"), f"Lines and planes have no {owner.split('_')[0]}.")
    check_blades(X, owner)
    null = model_of(X.algebra, owner)[1]
    parts = split(X, null)
    _refuse_zero(largest(parts.O.coefficients), owner)
    parameters = round_of(X, parts, null, factor)
    if not (parameters.is_known(rounding=0) if owner == "center" else parameters.is_known()).all():
        raise imprecise(owner)
    return parameters


@specialized()
def radius_squared(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the squares of radii, to 1e-9 of the distance from the origin or 6e-6; negative for imaginary rounds.

    It is -⟨X ~X⟩ / ⟨Y ~Y⟩ with Y = n_∞ ⌋ X, by differences of squares of lengths, see `classify`. The meet of spheres
    far apart is imaginary.

    Raises
    ------
    ArgumentError
        For flats, and where the coefficients are too inexact: wedges of points far from the origin.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S, P = cga.sphere(alg, [0, 0, 0], 3), cga.plane(alg, [0, 0, 1], [1, 5])
    >>> cga.radius_squared(cga.meet(S, P)).round(12).tolist()  # the second plane misses the sphere
    [8.0, -16.0]
    """
    return _round(X, "radius_squared", dual, rtol).radius_squared[()]


def check_blades(X: Any, owner: str) -> None:
    """Refuse multivectors of one grade other than blades: X ~X of a blade is a number, up to n = 3 of no other."""
    if 2 <= X.grades[0] <= X.algebra.d - 2:
        scaled = unit_scale(X)
        square = scaled * ~scaled
        if (largest(square.coefficients[..., square.keys.grade_of > 0]) > _BLADE).any():
            received = describe(f"a multivector of grade {X.grades[0]} whose X ~X is not a number")
            hint = "A sum of two blades is a blade only if they share all but a vector."
            raise fail("X", owner, "blades", received, hint)


def _refuse_zero(size: NDArray[Any], owner: str) -> None:
    """Refuse directions of length 0: those of multivectors that are not blades."""
    if (size == 0).any():
        hint = "Rounded or edited coefficients are seldom those of a blade."
        raise fail("X", owner, "a blade of a round or a flat", describe("a multivector that is not a blade"), hint)


@specialized()
def radius(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the radii of point pairs (half their distance), circles and spheres.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> float(cga.radius(cga.point_pair(alg, [1, 0, 0], [5, 0, 0])).round(12))
    2.0
    """
    square = radius_squared(X, dual=dual, rtol=rtol)
    if np.any(square < 0):
        raise fail("X", "radius", "real", describe("an imaginary round"), "Use radius_squared.")
    return np.sqrt(square)


@specialized()
def carrier(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Multivector:
    """Return X ∧ n_∞, the line, plane or space in which a round lies (direct).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.classify(cga.carrier(cga.circle(alg, [1, 2, 3], 2, [0, 0, 1])))
    ConformalObject(plane, direction=-e12, location=[0.0, 0.0, 3.0])
    """
    scaled, carriers, flat = direct_blade(X, "carrier", dual, rtol)
    if flat.any():
        raise fail("X", "carrier", "round", describe("a flat"), "It is its own carrier.")
    factor = unit_factor(X, scaled)
    return carriers.new(carriers.keys, carriers.coefficients * factor[..., None])


@specialized()
def normal(X: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> NDArray[Any]:
    """Return the unit normals (..., n) of hyperplanes, and of circles in 3-space (rounds of grade n).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> (cga.normal(cga.circle(alg, [1, 2, 3], 2, [0, 3, 4])).round(12) + 0.0).tolist()
    [0.0, 0.6, 0.8]
    """
    X, carriers, flat = direct_blade(X, "normal", dual, rtol)
    n, null = model_of(X.algebra, "normal")
    is_plane = X.grades == (n + 1,) and flat.all()
    if not is_plane and (X.grades != (n,) or flat.any()):
        raise fail("X", "normal", "a hyperplane, or a round in one", describe(f"a blade of grade {X.grades[0]}"))
    E, _, _ = parts_of((X if is_plane else carriers).dual(), null)
    size = np.asanyarray(lengths(E))
    _refuse_zero(size, "normal")
    return np.asanyarray(E / size[..., None])


@specialized()
def split_point_pair(
    X: Multivector, /, *, dual: bool = False, rtol: float | None = None
) -> tuple[Multivector, Multivector]:
    """Return the points A and B of X = A ∧ B, of weight 1: the center, and half the distance to either side.

    Examples
    --------
    >>> alg = cr.Algebra.cga(2)
    >>> [cga.down(P).round(12).tolist() for P in cga.split_point_pair(cga.point_pair(alg, [1, 2], [3, 4]))]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    X, _, flat = direct_blade(X, "split_point_pair", dual, rtol)
    if X.grades != (2,) or flat.any():
        raise fail("X", "split_point_pair", "a pair of two finite points", describe(f"a blade of grade {X.grades[0]}"))
    parameters = _round(X, "split_point_pair", False, rtol)
    square = parameters.radius_squared
    if (square <= 0).any():
        raise fail("X", "split_point_pair", "a real pair", describe("X² ≤ 0"), "Use center and radius_squared.")
    half = np.sqrt(square)[..., None] * parameters.E.coefficients
    return up(X.algebra, parameters.c - half), up(X.algebra, parameters.c + half)
