"""Sample weights: whole numbers are copies of rows, only ratios matter, zero is absence; for every loss and solver."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import PredefinedSplit

import clifford_rand_nn as nn
from clifford_rand import ArgumentError
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_path import homotopy, solution_at
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from support.pairwise import pairwise
from support.problems import LOSSES, ONE_OUTPUT, REAL_LOSSES, delta_of, targets


class Case:
    """A problem of one class with weights, whole numbers, and the same with copies of rows instead."""

    def __init__(self, kind, loss, n=24, d=2, seed=0, scale=1.0, change=lambda X: X):
        rng = np.random.default_rng(seed)
        X = change(rng.standard_normal((n, d)))
        self.w = rng.integers(1, 5, n)
        unit = scale if loss in REAL_LOSSES else 1.0
        self.y = unit * targets(loss, n, rng)
        if kind is ConvexReLUProblem:
            self.y = self.y.reshape(n, -1)[:, 0]
        if kind is LassoProblem:
            self.data = (scale * np.maximum(X @ rng.standard_normal((d, 30)) + rng.standard_normal(30), 0),)
        else:
            D, _ = nn.activation_patterns(X, nn.sample_gates(X, 5, method="gaussian", random_state=rng))
            self.data = (scale * X, D)
        self.options = {"loss": loss, **delta_of(loss, 0.7 * unit)}
        if kind is GatedReLUProblem and loss not in REAL_LOSSES:
            self.options["bias"] = False  # biases would run off to separate the labels
        self.kind, self.beta, self.rows = kind, 0.05 * scale * unit, np.repeat(np.arange(n), self.w)

    def of(self, rows=slice(None), **more):
        A, *patterns = (part[rows] for part in self.data)
        return self.kind(A, self.y[rows], *patterns, self.beta, **self.options, **more)

    def weighted(self, factor=1):
        return self.of(sample_weight=factor * self.w)

    def repeated(self):
        return self.of(self.rows)


def losses_of(kind):
    return ONE_OUTPUT if kind is ConvexReLUProblem else LOSSES


SOLVERS = {
    "fista": (GatedReLUProblem, Fista(tol=1e-12).solve, 1e-6),
    "cone_interior_point": (ConvexReLUProblem, ConeInteriorPoint(tol=1e-8).solve, 2e-3),
    "augmented_lagrangian": (ConvexReLUProblem, AugmentedLagrangian(tol=1e-4).solve, 0.1),
    "interior_point": (LassoProblem, InteriorPoint(tol=1e-11).solve, 1e-6),
    "working_set": (LassoProblem, WorkingSet(tol=1e-11).solve_columns, 1e-6),
}


@pytest.mark.parametrize(("name", "loss"), [(name, loss) for name in SOLVERS for loss in losses_of(SOLVERS[name][0])])
def test_whole_weights_are_copies_of_rows_only_ratios_matter_and_equal_weights_are_none(name, loss):
    kind, solve, near = SOLVERS[name]
    case = Case(kind, loss)
    a, b, scaled = (solve(problem) for problem in (case.weighted(), case.repeated(), case.weighted(1000)))
    assert a.status == b.status == "optimal"
    for same in (b, scaled):
        assert a.objective == pytest.approx(same.objective, abs=a.duality_gap + same.duality_gap + 1e-14)
    slopes, again = (case.of().datafit.residual(result.fitted) for result in (a, scaled))  # unique: smooth losses
    np.testing.assert_allclose(slopes, again, atol=near)
    np.testing.assert_allclose(slopes[case.rows], case.repeated().datafit.residual(b.fitted), atol=near)
    if near <= 1e-6 and loss != "squared_hinge":  # which is flat beyond the margin
        for mine, copied in zip(a.coefficients, b.coefficients, strict=True):
            np.testing.assert_allclose(mine, copied, atol=1e-7 if loss == "squared" else 1e-5)
    # The copies of a row share its dual point: every bound of one problem is one of the other.
    theta = (a.dual_point / case.weighted().datafit.weights)[case.rows]
    assert case.repeated().datafit.dual_value(theta) == pytest.approx(a.objective - a.duality_gap, rel=1e-9)
    if loss in ("squared", "logistic"):
        plain, equal = solve(case.of()), solve(case.of(sample_weight=np.full(len(case.w), 0.3)))
        np.testing.assert_array_equal(plain.fitted, equal.fitted)
        np.testing.assert_array_equal(plain.dual_point, equal.dual_point)
        assert plain.objective == equal.objective


@pytest.mark.parametrize(
    ("kind", "loss"),
    [(kind, loss) for kind in (GatedReLUProblem, ConvexReLUProblem, LassoProblem) for loss in losses_of(kind)],
)
def test_cvxpy_agrees(kind, loss):
    case = Case(kind, loss)
    found, copied = (CvxpyReference(tol=1e-4).solve(problem) for problem in (case.weighted(), case.repeated()))
    assert found.status == copied.status == "optimal"
    assert found.objective == pytest.approx(copied.objective, rel=1e-6)
    solve = next(solve for k, solve, _ in SOLVERS.values() if k is kind)
    assert solve(case.weighted()).objective == pytest.approx(found.objective, rel=1e-6)


@pairwise({"scale": [1e-6, 1e6], "name": ["fista", "cone_interior_point"], "loss": ["squared", "logistic"]})
def test_scaled_data(loss, name, scale):
    kind, solve, _ = SOLVERS[name]
    one, other = (solve(Case(kind, loss, scale=s).weighted()) for s in (1.0, scale))
    unit = scale**2 if loss == "squared" else 1.0
    assert other.status == "optimal"
    assert other.objective / unit == pytest.approx(one.objective, rel=1e-7)


CHANGES = {
    "n < d": {"n": 6, "d": 9},
    "d = 1": {"d": 1},
    "duplicates": {"change": lambda X: np.concatenate([X[:12], X[:12]])},
    "rank 1": {"change": lambda X: X[:, :1] * [1.0, -2.0]},
    "integers": {"change": np.round},
    "small": {"scale": 1e-6},
    "large": {"scale": 1e6},
}


@pairwise(
    {"change": CHANGES, "name": ["fista", "cone_interior_point", "interior_point"], "loss": ["squared", "softmax"]}
)
def test_awkward_data_are_solved_to_the_gap(change, name, loss):
    kind, _, _ = SOLVERS[name]
    if loss not in losses_of(kind):
        loss = "logistic"
    case = Case(kind, loss, **CHANGES[change])
    solver = {"fista": Fista, "cone_interior_point": ConeInteriorPoint, "interior_point": InteriorPoint}[name](tol=1e-6)
    assert solver.solve(case.weighted()).status == "optimal"
    case.w = 10.0 ** (case.w - 1)  # from 1 to 1000
    assert solver.solve(case.weighted()).status == "optimal"


@pytest.mark.parametrize("loss", ["squared", "huber", "logistic", "softmax"])
def test_the_null_point_is_optimal_from_beta_max_on(loss):
    for kind in (GatedReLUProblem, ConvexReLUProblem, LassoProblem):
        if loss not in losses_of(kind):
            continue
        case = Case(kind, loss)
        assert case.weighted().beta_max() == pytest.approx(case.repeated().beta_max(), rel=1e-9)
    case = Case(GatedReLUProblem, loss)
    case.beta = case.weighted().beta_max() * (1 + 1e-9)
    problem = case.weighted()
    z = problem.null_point()
    assert problem.relative_gap(problem.objective(z), problem.dual_bound(problem.predictions(z)).value) <= 1e-9


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_exact_path_is_that_of_the_copies(fit_intercept):
    case = Case(LassoProblem, "squared", n=15)
    K = np.concatenate([case.data[0], case.data[0][:, :3], np.full((15, 1), 0.1)], axis=1)  # ties and a constant column
    y = case.y[:, 0]
    problem = LassoProblem(K, y, 0.01, sample_weight=case.w, fit_intercept=fit_intercept)
    one = homotopy(problem, 1e-3)
    two = homotopy(LassoProblem(K[case.rows], y[case.rows], 1.0, fit_intercept=fit_intercept), 1e-3)
    assert one.status == two.status == "optimal"
    np.testing.assert_allclose(one.betas, two.betas, rtol=1e-8)
    np.testing.assert_allclose(one.objectives, two.objectives, rtol=1e-10)
    np.testing.assert_allclose(one.intercepts, two.intercepts, atol=1e-9)
    exact = InteriorPoint(tol=1e-11).solve(problem).objective
    assert solution_at(one, problem, 1e-9).objective == pytest.approx(exact, rel=1e-9)
    equal, plain = (homotopy(LassoProblem(K, y, 1.0, sample_weight=w), 1e-3) for w in (np.full(15, 4.0), None))
    np.testing.assert_array_equal(equal.values, plain.values)


def test_an_output_that_the_intercept_meets_alone():
    case = Case(LassoProblem, "squared_hinge")
    case.y[:, 1] = 1.0
    a, b = (InteriorPoint(tol=1e-10).solve(problem) for problem in (case.weighted(), case.repeated()))
    assert a.converged
    assert a.objective == pytest.approx(b.objective, rel=1e-9)
    assert not a.coefficients.values[:, 1].any()


@pytest.mark.slow
@pytest.mark.kept("squared")
@pytest.mark.parametrize("loss", ["squared", "logistic"])
def test_paths_of_copies(loss):
    rng = np.random.default_rng(2)
    X, w = rng.standard_normal((12, 2)), rng.integers(1, 4, 12)
    y = np.where(X[:, 0] * X[:, 1] > 0, 1.0, -1.0)
    rows = np.repeat(np.arange(12), w)
    gates = nn.sample_gates(X, 5, random_state=0)
    options = {"loss": loss, "n_betas": 3, "eps": 0.1, "tol": 1e-8}
    gated = lambda X, y, **k: nn.gated_path(X, y, gates, bias=False, **k)  # noqa: E731
    for name, path in {"gated": gated, "relu": nn.relu_path, "lasso": nn.lasso_path}.items():
        one, two = path(X, y, sample_weight=w, **options), path(X[rows], y[rows], **options)
        np.testing.assert_allclose(one.betas, two.betas, rtol=1e-8, err_msg=name)
        np.testing.assert_allclose(one.objectives, two.objectives, rtol=1e-7, err_msg=name)
        assert (one.relative_gaps <= 1e-8).all()


RNG = np.random.default_rng(5)
X = RNG.standard_normal((40, 2))
LABELS = np.where(X[:, 0] * X[:, 1] + 0.2 * RNG.standard_normal(40) > 0, "in", "out")
THREE = np.digitize(X[:, 0] + X[:, 1] ** 2, [0.3, 1.3])
REAL = np.abs(X[:, 0]) - X[:, 1] + 0.2 * RNG.standard_normal(40)
WEIGHTS = RNG.integers(0, 4, 40) * 0.5
GIVEN = (RNG.standard_normal((2, 9)), RNG.standard_normal(9))
GATED, DRAWN = {"n_gates": 8, "random_state": 0}, {"subsample": 50, "random_state": 0}
ESTIMATORS = [
    (nn.GatedReLUClassifier(beta=0.02, loss="logistic", bias="free", **GATED), LABELS),
    (nn.GatedReLUClassifier(beta=0.02, loss="squared_hinge", bias="free", **GATED), THREE),
    (nn.GatedReLURegressor(beta=0.02, loss="huber", **GATED), REAL),
    (nn.ConvexReLUClassifier(beta=0.02, loss="logistic", tol=1e-5, **GATED), THREE),
    (nn.ConvexReLUClassifier(gates="exhaustive", beta=0.05, tol=1e-4, bias="free"), LABELS),
    (nn.ConvexReLURegressor(beta=0.02, solver="augmented_lagrangian", tol=1e-3, bias="free", **GATED), REAL),
    (nn.CrossProductLassoClassifier(beta=0.02, loss="logistic", bias="free", **DRAWN), LABELS),
    (nn.CrossProductLassoRegressor(beta=0.02, solver="homotopy", bias="free", **DRAWN), REAL),
    (nn.CrossProductLassoRegressor(beta=0.02, loss="huber", solver="interior_point", **DRAWN), REAL),
]


@pytest.mark.kept("GatedReLURegressor-ndarray")
@pytest.mark.parametrize(("model", "y"), ESTIMATORS, ids=lambda value: type(value).__name__)
def test_a_row_of_weight_zero_is_not_there(model, y):
    kept = WEIGHTS > 0
    beta_max = model.beta_max(X, y, WEIGHTS)
    assert beta_max == model.beta_max(X[kept], y[kept], WEIGHTS[kept])
    whole = model.fit(X, y, sample_weight=WEIGHTS)
    values = whole.coef_, whole.certificate_, whole.result_.fitted
    assert len(whole.patterns_) == len(values[2]) == kept.sum()
    certificate, tol = whole.certificate_, 1e-6 if model.tol == "auto" else model.tol
    for again in (certificate.verify(X, y), certificate.verify(X, y, 3 * WEIGHTS)):
        assert again.objective == pytest.approx(certificate.objective, rel=1e-9)
        assert again.lower_bound == pytest.approx(certificate.lower_bound, rel=1e-6)
        assert again.relative_gap <= 2 * tol
    assert certificate.verify(X, y, np.where(kept, 1.0 + np.arange(40), 0)).relative_gap > 10 * tol
    with pytest.raises(ArgumentError, match=r"the training weights, 33 of them positive\. Got 40 positive weights"):
        certificate.verify(X, y, np.ones(40))
    part = model.fit(X[kept], y[kept], sample_weight=WEIGHTS[kept])
    np.testing.assert_array_equal(part.coef_, values[0])
    np.testing.assert_array_equal(part.result_.fitted, values[2])
    assert model.fit(X, y).certificate_.sample_weight is None


SOLVED = {"gates": GIVEN, "beta": 0.02, "tol": 1e-12}  # to the digits


@pytest.mark.kept("GatedReLUClassifier-ndarray0")
@pytest.mark.parametrize(
    ("model", "y"),
    [
        (nn.GatedReLUClassifier(loss="logistic", bias=False, **SOLVED), LABELS),
        (nn.GatedReLUClassifier(loss="logistic", bias=False, **SOLVED), THREE),
        (nn.GatedReLURegressor(bias="free", **SOLVED), np.stack([REAL, X[:, 0] ** 2], axis=1)),
        (nn.CrossProductLassoRegressor(beta=0.02, loss="huber", tol=1e-11, bias="free"), REAL),
        (nn.CrossProductLassoRegressor(beta=0.02, solver="homotopy", bias="free"), REAL),
        (nn.CrossProductLassoClassifier(beta=0.02, loss="logistic", tol=1e-11), LABELS),
        (nn.ConvexReLURegressor(gates="exhaustive", beta=0.1, tol=1e-6, penalty="group_l1", bias="free"), REAL),
    ],
    ids=lambda value: type(value).__name__,
)
def test_estimators_with_given_neurons_take_weights_for_copies(model, y):
    w = (2 * WEIGHTS).astype(int)
    rows = np.repeat(np.arange(40), w)
    one = model.fit(X, y, w)
    objective, outputs, gap = one.result_.objective, one._outputs(X), one.result_.duality_gap
    two = model.fit(X[rows], y[rows])
    assert objective == pytest.approx(two.result_.objective, abs=1.01 * (gap + two.result_.duality_gap) + 1e-13)
    used = w > 0  # outputs elsewhere may be several of the same optimum
    np.testing.assert_allclose(outputs[used], two._outputs(X)[used], atol=1e-5 if model.tol < 1e-10 else 0.05)


@pytest.mark.parametrize("d", [3, 6])
def test_the_default_lasso_takes_weights_for_copies(d):
    """Whether all columns are taken, and how many are drawn, is decided by the distinct rows."""
    rng = np.random.default_rng(1)
    X, w = rng.standard_normal((33, d)), rng.integers(1, 4, 33)
    y, rows = np.abs(X[:, 0]) - X[:, 1], np.repeat(np.arange(33), w)
    model = nn.CrossProductLassoRegressor(beta=0.05, random_state=0)
    one = clone(model).fit(X, y, sample_weight=w)
    two = clone(model).fit(X[rows], y[rows])
    assert one.certificate_.scope == two.certificate_.scope
    assert two.dictionary_.subsample == one.dictionary_.subsample
    assert two.certificate_.objective == pytest.approx(one.certificate_.objective, rel=1e-6)
    np.testing.assert_allclose(two.predict(X), one.predict(X), atol=1e-4)


def test_a_certificate_of_all_neurons():
    model = nn.CrossProductLassoRegressor(beta=0.05, tol=1e-8, bias=True).fit(X[:14], REAL[:14], WEIGHTS[:14])
    wide = model.certificate_.over_all_neurons(X[:14], REAL[:14])
    assert wide.relative_gap <= 1e-7
    assert "global" in wide.scope
    assert wide.lower_bound == pytest.approx(model.certificate_.lower_bound, rel=1e-7)


@pytest.mark.slow
def test_cross_validation_weighs_training_and_scores():
    fold = np.arange(40) % 3
    w = np.where(WEIGHTS > 0, 2 * WEIGHTS, 1).astype(int)
    rows = np.repeat(np.arange(40), w)
    model = nn.GatedReLURegressor(gates=GIVEN, bias=False, tol=1e-10, beta=1e-3)
    one = nn.BetaCV(model, betas=[0.1, 0.03], cv=PredefinedSplit(fold)).fit(X, REAL, sample_weight=w)
    two = nn.BetaCV(model, betas=[0.1, 0.03], cv=PredefinedSplit(fold[rows])).fit(X[rows], REAL[rows])
    np.testing.assert_allclose(one.scores_, two.scores_, atol=1e-6)
    assert one.score(X, REAL, w) == pytest.approx(two.score(X[rows], REAL[rows]), abs=1e-6)
    plain = nn.BetaCV(model, betas=[0.1, 0.03], cv=PredefinedSplit(fold)).fit(X, REAL)
    assert np.abs(plain.scores_ - one.scores_).max() > 1e-3
    grid = nn.BetaCV(model, n_betas=3, cv=PredefinedSplit(fold)).fit(X, REAL, w).betas_
    assert grid[0] == pytest.approx(model.beta_max(X[rows], REAL[rows]), rel=1e-9)
    with pytest.raises(ArgumentError, match="'sample_weight' parameter of BetaCV must be positive for some row of ev"):
        nn.BetaCV(model, betas=[0.1], cv=PredefinedSplit(fold)).fit(X, REAL, np.where(fold == 1, 0.0, 1.0))


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (-np.ones(40), r"'sample_weight' parameter of GatedReLUClassifier must be ≥ 0\. Got 40 neg"),
        (np.zeros(40), r"must be positive for some row\. Got 40 zeros"),
        (np.ones(39), r"one weight for each row. Got 39 weights for 40 rows"),
        (LABELS == "in", "one class, 'in' where the weight is not zero"),
    ],
)
def test_errors_name_the_estimator_and_the_rule(weights, message):
    with pytest.raises(ArgumentError, match=message):
        nn.GatedReLUClassifier(n_gates=3, random_state=0, beta=1e-3).fit(X, LABELS, weights)
    with pytest.raises(ArgumentError, match="'sample_weight' parameter of LassoProblem must be > 0"):
        LassoProblem(np.eye(3), np.ones(3), 0.1, sample_weight=[1, 0, 2])


@pytest.mark.parametrize("level", [0.1, 1e8 + 0.3, np.pi * 1e-9])
@pytest.mark.parametrize("rounds", [0, 3])
def test_a_constant_output_says_nothing_of_what_is_chosen(level, rounds):
    """The weighted mean of equal numbers is off by its rounding: a variance, of which an error could be any share."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y, w = np.abs(X[:, 0]) + 0.1 * rng.standard_normal(60), rng.integers(1, 4, 60).astype(float)
    X[50:], y[50:] = X[:10], y[:10] + 1  # copies with other targets, whose mean is taken
    none = nn.ConvexNetworkRegressor(max_metric_iter=rounds).fit(X, np.stack([y, np.zeros(60)], axis=1), w)
    both = nn.ConvexNetworkRegressor(max_metric_iter=rounds).fit(X, np.stack([y, np.full(60, level)], axis=1), w)
    assert (both.predict(X)[:, 1] == level).all()
    np.testing.assert_array_equal(both.predict(X)[:, 0], none.predict(X)[:, 0])
    assert (both.beta_, both.loo_score_, both.candidates_) == (none.beta_, none.loo_score_, none.candidates_)
    alone = nn.ConvexNetworkRegressor(max_metric_iter=0).fit(X, y, w)
    if not rounds:
        np.testing.assert_allclose(both.predict(X)[:, 0], alone.predict(X), rtol=1e-9)
        assert both.loo_score_ == pytest.approx((alone.loo_score_ + 1) / 2, rel=1e-9)


@pytest.mark.parametrize(("level", "n"), [(0.1, 60), (1e8 + 0.3, 60), (np.pi * 1e-9, 60), (0.1, 400)])
def test_targets_that_are_all_one_number_are_that_number(level, n, recwarn, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 300)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.metric_selection._REFITTED", 300)
    rng = np.random.default_rng(0)
    X, w = rng.standard_normal((n, 2)), rng.integers(1, 4, n).astype(float)
    for weights in (None, w)[n > 60 :]:  # many rows once: the landmarks take a second
        model = nn.ConvexNetworkRegressor().fit(X, np.full(n, level), weights)
        assert not [str(warning.message) for warning in recwarn]
        assert (model.predict(X) == level).all()
        assert model.loo_score_ == 1
        assert model.certificate_.objective == model.certificate_.relative_gap == 0
        assert model.certificate_.verify(X, np.full(n, level)).relative_gap <= 1e-9


def test_files_hold_weights_that_differ(tmp_path):
    for weights, held in ((None, False), (np.full(40, 3.0), False), (WEIGHTS, True)):
        model = nn.GatedReLURegressor(4, random_state=0, beta=1e-3, bias=True).fit(X, REAL, weights)
        nn.save_model(model, tmp_path / "m.npz")
        with np.load(tmp_path / "m.npz") as file:
            assert ("sample_weight" in file) == held
            arrays = dict(file)
    arrays["sample_weight"] = np.ones(40)
    np.savez(tmp_path / "m.npz", **arrays)
    with pytest.raises(ArgumentError, match="the sample weights do not fit the dual point"):
        nn.load_model(tmp_path / "m.npz")
