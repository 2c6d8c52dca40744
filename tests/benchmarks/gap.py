"""The judge of the solvers: objective and relative duality gap of a gated network, from its coefficients alone.

Plain NumPy on the rows as they are given, nothing of the library: no rotation, no weights, no stored predictions.
"""

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import entr


def correlation(X, D, theta):
    r"""Largest :math:`||X^TD_i\theta||_2` of the patterns D (n, P), for theta (n,)."""
    return float(np.linalg.norm(X.T @ (D * theta[:, None]), axis=0).max())


def beta_max(X, y, D, loss="squared"):
    """Least beta, in the 1/n scale, whose optimum without biases is zero."""
    return correlation(X, D, y / 2 if loss == "logistic" else y) / len(y)


def relative_gap(X, y, D, beta, u, loss="squared", gate_bias=None, intercept=None, theta=None):
    r"""Return (objective, relative gap) of u (P, d), the loss averaged over the rows.

    .. math:: \frac1n\sum_j\ell(f_j, y_j) + \beta\sum_i||u_i||_2,\qquad f = \sum_iD_i(Xu_i + b_i) + t

    The lower bound is the dual value of the residual, scaled as well as ||X^T D_i theta|| ≤ n beta allows. With biases
    (squared loss only) the residual is first projected onto 1^T D_i theta = 0 and 1^T theta = 0. If a solver offers a
    dual point ``theta`` (n,), it is projected and scaled in the same way, and the better bound counts: a bound holds
    whoever found it.
    """
    n = len(y)
    free, constant = (0 if bias is None else bias for bias in (gate_bias, intercept))
    f = np.sum(D * (X @ u.T + free), axis=1) + constant
    penalty = beta * np.linalg.norm(u, axis=1).sum()
    if loss == "squared":
        primal = np.mean((f - y) ** 2) / 2 + penalty
        offered = y - f
        columns = ([] if gate_bias is None else [D.astype(float)]) + ([] if intercept is None else [np.ones((n, 1))])
        B = np.hstack(columns) if columns else np.zeros((n, 0))
        bound = _squared_bound
    elif loss == "logistic" and gate_bias is None and intercept is None:
        primal = np.mean(np.logaddexp(0, -y * f)) + penalty
        offered = y * np.exp(-np.logaddexp(0, y * f))
        B, bound = np.zeros((n, 0)), _logistic_bound
    else:
        raise NotImplementedError(f"loss {loss!r} with these biases")
    duals = [bound(X, y, D, beta, B, one) for one in (offered, theta) if one is not None]
    return float(primal), float((primal - max(duals)) / primal)


def _squared_bound(X, y, D, beta, B, theta):
    n, tiny = len(y), np.finfo(float).tiny
    theta = theta - B @ np.linalg.lstsq(B, theta, rcond=None)[0] if B.size else theta
    largest = n * beta / max(correlation(X, D, theta), tiny)
    t = np.clip(y @ theta / max(theta @ theta, tiny), -largest, largest)
    return t * (y @ theta) / n - t * t * (theta @ theta) / (2 * n)


def _logistic_bound(X, y, D, beta, B, theta):
    """With theta = y q, minus the conjugate at -theta is the entropy of q in [0, 1]."""
    q = np.clip(y * theta, np.finfo(float).tiny, 1)
    largest = min(len(y) * beta / max(correlation(X, D, y * q), np.finfo(float).tiny), 1 / q.max())

    def negative(t):
        p = np.clip(t * q, 0, 1)
        return -np.mean(entr(p) + entr(1 - p))

    inside = minimize_scalar(negative, bounds=(0, largest), method="bounded", options={"xatol": 1e-14})
    return -min(inside.fun, negative(largest))


def nonconvex_objective(X, y, D, beta, W, alpha):
    r"""Return :math:`\frac1{2n}\sum_j(f_j-y_j)^2 + \frac\beta2\sum_i(||w_i||^2+\alpha_i^2)`.

    f is sum_i D_i X w_i alpha_i, W (P, d), alpha (P,).
    """
    f = (D * (X @ W.T)) @ alpha
    return float(np.mean((f - y) ** 2) / 2 + beta / 2 * (np.sum(W**2) + np.sum(alpha**2)))
