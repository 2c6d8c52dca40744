"""Squared norms: the network by Newton's method, against CVXPY, the closed form, a first-order method and the limit."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import Ridge

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import (
    BetaCV,
    GatedReLUClassifier,
    GatedReLURegressor,
    Gates,
    activation_patterns,
    gated_path,
    load_model,
    save_model,
)
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_kernel import SummedKernel
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton


def _made(loss, n=30, d=4, P=5, C=1, seed=0, **options):
    """Return the arguments of a problem of any loss, without beta."""
    rng = np.random.default_rng([seed, n, d, P, C])
    X = rng.standard_normal((n, d)) + 0.3
    H = rng.standard_normal((d, P))
    noise = rng.standard_normal((n, C))
    if loss == "softmax":
        y = np.eye(C)[rng.integers(C, size=n)]
    elif loss in ("logistic", "squared_hinge"):
        y = np.where(X[:, :1] + noise > 0, 1.0, -1.0)
    else:
        y = X[:, :1] + (4 if loss == "huber" else 1) * noise
    return (X, y, X @ H >= 0), {"loss": loss, **options}


def _naive(problem, coefficients):
    """Objective by the formula of the docstring."""
    U, b, t = coefficients
    D = problem.map.patterns
    f = t + sum(D[:, [i]] * (problem.X @ U[:, i].T + b[:, i]) for i in range(D.shape[1]))
    return problem.datafit.value(f) + problem.beta / 2 * float(np.sum(U**2))


CASES = {
    "squared": ("squared", {}),
    "squared, two outputs, no bias": ("squared", {"C": 2, "bias": False}),
    "squared, weights": ("squared", {"sample_weight": True}),
    "huber": ("huber", {"huber_delta": 0.7}),
    "huber, two outputs, nothing free": ("huber", {"C": 2, "bias": False, "fit_intercept": False}),
    "logistic": ("logistic", {"n": 40, "P": 3}),
    "logistic, n < d": ("logistic", {"n": 12, "d": 30, "bias": False}),
    "logistic, d = 1, nothing free": ("logistic", {"d": 1, "bias": False, "fit_intercept": False}),
    "logistic, weights": ("logistic", {"n": 40, "bias": False, "sample_weight": True}),
    "squared hinge": ("squared_hinge", {"n": 40, "P": 3}),
    "squared hinge, two outputs": ("squared_hinge", {"C": 2, "bias": False}),
    "softmax": ("softmax", {"n": 40, "C": 3, "bias": False}),
    "softmax, biases, weights": ("softmax", {"n": 60, "d": 3, "P": 2, "C": 4, "sample_weight": True}),
}


@pytest.mark.parametrize("beta", [0.5, 1e-4])
@pytest.mark.parametrize("case", CASES)
def test_newton_finds_what_cvxpy_finds(case, beta):
    loss, options = CASES[case]
    shape = {name: options[name] for name in ("n", "d", "P", "C") if name in options}
    rest = {name: value for name, value in options.items() if name not in shape}
    arguments, rest = _made(loss, **shape, **rest)
    if rest.get("sample_weight") is True:
        rest["sample_weight"] = np.random.default_rng(1).uniform(0.2, 3, len(arguments[0]))
    problem = GatedRidgeProblem(*arguments, beta, **rest)
    found = KernelNewton(tol=1e-9).solve(problem)
    assert found.status == "optimal"
    assert found.relative_gap <= 1e-9
    assert found.objective == pytest.approx(_naive(problem, found.coefficients), rel=1e-9)
    reference = CvxpyReference().solve(problem)
    assert found.objective == pytest.approx(reference.objective, rel=1e-6, abs=1e-9)
    assert found.objective <= reference.objective * (1 + 1e-8) + 1e-12


@pytest.mark.parametrize("seed", range(3))
def test_huber_is_solved_from_where_no_row_is_within_delta(seed):
    """All curvatures are zero there, that of the intercept too: reweighted squares lead on."""
    (X, y, D), options = _made("huber", n=34, d=5, P=17, seed=seed, bias=False)
    problem = GatedRidgeProblem(X, 30 * y, D, 0.1, **options)
    found = KernelNewton(tol=1e-9).solve(problem)
    assert found.status == "optimal"
    assert found.objective == pytest.approx(CvxpyReference().solve(problem).objective, rel=1e-7)


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic"])
def test_the_objective_is_that_of_the_network_whatever_the_scales_of_the_columns(loss):
    (X, y, D), options = _made(loss, n=30, d=6, P=13, bias=False)
    X = 1e-5 * X
    X[:, 0] = 1e3
    for beta in (1e-3, 1e-8):
        problem = GatedRidgeProblem(X, y, D, beta, **options)
        found = KernelNewton(tol=1e-7).solve(problem)
        assert found.objective == pytest.approx(_naive(problem, found.coefficients), rel=1e-6)
        assert found.converged == (found.relative_gap <= 1e-7)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge", "huber", "softmax"])
def test_a_first_order_method_agrees(loss):
    arguments, options = _made(loss, C=3 if loss == "softmax" else 1, bias=False)
    problem = GatedRidgeProblem(*arguments, 1e-2, **options)
    newton, fista = KernelNewton(tol=1e-10).solve(problem), Fista(tol=1e-8).solve(problem)
    assert fista.converged
    assert newton.objective <= fista.objective <= newton.objective * (1 + 1e-8)
    np.testing.assert_allclose(newton.coefficients.coef, fista.coefficients.coef, atol=2e-3)


def test_the_squared_loss_is_ridge_regression_on_the_gated_features():
    (X, y, D), options = _made("squared", n=50, C=2, bias=False)
    problem = GatedRidgeProblem(X, y, D, 0.03, **options)
    found = KernelNewton(tol=1e-12).solve(problem)
    features = np.concatenate([D[:, [i]] * X for i in range(D.shape[1])], axis=1)
    ridge = Ridge(alpha=0.03 * len(X), tol=1e-12).fit(features, y)
    np.testing.assert_allclose(found.coefficients.coef.reshape(2, -1), ridge.coef_, atol=1e-10)
    np.testing.assert_allclose(found.coefficients.intercept, ridge.intercept_, atol=1e-10)
    assert found.n_iter == 1


def test_many_gaussian_gates_are_the_arc_cosine_kernel():
    """Both of two rows are on with probability (1 - angle/pi)/2, so K/P nears x·x'(1 - angle/pi)/2 as 1/sqrt(P)."""
    rng = np.random.default_rng(0)
    X, P = rng.standard_normal((20, 6)), 20_000
    problem = GatedRidgeProblem(X, X[:, 0], X @ rng.standard_normal((6, P)) >= 0, 1.0, bias=False)
    lower = SummedKernel(problem).total / P
    K = np.tril(lower) + np.tril(lower, -1).T
    gram, length = X @ X.T, np.linalg.norm(X, axis=1)
    agree = (1 - np.arccos(np.clip(gram / np.outer(length, length), -1, 1)) / np.pi) / 2
    error = np.abs(K / gram - agree) / np.sqrt(np.maximum(agree * (1 - agree), 1e-12) / P)
    assert error[~np.eye(20, dtype=bool)].max() < 5  # standard errors, of 190 pairs


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_at_beta_max_every_direction_is_shrunk_by_a_half(bias, fit_intercept):
    arguments, options = _made("squared", d=3, bias=bias, fit_intercept=fit_intercept)
    problem = GatedRidgeProblem(*arguments, 1.0, **options)
    problem.penalty.beta = problem.beta_max()
    found = KernelNewton(tol=1e-12).solve(problem)
    moved = problem.map.remove_unpenalized(problem.datafit.y)
    assert 0 < np.linalg.norm(problem.map.remove_unpenalized(found.fitted)) <= np.linalg.norm(moved) / 2


def test_beta_max_by_hand():
    """Of one gate and one column it is where the slope halves; rows of a gate count around their mean."""
    X, y = np.array([[1.0], [2.0], [-1.0]]), np.array([1.0, 2.0, -1.0])
    problem = GatedRidgeProblem(X, y, np.ones((3, 1), dtype=bool), 1.0, bias=False, fit_intercept=False)
    assert problem.beta_max() == pytest.approx(2.0)  # tr(K)/n = 6/3
    problem.penalty.beta = 2.0
    assert KernelNewton(tol=1e-12).solve(problem).coefficients.coef.item() == pytest.approx(0.5)
    X, on = np.array([[5.0], [7.0], [9.0], [100.0]]), np.array([[True], [True], [True], [False]])
    options = {"bias": True, "fit_intercept": False}
    assert GatedRidgeProblem(X, X[:, 0], on, 1.0, **options).beta_max() == pytest.approx(8 / 4)
    options = {"bias": False, "fit_intercept": True}  # the mean of the masked column 5, 7, 9, 0 is 5.25
    assert GatedRidgeProblem(X, X[:, 0], on, 1.0, **options).beta_max() == pytest.approx((155 - 4 * 5.25**2) / 4)


@pytest.mark.parametrize("loss", ["logistic", "squared_hinge", "softmax"])
def test_a_path_takes_fewer_steps_and_ends_where_single_fits_do(loss):
    arguments, options = _made(loss, n=80, C=3 if loss == "softmax" else 1, bias=False)
    problem = GatedRidgeProblem(*arguments, 1.0, **options)
    solver, kernel, start, warm, cold = KernelNewton(tol=1e-8), [], None, 0, 0
    for beta in problem.beta_max() * np.geomspace(0.1, 1e-4, 7):
        problem.penalty.beta = beta
        found = solver.solve(problem, start, kernel)
        alone = solver.solve(problem)
        assert found.objective == pytest.approx(alone.objective, rel=2e-8)
        warm, cold = warm + found.n_iter, cold + alone.n_iter
        start = problem.point(found.coefficients)
    assert warm < cold
    again = 0
    for beta in problem.beta_max() * np.geomspace(0.1, 1e-4, 7):  # the kernel knows the last solution itself
        problem.penalty.beta = beta
        again += solver.solve(problem, None, kernel).n_iter
    assert again <= warm + 3  # it begins at the other end of the path


def test_a_start_from_elsewhere_helps_or_does_no_harm():
    arguments, options = _made("logistic", n=60, bias=False)
    problem = GatedRidgeProblem(*arguments, 1e-2, **options)
    best = KernelNewton(tol=1e-10).solve(problem)
    near, far = problem.point(best.coefficients), problem.point(best.coefficients)
    again = KernelNewton(tol=1e-8).solve(problem, near)
    assert again.n_iter == 1
    lost = KernelNewton(tol=1e-8).solve(problem, far._replace(U=1e6 * far.U))
    assert lost.converged
    assert lost.n_iter <= KernelNewton(tol=1e-8).solve(problem).n_iter


def test_large_problems_of_the_first_order_method_take_the_plain_metric():
    arguments, options = _made("squared", n=2000, d=20, P=640, bias=False)
    problem = GatedRidgeProblem(*arguments, 1.0, **options)
    problem.penalty.beta = 0.05 * problem.beta_max()
    found = Fista(tol=1e-4).solve(problem)
    assert found.converged
    assert found.objective == pytest.approx(KernelNewton(tol=1e-6).solve(problem).objective, rel=2e-4)


def test_where_an_intercept_alone_separates_the_bound_is_that_of_the_infimum():
    X = np.random.default_rng(0).standard_normal((10, 2))
    problem = GatedRidgeProblem(X, np.ones(10), X >= 0, 1.0, loss="logistic", bias=False)
    for predictions in (np.zeros((10, 1)), X[:, :1], 5 * X[:, :1]):
        assert problem.dual_bound(predictions).value <= 1e-9  # the infimum is 0


def test_no_gate_leaves_the_intercept(capfd):
    X, y = np.arange(4.0)[:, None], np.array([0.0, 1.0, 1.0, 2.0])
    problem = GatedRidgeProblem(X, y, np.zeros((4, 0), dtype=bool), 0.1, bias=False)
    found = AutoSolver().solve(problem)
    assert found.converged
    assert found.coefficients.intercept == pytest.approx(1.0)
    assert SummedKernel(problem).total.tolist() == np.zeros((4, 4)).tolist()
    assert capfd.readouterr().err == ""  # BLAS complains there


def test_bounds_hold_wherever_they_come_from():
    """A dual bound from any predictions is below the optimum, and near it only near the solution."""
    rng = np.random.default_rng(0)
    for loss in ("squared", "logistic", "huber", "squared_hinge"):
        arguments, options = _made(loss, bias=False)
        problem = GatedRidgeProblem(*arguments, 1e-2, **options)
        best = KernelNewton(tol=1e-10).solve(problem)
        for size in (0.0, 1e-3, 1.0, 100.0):
            bound = problem.dual_bound(best.fitted + size * rng.standard_normal(best.fitted.shape))
            assert bound.value <= best.objective * (1 + 1e-12)
        assert problem.dual_bound(best.fitted).value >= best.objective * (1 - 1e-8)


def test_large_problems_begin_in_single_precision_and_end_in_double():
    arguments, options = _made("logistic", n=1100, d=20, P=30, bias=False)
    problem = GatedRidgeProblem(*arguments, 1e-3, **options)
    found = KernelNewton(tol=1e-10).solve(problem)
    assert found.relative_gap <= 1e-10
    assert found.objective == pytest.approx(Fista(tol=1e-7).solve(problem).objective, rel=1e-7)


def test_each_kernel_method_refuses_the_other_penalty_and_squares_a_refinement():
    arguments, options = _made("squared")
    with pytest.raises(ArgumentError, match=r"must be 0 with penalty='ridge'\. Got 2"):
        GatedReLUClassifier(penalty="ridge", n_refinements=2, beta=1e-3, bias=True).fit(*_labelled())
    with pytest.raises(ArgumentError, match=r"KernelNewton must be a GatedRidgeProblem\. Got GatedReLUProblem"):
        KernelNewton().solve(GatedReLUProblem(*arguments, 1.0, **options))
    with pytest.raises(ArgumentError, match=r"KernelInteriorPoint must be a GatedReLUProblem\. Got GatedRidgeProblem"):
        KernelInteriorPoint().solve(GatedRidgeProblem(*arguments, 1.0, **options))
    with pytest.raises(ArgumentError, match="'beta' parameter of GatedRidgeProblem"):
        GatedRidgeProblem(*arguments, 0.0, **options)


def test_the_automatic_choice_takes_the_kernel_for_few_rows_and_sums_over_them_for_many():
    arguments, options = _made("logistic", n=80, d=20)
    assert AutoSolver().solve(GatedRidgeProblem(*arguments, 1e-4, **options)).solver == "newton"
    arguments, options = _made("squared", n=20_000, d=3, P=2, bias=False)
    problem = GatedRidgeProblem(*arguments, 0.5, **options)
    found = AutoSolver().solve(problem)
    assert (found.solver, found.converged) == ("gram", True)


def _labelled(n=90, d=5, classes=2):
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n, d))
    return X, (np.abs(X[:, 0]) * classes / 3 + 0.2 * rng.random(n)).astype(int).clip(0, classes - 1)


@pytest.mark.parametrize("loss", ["squared", "logistic", "squared_hinge"])
@pytest.mark.parametrize("classes", [2, 3])
def test_classifiers_are_certified_and_saved(tmp_path, loss, classes):
    X, y = _labelled(classes=classes)
    weights = np.random.default_rng(0).uniform(0.5, 2, len(X))
    options = {"n_gates": 12, "beta": 1e-3, "penalty": "ridge", "loss": loss, "random_state": 0, "bias": True}
    model = GatedReLUClassifier(**options).fit(X, y, weights)
    again = model.certificate_.verify(X, y)
    assert model.certificate_.relative_gap <= 1e-6
    assert again.relative_gap <= 2e-6
    assert again.objective == pytest.approx(model.result_.objective, rel=1e-9)
    slow = GatedReLUClassifier(**options, solver="fista").fit(X, y, weights)
    assert slow.result_.objective == pytest.approx(model.result_.objective, rel=1e-5)
    save_model(model, tmp_path / "m.npz")
    loaded = load_model(tmp_path / "m.npz")
    assert (loaded.decision_function(X) == model.decision_function(X)).all()
    assert loaded.certificate_.verify(X, y).relative_gap == again.relative_gap


def test_a_certificate_of_other_coefficients_says_so():
    X, y = _labelled()
    model = GatedReLUClassifier(beta=1e-3, penalty="ridge", random_state=0, bias=True).fit(X, y)
    proof = model.certificate_
    worse = proof.claim.coefficients._replace(coef=1.1 * proof.claim.coefficients.coef)
    found = replace(proof, claim=replace(proof.claim, coefficients=worse)).verify(X, y)
    assert found.relative_gap > 1e-3
    found = replace(proof, dual_point=2 * proof.dual_point).verify(X, y)
    assert found.lower_bound < proof.lower_bound


def test_regressors_agree_with_cvxpy_and_copies_count_as_weights():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, 2))
    y = np.abs(X) @ np.ones((2, 2)) + 0.1 * rng.standard_normal((40, 2))
    options = {"n_gates": 8, "beta": 1e-2, "penalty": "ridge", "random_state": 0, "bias": True}
    model = GatedReLURegressor(**options).fit(X, y)
    reference = GatedReLURegressor(**options, solver="cvxpy").fit(X, y)
    np.testing.assert_allclose(model.predict(X), reference.predict(X), atol=1e-6)
    options, twice = options | {"gates": model.gates_}, np.r_[np.arange(40), np.arange(10)]
    copied = GatedReLURegressor(**options).fit(X[twice], y[twice])
    weighted = GatedReLURegressor(**options).fit(X, y, 1.0 + (np.arange(40) < 10))
    np.testing.assert_allclose(copied.coef_, weighted.coef_, atol=1e-5)


def test_cross_validation_and_paths_begin_at_the_halving_beta():
    X, y = _labelled()
    model = GatedReLUClassifier(n_gates=20, penalty="ridge", loss="logistic", bias=False, random_state=0, beta=1e-3)
    search = BetaCV(model, n_betas=5, eps=1e-4, cv=3).fit(X, y)
    assert search.betas_[0] == pytest.approx(model.beta_max(X, y))
    assert search.score(X, y) > 0.9
    gates = Gates.from_arrays(np.random.default_rng(0).standard_normal((5, 20)))
    signs = 2.0 * y - 1
    path = gated_path(X, signs, gates, bias=False, loss="logistic", penalty="ridge", n_betas=4)
    problem = GatedRidgeProblem(X, signs, activation_patterns(X, gates).patterns, 1.0, loss="logistic", bias=False)
    assert path.beta_max == pytest.approx(problem.beta_max())
    assert path.relative_gaps.max() <= 1e-6
    assert (np.diff(path.objectives) < 0).all()
    with pytest.raises(ArgumentError, match="'penalty' parameter of gated_path"):
        gated_path(X, signs, gates, penalty="lasso")


def test_a_column_of_another_scale_costs_no_proof():
    """Once the directions of the others were left out as rounding, and the network without neurons was optimal."""
    X = np.column_stack([np.full(30, 1e8), np.random.default_rng(0).standard_normal((30, 2))])
    y, on = np.where(X[:, 1] + 0.3 * X[:, 2] > 0, 1.0, -1.0), np.ones((30, 1), dtype=bool)
    for loss in ("squared", "squared_hinge", "logistic"):
        best = KernelNewton(tol=1e-8).solve(GatedRidgeProblem(X[:, 1:], y, on, 0.1, loss=loss))
        found = Fista(tol=1e-6).solve(GatedRidgeProblem(X, y, on, 0.1, loss=loss))
        assert found.objective - found.duality_gap <= best.objective  # which leaves the first column out
        np.testing.assert_allclose(found.objective, best.objective, rtol=1e-5)


def test_the_kernel_method_is_left_out_where_its_entries_are_rounding():
    """Rows far from the origin: squares of 1e11 lose what beta times n weighs; its objective was below the optimum."""
    rng = np.random.default_rng(3)
    X = 1e5 * rng.standard_normal(7) + rng.standard_normal((20, 7))
    problem = GatedRidgeProblem(X, rng.standard_normal((20, 2)), np.ones((20, 1), dtype=bool), 2e-3)
    solver, why = AutoSolver().choose(problem)
    assert not isinstance(solver, KernelNewton)
    assert "rounding" in why
    assert AutoSolver(tol=1e-6).solve(problem).relative_gap <= 1e-6
    near = GatedRidgeProblem(X / 1e5, problem.datafit.y, problem.map.patterns, 2e-3)
    assert "rounding" not in AutoSolver().choose(near)[1]
