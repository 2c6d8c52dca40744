"""What a conformal object is: centre, radius, normal, carrier; incidence, meet, distance.

A blade counts as flat where X ∧ n_∞ is at most ``rtol`` times X, by their largest components: 64 eps by default.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.points import (
    down,
    infinity,
    model_of,
    of_grade,
    parts_of,
    up,
)
from clifford_rand.presets.inputs import (
    blade_of,
    largest,
    lengths,
    of_algebra,
    tolerance,
    unit_scale,
)


def _as(X: Any, dual: bool) -> Any:
    return X.undual() if dual else X


def _rounding(rtol: float | None, dtype: np.dtype) -> float:
    return 64 * float(np.finfo(dtype).eps) if rtol is None else rtol


def direct_blade(X: Any, owner: str, dual: bool, rtol: float | None = None) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Return the direct blade, X ∧ n_∞, and where that vanishes: the flats.

    ``rtol`` bounds the largest component of X ∧ n_∞ relative to that of X. The default is 64 eps: only rounding,
    as a sphere at a distance c has only 2/c² there.
    """
    model_of(getattr(X, "algebra", X), owner)
    X = unit_scale(_as(blade_of(X, "X", owner, "a blade"), dual))
    carrier = X ^ infinity(X.algebra, X.dtype)
    return X, carrier, np.asarray(largest(carrier.coefficients) <= _rounding(rtol, X.dtype))


def centre(X: Multivector, *, rtol: float | None = None) -> NDArray[Any]:
    """Return the centres (..., n) of rounds (point pairs, circles, spheres), direct or dual: the point X n_∞ ~X."""
    X, _, _ = direct_blade(X, "centre", False, rtol)
    image = (X * infinity(X.algebra, X.dtype) * ~X).grade(1)
    E, o, i = parts_of(image._on(image.keys.filled), model_of(X.algebra, "centre")[1])
    if np.any(np.maximum(largest(E), abs(o)) <= _rounding(rtol, X.dtype) * abs(i)):  # n_∞ again
        raise fail("X", "centre", "round", describe("a flat"), "Lines and planes have no centre.")
    return down(image)


def radius_squared(X: Multivector, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return -⟨X ~X⟩ / ⟨Y ~Y⟩ with Y = n_∞ ⌋ X; negative for imaginary rounds: the meet of spheres far apart."""
    X, _, flat = direct_blade(X, "radius_squared", dual, rtol)
    if flat.any():
        raise fail("X", "radius_squared", "round", describe("a flat"), "Lines and planes have no radius.")
    Y = infinity(X.algebra, X.dtype) << X
    return -X.inner(X).scalar_part() / Y.inner(Y).scalar_part()  # type: ignore[operator]


def radius(X: Multivector, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Return the radii of point pairs (half their distance), circles and spheres."""
    square = radius_squared(X, dual=dual, rtol=rtol)
    if np.any(square < 0):
        raise fail("X", "radius", "real", describe("an imaginary round"), "Use radius_squared.")
    return np.sqrt(square)


def carrier(X: Multivector, *, dual: bool = False, rtol: float | None = None) -> Multivector:
    """Return X ∧ n_∞, the line, plane or space in which a round lies (direct)."""
    _, made, flat = direct_blade(X, "carrier", dual, rtol)
    if flat.any():
        raise fail("X", "carrier", "round", describe("a flat"), "It is its own carrier.")
    result: Multivector = made
    return result


def normal(X: Multivector, *, dual: bool = False, rtol: float | None = None) -> NDArray[Any]:
    """Return the unit normals (..., n) of hyperplanes, and of circles in 3-space (rounds of grade n)."""
    X, made, flat = direct_blade(X, "normal", dual, rtol)
    n, null = model_of(X.algebra, "normal")
    is_plane = X.grades == (n + 1,) and flat.all()
    if not is_plane and (X.grades != (n,) or flat.any()):
        raise fail("X", "normal", "a hyperplane, or a round in one", describe(f"a blade of grade {X.grades[0]}"))
    E, _, _ = parts_of((X if is_plane else made).dual(), null)
    return np.asarray(E / np.asarray(lengths(E))[..., None])


def split_point_pair(
    X: Multivector, *, dual: bool = False, rtol: float | None = None
) -> tuple[Multivector, Multivector]:
    """Return the points A and B of X = A ∧ B: (X ∓ sqrt(X²)) (n_∞ ⌋ X), brought to weight 1.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(2)
    >>> [cga.down(P).round(12).tolist() for P in cga.split_point_pair(cga.point_pair(alg, [1, 2], [3, 4]))]
    [[1.0, 2.0], [3.0, 4.0]]
    """
    X, _, flat = direct_blade(X, "split_point_pair", dual, rtol)
    if X.grades != (2,) or flat.any():
        raise fail("X", "split_point_pair", "a pair of two finite points", describe(f"a blade of grade {X.grades[0]}"))
    square = -np.asarray(X.inner(X).scalar_part())
    if (square <= 0).any():
        raise fail("X", "split_point_pair", "a real pair", describe("X² ≤ 0"), "centre and radius_squared tell more.")
    root, Y = X.algebra.scalar(np.sqrt(square)), infinity(X.algebra, X.dtype) << X
    first, second = ((X - root) * Y).grade(1), ((X + root) * Y).grade(1)
    return up(X.algebra, down(first)), up(X.algebra, down(second))


def distance(P: Multivector, Q: Multivector) -> Any:
    """Return the distances of points: sqrt(-2 P·Q) at weight 1, from the coordinates, where nothing cancels.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(2)
    >>> float(cga.distance(cga.up(alg, [0, 0]), 5 * cga.up(alg, [3, 4])))
    5.0
    """
    return lengths(down(P) - down(of_algebra(Q, P.algebra, "Q", "distance")))


def is_incident(P: Multivector, X: Multivector, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Tell whether points lie on objects: P ∧ X = 0, relative to the components of both (dual: P ⌋ X = 0)."""
    model_of(getattr(P, "algebra", P), "is_incident")
    of_algebra(X, P.algebra, "X", "is_incident")
    P, X = (
        of_grade(P, 1, "P", "is_incident", "a point", exact=True),
        unit_scale(blade_of(X, "X", "is_incident", "a blade", exact=True)),
    )
    rest = P << X if dual else P ^ X
    return (
        largest(rest.coefficients) <= tolerance(rtol, rest.dtype) * largest(P.coefficients) * largest(X.coefficients)
    )[()]


def meet(A: Multivector, B: Multivector, *, dual: bool = False) -> Multivector:
    """Return what two objects have in common: A & B for direct ones, A ^ B for dual ones.

    It is 0 where both lie in less than the whole space, as two circles of one plane in 3-space do.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(3)
    >>> C = cga.meet(cga.sphere(alg, [0, 0, 0], 5), cga.plane(alg, [0, 0, 1], 3))
    >>> cga.centre(C).round(12) + 0.0, float(cga.radius(C).round(12))
    (array([0., 0., 3.]), 4.0)
    """
    model_of(getattr(A, "algebra", A), "meet")
    of_algebra(B, A.algebra, "B", "meet")
    result: Multivector = A ^ B if dual else A & B
    return result
