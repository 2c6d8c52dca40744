r"""Objective and lower bound of a function in the span of landmarks, from one pass over the rows.

.. math:: P(u,t)=\frac1W\sum_i\omega_i\ell(v_i\cdot u+t, y_i)+\frac\beta2||u||^2,\qquad W=\sum_i\omega_i

with the squared loss, the logistic loss or the softmax. :math:`v_i=L^{-1}k_i` are the features of a row; sums are made
with its kernel :math:`k_i` and whitened by :math:`L^{-1}` at the end.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import entr

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_products import LandmarkRows, LandmarkSpan
from clifford_rand_nn.row_sums import Block, Engine, Kept, RowSum, Sums, Targets

_HEIGHT = 256  # rows whose kernel is in the cache for all its products


class Judged(NamedTuple):
    r"""A function's objective, a bound of the least one and the objective of the best constant; W; slopes of W·P."""

    primal: float
    dual: float
    zero: float
    weight: float
    shift: Array  # (C,): what was added to the intercept; zero unless the loss is squared, where it is the best one's
    # (C,): the dual point of row i is s\,\omega_i\theta_i, of the residual less its mean if the loss is squared
    scale: Array
    slope: Array  # (m + 1, C): minus the derivative by u, V^T\Omega\theta-W\beta u, and by t, \sum_i\omega_i\theta_i
    curvature: Array  # (C, C): the second derivative by t
    unbalanced: float  # the dual value as if the derivative by t were zero; no bound
    constant: Array  # (C,): the best constant, of all rows


class _Function(RowSum):
    """A sum over rows, in double precision, that looks at f; strips of rows are as low as tiles."""

    def __init__(self, rows: LandmarkRows, targets: Targets, a: Array, t: Array) -> None:
        self.landmarks, self.targets, self.a, self.t = rows, targets, a, t

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return the sums of all strips of a block."""
        w, y = self.targets.row_weights(block)[:, None], self.targets.of(block)
        back: Any = 0.0
        totals: Any = 0.0
        for start in range(0, len(y), _HEIGHT):
            part = slice(start, start + _HEIGHT)
            K = self.landmarks.kernel(block.X[part])
            right, values = self.strip(block.X[part], K, y[part], w[part])
            back, totals = back + K.T @ right, totals + values
        return back, totals

    def strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        """Return what is multiplied by K^T (k, columns), and sums of numbers."""
        raise NotImplementedError


class ResidualSum(_Function):
    r"""The sums that judge f with the squared loss: :math:`K^T\Omega(r, 1)`, r = y - f, and moments.

    The first is summed as it is: as a difference of two sums it would have their rounding. Moments are sums of ω times
    r, r², ry, y, y², √K(x, x)|r| (C,), 1 and √K(x, x), y less its ``center`` (C,).
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, a: Array, t: Array, center: Array) -> None:
        super().__init__(rows, targets, a, t)
        self.center = center

    def strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        """Return ω(r, 1) and moments."""
        r, y = y - (K @ self.a + self.t), y - self.center
        root = np.sqrt(self.landmarks.diagonal(X))[:, None]
        moments = [(w * values).sum(axis=0) for values in (r, r**2, r * y, y, y**2, root * np.abs(r))]
        return np.hstack([w * r, w]), np.concatenate([*moments, [w.sum(), (w * root).sum()]])


class LossSum(_Function):
    r"""The sums that judge f: :math:`K^T\Omega(\theta, p, 1)`, 1ᵀΩH1, and ω times θ, p, 1, K(x, x), loss and entropy.

    :math:`\theta=-\ell'(f)=y-p`, with p the probability of the second of two classes, or (C,) those of all.
    """

    def strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        """Return ω(θ, p, 1) and the other sums."""
        loss = self.targets.loss
        assert loss.labels is not None
        low, high = loss.labels
        f = K @ self.a + self.t
        theta = loss.residual(f, y)
        p = (y - low) / (high - low) - theta
        value, entropy = float((w * loss.value(f, y)).sum()), float((w * loss.dual_value(theta, y)).sum())
        # the Hessian of log Σ exp f: diag(p) - ppᵀ; of two classes p(1 - p)
        curvature = np.diag((w * p).sum(axis=0)) - (w * p).T @ p
        last = [w.sum(), w[:, 0] @ self.landmarks.diagonal(X), value, entropy]
        numbers = np.concatenate([(w * theta).sum(axis=0), (w * p).sum(axis=0), curvature.ravel(), last])
        return np.hstack([w * theta, w * p, w]), numbers


class CurvatureSum(_Function):
    r""":math:`K^T\Omega H(Ks+\sigma)` and :math:`1^T\Omega H(Ks+\sigma)`, H the Hessian of the loss of every row at f.

    ``rows``, ``targets``, ``a``, ``t``: as of `LossSum`. ``s``, ``sigma`` (m, C): A direction.
    """

    def __init__(self, rows: LandmarkRows, targets: Targets, a: Array, t: Array, s: Array, sigma: Array) -> None:
        super().__init__(rows, targets, a, t)
        self.s, self.sigma = s, sigma

    def strip(self, X: NDArray[Any], K: Array, y: Array, w: Array) -> tuple[Array, Array]:
        """Return ωH(Ks + σ), and its sum."""
        loss = self.targets.loss
        if loss.is_quadratic:  # H = 1, wherever f is
            curved = w * (K @ self.s + self.sigma)
        else:
            f, v = np.split(K @ np.hstack([self.a, self.s]), 2, axis=1)
            curved = w * loss.hessian_product(loss.residual(f + self.t, y), y, v + self.sigma)
        return curved, curved.sum(axis=0)


class SpanProblem(NamedTuple):
    """Functions in the span of landmarks, and the rows' targets."""

    rows: LandmarkRows  # in double precision
    span: LandmarkSpan
    targets: Targets
    weight: float  # W, the sum of the weights
    center: Array  # (C,): near the mean of real targets: their moments are about it

    def judge(self, engine: Engine, u: Array, t: Array, beta: float) -> Judged:
        """Judge a function by one pass."""
        judged = judge(self, engine, self.span.coefficients(u), t, float((u**2).sum()), beta)
        judged.slope[:-1] -= judged.weight * beta * u
        return judged

    def curvature(self, engine: Engine, u: Array, t: Array, direction: Array, beta: float) -> Array:
        """Return the second derivative of W·P at (u, t) times a direction (m + 1, C), by one pass."""
        a, b = self.span.coefficients(u), self.span.coefficients(direction[:-1])
        back, last = engine.sum(CurvatureSum(self.rows, self.targets, a, t, b, direction[-1]))
        return np.vstack([self.span.whitened(back) + self.weight * beta * direction[:-1], last])


def judge(
    problem: SpanProblem, engine: Engine, a: Array, t: Array, square: float, beta: float, scale: Array | None = None
) -> Judged:
    """Judge a function with coefficients a and intercept t, whose squared norm is ``square``; the slope is the loss's.

    ``scale`` is that of the dual point, by default the best.
    """
    rows, span, targets, _, center = problem
    if targets.loss.is_quadratic:
        back, moments = engine.sum(ResidualSum(rows, targets, a, t, center))
        judged = _squares(span.whitened(back), moments, beta, problem, scale)
    else:
        back, totals = engine.sum(LossSum(rows, targets, a, t))
        judged = _log_loss(span.whitened(back), totals, beta, span)
    return judged._replace(primal=judged.primal + 0.5 * beta * square)


def _squares(back: Array, moments: Array, beta: float, problem: SpanProblem, scale: Array | None) -> Judged:
    r"""Judge the loss by the sums of `ResidualSum`, the first of them whitened, with the best intercept.

    .. math:: D = \frac1W\sum_cs_c\sum_i\omega_ir_{ic}y_{ic}-\frac{s_c^2}2\Big(\sum_i\omega_ir_{ic}^2
                  +\frac1{W\beta}||(V^T\Omega r)_c||^2\Big),

    the dual value of :math:`\theta_i=s\,\omega_ir_i`, r less its mean, whose sum is 0. What rounding may take from the
    last square is added to it: entries of :math:`K^T\Omega r` are sums of terms of size
    :math:`\omega_i\sqrt{K_{ii}}|r_i|`.
    """
    residual, square, along, y, y_square, size = moments[:-2].reshape(6, -1)
    W, root = (float(value) for value in moments[-2:])
    # the best intercept: residuals r - shift sum to zero, so that they are a dual point
    shift = residual / W
    size = size + np.abs(shift) * root
    square = np.maximum(square - W * shift**2, 0.0)
    along = along - shift * y
    theta = back[:, :-1] - np.outer(back[:, -1], shift)
    # Σωr² + |VᵀΩr|²/(Wβ), the quadratic term of D in s, no less by round-off
    across = square + ((theta**2).sum(axis=0) + problem.span.rounding_of_form(theta, size)) / (W * beta)
    if scale is None:
        # D is s·along - s²/2·across for every output: largest at the ratio
        scale = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
    return Judged(
        primal=0.5 * float(square.sum()) / W,
        dual=float((scale * along - 0.5 * scale**2 * across).sum()) / W,
        zero=0.5 * float((y_square - y**2 / W).sum()) / W,
        weight=W,
        shift=shift,
        scale=scale,
        slope=np.vstack([theta, np.zeros_like(shift)]),
        curvature=W * np.eye(len(shift)),
        unbalanced=-np.inf,
        constant=problem.center + y / W,
    )


def _log_loss(back: Array, totals: Array, beta: float, span: LandmarkSpan) -> Judged:
    r"""Judge the loss by the sums of `LossSum`, the first of them whitened.

    Residuals :math:`y_i-p_i` are a dual point if they add up to zero, and they do so only at the best intercept. Mixed
    with one distribution m for all rows, :math:`q_i=(1-\tau)p_i+\tau m`, they do, with the least τ for which m is one:

    .. math:: D=\frac1W\Big((1-\tau)\sum_i\omega_iH(p_i)+\tau WH(m)\Big)
                -\frac1{2\beta W^2}||V^T\Omega(y-q)||^2,

    a bound since the entropy H is concave. What rounding may take from the last square is added to it, with
    :math:`\sum_c|y_{ic}-p_{ic}|^2\le2\ell_i` and distributions no longer than 1.
    """
    C = (back.shape[1] - 1) // 2
    left, p, curvature = totals[:C], totals[C : 2 * C], totals[2 * C : -4].reshape(C, C)
    weight, diagonal, value, entropy = (float(total) for total in totals[-4:])
    unbalanced = entropy / weight - float((back[:, :C] ** 2).sum()) / (2 * beta * weight**2)
    excess, mass = -left, p + left
    if C == 1:
        excess, mass = np.array([excess[0], -excess[0]]), np.array([mass[0], weight - mass[0]])
    tau, m = 0.0, np.zeros(C)
    if (short := excess > 0).any():
        # W τ m = τ (mass of y) - (1 - τ) excess ≥ 0, so τ/(1 - τ) is the largest excess over its mass
        with np.errstate(divide="ignore"):
            ratio = float((excess[short] / np.maximum(mass[short], 0.0)).max())
        tau = ratio / (1 + ratio) if np.isfinite(ratio) else 1.0
        mixed = np.maximum(tau * mass - (1 - tau) * excess, 0.0)
        mixed /= mixed.sum()
        m, entropy = mixed[:C], (1 - tau) * entropy + tau * weight * float(entr(mixed).sum())
    # VᵀΩ(y - q) of the mixture q = (1 - τ)p + τm
    theta = back[:, :C] + tau * (back[:, C:-1] - np.outer(back[:, -1], m))
    lost = span.rounding_of_forms(theta, np.sqrt(diagonal) * (np.sqrt(2 * value) + 2 * tau * np.sqrt(weight)))
    dual = entropy / weight - (float((theta**2).sum()) + lost) / (2 * beta * weight**2)
    return Judged(
        primal=value / weight,
        dual=max(dual, 0.0),
        zero=float(entr(mass / weight).sum()),
        weight=weight,
        shift=np.zeros(C),
        scale=np.ones(C),
        slope=np.vstack([back[:, :C], left]),
        curvature=curvature,
        unbalanced=unbalanced,
        constant=_log_odds(p + left, weight),
    )


def _log_odds(mass: Array, weight: float) -> Array:
    """Return the constant for classes of a mass, at least that of half a row of mean weight."""
    share = np.clip(mass, 0.5, None) / max(weight, 1.0)
    return np.log(share) if len(mass) > 1 else np.log(share / np.clip(1 - share, 0.5 / max(weight, 1.0), None))
