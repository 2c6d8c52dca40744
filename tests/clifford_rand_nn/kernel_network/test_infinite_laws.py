"""Laws of cross-product gates: exact in the plane, for elliptical rows in any dimension, nearly with a bias."""

import numpy as np
import pytest
from scipy.stats import kstest

from clifford_rand import cross_many
from clifford_rand.errors import ArgumentError
from clifford_rand_nn import sample_gates
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from support.gate_laws import LineKernel, elliptical_law


def _shares(on):
    """Share of gates (n, m) that hold two rows."""
    D = on.astype(float)
    return D @ D.T / D.shape[1]


def _plane(n=14):
    X = np.random.default_rng(0).standard_normal((n, 2)) @ np.array([[2.0, 0.0], [1.0, 0.3]])
    X[3], X[5], X[7] = -2 * X[2], 2 * X[4], X[6]  # on one line with another: far end, same end, a copy
    return X


def test_in_the_plane_every_gate_and_every_side_give_the_kernel():
    """All gates by hand: each distinct row, either orientation, the rows of its line on either side."""
    X = _plane()
    lines = np.unique(X, axis=0)
    turn = X @ np.array([[0.0, -1.0], [1.0, 0.0]]) @ lines.T  # sign of the angle from a line to a row
    turn[np.abs(turn) < 1e-12] = 0.0
    along = np.sign(X @ lines.T)
    shares = np.zeros((len(X), len(X)))
    for j in range(len(lines)):
        for orientation in (-1, 1):
            for side in (-1, 1):
                on = np.where(turn[:, j] == 0, side * along[:, j], orientation * turn[:, j]) > 0
                shares += np.outer(on, on) / (4 * len(lines))
    np.testing.assert_allclose(LineKernel(X)(X), shares * (X @ X.T), atol=1e-14)


@pytest.mark.parametrize("bias", [False, True])
def test_sampled_gates_have_the_law_of_the_plane(bias):
    """Hoeffding over all pairs of training rows: the test fails with probability 1e-6."""
    X = np.random.default_rng(1).exponential(size=(14, 1)) if bias else _plane()
    kernel, m = LineKernel(X, bias=1.5 * bias), 4000
    z = kernel.features(X)
    found = _shares(sample_gates(X, m, "cross", bias=bias, rng=0).on(X)) * (z @ z.T)
    assert (np.abs(found - kernel(X)) <= np.sqrt(np.log(len(X) ** 2 / 1e-6) / (2 * m)) * np.abs(z @ z.T) + 1e-12).all()
    np.testing.assert_allclose(np.diag(kernel(X)), kernel.diagonal(X))


def test_new_rows_are_within_a_gate_of_the_law():
    X, new = np.random.default_rng(2).standard_normal((30, 2)), np.random.default_rng(3).standard_normal((9, 2))
    m = 4000
    found = _shares(sample_gates(X, m, "cross", bias=False, rng=0).on(new))
    assert (np.abs(found - LineKernel(X)(new) / (new @ new.T)) <= np.sqrt(np.log(81 / 1e-6) / (2 * m)) + 1 / 30).all()


def test_evenly_spread_lines_are_gaussian_gates():
    angles = np.arange(1000) * np.pi / 1000
    new = np.random.default_rng(4).standard_normal((9, 2))
    rows = np.column_stack([np.cos(angles), np.sin(angles)])
    np.testing.assert_allclose(LineKernel(rows)(new), GateKernel()(new), atol=2e-3 * np.abs(new @ new.T).max())


def test_a_map_of_the_plane_moves_lines_and_rows_alike():
    X, F = _plane(), np.array([[1.0, 0.4], [-0.3, 2.0]])
    X = X[[0, 1, 2, 4, 6, 8, 9, 10, 11]]  # no two on one line, so that rounding decides nothing
    shares, moved = LineKernel(X)(X) / (X @ X.T), LineKernel(X @ F)(X @ F) / (X @ F @ (X @ F).T)
    np.testing.assert_allclose(shares, moved, atol=1e-12)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_cross_products_of_elliptical_rows_hold_two_others_as_the_law_says(d):
    """Exact: heavy-tailed elliptical rows, their true second moment, 6 fixed pairs; Hoeffding with probability 1e-6."""
    rng, m = np.random.default_rng([6, d]), 20000
    root = np.linalg.qr(rng.standard_normal((d, d)))[0] * np.geomspace(1, 5, d)
    gauss = rng.standard_normal((m * (d - 1), d))
    rows = (gauss / np.sqrt(rng.chisquare(1, size=(len(gauss), 1)))) @ root.T  # Cauchy: not even a mean
    v = cross_many(rows, np.arange(len(rows)).reshape(m, d - 1), normalize=True)
    v *= rng.choice([-1.0, 1.0], size=(m, 1))
    X = rng.standard_normal((4, d))
    law = GateKernel(angle=np.linalg.inv(root).T)  # AAᵀ = S⁻¹
    pairs = np.triu_indices(4, 1)
    found, expected = _shares(X @ v.T >= 0), law(X) / (X @ X.T)
    bound = np.sqrt(np.log(2 * 6 / 1e-6) / (2 * m))
    assert np.abs(found - expected)[pairs].max() <= bound
    assert np.abs(found - GateKernel()(X) / (X @ X.T))[pairs].max() > 2 * bound  # rows' own angles are not the law


@pytest.mark.parametrize("bias", [False, True])
def test_sampled_gates_on_training_rows_have_the_law_and_coins_for_incident_rows(bias):
    r"""E(share) = q κ + (1-q)/4 for two training rows, q the probability that neither is on the plane.

    The mean square away is that of m coins and of the rows, of which S is estimated: twice the coins' is allowed, where
    Gaussian gates are at 20 times.
    """
    d, n, m = 6, 200, 1500
    rng = np.random.default_rng([7, bias])
    X = rng.standard_normal((n, d)) * np.geomspace(1, 6, d) @ np.linalg.qr(rng.standard_normal((d, d)))[0]
    X += bias * np.arange(d)  # with a bias gates do not mind where the rows are
    kernel, k = elliptical_law(X, bias=0.5 * bias), d - 1 + bias
    z = kernel.features(X)
    others = ~np.eye(n, dtype=bool)
    found = _shares(sample_gates(X, m, "cross", bias=bias, rng=0).on(X))[others]
    q = (n - k) * (n - k - 1) / (n * (n - 1))
    expected, gaussian = (q * (K(X) / (z @ z.T))[others] + (1 - q) / 4 for K in (kernel, GateKernel(0.5 * bias)))
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


def test_what_is_refused():
    with pytest.raises(ArgumentError, match="of rank 3"):
        elliptical_law(np.ones((5, 3)))
    with pytest.raises(ArgumentError, match=r"\(n, 1\) with a bias"):
        LineKernel(np.ones((5, 2)), bias=1.0)
    with pytest.raises(ArgumentError, match=r"\(n, 2\) without a bias"):
        LineKernel(np.eye(3))
