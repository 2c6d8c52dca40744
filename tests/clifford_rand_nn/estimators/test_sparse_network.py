"""Sparse networks: plain arrays, certificates, leave-one-out score, spanning rows, files, the path and its climb."""

import numpy as np
import pytest
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, load_iris, load_wine, make_friedman1
from sklearn.exceptions import ConvergenceWarning

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from clifford_rand_nn.estimators.lasso_paths import GroupLassoPath, climbed
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet

GATES = ["optimized", "row_spanned"]
RNG = np.random.default_rng(0)
X = RNG.uniform(-2, 2, (50, 2))
Y = np.sin(2 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * RNG.standard_normal(50)
WEIGHTS = RNG.integers(0, 3, 50).astype(float)


@pytest.fixture(scope="module", params=GATES)
def fitted(request):
    return ConvexNetworkRegressor(gates=request.param, n_neurons=5).fit(X, Y, WEIGHTS)


def is_certified(model, X, y):
    network, size = model.network_, np.abs(y).max()
    assert network.gates is None
    assert 1 <= len(network.W1) <= 5
    plain = np.maximum(X @ network.W1.T + network.b1, 0) @ network.w2 + network.b2
    np.testing.assert_allclose(plain[:, 0] / size, model.predict(X) / size, atol=1e-10)
    for proof in (model.certificate_, model.selection_certificate_):
        verified = proof.verify(X, y)
        assert verified.relative_gap < 2e-6
        assert verified.objective == pytest.approx(proof.objective, rel=1e-9)
        assert verified.lower_bound == pytest.approx(proof.lower_bound, rel=1e-6)
    assert model.selection_certificate_.n_patterns > model.certificate_.n_patterns


def test_plain_arrays_predict_and_both_certificates_hold(fitted):
    is_certified(fitted, X, Y)


@pytest.mark.slow
@pytest.mark.parametrize(("gates", "scale"), [("optimized", 1e-150), ("row_spanned", 1e180)])
def test_so_they_do_for_data_of_any_size(gates, scale):
    rows, y = X[:30] * scale, Y[:30] * min(scale, 1e120)
    is_certified(ConvexNetworkRegressor(gates=gates, n_neurons=5).fit(rows, y), rows, y)


def test_a_certificate_is_that_of_the_network(fitted):
    """Another network over the same neurons has a larger objective; the least one is that of another solver."""
    proof, w = fitted.certificate_, WEIGHTS / WEIGHTS.sum()
    claim = proof.claim
    rows, members = claim.standard.rows(X), claim.family.members
    K = np.maximum(np.column_stack([rows, np.full(50, claim.family.feature)]) @ members.directions, 0)

    def objective(z):  # signs apart, so that it is smooth
        half = len(z) // 2
        r = K @ (z[:half] - z[half : 2 * half]) + z[-1] - Y
        slope = K.T @ (w * r)
        gradient = np.concatenate([slope + proof.beta, proof.beta - slope, [w @ r]])
        return w @ r**2 / 2 + proof.beta * z[:-1].sum(), gradient

    start = np.full(2 * K.shape[1] + 1, 0.1)
    bounds = [(0, None)] * (len(start) - 1) + [(None, None)]
    options = {"maxiter": 5000, "maxfun": 10**6, "ftol": 1e-14, "gtol": 1e-10}
    least = minimize(objective, start, jac=True, bounds=bounds, options=options).fun
    assert proof.objective == pytest.approx(least, rel=1e-4)
    assert proof.objective <= least * (1 + 1e-6)


@pytest.mark.slow
def test_rounding_of_the_rows_decides_nothing():
    """Rows that span a plane of the list are off as it climbs; by the sign of their margin, rounding chose the beta."""
    rng = np.random.default_rng(7)
    X = rng.standard_normal((60, 4))
    y = np.maximum(X @ rng.standard_normal((4, 6)), 0) @ rng.standard_normal(6) + 0.3 * rng.standard_normal(60)
    near = X * (1 + 1e-15 * rng.standard_normal(X.shape))
    first, other = (ConvexNetworkRegressor(n_neurons=6).fit(rows, y) for rows in (X, near))
    assert other.beta_ == pytest.approx(first.beta_, rel=1e-12)
    assert other.certificate_.objective == pytest.approx(first.certificate_.objective, rel=1e-10)


@pytest.mark.slow
def test_rows_span_the_hyperplanes():
    X, y = make_friedman1(40, n_features=5, noise=1.0, random_state=0)
    X, y = np.vstack([X, X[:10]]), np.append(y, y[:10])
    w = np.random.default_rng(0).integers(0, 3, 50)
    model = ConvexNetworkRegressor(gates="row_spanned", n_neurons=6).fit(X, y, w)
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


def test_the_score_is_that_of_held_out_rows(fitted):
    kept = WEIGHTS > 0
    y, w = Y[kept], WEIGHTS[kept]
    rest = w @ (y - fitted.loo_predictions_[kept]) ** 2 / (w @ (y - np.average(y, weights=w)) ** 2)
    assert 1 - rest == pytest.approx(fitted.loo_score_)
    best = fitted.neuron_scores_[0]
    assert best.mean_loss == pytest.approx(rest)
    assert best == min(fitted.neuron_scores_, key=lambda step: step.mean_loss)
    low, high = fitted.predict_interval(X[kept])
    assert 0.8 <= np.average((low <= y) & (y <= high), weights=w) <= 1


@pytest.mark.slow
@pytest.mark.parametrize("gates", GATES)
def test_classes_weights_and_probabilities(gates):
    X, y = (part[::2] for part in load_iris(return_X_y=True))
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
    assert again.neuron_scores_[0].mean_loss == pytest.approx(copies.neuron_scores_[0].mean_loss, rel=1e-2)
    if gates == "row_spanned":  # what climbs makes other neurons, as good, of the last bits of the weights
        np.testing.assert_allclose(again.predict_proba(X), copies.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_groups_are_held_out_together():
    rng = np.random.default_rng(0)
    group = np.repeat(np.arange(10), 8)
    places = rng.standard_normal((10, 3))
    X = places[group] + 0.05 * rng.standard_normal((80, 3))
    y = rng.standard_normal(10)[group]
    model = ConvexNetworkRegressor(n_neurons=8)
    assert clone(model).fit(X, y, groups=group).loo_score_ < 0.3 < 0.6 < model.fit(X, y).loo_score_


@pytest.mark.slow
@pytest.mark.parametrize(
    ("load", "gates"), [(load_wine, "optimized"), (load_breast_cancer, "row_spanned"), (load_diabetes, "optimized")]
)
def test_twenty_neurons_are_about_as_good(load, gates):
    """Within 5 points of infinitely many neurons, by those rows of a table that are not among 100 for training."""
    X, y = load(return_X_y=True)
    kind = ConvexNetworkRegressor if load is load_diabetes else ConvexNetworkClassifier
    train, test = np.split(np.random.default_rng(0).permutation(len(X)), [100])
    models = kind(gates=gates, n_neurons=20), kind(max_metric_iter=0)
    few, many = (model.fit(X[train], y[train]).score(X[test], y[test]) for model in models)
    assert few > many - 0.05


@pytest.mark.slow
def test_a_beta_that_is_given_is_solved_for():
    model = ConvexNetworkRegressor(gates="row_spanned", beta=0.02).fit(X, Y)
    assert model.beta_ == model.certificate_.beta == 0.02
    assert model.selection_certificate_ is model.certificate_
    assert [step.beta for step in model.neuron_scores_] == [0.02]
    assert "global" in model.certificate_.scope  # all planes of 50 rows of the plane
    few = ConvexNetworkRegressor(gates="row_spanned", beta=0.02, n_neurons=2).fit(X, Y)
    assert len(few.network_.W1) <= 2 < len(model.network_.W1)
    assert few.selection_certificate_.objective == pytest.approx(model.certificate_.objective, rel=1e-5)


@pytest.mark.parametrize("gates", GATES)
def test_where_time_is_over_the_network_is_the_one_that_the_path_came_to(gates):
    """Solvers begin with its weights, so what is left of the time only makes it better."""
    X, y = make_friedman1(250, n_features=6, random_state=0)
    with pytest.warns(ConvergenceWarning, match="max_time ended the selection of beta after 1 of 14 values"):
        model = ConvexNetworkRegressor(gates=gates, max_time=1e-6).fit(X[:150], y[:150])
    assert "neurons; max_time ended the selection of beta after 1 of 14 values" in model.result_.reason
    assert model.score(X[150:], y[150:]) > 0.5
    assert model.certificate_.relative_gap < 0.01


@pytest.mark.slow
@pytest.mark.parametrize("gates", GATES)
def test_more_rows_than_are_searched(gates, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.estimators.sparse_network._JUDGED", 60)
    X, y = make_friedman1(150, noise=1.0, random_state=0)
    model = ConvexNetworkRegressor(gates=gates, n_neurons=12).fit(X, y)
    assert model.certificate_.verify(X, y).relative_gap < 2e-6
    assert model.loo_score_ > 0.5
    for v, b, rows in zip(model.network_.W1, model.network_.b1, model.spanning_rows_ or [], strict=False):
        assert (np.abs(X[rows] @ v + b) <= 1e-9 * np.abs(v).max()).all()


@pytest.mark.parametrize("outputs", [1, 2])
def test_a_path_is_followed_to_the_optimum(outputs):
    rng = np.random.default_rng(0)
    Z = np.column_stack([rng.standard_normal((60, 3)), np.ones(60)])
    y = np.maximum(Z @ rng.standard_normal((4, outputs)), 0) + 0.1 * rng.standard_normal((60, outputs))
    w = rng.uniform(0.5, 2, 60)
    w /= w.mean()
    path = GroupLassoPath(Z, y, w, "row_spanned")
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
