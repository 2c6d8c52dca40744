"""The metric between gates: its prox by optimality, its norm by singular values, and the same optimum in it."""

import numpy as np
import pytest

from clifford_rand_nn.problems import maps, penalties
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GateMetric, GroupL2
from clifford_rand_nn.solvers import fista
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from support.pairwise import pairwise
from support.problems import LOSSES, agree, make

WEIGHTS = np.array([1.0, 2.0, 2.0, 5.0])


def metric_of(P, b, seed=0):
    s = np.random.default_rng(seed).random(P) + 0.1
    return GateMetric(s / np.linalg.norm(s), b, 1.0)


def violation(metric, penalty, W, V, step):
    """Distance of A (W - V) from step times the subdifferential of the penalty at V, over their size."""
    rest = W - V + metric.b * np.einsum("i,j,rjc->ric", metric.s, metric.s, W - V)
    radius, w2 = step * penalty.beta, penalty.weights[:, None, None] ** 2
    tau = np.sqrt((w2 * V * V).sum(axis=(0, 2)))
    on = tau > 0
    wrong = np.linalg.norm((rest - radius * w2 * V / np.where(on, tau, 1)[:, None])[:, on])
    over = np.sqrt((rest**2 / w2).sum(axis=(0, 2)))[~on] / radius - 1
    return max(wrong / np.linalg.norm(rest), over.max(initial=0.0)), on


@pairwise(
    {"scale": [1e-6, 1.0, 1e6], "b": [0.01, 3.0, 1e3], ("r", "P", "C"): [(1, 2, 1), (4, 7, 1), (4, 7, 3), (2, 30, 2)]}
)
def test_prox_is_optimal(r, P, C, b, scale):
    rng, metric, penalty = np.random.default_rng(1), metric_of(P, b), GroupL2(0.3 * scale, WEIGHTS[:r])
    W = scale * (rng.standard_normal((r, P, C)) + 0.5)
    seen = set()
    for step in (0.1, 1.0, 3.0, 10.0, 1e4):
        V, multiplier = metric.prox(penalty, W, step)
        wrong, on = violation(metric, penalty, W, V, step)
        assert wrong < 1e-11
        seen.add(int(on.sum()))
        far = scale * 1e3 * rng.standard_normal(multiplier.shape)
        np.testing.assert_allclose(metric.prox(penalty, W, step, far)[0], V, atol=1e-10 * scale)
        np.testing.assert_allclose(metric.prox(penalty, W, step, multiplier)[0], V, atol=1e-12 * scale)
    assert 0 in seen
    assert P in seen


def test_prox_in_single_precision_and_without_the_metric():
    rng, penalty = np.random.default_rng(1), GroupL2(0.3, WEIGHTS)
    W = rng.standard_normal((4, 7, 2))
    metric = metric_of(7, 3.0)
    low, high = metric.prox(penalty, W.astype(np.float32), 1.0)[0], metric.prox(penalty, W, 1.0)[0]
    assert low.dtype == np.float32
    np.testing.assert_allclose(low, high, atol=1e-5)
    np.testing.assert_allclose(metric_of(7, 1e-14).prox(penalty, W, 1.0)[0], penalty.prox(W, 1.0), atol=1e-12)
    assert not metric.prox(penalty, np.zeros((4, 7, 2)), 1.0)[0].any()


def test_warm_starts_take_few_newton_steps(monkeypatch):
    """The derivative of the prox is right: from near the solution a step squares the distance."""
    rng, penalty, metric = np.random.default_rng(2), GroupL2(0.3, WEIGHTS), metric_of(30, 3.0)
    W = rng.standard_normal((4, 30, 2)) * rng.random((1, 30, 1))
    V, multiplier = metric.prox(penalty, W, 2.0)
    assert 0 < np.count_nonzero(V.any(axis=(0, 2))) < 30
    steps = []
    newton = GateMetric._newton
    monkeypatch.setattr(penalties, "_CG_TOL", 1e-12)
    monkeypatch.setattr(GateMetric, "_newton", lambda *args: steps.append(1) or newton(*args))
    again, _ = metric.prox(penalty, W, 2.0, multiplier + 1e-5 * rng.standard_normal(multiplier.shape))
    np.testing.assert_allclose(again, V, atol=1e-13)
    assert len(steps) <= 2


@pytest.mark.parametrize("C", [1, 3])
def test_apply_and_solve(C):
    U, metric = np.random.default_rng(0).standard_normal((4, 7, C)), metric_of(7, 3.0)
    A = np.eye(7) + 3.0 * np.outer(metric.s, metric.s)
    np.testing.assert_allclose(metric.apply(U), np.einsum("ij,rjc->ric", A, U), rtol=1e-12)
    np.testing.assert_allclose(metric.solve(metric.apply(U)), U, atol=1e-13)
    assert metric.solve(U.astype(np.float32)).dtype == np.float32


def columns(map):
    """MF, column by column."""
    eye = np.eye(map.d * map.n_patterns).reshape(-1, map.d, map.n_patterns, 1)
    return np.stack([map.remove_unpenalized(map.gated(U))[:, 0] for U in eye], axis=1)


def like_embeddings(n=120, d=6, P=20, bias=True, dtype=np.float64, scale=1.0, share=0.05):
    rng = np.random.default_rng(0)
    X = (rng.standard_normal((n, d)) / np.sqrt(1 + np.arange(d)) + 0.3).astype(dtype)
    patterns = X @ rng.standard_normal((d, P)) >= 0.1
    y = np.where(np.maximum(X @ rng.standard_normal((d, 3)), 0) @ [1.0, -1.0, 0.5] > 0, 1.0, -1.0)
    problem = GatedReLUProblem(dtype(scale) * X, y, patterns, 1.0, bias=bias, fit_intercept=bias)
    problem.penalty.beta = share * problem.beta_max()
    return problem


@pytest.mark.parametrize("bias", [True, False])
def test_the_metric_lowers_the_norm_as_it_says(bias):
    map = like_embeddings(bias=bias).map
    metric = map.metric
    assert metric.omega >= 1.5
    half = np.eye(20) + ((1 + metric.b) ** -0.5 - 1) * np.outer(metric.s, metric.s)
    F = columns(map)
    inside = np.einsum("nrp,pq->nrq", F.reshape(-1, map.d, 20), half).reshape(F.shape)
    fall = (np.linalg.norm(F, 2) / np.linalg.norm(inside, 2)) ** 2
    assert metric.omega == pytest.approx(fall, rel=0.15)
    assert map.metric is metric


def test_no_metric_where_gates_have_nothing_in_common():
    X = np.random.default_rng(0).standard_normal((40, 3))
    one = np.arange(40) % 4
    for patterns in (
        np.ones((40, 1), bool),
        np.zeros((40, 0), bool),
        np.zeros((40, 5), bool),
        one[:, None] == range(4),
    ):
        assert GatedMap(X, patterns, False, False).metric is None
    assert GatedMap(X, np.ones((40, 5), bool), False, False).metric is not None  # all alike


@pytest.mark.parametrize("bias", [True, False])
def test_a_sample_of_the_rows_gives_the_norm_of_all(bias, monkeypatch):
    exact = like_embeddings(bias=bias, n=1500).map
    monkeypatch.setattr(maps, "_LARGE", 0)
    monkeypatch.setattr(maps, "_SAMPLE", 400)
    rough = like_embeddings(bias=bias, n=1500, dtype=np.float32).map
    assert rough.sigma != exact.sigma
    assert rough.sigma == pytest.approx(exact.sigma, rel=0.1)
    assert rough.metric.omega == pytest.approx(exact.metric.omega, rel=0.3)
    assert Fista(tol=1e-7).solve(like_embeddings(bias=bias, n=1500)).converged


@pytest.fixture
def always(monkeypatch):
    monkeypatch.setattr(fista, "_METRIC_PAYS", 0)
    monkeypatch.setattr(maps, "_METRIC_PAYS", 0.0)


@pairwise(
    {"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False], ("n", "d"): [(40, 3), (10, 20), (40, 1)]}
)
def test_same_optimum_in_the_metric(loss, bias, fit_intercept, n, d, monkeypatch):
    problem = make(loss, bias, fit_intercept, n=n, d=d, beta=0.02)
    plain = Fista(tol=1e-7).solve(problem)
    monkeypatch.setattr(fista, "_METRIC_PAYS", 0)
    monkeypatch.setattr(maps, "_METRIC_PAYS", 0.0)
    ours = Fista(tol=1e-7).solve(problem)
    assert problem.map.metric is not None
    assert plain.converged
    assert ours.converged, ours.status
    agree(ours, plain)


@pytest.fixture(scope="module")
def embedded():
    return Fista(tol=1e-7).solve(like_embeddings())


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "dtype"), [(1e-6, np.float32), (1e6, np.float64)])
def test_data_of_any_scale_and_the_same_bits_twice(always, dtype, scale, embedded):
    first, second = (Fista(tol=1e-7).solve(like_embeddings(scale=scale, dtype=dtype)) for _ in range(2))
    assert first.converged
    assert first.objective == pytest.approx(embedded.objective, rel=1e-5)
    np.testing.assert_array_equal(first.coefficients.coef, second.coefficients.coef)


@pytest.mark.slow
@pytest.mark.parametrize("bias", [True, False])
def test_it_takes_fewer_iterations_and_serves_the_working_set(bias, monkeypatch):
    plain = Fista(tol=1e-6, check_every=1).solve(like_embeddings(bias=bias))
    monkeypatch.setattr(fista, "_METRIC_PAYS", 0)
    ours = Fista(tol=1e-6, check_every=1).solve(like_embeddings(bias=bias))
    assert ours.converged
    assert ours.n_iter < 0.8 * plain.n_iter
    problem = like_embeddings(P=40, bias=bias)
    result, reference = GateWorkingSet(tol=1e-7).solve(problem), Fista(tol=1e-7).solve(problem)
    assert result.converged
    assert result.objective == pytest.approx(reference.objective, rel=1e-6)


@pytest.mark.parametrize("bias", [True, False])
def test_a_restricted_map_is_the_whole_with_zeros(bias):
    full = like_embeddings(bias=bias).map
    gates = np.array([1, 4, 5])
    small = full.restricted(gates)
    assert np.shares_memory(small.rows, full.rows)
    assert small.Q is full.Q
    rng = np.random.default_rng(0)
    U, c = rng.standard_normal((full.d, 3, 2)), rng.standard_normal((full.Q.shape[1], 2))
    wide = np.zeros((full.d, 20, 2))
    wide[:, gates] = U
    scaled = c * small.sigma / full.sigma
    np.testing.assert_allclose(small.forward(U, c), full.forward(wide, scaled), atol=1e-10)
    for ours, theirs in zip(small.biases(U, c), full.biases(wide, scaled), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-10)
    exact = np.linalg.norm(columns(small), 2)
    assert exact * (1 - 1e-6) <= small.sigma <= 1.05 * exact
    assert small.metric is None or small.metric.s.shape == (3,)


def test_the_free_estimate_is_the_gap_at_the_point_of_the_gradient():
    problem = like_embeddings()
    z = problem.null_point()
    state = fista._State.at(z, problem.predictions(z), np.float64, problem.lipschitz())
    assert state.estimate(problem) == np.inf
    bound = problem.dual_bound(state.f)
    state.step(problem)
    expected = problem.relative_gap(problem.objective(state.iterate.point), bound.value)
    assert state.estimate(problem) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_estimates_save_checks(monkeypatch):
    with_estimates = Fista(tol=1e-6).solve(like_embeddings(share=0.005))
    monkeypatch.setattr(fista._State, "estimate", lambda self, problem: 0.0)  # as if every gap were worth a check
    without = Fista(tol=1e-6).solve(like_embeddings(share=0.005))
    assert with_estimates.converged
    assert len(with_estimates.history) < 0.5 * len(without.history)
    assert with_estimates.n_iter <= 1.5 * without.n_iter
