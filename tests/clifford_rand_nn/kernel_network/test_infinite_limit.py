"""Sampled Gaussian gates near the kernel of all gates at 1/√m, and so does the network trained on them."""

import numpy as np
import pytest

from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.solvers.kernel.newton import KernelNewton


def _patterns(kernel, z, m, rng):
    """Patterns (n, m) of m gates of the kernel's law on features z."""
    A = np.eye(z.shape[1]) if kernel.angle is None else kernel.angle
    return z @ A @ rng.standard_normal((A.shape[1], m)) >= 0


def _made(kind, n=25, d=4):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((n, d))
    X[1], X[3] = X[0], -X[2]  # a copy, and a row that no gate shares
    kernel = {
        "plain": GateKernel(),
        "bias": GateKernel(bias=0.8),
        "frame": GateKernel(bias=0.8, frame=rng.standard_normal((d, 3))),
        "angle": GateKernel(bias=0.8, angle=rng.standard_normal((d + 1, d + 1))),
    }[kind]
    return X, kernel


@pytest.mark.parametrize("kind", ["plain", "bias", "frame", "angle"])
def test_shares_of_sampled_gates_near_the_kernel_within_hoeffdings_bound(kind):
    """An entry of DDᵀ/m is a mean of m coins: all are within √(log(n²/δ)/2m) but with probability δ = 1e-6."""
    X, kernel = _made(kind)
    z = kernel.features(X)
    inner, rng = z @ z.T, np.random.default_rng(0)
    for m in (100, 2500, 62500):
        D = _patterns(kernel, z, m, rng).astype(float)
        away = np.abs((D @ D.T / m) * inner - kernel(X))
        assert (away <= np.sqrt(np.log(len(X) ** 2 / 1e-6) / (2 * m)) * np.abs(inner) + 1e-12).all()


def test_the_mean_square_distance_is_the_coins_variance_over_m():
    """Σ(K_m - K)² has the mean Σ(z·z')² p(1-p)/m; of 64 draws, the mean is within a fifth (many deviations)."""
    X, kernel = _made("bias")
    z = kernel.features(X)
    inner, K, rng = z @ z.T, kernel(X), np.random.default_rng(1)
    p = np.divide(K, inner, out=np.zeros_like(K), where=inner != 0)
    for m in (16, 256, 4096):
        squares = []
        for _ in range(64):
            D = _patterns(kernel, z, m, rng).astype(float)
            squares.append((((D @ D.T / m) * inner - K) ** 2).sum())
        assert np.mean(squares) == pytest.approx((inner**2 * p * (1 - p)).sum() / m, rel=0.2)


def test_the_network_of_m_gates_nears_the_kernel_solution():
    r"""Predictions differ by at most :math:`||K_m-K||\,||\alpha||`, and by a share that falls as 1/√m.

    With P the centring and :math:`\alpha_m-\alpha=(PK_mP+n\beta)^{-1}P(K-K_m)\alpha` the residuals nβα differ by less.
    The slope over a hundredfold m is -½ but for the noise of the norms, some tenths of which would take 1e-6.
    """
    X, kernel = _made("bias")
    rng = np.random.default_rng(2)
    n, beta = len(X), 0.02
    y = np.sin(2 * X[:, 0]) + X[:, 1]
    z, K = kernel.features(X), kernel(X)
    whole = np.block([[K + n * beta * np.eye(n), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    solved = np.linalg.solve(whole, np.append(y, 0.0))
    alpha, predicted = solved[:n], K @ solved[:n] + solved[n]
    away = {}
    for m in (30, 3000):
        distances = []
        for _ in range(6):
            D = _patterns(kernel, z, m, rng)
            problem = GatedRidgeProblem(z, y, D, m * beta, bias=False)
            U, _, t = KernelNewton(tol=1e-12).solve(problem).coefficients
            mine = np.einsum("np,nd,pd->n", D, z, U[0]) + t[0]
            bound = np.linalg.norm((D.astype(float) @ D.T / m) * (z @ z.T) - K, 2) * np.linalg.norm(alpha)
            distances.append(np.linalg.norm(mine - predicted))
            assert distances[-1] <= bound + 1e-6
        away[m] = np.mean(distances)
    assert away[30] / away[3000] == pytest.approx(10, rel=0.5)
