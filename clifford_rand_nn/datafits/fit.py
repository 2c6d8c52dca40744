"""The best fit by what no penalty touches: where every path over beta begins."""

from collections.abc import Callable

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit

_STEPS = 2000
_NOTHING = 1e-14  # share of the first loss at which the columns separate the classes: steps would go on until overflow
_SMALL = 32  # unknowns up to which the Hessian is formed
_NEWTON_STEPS = 8
_FAR = 10.0  # a Newton step from where L-BFGS ends is short, unless the Hessian vanishes
_DIFFERENCE = 1e-6  # of a central difference, relative: its error of 1e-10 only slows Newton's last step


def unpenalised_fit(datafit: Datafit, Q: Array) -> Array:
    r"""Predictions (n, C) that minimise the loss over :math:`\{Qc\}`, Q (n, q) with orthonormal columns.

    The squared loss is projected, in the metric of the weights; the others go through L-BFGS, and, if qC is small (an
    intercept has q = 1), through Newton's method to full accuracy, with a Hessian from differences of the gradient.

    If no minimum is attained (a logistic loss whose classes the columns separate), predictions far out are returned.
    """
    y = datafit.y
    if datafit.loss.is_quadratic:
        if datafit.sample_weight is None:
            return np.asarray(Q @ (Q.T @ y))
        root = np.sqrt(datafit.weights)
        return np.asarray(Q @ np.linalg.lstsq(root * Q, root * y, rcond=None)[0])
    q, C = Q.shape[1], y.shape[1]
    if q == 0:
        return np.zeros_like(y)
    n = len(y)
    scale = np.sqrt(n)  # c in units of a prediction

    def value_and_slope(c: Array) -> tuple[float, Array]:
        f = scale * (Q @ c.reshape(q, C))
        return datafit.value(f), -(scale / n) * (Q.T @ datafit.residual(f)).ravel()

    start = (Q.T @ y / scale).ravel() if datafit.loss.labels is None else np.zeros(q * C)
    options = {"maxiter": _STEPS, "ftol": 0.0, "gtol": 0.0}

    first = value_and_slope(start)[0]

    def stop_far_out(intermediate_result: OptimizeResult) -> None:
        if intermediate_result.fun <= _NOTHING * first:
            raise StopIteration

    found = minimize(value_and_slope, start, jac=True, method="L-BFGS-B", options=options, callback=stop_far_out)
    c = np.asarray(found.x)
    if c.size <= _SMALL:
        c = _newton(lambda c: value_and_slope(c)[1], c)
    return np.asarray(scale * (Q @ c.reshape(q, C)))


def _newton(slope: Callable[[Array], Array], c: Array) -> Array:
    """Newton steps as long as they shrink the gradient."""
    g = slope(c)
    for _ in range(_NEWTON_STEPS):
        h = _DIFFERENCE * (1 + np.abs(c).max())
        H = np.stack([(slope(c + h * e) - slope(c - h * e)) / (2 * h) for e in np.eye(c.size)])
        new = c - np.linalg.lstsq(H, g, rcond=None)[0]  # a softmax has a flat direction
        if not np.abs(new).max() <= _FAR * (1 + np.abs(c).max()):
            break  # the loss has no minimum, only an infimum
        g_new = slope(new)
        if not np.linalg.norm(g_new) < np.linalg.norm(g):
            break
        c, g = new, g_new
    return c
