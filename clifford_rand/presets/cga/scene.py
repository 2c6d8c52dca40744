"""Two conformal objects about their own centre and in their own unit of length, where nothing is lost to rounding."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.algebra import Algebra
from clifford_rand.presets.cga.classification import Classified, described
from clifford_rand.presets.cga.measures import model_of
from clifford_rand.presets.inputs import lengths


def scene_of(
    A: Any, B: Any, dual: bool, rtol: float | None, owner: str
) -> tuple[Classified, Classified, NDArray[Any], NDArray[Any]]:
    """Return both objects with weight 1 about the middle of their locations in their own unit, and middle and unit."""
    model_of(getattr(A, "algebra", A), owner)
    found = [described(X, A.algebra, name, owner, dual, rtol) for X, name in ((A, "A"), (B, "B"))]
    places = np.broadcast_arrays(*(one.location for one in found))
    known = [np.isfinite(place).all(axis=-1, keepdims=True) for place in places]
    count = known[0].astype(int) + known[1]
    middle = sum(np.where(here, place, 0) for here, place in zip(known, places, strict=True)) / np.maximum(count, 1)
    sizes = [np.sqrt(np.abs(np.nan_to_num(np.asarray(one.radius_squared)))) for one in found]
    apart = lengths(np.where(known[0] & known[1], places[1] - places[0], 0))
    unit = np.maximum(np.maximum(*sizes), apart)
    unit = np.where(unit > 0, unit, 1)
    A, B = (_moved(one, middle, unit) for one in found)
    return A, B, middle, unit


def _moved(one: Classified, middle: NDArray[Any], unit: NDArray[Any]) -> Classified:
    """Return an object with weight 1 where ``middle`` is the origin and ``unit`` the unit of length."""
    shape = np.broadcast_shapes(one.shape, unit.shape)
    location = (one.location - middle) / unit[..., None]
    grade, kind = (np.broadcast_to(x, shape) for x in (one.grade, one.kind))
    E = one.direction
    direction = E.new(E.keys, np.broadcast_to(E.coefficients, (*shape, E.keys.size)))
    square = np.asarray(one.radius_squared) / unit**2
    return Classified(one.algebra, grade, kind, direction, location, square, np.ones(shape, dtype=location.dtype))


def null_algebra(alg: Algebra) -> Algebra:
    """Return the same conformal space in the basis of n_o and n_∞, which does not add 1 and X²/2."""
    return Algebra.cga(alg.d - 2, null_basis=True)
