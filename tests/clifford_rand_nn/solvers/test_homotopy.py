"""The exact path of the Lasso: its laws on degenerate data, agreement with linear programs and NNLS."""

import numpy as np
import pytest
from scipy.optimize import linprog, nnls

from clifford_rand import ArgumentError
from clifford_rand_nn import spiral
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.lasso_active_columns import ActiveColumns, CenteredColumns, turn
from clifford_rand_nn.solvers.lasso_path import _Follower, homotopy
from support.pairwise import pairwise


def follow(K, y, beta_min=0, fit_intercept=True, **limits):
    return homotopy(LassoProblem(K, y, 1.0, fit_intercept=fit_intercept), beta_min, **limits)


def pair_columns(X):
    """Neurons whose line passes through two rows of X (n, 2), in both orientations."""
    i, j = np.triu_indices(len(X), 1)
    i, j = i[(X[i] != X[j]).any(axis=1)], j[(X[i] != X[j]).any(axis=1)]
    V = (X[i] - X[j])[:, ::-1] * [-1, 1]
    V /= np.linalg.norm(V, axis=1, keepdims=True)
    P = X @ V.T - (V * X[i]).sum(axis=1)
    P[i, np.arange(i.size)] = P[j, np.arange(i.size)] = 0
    return np.concatenate([np.maximum(P, 0), np.maximum(-P, 0)], axis=1)


def grid(n):
    return np.stack(np.meshgrid(np.arange(-2.0, 3), np.arange(-2.0, 3)), axis=-1).reshape(-1, 2)[:n]


def hinges(x):
    steps = x[:, None] - x
    return np.concatenate([np.maximum(steps, 0), np.maximum(-steps, 0)], axis=1)


def repeated(K):
    """K with duplicates, opposite columns, sums of columns, constants and zeros."""
    n = len(K)
    return np.concatenate([K, K[:, ::2], -K[:, :3], K[:, :1] + K[:, -1:], np.ones((n, 2)), np.zeros((n, 2))], axis=1)


DEGENERATE = {
    "wide": lambda rng: rng.standard_normal((9, 40)),
    "tall": lambda rng: rng.standard_normal((20, 5)),
    "signs": lambda rng: rng.integers(-1, 2, (12, 30)).astype(float),
    "bits": lambda rng: (rng.random((15, 40)) < 0.3).astype(float),
    "repeated": lambda rng: repeated(rng.standard_normal((10, 7))),
    "rank 3": lambda rng: rng.standard_normal((11, 3)) @ rng.standard_normal((3, 25)),
    "hinges on a grid": lambda rng: hinges(np.arange(12.0) - 5),
    "hinges, duplicate rows": lambda rng: hinges(rng.integers(0, 6, 12).astype(float)),
    "planes on a grid": lambda rng: pair_columns(grid(16)),
    "unequal columns": lambda rng: rng.standard_normal((9, 20)) * 10.0 ** rng.integers(-3, 4, 20),
    "one row": lambda rng: rng.standard_normal((1, 5)),
    "one column": lambda rng: rng.standard_normal((8, 1)),
}
TARGETS = {
    "normal": lambda K, rng: rng.standard_normal(len(K)),
    "integers": lambda K, rng: rng.integers(-2, 3, len(K)).astype(float),
    "exact fit": lambda K, rng: K @ (rng.standard_normal(K.shape[1]) * (rng.random(K.shape[1]) < 0.2)),
}


def judge(K, y, beta, point, fit_intercept):
    """Objective and relative gap from the public problem alone."""
    problem = LassoProblem(K, y, beta, fit_intercept=fit_intercept)
    weights = Weights(point.columns, point.values[:, None], np.array([point.intercept]))
    f = problem.predictions(weights)
    value = problem.objective(weights, f)
    return value, problem.relative_gap(value, problem.dual_bound(f).value)


def betas_between(path, rng, least):
    inside = np.exp(rng.uniform(np.log(least), np.log(1.2 * path.betas[0]), 4))
    return [*inside, *path.betas[(path.betas >= least)][:4]]


@pairwise({"fit_intercept": [True, False], "target": TARGETS, "kind": DEGENERATE})
def test_the_path_is_optimal_and_obeys_its_laws(kind, target, fit_intercept):
    for seed in range(3):
        rng = np.random.default_rng(seed)
        K = DEGENERATE[kind](rng) * [1, 1e6, 1e-6][seed]
        y = TARGETS[target](K, rng) * [1, 1e-6, 1e6][seed]
        path = follow(K, y, fit_intercept=fit_intercept)
        if path.betas[0] == 0:
            continue
        assert path.status == "optimal"
        assert path.betas[-1] == 0
        assert (np.diff(path.betas) < 0).all()
        assert path.relative_gaps.max() <= 1e-9
        # p is nondecreasing and concave in β: its derivative ||z||_1 grows as β falls.
        assert (np.diff(path.objectives) <= 0).all()
        norms = np.array([np.abs(path.point(k).values).sum() for k in range(len(path))])
        assert (np.diff(norms) >= -1e-9 * norms.max()).all()
        centered = K - K.mean(axis=0) if fit_intercept else K
        norms = np.linalg.norm(centered, axis=0)
        assert path.n_active.max() <= np.linalg.matrix_rank(centered[:, norms > 1e-9 * norms.max()], rtol=1e-10)
        for beta in betas_between(path, rng, 1e-3 * path.betas[0]):
            assert judge(K, y, beta, path.at(beta), fit_intercept)[1] <= 1e-9
        for k in {0, (len(path) - 1) // 2}:  # before the last, where it may be 0
            value, _ = judge(K, y, path.betas[k], path.point(k), fit_intercept)
            assert value == pytest.approx(path.objectives[k], rel=1e-9, abs=1e-12 * path.objectives[0])


def test_columns_leave_and_return():
    returned = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        K = rng.standard_normal((12, 6)) + 2 * rng.standard_normal((12, 1))
        y = K @ rng.standard_normal(6)
        path = follow(K, y, fit_intercept=False)
        used = np.zeros((len(path), 6), dtype=bool)
        for k in range(len(path)):
            used[k, path.point(k).columns] = True
        returned += int((np.diff(used.astype(int), axis=0) == 1).sum(axis=0).max() > 1)
        np.testing.assert_allclose(K[:, path.at(0).columns] @ path.at(0).values, y, atol=1e-9)
    assert returned >= 3


def test_redundant_columns_change_nothing():
    rng = np.random.default_rng(5)
    K, y = rng.standard_normal((14, 9)), rng.standard_normal(14)
    wide = np.concatenate([K, K, -K, np.ones((14, 2))], axis=1)
    plain, redundant = (follow(A, y, 1e-3) for A in (K, wide))
    np.testing.assert_allclose(plain.betas, redundant.betas, rtol=1e-9)
    for beta in np.geomspace(1e-3, plain.betas[0], 7):
        a, b = plain.at(beta), redundant.at(beta)
        np.testing.assert_allclose(K[:, a.columns] @ a.values, wide[:, b.columns] @ b.values, atol=1e-10)
        assert b.columns.size <= 9
        assert b.columns.max(initial=0) < 27  # a constant column is the intercept


def test_everything_ties_at_once():
    """Orthogonal columns that all reach the bound together: soft thresholding, in one step down to β = 0."""
    y = np.array([1.0, -1, 1, 1, -1, 1])
    path = follow(np.eye(6), y, fit_intercept=False)
    np.testing.assert_allclose(path.betas, [1 / 6, 0])
    np.testing.assert_allclose(path.at(0.1).values, y * (1 - 0.6), rtol=1e-14)
    assert path.at(0).columns.tolist() == list(range(6))


def test_the_end_of_the_path():
    """At β = 0: least squares where that is unique, else the interpolation of least l1 norm (a linear program)."""
    rng = np.random.default_rng(6)
    K, y = rng.standard_normal((20, 6)), rng.standard_normal(20)
    columns, values, t = follow(K, y).at(0)
    dense = np.append(np.bincount(columns, weights=values, minlength=6), t)
    solution, *_ = np.linalg.lstsq(np.column_stack([K, np.ones(20)]), y, rcond=None)
    np.testing.assert_allclose(dense, solution, atol=1e-12)
    K, y = rng.standard_normal((8, 30)), rng.standard_normal(8)
    columns, values, _ = follow(K, y, fit_intercept=False).at(0)
    least = linprog(np.ones(60), A_eq=np.concatenate([K, -K], axis=1), b_eq=y, bounds=(0, None)).fun
    np.testing.assert_allclose(K[:, columns] @ values, y, atol=1e-12)
    assert abs(values).sum() == pytest.approx(least, rel=1e-9)


@pytest.mark.parametrize("seed", range(8))
def test_the_turn_at_a_breakpoint_is_a_nonnegative_least_squares_problem(seed):
    """min ½|Kδ|² - sᵀδ with s = Kᵀθ/λ is the projection of θ/λ on the cone of the columns s_j k_j."""
    rng = np.random.default_rng(seed)
    theta, K = rng.standard_normal(10), rng.standard_normal((10, 14))
    K[:, 10:] = K[:, :4] if seed % 2 else K[:, :4] / 2 + K[:, 4:8] / 2
    signs = np.where(rng.random(14) < 0.5, -1.0, 1.0)
    if seed % 2:
        signs[10:] = signs[:4]
    else:
        signs[4:8] = signs[10:] = signs[:4]
    K += theta[:, None] * (signs - theta @ K) / (theta @ theta)  # all columns at the bound, with λ = 1
    active = ActiveColumns(CenteredColumns(K, False))
    assert turn(active, np.arange(14), signs, np.full(14, 1e-12))
    d, g = active.direction()
    weights, _ = nnls(K * signs, theta)
    np.testing.assert_allclose(g, K @ (signs * weights), atol=1e-9)
    assert (d * np.array(active.signs) > 0).all()
    assert (signs * (K.T @ g) >= 1 - 1e-9).all()


def test_factors_survive_many_changes():
    rng = np.random.default_rng(8)
    K = rng.standard_normal((12, 30))
    active = ActiveColumns(CenteredColumns(K, True))
    for _ in range(200):
        if len(active) and rng.random() < 0.45:
            active.remove(int(rng.choice(active.index)))
        else:
            j = int(rng.integers(30))
            if j not in active.index:
                assert active.append(j, 1.0) == (len(active.index) <= 11 and active.index[-1] == j)
        if active.index:
            A = (K - K.mean(axis=0))[:, active.index]
            d, g = active.direction()
            np.testing.assert_allclose(A.T @ g, 1.0, atol=1e-9)
            np.testing.assert_allclose(A @ d, g, atol=1e-9 * abs(d).max())


def test_some_of_the_spiral_lines_by_chance():
    """120 random pairs, both orientations: late on the path linear functions are free, and most columns tie."""
    X, y = spiral()
    columns = pair_columns(X)
    pairs = np.random.default_rng(0).choice(columns.shape[1] // 2, 120, replace=False)
    K = columns[:, np.concatenate([pairs, pairs + columns.shape[1] // 2])]
    path = follow(K, y, 1e-3 / 320)
    assert path.status == "optimal"
    assert path.relative_gaps.max() <= 1e-9
    assert path.n_active.max() <= 159
    for beta in np.geomspace(path.betas[0], path.betas[-1], 6):
        # Weights of 200 are rounded by 1e-14, and nβ is 5e-4 at the end: the gap of y - Kz - t is some 1e-9 there.
        assert judge(K, y, beta, path.at(beta), True)[1] <= 1e-8


@pytest.mark.slow
def test_all_of_the_spiral_lines():
    X, y = spiral()
    K = pair_columns(X)
    path = follow(K, y, 1e-3 / 320)
    assert path.status == "optimal"
    assert 320 * path.objectives[-1] == pytest.approx(0.80696367, rel=1e-8)
    value, gap = judge(K, y, 1e-3 / 320, path.at(1e-3 / 320), True)
    assert gap <= 1e-8
    assert 320 * value == pytest.approx(0.80696367, rel=1e-8)


def test_above_the_first_breakpoint_and_below_the_last():
    K, y = np.array([[0.0, 1.0], [1.0, 3.0], [2.0, 0.0]]), np.array([1.0, 2.0, 6.0])
    path = follow(K, y, 0.1)
    assert path.betas[0] == pytest.approx(abs(K.T @ (y - 3)).max() / 3)
    assert path.betas[-1] == 0.1
    columns, values, t = path.at(2 * path.betas[0])
    assert (columns.size, values.size, t) == (0, 0, 3.0)
    with pytest.raises(ArgumentError, match=r"'beta' parameter of LassoPath must be a number ≥ 0.1, where the path"):
        path.at(0.09)
    with pytest.raises(ArgumentError, match=r"Got nan instead. Compute the path with a smaller beta_min"):
        path.at(float("nan"))
    alone = follow(K, y, 1e3)
    assert (len(alone), alone.status, alone.at(1e3).columns.size) == (1, "optimal", 0)
    with pytest.raises(IndexError):
        path.point(len(path))


@pytest.mark.parametrize(
    ("K", "y"),
    [
        (np.random.default_rng(0).standard_normal((6, 4)), np.full(6, 3.3)),
        (np.ones((6, 3)) * 0.7, np.arange(6.0)),
        (np.zeros((6, 3)), np.arange(6.0)),
        (np.zeros((6, 0)), np.arange(6.0)),
        (np.ones((1, 2)), np.array([5.0])),
    ],
)
def test_nothing_to_explain_or_nothing_to_explain_it_with(K, y):
    path = follow(K, y)
    assert (len(path), path.status, path.betas[0]) == (1, "optimal", 0)
    assert path.at(0).intercept == pytest.approx(y.mean())
    assert path.objectives[0] == pytest.approx(np.mean((y - y.mean()) ** 2) / 2, abs=1e-25)


def test_callback_limits_and_honesty():
    rng = np.random.default_rng(1)
    K, y, rows = rng.standard_normal((20, 60)), rng.standard_normal((20, 1)), []
    K.setflags(write=False)
    path = follow(K, y, callback=rows.append)
    assert [(row.beta, row.n_active) for row in rows] == list(zip(path.betas, path.n_active, strict=True))
    short = follow(K, y, max_iter=5)
    assert len(short) == 5
    assert not short.converged
    assert "after 5 breakpoints: try a larger max_iter" in short.message
    np.testing.assert_allclose(short.betas, path.betas[:5], rtol=1e-12)
    # Columns that differ by 1e-9 of their norm: weights near 1e9, and a gap that float64 cannot close.
    close = rng.standard_normal((12, 1)) + 1e-9 * rng.standard_normal((12, 30))
    stopped = follow(close, rng.standard_normal(12))
    assert stopped.relative_gaps.max() <= 1e-9
    assert "the active columns are nearly dependent; try a larger beta_min" in stopped.message
    assert repr(stopped).startswith("LassoPath(")


@pytest.mark.parametrize("broken", ["turn", "breakpoint"])
def test_a_wrong_turn_or_a_missed_breakpoint_is_noticed(broken, monkeypatch):
    """A column that should have come in stays outside the bound; every breakpoint is judged by its duality gap."""
    turns, step = [], _Follower._next

    def deaf(active, index, signs, slack):
        turns.append(index)
        return turn(active, index, signs, slack) if len(turns) < 4 else True

    def hasty(self, lam, lam_end, skipped):
        end, zero = step(self, lam, lam_end, skipped)
        return (end, zero) if len(self.found) < 4 else (end / 3, np.zeros_like(zero))

    if broken == "turn":
        monkeypatch.setattr("clifford_rand_nn.solvers.lasso_path.turn", deaf)
    else:
        monkeypatch.setattr(_Follower, "_next", hasty)
    rng = np.random.default_rng(2)
    K, y = rng.standard_normal((20, 60)), rng.standard_normal(20)
    path = follow(K, y, 0 if broken == "turn" else 1e-6)
    assert len(path) < 8 if broken == "turn" else len(path) == 4
    assert (
        "where ties could not be resolved" if broken == "turn" else "below which the relative gap is"
    ) in path.message
    assert judge(K, y, path.betas[-1], path.at(path.betas[-1]), True)[1] <= 1e-9


def test_large_constant_columns_are_the_intercept():
    rng = np.random.default_rng(3)
    K, y = rng.standard_normal((20, 30)), rng.standard_normal(20)
    path = follow(K, y, 1e-9)
    other = follow(np.column_stack([np.full(20, 1e10 / 3), K, np.full(20, 0.1)]), y, beta_min=1e-9)
    np.testing.assert_allclose(other.betas, path.betas, rtol=1e-9)
    assert other.at(1e-9).columns.tolist() == (path.at(1e-9).columns + 1).tolist()


@pytest.mark.parametrize("beta_min", [-1.0, np.inf, np.nan, "0", True])
def test_errors(beta_min):
    with pytest.raises(ArgumentError, match="'beta_min' parameter of homotopy must be a finite number ≥ 0"):
        follow(np.eye(3), np.arange(3.0), beta_min)
    with pytest.raises(ArgumentError, match=r"'y' parameter of homotopy must be .*one output"):
        follow(np.eye(3), np.zeros((3, 2)))
    with pytest.raises(ArgumentError, match="'max_iter' parameter of homotopy must be an integer ≥ 1"):
        follow(np.eye(3), np.arange(3.0), max_iter=0)
