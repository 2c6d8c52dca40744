r"""Objective of a kernel network with the squared loss and a lower bound of the optimum, from K alpha alone."""

from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound, rounding_of_form


class Judged(NamedTuple):
    """A network's objective in the 1/n scale, its intercept (C,) and residuals (n, C), and a bound of the optimum."""

    objective: float
    intercept: Array
    residuals: Array
    bound: DualBound


def judge(fitted: Array, alpha: Array, targets: Array, weights: Array, beta: float, diagonal: Array) -> Judged:
    r"""Judge :math:`f = K\alpha` with its best intercept, and :math:`\alpha` as a dual point.

    .. math:: P &= \frac1n\sum_i\frac{\omega_i}2||y_i-f_i-t||^2+\frac\beta2\mathrm{tr}(\alpha^TK\alpha),\\
              D &= \sum_c\max_s\ s\,\beta\,\alpha_c^Ty_c
                   -\frac{s^2}2\beta\,\alpha_c^T\big(K+n\beta\,\Omega^{-1}\big)\alpha_c,\qquad 1^T\alpha=0.

    D bounds the least P from below for every :math:`\alpha` whose columns sum to zero, and both are equal where
    :math:`(K+n\beta\,\Omega^{-1})\alpha=y-t`, but for what rounding may take from :math:`\alpha^TK\alpha`: it is added
    there. The dual point in the scale of residuals is :math:`\theta=n\beta\,s\alpha`.

    ``fitted`` (n, C): K alpha. ``alpha`` (n, C): columns sum to zero. ``targets`` (n, C). ``weights`` (n,).
    ``diagonal`` (n,): of K.
    """
    n, share = len(targets), weights[:, None]
    residuals = targets - fitted
    intercept = np.average(residuals, axis=0, weights=weights)
    residuals -= intercept
    norm = np.einsum("ic,ic->c", alpha, fitted)
    objective = 0.5 * float(np.sum(share * residuals**2)) / n + 0.5 * beta * float(norm.sum())
    along = np.einsum("ic,ic->c", alpha, targets)
    across = norm + rounding_of_form(diagonal, alpha) + n * beta * np.sum(alpha**2 / share, axis=0)
    scale = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
    return Judged(
        objective, intercept, residuals, DualBound(0.5 * beta * float(np.sum(scale * along)), n * beta * scale * alpha)
    )


def null_value(targets: Array, weights: Array) -> float:
    """Return the objective of the best constant."""
    centered = targets - np.average(targets, axis=0, weights=weights)
    return 0.5 * float(np.sum(weights[:, None] * centered**2)) / len(targets)
