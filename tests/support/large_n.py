"""Kernel regression for many rows, with limits as keywords."""

from dataclasses import replace

from clifford_rand_nn.kernel_network import many_rows
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles


def solve_many(kernel, X, y, weights=None, beta=1e-3, way="auto", around=False, **limits):
    """Solve, with the default limits except for some."""
    given = replace(many_rows.LIMITS, **limits)
    betas = (0.25 * beta, 4.0 * beta, beta) if around else (beta,)
    return many_rows.solve_many(kernel, X, y, weights, betas=betas, way=way, limits=given)


def predict(kernel, solution, X, rows):
    """Return the outputs (m, C) of X (m, d), given the training rows (n, d)."""
    return KernelTiles(kernel, rows[solution.centers]).multiply_from(X, solution.alpha) + solution.intercept
