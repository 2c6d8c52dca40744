"""Events, observers, boosts and rotations of space-time, and Lorentz transformations from and to matrices."""

from typing import Any

import numpy as np

from clifford_rand._checks import as_real, check_tolerance, describe, fail, one_batch, wrong_algebra
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import (
    coordinates_of,
    cosine_and_sine,
    floats,
    halved,
    is_symbolic,
    lengths,
    numbers_of,
    real_of,
    root,
    with_floats,
)

SIGNATURE = (1, -1, -1, -1)
RTOL = 1e-6  # how far ΛᵀηΛ may be from η: a matrix that was printed with seven digits is still one


def spacetime_model(A: object, owner: str, name: str = "algebra") -> Algebra:
    """Return the algebra, or that of A, if it is Cl(1, 3), the timelike vector first."""
    alg = A if name == "algebra" else getattr(A, "algebra", A)
    if not isinstance(alg, Algebra) or not alg.form.is_unit or alg.signature != SIGNATURE:
        raise wrong_algebra(alg, owner, name, "the space-time algebra", "Algebra.sta()")
    return alg


def speeds_of(velocity: ArrayLike, name: str, owner: str) -> tuple[NDArray[Any], Any]:
    """Return velocities (..., 3) and their Lorentz factors, or the error that some numbers are not below 1."""
    v = coordinates_of(velocity, 3, name, owner)
    if is_symbolic(v):
        return v, 1 / root(np.asanyarray(1 - (v * v).sum(axis=-1), dtype=object))
    v = floats(v, name, owner)
    speed = lengths(v)
    if np.any(speed >= 1):
        raise fail(name, owner, "slower than light, |v| < 1", describe(f"a speed of {np.max(speed):.6g}"))
    return v, 1 / np.sqrt((1 - speed) * (1 + speed))


def timelike(p: Any, name: str, owner: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the components (..., 4) of timelike vectors and their lengths."""
    if not isinstance(p, Multivector) or p.grades != (1,):
        raise fail(name, owner, "a vector", p)
    values = real_of(p, name, owner, "a vector").on_keys(p.keys.filled).coefficients
    size = lengths(values[..., 1:])
    square = (values[..., 0] - size) * (values[..., 0] + size)  # t² - |x|² without cancellation
    unit = abs(square - 1) <= 8 * float(np.finfo(values.dtype).eps) * values[..., 0] ** 2
    square = np.where(unit, 1, square).astype(values.dtype)  # 1 to rounding is 1: the difference has an error of γ² eps
    if (square <= 0).any():
        raise fail(name, owner, "timelike, with a positive square", describe("a lightlike or spacelike vector"))
    return values, np.sqrt(square)


@specialized(x=1)
@one_batch
def event(algebra: Algebra, t: ArrayLike, x: ArrayLike, /) -> Multivector:
    """Return the vectors t g0 + x_1 g1 + x_2 g2 + x_3 g3 of times (...) and places (..., 3).

    Examples
    --------
    >>> sta.event(cr.Algebra.sta(), 5, [3, 0, 4])
    5.0*g0 + 3.0*g1 + 4.0*g3
    """
    spacetime_model(algebra, "event")
    X = coordinates_of(x, 3, "x", "event")
    T = numbers_of(t, X.dtype, "t", "event")
    batch = np.broadcast_shapes(T.shape, X.shape[:-1])
    columns = [np.broadcast_to(T, batch)[..., None], np.broadcast_to(X, (*batch, 3))]
    return algebra.vector(np.concatenate(columns, axis=-1))


@specialized(velocity=1)
def four_velocity(algebra: Algebra, /, velocity: ArrayLike) -> Multivector:
    """Return the unit vectors γ (g0 + v_i g_i) of velocities (..., 3).

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> u = sta.four_velocity(alg, [0.6, 0, 0])
    >>> u.isclose(1.25 * alg.g0 + 0.75 * alg.g1), float((u * u).scalar_part().round(12))
    (True, 1.0)
    """
    spacetime_model(algebra, "four_velocity")
    v, factor = speeds_of(velocity, "velocity", "four_velocity")
    return event(algebra, factor, np.asanyarray(factor)[..., None] * v)


@specialized(velocity=1)
def boost(algebra: Algebra, /, velocity: ArrayLike) -> Multivector:
    """Return the rotors exp(α v̂/2), tanh α = |v|, v̂ = v_i σ_i/|v|: boosts that take g0 to γ (g0 + v_i g_i).

    Boosts of one direction multiply by adding rapidities.

    Parameters
    ----------
    algebra : Algebra
    velocity : array_like (..., 3)
        Slower than light.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> (sta.boost(alg, [0.6, 0, 0]) >> alg.g0).isclose(1.25 * alg.g0 + 0.75 * alg.g1)
    True
    """
    spacetime_model(algebra, "boost")
    v, factor = speeds_of(velocity, "velocity", "boost")
    g = np.asanyarray(factor)
    return _boost(algebra, g, g[..., None] * v)


def _boost(algebra: Algebra, g: NDArray[Any], x: NDArray[Any]) -> Multivector:
    """Return the boosts that take g0 to unit vectors g g0 + x_i g_i."""
    relative = -x / root(2 * (1 + g))[..., None]  # σ_i = g_i g0 = -g0 g_i
    return algebra.scalar(root((1 + g) / 2)) + algebra.bivector(np.concatenate([relative, 0 * x], axis=-1))


@specialized()
def boost_to(u: Multivector, /) -> Multivector:
    """Return the boosts L = (1 + u g0)/sqrt(2 (1 + u·g0)) that take g0 to the directions u of timelike vectors.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> u = sta.four_velocity(alg, [0.6, 0, 0])
    >>> (sta.boost_to(u) >> alg.g0).isclose(u), sta.boost_to(u).isclose(sta.boost(alg, [0.6, 0, 0]))
    (True, True)
    """
    alg = spacetime_model(u, "boost_to", "u")
    values, size = timelike(u, "u", "boost_to")
    if (values[..., 0] < 0).any():
        raise fail("u", "boost_to", "in the future, u·g0 > 0", describe("a vector of the past"))
    unit = values / size[..., None]
    return _boost(alg, unit[..., 0], unit[..., 1:])


@specialized(axis=1)
@one_batch
def rotor(algebra: Algebra, /, axis: ArrayLike, angle: ArrayLike) -> Multivector:
    """Return the rotors exp(-angle/2 I n) about axes (..., 3), right-handed: about the third g1 turns towards g2.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> (sta.rotor(alg, [0, 0, 2], np.pi / 2) >> alg.g1).isclose(alg.g2)
    True
    """
    spacetime_model(algebra, "rotor")
    n = coordinates_of(axis, 3, "axis", "rotor")
    half = numbers_of(angle, n.dtype, "angle", "rotor")
    if not (is_symbolic(n) or is_symbolic(half)):
        n, half = floats(n, "axis", "rotor"), floats(half, "angle", "rotor")
    size = np.asanyarray(lengths(n))
    if np.asanyarray(size == 0, dtype=bool).any():
        raise fail("axis", "rotor", "not zero", axis)
    cosine, sine = cosine_and_sine(halved(half))
    parts = np.asanyarray(sine / size)[..., None] * n
    # I σ_1 = -g23, I σ_2 = g13, I σ_3 = -g12
    turned = [np.zeros_like(parts), parts[..., 2:], -parts[..., 1:2], parts[..., :1]]
    return algebra.scalar(cosine) + algebra.bivector(np.concatenate(turned, axis=-1))


@specialized()
def spacetime_split(X: Multivector, /, observer: Multivector | None = None) -> Multivector:
    """Return X u for the unit vector u of an observer (g0): of an event its time x·u and relative place x ∧ u.

    References
    ----------
    D. Hestenes, Spacetime physics with geometric algebra, Am. J. Phys. 71 (2003), section III.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.spacetime_split(sta.event(alg, 5, [3, 0, 0]), sta.four_velocity(alg, [0.6, 0, 0]))
    4.0
    """
    alg = spacetime_model(X, "spacetime_split", "X")
    if observer is None:
        return X * alg.g0
    _, size = timelike(observer, "observer", "spacetime_split")
    return X * (observer / size)


@specialized()
@one_batch
def time_and_space(x: Multivector, /, observer: Multivector | None = None) -> tuple[Any, NDArray[Any]]:
    """Return times (...) and places (..., 3) of events in the frame of g0, or in the boosted one of an observer.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> t, x = sta.time_and_space(sta.event(alg, 5, [3, 0, 0]), sta.four_velocity(alg, [0.6, 0, 0]))
    >>> float(t.round(12)), (x.round(12) + 0.0).tolist()
    (4.0, [0.0, 0.0, 0.0])
    """
    spacetime_model(x, "time_and_space", "x")
    if x.grades != (1,):
        raise fail("x", "time_and_space", "vectors", describe(f"grades {x.grades}"))
    if observer is not None:
        x = (~boost_to(observer) >> x).grade(1)
    values = x.on_keys(x.keys.filled).coefficients
    return values[..., 0], values[..., 1:]


@specialized()
def boost_and_rotation(V: Multivector, /) -> tuple[Multivector, Multivector]:
    """Return L and R with V = L R: a boost and a rotation that leaves g0, of rotors of any positive scale.

    V ~V > 0, even, and not reversing time: the proper orthochronous transformations. With L = c + s v̂, c > 0, the part
    of V that commutes with g0 is c R, so R keeps g0 whatever the speed. L is `boost_to` of V >> g0. The rotation of a
    product of two boosts is Wigner's.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> V = sta.boost(alg, [0.6, 0, 0]) * sta.rotor(alg, [0, 0, 1], 0.5)
    >>> L, R = sta.boost_and_rotation(V)
    >>> L.isclose(sta.boost(alg, [0.6, 0, 0])), R.isclose(sta.rotor(alg, [0, 0, 1], 0.5))
    (True, True)
    """
    alg = spacetime_model(V, "boost_and_rotation", "V")
    V = with_floats(V, "V", "boost_and_rotation")
    if any(k % 2 for k in V.grades) or not np.all(V.is_versor()):
        raise fail("V", "boost_and_rotation", "a rotor, even and a versor", describe(f"grades {V.grades}"))
    square = (V * ~V).scalar_part()
    if np.any(square <= 0):
        raise fail("V", "boost_and_rotation", "such that V ~V > 0", describe("one that reverses time, V ~V < 0"))
    P = ((V + alg.g0 * V * alg.g0) / 2).select_keys(keys_of_grades(4, (0, 2)))  # the part that commutes with g0: c R
    R = P / lengths(P.coefficients)
    L = V * ~R
    L = ((L - alg.g0 * L * alg.g0) / 2 + L.grade(0)).select_keys(keys_of_grades(4, (0, 2)))
    return L / np.sqrt(square), R


@specialized()
def rotor_to_lorentz_matrix(V: Multivector, /) -> NDArray[Any]:
    """Return the matrices Λ (..., 4, 4) of versors: V >> x has the components Λ x; ΛᵀηΛ = η = diag(1, -1, -1, -1).

    Examples
    --------
    >>> sta.rotor_to_lorentz_matrix(sta.boost(cr.Algebra.sta(), [0.6, 0, 0])).round(12)[:2, :2].tolist()
    [[1.25, 0.75], [0.75, 1.25]]
    """
    spacetime_model(V, "rotor_to_lorentz_matrix", "V")
    return V.vector_matrix()


@specialized(F=2)
def rotor_from_lorentz_matrix(algebra: Algebra, F: ArrayLike, /, *, rtol: float | None = None) -> Multivector:
    """Return versors V with V >> x of components F x, for every Lorentz transformation: V = L R C.

    L is a boost, R a rotation with ⟨R⟩_0 ≥ 0; C is 1 for proper orthochronous F, g0 if F reverses space, g1 g2 g3 if it
    reverses time, I if both.

    Parameters
    ----------
    algebra : Algebra
    F : array_like (..., 4, 4)
    rtol : float, optional
        How far FᵀηF may be from η, relative to the square of the largest entry; 1e-6 by default.

    Raises
    ------
    ArgumentError
        If FᵀηF ≠ η.

    Examples
    --------
    >>> alg = cr.Algebra.sta()
    >>> sta.rotor_from_lorentz_matrix(alg, np.diag([1.0, -1, -1, 1])).isclose(alg.g12)
    True
    """
    spacetime_model(algebra, "rotor_from_lorentz_matrix")
    matrix = as_real(F, "F", "rotor_from_lorentz_matrix")
    if matrix.shape[-2:] != (4, 4):
        raise fail("F", "rotor_from_lorentz_matrix", "of shape (..., 4, 4)", describe(f"shape {matrix.shape}"))
    eta = np.diag(np.array(SIGNATURE, dtype=matrix.dtype))
    excess = abs(np.swapaxes(matrix, -1, -2) @ eta @ matrix - eta).max(axis=(-1, -2), initial=0)
    limit = check_tolerance(rtol, RTOL, "clifford_rand.presets")
    if not (excess <= limit * np.maximum(1, abs(matrix).max(axis=(-1, -2), initial=0)) ** 2).all():
        raise fail("F", "rotor_from_lorentz_matrix", "a Lorentz transformation, FᵀηF = η", describe("another matrix"))
    future = matrix[..., 0, 0] > 0
    proper = np.linalg.det(matrix) > 0  # det F = 1
    space = np.where(proper == future, 1, -1)  # what C does to space, and to time
    time = np.where(future, 1, -1)
    signs = np.stack([time, space, space, space], axis=-1).astype(matrix.dtype)
    kept = matrix * signs[..., None, :]
    V = _rotor_of(algebra, kept)
    if (future & proper).all():
        return V
    both, neither = future & proper, ~(future | proper)
    places = ((1, both), (algebra.g0, future & ~proper), (algebra.g123, neither), (algebra.I, proper & ~future))
    parts = [V * C * np.where(where, 1.0, 0.0) for C, where in places if where.any()]
    return sum(parts, V * 0).sparse()


def _rotor_of(algebra: Algebra, F: NDArray[Any]) -> Multivector:
    """Return V of proper orthochronous F from M = Σ F(g_μ) g^μ = 4 V z, z = s - p I for V = s + B + p I, M ~M = 16 z².

    |z|² = tr(F)/4. F is first turned by the half turn W in a plane g_ij, or none, for which |z| is largest: |V|/2 at
    least. M ~M cancels to |V|² eps, which is γ eps for a boost.
    """
    halves = np.array([[1, 1, 1, 1], [1, -1, -1, 1], [1, -1, 1, -1], [1, 1, -1, -1]], dtype=F.dtype)  # 1, g12, g13, g23
    # the half turn W with the largest trace of F W
    best = (np.diagonal(F, axis1=-2, axis2=-1) @ halves).argmax(axis=-1)
    columns = algebra.vector(np.moveaxis(F * halves[best][..., None, :], -1, 0))
    M = (columns * algebra.vector(np.diag(np.array(SIGNATURE, dtype=F.dtype))).reshape(4, *[1] * np.ndim(best))).sum(
        axis=0
    )
    even = keys_of_grades(4, (0, 2, 4))
    square = (M * ~M).on_keys(even).coefficients
    size = np.hypot(square[..., 0], square[..., -1])  # 1/√(a + b i), by the larger of the parts of the root
    large = np.sqrt((size + abs(square[..., 0])) / 2)
    small = abs(square[..., -1]) / (2 * large)
    ahead = square[..., 0] >= 0
    real, imaginary = np.where(ahead, large, small), np.where(ahead, small, large)
    over_real, over_imaginary = real / size, np.where(square[..., -1] < 0, 1, -1) * imaginary / size
    W = np.eye(7, dtype=F.dtype)[np.array([0, 4, 5, 6])[best]]
    back = algebra.scalar(W[..., 0]) - algebra.bivector(W[..., 1:])
    V = (M * back * (algebra.scalar(over_real) + algebra.I * over_imaginary)).on_keys(even)
    s, turn = V.coefficients[..., 0], (V * back).scalar_part()
    noise = 8 * np.finfo(F.dtype).eps * np.abs(V.coefficients).max(axis=-1, initial=0)
    signs = np.where(np.where(np.abs(s) > noise, s, turn) < 0, -1, 1)
    return (V * signs).astype(F.dtype)  # integers of the basis would widen single precision
