"""The automatic choice of a solver for gated problems, and what estimators, paths and cross-validation make of it."""

import tracemalloc
import warnings

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import BetaCV, GatedReLUClassifier, GatedReLURegressor, spiral
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.base import Limits, is_stuck
from clifford_rand_nn.solvers.dispatch import AutoSolver, estimate_fista, estimate_kernel
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.gram_newton import GramNewton
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.stopping import Watch
from support.problems import make


def data(n, d, P, seed=0, dtype=np.float64):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)).astype(dtype)
    y = np.abs(X[:, 0]) - X[:, 1] * (X[:, 1] > 0) + 0.1 * rng.standard_normal(n)
    return X, y, X @ rng.standard_normal((d, P)).astype(dtype) >= 0


def test_a_small_problem_goes_to_the_kernel_a_tall_one_to_sums_and_a_large_one_to_first_order():
    X, y, D = data(300, 20, 30)
    small = GatedReLUProblem(X, y, D, 1e-4)
    assert isinstance(AutoSolver().choose(small)[0], KernelInteriorPoint)
    X, y, D = data(9000, 5, 4)
    tall = GatedReLUProblem(X, y, D, 1e-1)
    solver, reason = AutoSolver(tol=1e-3).choose(tall)
    assert isinstance(solver, GramNewton)
    assert "n = 9000, rank 5, 4 gates" in reason
    large = GatedReLUProblem(*data(12000, 150, 200, dtype=np.float32), 1e-1)
    assert isinstance(AutoSolver(tol=1e-2).choose(large)[0], Fista)


def test_estimates_grow_as_the_methods_do():
    problems = [GatedReLUProblem(*data(n, 8, 10), 1e-2) for n in (2000, 4000)]
    small, large = map(estimate_kernel, problems)
    assert 4 < large.seconds / small.seconds < 8
    assert large.bytes > 3.5 * small.bytes
    small, large = (estimate_fista(problem, 1e-4) for problem in problems)
    assert large.seconds < 2.5 * small.seconds
    tight = estimate_fista(problems[0], 1e-8)
    assert tight.seconds > small.seconds
    problems[0].penalty.beta = 1e-4
    assert estimate_fista(problems[0], 1e-4).seconds > 3 * small.seconds


def test_memory_decides_and_too_little_is_an_error():
    X, y, D = data(400, 40, 20)  # fewer rows than gates times features
    problem = GatedReLUProblem(X, y, D, 1e-3)
    needed = KernelInteriorPoint.memory(problem)
    assert isinstance(AutoSolver(max_memory=2 * needed).choose(problem)[0], KernelInteriorPoint)
    solver, reason = AutoSolver(max_memory=0.9 * needed).choose(problem)
    assert isinstance(solver, Fista)
    assert "the kernel's matrices would take" in reason
    with pytest.raises(ArgumentError, match=r"'max_memory' parameter of AutoSolver must be at least .* bytes"):
        AutoSolver(max_memory=10.0).solve(problem)
    with pytest.raises(ArgumentError, match="'max_memory' parameter of KernelInteriorPoint must be at least"):
        KernelInteriorPoint(max_memory=10.0).solve(problem)


@pytest.mark.slow
def test_the_memory_that_is_asked_for_is_what_the_matrices_take():
    """Allocations above 1 MB of a solve, in double and single precision, with weights and without."""
    for loss, weights in (("squared", None), ("squared", np.linspace(1, 2, 1000)), ("huber", None)):
        X, y, D = data(1000, 5, 4)
        problem = GatedReLUProblem(X, np.stack([y, -y], 1), D, 1e-4, loss=loss, sample_weight=weights)
        tracemalloc.start()
        KernelInteriorPoint(max_iter=2).solve(problem)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak <= 1.1 * KernelInteriorPoint.memory(problem)


def test_many_gates_of_few_rows_still_go_to_the_kernel_and_beyond_memory_to_a_working_set():
    X, y, D = data(200, 6, 700)
    problem = GatedReLUProblem(X, y, D, 1e-2, bias=False)
    assert isinstance(AutoSolver().choose(problem)[0], KernelInteriorPoint)
    assert isinstance(AutoSolver(max_memory=2e6).choose(problem)[0], GateWorkingSet)


def test_first_order_goes_on_where_the_kernel_ends_by_rounding(monkeypatch):
    problem = make("squared", n=40, beta=0.02)

    def jammed(self, gap, floor):
        return 0.0

    monkeypatch.setattr("clifford_rand_nn.solvers.kernel_central_path.KernelPath.step", jammed)
    problem.penalty.beta = 0.05 * problem.beta_max()  # from the null network the path is not followed as far as that
    alone = KernelInteriorPoint().solve(problem)
    assert "by rounding" in alone.message
    assert is_stuck(alone)
    result = AutoSolver().solve(problem)
    assert result.status == "optimal"
    assert result.solver == "kernel, fista"
    assert "FISTA continued" in result.reason
    assert [row.n_iter for row in result.history] == sorted(row.n_iter for row in result.history)
    assert abs(result.objective - Fista(tol=1e-9).solve(problem).objective) <= 2e-6 * result.objective
    monkeypatch.undo()
    few = AutoSolver(tol=1e-12, max_iter=1).solve(problem)  # no iterations are left for another solver
    assert few.solver == "kernel"
    assert "stopped after 1 iterations" in few.message


def test_the_kernel_method_goes_on_where_sums_over_rows_end_by_rounding():
    """Rows far from 0 with outliers: FISTA did not reach the tolerance in 20,000 iterations."""
    rng = np.random.default_rng(1)
    X = 1e4 + 10 * rng.standard_normal((23, 1))
    X[:3] *= 100
    y = np.abs(X[:, 0] - 1e4) / 10 + 0.3 * rng.standard_normal(23)
    y[:3] = rng.standard_normal(3)
    result = GatedReLURegressor(5, beta=1e-4, random_state=0, tol=1e-6).fit(X, y).result_
    assert result.status == "optimal"
    assert result.solver == "gram, kernel"
    assert "the kernel method continued" in result.reason


def test_a_watch_keeps_the_best_point_and_the_best_bound():
    watch = Watch(Limits(tol=1e-9), lambda primal, dual: (primal - dual) / primal)
    for objective, bound in ((3.0, 1.0), (2.0, 0.5), (2.5, 1.5)):
        watch.check(0, objective, DualBound(bound, np.zeros(1)), objective, np.zeros(1))
    assert (watch.point, watch.objective, watch.bound.value) == (2.0, 2.0, 1.5)
    assert watch.gap == 0.25


@pytest.mark.slow
@pytest.mark.kept("squared")
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_cross_validation_shares_what_does_not_depend_on_beta(loss, monkeypatch):
    X, y = spiral()
    made = []
    original = GatedReLUProblem.__init__

    def counted(self, *args, **kwargs):
        made.append(1)
        original(self, *args, **kwargs)

    monkeypatch.setattr(GatedReLUProblem, "__init__", counted)
    search = BetaCV(GatedReLUClassifier(12, loss=loss, bias=False, random_state=0, beta=1e-3), n_betas=6, cv=3).fit(
        X, y
    )
    assert len(made) == 3 + 2  # one a fold, beta_max and the last fit
    monkeypatch.undo()
    from sklearn.model_selection import check_cv

    train, test = next(iter(check_cv(3, y, classifier=True).split(X, y)))
    for beta, score in zip(search.betas_, search.scores_[:, 0], strict=True):
        alone = GatedReLUClassifier(12, loss=loss, bias=False, random_state=0, beta=beta).fit(X[train], y[train])
        assert alone.score(X[test], y[test]) == pytest.approx(score, abs=1 / len(test) + 1e-12)  # a tie of one row


@pytest.mark.slow
def test_refined_gates_lower_the_objective_and_are_certified():
    X, y = spiral()
    plain = GatedReLUClassifier(10, beta=1e-3, random_state=0, bias=True).fit(X, y)
    refined = GatedReLUClassifier(10, beta=1e-3, random_state=0, n_refinements=3, bias=True).fit(X, y)
    assert refined.result_.objective < 0.9 * plain.result_.objective
    assert len(refined.gates_) <= 10
    assert refined.certificate_.verify(X, y).relative_gap <= 1e-5
    assert np.array_equal(refined.gates_.activations(X), refined.patterns_)
    again = GatedReLUClassifier(10, beta=1e-3, random_state=0, n_refinements=3, bias=True).fit(X, y)
    assert np.array_equal(again.coef_, refined.coef_)


def test_single_precision_rows_stay_so():
    X, y, _ = data(200, 5, 1, dtype=np.float32)
    model = GatedReLURegressor(10, random_state=0, beta=1e-3, bias=True).fit(X, y)
    assert model.result_.converged
    verified = model.certificate_.verify(X, y)
    assert verified.relative_gap <= 2e-6
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        double = GatedReLURegressor(gates=model.gates_, beta=1e-3, bias=True).fit(X.astype(np.float64), y)
    assert double.result_.objective == pytest.approx(model.result_.objective, rel=2e-6)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"max_time": 0}, "'max_time' parameter of GatedReLUClassifier must be"),
        ({"max_memory": -1.0}, "'max_memory' parameter of GatedReLUClassifier must be"),
        ({"n_refinements": -1}, "'n_refinements' parameter of GatedReLUClassifier must be an integer ≥ 0"),
    ],
)
def test_bad_parameters(parameters, message):
    X, y = spiral()
    with pytest.raises(ArgumentError, match=message):
        GatedReLUClassifier(**({"beta": 1e-3, "bias": True} | parameters)).fit(X, y)


def test_thousands_of_gates_do_not_go_to_a_matrix_of_their_order():
    problem = GatedReLUProblem(*data(40, 3, 4000), 1e-3)
    assert not isinstance(AutoSolver().choose(problem)[0], KernelInteriorPoint)
    assert estimate_kernel(problem).bytes > 8 * 4000**2


def test_an_interrupt_ends_a_cross_validation(monkeypatch):
    X, y = spiral()

    def solve(self, problem, start=None, kernel=None):
        def stop(row):
            rows.append(row)
            if len(rows) == 3:  # the solver swallows this one, and returns its best point
                raise KeyboardInterrupt

        rows = []
        return KernelInteriorPoint(tol=1e-12, callback=stop).solve(problem)

    monkeypatch.setattr(AutoSolver, "solve", solve)
    with (
        pytest.warns(ConvergenceWarning, match="by an interrupt"),
        pytest.raises(KeyboardInterrupt, match="in fold 1 of 2, beta 1 of 3"),
    ):
        BetaCV(GatedReLUClassifier(5, random_state=0, beta=1e-3, bias=True), n_betas=3, cv=2).fit(X, y)
