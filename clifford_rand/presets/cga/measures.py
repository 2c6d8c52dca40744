"""Conformal points, null vectors n_o + X + X² n_∞ / 2, and the way back; incidence and the meet.

A blade counts as flat where X ∧ n_∞ is at most ``rtol`` times X, by their largest components: 64 eps by default.
"""

from typing import Any

import numpy as np

from clifford_rand._checks import check_bool, check_dtype, check_tolerance, describe, fail, wrong_algebra
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import blade_of, coordinates_of, halved, largest, of_algebra, tolerance, unit_scale
from clifford_rand.space import has_null_basis


def is_dual(dual: object) -> bool:
    """Return ``dual``, whether objects are vectors of the orthogonal complement of their points, checked."""
    return check_bool(dual, "dual", "clifford_rand.presets.cga")


def as_dual(X: Any, dual: object) -> Any:
    """Return the dual of a direct object if ``dual`` asks for it."""
    return X.dual() if is_dual(dual) else X


def model_of(A: object, owner: str, name: str = "algebra") -> tuple[int, bool]:
    """Return n, and whether the last two basis vectors of an algebra, or of A's, are n_o and n_∞ themselves."""
    alg = A if name == "algebra" else getattr(A, "algebra", A)
    null = has_null_basis(alg) if isinstance(alg, Algebra) else None
    if isinstance(alg, Algebra) and null is not None:
        return alg.d - 2, null
    raise wrong_algebra(alg, owner, name, "a conformal algebra", "Algebra.cga(n)")


def from_parts(algebra: Algebra, null: bool, E: NDArray[Any], o: NDArray[Any], i: NDArray[Any]) -> Multivector:
    """Return E + o n_o + i n_∞."""
    i = i if null else np.asanyarray(i + halved(o))
    pair = (o, i) if null else (np.asanyarray(i - o), i)  # they differ by exactly o, or far away a weight of 1 is lost
    batch = np.broadcast_shapes(E.shape[:-1], o.shape, i.shape)
    dtype = np.result_type(E, o, i)
    columns = [np.broadcast_to(E, (*batch, E.shape[-1])), *(np.broadcast_to(x, batch)[..., None] for x in pair)]
    return algebra.vector(np.concatenate(columns, axis=-1).astype(dtype, copy=False))


def parts_of(V: Any, null: bool) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return E, o, i of a vector E + o n_o + i n_∞."""
    E, a, b = V.coefficients[..., :-2], V.coefficients[..., -2], V.coefficients[..., -1]
    return (E, a, b) if null else (E, np.asanyarray(b - a), halved(np.asanyarray(a + b)))


@specialized()
def origin(algebra: Algebra, /) -> Multivector:
    """Return n_o, the point at 0.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3, null_basis=True)
    >>> cga.origin(alg).sparse(), cga.down(cga.origin(alg)).tolist()
    (eo, [0.0, 0.0, 0.0])
    """
    n, null = model_of(algebra, "origin")
    return from_parts(algebra, null, np.zeros(n), np.ones(()), np.zeros(()))


@specialized()
def infinity(algebra: Algebra, /, *, dtype: Any = np.float64) -> Multivector:
    """Return n_∞, with n_o·n_∞ = -1.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.origin(alg) | cga.infinity(alg)
    -1.0
    """
    _, null = model_of(algebra, "infinity")
    components = [0] * (algebra.d - 2) + ([0, 1] if null else [1, 1])
    return algebra.vector(np.array(components).astype(check_dtype(dtype, "dtype", "infinity")))


@specialized(X=1)
def up(algebra: Algebra, X: ArrayLike | Multivector, /) -> Multivector:
    """Return the points n_o + X + X² n_∞ / 2 at coordinates (..., n), or at vectors of the Euclidean algebra.

    Raises
    ------
    ArgumentError
        If X has not n coordinates, or X² overflows.

    Examples
    --------
    >>> cga.up(cr.Algebra.cga(2, null_basis=True), [3.0, 4.0])
    3.0*e1 + 4.0*e2 + eo + 12.5*ei
    """
    n, null = model_of(algebra, "up")
    E = coordinates_of(X, n, "X", "up")
    return from_parts(algebra, null, E, np.ones((), dtype=E.dtype), halved(squared(E, "X", "up")))


point = up


def squared(E: NDArray[Any], name: str, owner: str) -> NDArray[Any]:
    """Return the squares of vectors (..., n), or the error that they overflow."""
    with np.errstate(over="ignore", invalid="ignore"):
        square = np.asanyarray((E * E).sum(axis=-1))
    if square.dtype != object and not np.isfinite(square).all():
        received = describe(f"{E.dtype} that overflows")
        raise fail(name, owner, "small enough for its square", received, "Change the unit.")
    return square


def half_power(c: NDArray[Any], r: NDArray[Any], owner: str) -> NDArray[Any]:
    """Return (c² - r²)/2 of centers (..., n), refused where 1 or r² would be lost in the rounding of c²."""
    square, power = squared(c, "center", owner), np.asanyarray(r * r)
    if square.dtype.kind == power.dtype.kind == "f":
        least, hint = rounding(None, square.dtype), "Take coordinates about a local origin."
        if (square > 1 / least).any():
            rule = f"within {np.sqrt(1 / least):.1e} of the origin, as 1 beside larger squares is taken for rounding"
            raise fail("center", owner, rule, describe(f"one at {np.sqrt(square.max()):.1e}"), hint)
        if ((power < least * square) & (power > 0)).any():
            rule = f"at least {np.sqrt(least):.2g} of the distance of the center from the origin"
            raise fail("radius", owner, rule, describe("a smaller one"), hint)
    return halved(np.asanyarray(square - power))


@specialized()
def down(P: Multivector, /, *, rtol: float | None = None) -> NDArray[Any]:
    """Return the coordinates (..., n) of points of any weight.

    Parameters
    ----------
    P : Multivector
        Null vectors.
    rtol : float, optional
        How far P² may be from zero, relative to the squares of its components; eps^(3/4) by default.

    Raises
    ------
    ArgumentError
        For n_∞, and for vectors that are spheres or planes.

    Notes
    -----
    The weight is -P·n_∞, or E²/(2i) for P = o n_o + E + i n_∞ with |i| > |o|: far from the
    origin the first is lost to rounding in the basis of e_{n+1} and e_{n+2}.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> cga.down(-2 * cga.up(alg, [1, 2, 3])).tolist()
    [1.0, 2.0, 3.0]
    """
    _, null = model_of(P, "down", "P")
    E, o, i = parts_of(unit_scale(blade_of(P, "P", "down", "a point", grade=1, exact=True)), null)
    square = (E * E).sum(axis=-1)
    if E.dtype == object:
        weight, rest = o, np.frompyfunc(lambda x: x.expand() if hasattr(x, "expand") else x, 1, 1)(square - 2 * o * i)
        is_null = rest == 0
    else:
        size = (abs(E) ** 2).sum(axis=-1) + abs(o) ** 2 + abs(i) ** 2
        is_null = abs(square - 2 * o * i) <= tolerance(rtol, E.dtype) * size
        weight = np.where(abs(i) > abs(o), square / np.where(i == 0, 1, 2 * i), o)
    if not np.asanyarray(is_null, dtype=bool).all():
        raise fail("P", "down", "a point, P² = 0", describe("a sphere or a plane"), "Use center or normal.")
    if np.asanyarray(weight == 0, dtype=bool).any():
        raise fail("P", "down", "a finite point", describe("a point at infinity"))
    return np.asanyarray(E / weight[..., None])


def rounding(rtol: float | None, dtype: np.dtype) -> float:
    """Return ``rtol``, by default 64 eps: rounding and no more."""
    return check_tolerance(rtol, 64 * float(np.finfo(dtype).eps), "clifford_rand.presets")


def direct_blade(X: Any, owner: str, dual: bool, rtol: float | None = None) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Return the direct blade, X ∧ n_∞, and where that vanishes: the flats.

    ``rtol`` bounds the largest component of X ∧ n_∞ relative to that of X. The default is 64 eps: only rounding,
    as a sphere at a distance c has only 2/c² there.
    """
    model_of(X, owner, "X")
    X = blade_of(X, "X", owner, "a blade")
    X = unit_scale(X.undual() if is_dual(dual) else X)
    carrier = X ^ infinity(X.algebra, dtype=X.dtype)
    return X, carrier, np.asanyarray(largest(carrier.coefficients) <= rounding(rtol, X.dtype))


@specialized()
def contains_point(X: Multivector, P: Multivector, /, *, dual: bool = False, rtol: float | None = None) -> Any:
    """Tell whether objects contain points: P ∧ X = 0, relative to the components of both (dual: P ⌋ X = 0).

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> S = cga.sphere(alg, [0, 0, 0], 5)
    >>> cga.contains_point(S, cga.up(alg, [[3, 4, 0], [3, 3, 0]])).tolist()
    [True, False]
    """
    model_of(X, "contains_point", "X")
    of_algebra(P, X.algebra, "P", "contains_point")
    P = unit_scale(blade_of(P, "P", "contains_point", "a point", grade=1, exact=True))
    X = unit_scale(blade_of(X, "X", "contains_point", "a blade", exact=True))
    rest = P << X if is_dual(dual) else P ^ X
    scale = largest(P.coefficients) * largest(X.coefficients)
    return (largest(rest.coefficients) <= tolerance(rtol, rest.dtype) * scale)[()]


@specialized()
def meet(A: Multivector, B: Multivector, /, *, dual: bool = False) -> Multivector:
    """Return what two objects have in common: A & B for direct ones, A ^ B for dual ones.

    It is 0 where both lie in less than the whole space, as two circles of one plane in 3-space do.

    Examples
    --------
    >>> alg = cr.Algebra.cga(3)
    >>> C = cga.meet(cga.sphere(alg, [0, 0, 0], 5), cga.plane(alg, [0, 0, 1], 3))
    >>> cga.center(C).round(12) + 0.0, float(cga.radius(C).round(12))
    (array([0., 0., 3.]), 4.0)
    """
    model_of(A, "meet", "A")
    of_algebra(B, A.algebra, "B", "meet")
    return A ^ B if is_dual(dual) else A & B
