"""Elements of projective algebra from coordinates, and coordinates of points."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_tolerance, describe, fail, one_batch
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import blade_of, coordinates_of, numbers_of
from clifford_rand.presets.pga.measures import dimension_of


def _n_vector(alg: Algebra, X: NDArray[Any], weight: int) -> Multivector:
    """Return ∧_i (weight e_i - X_i e0) to first order in X: blades without e_n come first, the one without e0 last."""
    n = X.shape[-1]
    signs = np.where(np.arange(n, 0, -1) % 2 == 1, -1, 1)
    last = np.full((*X.shape[:-1], 1), weight, dtype=X.dtype)
    array = np.concatenate([X[..., ::-1] * signs.astype(np.int8), last], axis=-1)
    return alg.new(keys_of_grades(n + 1, (n,)), array)


def point(alg: Algebra, X: ArrayLike | Multivector) -> Multivector:
    """Return points from coordinates (..., n), or vectors of the Euclidean algebra: (e1 - X1 e0) ∧ … ∧ (en - Xn e0).

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> pga.coordinates(pga.point(alg, [1, 2, 3]))
    array([1., 2., 3.])
    """
    n = dimension_of(alg, "point")
    return _n_vector(alg, coordinates_of(X, n, "X", "point"), 1)


def direction(alg: Algebra, X: ArrayLike | Multivector) -> Multivector:
    """Return the ideal points in directions (..., n): point(X) + direction(t) is point(X + t).

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> pga.direction(cr.Algebra.pga(2), [1.0, 0.0]).sparse()
    -1.0*e02
    """
    n = dimension_of(alg, "direction")
    return _n_vector(alg, coordinates_of(X, n, "X", "direction"), 0)


@one_batch
def plane(alg: Algebra, normal: ArrayLike | Multivector, offset: ArrayLike = 0.0) -> Multivector:
    """Return the hyperplane normal·x = offset (a line for n = 2): the vector normal - offset e0.

    Parameters
    ----------
    alg : Algebra
    normal : array_like of shape (..., n)
        Of any length; for a unit normal ``offset`` is the distance from the origin, along the normal.
    offset : float or array_like

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> float(pga.distance(pga.plane(alg, [0, 0, 1], 5), pga.point(alg, [7, 7, 3])))
    2.0
    """
    n = dimension_of(alg, "plane")
    N = coordinates_of(normal, n, "normal", "plane")
    shift = numbers_of(offset, N.dtype, "offset", "plane")
    batch = np.broadcast_shapes(N.shape[:-1], shift.shape)
    parts = [np.broadcast_to(-shift, batch)[..., None], np.broadcast_to(N, (*batch, n))]
    return alg.vector(np.concatenate(parts, axis=-1))


def line(alg: Algebra, P: ArrayLike | Multivector, Q: ArrayLike | Multivector) -> Multivector:
    """Return the line from P to Q, P & Q; Q may be an ideal point, a `direction`. Arrays are coordinates of points.

    Raises
    ------
    ArgumentError
        If both are the same point.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> pga.line(alg, [0, 0, 0], pga.direction(alg, [0, 0, 1])).sparse()  # the axis of z
    1.0*e12
    """
    n = dimension_of(alg, "line")
    ends = []
    for name, end in (("P", P), ("Q", Q)):
        if isinstance(end, Multivector) and end.algebra == alg:
            ends.append(blade_of(end, name, "line", "a point", grade=n, exact=True))
        else:
            ends.append(point(alg, coordinates_of(end, n, name, "line")))
    joined = ends[0] & ends[1]
    if np.asarray((joined.coefficients == 0).all(axis=-1)).any():
        raise fail("Q", "line", "another point than P", describe("the same point"))
    return joined


def coordinates(P: Multivector, rtol: float = 0.0) -> NDArray[Any]:
    """Return the coordinates (..., n) of points.

    Parameters
    ----------
    P : Multivector
        Points, of grade n and of any weight.
    rtol : float, default=0
        A weight of at most ``rtol`` times the largest component counts as zero.

    Raises
    ------
    ArgumentError
        For an ideal point, which has weight zero.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> from clifford_rand.presets import pga
    >>> alg = cr.Algebra.pga(3)
    >>> pga.coordinates(-2 * pga.point(alg, [1, 2, 3])).tolist()  # of any weight
    [1.0, 2.0, 3.0]
    """
    n = dimension_of(getattr(P, "algebra", P), "coordinates")
    values = blade_of(P, "P", "coordinates", "a point", grade=n, exact=True).coefficients
    weight = values[..., -1:]
    rtol = check_tolerance(rtol, 0.0, "coordinates") if values.dtype != object else 0  # exact numbers have no rounding
    limit = rtol * np.abs(values).max(axis=-1, keepdims=True) if rtol else 0
    if np.asarray(abs(weight) <= limit if rtol else weight == 0, dtype=bool).any():
        raise fail("P", "coordinates", "a point of weight ≠ 0", describe("an ideal point"), "It is a direction.")
    signs = np.where(np.arange(1, n + 1) % 2 == 1, -1, 1).astype(np.int8)
    return values[..., -2::-1] * signs / weight
