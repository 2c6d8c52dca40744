"""The kernel interior point: agreement with other solvers, steps against dense algebra, statuses, awkward data."""

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers import kernel_central_path as module
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_kernel import GatedKernel, KernelSystem
from clifford_rand_nn.solvers.iterations import DualTerms
from clifford_rand_nn.solvers.kernel_central_path import KernelPath
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from support.pairwise import pairwise
from support.problems import LOSSES, REAL_LOSSES, delta_of, make, targets

TIGHT = KernelInteriorPoint(tol=1e-9)


def awkward(loss, X, seed=0, share=0.05, scale=1.0, unit=1.0, bias=False, m=6, **options):
    """A problem on given rows at a share of its largest useful beta."""
    rng = np.random.default_rng(seed)
    D = rng.standard_normal((m, len(X))).T >= 0 if X.shape[1] == 1 else None
    if D is None:
        D = activation_patterns(X, sample_gates(X, m, method="gaussian", random_state=rng)).patterns
    y = targets(loss, len(X), rng) * (unit if loss in REAL_LOSSES else 1.0)
    problem = GatedReLUProblem(scale * X, y, D, 1.0, loss=loss, bias=bias, **delta_of(loss, 0.7 * unit), **options)
    problem.penalty.beta = share * problem.beta_max()
    return problem


def active(coefficients, share=1e-4):
    norms = np.linalg.norm(coefficients.coef, axis=(0, 2))
    return norms > share * norms.max(initial=0.0)


def check_is_solution(problem, result, tol):
    """Everything that a result promises, recomputed."""
    assert result.status == "optimal"
    assert 0 <= result.relative_gap <= tol
    z = problem.point(result.coefficients)
    unit = 1e-9 * np.abs(result.fitted).max()
    np.testing.assert_allclose(problem.predictions(z), result.fitted, atol=unit)
    assert problem.objective(z) == pytest.approx(result.objective, rel=1e-9)
    theta = result.dual_point
    assert problem.dual_norm(theta) <= problem.n * problem.beta * (1 + 1e-9)
    assert np.linalg.norm(problem.map.Q.T @ theta) <= 1e-12 * np.linalg.norm(theta)
    assert problem.datafit.dual_value(theta) == pytest.approx(result.objective - result.duality_gap, rel=1e-9)


@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False]})
def test_agrees_with_cvxpy_and_fista(loss, bias, fit_intercept):
    problem = make(loss, bias, fit_intercept, n=60, d=3, m=5, beta=0.02)
    found = TIGHT.solve(problem)
    check_is_solution(problem, found, 1e-9)
    fista, reference = Fista(tol=1e-6).solve(problem), CvxpyReference().solve(problem)
    assert found.objective == pytest.approx(reference.objective, rel=1e-6)
    for other in (fista, reference):
        assert found.objective - found.duality_gap <= other.objective * (1 + 1e-12)
        assert other.objective - other.duality_gap <= found.objective * (1 + 1e-12)
    mine, theirs = (np.linalg.norm(r.coefficients.coef, axis=(0, 2)) for r in (found, reference))
    np.testing.assert_allclose(mine, theirs, atol=1e-2 * theirs.max())
    assert np.count_nonzero(mine) == np.count_nonzero(theirs > 1e-3 * theirs.max())


@pytest.mark.parametrize("loss", LOSSES)
def test_idle_gates_are_exactly_zero(loss):
    problem = make(loss, False, True, n=80, d=3, m=30, seed=2)
    problem.penalty.beta = 0.3 * problem.beta_max()
    result = TIGHT.solve(problem)
    norms = np.linalg.norm(result.coefficients.coef, axis=(0, 2))
    theta = result.dual_point
    G = problem.map.gated_adjoint(theta) / problem.penalty.weights[:, None, None]
    sizes = np.sqrt(np.einsum("rpc,rpc->p", G, G)) / (problem.n * problem.beta)
    assert 0 < np.count_nonzero(norms) < problem.map.n_patterns
    assert not norms[sizes < 1 - 1e-3].any()  # slack in the dual: no coefficient
    assert sizes[norms > 1e-3 * norms.max()].min() > 1 - 1e-5


AWKWARD = {
    "n < d": lambda rng: rng.standard_normal((8, 15)),
    "d = 1": lambda rng: rng.standard_normal((30, 1)),
    "repeated": lambda rng: np.tile(rng.standard_normal((12, 3)), (3, 1)),
    "rank 1": lambda rng: rng.standard_normal((30, 1)) * [1.0, -2.0, 0.5],
    "integer": lambda rng: np.round(2 * rng.standard_normal((40, 3))),
    "zero rows": lambda rng: rng.standard_normal((30, 3)) * (np.arange(30) % 3 > 0)[:, None],
}


@pairwise({"loss": LOSSES, "rows": AWKWARD, "share": [0.5, 0.05, 1e-3], "fit_intercept": [True, False]})
def test_awkward_data(loss, rows, share, fit_intercept):
    X = AWKWARD[rows](np.random.default_rng(0))
    problem = awkward(loss, X, share=share, fit_intercept=fit_intercept)
    check_is_solution(problem, KernelInteriorPoint(tol=1e-8).solve(problem), 1e-8)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("kind", ["one gate", "the same gate twice", "an empty gate"])
def test_few_gates(kind, loss):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((25, 2))
    D = (X[:, :1] > 0)[:, [0] if kind == "one gate" else [0, 0]]
    if kind == "an empty gate":
        D = np.concatenate([D[:, :1], np.zeros((25, 1), bool)], axis=1)
    problem = GatedReLUProblem(X, targets(loss, 25, rng), D, 0.02, loss=loss, bias=False)
    result = TIGHT.solve(problem)
    check_is_solution(problem, result, 1e-9)
    alone = TIGHT.solve(GatedReLUProblem(X, problem.datafit.y, D[:, :1], 0.02, loss=loss, bias=False))
    assert result.objective == pytest.approx(alone.objective, rel=1e-8)


@pytest.mark.parametrize("loss", LOSSES)
def test_scaled_data(loss):
    X = np.random.default_rng(1).standard_normal((40, 3))
    plain = TIGHT.solve(awkward(loss, X))
    for scale, unit in ((1e6, 1e-6), (1e-6, 1e-6), (1.0, 1e6)):
        scaled = TIGHT.solve(awkward(loss, X, scale=scale, unit=unit))
        square = unit**2 if loss in REAL_LOSSES else 1.0
        assert scaled.status == "optimal"
        assert scaled.objective / square == pytest.approx(plain.objective, rel=1e-8)
        assert scaled.n_iter == plain.n_iter


@pytest.mark.parametrize("loss", LOSSES)
def test_every_beta(loss):
    X = np.random.default_rng(3).standard_normal((50, 4)) + 0.3
    problem = awkward(loss, X, bias=loss in REAL_LOSSES, m=10)
    top, last = problem.beta_max(), np.inf
    for share in (1.1, 0.9, 0.1, 1e-2, 1e-3, 1e-4):
        problem.penalty.beta = share * top
        result = KernelInteriorPoint(tol=1e-8).solve(problem)
        check_is_solution(problem, result, 1e-8)
        assert result.coefficients.coef.any() == (share < 1)
        assert result.objective < last
        last = result.objective if share <= 0.9 else np.inf


@pytest.mark.parametrize("loss", LOSSES)
def test_weights_are_copies_of_rows(loss):
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((30, 3)), rng.integers(1, 5, 30)
    y, D = targets(loss, 30, rng), X @ rng.standard_normal((3, 7)) >= 0
    rows, options = np.repeat(np.arange(30), w), {"beta": 0.01, "loss": loss, "bias": False}
    one = TIGHT.solve(GatedReLUProblem(X, y, D, sample_weight=w, **options))
    two = TIGHT.solve(GatedReLUProblem(X[rows], y[rows], D[rows], **options))
    assert one.status == two.status == "optimal"
    assert one.objective == pytest.approx(two.objective, rel=1e-8)
    np.testing.assert_array_equal(active(one.coefficients), active(two.coefficients))


def test_one_class_alone():
    """Bounds of the dual on one side only: without biases there is something to learn."""
    X = np.random.default_rng(0).standard_normal((15, 2)) + 0.5
    for loss, label in (("logistic", -1.0), ("logistic", 1.0), ("squared_hinge", -1.0), ("squared_hinge", 1.0)):
        problem = GatedReLUProblem(X, np.full(15, label), X >= 0, 0.01, loss=loss, bias=False, fit_intercept=False)
        check_is_solution(problem, TIGHT.solve(problem), 1e-9)


def test_rows_far_from_the_origin_under_given_gates():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((50, 5)) + 10
    y, D = np.where(rng.random(50) < 0.5, -1.0, 1.0), rng.random((50, 4)) < 0.5
    for share in (1e-1, 1e-3):
        problem = GatedReLUProblem(X, y, D, 1.0, loss="logistic", bias=False, fit_intercept=False)
        problem.penalty.beta = share * problem.beta_max()
        check_is_solution(problem, KernelInteriorPoint(tol=1e-7).solve(problem), 1e-7)


@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_biases_that_separate_a_class_do_not_hold_up_the_rest(loss):
    """A gate that sees one class only has its bias at infinity: masses of 1e-18 once made all steps short."""
    for seed in (1, 5):
        problem = make(loss, True, seed % 2 == 0, n=12, d=20, seed=seed)
        problem.penalty.beta = 0.1 * problem.beta_max()
        result = KernelInteriorPoint(tol=1e-8).solve(problem)
        assert result.status == "optimal"
        assert result.n_iter <= 30


@pytest.mark.kept("squared")
@pytest.mark.parametrize("loss", LOSSES)
def test_warm_starts_on_one_kernel_take_no_more_steps_than_cold_ones(loss):
    X = np.random.default_rng(5).standard_normal((80, 4))
    problem = awkward(loss, X, m=12)
    top, solver = problem.beta_max(), KernelInteriorPoint(tol=1e-6)
    cold = warm = 0
    kernel, start = [], None
    for share in np.geomspace(0.9, 1e-3, 8):
        problem.penalty.beta = share * top
        alone, again = solver.solve(problem), solver.solve(problem, start, kernel)
        cold, warm = cold + alone.n_iter, warm + again.n_iter
        assert again.status == alone.status == "optimal"
        assert again.objective == pytest.approx(alone.objective, rel=3e-6)
        if start is None:
            for mine, other in zip(again.coefficients, alone.coefficients, strict=True):
                np.testing.assert_array_equal(mine, other)  # a second run has the same bits
            np.testing.assert_array_equal(again.dual_point, alone.dual_point)
        start = problem.point(again.coefficients)
    assert warm <= 1.25 * cold  # of the squared loss cold ones take 3 to 5 each, warm ones half as long
    assert len(kernel) == 1


@pytest.mark.parametrize("loss", LOSSES)
def test_rounding_ends_a_run_and_is_reported(loss):
    result = KernelInteriorPoint(tol=1e-19).solve(make(loss, False, True, n=40, seed=1))
    assert result.relative_gap <= 1e-9
    assert result.relative_gap == 0 or "by rounding" in result.message


def explicit(problem):
    """K_i = D_i X Xᵀ D_i of every gate, as matrices (P, n, n), from X itself."""
    D = problem.map.patterns.astype(float)
    return np.einsum("ip,ij,jp->pij", D, problem.X @ problem.X.T, D)


def test_the_kernel_against_explicit_features():
    problem = make("softmax", n=20, d=4, m=5)
    kernel, K = GatedKernel(problem), explicit(problem)
    P, n = len(K), 20
    rng = np.random.default_rng(0)
    theta, eta, scale = rng.standard_normal((n, 3)), rng.random(P), rng.random(n) + 0.1
    F = np.concatenate([problem.map.patterns[:, [i]] * problem.X for i in range(P)], axis=1)
    np.testing.assert_allclose(F @ F.T, K.sum(axis=0), atol=1e-12)
    V = kernel.correlations(theta)
    np.testing.assert_allclose(np.einsum("rpc,rpc->p", V, V), np.einsum("ic,pij,jc->p", theta, K, theta), rtol=1e-12)
    np.testing.assert_allclose(kernel.blocks(V), np.einsum("pij,jc->ipc", K, theta), atol=1e-11)
    np.testing.assert_allclose(kernel.predictions(V), np.einsum("pij,jc->ic", K, theta), atol=1e-11)
    one = theta[:, :1]
    np.testing.assert_allclose(kernel.predictions(kernel.correlations(one)), K.sum(axis=0) @ one, atol=1e-11)
    lower = kernel.weighted(eta, scale, np.full((n, n), np.nan, order="F"))
    expected = np.eye(n) + scale[:, None] * np.einsum("p,pij->ij", eta, K) * scale
    np.testing.assert_allclose(np.tril(lower), np.tril(expected), atol=1e-12)


@pytest.mark.parametrize("kind", ["one", "shared", "own", "balanced"])
def test_the_linear_system_against_a_dense_solve(kind):
    C, n = (1 if kind == "one" else 3), 15
    problem = make("softmax", n=n, d=3, m=4)
    kernel, K = GatedKernel(problem), explicit(problem)
    rng = np.random.default_rng(1)
    eta, h, b = rng.random(len(K)), rng.random((n, C)) + 0.01, rng.standard_normal((n, C, 4))
    if kind == "shared":
        h[:, 2] = h[:, 0]
    system = KernelSystem(kernel, eta, h, kind == "balanced", {})
    x = system.solve(b)
    total = np.einsum("p,pij->ij", eta, K)
    for k in range(4):
        rows = [np.kron(np.eye(C)[c], total) + np.kron(np.eye(C)[c], np.diag(h[:, c])) for c in range(C)]
        A, right = np.concatenate(rows), b[:, :, k].T.ravel()
        if kind == "balanced":  # with a multiplier nu for each row: sum_c x_c = 0
            one = np.tile(np.eye(n), (C, 1))
            A = np.block([[A, one], [one.T, np.zeros((n, n))]])
            right = np.concatenate([right, np.zeros(n)])
        dense = np.linalg.solve(A, right)[: C * n].reshape(C, n).T
        np.testing.assert_allclose(x[:, :, k], dense, atol=1e-9 * np.abs(dense).max())
    if kind == "balanced":
        np.testing.assert_allclose(x.sum(axis=1), 0, atol=1e-10)


def test_a_factor_in_single_precision_is_one_to_its_rounding_and_gives_way_where_it_would_not_do():
    problem = make("squared", n=40, d=3, m=4)
    kernel = GatedKernel(problem)
    rng = np.random.default_rng(1)
    b = rng.standard_normal((40, 2, 3))
    for scale, dtype in ((1.0, np.float32), (1e5, np.float64)):
        eta = scale * rng.random(problem.map.n_patterns)
        rough = KernelSystem(kernel, eta, np.ones((40, 2)), False, {}, single=True)
        assert rough.matrices[0].dtype == dtype
        exact = KernelSystem(kernel, eta, np.ones((40, 2)), False, {}).solve(b)
        np.testing.assert_allclose(rough.solve(b), exact, atol=1e-4 * np.abs(exact).max())


def test_a_falling_radius_keeps_what_was_feasible_and_every_prediction():
    problem = make("logistic", n=40, beta=1e-4)
    path = KernelPath(problem, GatedKernel(problem), DualTerms(problem.datafit, problem.map.Q), None)
    theta, s, f = path.theta.copy(), path.s.copy(), path.f.copy()
    path._shrink(0.5)
    path._correlate()
    np.testing.assert_allclose(path.theta, 0.5 * theta)
    np.testing.assert_allclose(path.s, 0.5 * s)
    np.testing.assert_allclose(path.f, f, atol=1e-12 * np.abs(f).max())


@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_steps_in_single_precision_end_where_the_others_do(monkeypatch, loss):
    monkeypatch.setattr("clifford_rand_nn.solvers.kernel_central_path.MANY_ROWS", 1)
    problem = make(loss, n=60, d=4, m=8, beta=0.003)
    result = KernelInteriorPoint(tol=1e-9).solve(problem)
    assert result.status == "optimal"
    assert abs(result.objective - Fista(tol=1e-7, max_iter=50_000).solve(problem).objective) <= 2e-7


def residuals(path):
    """Stationarity up to a shift of the rows of a softmax, the slacks, the biases, from X itself."""
    K, radius = explicit(path.problem), path.radius
    theta = path.theta
    f = np.einsum("p,pij,jc->ic", path.eta, K, theta) / radius + (path._borders @ path.c.ravel())
    away = path.terms.predictions(theta) - f - path.box.force()
    if path._balanced:
        away = away - away.mean(axis=1, keepdims=True)
    slack = path.s + 0.5 * (np.einsum("ic,pij,jc->p", theta, K, theta) / radius - radius)
    return away, slack, path._borders.reshape(-1, path.c.size).T @ theta.ravel()


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("flags", [(False, True), (True, True)])
def test_a_short_step_lowers_every_residual_by_its_length(loss, flags, monkeypatch):
    """Newton: residuals after a share t of a step are 1 - t of what they were, up to t²."""
    problem = make(loss, *flags, n=25, d=3, beta=0.02, seed=4)
    path = KernelPath(problem, GatedKernel(problem), DualTerms(problem.datafit, problem.map.Q), None)
    path._follows, path.radius = False, path._target
    path.c = path.c + 0.1
    path.s = path.s * 1.5
    path.box.z = path.box.z * 1.7
    path._correlate()
    t = 1e-6
    before = residuals(path)
    monkeypatch.setattr(module, "longest_step", lambda value, change: t)
    monkeypatch.setattr(module, "BOUNDARY", 1.0)
    monkeypatch.setattr(module, "_APART", 0.0)  # the slacks would be moved apart from the step
    assert path.step(1.0, 0.0) == pytest.approx(t)
    # The predictor of length t leaves second-order terms of size t² in the corrector.
    for was, now in zip(before, residuals(path), strict=True):
        np.testing.assert_allclose((now - was) / t, -was, atol=1e-3 * max(np.abs(r).max() for r in before))


@pytest.mark.parametrize("solver", [KernelInteriorPoint(), AutoSolver()])
def test_a_kernel_of_another_problem_is_refused(solver):
    """It once gave an objective below the optimum."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((20, 3)), rng.standard_normal(20)
    D = rng.random((20, 4)) < 0.5
    kernel = []
    solver.solve(GatedReLUProblem(X, y, D, 0.01), None, kernel)
    same = GatedReLUProblem(X.copy(), -y, D.copy(), 0.02)  # other targets, another beta: the same kernel
    assert solver.solve(same, None, kernel).objective == pytest.approx(solver.solve(same).objective, rel=1e-5)
    for rows, patterns, bias in ((2 * X, D, True), (X, ~D, True), (X, D, False)):
        with pytest.raises(ArgumentError, match="'kernel' parameter of KernelInteriorPoint must be an empty list"):
            solver.solve(GatedReLUProblem(rows, y, patterns, 0.01, bias=bias), None, kernel)
    with pytest.raises(ArgumentError, match="'kernel' parameter"):
        KernelInteriorPoint().solve(same, None, [1])
