"""Velocities and rapidities, intervals and proper times in space-time."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import describe, fail, one_batch
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import coordinates_of, floats, lengths, of_algebra
from clifford_rand.presets.sta.frames import spacetime_model, speeds_of, timelike


def gamma(velocity: ArrayLike) -> Any:
    """Return the Lorentz factors 1/sqrt(1 - v²) of velocities (..., 3), |v| < 1.

    Examples
    --------
    >>> float(sta.gamma([0.6, 0, 0]))
    1.25
    """
    return speeds_of(velocity, "velocity", "gamma")[1]


def rapidity(velocity: ArrayLike) -> NDArray[Any]:
    """Return the rapidities artanh(|v|) v/|v| (..., 3) of velocities: those of one direction add.

    Examples
    --------
    >>> sta.velocity_of_rapidity(2 * sta.rapidity([0.5, 0, 0])).round(12).tolist()
    [0.8, 0.0, 0.0]
    """
    v = floats(speeds_of(velocity, "velocity", "rapidity")[0], "velocity", "rapidity")
    speed = np.asarray(lengths(v))
    return np.asarray(v * np.where(speed > 0, np.arctanh(speed) / np.where(speed > 0, speed, 1), 1)[..., None])


def velocity_of_rapidity(w: ArrayLike) -> NDArray[Any]:
    """Return the velocities tanh(|w|) w/|w| (..., 3) of rapidities.

    Examples
    --------
    >>> w = np.arctanh(0.8)
    >>> (sta.velocity_of_rapidity([w, 0, 0]).round(12) + 0.0).tolist()
    [0.8, 0.0, 0.0]
    """
    W = floats(coordinates_of(w, 3, "w", "velocity_of_rapidity"), "w", "velocity_of_rapidity")
    size = np.asarray(lengths(W))
    return np.asarray(W * np.where(size > 0, np.tanh(size) / np.where(size > 0, size, 1), 1)[..., None])


def velocity(p: Multivector) -> NDArray[Any]:
    """Return the velocities x/t (..., 3) of timelike vectors: four-velocities, momenta, steps between events.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.velocity(sta.event(alg, 5, [3, 0, 0])).tolist()
    [0.6, 0.0, 0.0]
    """
    spacetime_model(getattr(p, "algebra", p), "velocity")
    values, _ = timelike(p, "p", "velocity")
    return np.asarray(values[..., 1:] / values[..., :1])


@one_batch
def add_velocities(u: ArrayLike, v: ArrayLike) -> NDArray[Any]:
    """Return the velocities u ⊕ v of what has velocity v in a frame that moves with u.

    (u + v/γ_u + γ_u/(1 + γ_u) (u·v) u) / (1 + u·v), the velocity of L_u >> four_velocity(v); it is not commutative, and
    the two differ by a rotation, the one in `boost_and_rotation` of the product of the boosts.

    References
    ----------
    A. A. Ungar, Thomas rotation and the parametrization of the Lorentz group, Found. Phys. Lett. 1 (1988).

    Examples
    --------
    >>> sta.add_velocities([0.5, 0, 0], [0.5, 0, 0]).round(12).tolist()
    [0.8, 0.0, 0.0]
    """
    U, factor = speeds_of(u, "u", "add_velocities")
    V, _ = speeds_of(v, "v", "add_velocities")
    along = (U * V).sum(axis=-1, keepdims=True)
    g = np.asarray(factor)[..., None]
    return np.asarray((U + V / g + g / (1 + g) * along * U) / (1 + along))


def interval(first: Multivector, second: Multivector) -> Any:
    """Return the squares (second - first)²: > 0 timelike, 0 lightlike, < 0 spacelike.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> events = sta.event(alg, [5, 5, 3], [[3, 0, 0], [5, 0, 0], [5, 0, 0]])
    >>> sta.interval(sta.event(alg, 0, [0, 0, 0]), events).tolist()  # timelike, lightlike, spacelike
    [16.0, 0.0, -16.0]
    """
    spacetime_model(getattr(first, "algebra", first), "interval")
    step = of_algebra(second, first.algebra, "second", "interval") - first
    return (step * step).scalar_part()


def proper_time(path: Multivector) -> Any:
    """Return the times that clocks measure along world lines: Σ sqrt((x_{i+1} - x_i)²) over the last batch axis.

    Parameters
    ----------
    path : Multivector of batch shape (..., N)
        Events; between them the clock moves uniformly.

    Raises
    ------
    ArgumentError
        If a step is spacelike: faster than light.

    Examples
    --------
    The twins: one at rest for ten years, one with speed 0.8 and back.

    >>> alg = cr.Algebra.sta()
    >>> float(sta.proper_time(sta.event(alg, [0, 5, 10], [[0, 0, 0], [4, 0, 0], [0, 0, 0]])))
    6.0
    """
    spacetime_model(getattr(path, "algebra", path), "proper_time")
    if path.grades != (1,) or not path.ndim:
        raise fail("path", "proper_time", "vectors of batch shape (..., N)", describe(f"shape {path.shape}"))
    values = np.diff(floats(path.values, "path", "proper_time"), axis=-2)
    size = lengths(values[..., 1:])
    product = (values[..., 0] - size) * (values[..., 0] + size)
    if (product < -8 * np.finfo(np.float64).eps * size**2).any():
        raise fail("path", "proper_time", "timelike or lightlike from event to event", describe("a spacelike step"))
    return np.sqrt(np.maximum(product, 0)).sum(axis=-1)
