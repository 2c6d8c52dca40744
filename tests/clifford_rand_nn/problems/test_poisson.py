"""The Poisson loss: formulas, solvers against each other and scikit-learn, certificates of degenerate data, saving."""

import mpmath as mp
import numpy as np
import pytest
from sklearn.linear_model import PoissonRegressor
from sklearn.metrics import d2_tweedie_score, mean_poisson_deviance

from clifford_rand import ArgumentError
from clifford_rand_nn import (
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    GatedReLURegressor,
    Shards,
    explain,
    load_model,
    save_model,
)
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.loss_registry import make_datafit
from clifford_rand_nn.problems.poisson_quantile import Poisson
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.scores import d_squared
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gram_newton import GramNewton
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from support.problems import agree

_LOSS = Poisson()


def _data(kind="plain", n=25, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 2))
    if kind == "duplicates":
        X = X[np.arange(n) // 3]
    mean, weights = np.exp(np.abs(X[:, 0])), None
    match kind:
        case "large":
            y = rng.poisson(1e6 * mean)
        case "huge":
            y = 1e12 * mean
        case "tiny":
            y = 1e-9 * mean
        case "zeros":
            y = rng.random(n) < 0.12
        case "one":
            y = 7.0 * (np.arange(n) == 3)
        case "outlier":
            y = np.where(np.arange(n) == 2, 5000, rng.poisson(mean))
        case _:
            y = rng.poisson(mean)
    if kind == "weights":
        weights = np.exp(3 * rng.standard_normal(n))
    return X, y.astype(np.float64), weights


_SIZES = np.array([0.0, 1e-300, 1e-9, 0.3, 1.0, 3.0, 1e6, 1e12])
_FITTED = np.array([-700.0, -30.0, -1e-9, 0.0, 1e-9, 0.5, 1.1, 14.0, 27.7, 300.0])


def test_formulas_keep_their_digits_against_50_digit_arithmetic():
    """Near the mean too: value and conjugate lose none to cancellation, to the rounding of f and of log y."""
    with mp.workdps(60):
        for y in _SIZES:
            near = np.log(y) + np.array([0.0, 1e-12, -1e-6, 0.0999, -0.1001]) if y else []
            for f in np.concatenate([_FITTED, near]):
                at = np.array([[f]]), np.array([[y]])
                e, c = mp.exp(mp.mpf(f)), mp.mpf(y)
                value = e - c * mp.mpf(f) + (c * mp.log(c) - c if y else 0)
                theta = _LOSS.residual(*at)
                noise = 4e-16 * (1 + abs(f)) * abs(c - e)  # of f and log y, by the slope
                assert abs(_LOSS.value(*at)[0, 0] - value) <= 1e-14 * value + noise + 1e-300
                assert abs(theta[0, 0] - (c - e)) <= 1e-14 * abs(c - e) + 1e-15 * (1 + abs(f)) * min(c, e) + 1e-300
                t = mp.mpf(theta[0, 0])
                a = c - t
                dual = (c * mp.log(c) if y else 0) - (a * mp.log(a) if a > 0 else 0) - t
                terms = 4e-16 * abs(t) * (1 + abs(mp.log(c) if y else mp.log(a) if a > 0 else 0))
                own = _LOSS.dual_value(theta, at[1])[0, 0]
                assert abs(own - dual) <= 1e-14 * abs(dual) + terms + 1e-300, (y, f)


def test_it_is_half_the_deviance_and_the_score_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    f, y, w = rng.standard_normal((40, 1)), rng.poisson(2.0, (40, 1)).astype(float), rng.random(40)
    datafit = make_datafit("poisson", y, 40, "test", None, w)
    assert 2 * datafit.value(f) == pytest.approx(mean_poisson_deviance(y, np.exp(f), sample_weight=w))
    expected = d2_tweedie_score(y[:, 0], np.exp(f[:, 0]), sample_weight=w, power=1)
    assert d_squared(y, np.exp(f), w) == pytest.approx(expected)


def _solved(solver, problem):
    result = solver.solve(problem)
    assert result.status.value == "optimal", result.message
    return result


@pytest.mark.parametrize("intercept", [True, False])
def test_solvers_agree_within_their_gaps_with_each_other_and_cvxpy(intercept):
    """Clarabel solves exponential cones to 1e-4 of the objective, in our bound."""
    X, y, _ = _data(n=30)
    patterns = np.column_stack([X[:, 0] > 0, X[:, 1] > 0.2, X[:, 0] > X[:, 1]])
    K = np.maximum(X @ np.random.default_rng(1).standard_normal((2, 12)), 0)
    options = {"loss": "poisson", "fit_intercept": intercept}
    gated = GatedReLUProblem(X, y, patterns, 0.02, **options)
    ridge = GatedRidgeProblem(X, y, patterns, 0.02, **options)
    relu = ConvexReLUProblem(X, y, patterns, 0.02, bias=False, **options)
    lasso = LassoProblem(K, y, 0.02, **options)
    methods = (
        (gated, KernelInteriorPoint(tol=1e-9), GramNewton(tol=1e-9)),
        (ridge, KernelNewton(tol=1e-9), GramNewton(tol=1e-9)),
        (relu, ConeInteriorPoint(tol=1e-8), AugmentedLagrangian(tol=1e-4)),
        (lasso, InteriorPoint(tol=1e-9), InteriorPoint(tol=1e-9, basic=False)),
    )
    for problem, first, second in methods:
        one, two, stated = _solved(first, problem), _solved(second, problem), CvxpyReference().solve(problem)
        agree(one, two)
        agree(one, stated)
        assert stated.relative_gap < 1e-2


def test_a_linear_model_is_the_one_of_scikit_learn():
    """With one gate that is on everywhere: alpha there is beta."""
    X, y, weights = _data("weights", n=60)
    always = np.ones((60, 1), dtype=bool)
    problem = GatedRidgeProblem(X, y, always, 0.3, loss="poisson", bias=False, sample_weight=weights)
    found = KernelNewton(tol=1e-12).solve(problem).coefficients
    known = PoissonRegressor(alpha=0.3, tol=1e-12, max_iter=1000, solver="newton-cholesky").fit(X, y, weights)
    np.testing.assert_allclose(found.coef[0, 0], known.coef_, rtol=1e-8)
    np.testing.assert_allclose(found.intercept[0], known.intercept_, rtol=1e-8)


_FITS = {
    "kernel": (GatedReLURegressor, {"n_gates": 6, "solver": "kernel"}),
    "gram": (GatedReLURegressor, {"n_gates": 6, "solver": "gram"}),
    "ridge": (GatedReLURegressor, {"n_gates": 6, "penalty": "ridge"}),
    "infinite": (GatedReLURegressor, {"gates": "infinite", "penalty": "ridge"}),
    "relu": (ConvexReLURegressor, {"n_gates": 5}),
    "lasso": (CrossProductLassoRegressor, {"penalty": "l1", "solver": "interior_point"}),
}


@pytest.mark.parametrize("kind", ["plain", "large", "huge", "tiny", "zeros", "one", "outlier", "weights", "duplicates"])
@pytest.mark.parametrize("method", _FITS)
def test_every_fit_reaches_its_tolerance_and_its_certificate_is_verified(method, kind):
    (estimator, options), (X, y, weights) = _FITS[method], _data(kind)
    seeded = {} if estimator is CrossProductLassoRegressor else {"random_state": 0}
    for share in (1e-1, 1e-3):
        model = estimator(loss="poisson", beta=share * y.mean(), **options, **seeded).fit(X, y, weights)
        assert model.result_.relative_gap <= 1e-6, model.result_.message
        assert model.certificate_.verify(X, y, weights).relative_gap <= 2e-6


def test_predictions_are_means_in_every_format(tmp_path):
    X, y, _ = _data(n=60)
    model = ConvexReLURegressor(n_gates=6, loss="poisson", beta=0.05, random_state=0).fit(X, y)
    outputs = model.network_.predict(X).ravel()
    np.testing.assert_allclose(model.predict(X), np.exp(outputs))
    assert model.score(X, y) == pytest.approx(d2_tweedie_score(y, model.predict(X), power=1))
    save_model(model, tmp_path / "model.npz")
    np.testing.assert_array_equal(load_model(tmp_path / "model.npz").predict(X), model.predict(X))
    torch = pytest.importorskip("torch")
    np.testing.assert_allclose(model.to_torch()(torch.tensor(X)).detach().numpy().ravel(), model.predict(X))
    assert "on the scale log(mean)" in str(explain(model, X[:1]))


def test_what_it_does_not_take_is_refused_in_one_sentence(tmp_path):
    X, y, _ = _data()
    with pytest.raises(
        ArgumentError, match="'y' parameter of GatedReLURegressor must be numbers ≥ 0 for loss='poisson'"
    ):
        GatedReLURegressor(loss="poisson", beta=0.1).fit(X, y - 2)
    with pytest.raises(ArgumentError, match="positive in some row for loss='poisson'"):
        GatedReLURegressor(loss="poisson").fit(X, 0 * y)
    np.save(tmp_path / "X-00000.npy", X)
    np.save(tmp_path / "y-00000.npy", y)
    with pytest.raises(ArgumentError, match="one of bounded curvature for Shards"):
        GatedReLURegressor(loss="poisson", beta=0.1).fit(Shards(tmp_path))
    problem = GatedReLUProblem(X, y, X > 0, 0.1, loss="poisson")
    with pytest.raises(ArgumentError, match="whose curvature is bounded"):
        Fista().solve(problem)
    assert "first-order" not in AutoSolver().solve(problem).solver
    model = GatedReLURegressor(loss="poisson", beta=0.1, random_state=0).fit(X, y)
    with pytest.raises(ArgumentError, match="that the checker of exact proofs knows"):
        model.certificate_.verify(X, y, exact=True)
