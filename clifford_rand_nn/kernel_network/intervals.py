"""Prediction intervals from leave-one-out residuals."""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from clifford_rand._checks import as_real, check_array, check_number, describe, fail
from clifford_rand._threads import blas_threads, cached_property
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.export.program import Value, apply, constant, matmul_t, maximum
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, StatedKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut
from clifford_rand_nn.problems.loss_registry import normalized

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_TILE = 2**22  # entries of a kernel matrix that are held at a time
_OWNER = "Intervals"
_LEVELS = ("noise_level", "noise_least", "noise_most")
_SHARES = (0.0, 0.3, 1.0, 3.0, 10.0)  # of the variance that are tried
_TINY = np.finfo(np.float64).tiny
_POWERS = np.array([0.25, 0.5, 0.75, 1.0, 1.25, 1.5])  # of the noise level that are tried, beside a constant width
_BETAS = 20  # that are tried for the logarithm of the noise level
_LEAST = 0.1  # of the median residual: the logarithms of smaller ones tell nothing of the noise
_STEPS = 2  # of Fisher scoring; a third one changes coverage by less than .003 (steps, waves, exponentials; 500 rows)
_LARGEST = 5.0  # mean residuals that one counts in a step
_GAIN = 1.0  # standard errors of the log-likelihood, by which a varying width is better than a constant one


class PredictiveVariance:
    r"""The variance of f(x) given the training rows, K being the covariance of a Gaussian process.

    .. math:: v(x) = K(x,x) - k^TA^{-1}k + \frac{(1-1^TA^{-1}k)^2}{1^TA^{-1}1},\qquad A = K+\mathrm{diag}(\sigma^2),

    with k the kernel of x and the training rows, and an intercept of which nothing is known before. `LeaveOneOut` has
    the same of each training row without it.

    ``rows`` (n, d). ``noise`` (n,): :math:`\sigma^2 = n\beta/\omega`.

    References: Rasmussen, Williams, "Gaussian processes for machine learning", 2006, eq. 2.26 and 2.42.
    """

    def __init__(self, kernel: GateKernel, rows: Array, noise: Array) -> None:
        self._kernel, self._rows, self._noise = kernel, rows, noise

    @cached_property
    def _solved(self) -> tuple[Array, Array, float]:
        """The factor, :math:`L^{-1}1` and its squared norm: made when they are needed, n³/3 steps of them."""
        with blas_threads(len(self._rows)):
            try:
                factor = self._factor(0.0)
            except LinAlgError:  # rows that are alike to rounding, and less noise than that
                factor = self._factor(_ROUNDING * len(self._rows))
            ones = solve_triangular(factor, np.ones(len(factor)), lower=True, check_finite=False)
        return factor, ones, float(ones @ ones)

    def _factor(self, least: float) -> Array:
        """Return L with L Lᵀ = A; ``least`` is added to the noise, a share of the largest K(x, x)."""
        A = self._kernel(self._rows)
        more = least * float(A.diagonal().max())
        A[np.diag_indices_from(A)] += self._noise + more
        return np.asarray(cholesky(A.T, lower=True, overwrite_a=True, check_finite=False))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self._kernel, self._rows, self._noise)  # the factor is made again

    def __call__(self, rows: NDArray[np.floating]) -> Array:
        """Return the variance (m,) at rows (m, d), standardized as those of training."""
        factor, ones, size = self._solved
        out = self._kernel.diagonal(rows)
        step = max(1, _TILE // len(self._rows))
        with blas_threads(len(self._rows)):
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                known = solve_triangular(factor, self._kernel(self._rows, rows[part]), lower=True, check_finite=False)
                out[part] += (1 - ones @ known) ** 2 / size - np.einsum("ij,ij->j", known, known)
        return np.maximum(out, 0.0)

    def stated(self, kernel: StatedKernel) -> Value:
        """Return the variance (m, 1) at new rows, of whose kernel with those of training it is a function."""
        factor, ones, size = self._solved
        inverse = solve_triangular(factor, np.eye(len(self._rows)), lower=True, check_finite=False)
        known = matmul_t(kernel.matrix, constant(inverse, "inverse_factor")).named("known")
        level = (1.0 - kernel.matrix @ constant((inverse.T @ ones)[:, None], "level_weights")).named("level")
        left = (kernel.diagonal - apply("row_sums", known * known) + level * level / size).named("left")
        return maximum(left, 0.0).named("variance")


def as_variances(variance: ArrayLike | None, n: int, owner: str) -> Array:
    """Return variances (n,), 0 if there are none, as those that rounding made negative."""
    if variance is None:
        return np.zeros(n)
    v = np.asarray(as_real(variance, "variance", owner), dtype=np.float64)
    if v.shape != (n,):
        raise fail("variance", owner, f"of shape ({n},)", describe(f"shape {v.shape}"))
    return np.maximum(v, 0.0)


@short_repr
@dataclass(frozen=True, eq=False)
class Intervals:
    r"""Conformal intervals :math:`f(x)\pm q\,\sigma(x)` for each target, wider where the noise is.

    .. math:: \sigma(x)^2 = e^{2g(x)}\,(1+\kappa v(x)/\bar v),\qquad
              g(x) = \min(\max(\textstyle\sum_jK(x,x_j)\gamma_j+a,\ g_-),\ g_+)

    g is the logarithm of the noise level as `fit_noise` smooths it, 0 where a constant width serves as well; v is the
    predictive variance.

    q is the quantile of the scores :math:`|y_i-f^{(-i)}(x_i)|/\sigma_i` that covers a share c of the rows and of one
    more, the new one: of n equal weights the :math:`\lceil(n+1)c\rceil`-th smallest, and infinite if :math:`n<c/(1-c)`.
    Rows of training and new ones being drawn alike, a new value lies inside with probability about c whatever the
    distribution of the noise: exactly c if the fit with and without a row predicts the same elsewhere, and for the
    variant that uses the n fits without a row (jackknife+) never less than 2c - 1. On average over rows, that is: from
    place to place it is about c as far as g and v follow the noise.

    ``scale``: :math:`\bar v`, the mean variance of the rows of training.

    References: Barber, Candès, Ramdas, Tibshirani, "Predictive inference with the jackknife+", Ann. Statist. 49 (2021),
    eq. 1.2 with the scores of Lei, G'Sell, Rinaldo, Tibshirani, Wasserman, "Distribution-free predictive inference for
    regression", J. Amer. Statist. Assoc. 113 (2018), section 5.2.
    """

    scores: Array  # (n, C), rising down each column, ≥ 0, in the unit of the targets
    mass: Array  # (n, C), share of the weight of the rows down to each, of all rows and one more
    shares: Array  # (C,), κ ≥ 0; 0 where no variances were given
    scale: float = 1.0
    noise_weights: Array | None = None  # (m, C), γ for the rows of the network; None for a constant noise level
    noise_levels: Array | None = None  # (3, C), a, g_- and g_+

    def __post_init__(self) -> None:
        check_array(self.scores, "scores", _OWNER, (None, None))
        check_array(self.mass, "mass", _OWNER, self.scores.shape)
        check_array(self.shares, "shares", _OWNER, self.scores.shape[1:])
        check_number(self.scale, "scale", _OWNER, "a finite number > 0", lambda x: 0 < x < np.inf)
        if self.noise_weights is not None:
            check_array(self.noise_weights, "noise_weights", _OWNER, (None, len(self.shares)))
            check_array(self.noise_levels, "noise_levels", _OWNER, (3, len(self.shares)))

    def quantile(self, coverage: float = 0.9) -> Array:
        """Return q (C,)."""
        c = check_number(coverage, "coverage", _OWNER, "between 0 and 1", lambda x: 0 < x < 1)
        enough = self.mass >= c * (1 - 1e-12)  # sums of weights are rounded
        least = np.where(enough, self.scores, np.inf).min(axis=0)
        return np.asarray(least)

    def interval(
        self,
        prediction: ArrayLike,
        variance: ArrayLike | None = None,
        coverage: float = 0.9,
        smoothed: Array | None = None,
    ) -> tuple[Array, Array]:
        r"""Return the lower and upper ends for predictions (m, C), each of that shape.

        ``prediction`` (m, C). ``variance`` (m,): in the unit in which it was given to `fit_intervals`. ``smoothed``
        (m, C): :math:`\sum_jK(x,x_j)\gamma_j`, where the noise level varies.
        """
        f = np.asarray(as_real(prediction, "prediction", _OWNER), dtype=np.float64)
        C = len(self.shares)
        if f.ndim != 2 or f.shape[1] != C:
            raise fail("prediction", _OWNER, f"of shape (m, {C})", describe(f"shape {f.shape}"))
        if self.shares.any() and variance is None:
            raise fail("variance", _OWNER, "given, as it was when this was fitted", None)
        v = as_variances(variance, len(f), _OWNER)
        half = self.quantile(coverage) * np.sqrt(1 + self.shares * v[:, None] / self.scale)
        if self.noise_levels is not None:
            if smoothed is None:
                raise fail("smoothed", _OWNER, "given, as the noise level varies", None)
            level, least, most = self.noise_levels
            half = half * np.exp(np.clip(smoothed + level, least, most))
        return f - half, f + half

    def stated(
        self, prediction: Value, variance: Value | None, coverage: float = 0.9, kernel: Value | None = None
    ) -> tuple[Value, Value]:
        """Return what `interval` does for predictions (m, C), the variance (m, 1) and the kernel, as operations."""
        half = constant(self.quantile(coverage), "quantile")
        if self.shares.any():
            assert variance is not None
            wider = apply("sqrt", variance * constant(self.shares / self.scale, "shares") + 1.0)
            half = (half * wider).named("half")
        if self.noise_weights is not None and self.noise_levels is not None:
            assert kernel is not None
            level, least, most = (constant(row, name) for row, name in zip(self.noise_levels, _LEVELS, strict=True))
            above = maximum(kernel @ constant(self.noise_weights, "noise_weights") + level, least)
            half = (half * apply("exp", 0.0 - maximum(0.0 - above, 0.0 - most))).named("half_by_noise")
        return prediction - half, prediction + half


def fit_intervals(
    residuals: Array,
    variance: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    blocks: NDArray[Any] | None = None,
    noise: "Noise | None" = None,
) -> Intervals:
    r"""Make prediction intervals of leave-one-out residuals.

    With variances κ is the one of 0, 0.3, 1, 3, 10 under which residuals from a Laplace distribution of width
    proportional to σ are the likeliest, :math:`\sum_i\omega_i\log\sigma_i+n\log\sum_i\omega_i|r_i|/\sigma_i` least.

    ``residuals`` (n, C): :math:`y_i-f^{(-i)}(x_i)`, each row predicted without itself, or without its group: fits that
    have seen the row leave too little. ``variance`` (n,): predictive variances of the same predictions, without the row
    as well, in any unit. ``weights`` (n,): only ratios matter. ``blocks`` (n,): the block of each row, where residuals
    of a block are alike (later rows): the new row then stands for :math:`1+(m-1)\rho` rows, m being the mean number of
    rows of a block and ρ the correlation of scores within blocks, see `design_effect`. ``noise``: of the same rows; κ
    is then that of residuals over its level. Raises ArgumentError: weights as in `normalized`.
    """
    owner = "fit_intervals"
    r, n = np.abs(residuals), len(residuals)
    omega = normalized(weights, n, owner)
    omega = np.ones(n) if omega is None else omega
    r = r if noise is None else r / np.exp(noise.logs)
    v = as_variances(variance, n, owner)
    scale = float(omega @ v) / n or 1.0
    widths = np.sqrt(1 + np.outer(v / scale, _SHARES))
    unlikely = (omega @ np.log(widths))[:, None] + n * np.log(np.maximum((omega[:, None] / widths).T @ r, _TINY))
    # without variances all are as likely, but for rounding
    shares = np.zeros(r.shape[1]) if variance is None else np.array(_SHARES)[unlikely.argmin(axis=0)]
    scores = r / np.sqrt(1 + np.outer(v / scale, shares))
    order = np.argsort(scores, axis=0, kind="stable")
    # a new row weighs as much as the mean
    mass = np.cumsum(omega[order], axis=0) / (n + (1.0 if blocks is None else design_effect(scores, blocks)))
    smoother = (None, None) if noise is None else (noise.weights, noise.levels)
    return Intervals(np.take_along_axis(scores, order, axis=0), mass, shares, scale, *smoother)


class Noise(NamedTuple):
    """The logarithm of the noise level, smoothed over rows; see `Intervals`."""

    logs: Array  # (n, C), of each row without its residual
    weights: Array  # (m, C), of the kernel of the rows that it was fitted to
    levels: Array  # (3, C), the intercept, the least and the largest logarithm


def fit_noise(
    residuals: Array, loo: LeaveOneOut, place: NDArray[np.intp], weights: Array | None = None
) -> Noise | None:
    r"""Return the noise level of leave-one-out residuals (n, C), or None where constant ones are as likely.

    g is kernel ridge regression of :math:`\log|r_i|`, of residuals below a tenth of the median that tenth, and then of
    the steps of Fisher scoring :math:`g_i+|r_i|/(we^{g_i})-1`, w being the mean of :math:`|r_i|/e^{g_i}`. Among betas
    and powers :math:`e^{\tau g}` the one is taken under which residuals from a Laplace distribution of that width are
    the likeliest, each row with the g that has not seen its residual; and only if the gain over a constant width is
    more than its standard error.

    ``loo``: of the rows that g is fitted to, and ``place`` (n,) the one that each residual is of; those of one row are
    left out together. ``weights`` (n,) with mean 1.

    References: Papadopoulos, Gammerman, Vovk, "Normalized nonconformity measures for regression conformal prediction",
    AIA 2008.
    """
    r = np.abs(residuals)
    omega = np.ones(len(r)) if weights is None else weights
    logs, gamma, levels = np.zeros_like(r), np.zeros((loo.n, r.shape[1])), np.zeros((3, r.shape[1]))
    for c, own in enumerate(r.T):
        smallest = max(_LEAST * float(np.median(own)), _TINY)
        best = _smooth(np.log(np.maximum(own, smallest)), own, loo, place, omega)
        for _ in range(_STEPS):
            ratio = np.minimum(own / (best.width * np.exp(best.logs)), _LARGEST)
            trial = _smooth(best.logs + ratio - 1, own, loo, place, omega)
            if trial.likelihood.mean() <= best.likelihood.mean():
                break
            best = trial
        gain = best.likelihood - _likelihood(own, np.zeros(len(own)), omega)[0]
        mean = float(omega @ gain) / len(own)
        if mean * len(own) > _GAIN * float(np.linalg.norm(omega * (gain - mean))):
            logs[:, c], gamma[:, c] = best.logs, best.weights
            levels[:, c] = best.intercept, best.logs.min(), best.logs.max()
    return Noise(logs, gamma, levels) if gamma.any() else None


class _Smoothed(NamedTuple):
    logs: Array  # (n,), of the noise level of one output
    weights: Array  # (m,)
    intercept: float
    likelihood: Array  # (n,)
    width: float  # the mean residual over the noise level


def _smooth(target: Array, r: Array, loo: LeaveOneOut, place: NDArray[np.intp], omega: Array) -> _Smoothed:
    """Return the regression of ``target`` (n,), by the beta and the power under which residuals are the likeliest."""
    mass = np.bincount(place, omega, loo.n)
    loo = loo.of((np.bincount(place, omega * target, loo.n) / mass)[:, None])
    betas = loo.grid(_BETAS)
    smooth = loo.predictions(betas)[:, :, 0]
    center = np.average(smooth, axis=1, weights=mass)
    scaled = _POWERS[:, None, None] * (smooth - center[:, None])[:, place]
    unlikely = scaled @ omega / len(r) + np.log(np.maximum(np.exp(-scaled) @ (omega * r), _TINY))
    t, b = np.unravel_index(unlikely.argmin(), unlikely.shape)
    fit, power = loo.fit(float(betas[b])), float(_POWERS[t])
    intercept = power * float(fit.intercept[0] - center[b])
    return _Smoothed(scaled[t, b], power * fit.alpha[:, 0], intercept, *_likelihood(r, scaled[t, b], omega))


def _likelihood(r: Array, logs: Array, omega: Array) -> tuple[Array, float]:
    """Return the logarithms (n,) of the likelihood of residuals from Laplace distributions, and the common width."""
    scaled = r / np.exp(logs)
    width = max(float(omega @ scaled) / len(r), _TINY)
    return np.asarray(-logs - np.log(width) - scaled / width), width


def design_effect(scores: Array, blocks: NDArray[Any]) -> Array:
    r"""Return :math:`1+(m-1)\rho\ge1` (C,) of scores (n, C): of how many independent rows a row of a block is one.

    :math:`\rho` is the intraclass correlation by the analysis of variance, at most 1 and at least 0.

    References: Kish, "Survey sampling", 1965, section 5.4.
    """
    place, sizes = np.unique(blocks, return_inverse=True, return_counts=True)[1:]
    n, k = len(scores), len(sizes)
    if k < 2 or n == k:
        return np.ones(scores.shape[1])
    means = np.stack([np.bincount(place, column) for column in scores.T], axis=1) / sizes[:, None]
    within = ((scores - means[place]) ** 2).sum(axis=0) / (n - k)
    between = (sizes[:, None] * (means - scores.mean(axis=0)) ** 2).sum(axis=0) / (k - 1)
    m = (n - (sizes**2).sum() / n) / (k - 1)  # of blocks of unequal sizes
    correlation = np.clip((between - within) / np.maximum(between + (m - 1) * within, _TINY), 0.0, 1.0)
    return np.asarray(1 + (n / k - 1) * correlation)
