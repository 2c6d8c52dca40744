"""Logistic loss and softmax over a kernel: against scikit-learn, the dual by hand, refits without rows, and laws."""

import numpy as np
import pytest
from scipy.special import log_softmax, xlogy
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.linear_model import LogisticRegression

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkClassifier
from clifford_rand_nn.kernel_network import approximate_leave_one_out as left_out_module
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, KernelMatrix, KernelProblem
from clifford_rand_nn.kernel_network.newton_path import seconds
from clifford_rand_nn.problems.loss_registry import make_datafit
from clifford_rand_nn.solvers import kernel_newton
from support.newton_path import logistic_path


def _rows(n=60, d=3, C=2, seed=0, noise=0.5):
    """Return a kernel matrix, targets and features."""
    rng = np.random.default_rng([seed, n, d, C])
    X = rng.standard_normal((n, d))
    scores = np.column_stack([np.sin(2 * X[:, 0]) + X[:, 1], X[:, 0] * X[:, 1], *rng.standard_normal((C, n))])[:, :C]
    index = (scores + noise * rng.standard_normal((n, C))).argmax(axis=1)
    index[:C] = np.arange(C)
    return GateKernel(bias=1.0)(X), _targets(index, C), X


def _targets(index, C):
    return np.where(index == 1, 1.0, -1.0)[:, None] if C == 2 else np.eye(C)[index]


def _losses(f, y):
    """Return the losses of rows, by the textbook."""
    if y.shape[1] == 1:
        return np.logaddexp(0, -y * f)[:, 0]
    return -np.sum(y * log_softmax(f, axis=1), axis=1)


def _loss(y):
    return "logistic" if y.shape[1] == 1 else "softmax"


def _refits(K, y, radius, parts, weights=None):
    """Return the predictions of groups of rows by fits to the others, with the sum of their losses as it was."""
    out = np.empty(y.shape)
    for g in parts:
        m = np.ones(len(y), bool)
        m[g] = False
        w = np.ones(m.sum()) if weights is None else weights[m]
        # the mean has weights of mean 1: the sum of the losses is w.mean() times that of m.sum() rows
        beta = radius / w.sum()
        fit = logistic_path(K[np.ix_(m, m)], y[m], w, [beta], _loss(y), tol=1e-8, leave_out=False)[0]
        out[g] = K[np.ix_(g, m)] @ fit.alpha + fit.intercept
    return out


# ---- the fit


@pytest.mark.parametrize("C", [2, 4])
@pytest.mark.parametrize("weighted", [False, True])
def test_linear_kernel_is_scikit_learns_logistic_regression(C, weighted):
    _, y, X = _rows(C=C)
    w = np.random.default_rng(1).uniform(0.3, 2, size=len(y)) if weighted else None
    fit = logistic_path(X @ X.T, y, w, [0.01], _loss(y), tol=1e-11)[0]
    index = (y[:, 0] > 0).astype(int) if C == 2 else y.argmax(axis=1)
    # one column for two classes has twice the penalty on the difference of two columns, and scikit-learn does as we do
    omega = np.ones(len(y)) if w is None else w / w.mean()
    peer = LogisticRegression(C=1 / (len(y) * 0.01), tol=1e-12, max_iter=20000).fit(X, index, sample_weight=omega)
    np.testing.assert_allclose(X.T @ fit.alpha, peer.coef_.T, atol=2e-5)
    intercept = peer.intercept_ - (peer.intercept_.mean() if C > 2 else 0)
    np.testing.assert_allclose(fit.intercept, intercept, atol=2e-5)
    assert fit.status == "optimal"


@pytest.mark.parametrize("C", [2, 3])
def test_gap_is_objective_less_dual_value_by_hand(C):
    K, y, _ = _rows(C=C)
    w = np.random.default_rng(2).uniform(0.3, 2, size=len(y))
    w /= w.mean()
    n, beta = len(y), 0.02
    fit = logistic_path(K, y, w, [beta], _loss(y), max_iter=2, tol=1e-12)[0]
    objective = w @ _losses(fit.fitted, y) / n + beta / 2 * np.trace(fit.alpha.T @ K @ fit.alpha)
    np.testing.assert_allclose(fit.fitted, K @ fit.alpha + fit.intercept, atol=1e-10)
    assert fit.objective == pytest.approx(objective, rel=1e-12)
    theta = fit.dual_point
    np.testing.assert_allclose(theta.sum(axis=0), 0, atol=1e-9)
    p = y * theta / w[:, None] if C == 2 else y - theta / w[:, None]
    entropy = -xlogy(p, p).sum(axis=1) - (xlogy(1 - p, 1 - p)[:, 0] if C == 2 else 0)
    dual = w @ entropy / n - np.trace(theta.T @ K @ theta) / (2 * n**2 * beta)
    assert fit.duality_gap == pytest.approx(objective - dual, abs=1e-12)
    assert fit.duality_gap > 1e-9  # two steps do not end it, so that the gap is seen
    assert fit.status == "max_iter"


@pytest.mark.parametrize("C", [2, pytest.param(3, marks=pytest.mark.slow)])
def test_path_meets_its_tolerance_and_fits_do_not_depend_on_it(C):
    K, y, _ = _rows(n=40, C=C)
    betas = np.geomspace(1, 1e-6, 9)
    fits = logistic_path(K, y, None, betas, _loss(y), tol=1e-9)
    assert [fit.status for fit in fits] == ["optimal"] * 9
    assert max(fit.relative_gap for fit in fits) <= 1e-9
    alone = logistic_path(K, y, None, betas[[6]], _loss(y), tol=1e-9)[0]
    np.testing.assert_allclose(fits[6].fitted, alone.fitted, atol=1e-3 * np.abs(alone.fitted).max())
    rising = logistic_path(K, y, None, betas[::-1], _loss(y), tol=1e-9)
    np.testing.assert_allclose([f.objective for f in rising[::-1]], [f.objective for f in fits], rtol=1e-8)


@pytest.mark.slow
def test_softmax_of_two_classes_is_the_logistic_loss_at_half_beta(monkeypatch):
    monkeypatch.setattr(left_out_module, "_FAR", 0.0)  # all rows by fits to the others
    monkeypatch.setattr(left_out_module, "_REFINED", 1000)
    K, y, _ = _rows()
    hot = np.eye(2)[(y[:, 0] > 0).astype(int)]
    two = logistic_path(K, hot, None, [0.02], "softmax", tol=1e-11)[0]
    one = logistic_path(K, y, None, [0.01], tol=1e-11)[0]
    difference = np.array([[-1.0], [1.0]])
    np.testing.assert_allclose(two.fitted @ difference, one.fitted, rtol=1e-4)
    np.testing.assert_allclose(two.leave_one_out @ difference, one.leave_one_out, atol=1e-3)
    refits = _refits(K, y, 60 * 0.01, np.arange(60)[:, None])
    np.testing.assert_allclose(one.leave_one_out, refits, atol=1e-3)
    np.testing.assert_allclose(two.alpha.sum(axis=1), 0, atol=1e-9)


@pytest.mark.parametrize("C", [2, 3])
def test_weights_are_copies_of_rows_left_out_together(C):
    K, y, _ = _rows(n=40, C=C)
    times = np.random.default_rng(3).integers(1, 4, size=40)
    copies = np.repeat(np.arange(40), times)
    beta = 0.02
    weighted = logistic_path(K, y, times, [beta], _loss(y), tol=1e-10)[0]
    many = logistic_path(K[np.ix_(copies, copies)], y[copies], None, [beta], _loss(y), groups=copies, tol=1e-10)[0]
    np.testing.assert_allclose(many.fitted, weighted.fitted[copies], atol=1e-4)
    np.testing.assert_allclose(many.leave_one_out, weighted.leave_one_out[copies], atol=2e-3)


def test_order_of_rows_changes_nothing():
    K, y, _ = _rows(C=3)
    order = np.random.default_rng(4).permutation(len(y))
    a = logistic_path(K, y, None, [0.01], "softmax", tol=1e-10)[0]
    b = logistic_path(K[np.ix_(order, order)], y[order], None, [0.01], "softmax", tol=1e-10)[0]
    np.testing.assert_allclose(b.leave_one_out, a.leave_one_out[order], atol=1e-4)


# ---- without rows


def _set(name):
    """Return 100 rows: noisy and clean, few and many columns, two to six classes, real and made."""
    if name in REAL:
        X, index = REAL[name](return_X_y=True)
        rows = np.random.default_rng(0).permutation(len(X))[:100]
        X = (X[rows] - X[rows].mean(axis=0)) / X[rows].std(axis=0)
        return GateKernel(bias=2.0)(X), _targets(index[rows], index.max() + 1)
    d, C, noise = (float(part) for part in name.split())
    return _rows(n=100, d=int(d), C=int(C), seed=int(d), noise=noise)[:2]


REAL = {"cancer": load_breast_cancer, "wine": load_wine, "iris": load_iris}
FAST = ["2 2 0.2"]
SLOW = ["6 2 0.8", "4 3 0.5", "wine", "9 2 0.4", "3 6 0.5", "5 4 0.5", "cancer", "iris"]


@pytest.mark.parametrize("name", [*FAST, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)])
def test_leave_one_out_is_within_two_per_cent_of_refits(name):
    K, y = _set(name)
    betas = np.trace(K) / 100**2 * np.geomspace(10, 1e-3, 9)
    fits = logistic_path(K, y, None, betas, _loss(y))
    fit = min(fits, key=lambda one: _losses(one.leave_one_out, y).mean())
    rows = np.arange(50 if y.shape[1] == 1 else 20)
    true = _refits(K, y, 100 * fit.beta, rows[:, None])[rows]
    found, wanted = fit.leave_one_out[rows], true - (true.mean(axis=1, keepdims=True) if y.shape[1] > 1 else 0)
    assert _losses(found, y[rows]).mean() == pytest.approx(_losses(true, y[rows]).mean(), rel=0.02)
    assert np.sqrt(np.mean((found - wanted) ** 2) / np.mean(wanted**2)) < 0.02


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_group_out_is_within_two_per_cent_of_refits(C, weighted):
    K, y, _ = _rows(n=90, C=C)
    groups = np.random.default_rng(5).integers(25, size=90)
    w = np.random.default_rng(6).uniform(0.5, 2, size=90) if weighted else None
    parts = [np.flatnonzero(groups == g) for g in np.unique(groups)]
    fit = logistic_path(K, y, w, [0.02], _loss(y), groups=groups.astype(str))[0]
    true = _refits(K, y, 90 * 0.02, parts, None if w is None else w / w.mean())
    assert _losses(fit.leave_one_out, y).mean() == pytest.approx(_losses(true, y).mean(), rel=0.02)


@pytest.mark.slow
def test_each_term_brings_leave_one_out_nearer_to_refits(monkeypatch):
    K, y, _ = _rows(n=100, noise=1.0)
    true = _refits(K, y, 0.1, np.arange(100)[:, None])

    def error():
        return np.abs(logistic_path(K, y, None, [0.001], tol=1e-9)[0].leave_one_out - true).max()

    refined = error()
    monkeypatch.setattr(left_out_module, "_REFINED", 0)
    second = error()
    monkeypatch.setattr(left_out_module, "_MOST", 0.0)
    assert refined < 0.3 * second < 0.15 * error()


def test_steps_in_single_precision_lead_to_the_same_fit(monkeypatch):
    K, y, _ = _rows(n=80)
    betas = np.geomspace(1, 1e-4, 5)
    double = logistic_path(K, y, None, betas)
    monkeypatch.setattr(kernel_newton, "MANY_ROWS", 1)
    for a, b in zip(logistic_path(K, y, None, betas), double, strict=True):
        assert a.relative_gap <= 1e-6
        np.testing.assert_allclose(a.leave_one_out, b.leave_one_out, rtol=2e-3, atol=2e-3)


# ---- limits and refusals


def test_limits_end_the_path():
    K, y, _ = _rows()
    soon = logistic_path(K, y, None, [1.0, 0.1], max_time=1e-9)
    assert [fit.status for fit in soon] == ["max_time"]

    def press(row):
        if row.n_iter == 1:
            raise KeyboardInterrupt

    stopped = logistic_path(K, y, None, [1.0, 0.1], callback=press)
    assert [fit.status for fit in stopped] == ["interrupted"]
    assert np.isnan(stopped[0].leave_one_out).all()


def test_separable_rows_and_a_tiny_beta_stay_finite():
    X = np.linspace(-1, 1, 20)[:, None]
    fits = logistic_path(GateKernel(bias=1.0)(X), np.sign(X), None, np.geomspace(1, 1e-9, 10))
    assert all(np.isfinite(fit.leave_one_out).all() for fit in fits)
    assert max(fit.relative_gap for fit in fits) <= 1e-6


def test_estimate_grows_with_the_work():
    assert seconds(2000, 2, 8, 8) == pytest.approx(8 * seconds(2000, 2))
    assert seconds(2000, 2, 8, 0) < seconds(2000, 2, 8, 1)
    assert seconds(8000, 2) > 7 * seconds(4000, 2)
    assert seconds(2000, 20) == pytest.approx(2 * seconds(2000, 10), rel=0.01)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"targets": [[1.0], [0.0], [1.0]]}, "'y' parameter of NewtonPath must be one column of -1 and 1"),
        ({"weights": [1.0, 0.0, 1.0]}, "sample_weight"),
    ],
)
def test_refusals(change, message):
    arguments = {"K": np.eye(3), "targets": [[1.0], [-1.0], [1.0]], "weights": None, "betas": [0.1]} | change
    with pytest.raises(ArgumentError, match=message):
        logistic_path(**arguments)


@pytest.mark.parametrize("C", [2, 3])
def test_no_bound_comes_from_residuals_that_cannot_be_balanced(C):
    K, y, _ = _rows(n=20, C=C)
    problem = KernelProblem(KernelMatrix(K, True), make_datafit(_loss(y), y, 20, "test"), 1e-3)
    with np.errstate(all="ignore"):
        for seed, size in enumerate((1.0, 30.0, 1e3, 1e5)):
            far = size * (np.random.default_rng(seed).standard_normal(y.shape) + np.arange(y.shape[1]) - 5)
            theta = problem.dual_bound(far, problem.kernel.square_above).theta
            assert np.abs(theta.sum(axis=0)).max() <= 1e-9 * np.abs(theta).sum(), size


@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_a_beta_below_the_rounding_of_the_kernel_is_fitted():
    """The system of left-out rows has no factor there: a LinAlgError left the fit."""
    rng = np.random.default_rng(0)
    X = np.repeat(rng.normal(size=(8, 2)), 2, axis=0) * (1 + 1e-14 * rng.normal(size=(16, 2)))
    model = ConvexNetworkClassifier(loss="logistic", beta=1e-18, max_metric_iter=0).fit(X, np.arange(16) % 3)
    assert np.isfinite(model.predict_proba(X)).all()
    assert np.isfinite(model.loo_probabilities_).all()
