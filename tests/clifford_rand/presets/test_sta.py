"""Space-time: boosts, Lorentz matrices, velocities, clocks and fields against formulas by components."""

import mpmath
import numpy as np
import pytest
import sympy

import clifford_rand as cr
from clifford_rand.presets import sta
from support.geometry import close, gaussian, rodrigues

STA = cr.Algebra.sta()
ETA = np.diag([1.0, -1, -1, -1])
BASIS = [STA.g0, STA.g1, STA.g2, STA.g3]


def velocities(seed, *shape):
    """Velocities (*shape, 3) of speeds up to .99."""
    rng = np.random.default_rng(seed)
    v = rng.standard_normal((*shape, 3))
    return v / np.linalg.norm(v, axis=-1, keepdims=True) * rng.uniform(0, 0.99, shape)[..., None]


def boost_matrix(v):
    """The textbook matrix of a boost that takes what is at rest to velocity v."""
    g = 1 / np.sqrt(1 - v @ v)
    B = np.eye(4)
    B[0, 0], B[0, 1:], B[1:, 0] = g, g * v, g * v
    B[1:, 1:] += (g - 1) * np.outer(v, v) / (v @ v)
    return B


def rotation_matrix(n, angle):
    F = np.eye(4)
    F[1:, 1:] = rodrigues(n / np.linalg.norm(n), angle)
    return F


def test_boosts_and_rotations_are_the_textbook_matrices():
    v, n, angle = velocities(1, 8), gaussian(2, 8, 3), gaussian(3, 8)
    L, R = sta.boost(STA, v), sta.rotor(STA, n, angle)
    assert (L * ~L).isclose(1, rtol=1e-10).all()
    assert (R * ~R).isclose(1).all()
    close(sta.rotor_to_lorentz_matrix(L), [boost_matrix(x) for x in v])
    close(sta.rotor_to_lorentz_matrix(R), [rotation_matrix(x, a) for x, a in zip(n, angle, strict=True)])
    assert (R >> STA.g0).grade(1).isclose(STA.g0).all()
    close(sta.velocity((L >> STA.g0).grade(1)), v)
    assert sta.boost_to(5.0 * sta.four_velocity(STA, v)).isclose(L, rtol=1e-10).all()


def test_rapidities_of_one_direction_add():
    v = velocities(1, 8)
    w = sta.rapidity(v)
    close(sta.velocity_of_rapidity(w), v)
    L = sta.boost(STA, v)
    assert (L * L).isclose(sta.boost(STA, sta.velocity_of_rapidity(2 * w)), rtol=1e-9).all()
    close(sta.add_velocities(v, v), sta.velocity_of_rapidity(2 * w))
    close(sta.rapidity(np.zeros(3)), np.zeros(3))
    close(np.cosh(np.linalg.norm(w, axis=-1)), sta.gamma(v))
    half = L.log() * 2  # exp(α v̂/2)
    close(-half.coefficients[..., [half.keys.find(1 | 1 << i) for i in (1, 2, 3)]], w, 1e-9)


def test_velocities_add_as_boosts_compose():
    u, v = velocities(1, 8), velocities(2, 8)
    moved = sta.boost(STA, u) >> sta.four_velocity(STA, v)
    close(sta.add_velocities(u, v), sta.velocity(moved.grade(1)), 1e-9)
    product = sta.boost(STA, u) * sta.boost(STA, v)
    L, R = sta.boost_and_rotation(product)
    assert L.isclose(sta.boost(STA, sta.add_velocities(u, v)), rtol=1e-8).all()
    assert (L * R).isclose(product, rtol=1e-8).all()
    assert (R >> STA.g0).grade(1).isclose(STA.g0, rtol=1e-9).all()
    # Wigner's rotation takes v ⊕ u to u ⊕ v
    other = sta.event(STA, np.zeros(8), sta.add_velocities(v, u))
    close(sta.time_and_space((R >> other).grade(1))[1], sta.add_velocities(u, v), 1e-8)


@pytest.mark.parametrize("v", [0.9, 0.9999, 0.999999, 0.9999999])
def test_matrices_of_fast_boosts_come_back(v):
    """To γ eps of the entries, γ that of both boosts together: the difference of M ~M (6e-3 before at v = .9999999)."""
    for a, b, n, angle in zip(gaussian(1, 8, 3), gaussian(2, 8, 3), gaussian(3, 8, 3), 3 * gaussian(4, 8), strict=True):
        V = sta.boost(STA, v * a / np.linalg.norm(a)) * sta.boost(STA, v * b / np.linalg.norm(b))
        V = V * sta.rotor(STA, n, angle)
        F = sta.rotor_to_lorentz_matrix(V)
        W = sta.rotor_from_lorentz_matrix(STA, F)
        limit = 8 * np.finfo(float).eps * F[0, 0]
        assert W.scalar_part() >= 0
        assert min(abs((W - V).values).max(), abs((W + V).values).max()) <= limit * abs(V.values).max()
        close(sta.rotor_to_lorentz_matrix(W) / F[0, 0], F / F[0, 0], limit)


@pytest.mark.parametrize("turn", ["g12", "g13", "g23"])
def test_matrices_of_half_turns_and_of_boosts_beside_them(turn):
    for V in (1.0 * STA(turn), sta.boost(STA, [0.3, -0.5, 0.6]) * STA(turn)):
        F = sta.rotor_to_lorentz_matrix(V)
        W = sta.rotor_from_lorentz_matrix(STA, np.stack([F, F]))[1]
        assert min(abs((W - V).values).max(), abs((W + V).values).max()) < 1e-14
        assert sta.rotor_from_lorentz_matrix(STA, F.astype(np.float32)).dtype == np.float32


@pytest.mark.parametrize("reverse", ["", "space", "time", "both"])
def test_matrices_come_back(reverse):
    v, n, angle = velocities(1, 8), gaussian(2, 8, 3), 3 * gaussian(3, 8)
    F = sta.rotor_to_lorentz_matrix(sta.boost(STA, v) * sta.rotor(STA, n, angle))
    if reverse in ("space", "both"):
        F = F @ ETA
    if reverse in ("time", "both"):
        F = F @ np.diag([-1.0, 1, 1, 1])
    V = sta.rotor_from_lorentz_matrix(STA, F)
    close(sta.rotor_to_lorentz_matrix(V), F, 1e-9)
    close(sta.rotor_from_lorentz_matrix(STA, F[0]).dense().coefficients, V[0].dense().coefficients)
    x = STA.vector(gaussian(5, 8, 4))
    close((V >> x).grade(1).coefficients, (F @ x.coefficients[..., None])[..., 0], 1e-9)


def test_matrices_of_all_four_parts_in_one_batch():
    F = np.stack([np.eye(4), ETA, -ETA, -np.eye(4), np.diag([1.0, -1, -1, 1])])
    V = sta.rotor_from_lorentz_matrix(STA, F)
    for one, expected in zip(V, (STA.scalar(1.0), STA.g0, STA.g123, STA.I, STA.g12), strict=True):
        assert one.isclose(expected * 1.0)
    printed = np.round(boost_matrix(np.array([0.3, 0.5, 0.1])), 7)
    close(sta.rotor_to_lorentz_matrix(sta.rotor_from_lorentz_matrix(STA, printed)), printed, 1e-6)


def test_splits():
    x, v = STA.vector(gaussian(1, 8, 4)), velocities(2, 8)
    u = sta.four_velocity(STA, v)
    split = sta.spacetime_split(x, u)
    t, place = sta.time_and_space(x, u)
    close(split.scalar_part(), t)
    relative = split.grade(2)
    close((relative * relative).scalar_part(), (place**2).sum(-1), 1e-9)
    assert (split * u).grade(1).isclose(x, rtol=1e-9).all()
    close(t**2 - (place**2).sum(-1), (x * x).scalar_part(), 1e-9)
    close(t, (boost_inverse(v) @ x.coefficients[..., None])[..., 0, 0], 1e-10)
    assert sta.spacetime_split(STA.g1) == STA.g1 * STA.g0


def boost_inverse(v):
    return np.stack([boost_matrix(-x) for x in v])


@pytest.mark.slow
def test_clocks_run_slow_by_gamma_and_the_same_for_all():
    v = velocities(1, 6)
    t = np.linspace(0, 5, 11)
    lines = sta.event(STA, np.broadcast_to(t, (6, 11)), t[:, None] * v[:, None, :])
    close(sta.proper_time(lines), 5 / sta.gamma(v))
    L = sta.boost(STA, [0.3, -0.6, 0.2])
    close(sta.proper_time((L >> lines).grade(1)), 5 / sta.gamma(v), 1e-9)
    close(sta.interval(lines[:, 0], lines[:, -1]), 25 / sta.gamma(v) ** 2)
    # hyperbolic motion: x² - t² = 1, the proper time is the rapidity
    w = np.linspace(0, 2, 801)
    close(sta.proper_time(sta.event(STA, np.sinh(w), np.cosh(w)[:, None] * [1, 0, 0])), 2.0, 1e-6)
    assert sta.proper_time(sta.event(STA, [0, 1], [[0, 0, 0], [1, 0, 0]])) == 0  # light


@pytest.mark.parametrize("v", [0.6, 0.9999, 0.999999, 0.9999999])
def test_fast_boosts_and_rotations_to_fifty_digits(v):
    """V = B1 B2 with u = B1 B2 >> g0 = γ² g0 + γ² v g1 + γ v g2, and L = (1 + u g0)/√(2 (1 + γ²))."""
    alg = cr.Algebra.sta()
    turn = sta.rotor(alg, [1, 2, 3], 0.7)
    V = 3 * (sta.boost(alg, [v, 0, 0]) * sta.boost(alg, [0, v, 0]) * turn)
    L, R = sta.boost_and_rotation(V)
    with mpmath.workdps(50):
        g = 1 / mpmath.sqrt(1 - mpmath.mpf(v) ** 2)
        root = mpmath.sqrt(2 * (1 + g * g))
        exact = [(1 + g * g) / root, -g * g * v / root, -g * v / root]
    size, eps = float(exact[0]), np.finfo(float).eps
    assert all(abs(L[b] - float(x)) <= 16 * eps * size**3 for b, x in zip(("1", "g01", "g02"), exact, strict=True))
    assert L.grades == R.grades == (0, 2)
    assert [L[b] for b in ("g12", "g13", "g23")] == [R[b] for b in ("g01", "g02", "g03")] == [0, 0, 0]
    assert (R >> alg.g0).isclose(alg.g0, rtol=1e-15)
    assert (R * ~R).isclose(1, rtol=1e-15)
    assert abs((3 * L * R - V).coefficients).max() <= 64 * eps * size**3
    u = (V >> alg.g0).grade(1)
    assert abs((sta.boost_to(u) - L).coefficients).max() <= 64 * eps * size**3
    assert (sta.spacetime_split(alg.g0, u) - alg.g0 * u).isclose(0, atol=1e-15 * size**2)


def test_fields_transform_as_textbooks_say():
    """E' = γ(E + v × B) - γ²/(γ+1) v (v·E), B' = γ(B - v × E) - γ²/(γ+1) v (v·B)."""
    E, B, v = gaussian(1, 8, 3), gaussian(2, 8, 3), velocities(3, 8)
    F = sta.faraday(STA, E, B)
    close(np.stack(sta.electric_and_magnetic(F)), np.stack([E, B]))
    g = sta.gamma(v)[:, None]

    def other(A, C):
        return g * (A + np.cross(v, C)) - g**2 / (g + 1) * v * (v * A).sum(-1, keepdims=True)

    found = sta.electric_and_magnetic(F, sta.four_velocity(STA, v))
    close(found[0], other(E, B), 1e-9)
    close(found[1], other(B, -E), 1e-9)
    for first, second in zip(sta.field_invariants(F), sta.field_invariants(sta.faraday(STA, *found)), strict=True):
        close(second, first, 1e-8)
    a, b = sta.field_invariants(F)
    assert (F * F).isclose(STA.scalar(a) + 2 * STA.I * b).all()
    V = sta.boost(STA, v) * sta.rotor(STA, B, 0.4)
    for first, second in zip(sta.field_invariants((V >> F).grade(2)), (a, b), strict=True):
        close(first, second, 1e-8)


def test_energy_and_momentum():
    E, B = gaussian(1, 8, 3), gaussian(2, 8, 3)
    F = sta.faraday(STA, E, B)
    T = sta.stress_energy_tensor(F)
    density = ((E**2).sum(-1) + (B**2).sum(-1)) / 2
    close(T[:, 0, 0], density)
    close(T[:, 0, 1:], np.cross(E, B))
    close(T, np.swapaxes(T, 1, 2))
    close(np.trace(T @ ETA, axis1=1, axis2=2), np.zeros(8))
    expected = density[:, None, None] * np.eye(3) - E[:, :, None] * E[:, None] - B[:, :, None] * B[:, None]
    close(T[:, 1:, 1:], expected)
    a, b = STA.vector(gaussian(3, 8, 4)), STA.vector(gaussian(4, 8, 4))
    close((a | sta.energy_momentum(F, b)).scalar_part(), (sta.energy_momentum(F, a) | b).scalar_part())
    L = sta.boost(STA, velocities(5, 8))
    moved = sta.energy_momentum((L >> F).grade(2), (L >> a).grade(1))
    assert moved.isclose((L >> sta.energy_momentum(F, a)).grade(1), rtol=1e-8).all()
    v = velocities(6, 8)
    u = sta.four_velocity(STA, v)
    power, force = sta.time_and_space(sta.lorentz_force(F, u, 2.5))
    g = sta.gamma(v)
    close(power, 2.5 * g * (E * v).sum(-1), 1e-10)
    close(force, 2.5 * g[:, None] * (E + np.cross(v, B)), 1e-10)
    close((sta.lorentz_force(F, u) | u).scalar_part(), np.zeros(8), 1e-9)  # the mass stays


def test_a_plane_wave_solves_the_equations_of_maxwell():
    """∇F = 0 for F = F_0 cos k·x with k² = 0 and k F_0 = 0, by symbols; its invariants vanish, T(a) ∝ k."""
    x = STA.symbols("x", grades=1)
    k = STA.g0 + STA.g3
    F0 = sta.faraday(STA, [1, 0, 0], [0, 1, 0])
    assert (k * F0).is_zero()
    phase = (k | x).scalar_part()
    frame = STA.reciprocal_frame(BASIS)

    def gradient(F):
        return sum((frame[i] * F.diff(x[f"g{i}"]) for i in range(4)), 0 * F)

    F = F0 * sympy.cos(phase)
    assert gradient(F).simplify().is_zero()
    wrong = F0 * sympy.cos(2 * phase) + sta.faraday(STA, [0, 0, 1], [0, 0, 0]) * sympy.cos(phase)
    assert not gradient(wrong).simplify().is_zero()
    assert [float(value) for value in sta.field_invariants(F0)] == [0.0, 0.0]
    assert sta.energy_momentum(F0, STA.g0).isclose(k * 1.0)
    # Doppler: who flees with v sees the frequency times sqrt((1 - v)/(1 + v))
    t, _ = sta.time_and_space(k * 1.0, sta.four_velocity(STA, [0, 0, 0.6]))
    close(t, 0.5)


def test_a_uniformly_moving_charge_has_the_boosted_field_of_coulomb():
    """F = x ∧ u / |x ∧ u|³; E = γ r / (r² + γ² (r·v)²)^(3/2) with r from the present place, B = v × E."""
    v = np.array([0.5, 0.3, -0.4])
    u, x = sta.four_velocity(STA, v), sta.event(STA, gaussian(1, 6), gaussian(2, 6, 3))
    W = x ^ u
    F = W * ((W * W).scalar_part() ** -1.5)
    E, B = sta.electric_and_magnetic(F)
    t, place = sta.time_and_space(x)
    r, g = place - t[:, None] * v, sta.gamma(v)
    expected = g * r / ((r**2).sum(-1) + g**2 * (r @ v) ** 2)[:, None] ** 1.5
    close(E, expected, 1e-9)
    close(B, np.cross(v, expected), 1e-9)


def test_batches_broadcast():
    assert sta.event(STA, np.zeros((4, 1)), np.zeros((5, 3))).shape == (4, 5)
    assert sta.faraday(STA, np.zeros((4, 1, 3)), np.zeros((5, 3))).shape == (4, 5)


@pytest.mark.parametrize("of", [sta.gamma, sta.rapidity, sta.velocity_of_rapidity, lambda v: sta.add_velocities(v, v),
                                lambda v: sta.boost(STA, v).coefficients, lambda v: sta.four_velocity(STA, v).values,
                                lambda v: sta.rotor(STA, v, 1).coefficients])  # fmt: skip
def test_exact_velocities_are_numbers(of):
    exact = np.array([sympy.Rational(1, 2), sympy.Rational(1, 4), 0], object)
    np.testing.assert_allclose(of(exact), of([0.5, 0.25, 0.0]), rtol=1e-15)


def test_paths_and_versors_of_exact_numbers():
    path = sta.event(STA, [0.0, 5, 10], [[0.0, 0, 0], [4, 0, 0], [0, 0, 0]])
    assert float(sta.proper_time(path.map(lambda x: x.astype(object)))) == float(sta.proper_time(path))
    V = sta.boost(STA, [0.6, 0, 0])
    L, _ = sta.boost_and_rotation(V.map(lambda x: sympy.Rational(x)))
    assert L.isclose(V)
    s = sympy.Symbol("s", positive=True)
    L, R = sta.boost_and_rotation(V * s)
    assert L.isclose(V)
    assert R.subs({s: 2}).isclose(1)
