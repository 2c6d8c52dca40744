"""Few neurons from the front door: plain arrays, certificates, promises, rows that span them, and what is refused."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_friedman1
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, load_model, save_model
from clifford_rand_nn.estimators.network.group_lasso_path import GroupLassoPath, climbed
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet

slow = pytest.mark.slow
GATES = ["free", "cross"]
FREE_FIRST = ["free", pytest.param("cross", marks=slow)]


def plain(network, X):
    return np.maximum(X @ network.W1.T + network.b1, 0) @ network.w2 + network.b2


@pytest.mark.parametrize("gates", FREE_FIRST)
@pytest.mark.parametrize("scale", [1.0, pytest.param(1e-150, marks=slow), pytest.param(1e180, marks=slow)])
def test_plain_arrays_predict_and_both_certificates_hold(wave, gates, scale):
    X, y = wave[0] * scale, wave[1] * min(scale, 1e120)
    w = np.random.default_rng(1).integers(0, 3, 80).astype(float)
    model = ConvexNetworkRegressor(gates=gates, n_neurons=6).fit(X, y, w)
    network = model.network_
    assert network.gates is None
    assert 1 <= len(network.W1) <= 6
    size = np.abs(y).max()
    np.testing.assert_allclose(plain(network, X)[:, 0] / size, model.predict(X) / size, atol=1e-10)
    for proof in (model.certificate_, model.selection_certificate_):
        found = proof.verify(X, y)
        assert found.relative_gap < 2e-6
        assert found.primal == pytest.approx(proof.primal, rel=1e-9)
        assert found.dual == pytest.approx(proof.dual, rel=1e-6)
    assert model.selection_certificate_.n_patterns > model.certificate_.n_patterns


@pytest.mark.parametrize("gates", FREE_FIRST)
def test_a_certificate_is_that_of_the_network(wave, gates):
    """Another network over the same neurons has a larger objective; the least one is that of another solver."""
    X, y = wave
    model = ConvexNetworkRegressor(gates=gates, n_neurons=4).fit(X, y)
    proof = model.certificate_
    claim = proof.claim
    rows, members = claim.standard.rows(X), claim.family.members
    K = np.maximum(np.column_stack([rows, np.full(80, claim.family.feature)]) @ members.directions, 0)

    def objective(z):  # signs apart, so that it is smooth
        half = len(z) // 2
        r = K @ (z[:half] - z[half : 2 * half]) + z[-1] - y
        slope = K.T @ r / 80
        gradient = np.concatenate([slope + proof.beta, proof.beta - slope, [r.sum() / 80]])
        return r @ r / 160 + proof.beta * z[:-1].sum(), gradient

    start = np.full(2 * K.shape[1] + 1, 0.1)
    bounds = [(0, None)] * (len(start) - 1) + [(None, None)]
    options = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-10}
    found = minimize(objective, start, jac=True, bounds=bounds, options=options)
    assert proof.primal == pytest.approx(found.fun, rel=1e-4)
    assert proof.primal <= found.fun * (1 + 1e-6)


def test_rounding_of_the_rows_decides_nothing():
    """Rows that span a plane of the list are off as it climbs; by the sign of their margin, rounding chose the beta."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((80, 4))
    y = np.maximum(X @ rng.standard_normal((4, 6)), 0) @ rng.standard_normal(6) + 0.3 * rng.standard_normal(80)
    first, *others = [
        ConvexNetworkRegressor(n_neurons=6).fit(X * (1 + 1e-15 * noise * rng.standard_normal(X.shape)), y)
        for noise in (0, 1, 1)
    ]
    for other in others:
        assert other.beta_ == pytest.approx(first.beta_, rel=1e-12)
        assert other.certificate_.primal == pytest.approx(first.certificate_.primal, rel=1e-10)


@pytest.mark.slow
def test_rows_span_the_hyperplanes():
    """Of all rows as they came: copies, rows of weight zero, any order."""
    X, y = make_friedman1(80, n_features=5, noise=1.0, random_state=0)
    X, y = np.vstack([X, X[:20]]), np.append(y, y[:20])
    w = np.random.default_rng(0).integers(0, 3, 100)
    model = ConvexNetworkRegressor(gates="cross", n_neurons=8).fit(X, y, w)
    network, spanned = model.network_, 0
    assert len(model.spanning_rows_) == len(network.W1)
    for v, b, rows in zip(network.W1, network.b1, model.spanning_rows_, strict=True):
        assert (w[rows] > 0).all()
        on = X[rows] @ v + b
        assert (np.abs(on) <= 1e-9 * np.abs(v).max()).all()
        # m rows and the columns without a weight leave one direction, and the rows alone are spread
        kept = np.flatnonzero(np.abs(v) > 1e-9 * np.abs(v).max())
        assert len(rows) >= len(kept) - 1
        spanned += len(rows)
    assert spanned > 0
    assert ConvexNetworkRegressor(n_neurons=5).fit(X, y).spanning_rows_ is None


def test_the_promise_is_that_of_held_out_rows(wave):
    X, y = wave
    model = ConvexNetworkRegressor(n_neurons=6).fit(X, y)
    rest = np.sum((y - model.loo_predictions_) ** 2) / np.sum((y - y.mean()) ** 2)
    assert 1 - rest == pytest.approx(model.loo_score_)
    best = model.path_[0]
    assert best.score == pytest.approx(rest)
    assert best == min(model.path_, key=lambda one: one.score)
    low, high = model.predict_interval(X)
    assert 0.8 <= np.mean((low <= y) & (y <= high)) <= 1


@slow
@pytest.mark.parametrize("gates", GATES)
def test_classes_weights_and_probabilities(gates):
    X, y = (one[::2] for one in load_iris(return_X_y=True))
    w = np.random.default_rng(0).integers(0, 3, len(y))
    labels = np.array(["a", "b", "c"])[y]
    model = ConvexNetworkClassifier(gates=gates, n_neurons=10, class_weight="balanced").fit(X, labels, w)
    assert model.score(X, labels) > 0.93
    assert 0.9 < model.loo_score_ <= 1
    p = model.predict_proba(X)
    np.testing.assert_allclose(p.sum(axis=1), 1)
    assert -np.log(p[np.arange(len(y)), y]).mean() < 0.3
    assert model.certificate_.verify(X, labels).relative_gap < 1e-5
    assert model.selection_certificate_.verify(X, labels).relative_gap < 1e-5
    copies = ConvexNetworkClassifier(gates=gates, n_neurons=10).fit(np.repeat(X, w, axis=0), np.repeat(labels, w))
    again = ConvexNetworkClassifier(gates=gates, n_neurons=10).fit(X, labels, w)
    assert again.path_[0].score == pytest.approx(copies.path_[0].score, rel=1e-2)
    if gates == "cross":  # what climbs makes other neurons, as good, of the last bits of the weights
        np.testing.assert_allclose(again.predict_proba(X), copies.predict_proba(X), atol=1e-6)


@slow
def test_groups_are_held_out_together():
    """Rows of a group share its offset: plain folds know it, new groups do not."""
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(12), 10)
    places = rng.standard_normal((12, 3))
    X = places[group] + 0.05 * rng.standard_normal((120, 3))
    y = rng.standard_normal(12)[group]
    model = ConvexNetworkRegressor(n_neurons=12)
    assert clone(model).fit(X, y, groups=group).loo_score_ < 0.3 < 0.6 < model.fit(X, y).loo_score_


@slow
@pytest.mark.parametrize(
    ("load", "gates"),
    [(load_iris, "cross"), (load_wine, "free"), (load_breast_cancer, "cross"), (load_diabetes, "free")],
)
def test_twenty_neurons_are_about_as_good(load, gates):
    """Within 4 points of infinitely many on two halves: some 2 standard errors of the mean for iris and wine.

    Of the larger tables 150 rows are learned, and all the others tell.
    """
    X, y = load(return_X_y=True)
    kind = ConvexNetworkRegressor if load is load_diabetes else ConvexNetworkClassifier
    few, many = [], []
    for seed in range(2):
        order = np.random.default_rng(seed).permutation(len(X))
        train, test = np.split(order, [min(len(X) // 2, 150)])
        few.append(kind(gates=gates, n_neurons=20).fit(X[train], y[train]).score(X[test], y[test]))
        many.append(kind(rounds=0).fit(X[train], y[train]).score(X[test], y[test]))
    assert np.mean(few) > np.mean(many) - 0.04


@slow
def test_a_beta_that_is_given_is_solved_for(wave):
    X, y = wave
    model = ConvexNetworkRegressor(gates="cross", beta=0.02).fit(X, y)
    assert model.beta_ == model.certificate_.beta == 0.02
    assert model.selection_certificate_ is model.certificate_
    assert [one.beta for one in model.path_] == [0.02]
    assert "global" in model.certificate_.scope  # all planes of 80 rows of the plane
    few = ConvexNetworkRegressor(gates="cross", beta=0.02, n_neurons=2).fit(X, y)
    assert len(few.network_.W1) <= 2 < len(model.network_.W1)
    assert few.selection_certificate_.primal == pytest.approx(model.certificate_.primal, rel=1e-5)


@pytest.mark.parametrize("gates", ["free", "cross"])
def test_where_time_is_over_the_network_is_the_one_that_the_path_came_to(gates):
    """Solvers begin with its weights, so what is left of the time only makes it better."""
    X, y = make_friedman1(400, n_features=6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time ended the selection of beta after 1 of 14 values"):
        model = ConvexNetworkRegressor(gates=gates, max_time=1e-6).fit(X[:200], y[:200])
    assert "neurons; max_time ended the selection of beta after 1 of 14 values" in model.reason_
    assert model.score(X[200:], y[200:]) > 0.5
    assert model.certificate_.relative_gap < 0.01


@slow
def test_more_rows_than_are_searched(wave, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.network.sparse_network._JUDGED", 100)
    X, y = make_friedman1(250, noise=1.0, random_state=0)
    for gates in GATES:
        model = ConvexNetworkRegressor(gates=gates, n_neurons=15).fit(X, y)
        assert model.certificate_.verify(X, y).relative_gap < 2e-6
        assert model.loo_score_ > 0.6
        for v, b, rows in zip(model.network_.W1, model.network_.b1, model.spanning_rows_ or [], strict=False):
            assert (np.abs(X[rows] @ v + b) <= 1e-9 * np.abs(v).max()).all()


def test_a_path_is_followed_to_the_optimum():
    """Objectives of the path are within 1 % of those of a solver with a certificate, for one output and for two."""
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.standard_normal((60, 3)), np.ones(60)])
    for outputs in (1, 2):
        y = np.maximum(Z @ rng.standard_normal((4, outputs)), 0) + 0.1 * rng.standard_normal((60, outputs))
        w = rng.uniform(0.5, 2, 60)
        w /= w.mean()
        path = GroupLassoPath(Z, y, w, "cross")
        problem = LassoProblem(path.atoms.columns(Z), y, path.top, sample_weight=w)
        assert problem.beta_max() == pytest.approx(path.top, rel=1e-9)
        for share in (0.5, 0.1, 0.01):
            problem.beta = share * path.top
            chosen, best = path.at(problem.beta), WorkingSet(tol=1e-8).solve_columns(problem).objective
            assert best * (1 - 1e-7) <= problem.objective(chosen) <= 1.01 * best


def test_what_climbs_rises_to_stationary_points():
    rng = np.random.default_rng(0)
    Z, theta = rng.standard_normal((100, 4)), rng.standard_normal((100, 2))
    start = rng.standard_normal((4, 30))
    start /= np.linalg.norm(start, axis=0)
    value = lambda V: np.linalg.norm(theta.T @ np.maximum(Z @ V, 0), axis=0)  # noqa: E731
    V = climbed(Z, theta, start)
    np.testing.assert_allclose(np.linalg.norm(V, axis=0), 1)
    assert np.median(value(V) / value(start)) > 1.2
    best = V[:, value(V).argmax()]
    step = np.linspace(-1e-3, 1e-3, 5)
    for direction in np.eye(4):
        around = best[:, None] + direction[:, None] * step
        assert value(around / np.linalg.norm(around, axis=0)).max() <= value(V).max() * (1 + 1e-6)


@pytest.mark.parametrize("gates", FREE_FIRST)
@pytest.mark.parametrize("task", ["numbers", pytest.param("classes", marks=slow)])
def test_files_bring_everything_back(wave, tmp_path, gates, task):
    X, y = wave[0][:40], wave[1][:40]
    if task == "classes":
        y = np.array(["low", "mid", "high"])[(y > -0.3).astype(int) + (y > 0.5)]
    kind = ConvexNetworkClassifier if task == "classes" else ConvexNetworkRegressor
    model = kind(gates=gates, n_neurons=5).fit(X, y)
    save_model(tmp_path / "m.npz", model)
    back = load_model(tmp_path / "m.npz")
    assert back.get_params() == model.get_params()
    assert back.path_ == model.path_
    for name in ("W1", "b1", "w2", "b2"):
        np.testing.assert_array_equal(getattr(back.network_, name), getattr(model.network_, name))
    method = "predict_proba" if task == "classes" else "predict"
    np.testing.assert_array_equal(getattr(back, method)(X), getattr(model, method)(X))
    assert back.certificate_.verify(X, y).relative_gap == model.certificate_.verify(X, y).relative_gap
    assert back.certificate_.scope == model.certificate_.scope
    if gates == "cross":
        assert [list(rows) for rows in back.spanning_rows_] == [list(rows) for rows in model.spanning_rows_]


def test_nothing_to_learn():
    X = np.random.default_rng(0).standard_normal((30, 2))
    model = ConvexNetworkRegressor(n_neurons=3).fit(X, np.full(30, 7.0))
    assert len(model.network_.W1) == 0
    np.testing.assert_allclose(model.predict(X), 7)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_neurons": 0}, "'n_neurons' parameter of ConvexNetworkRegressor must be an integer"),
        ({"n_neurons": 2.5}, "'n_neurons'"),
        ({"n_neurons": 5, "gates": "infinite"}, "None with gates='infinite'"),
        ({"gates": "gaussian"}, "'gates'"),
        ({"n_neurons": 5, "rounds": 2}, "'auto' or 0 for a finite network"),
        ({"gates": "cross", "rounds": 1}, "'auto' or 0 for a finite network"),
    ],
)
def test_contradictions_are_refused(wave, options, message):
    with pytest.raises(ArgumentError, match=message):
        ConvexNetworkRegressor(**options).fit(*wave)


def test_the_logistic_loss_is_refused(wave):
    X, y = wave
    with pytest.raises(ArgumentError, match="'squared' for a finite network"):
        ConvexNetworkClassifier(n_neurons=5, loss="logistic").fit(X, y > 0)
