"""Every function of the models with symbols: its expressions at numbers are what it returns for the numbers."""

from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand.fusion.kernel import fields_of, of_fields
from clifford_rand.fusion.specialization import specialized
from clifford_rand.presets import cga, pga, sta
from support.refusals import refused

A, B, C, T = sp.symbols("a b c t", real=True)
R = sp.Symbol("r", positive=True)
SYMBOLS, VALUES = (A, B, C, T, R), (0.3, -0.4, 0.2, 0.7, 1.25)
SPACE, CONFORMAL, TIME = cr.Algebra.pga(3), cr.Algebra.cga(3), cr.Algebra.sta()


def projective(a, b, c, t, r):
    """Return calls of points, lines, planes, and motors with a few parameters."""
    alg, u, v = SPACE, [a, b, c], [1, a, 2]
    P, Q = pga.point(alg, u), pga.point(alg, [r, 0, b])
    L, K, p = pga.line(alg, [a, 0, 0], [a, b, 2]), pga.line(alg, [0, 0, 0], [1, c, 0]), pga.plane(alg, [a, 2, b], r)
    M, N = pga.motor(alg, pga.line(alg, [a, 0, 0], [a, 0, 1]), t, r), pga.translator(alg, [1, 2, 2])
    q = [0.5, a, b, c]
    matrix = [[sp.cos(t), -sp.sin(t), 0, a], [sp.sin(t), sp.cos(t), 0, b], [0, 0, 1, c], [0, 0, 0, 1]]
    matrix = np.array(matrix, dtype=object if isinstance(t, sp.Basic) else float)
    dual = pga.motor_to_dual_quaternion(M)
    return {
        "point": lambda: pga.point(alg, u), "direction": lambda: pga.direction(alg, u),
        "plane": lambda: pga.plane(alg, u, t), "line": lambda: pga.line(alg, u, v),
        "coordinates": lambda: pga.coordinates(P), "translator": lambda: pga.translator(alg, u),
        "rotor": lambda: pga.rotor(alg, L, t), "motor": lambda: pga.motor(alg, L, t, r),
        "norm": lambda: pga.norm(L), "ideal_norm": lambda: pga.ideal_norm(L),
        "distance": lambda: pga.distance(L, K), "is_incident": lambda: pga.is_incident(P, L),
        "angle": lambda: pga.angle(L, p), "project": lambda: pga.project(P, L), "reject": lambda: pga.reject(P, p),
        "meet": lambda: pga.meet(L, p), "join": lambda: pga.join(P, Q), "normalized": lambda: pga.normalized(2 * M + N),
        "screw": lambda: pga.screw(M), "motor_from_matrix": lambda: pga.motor_from_matrix(alg, matrix),
        "motor_to_matrix": lambda: pga.motor_to_matrix(M), "motor_to_quaternion": lambda: pga.motor_to_quaternion(M),
        "motor_from_quaternion": lambda: pga.motor_from_quaternion(alg, q, u),
        "motor_from_dual_quaternion": lambda: pga.motor_from_dual_quaternion(alg, dual),
        "motor_to_dual_quaternion": lambda: pga.motor_to_dual_quaternion(M),
        "screw_axis": lambda: pga.screw_axis(alg, L, r), "slide_axis": lambda: pga.slide_axis(alg, u),
    }  # fmt: skip


def conformal(a, b, c, t, r):
    """Return calls of rounds, flats, and versors with a few parameters."""
    alg, u, v, two = CONFORMAL, [a, b, c], [1, a, 2], [[1, a, 0], [b, 0, 1]]
    P, line, plane = cga.up(alg, u), cga.line(alg, u, direction=[a, 1, b]), cga.plane(alg, [a, b, 2], c)
    S, Z = cga.sphere(alg, u, r), cga.sphere(alg, [1, a, 0], 2 * r)
    circle, pair = cga.circle(alg, u, r, [a, b, 2]), cga.point_pair(alg, u, v)
    V = cga.translator(alg, u) * cga.rotor(alg, alg.e12, t) * cga.dilator(alg, r)
    return {
        "up": lambda: cga.up(alg, u), "point": lambda: cga.point(alg, u), "down": lambda: cga.down(P * r),
        "origin": lambda: cga.origin(alg), "infinity": lambda: cga.infinity(alg),
        "sphere": lambda: cga.sphere(alg, u, r), "plane": lambda: cga.plane(alg, u, t),
        "circle": lambda: cga.circle(alg, u, r, v), "line": lambda: cga.line(alg, u, direction=v),
        "point_pair": lambda: cga.point_pair(alg, u, v), "flat": lambda: cga.flat(alg, u, two),
        "round_about": lambda: cga.round_about(alg, u, r, two), "contains_point": lambda: cga.contains_point(S, P),
        "meet": lambda: cga.meet(S, Z), "center": lambda: cga.center(circle), "radius": lambda: cga.radius(circle),
        "radius_squared": lambda: cga.radius_squared(S), "carrier": lambda: cga.carrier(circle),
        "normal": lambda: cga.normal(circle), "split_point_pair": lambda: cga.split_point_pair(pair),
        "classify": lambda: cga.classify(circle), "angle": lambda: cga.angle(S, cga.plane(alg, [0, 0, 1], c)),
        "inversive_product": lambda: cga.inversive_product(S, Z), "intersect": lambda: cga.intersect(S, Z),
        "distance": lambda: cga.distance(P, plane), "closest_points": lambda: cga.closest_points(P, line),
        "translator": lambda: cga.translator(alg, u), "rotor": lambda: cga.rotor(alg, alg.e12, t),
        "motor": lambda: cga.motor(alg, line, t, r), "dilator": lambda: cga.dilator(alg, r, u),
        "inversion": lambda: cga.inversion(alg, u, r), "transversion": lambda: cga.transversion(alg, u),
        "decompose": lambda: cga.decompose(V),
    }  # fmt: skip


def of_spacetime(a, b, c, t, r):
    """Return calls of events, boosts, and fields with a few parameters."""
    alg, u, v, E, field = TIME, [a, b, 0], [0, c, a], [a, 1, b], [c, 0, r]
    event, other, observer = sta.event(alg, t, u), sta.event(alg, 5, v), sta.event(alg, 2, v)
    F, path = sta.faraday(alg, E, field), sta.event(alg, [0, 4, 9], [[0, 0, a], [b, 0, 0], [0, c, 0]])
    V = sta.boost(alg, [a, 0, 0]) * sta.rotor(alg, [0, 0, 1], t)
    matrix = sta.rotor_to_lorentz_matrix(sta.rotor(alg, [0, 0, 1], t))
    return {
        "event": lambda: sta.event(alg, t, u), "four_velocity": lambda: sta.four_velocity(alg, u),
        "velocity": lambda: sta.velocity(observer), "gamma": lambda: sta.gamma(u), "rapidity": lambda: sta.rapidity(u),
        "velocity_of_rapidity": lambda: sta.velocity_of_rapidity(u),
        "add_velocities": lambda: sta.add_velocities(u, v), "boost": lambda: sta.boost(alg, u),
        "boost_to": lambda: sta.boost_to(observer), "rotor": lambda: sta.rotor(alg, E, t),
        "boost_and_rotation": lambda: sta.boost_and_rotation(V),
        "rotor_to_lorentz_matrix": lambda: sta.rotor_to_lorentz_matrix(V),
        "rotor_from_lorentz_matrix": lambda: sta.rotor_from_lorentz_matrix(alg, matrix),
        "spacetime_split": lambda: sta.spacetime_split(event, observer),
        "time_and_space": lambda: sta.time_and_space(event, observer), "interval": lambda: sta.interval(event, other),
        "proper_time": lambda: sta.proper_time(path), "faraday": lambda: sta.faraday(alg, E, field),
        "electric_and_magnetic": lambda: sta.electric_and_magnetic(F, observer),
        "field_invariants": lambda: sta.field_invariants(F),
        "energy_momentum": lambda: sta.energy_momentum(F, observer),
        "stress_energy_tensor": lambda: sta.stress_energy_tensor(F),
        "lorentz_force": lambda: sta.lorentz_force(F, observer, r),
    }  # fmt: skip


def without_closed_form(a, b, c, t, r):
    """Return calls of what has no closed form: fits, series, samples, and SciPy's rotations."""
    X, M = [[a, 0, 0], [0, b, 0], [0, 0, c], [1, 1, r], [2, 0, 1]], pga.motor(SPACE, SPACE.e12 + 0, t, r)
    circle = cga.circle(CONFORMAL, [a, b, c], r, [a, b, 2])
    return {
        "sclerp": lambda: pga.sclerp(M, M, 0.3), "motor_to_rotation": lambda: pga.motor_to_rotation(M),
        "sample": lambda: cga.sample(circle, 5), "fit_sphere": lambda: cga.fit_sphere(CONFORMAL, X),
        "fit_circle": lambda: cga.fit_circle(CONFORMAL, X), "fit_plane": lambda: cga.fit_plane(CONFORMAL, X),
        "fit_line": lambda: cga.fit_line(CONFORMAL, X), "fit_flat": lambda: cga.fit_flat(CONFORMAL, X, 2),
        "fit_round": lambda: cga.fit_round(CONFORMAL, X, 2),
    }  # fmt: skip


MODELS = {"pga": projective, "cga": conformal, "sta": of_spacetime}


def substituted(result):
    """Return a result with the values in place of the symbols."""
    fields = fields_of(result)
    if fields is not None:
        return of_fields(type(result), [substituted(part) for part in fields])
    if isinstance(result, cr.Multivector):
        return result.new(result.keys, substituted(result.coefficients))
    if isinstance(result, np.ndarray) and result.dtype == object:
        return np.array([substituted(x) for x in result.ravel().tolist()], dtype=float).reshape(result.shape)
    if isinstance(result, sp.Basic):  # not by subs, which takes seconds for large expressions
        return float(sp.lambdify(SYMBOLS, result, "math", cse=True)(*VALUES))
    return result


def same(a, b):
    """Compare results of any structure."""
    fields = fields_of(b)
    if fields is not None:
        return all(map(same, fields_of(a), fields))
    if isinstance(b, cr.Multivector):
        return bool(np.all(a.isclose(b, rtol=1e-9, atol=1e-12)))
    if isinstance(b, np.ndarray | np.generic | float) and np.asarray(b).dtype.kind == "f":
        x = np.asarray(a, float)
        return x.shape == np.shape(b) and np.allclose(x, b, rtol=1e-9, atol=1e-12, equal_nan=True)
    return np.array_equal(a, b)


CALLS = [(model, name) for model, make in MODELS.items() for name in make(*VALUES)]


@pytest.fixture(scope="module")
def made():
    return {model: (make(*SYMBOLS), make(*VALUES)) for model, make in MODELS.items()}


@pytest.mark.parametrize(("model", "name"), CALLS, ids=lambda part: part)
def test_expressions_at_numbers_are_the_results_for_numbers(model, name, made):
    of_symbols, of_numbers = (calls[name]() for calls in made[model])
    assert same(substituted(of_symbols), of_numbers)


def test_what_has_no_closed_form_is_refused(monkeypatch):
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import bench_presets

    calls = without_closed_form(*SYMBOLS)
    for call in calls.values():
        refused(r"parameter of .* must be .* Got (dtype object|symbols)", call)
    others = {"motor_from_rotation"}  # of a rotation of SciPy, which holds numbers
    for model, module in bench_presets.MODELS.items():
        assert bench_presets.public(module) - set(MODELS[model](*VALUES)) <= set(calls) | others, model


def test_expressions_are_exact_and_short():
    line = pga.line(SPACE, [0, 0, 0], [0, 0, 1])
    assert pga.distance(pga.point(SPACE, [A, B, C]), line) == sp.sqrt(A**2 + B**2)
    assert cga.radius(cga.sphere(CONFORMAL, [A, B, C], R)) == R
    M = pga.motor(SPACE, line, T, R)
    assert pga.norm(M) == 1
    q, t = pga.motor_to_quaternion(M)
    assert not any(x.has(sp.Float) for x in pga.screw(M).axis.coefficients)
    assert (q.tolist(), t.tolist()) == ([sp.cos(T / 2), 0, 0, sp.sin(T / 2)], [0, 0, R])


def test_batches_of_symbols():
    X = np.array([[A, B, C], [B, C, 1], [sp.Rational(1, 4), A, 0]], dtype=object)
    line = pga.line(SPACE, [0, 0, 0], [0, 0, 1])
    distances = pga.distance(pga.point(SPACE, X), line)
    assert distances.tolist() == [sp.sqrt(A**2 + B**2), sp.sqrt(B**2 + C**2), sp.sqrt(A**2 + sp.Rational(1, 16))]
    matrices = pga.motor_to_matrix(pga.translator(SPACE, X.reshape(1, 3, 3)))
    assert matrices.shape == (1, 3, 4, 4)
    assert (matrices[0, :, :3, 3] == X).all()
    with pytest.raises(cr.ArgumentError, match="real coefficients"):
        pga.distance(pga.point(SPACE, np.zeros((0, 3))), pga.plane(SPACE, [A, 1, 0]))  # a batch of none
    rounds = cga.classify(cga.sphere(CONFORMAL, X, R))
    assert rounds.name.tolist() == ["sphere"] * 3
    assert [sp.simplify(x) for x in rounds.radius] == [R] * 3


def test_a_formula_that_depends_on_the_values_is_refused_or_has_cases():
    """|x| is one expression; the nearer of two points is not, nor is which of two directions counts as parallel."""
    plane = pga.plane(SPACE, [0, 0, 1])
    height = pga.distance(pga.point(SPACE, [A, B, T]), plane)
    assert [height.subs(T, x) for x in (-2, 3)] == [2, 3]
    pair, P = cga.point_pair(CONFORMAL, [-1, 0, 0], [1, 0, 0]), cga.up(CONFORMAL, [A, 0, 0])
    nearest = cga.distance(P, pair)
    assert [float(nearest.subs(A, x)) for x in (-3, -0.5, 0.25, 2)] == pytest.approx([2, 0.5, 0.75, 1])


def test_a_case_of_some_values_alone_is_kept():
    """One of ten random values is above 3: a few samples would take the other case for the only one."""

    @specialized(x=1)
    def clipped(x):
        return np.where(x[..., 0] > 3, 3.0, x[..., 0])

    expression = clipped([A])
    assert [float(expression.subs(A, value)) for value in (-5, 1, 3.5, 100)] == [-5, 1, 3, 3]


def test_a_condition_of_some_values_alone_is_a_factor_but_no_answer():
    """The plane is within 1/2 of the points with |a| ≤ 1/2 only."""

    @specialized(x=1)
    def doubled(x):
        return x[..., 0] + (x[..., 0] > 3) * np.arctan2(x[..., 0], 1.0)

    expression = doubled([A])
    assert [float(expression.subs(A, x)) for x in (-5, 1, 4)] == pytest.approx([-5, 1, 4 + np.arctan(4)])
    plane = pga.plane(SPACE, [1, 0, 0])
    assert not pga.is_incident(pga.point(SPACE, [A, 0, 0]), plane)
    with pytest.raises(cr.ArgumentError, match="'arguments' parameter of is_incident must be symbols that one formula"):
        pga.is_incident(pga.point(SPACE, [A, 0, 0]), plane, rtol=0.5)


def test_missing_arguments_are_no_matter_of_symbols():
    P = pga.point(SPACE, [A, B, C])
    refused("missing a required argument: 'b'", pga.distance, P, error=TypeError)
    refused("unit", pga.distance, P, P, unit=2, error=TypeError)


def test_assumptions_choose_the_values():
    negative, whole = sp.Symbol("x", negative=True), sp.Symbol("n", integer=True, positive=True)
    assert pga.norm(pga.plane(SPACE, [negative, 0, 0])) == -negative
    assert cga.radius_squared(cga.sphere(CONFORMAL, [0, 0, 0], whole)) == whole**2
    refused(r"'velocity' parameter of .* must be slower than light", sta.rapidity, [whole, 0, 0])
    with pytest.raises(cr.ArgumentError, match="imaginary"):
        cga.radius(cga.meet(cga.sphere(CONFORMAL, [0, 0, 0], R), cga.plane(CONFORMAL, [0, 0, 1], 1 + R)))
