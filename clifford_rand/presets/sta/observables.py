"""Observables: velocities and rapidities, proper times, and electromagnetic fields F = E + I B."""

from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import coordinates_of, floats, lengths, numbers_of, of_algebra, refuse_tensors
from clifford_rand.presets.sta.frames import SIGNATURE, boost_to, spacetime_model, speeds_of, timelike

_ELECTRIC = np.array([-1, -1, -1], dtype=np.int8)  # σ_i = -g0 g_i, in the order g01, g02, g03
_MAGNETIC = np.array([-1, 1, -1], dtype=np.int8)  # I σ_3 = -g12, I σ_2 = g13, I σ_1 = -g23


@specialized(E=1, B=1)
@one_batch
def faraday(algebra: Algebra, E: ArrayLike, B: ArrayLike, /) -> Multivector:
    """Return the bivectors F = E_i σ_i + B_i I σ_i of electric and magnetic fields (..., 3), both in one unit (c = 1).

    References
    ----------
    C. Doran and A. Lasenby, Geometric Algebra for Physicists, Cambridge 2003, equation (7.5).

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.faraday(alg, [2, 0, 0], [0, 0, 3]).isclose(2 * alg.g1 * alg.g0 + 3 * alg.I * alg.g3 * alg.g0)
    True
    """
    spacetime_model(algebra, "faraday")
    e, b = coordinates_of(E, 3, "E", "faraday"), coordinates_of(B, 3, "B", "faraday")
    batch = np.broadcast_shapes(e.shape, b.shape)
    columns = [np.broadcast_to(e * _ELECTRIC, batch), np.broadcast_to(b[..., ::-1] * _MAGNETIC, batch)]
    return algebra.bivector(np.concatenate(columns, axis=-1))


def _field(F: Any, owner: str) -> Multivector:
    spacetime_model(F, owner, "F")
    refuse_tensors(F, "F", owner)
    if F.grades != (2,):
        raise fail("F", owner, "a bivector", describe(f"grades {F.grades}"))
    part: Multivector = F.on_keys(F.keys.filled)
    return part


@specialized()
@one_batch
def electric_and_magnetic(F: Multivector, /, observer: Multivector | None = None) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return E and B (..., 3) that g0 measures, or another observer in the frame that is boosted to it.

    Parameters
    ----------
    F : Multivector
        Bivectors.
    observer : Multivector, optional
        Timelike vectors of the future.

    Examples
    --------
    A purely electric field has a magnetic part for who moves across it.

    >>> alg = cr.Algebra.sta()
    >>> F = sta.faraday(alg, [0, 4, 0], [0, 0, 0])
    >>> [x.round(12).tolist() for x in sta.electric_and_magnetic(F, sta.four_velocity(alg, [0.6, 0, 0]))]
    [[0.0, 5.0, 0.0], [0.0, 0.0, -3.0]]
    """
    F = _field(F, "electric_and_magnetic")
    if observer is not None:
        F = _field((~boost_to(observer) >> F).grade(2), "electric_and_magnetic")
    values = F.coefficients
    return values[..., :3] * _ELECTRIC + 0, (values[..., 3:] * _MAGNETIC)[..., ::-1] + 0


@specialized()
def field_invariants(F: Multivector, /) -> tuple[Any, Any]:
    """Return E² - B² and E·B, which are the same for all observers: F² = E² - B² + 2 E·B I.

    Both vanish for a plane wave.

    Examples
    --------
    >>> a, b = sta.field_invariants(sta.faraday(cr.Algebra.sta(), [3, 0, 0], [1, 2, 0]))
    >>> float(a), float(b)
    (4.0, 3.0)
    """
    E, B = electric_and_magnetic(_field(F, "field_invariants"))
    return ((E - B) * (E + B)).sum(axis=-1), (E * B).sum(axis=-1)


@specialized()
def energy_momentum(F: Multivector, a: Multivector, /) -> Multivector:
    """Return T(a) = -F a F/2, vectors: the flow of energy and momentum through the hyperplane orthogonal to a.

    T(g0) = (E² + B²)/2 g0 + (E × B)_i g_i. T is symmetric, a·T(b) = T(a)·b, and without a trace.

    References
    ----------
    Doran and Lasenby 2003, equation (7.70), for ε_0 = 1.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.energy_momentum(sta.faraday(alg, [2, 0, 0], [0, 2, 0]), alg.g0)
    4.0*g0 + 4.0*g3
    """
    F = _field(F, "energy_momentum")
    if not isinstance(a, Multivector) or a.grades != (1,):
        raise fail("a", "energy_momentum", "a vector", a)
    return ((F * a * F) / -2).grade(1)


@specialized()
def stress_energy_tensor(F: Multivector, /) -> NDArray[Any]:
    """Return T^{μν} = g^μ·T(g^ν), (..., 4, 4): energy density [0, 0], Poynting's vector [0, 1:], stress [1:, 1:].

    The momentum flow [i, j] is (E² + B²)/2 δ_ij - E_i E_j - B_i B_j, minus Maxwell's stress tensor.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> T = sta.stress_energy_tensor(sta.faraday(alg, [1, 0, 0], [0, 1, 0]))  # a wave along z
    >>> (T[0].round(12) + 0.0).tolist(), (np.diag(T).round(12) + 0.0).tolist()
    ([1.0, 0.0, 0.0, 1.0], [1.0, 0.0, 0.0, 1.0])
    """
    F = _field(F, "stress_energy_tensor")
    basis = F.algebra.vector(np.diag(np.array(SIGNATURE, dtype=F.dtype)))  # g^ν
    rows = F.new(F.keys, F.coefficients[..., None, :])
    images = energy_momentum(rows, basis).on_keys(keys_of_grades(4, (1,)))
    return np.asanyarray(np.swapaxes(images.coefficients, -1, -2))


@specialized()
def lorentz_force(F: Multivector, u: Multivector, /, charge: ArrayLike = 1.0) -> Multivector:
    """Return q F·u, the change of momentum in proper time of a charge q with four-velocity u.

    It is q γ (E·v g0 + (E + v × B)_i g_i).

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.lorentz_force(sta.faraday(alg, [2, 0, 0], [0, 0, 1]), alg.g0, 3)
    6.0*g1
    """
    F = _field(F, "lorentz_force")
    if not isinstance(u, Multivector) or u.grades != (1,):
        raise fail("u", "lorentz_force", "a vector", u)
    return F.rc(u) * numbers_of(charge, F.dtype, "charge", "lorentz_force")


@specialized(velocity=1)
def gamma(velocity: ArrayLike) -> Any:
    """Return the Lorentz factors 1/sqrt(1 - v²) of velocities (..., 3), |v| < 1.

    Examples
    --------
    >>> float(sta.gamma([0.6, 0, 0]))
    1.25
    """
    return speeds_of(velocity, "velocity", "gamma")[1]


@specialized(velocity=1)
def rapidity(velocity: ArrayLike) -> NDArray[Any]:
    """Return the rapidities artanh(|v|) v/|v| (..., 3) of velocities: those of one direction add.

    Examples
    --------
    >>> sta.velocity_of_rapidity(2 * sta.rapidity([0.5, 0, 0])).round(12).tolist()
    [0.8, 0.0, 0.0]
    """
    return _of_length(np.arctanh, floats(speeds_of(velocity, "velocity", "rapidity")[0], "velocity", "rapidity"))


def _of_length(function: Any, v: NDArray[Any]) -> NDArray[Any]:
    """Return function(|v|) v/|v|; v where it is 0."""
    size = np.asanyarray(lengths(v))
    return np.asanyarray(v * np.where(size > 0, function(size) / np.where(size > 0, size, 1), 1)[..., None])


@specialized(w=1)
def velocity_of_rapidity(w: ArrayLike, /) -> NDArray[Any]:
    """Return the velocities tanh(|w|) w/|w| (..., 3) of rapidities.

    Examples
    --------
    >>> w = np.arctanh(0.8)
    >>> (sta.velocity_of_rapidity([w, 0, 0]).round(12) + 0.0).tolist()
    [0.8, 0.0, 0.0]
    """
    return _of_length(np.tanh, floats(coordinates_of(w, 3, "w", "velocity_of_rapidity"), "w", "velocity_of_rapidity"))


@specialized()
def velocity(p: Multivector, /) -> NDArray[Any]:
    """Return the velocities x/t (..., 3) of timelike vectors: four-velocities, momenta, steps between events.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.velocity(sta.event(alg, 5, [3, 0, 0])).tolist()
    [0.6, 0.0, 0.0]
    """
    spacetime_model(p, "velocity", "p")
    values, _ = timelike(p, "p", "velocity")
    return np.asanyarray(values[..., 1:] / values[..., :1])


@specialized(u=1, v=1)
@one_batch
def add_velocities(u: ArrayLike, v: ArrayLike, /) -> NDArray[Any]:
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
    g = np.asanyarray(factor)[..., None]
    return np.asanyarray((U + V / g + g / (1 + g) * along * U) / (1 + along))


@specialized()
def interval(first: Multivector, second: Multivector, /) -> Any:
    """Return the squares (second - first)²: > 0 timelike, 0 lightlike, < 0 spacelike.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> events = sta.event(alg, [5, 5, 3], [[3, 0, 0], [5, 0, 0], [5, 0, 0]])
    >>> sta.interval(sta.event(alg, 0, [0, 0, 0]), events).tolist()  # timelike, lightlike, spacelike
    [16.0, 0.0, -16.0]
    """
    spacetime_model(first, "interval", "first")
    step = of_algebra(second, first.algebra, "second", "interval") - first
    return (step * step).scalar_part()


@specialized(path=1)
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
    spacetime_model(path, "proper_time", "path")
    if path.grades != (1,) or not path.ndim:
        raise fail("path", "proper_time", "vectors of batch shape (..., N)", describe(f"shape {path.shape}"))
    values = np.diff(floats(path.values, "path", "proper_time"), axis=-2)
    size = lengths(values[..., 1:])
    product = (values[..., 0] - size) * (values[..., 0] + size)
    if (product < -8 * np.finfo(np.float64).eps * size**2).any():
        raise fail("path", "proper_time", "timelike or lightlike from event to event", describe("a spacelike step"))
    return np.sqrt(np.maximum(product, 0)).sum(axis=-1)
