"""Kernels of infinitely many gates beside sampled ones: Gaussian gates, and cross products where their law is known."""

import numpy as np
import pytest
from scipy.stats import kstest

from clifford_rand import cross_many
from clifford_rand_nn import sample_gates
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.solvers.kernel_newton import KernelNewton


def shares(on):
    """Share of gates (n, m) that hold two rows."""
    D = on.astype(float)
    return D @ D.T / D.shape[1]


def hoeffding(pairs, m):
    """How far means of m coins are at most from their expectations, all of them but with probability 1e-6."""
    return np.sqrt(np.log(2 * pairs / 1e-6) / (2 * m))


# ---- Gaussian gates


def gaussian_patterns(z, m, rng):
    return z @ rng.standard_normal((z.shape[1], m)) >= 0


def made(kind, n=25, d=4):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    X[1], X[3] = X[0], -X[2]  # a copy, and a row that no gate shares
    kernel = {
        "plain": GateKernel(),
        "bias": GateKernel(bias=0.8),
        "frame": GateKernel(bias=0.8, frame=rng.standard_normal((d, 3))),
    }[kind]
    return X, kernel, kernel.features(X)


@pytest.mark.parametrize("options", [{}, {"steps": 2.0}, {"steps": 2.0, "decay": 4.0}], ids=["plain", "steps", "boxes"])
@pytest.mark.parametrize("n", [1, 127, 128, 129, 400])
def test_a_kernel_matrix_of_rows_with_themselves_is_symmetric_and_that_of_two_arrays(n, options):
    X = np.random.default_rng(0).random((n, 8))
    kernel = GateKernel(bias=0.5, **options)
    for rows in (X, X.astype(np.float32)):
        K = kernel(rows)
        assert K.dtype == rows.dtype
        np.testing.assert_array_equal(K, K.T)
        np.testing.assert_allclose(K, kernel(rows, rows.copy()), rtol=1e-3 if K.dtype == np.float32 else 1e-13)
        if n > 1:
            np.testing.assert_allclose(K[1], kernel(rows[1:2], rows)[0], rtol=1e-3 if K.dtype == np.float32 else 1e-13)


@pytest.mark.parametrize("kind", ["plain", "bias", "frame"])
def test_shares_of_sampled_gates_near_the_kernel_within_hoeffdings_bound(kind):
    X, kernel, z = made(kind)
    inner, rng = z @ z.T, np.random.default_rng(0)
    for m in (100, 2500, 62500):
        away = np.abs(shares(gaussian_patterns(z, m, rng)) * inner - kernel(X))
        assert (away <= hoeffding(len(X) ** 2 / 2, m) * np.abs(inner) + 1e-12).all()


def test_the_mean_square_distance_is_the_coins_variance_over_m():
    """Σ(K_m - K)² has the mean Σ(z·z')² p(1-p)/m; of 64 draws, the mean is within a fifth (many deviations)."""
    X, kernel, z = made("bias")
    inner, K, rng = z @ z.T, kernel(X), np.random.default_rng(1)
    p = np.divide(K, inner, out=np.zeros_like(K), where=inner != 0)
    for m in (16, 256, 4096):
        squares = [((shares(gaussian_patterns(z, m, rng)) * inner - K) ** 2).sum() for _ in range(64)]
        assert np.mean(squares) == pytest.approx((inner**2 * p * (1 - p)).sum() / m, rel=0.2)


def test_the_network_of_m_gates_nears_the_kernel_solution():
    r"""Predictions differ by at most :math:`||K_m-K||\,||\alpha||`, and by a share that falls as 1/√m.

    With P the centering and :math:`\alpha_m-\alpha=(PK_mP+n\beta)^{-1}P(K-K_m)\alpha` the residuals nβα differ by less.
    The slope over a hundredfold m is -½ but for the noise of the norms, some tenths of which would take 1e-6.
    """
    X, kernel, z = made("bias")
    rng, n, beta = np.random.default_rng(2), len(X), 0.02
    y, K = np.sin(2 * X[:, 0]) + X[:, 1], kernel(X)
    whole = np.block([[K + n * beta * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solution = np.linalg.solve(whole, np.append(y, 0.0))
    alpha, predicted = solution[:n], K @ solution[:n] + solution[n]
    away = {}
    for m in (30, 3000):
        distances = []
        for _ in range(6):
            D = gaussian_patterns(z, m, rng)
            problem = GatedRidgeProblem(z, y, D, m * beta, bias=False)
            U, _, t = KernelNewton(tol=1e-12).solve(problem).coefficients
            mine = np.einsum("np,nd,pd->n", D, z, U[0]) + t[0]
            distances.append(np.linalg.norm(mine - predicted))
            bound = np.linalg.norm(shares(D) * (z @ z.T) - K, 2) * np.linalg.norm(alpha)
            assert distances[-1] <= bound + 1e-6
        away[m] = np.mean(distances)
    assert away[30] / away[3000] == pytest.approx(10, rel=0.5)


# ---- cross products


def line_shares(rows, z):
    """Share of cross-product gates of rows in the plane that hold two of the features z, by all gates.

    A gate is orthogonal to one of the distinct rows, in either orientation, and the rows of its line are on a side.
    """
    lines = np.unique(rows, axis=0)
    turn = z @ np.array([[0.0, -1.0], [1.0, 0.0]]) @ lines.T  # sign of the angle from a line to a row
    turn[np.abs(turn) < 1e-12] = 0.0
    along = np.sign(z @ lines.T)
    sides = [np.where(turn == 0, side * along, way * turn) > 0 for way in (-1, 1) for side in (-1, 1)]
    return shares(np.concatenate(sides, axis=1))


@pytest.mark.parametrize("bias", [False, True])
def test_sampled_cross_products_have_the_law_of_the_plane(bias):
    rng, m = np.random.default_rng(0), 4000
    X = rng.standard_normal((14, 2)) @ np.array([[2.0, 0.0], [1.0, 0.3]])
    X[3], X[5], X[7] = -2 * X[2], 2 * X[4], X[6]  # on one line with another: far end, same end, a copy
    if bias:
        X = rng.exponential(size=(14, 1))
    z = GateKernel(1.5 * bias).features(X)
    on = sample_gates(X, m, "cross", bias=bias, random_state=0).activations(X)
    assert np.abs(shares(on) - line_shares(z, z)).max() <= hoeffding(len(X) ** 2 / 2, m) + 1e-12


def test_new_rows_are_within_a_gate_of_the_law_and_evenly_spread_lines_are_gaussian_gates():
    X, new = np.random.default_rng(2).standard_normal((30, 2)), np.random.default_rng(3).standard_normal((9, 2))
    m, angles = 4000, np.arange(1000) * np.pi / 1000
    on = sample_gates(X, m, "cross", bias=False, random_state=0).activations(new)
    assert np.abs(shares(on) - line_shares(X, new)).max() <= hoeffding(81 / 2, m) + 1 / 30
    even = line_shares(np.column_stack([np.cos(angles), np.sin(angles)]), new)
    np.testing.assert_allclose(even, GateKernel()(new) / (new @ new.T), atol=2e-3)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_cross_products_of_elliptical_rows_hold_two_others_as_the_law_says(d):
    """Exact: heavy-tailed elliptical rows, their true second moment S, 6 fixed pairs: gates are N(0, S⁻¹)."""
    rng, m = np.random.default_rng([6, d]), 20000
    root = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(1, 5, d)
    gauss = rng.standard_normal((m * (d - 1), d))
    rows = (gauss / np.sqrt(rng.chisquare(1, size=(len(gauss), 1)))) @ root.T  # Cauchy: not even a mean
    v = cross_many(rows, np.arange(len(rows)).reshape(m, d - 1), normalize=True)
    v *= rng.choice([-1.0, 1.0], size=(m, 1))
    X = rng.standard_normal((4, d))
    pairs, found = np.triu_indices(4, 1), shares(X @ v.T >= 0)
    law, isotropic = (GateKernel()(rows) / (rows @ rows.T) for rows in (X @ np.linalg.inv(root).T, X))
    bound = hoeffding(6, m)
    assert np.abs(found - law)[pairs].max() <= bound
    assert np.abs(found - isotropic)[pairs].max() > 2 * bound  # rows' own angles are not the law


@pytest.mark.parametrize("bias", [False, True])
def test_sampled_gates_on_training_rows_have_the_law_and_coins_for_incident_rows(bias):
    r"""E(share) = q κ + (1-q)/4 for two training rows, q the probability that neither is on the plane.

    κ is that of gates N(0, S⁻¹), S the second moment of the features. With a bias the normals of Gaussian rows are the
    same, and offsets Student's t in place of N(0, 1/d): a difference of order 1/d. The mean square away is that of m
    coins and of the rows, of which S is estimated: twice the coins' is allowed, where Gaussian gates are at 20 times.
    """
    d, n, m = 6, 200, 1500
    rng = np.random.default_rng([7, bias])
    X = rng.standard_normal((n, d)) * np.geomspace(1, 6, d) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    X += bias * np.arange(d)  # with a bias gates do not mind where the rows are
    z, k = GateKernel(0.5 * bias).features(X), d - 1 + bias
    values, vectors = np.linalg.eigh(z.T @ z / n)
    white = z @ vectors / np.sqrt(values)
    others = ~np.eye(n, dtype=bool)
    found = shares(sample_gates(X, m, "cross", bias=bias, random_state=0).activations(X))[others]
    q = (n - k) * (n - k - 1) / (n * (n - 1))
    laws = (GateKernel()(rows) / (rows @ rows.T) for rows in (white, z))
    expected, gaussian = (q * law[others] + (1 - q) / 4 for law in laws)
    coins = (expected * (1 - expected)).mean() / m
    assert ((found - expected) ** 2).mean() <= 2 * coins
    assert ((found - gaussian) ** 2).mean() > 20 * coins


def test_offsets_of_planes_through_gaussian_rows_are_normal_with_variance_1_over_d():
    """The law behind the bias: Kolmogorov's distance of 20,000 offsets is below 0.0185 but with probability 3e-6."""
    rng, d, m = np.random.default_rng(8), 3, 20000
    points = rng.standard_normal((m, d, d))
    normals = np.linalg.solve(points, np.ones((m, d, 1)))[:, :, 0]  # v·x = 1 on the plane
    offsets = rng.choice([-1.0, 1.0], size=m) / np.linalg.norm(normals, axis=1)
    assert kstest(offsets * np.sqrt(d), "norm").statistic < 0.0185
    assert kstest(offsets * np.sqrt(d), "t", args=(d,)).statistic < 0.06  # the law in use, of order 1/d away
