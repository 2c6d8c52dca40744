"""The map of a gated network: tiles, threads and precisions against sums gate by gate, and its two bases."""

import numpy as np
import pytest

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems import coordinates as coordinates_module
from clifford_rand_nn.problems import maps
from clifford_rand_nn.problems.coordinates import coordinates, masked_product, masked_transpose, unpenalized_basis
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.problems.maps import GatedMap
from clifford_rand_nn.problems.penalties import GroupL2
from clifford_rand_nn.solvers.fista import Fista

RNG = np.random.default_rng


def data(n, d, P, C, seed=0, dtype=np.float64):
    rng = RNG(seed)
    X, U, R = rng.standard_normal((n, d)), rng.standard_normal((d, P, C)), rng.standard_normal((n, C))
    return X.astype(dtype), rng.random((P, n)) < 0.5, U, R


def plain(X, mask, U):
    """The sum over gates as it is written."""
    f = np.zeros((len(X), U.shape[2]))
    for i in range(len(mask)):
        f += np.diag(mask[i].astype(float)) @ X @ U[:, i]
    return f


@pytest.mark.parametrize("small_tiles", [False, True])
@pytest.mark.parametrize("shape", [(1, 1, 1, 1), (37, 5, 7, 1), (37, 5, 7, 3), (4, 9, 3, 2), (20, 3, 0, 1)])
def test_products_are_sums_over_gates(shape, small_tiles, monkeypatch):
    if small_tiles:  # several tiles in each of several threads
        monkeypatch.setattr(coordinates_module, "_ROWS", 3)
        monkeypatch.setattr(coordinates_module, "_ENTRIES", 1)
        monkeypatch.setattr(coordinates_module, "_THREADED", 1)
    X, mask, U, R = data(*shape)
    expected = plain(X, mask, U)
    np.testing.assert_allclose(masked_product(X, mask, U), expected, rtol=1e-12, atol=1e-13)
    G = masked_transpose(X, mask, R)
    assert G.shape == U.shape
    assert np.vdot(G, U) == pytest.approx(np.vdot(R, expected), rel=1e-11, abs=1e-11)
    for i in range(len(mask)):
        np.testing.assert_allclose(G[:, i], X[mask[i]].T @ R[mask[i]], rtol=1e-11, atol=1e-12)


def test_gates_that_are_zero_are_left_out_rightly():
    X, mask, U, _ = data(50, 4, 8, 2)
    for idle in ([0], [0, 3, 4, 7], list(range(8))):
        V = U.copy()
        V[:, idle] = 0
        V[0, 1] = 0  # active, though its first coordinate is zero
        np.testing.assert_allclose(masked_product(X, mask, V), plain(X, mask, V), atol=1e-13)


def test_precision_follows_the_argument():
    """Double-precision products of float32 data are exact for these data; single-precision ones to its rounding."""
    X, _, _, R = data(300, 6, 5, 2, dtype=np.float32)
    patterns = X @ RNG(1).standard_normal((6, 5)) >= 0
    low, high = (GatedMap(data, patterns, True, True) for data in (X, X.astype(np.float64)))
    assert low.rows.dtype == np.float32
    assert high.rows.dtype == np.float64
    U = RNG(2).standard_normal((low.d, 5, 2))
    c = RNG(3).standard_normal((low.Q.shape[1], 2))
    np.testing.assert_allclose(low.forward(U, c * high.sigma / low.sigma), high.forward(U, c), rtol=1e-9, atol=1e-9)
    for ours, theirs in zip(low.adjoint(R), high.adjoint(R), strict=True):
        scale = np.abs(theirs).max()
        np.testing.assert_allclose(ours * (1 if ours.ndim == 3 else high.sigma / low.sigma), theirs, atol=1e-9 * scale)
    for each in (low, high):
        single, double = each.forward(U.astype(np.float32), c), each.forward(U, c)
        assert single.dtype == np.float32
        assert 1e-9 < np.abs(single - double).max() / np.abs(double).max() < 1e-5
        G, H = each.gated_adjoint(R.astype(np.float32)), each.gated_adjoint(R)
        assert G.dtype == np.float32
        assert 1e-9 < np.abs(G - H).max() / np.abs(H).max() < 1e-5


def test_a_subclass_may_replace_q():
    X, _, _, R = data(40, 3, 4, 1)
    each = GatedMap(X, X @ RNG(1).standard_normal((3, 4)) >= 0, True, True)
    R = R.astype(np.float32)
    before = each.remove_unpenalized(R)
    each.Q = each.Q[:, :1]
    assert np.abs(each.remove_unpenalized(R) - before).max() > 1e-3


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("centered", [False, True])
def test_coordinates_span_the_rows(centered, scale, monkeypatch):
    monkeypatch.setattr(coordinates_module, "TILE", 7)
    low_rank = RNG(0).standard_normal((30, 3)) @ RNG(1).standard_normal((3, 8)) + 5
    for X in (low_rank, low_rank[:6], RNG(2).integers(-2, 3, (25, 4)).astype(float), RNG(3).standard_normal((9, 1))):
        rows = scale * (X - X.mean(axis=0) if centered else X)
        basis, weights = coordinates(scale * X, centered)
        np.testing.assert_allclose(basis.T @ basis, np.eye(basis.shape[1]), atol=1e-12)
        assert basis.shape[1] == np.linalg.matrix_rank(rows, tol=1e-5 * np.linalg.norm(rows))
        np.testing.assert_allclose(rows @ basis @ basis.T, rows, atol=1e-6 * np.abs(rows).max())
        assert weights.min() >= 1
        assert weights.max() <= 10 * 2 ** (1 / 16)
        variance = np.sum((rows @ basis) ** 2, axis=0) * weights**2
        # Even, but for weights that are up to 2^(1/16) too large or too small.
        assert np.all(variance[weights < 9] > 0.999 * 2**-0.25 * variance.max())


@pytest.mark.parametrize("shape", [(30, 4), (3, 6)])
@pytest.mark.parametrize("centered", [False, True])
def test_coordinates_keep_short_directions(centered, shape):
    """The squares in a Gram matrix lose what is 1e-8 times the longest; the span of the rows does not."""
    X = RNG(0).standard_normal(shape)
    X[:, 0] += 1e9
    X[:, 1] = 0
    X[:, 2] *= 1e-3
    rows = X - X.mean(axis=0) if centered else X
    basis, _ = coordinates(X, centered)
    rest = rows - rows @ basis @ basis.T
    assert np.abs(rest[:, 2:]).max() < 1e-6 * np.abs(rows[:, 2]).max() + 1e-16 * np.abs(rows).max()
    equal = np.repeat(RNG(1).standard_normal((1, shape[1])), shape[0], axis=0)
    assert coordinates(equal, False)[0].shape[1] == 1  # what is rounding is left out as before


@pytest.mark.parametrize("flags", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("dependent", [False, True])
def test_two_ways_to_the_unpenalized_basis(dependent, flags, monkeypatch):
    X = RNG(0).standard_normal((60, 4))
    mask = (X @ RNG(1).standard_normal((4, 6)) >= 0).T
    if dependent:
        mask = np.vstack([mask, ~mask[:2], mask[:1]])
    by_values = unpenalized_basis(mask, *flags)
    monkeypatch.setattr(coordinates_module, "_SMALL", 0)
    by_gram = unpenalized_basis(mask, *flags)
    B = np.hstack([mask.T * 1.0] * flags[0] + [np.ones((60, 1))] * flags[1] + [np.zeros((60, 0))])
    for Q, R in (by_values, by_gram):
        assert Q.shape[1] == (np.linalg.matrix_rank(B) if B.size else 0)
        np.testing.assert_allclose(Q.T @ Q, np.eye(Q.shape[1]), atol=1e-13)
        np.testing.assert_allclose(B @ R, Q, atol=1e-12)
        np.testing.assert_allclose(Q @ (Q.T @ B), B, atol=1e-12)
        if B.size:
            np.testing.assert_allclose(R, np.linalg.pinv(B) @ Q, atol=1e-11)
    np.testing.assert_allclose(by_values[0] @ by_values[0].T, by_gram[0] @ by_gram[0].T, atol=1e-12)


def test_doubtful_rank_goes_back_to_singular_values(monkeypatch):
    """A column outside the span by less than the Gram matrix shows is kept: else the dual bound would be false."""
    monkeypatch.setattr(coordinates_module, "_SMALL", 0)
    monkeypatch.setattr(coordinates_module, "_GRAM_TOL", 0.5)  # takes all but the largest directions for rounding
    mask = (RNG(0).standard_normal((6, 60)) >= 0) * 1 == 1
    Q, _ = unpenalized_basis(mask, True, True)
    assert Q.shape[1] == 7


@pytest.mark.parametrize("weights", [[1.0], [4.0, 4.0, 2.0, 2.0, 2.0, 1.0], [3.0, 1.0, 3.0, 3.0]])
def test_levels_of_equal_weights_change_nothing(weights):
    """The same norms and prox as with every weight slightly different, so that each is a level."""
    w = np.array(weights)
    apart = w * (1 + 1e-12 * np.arange(w.size))
    U = RNG(0).standard_normal((w.size, 5, 2))
    one, many = GroupL2(0.3, w), GroupL2(0.3, apart)
    np.testing.assert_allclose(one.norms(U), np.linalg.norm(w[:, None, None] * U, axis=(0, 2)), rtol=1e-13)
    assert one.dual_norm(U) == pytest.approx(np.linalg.norm(U / w[:, None, None], axis=(0, 2)).max(), rel=1e-13)
    np.testing.assert_allclose(one.prox(U, 2.0), many.prox(U, 2.0), atol=1e-10)
    single = one.prox(U.astype(np.float32), 2.0)
    assert single.dtype == np.float32
    np.testing.assert_allclose(single, one.prox(U, 2.0), atol=1e-6)
    assert not np.shares_memory(single, U)
    np.testing.assert_array_equal(one.prox(U, 2.0), one.prox(U.copy(), 2.0, out=U))


def problem(dtype, loss="squared", bias=True, scale=1.0, n=300, d=8, beta=0.02):
    rng = RNG(0)
    X = (rng.standard_normal((n, d)) / np.sqrt(1 + np.arange(d)) + 0.3).astype(np.float32)
    patterns, _ = activation_patterns(X.astype(float), sample_gates(X.astype(float), 10, bias=bias, random_state=rng))
    y = np.where(X[:, 0] * X[:, 1] + 0.2 * rng.standard_normal(n) > 0, 1.0, -1.0)
    made = GatedReLUProblem(scale * X.astype(dtype), y, patterns, 1.0, loss=loss, bias=bias)
    made.penalty.beta = beta * made.beta_max()
    return made


@pytest.mark.parametrize("loss", ["squared", "logistic"])
@pytest.mark.parametrize("bias", [False, True])
def test_float32_data_have_the_optimum_of_the_same_numbers_in_float64(bias, loss):
    low, high = (Fista(tol=1e-8).solve(problem(dtype, loss, bias)) for dtype in (np.float32, np.float64))
    assert low.status == high.status == "optimal"
    assert low.objective == pytest.approx(high.objective, rel=1e-7)
    assert low.coefficients.coef.dtype == np.float64


@pytest.mark.parametrize("scale", [2.0**-20, 2.0**20])
def test_float32_data_of_any_scale(scale):
    result = Fista(tol=1e-7).solve(problem(np.float32, scale=np.float32(scale)))
    assert result.status == "optimal"
    assert result.objective == pytest.approx(Fista(tol=1e-7).solve(problem(np.float64)).objective, rel=1e-6)


@pytest.mark.parametrize("bias", [False, True])
def test_a_single_precision_certificate_holds_in_double(bias):
    """Objective and bound of a single-precision run, recomputed gate by gate from what it returned."""
    low = problem(np.float32, bias=bias)
    result = Fista(tol=1e-4, precision="single").solve(low)
    assert result.status == "optimal"
    X, D, y, n = low.X.astype(np.float64), low.map.patterns, low.datafit.y, low.n
    coef, gate, intercept = result.coefficients
    f = np.tile(intercept, (n, 1))
    for i in range(D.shape[1]):
        f += D[:, [i]] * (X @ coef[:, i].T + gate[:, i])
    norms = np.linalg.norm(coef, axis=(0, 2))
    assert np.mean((f - y) ** 2) / 2 + low.beta * norms.sum() == pytest.approx(result.objective, rel=1e-11)
    theta = result.dual_point
    assert abs(theta.sum()) <= 1e-11 * np.abs(theta).sum()
    for i in range(D.shape[1]):
        assert np.linalg.norm(X[D[:, i]].T @ theta[D[:, i]]) <= n * low.beta * (1 + 1e-10)
        assert not bias or abs(theta[D[:, i]].sum()) <= 1e-11 * np.abs(theta).sum()
    dual = np.mean(theta * y - theta**2 / 2)
    assert result.objective - result.duality_gap == pytest.approx(dual, rel=1e-11)


@pytest.mark.slow
def test_single_stays_single_and_auto_goes_on():
    low = problem(np.float32)
    stuck = Fista(tol=1e-12, precision="single", max_iter=600).solve(low)
    assert "stopped after 600 iterations" in stuck.message
    assert Fista(tol=1e-12, max_iter=3000).solve(low).relative_gap <= 1e-12 < stuck.relative_gap


def test_large_float64_data_start_in_single_precision(monkeypatch):
    """Same tolerance, same optimum; data out of float32's comfortable range stay in double precision."""
    from clifford_rand_nn.solvers import fista

    expected = Fista(tol=1e-8, precision="double").solve(problem(np.float64))
    monkeypatch.setattr(fista, "_SINGLE_PAYS", 0)
    kinds = set()
    gated = GatedMap.gated
    monkeypatch.setattr(GatedMap, "gated", lambda self, U: kinds.add(U.dtype.name) or gated(self, U))
    result = Fista(tol=1e-8).solve(problem(np.float64))
    assert kinds == {"float32", "float64"}
    assert result.objective == pytest.approx(expected.objective, rel=1e-7)
    kinds.clear()
    tiny = Fista(tol=1e-8).solve(problem(np.float64, scale=1e-25))
    assert kinds == {"float64"}
    assert tiny.objective == pytest.approx(expected.objective, rel=1e-7)


@pytest.mark.slow
def test_threads_give_the_same_bits_twice(monkeypatch):
    monkeypatch.setattr(coordinates_module, "_THREADED", 1)
    monkeypatch.setattr(coordinates_module, "_ROWS", 16)
    first, second = (Fista(tol=1e-7).solve(problem(np.float32)) for _ in range(2))
    for a, b in zip(first.coefficients, second.coefficients, strict=True):
        np.testing.assert_array_equal(a, b)
    assert first.n_iter == second.n_iter


def test_points_keep_their_objective_through_coefficients_of_float32_data():
    low = problem(np.float32)
    z = Point(RNG(0).standard_normal(low.start().U.shape), RNG(1).standard_normal(low.start().c.shape))
    back = low.point(low.coefficients(z))
    assert low.objective(back) == pytest.approx(low.objective(z), rel=1e-11)


@pytest.mark.parametrize(("bias", "intercept"), [(False, False), (False, True)])
def test_the_norm_of_very_many_gates_is_estimated_from_some(bias, intercept, monkeypatch):
    X, mask, *_ = data(60, 4, 3000, 1)
    exact = GatedMap(X, mask.T, bias, intercept).sigma
    monkeypatch.setattr(maps, "_SAMPLED_GATES", 300)
    assert GatedMap(X, mask.T, bias, intercept).sigma == pytest.approx(exact, rel=0.1)
