"""Data of any size: the same network up to scale, or the library's sentence; a step that overflows ends a solver."""

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.certificates.values import rescaled
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.scores import r_squared
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet

RNG = np.random.default_rng(0)
X = RNG.standard_normal((30, 2))
Y = np.abs(X[:, 0]) - 0.3 * X[:, 1] + 0.05 * RNG.standard_normal(30)
LABELS = np.where(Y > 0.5, "a", "b")
GATES = nn.sample_gates(X, 6, random_state=1)
BETA = 1e-3


def of(kind, *args, **own):
    return lambda **options: kind(*args, **{"random_state": 0, "beta": 1e-3, "bias": True} | own | options)


REGRESSORS = {
    "gated": of(nn.GatedReLURegressor, 6),
    "fista": of(nn.GatedReLURegressor, 6, solver="fista"),
    "huber": of(nn.GatedReLURegressor, 6, loss="huber"),
    "ridge": of(nn.GatedReLURegressor, 6, penalty="ridge"),
    "refined": of(nn.GatedReLURegressor, 4, n_refinements=1),
    "relu": of(nn.ConvexReLURegressor, 6),
    "relu, all": of(nn.ConvexReLURegressor, gates="exhaustive"),
    "lasso": of(nn.CrossProductLassoRegressor, subsample=50),
    "lasso, path": of(nn.CrossProductLassoRegressor, subsample=50, solver="homotopy"),
}
CLASSIFIERS = {
    "gated": of(nn.GatedReLUClassifier, 6, loss="logistic"),
    "relu": of(nn.ConvexReLUClassifier, 6, loss="squared_hinge"),
    "lasso": of(nn.CrossProductLassoClassifier, subsample=50, loss="logistic"),
}
SIZES = [-300, -160, 13, 300]


def powers(exponents, even=True):
    """The nearest powers of four, so that everything is exact; of two if not ``even``."""
    step = 2 if even else 1
    return [2.0 ** (step * round(e * np.log2(10) / step)) for e in exponents]


@pytest.mark.kept("gated")
@pytest.mark.parametrize("name", REGRESSORS)
def test_a_regressor_of_scaled_data_is_the_scaled_regressor(name):
    plain = REGRESSORS[name](beta=BETA).fit(X, Y)
    for s, t in zip(powers([*SIZES, *[0] * 4, 160]), powers([*[0] * 4, *SIZES, 1]), strict=True):
        beta = BETA * s * (s if name == "ridge" else t)
        if not 1e-300 < beta < 1e300:
            continue
        model = REGRESSORS[name](beta=beta, **({"huber_delta": t} if name == "huber" else {}))
        if t > 1e154:
            with pytest.raises(ArgumentError, match=r"'y' parameter of \w+ must be of a size whose squares"):
                model.fit(X * s, Y * t)
            continue
        model.fit(X * s, Y * t)
        np.testing.assert_allclose(model.coef_ * s / t, plain.coef_, rtol=1e-9, atol=1e-12)
        np.testing.assert_allclose(model.predict(X * s) / t, plain.predict(X), rtol=1e-9, atol=1e-9)
        assert model.certificate_.relative_gap == pytest.approx(plain.certificate_.relative_gap, rel=1e-3, abs=1e-12)
        assert model.certificate_.verify(X * s, Y * t).relative_gap <= 2e-5
        assert model.network_.n_neurons == plain.network_.n_neurons
        if 1e-140 < t < 1e140:
            assert model.result_.objective / t / t == pytest.approx(plain.result_.objective, rel=1e-9)


@pytest.mark.parametrize("options", [{}, {"subsample": 20}, {"penalty": "l2", "bias": "penalized"}])
def test_the_dictionary_is_that_of_the_data(options):
    make, size = of(nn.CrossProductLassoRegressor, solver="interior_point", tol=1e-3), 2.0**400
    plain, scaled = (make(**options).fit(X[:9] * c, Y[:9]).dictionary_ for c in (1.0, size))
    np.testing.assert_allclose(scaled.matrix(), size * plain.matrix(), rtol=1e-12)
    assert np.array_equal(scaled.rows, plain.rows)


@pytest.mark.parametrize("s", powers(SIZES))
@pytest.mark.parametrize("name", CLASSIFIERS)
def test_a_classifier_of_scaled_data_is_the_scaled_classifier(name, s):
    plain = CLASSIFIERS[name](beta=BETA).fit(X, LABELS)
    model = CLASSIFIERS[name](beta=BETA * s).fit(X * s, LABELS)
    found = model.decision_function(X * s)
    np.testing.assert_allclose(found, plain.decision_function(X), rtol=1e-9, atol=1e-9)
    assert model.result_.objective == pytest.approx(plain.result_.objective, rel=1e-12)
    assert model.certificate_.verify(X * s, LABELS).relative_gap <= 2e-6


@pytest.mark.kept("lasso")
@pytest.mark.parametrize("name", REGRESSORS)
def test_powers_of_ten_too(name):
    plain = REGRESSORS[name](beta=BETA).fit(X, Y)
    for s, t in [(1e-200, 1e-90), (1e120, 1e-150), (1e-150, 1e140)]:
        beta = BETA * s * (s if name == "ridge" else t)
        if not 0 < beta < np.inf:
            continue
        model = REGRESSORS[name](beta=beta, **({"huber_delta": t} if name == "huber" else {})).fit(X * s, Y * t)
        assert model.result_.converged
        worst = np.abs(model.predict(X * s) / t - plain.predict(X)).max()
        assert worst < 0.05, (s, t)


def test_beta_max_and_cross_validation_scale():
    s, t = powers([200, -100])
    for make, square in ((REGRESSORS["gated"], False), (REGRESSORS["ridge"], True), (REGRESSORS["lasso"], False)):
        factor = s * s if square else s * t
        if np.isfinite(factor):
            assert make().beta_max(X * s, Y * t) == pytest.approx(factor * make().beta_max(X, Y), rel=1e-12)
    plain = nn.BetaCV(REGRESSORS["gated"](), n_betas=4, cv=2).fit(X, Y)
    scaled = nn.BetaCV(REGRESSORS["gated"](), n_betas=4, cv=2).fit(X * s, Y * t)
    assert scaled.beta_ == pytest.approx(s * t * plain.beta_, rel=1e-9)


def test_what_float64_cannot_hold_is_told():
    with pytest.raises(ArgumentError, match="leaves the weights y/X within float64"):
        REGRESSORS["gated"](beta=1.0).fit(X * 1e-300, Y * 1e100)
    with pytest.raises(ArgumentError, match="'beta' parameter of GatedReLURegressor must be a number > 0 in the scale"):
        REGRESSORS["gated"](beta=1e-300).fit(X * 1e100, Y * 1e100)


def test_units_and_back_are_the_identity():
    units = Units.of(1e200 * X, 1e-50 * Y, "me")
    assert not units.plain
    assert units.x % 2 == units.y % 2 == 0
    assert 0.25 <= np.abs(units.rows(1e200 * X)).max() <= 4
    assert Units.of(X, Y, "me").plain
    assert Units.of(0 * X, None, "me").plain
    model = REGRESSORS["relu"](beta=BETA).fit(X, Y)
    for value in (model.network_, model.certificate_.claim):
        again = units.inverse().back(units.back(value))
        assert repr(again) == repr(value)
    moved = rescaled(rescaled(model.certificate_, units), units.inverse())
    assert (moved.objective, moved.beta) == (model.certificate_.objective, model.certificate_.beta)
    with pytest.raises(TypeError, match="int has no units"):
        units.back(3)


@pytest.mark.parametrize(("rows", "targets"), [(1e-300, 1), (1e100, 1), (1, 1e-300), (1, 1e150), (1e300, 1)])
@pytest.mark.parametrize("make", [nn.GatedReLURegressor, nn.ConvexReLURegressor, nn.CrossProductLassoRegressor])
def test_a_beta_that_is_not_scaled_with_the_data_is_solved(make, rows, targets):
    """A beta far beyond beta_max leaves a constant, one far below fits a ramp exactly."""
    ramp = np.linspace(-1, 1, 9)[:, None]
    y = np.maximum(ramp[:, 0], 0)
    model = make(beta=1e-3, bias=True, random_state=0).fit(rows * ramp, targets * y)
    assert model.result_.converged
    share = 1.0 if rows * targets < 1 else 1e-9  # of the deviations that the best constant leaves
    assert np.abs(model.predict(rows * ramp) / targets - y).max() <= share * np.abs(y - y.mean()).max() * (1 + 1e-9)


@pytest.mark.parametrize("size", [1e-300, 1e160, 1e300])
def test_problems_of_such_sizes_are_refused(size):
    rule = "of a size whose fourth powers float64 can hold"
    patterns = GATES.activations(X)
    for scaled in ((X * size, Y), (X, Y * size)):
        for kind in (GatedReLUProblem, ConvexReLUProblem):
            with pytest.raises(ArgumentError, match=rule):
                kind(scaled[0], scaled[1], patterns, 1.0)
        with pytest.raises(ArgumentError, match=rule):
            LassoProblem(scaled[0], scaled[1], 1.0)


HUGE = np.concatenate([X[:15], X[15:] * 1e70])  # rows of sizes that no one scale serves


@pytest.mark.kept("lagrangian")
@pytest.mark.parametrize(
    "solve",
    [
        lambda: Fista(max_iter=300).solve(GatedReLUProblem(HUGE, Y, GATES.activations(X), BETA)),
        lambda: GateWorkingSet(Fista(max_iter=300)).solve(GatedReLUProblem(HUGE, Y, GATES.activations(X), BETA)),
        lambda: KernelInteriorPoint().solve(GatedReLUProblem(HUGE, Y, GATES.activations(X), BETA)),
        lambda: ConeInteriorPoint().solve(ConvexReLUProblem(HUGE, Y, GATES.activations(X), BETA)),
        lambda: AugmentedLagrangian(max_iter=300).solve(ConvexReLUProblem(HUGE, Y, GATES.activations(X), BETA)),
        lambda: InteriorPoint().solve(LassoProblem(HUGE, Y, BETA)),
        lambda: WorkingSet().solve_columns(LassoProblem(HUGE, Y, BETA)),
    ],
    ids=["fista", "gates", "kernel", "cone", "lagrangian", "interior", "columns"],
)
def test_a_solver_ends_on_rows_of_many_sizes(solve):
    result = solve()
    assert np.isfinite(result.objective)
    assert result.status in set(Status)
    assert result.objective - result.duality_gap <= result.objective
    assert result.message


def test_a_step_that_is_not_finite_ends_fista(monkeypatch):
    """Once a gradient is NaN, every step is: it went on for ever, whatever max_time said."""
    problem = GatedReLUProblem(X, Y, GATES.activations(X), BETA)
    adjoint, calls = type(problem.map).adjoint, []

    def broken(self, g):
        calls.append(1)
        U, c = adjoint(self, g)
        return (U * np.nan if len(calls) > 30 else U), c

    monkeypatch.setattr(type(problem.map), "adjoint", broken)
    result = Fista(tol=1e-14).solve(problem)
    assert result.status is Status.NOT_FINITE
    assert "by a step that is not finite" in result.message
    assert result.relative_gap < 1
    assert problem.objective(problem.point(result.coefficients)) == pytest.approx(result.objective)


@pytest.mark.parametrize("size", [1e-300, 1e153])
@pytest.mark.parametrize("make", [nn.GatedReLURegressor, nn.ConvexNetworkRegressor])
def test_the_score_of_targets_of_any_size_is_that_of_others(make, size):
    """Their squares overflow or vanish: without a warning, and not R² of 1 or 0."""
    beta = {"beta": 1e-3} if make is nn.GatedReLURegressor else {}
    model = make(**beta).fit(X[:20], Y[:20])
    predicted = model.predict(X[20:])
    expected = 1 - np.sum((Y[20:] - predicted) ** 2) / np.sum((Y[20:] - Y[20:].mean()) ** 2)
    assert model.score(X[20:], Y[20:]) == pytest.approx(expected, rel=1e-12)
    model.predict = lambda rows: size * predicted
    with np.errstate(all="raise"):
        assert model.score(X[20:], size * Y[20:]) == pytest.approx(expected, rel=1e-9)


def test_predictions_far_beyond_the_targets_have_a_score_of_minus_infinity():
    model = nn.GatedReLURegressor(beta=1e-3).fit(X, Y)
    model.predict = lambda rows: np.full(len(rows), 1e250)
    assert model.score(X, Y) == -np.inf
    assert model.score(X, 1e-100 * Y) == -np.inf
    assert model.score(X, 1e153 * Y) < -1e190
    assert model.score(X, 5e-324 * np.round(Y)) == -np.inf
    assert model.score(X, 5e-324 * (Y > 0)) == -np.inf  # the least number, a quarter of which is 0


def test_outputs_of_very_different_sizes_count_the_same_in_the_score():
    predicted, targets = np.stack([Y + 0.1 * X[:, 0], Y - 0.2], axis=1), np.stack([Y, Y], axis=1)
    scales = np.array([1.0, 2.0**-600])
    assert r_squared(targets * scales, predicted * scales) == r_squared(targets, predicted) < 1
