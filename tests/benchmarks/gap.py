"""The judge of the solvers: objective and relative duality gap of a gated network, from its coefficients alone.

Plain NumPy on the rows as they are given, nothing of the library: no rotation, no weights, no stored predictions.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr

__all__ = ["beta_max", "correlation", "nonconvex_objective", "relative_gap"]


def correlation(X, D, theta):
    r"""Largest :math:`||X^TD_i\theta||_2` of the patterns D (n, P), for theta (n,)."""
    return float(np.linalg.norm(X.T @ (D * theta[:, None]), axis=0).max())


def beta_max(X, y, D, loss="squared"):
    """Least beta, in the 1/n scale, whose optimum without biases is zero."""
    return correlation(X, D, y / 2 if loss == "logistic" else y) / len(y)


def relative_gap(X, y, D, beta, u, loss="squared", gate_bias=None, intercept=None):
    r"""Return (objective, relative gap) of u (P, d), the loss averaged over the rows.

    .. math:: \frac1n\sum_j\ell(f_j, y_j) + \beta\sum_i||u_i||_2,\qquad f = \sum_iD_i(Xu_i + b_i) + t

    The lower bound is the dual value of the residual, scaled as well as ||X^T D_i theta|| ≤ n beta allows. With biases
    (squared loss only) the residual is first projected onto 1^T D_i theta = 0 and 1^T theta = 0.
    """
    n = len(y)
    f = np.sum(D * (X @ u.T + (0 if gate_bias is None else gate_bias)), axis=1) + (
        0 if intercept is None else intercept
    )
    penalty = beta * np.linalg.norm(u, axis=1).sum()
    if loss == "squared":
        primal = np.mean((f - y) ** 2) / 2 + penalty
        theta = y - f
        columns = ([] if gate_bias is None else [D.astype(float)]) + ([] if intercept is None else [np.ones((n, 1))])
        if columns:
            B = np.hstack(columns)
            theta = theta - B @ np.linalg.lstsq(B, theta, rcond=None)[0]
        largest = n * beta / max(correlation(X, D, theta), np.finfo(float).tiny)
        t = np.clip(y @ theta / max(theta @ theta, np.finfo(float).tiny), -largest, largest)
        dual = t * (y @ theta) / n - t * t * (theta @ theta) / (2 * n)
    elif loss == "logistic" and gate_bias is None and intercept is None:
        primal = np.mean(np.logaddexp(0, -y * f)) + penalty
        q = np.exp(-np.logaddexp(0, y * f))  # theta = y q, and -conjugate(-theta) is the entropy of q in [0, 1]
        largest = min(n * beta / max(correlation(X, D, y * q), np.finfo(float).tiny), 1 / q.max())

        def negative(t):
            p = np.clip(t * q, 0, 1)
            return -np.mean(entr(p) + entr(1 - p))

        inside = minimize_scalar(negative, bounds=(0, largest), method="bounded", options={"xatol": 1e-14})
        dual = -min(inside.fun, negative(largest))
    else:
        raise NotImplementedError(f"loss {loss!r} with these biases")
    return float(primal), float((primal - dual) / primal)


def nonconvex_objective(X, y, D, beta, W, alpha):
    r"""Return :math:`\frac1{2n}\sum_j(f_j-y_j)^2 + \frac\beta2\sum_i(||w_i||^2+\alpha_i^2)`.

    f is sum_i D_i X w_i alpha_i, W (P, d), alpha (P,).
    """
    f = (D * (X @ W.T)) @ alpha
    return float(np.mean((f - y) ** 2) / 2 + beta / 2 * (np.sum(W**2) + np.sum(alpha**2)))
