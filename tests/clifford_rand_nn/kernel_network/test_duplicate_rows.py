"""Leave-one-out of duplicate rows: by refits row by row; repeated rows and groups stay left out together."""

from dataclasses import replace

import numpy as np
import pytest

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor
from clifford_rand_nn.estimators.unique_rows import Data, LabeledRows, UniqueRows
from clifford_rand_nn.kernel_network.cholesky import KernelRidge
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import Duplicates, LeaveOneOut
from clifford_rand_nn.kernel_network.many_rows import solve_many
from clifford_rand_nn.kernel_network.newton_path import NewtonPath
from clifford_rand_nn.problems.loss_registry import make_datafit
from clifford_rand_nn.solvers.base import Limits

KERNEL, BETA = GateKernel(1.0), 0.02


def _data(weights, n=40, seed=0):
    """Rows of which most have duplicates with other targets, of two outputs."""
    rng = np.random.default_rng(seed)
    X = rng.integers(-1, 3, (n, 2)).astype(float)
    Y = np.column_stack([X[:, 0], X.sum(axis=1)]) + rng.standard_normal((n, 2))
    w = {"none": None, "two": rng.choice([0.5, 2.0], n), "any": rng.uniform(0.2, 3.0, n)}[weights]
    return Data(X, Y, None if w is None else w / w.mean(), None)


def _refits(data):
    """Predictions of each row by a fit to the others, whose n·beta and weights stay."""
    K, n = KERNEL(data.X), len(data.X)
    w = np.ones(n) if data.weights is None else data.weights
    out = np.empty_like(data.targets)
    for j in range(n):
        kept = np.delete(np.arange(n), j)
        alpha, t = KernelRidge(K[np.ix_(kept, kept)], w[kept]).fit(data.targets[kept], n * BETA)
        out[j] = K[j, kept] @ alpha + t
    return out, w


@pytest.mark.parametrize("weights", ["none", "two", "any"])
def test_what_is_left_out_is_what_refits_without_one_row_say(weights):
    data = _data(weights)
    unique, (refits, w) = UniqueRows.of(data), _refits(data)
    m, n, problem = len(unique), len(data.X), unique.problem
    assert m < n / 2
    loo = LeaveOneOut(KERNEL(problem.X), problem.targets, problem.weights, None, problem.duplicates)
    beta = BETA  # merged weights have mean 1 over m rows: m·beta times the mean mass n/m is n·beta
    left = loo.left(beta)
    out = unique.left_out(loo.predictions(np.array([beta]))[0], left)
    np.testing.assert_allclose(out, refits, atol=1e-9)
    errors = (w[:, None] * (data.targets - refits) ** 2).sum(axis=0) / n
    np.testing.assert_allclose(loo.errors(np.array([beta]))[0], errors, rtol=1e-9)
    apart = LeaveOneOut(KERNEL(data.X), data.targets, data.weights).variances(BETA)
    np.testing.assert_allclose(unique.left_out_variance(loo.variances(beta), left), apart, rtol=1e-6)


def test_beyond_eigenvectors_rows_are_left_the_same_share_of_their_residuals():
    problem = UniqueRows.of(_data("any", n=80)).problem
    found = solve_many(KERNEL, problem.X, problem.targets, problem.weights, betas=(BETA,), way="factor")
    left = LeaveOneOut(KERNEL(problem.X), problem.targets, problem.weights).left(BETA)
    np.testing.assert_allclose(found.left, left[found.unseen_rows], rtol=1e-4)  # of a factor in single precision


@pytest.mark.parametrize("few", [False, True])
def test_the_default_beyond_eigenvectors_leaves_out_one_duplicate(few, monkeypatch):
    """As up to there, but for rows that are too few to judge by: these are predicted as where they were compared."""
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 10)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training._LEAST_OUT_OF_SAMPLE", 100 if few else 5)
    data = _data("none", n=60)
    many = ConvexNetworkRegressor(max_metric_iter=0, beta=BETA).fit(data.X, data.targets)
    monkeypatch.undo()
    one = ConvexNetworkRegressor(max_metric_iter=0, beta=BETA).fit(data.X, data.targets)
    np.testing.assert_allclose(many.loo_predictions_, one.loo_predictions_, rtol=1e-3, atol=1e-3)


def test_some_rows_keep_their_observations():
    unique = UniqueRows.of(_data("any"))
    rows = np.array([5, 2, 8])
    some, alone = unique.problem.duplicates.take(rows), np.isin(unique.place, rows)
    place = np.array([rows.tolist().index(row) for row in unique.place[alone]])
    off = unique.data.targets - unique.problem.targets[unique.place]
    direct = Duplicates.of(place, unique.share[alone], off[alone])
    for part, other in zip(some, direct, strict=True):
        np.testing.assert_allclose(part, other, atol=1e-14)


def test_repeated_rows_are_left_out_together():
    """Not overconfident: with each row five times, or more often, leave-one-out says what it says of weights."""
    rng = np.random.default_rng(1)
    X, times = rng.standard_normal((60, 2)), rng.integers(1, 6, 60)
    y = X[:, 0] + rng.standard_normal(60)
    many = np.repeat(np.arange(60), times)
    weighted, repeated = ConvexNetworkRegressor().fit(X, y, times), ConvexNetworkRegressor().fit(X[many], y[many])
    assert repeated.loo_score_ == pytest.approx(weighted.loo_score_, abs=1e-9)
    np.testing.assert_allclose(repeated.loo_predictions_, weighted.loo_predictions_[many], atol=1e-9)
    labels = (y > 0).astype(int)
    times = np.where(labels == 1, 9, 1)  # oversampled
    many = np.repeat(np.arange(60), times)
    weighted, repeated = (
        ConvexNetworkClassifier().fit(X, labels, times),
        ConvexNetworkClassifier().fit(X[many], labels[many]),
    )
    np.testing.assert_allclose(repeated.loo_probabilities_, weighted.loo_probabilities_[many], atol=1e-6)
    assert repeated.loo_score_ == pytest.approx(weighted.loo_score_, abs=1e-9)


def test_groups_are_left_out_as_a_whole():
    data = _data("none")
    groups = np.arange(len(data.X)) % 7
    assert UniqueRows.of(replace(data, groups=groups)).share is None
    assert UniqueRows.of(data).share is not None


@pytest.mark.parametrize("classes", [2, 3])
def test_a_share_of_a_row_is_left_out_of_the_logistic_loss_as_one_of_its_duplicates(classes):
    rng = np.random.default_rng(2)
    X = rng.integers(-2, 3, (70, 2)).astype(float)
    index = np.argmax(X @ rng.standard_normal((2, classes)) + rng.gumbel(size=(70, classes)), axis=1)
    codes = np.eye(classes)[index] * 2 - 1
    unique = UniqueRows.of(Data(X, codes[:, 1:] if classes == 2 else codes, None, None))
    labeled = LabeledRows.make(unique, index, classes)
    assert labeled.share.min() < 0.5

    def left_out(rows, y, weights, share, beta):
        loss, y = ("logistic", np.where(y == 1, 1.0, -1.0)) if classes == 2 else ("softmax", np.eye(classes)[y])
        datafit = make_datafit(loss, y, len(rows), "test", None, weights)
        path = NewtonPath(KERNEL(rows), datafit, share=share)
        return path.fit(beta, Limits.of("test", max_iter=100, tol=1e-9)).leave_one_out

    alone = left_out(X, index, None, None, BETA)
    merged = left_out(X[labeled.first], labeled.label, labeled.mass / labeled.mass.mean(), labeled.share, BETA)
    np.testing.assert_allclose(merged[labeled.of], alone, atol=0.005)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_regressor_leaves_out_one_duplicate(weighted):
    data = _data("two" if weighted else "none", n=60)
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(data.X, data.targets[:, 0], data.weights)
    kernel, rows = model.network_.kernel, model.network_.standard.rows(data.X)
    K, w = kernel(rows), np.ones(60) if data.weights is None else data.weights
    for j in range(0, 60, 7):
        kept = np.delete(np.arange(60), j)
        alpha, t = KernelRidge(K[np.ix_(kept, kept)], w[kept]).fit(data.targets[kept, :1], 60 * model.beta_)
        assert model.loo_predictions_[j] == pytest.approx(float((K[j, kept] @ alpha + t)[0]), abs=1e-6)
