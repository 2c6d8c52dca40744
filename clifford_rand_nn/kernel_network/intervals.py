"""Prediction intervals from leave-one-out residuals."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from clifford_rand._checks import as_real, check_array, check_number, describe, fail
from clifford_rand._threads import blas_threads, cached_property
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._display import short_repr
from clifford_rand_nn.datafits.registry import normalized
from clifford_rand_nn.export.program import Value, apply, constant, matmul_t, maximum
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, StatedKernel

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_TILE = 2**22  # entries of a kernel matrix that are held at a time


class PredictiveVariance:
    r"""The variance of f(x) given the training rows, K being the covariance of a Gaussian process.

    .. math:: v(x) = K(x,x) - k^TA^{-1}k + \frac{(1-1^TA^{-1}k)^2}{1^TA^{-1}1},\qquad A = K+\mathrm{diag}(\sigma^2),

    with k the kernel of x and the training rows, and an intercept of which nothing is known before. `LeaveOneOut` has
    the same of each training row without it.

    ``rows`` (n, d). ``noise`` (n,): :math:`\sigma^2 = n\beta/\omega`.

    References
    ----------
    Rasmussen, Williams, "Gaussian processes for machine learning", 2006, eq. 2.26 and 2.42.
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


def as_variances(variance: ArrayLike, n: int, owner: str) -> Array:
    """Return variances (n,), those that rounding made negative being 0."""
    v = np.asarray(as_real(variance, "variance", owner), dtype=np.float64)
    if v.shape != (n,):
        raise fail("variance", owner, f"of shape ({n},)", describe(f"shape {v.shape}"))
    return np.maximum(v, 0.0)


_OWNER = "Intervals"
_SHARES = (0.0, 0.3, 1.0, 3.0, 10.0)  # of the variance that are tried
_TINY = np.finfo(np.float64).tiny


@short_repr
@dataclass(frozen=True, eq=False)
class Intervals:
    r"""Conformal intervals :math:`f(x)\pm q\,\sigma(x)`, :math:`\sigma^2 = 1+\kappa v(x)/\bar v`, for each target.

    q is the quantile of the scores :math:`|y_i-f^{(-i)}(x_i)|/\sigma_i` that covers a share c of the rows and of one
    more, the new one: of n equal weights the :math:`\lceil(n+1)c\rceil`-th smallest, and infinite if :math:`n<c/(1-c)`.
    Rows of training and new ones being drawn alike, a new value lies inside with probability about c whatever the
    distribution of the noise: exactly c if the fit with and without a row predicts the same elsewhere, and for the
    variant that uses the n fits without a row (jackknife+) never less than 2c - 1. On average over rows, that is: where
    the noise varies from place to place, only what v tells of it is followed.

    ``scale``: :math:`\bar v`, the mean variance of the rows of training.

    References
    ----------
    Barber, Candès, Ramdas, Tibshirani, "Predictive inference with the jackknife+", Ann. Statist. 49 (2021), eq. 1.2
    with the scores of Lei, G'Sell, Rinaldo, Tibshirani, Wasserman, "Distribution-free predictive inference for
    regression", J. Amer. Statist. Assoc. 113 (2018), section 5.2.
    """

    scores: Array  # (n, C), rising down each column, ≥ 0, in the unit of the targets
    mass: Array  # (n, C), share of the weight of the rows down to each, of all rows and one more
    shares: Array  # (C,), κ ≥ 0; 0 where no variances were given
    scale: float = 1.0

    def __post_init__(self) -> None:
        check_array(self.scores, "scores", _OWNER, (None, None))
        check_array(self.mass, "mass", _OWNER, self.scores.shape)
        check_array(self.shares, "shares", _OWNER, self.scores.shape[1:])
        check_number(self.scale, "scale", _OWNER, "a finite number > 0", lambda x: 0 < x < np.inf)

    def quantile(self, coverage: float = 0.9) -> Array:
        """Return q (C,)."""
        c = check_number(coverage, "coverage", _OWNER, "between 0 and 1", lambda x: 0 < x < 1)
        enough = self.mass >= c * (1 - 1e-12)  # sums of weights are rounded
        least = np.where(enough, self.scores, np.inf).min(axis=0)
        return np.asarray(least)

    def interval(
        self, prediction: ArrayLike, variance: ArrayLike | None = None, coverage: float = 0.9
    ) -> tuple[Array, Array]:
        """Return the lower and upper ends for predictions (m, C), each of that shape.

        ``prediction`` (m, C). ``variance`` (m,): in the unit in which it was given to `fit_intervals`.
        """
        f = np.asarray(as_real(prediction, "prediction", _OWNER), dtype=np.float64)
        C = len(self.shares)
        if f.ndim != 2 or f.shape[1] != C:
            raise fail("prediction", _OWNER, f"of shape (m, {C})", describe(f"shape {f.shape}"))
        if self.shares.any() and variance is None:
            raise fail("variance", _OWNER, "given, as it was when this was fitted", None)
        v = np.zeros(len(f)) if variance is None else as_variances(variance, len(f), _OWNER)
        half = self.quantile(coverage) * np.sqrt(1 + self.shares * v[:, None] / self.scale)
        return f - half, f + half

    def stated(self, prediction: Value, variance: Value | None, coverage: float = 0.9) -> tuple[Value, Value]:
        """Return what `interval` does for predictions (m, C) and the variance (m, 1), as operations of a program."""
        half = constant(self.quantile(coverage), "quantile")
        if self.shares.any():
            assert variance is not None
            wider = apply("sqrt", variance * constant(self.shares / self.scale, "shares") + 1.0)
            half = (half * wider).named("half")
        return prediction - half, prediction + half


def fit_intervals(
    residuals: ArrayLike,
    variance: ArrayLike | None = None,
    weights: ArrayLike | None = None,
    blocks: NDArray[Any] | None = None,
) -> Intervals:
    r"""Make prediction intervals of leave-one-out residuals.

    With variances κ is the one of 0, 0.3, 1, 3, 10 under which residuals from a Laplace distribution of width
    proportional to σ are the likeliest, :math:`\sum_i\omega_i\log\sigma_i+n\log\sum_i\omega_i|r_i|/\sigma_i` least.

    ``residuals`` (n, C): :math:`y_i-f^{(-i)}(x_i)`, each row predicted without itself, or without its group: fits that
    have seen the row leave too little. ``variance`` (n,): predictive variances of the same predictions, without the row
    as well, in any unit. ``weights`` (n,): only ratios matter. ``blocks`` (n,): the block of each row, where residuals
    of a block are alike (later rows): the new row then stands for :math:`1+(m-1)\rho` rows, m being the mean number of
    rows of a block and ρ the correlation of scores within blocks, see `design_effect`. Raises ArgumentError: arrays of
    other shapes, or not finite; weights as in `normalized`.
    """
    owner = "fit_intervals"
    r = np.abs(np.asarray(as_real(residuals, "residuals", owner), dtype=np.float64))
    if r.ndim != 2 or 0 in r.shape:
        raise fail("residuals", owner, "of shape (n, C)", describe(f"shape {r.shape}"))
    n, C = r.shape
    omega = normalized(weights, n, owner)
    omega = np.ones(n) if omega is None else omega
    v, scale, shares = np.zeros(n), 1.0, np.zeros(C)
    if variance is not None:
        v = as_variances(variance, n, owner)
        scale = float(omega @ v) / n or 1.0
        widths = np.sqrt(1 + np.outer(v / scale, _SHARES))
        unlikely = (omega @ np.log(widths))[:, None] + n * np.log(np.maximum((omega[:, None] / widths).T @ r, _TINY))
        shares = np.array(_SHARES)[unlikely.argmin(axis=0)]
    scores = r / np.sqrt(1 + np.outer(v / scale, shares))
    order = np.argsort(scores, axis=0, kind="stable")
    # a new row weighs as much as the mean
    mass = np.cumsum(omega[order], axis=0) / (n + (1.0 if blocks is None else design_effect(scores, blocks)))
    return Intervals(np.take_along_axis(scores, order, axis=0), mass, shares, scale)


def design_effect(scores: Array, blocks: NDArray[Any]) -> Array:
    r"""Return :math:`1+(m-1)\rho\ge1` (C,) of scores (n, C): of how many independent rows a row of a block is one.

    :math:`\rho` is the intraclass correlation by the analysis of variance, at most 1 and at least 0.

    References
    ----------
    Kish, "Survey sampling", 1965, section 5.4.
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
