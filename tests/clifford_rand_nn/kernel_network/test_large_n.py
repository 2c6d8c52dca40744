"""Many rows: every way against a dense solve of the same problem, its gap against the true one, and its limits."""

import tracemalloc

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import ConvexNetworkRegressor
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut, judge
from clifford_rand_nn.kernel_network.many_rows import choose
from clifford_rand_nn.kernel_network.nystrom import Nystrom
from clifford_rand_nn.solvers.base import Status
from support.large_n import predict, solve_many
from support.pairwise import pairwise

KERNEL = GateKernel(bias=1.5)
WHOLE = ("factor", "gradients")


def made(n=500, d=5, outputs=2, noise=0.3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    clean = np.maximum(X @ rng.standard_normal((d, 6)), 0) @ rng.standard_normal((6, outputs))
    return X, clean + noise * clean.std() * rng.standard_normal(clean.shape), clean


def value(K, alpha, t, y, w, beta):
    """Return the objective of a function of all rows, by the textbook."""
    loss = 0.5 * np.mean(w * ((K @ alpha + t - y) ** 2).sum(axis=1))
    return loss + 0.5 * beta * np.sum(alpha * (K @ alpha))


def dense(K, y, w, beta):
    n = len(y)
    A = np.block([[K + n * beta * np.diag(1 / w), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(A, np.vstack([y, np.zeros((1, y.shape[1]))]))
    return value(K, found[:-1], found[-1], y, w, beta), found[:-1], found[-1]


@pairwise({"way": WHOLE, "weighted": [False, True], "beta": [1e-2, 1e-4]})
def test_whole_problem_is_solved_and_its_gap_holds(way, weighted, beta):
    X, y, _ = made()
    w = np.random.default_rng(1).uniform(0.2, 2.0, len(X)) if weighted else np.ones(len(X))
    w /= w.mean()
    least, alpha, t = dense(KERNEL(X), y, w, beta)
    found = solve_many(KERNEL, X, y, w if weighted else None, beta, way, tol=1e-8)
    assert found.status == "optimal"
    assert found.relative_gap <= 1e-8
    order = np.argsort(found.centers)
    assert found.objective == pytest.approx(value(KERNEL(X), found.alpha[order], found.intercept, y, w, beta), rel=1e-9)
    assert least - 1e-12 <= found.objective <= least + found.duality_gap + 1e-12
    np.testing.assert_allclose(found.fitted, KERNEL(X) @ alpha + t, atol=2e-3)
    np.testing.assert_allclose(predict(KERNEL, found, X, X), found.fitted, atol=1e-9)


def test_gap_of_an_early_end_is_a_bound():
    X, y, _ = made(noise=0.02)
    beta, w = 1e-5, np.ones(len(X))
    least, _, _ = dense(KERNEL(X), y, w, beta)
    gaps = []
    for products in (1, 3, 6):
        found = solve_many(KERNEL, X, y, None, beta, "gradients", tol=1e-9, max_iter=products)
        assert found.status == "max_iter"
        assert found.objective - found.duality_gap <= least <= found.objective
        gaps.append(found.duality_gap)
    assert gaps[2] < gaps[0]


def test_dual_point_proves_the_bound_by_the_textbook():
    X, y, _ = made()
    w, n, beta = np.random.default_rng(2).uniform(0.5, 1.5, len(X)), len(X), 1e-3
    w /= w.mean()
    found = solve_many(KERNEL, X, y, w, beta, "gradients", tol=1e-6)
    theta = found.dual_point
    assert np.abs(theta.sum(axis=0)).max() < 1e-9 * np.abs(theta).sum()
    bound = np.mean((theta * y - 0.5 * theta**2 / w[:, None]).sum(axis=1))
    bound -= np.sum(theta * (KERNEL(X) @ theta)) / (2 * n**2 * beta)
    assert found.objective - found.duality_gap == pytest.approx(bound, rel=1e-9)


@pytest.mark.parametrize("way", [*WHOLE, "landmarks"])
def test_a_row_of_weight_zero_is_as_if_it_were_not_there(way):
    X, y, _ = made(300)
    w = np.ones(300)
    w[::5] = 0
    y[::5] = 1e3
    found, other = (
        solve_many(KERNEL, X, y, w, 1e-2, way, tol=1e-6),
        solve_many(KERNEL, X[w > 0], y[w > 0], None, 1e-2, way, tol=1e-6),
    )
    np.testing.assert_allclose(found.fitted[w > 0], other.fitted, atol=1e-9)
    np.testing.assert_allclose(found.fitted, predict(KERNEL, found, X, X), atol=1e-9)
    assert not found.dual_point[w == 0].any()


def test_landmarks_solve_the_problem_of_their_span():
    X, y, _ = made()
    w = np.random.default_rng(5).uniform(0.5, 1.5, len(X))
    w /= w.mean()
    beta = 1e-3
    found = solve_many(KERNEL, X, y, w, beta, "landmarks", tol=1e-6)
    Z, m = X[found.centers], len(found.centers)
    assert m < len(X)
    V = np.column_stack([KERNEL(X, Z), np.ones(len(X))])
    penalty = np.zeros((m + 1, m + 1))
    penalty[:m, :m] = KERNEL(Z)
    a = np.linalg.solve(V.T @ (w[:, None] * V) / len(X) + beta * penalty, V.T @ (w[:, None] * y) / len(X))
    least = 0.5 * np.mean(w * ((V @ a - y) ** 2).sum(axis=1)) + 0.5 * beta * np.sum(a * (penalty @ a))
    assert found.status == "optimal"
    assert least * (1 - 1e-9) <= found.objective <= least + found.duality_gap + 1e-9 * least
    assert f"span of {m} landmarks" in found.scope
    assert "approximation" in found.reason


@pytest.mark.slow
def test_landmarks_keep_no_features_of_all_rows():
    X, y, _ = made(40_000, d=2, outputs=1)
    solve_many(KERNEL, X[:200], y[:200], None, 1e-3, "landmarks")  # what is compiled once takes memory, too
    tracemalloc.start()
    found = solve_many(KERNEL, X, y, None, 1e-3, "landmarks", max_time=0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 4.0 * len(X) * len(found.centers)  # bytes of the features in single precision


def test_beta_is_compared_in_the_memory_that_there_is():
    X, y, _ = made(2000, d=2, outputs=1)
    solve_many(KERNEL, X[:200], y[:200], None, 1e-3, "gradients", around=True)
    tracemalloc.start()
    solve_many(KERNEL, X, y, None, 1e-3, "gradients", around=True, max_memory=10e6, max_time=0.1)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 2 * 10e6  # of a factor, one triangle is touched: its whole array counts here


def test_landmarks_that_nearly_depend_are_solved_for_as_others():
    """Gates learned along one line leave rows next to nothing else that differs: single precision ends at 8e-2."""
    X, y, _ = made(400)
    kernel = GateKernel(bias=1.0, frame=np.diag([2.0, *[1e-2] * (X.shape[1] - 1)]))
    found = solve_many(kernel, X, y, None, 1e-6, "landmarks", tol=1e-7)
    assert found.status == "optimal"
    K, Z = kernel(X), kernel(X[found.centers])
    V = np.linalg.lstsq(np.linalg.cholesky(Z + 1e-14 * np.trace(Z) * np.eye(len(Z))), K[:, found.centers].T)[0].T
    assert found.objective == pytest.approx(dense(V @ V.T, y, np.ones(400), 1e-6)[0], rel=1e-7)


@pytest.mark.parametrize("way", [*WHOLE, "landmarks"])
def test_a_chosen_beta_predicts_better_than_others_far_away(way):
    X, y, clean = made(700, noise=0.5)
    found = solve_many(KERNEL, X[:500], y[:500], way=way, beta=1e-2, around=True)
    error = np.mean((predict(KERNEL, found, X[500:], X[:500]) - clean[500:]) ** 2)
    for factor in (0.01, 100.0):
        other = solve_many(KERNEL, X[:500], y[:500], None, factor * found.beta, way)
        assert error < 1.02 * np.mean((predict(KERNEL, other, X[500:], X[:500]) - clean[500:]) ** 2)


def test_unseen_predictions_are_refits():
    X, y, _ = made(120)
    beta = 3e-3
    found = solve_many(KERNEL, X, y, None, beta, "factor", tol=1e-10)
    for k in (0, 50, 119):
        i = found.unseen_rows[k]
        kept = np.delete(np.arange(120), i)
        sums = dense(KERNEL(X[kept]), y[kept], np.ones(119), 120 * beta / 119)  # the weight of the sum stays
        refit = KERNEL(X[i : i + 1], X[kept]) @ sums[1] + sums[2]
        np.testing.assert_allclose(found.unseen[k], refit[0], atol=2e-4)


@pytest.mark.parametrize("way", ["gradients", "landmarks"])
def test_unseen_predictions_do_not_know_their_targets(way):
    X, y, _ = made(600)
    found = solve_many(KERNEL, X, y, way=way, around=True)
    again = solve_many(KERNEL, X, y, way=way, around=True)
    np.testing.assert_array_equal(again.fitted, found.fitted)  # no seed is in a result
    other = y.copy()
    other[found.unseen_rows] += 100.0
    again = solve_many(KERNEL, X, other, None, found.beta, way)
    np.testing.assert_allclose(again.unseen, found.unseen, atol=1e-4)
    if way == "gradients":  # landmarks compare betas by these very rows
        assert solve_many(KERNEL, X, other, way=way, around=True).beta == found.beta
    np.testing.assert_array_equal(again.unseen_rows, found.unseen_rows)


def test_rows_held_out_are_predicted_by_a_refit_with_the_same_sums(monkeypatch):
    X, y, _ = made(400)
    w = np.random.default_rng(6).uniform(0.1, 3.0, 400)
    w /= w.mean()
    monkeypatch.setattr("clifford_rand_nn.kernel_network.nystrom._FIRST_GAP", 1e-9)
    found = solve_many(KERNEL, X, y, w, 1e-3, "gradients", tol=1e-9)
    kept = np.delete(np.arange(400), found.unseen_rows)
    assert len(kept) == 360
    share = w[kept].mean()
    _, alpha, t = dense(KERNEL(X[kept]), y[kept], w[kept] / share, 400 * 1e-3 / share / 360)
    np.testing.assert_allclose(found.unseen, KERNEL(X[found.unseen_rows], X[kept]) @ alpha + t, atol=1e-3)


def test_time_ends_with_the_best_point_and_its_gap():
    X, y, _ = made(noise=0.02)
    found = solve_many(KERNEL, X, y, None, 1e-7, "gradients", tol=1e-12, max_time=1e-3)
    assert found.status is Status.MAX_TIME
    assert np.isfinite(found.objective)
    assert 0 < found.relative_gap <= 1 + 1e-12


@pytest.mark.parametrize("product", [None, 3, 14])
def test_an_interrupt_ends_with_the_best_point(monkeypatch, product):
    """Between two judgements, or within a product."""
    X, y, _ = made(noise=0.02)
    rows, products, whole = [], [], KernelTiles.multiply

    def stop(row):
        rows.append(row)
        if product is None and len(rows) == 2:
            raise KeyboardInterrupt

    def multiply(self, V):
        products.append(len(V))
        if len(products) == product:
            raise KeyboardInterrupt
        return whole(self, V)

    monkeypatch.setattr(KernelTiles, "multiply", multiply)
    found = solve_many(KERNEL, X, y, None, 1e-6, "gradients", tol=1e-12, callback=stop)
    if product is not None:
        assert (products[product - 1] < 500) == (product == 3)  # without some rows at first, then with all
        assert products[product] == 500  # one more, which judges
        assert len(products) == product + 1
    assert found.status is Status.INTERRUPTED
    assert found.relative_gap < 1
    np.testing.assert_allclose(predict(KERNEL, found, X, X), found.fitted, atol=1e-8)


def test_an_interrupt_before_the_first_step_leaves_the_constant(monkeypatch):
    """In the preconditioner, of whose image of 1 steps begin: it was an error of an attribute that is not there."""

    def press(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(Nystrom, "__call__", press)
    X, y, _ = made(100)
    found = solve_many(KERNEL, X, y, None, 1e-3, "gradients")
    assert found.status is Status.INTERRUPTED
    assert found.objective <= 0.5 * y.var(axis=0).sum() * (1 + 1e-12)


def test_the_way_follows_from_sizes_and_limits():
    assert choose(4000, 20, 2).name == choose(6000, 20, 2).name == "factor"
    assert choose(12_010, 17, 26).name == "gradients"
    assert choose(100_000, 51, 2, 120.0, 2e9).name == "gradients"
    assert choose(100_000, 51, 2, 10.0, 2e9).name == "landmarks"
    assert choose(8000, 51, 2, None, 2e8).name == "gradients"  # the factor would take 2.6e8 bytes
    assert "expected: factor " in choose(2000, 51, 2).reason
    assert choose(100_000, 51, 2, 10.0, 2e9).reason.endswith("only landmarks keep to the limits")
    with pytest.raises(ArgumentError, match="'max_memory' parameter of solve_many must be at least"):
        choose(100_000, 51, 2, None, 1e6)


@pytest.mark.parametrize("kind", [1e-12, "column", "row"])
@pytest.mark.parametrize("beta", [1e-3, 1e-12])
def test_gradients_end_where_single_precision_is_not_enough(kind, beta):
    """The preconditioner is not definite there, and the steps go on in double precision; near-duplicates stay apart."""
    rng = np.random.default_rng(1)
    X, y = rng.standard_normal((30, 3)), rng.standard_normal((30, 1))
    if kind == "column":
        X[:, 0] *= 1e3
    elif kind == "row":
        X[7] *= 1e6
    else:
        X[15:] = X[:15] + kind * rng.standard_normal((15, 3))
        X = X[rng.permutation(30)]
    found = solve_many(KERNEL, X, y, None, beta, "gradients", tol=1e-9)
    K = KERNEL(X)
    alpha = LeaveOneOut(K.copy(), y).fit(beta).alpha
    best = judge(K @ alpha, alpha - alpha.mean(axis=0), y, np.ones(30), beta, K.diagonal())
    assert found.status in ("optimal", "stalled", "max_iter")
    assert found.objective <= 0.5 * y.var() * (1 + 1e-12)
    assert found.objective - found.duality_gap <= best.objective * (1 + 1e-9)
    assert (found.status == "optimal") == (kind != 1e-12 or beta == 1e-3)
    if (kind, beta) != ("row", 1e-3):  # which single precision reaches on some processors
        stalled = "in double precision after single precision stalled" in found.reason
        assert stalled == (kind != 1e-12 or beta == 1e-12)


WEIGHTS = np.random.default_rng(1).uniform(0.5, 2.0, 600)


@pytest.mark.parametrize(
    ("compared", "rows", "weights"), [(300, "300 of", None), (300, "300 of", WEIGHTS), (1000, "all", None)]
)
def test_a_time_limit_that_the_choices_take_leaves_the_fit_to_the_compared_rows(compared, rows, weights, monkeypatch):
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.COMPARED", compared)
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.DECOMPOSED", 500)
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (600, 3))
    y = np.abs(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(600)
    with pytest.warns(ConvergenceWarning, match=f"a direct fit to {rows} 600 rows; try a larger max_time"):
        model = ConvexNetworkRegressor(beta=1e-4, max_time=1e-6).fit(X, y, weights)
    assert model.score(X, y) > 0.9
    assert model.loo_score_ > 0.9
    assert model.metric_selection_ is None
    proof = model.certificate_.verify(X, y)
    assert 0 <= proof.relative_gap < 1
    assert proof.relative_gap == pytest.approx(model.certificate_.relative_gap, rel=1e-6, abs=1e-9)
