"""Conformal flats and rounds of every dimension from coordinates, without a wedge of points."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail, one_batch
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.geometry.subspaces import wedge_rows
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.cga.measures import half_power, model_of
from clifford_rand.presets.cga.parts import euclidean, flat_parts, joined, round_parts
from clifford_rand.presets.inputs import coordinates_of, is_dual, numbers_of


def _direction(directions: ArrayLike, n: int, owner: str) -> tuple[int, Any]:
    """Return m and the wedge of the rows (..., m, n), of length 1."""
    rows = as_real(directions, "directions", owner)
    if rows.ndim < 2 or rows.shape[-1] != n or rows.shape[-2] > n or not np.isfinite(rows).all():
        raise fail("directions", owner, f"finite, of shape (..., m, {n}), m ≤ {n}", describe(f"shape {rows.shape}"))
    rows = rows if rows.dtype.kind == "f" else rows.astype(np.float64)
    m = rows.shape[-2]
    turn, size = np.linalg.qr(np.swapaxes(rows, -1, -2))
    pivots = np.diagonal(size, axis1=-2, axis2=-1)
    lengths: NDArray[Any] = np.sqrt((rows * rows).sum(axis=-1))
    if (abs(pivots) <= 64 * np.finfo(rows.dtype).eps * lengths).any():
        raise fail("directions", owner, "linearly independent", describe("rows that are not"))
    E = wedge_rows(np.swapaxes(turn, -1, -2)) * np.sign(pivots).prod(axis=-1)[..., None]
    return m, euclidean(n).new(keys_of_grades(n, (m,)), np.array(E))


@one_batch
def flat(alg: Algebra, through: ArrayLike | Multivector, directions: ArrayLike, *, dual: bool = False) -> Multivector:
    """Return the flats up(through) ∧ E ∧ n_∞ along m directions: flat points, lines, planes and so on.

    Parameters
    ----------
    alg : Algebra
        Conformal, of n-space.
    through : array_like (..., n)
    directions : array_like (..., m, n)
        m ≥ 0 independent rows; E is their wedge, of length 1.
    dual : bool, default=False

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(4)
    >>> cga.classify(cga.flat(alg, [0, 0, 0, 1], [[1, 0, 0, 0], [1, 1, 0, 0]]))
    Classified(plane, direction=1.0*e12, location=[0.0, 0.0, 0.0, 1.0])
    """
    n, null = model_of(alg, "flat")
    m, E = _direction(directions, n, "flat")
    c = euclidean(n).vector(coordinates_of(through, n, "through", "flat"))
    made = joined(alg, null, m + 2, flat_parts(E, c, m + 2))
    return made.dual() if is_dual(dual) else made


@one_batch
def round_about(
    alg: Algebra, centre: ArrayLike | Multivector, radius: ArrayLike, directions: ArrayLike, *, dual: bool = False
) -> Multivector:
    """Return the rounds of a centre, a radius and m directions: point pairs, circles, spheres in any n.

    T_c[(n_o + r² n_∞/2) ∧ E], as `classify` reads it; a tangent for radius 0.

    Parameters
    ----------
    alg : Algebra
        Conformal, of n-space.
    centre : array_like (..., n)
    radius : array_like (...)
    directions : array_like (..., m, n)
        m ≥ 1 independent rows; E is their wedge, of length 1.
    dual : bool, default=False

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import cga
    >>> alg = cr.Algebra.cga(4)
    >>> cga.classify(cga.round_about(alg, [0, 0, 0, 1], 2, [[1, 0, 0, 0], [0, 1, 0, 0]]))
    Classified(circle, direction=1.0*e12, location=[0.0, 0.0, 0.0, 1.0], radius_squared=4)
    """
    n, null = model_of(alg, "round_about")
    m, E = _direction(directions, n, "round_about")
    c = coordinates_of(centre, n, "centre", "round_about")
    r = numbers_of(radius, E.dtype, "radius", "round_about")
    half_power(c, r, "round_about")
    shape = np.broadcast_shapes(E.shape, c.shape[:-1], r.shape)
    E = E.new(E.keys, np.broadcast_to(E.coefficients, (*shape, E.keys.size)))
    middle = euclidean(n).vector(np.broadcast_to(c, (*shape, n)))
    rounds = joined(alg, null, m + 1, round_parts(E, middle, np.broadcast_to(r * r, shape), null))
    return rounds.dual() if is_dual(dual) else rounds
