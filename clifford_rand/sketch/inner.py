"""Inner products and volumes of blades by their sketched factors, with an error bar and intervals."""

import math
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_generator, as_real, check_integer, check_number, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.crossproduct.paths import check_rtol
from clifford_rand.sketch.base import Sketch, redraws
from clifford_rand.sketch.dense import GaussianSketch
from clifford_rand.sketch.products import check_factors, log_volume, scaled_factors

_FEWEST = 8  # repetitions of an interval: fewer have one sign by chance, of a product near 0, in more than 1 of 128


class SketchedInner(NamedTuple):
    """An estimate of det(A Bᵀ) as ``sign * exp(logabs)``, in float64.

    Attributes
    ----------
    sign, logabs : ndarray (...) or scalar
        0 and -inf where the estimate is 0.
    relative_error : ndarray (...) or scalar
        Standard error of the estimate over its absolute value, from its repetitions; NaN for one repetition, inf where
        the estimate is 0 but its repetitions are not. The estimates are skewed: two standard errors on both sides cover
        60 to 95 % only; see `interval`.
    signs, logs : ndarray (n_repeats, ...)
        Signs and logarithms of the single estimates, of which this is the mean.
    """

    sign: NDArray[Any]
    logabs: NDArray[Any]
    relative_error: NDArray[Any]
    signs: NDArray[Any]
    logs: NDArray[Any]

    @property
    def value(self) -> NDArray[Any]:
        """The estimate itself; inf, with NumPy's warning, where it leaves the floating-point range."""
        return np.asarray(self.sign * np.exp(self.logabs))[()]

    @property
    def error(self) -> NDArray[Any]:
        """The standard error of ``value``."""
        return np.asarray(np.abs(self.value) * self.relative_error)[()]

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[Any], NDArray[Any]]:
        r"""Return the ends (low, high) of an interval that covers det(A Bᵀ) with this probability; NaN for few repeats.

        With the mean x̄ of m ≥ 8 estimates, Student's t of m-1 degrees of freedom, and the larger of two estimates of
        their standard deviation σ, the sample's and that of a log-normal law with their mean and variance of logarithms
        (of a few estimates with a long tail the sample has often missed the tail),

        .. math:: \bar x\, e^{\pm t σ/(|\bar x| \sqrt m)}, \qquad \bar x \pm t σ/\sqrt m

        where all estimates have one sign, and where not. Measured for 0.95, Gaussian sketches, k = 1 to 5, r = k+1 to
        100, m = 8 to 400, parallel to orthogonal blades: 0.93 to 1 are covered, and 0.94 to 1 for r ≥ 2k + 2.
        `LeverageSampling` by scores that are not those of the blades (1 to 64 for 64 columns, k = 4, r = 40, m = 8 to
        60) covers 0.91 to 0.92: columns that are rarely drawn weigh most.

        Raises
        ------
        ArgumentError
            If ``confidence`` is not between 0 and 1.
        """
        low, high, peak = mean_interval(self.signs, self.logs, confidence, "interval")
        with np.errstate(over="ignore"):
            scale = np.exp(peak)
            return tuple(np.where(end == 0, 0.0, end * scale)[()] for end in (low, high))  # type: ignore[return-value]


def sketched_inner(A: ArrayLike, B: ArrayLike, S: Sketch, /, *, n_repeats: int = 1) -> SketchedInner:
    r"""Estimate the inner product det(A Bᵀ) of two k-blades from their sketched factors, without bias.

    .. math:: \frac{1}{c_k} \det(A S^T S B^T), \qquad \mathbb E \det(A S^T S B^T) = c_k \det(A B^T).

    ==========================================  ==================================================
    `GaussianSketch`, `LeverageSampling`,       :math:`c_k = r!/((r-k)!\, r^k)`
    `SparseSign`
    `SJLT`, s = 1                               P(k columns have their entries in k rows)
    `SRHT`                                      :math:`c_k = \binom{r}{k} / \binom{d'}{k} (d'/r)^k`
    ==========================================  ==================================================

    By Cauchy and Binet the determinant is Σ_I det(A S_Iᵀ) det(B S_Iᵀ) over sets I of k rows of S. For independent rows
    of covariance I/r each term has mean k! det(A Bᵀ)/r^k, and there are C(r, k). The other three need random signs
    only: see their ``log_minor_constant``.

    Parameters
    ----------
    A, B : array_like (..., k, d)
        Factors as rows, k ≤ r; batch axes broadcast.
    S : Sketch (r, d)
        One with a known c_k.
    n_repeats : int
        Number of independent sketches whose estimates are averaged: S and others that S.seed determines. From 2 on the
        error is estimated.

    Raises
    ------
    ArgumentError
        If the shapes do not fit, k > r, A or B is not real or not finite, or c_k is not known for S.

    Notes
    -----
    For the Gaussian sketch one estimate has the variance

    .. math:: \le \frac{(r+2)(r+1)}{(r-k+2)(r-k+1)} |A|^2 |B|^2 - \det(A B^T)^2,

    |A|² = det(A Aᵀ), with equality for A = B: det(A SᵀS Aᵀ) = |A|² r^{-k} Π χ²_{r-i+1} (Bartlett), whose second moment
    gives the fraction, and det(A SᵀS Bᵀ)² ≤ det(A SᵀS Aᵀ) det(B SᵀS Bᵀ). For k = 1 it is (|a|²|b|² + (a·b)²)/r. Where
    blades are nearly orthogonal the error so is a fraction of |A||B|, not of the inner product.

    Examples
    --------
    >>> A = np.random.default_rng(0).standard_normal((2, 400))
    >>> estimate = cr.sketched_inner(A, A, cr.GaussianSketch(100, 400, rng=0), n_repeats=20)
    >>> exact, (low, high) = np.linalg.det(A @ A.T), estimate.interval(0.99)
    >>> bool(abs(estimate.value - exact) < 4 * estimate.error), bool(low < exact < high)
    (True, True)
    """
    owner = "sketched_inner"
    A, B = as_real(A, "A", owner, min_ndim=2), as_real(B, "B", owner, min_ndim=2)
    if not isinstance(S, Sketch):
        raise fail("S", owner, "a sketch", S)
    r, d = S.shape
    if A.shape[-1] != d or A.shape[-2] > r:
        raise fail("A", owner, f"of shape (..., k, {d}) with k ≤ r = {r}", describe(f"shape {A.shape}"))
    if B.shape[-2:] != A.shape[-2:]:
        rule = f"of shape (..., {A.shape[-2]}, {d}), as many vectors as A"
        raise fail("B", owner, rule, describe(f"shape {B.shape}"))
    k = A.shape[-2]
    log_factor = S.log_minor_constant(k)
    rows_a, log_a = scaled_factors(A)
    rows_b, log_b = scaled_factors(B)
    signs, logs = [], []
    for sketch in redraws(S, check_integer(n_repeats, "n_repeats", owner)):
        left, right = (rows_a @ sketch.T).astype(np.float64), (rows_b @ sketch.T).astype(np.float64)
        sign, log_abs = np.linalg.slogdet(left @ np.swapaxes(right, -1, -2))
        signs.append(sign)
        logs.append(log_abs)
    every = np.stack(signs), np.stack(logs) + (log_a + log_b - log_factor)
    sign, log_abs, error = signed_mean(*every)
    return SketchedInner(sign[()], log_abs[()], error[()], *every)


def _scaled(signs: NDArray[Any], logs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return ``signs * exp(logs - peak)``, their mean over axis 0, and the largest of the logs."""
    peak = logs.max(axis=0)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    values = signs * np.exp(logs - peak)
    return values, np.asarray(values.mean(axis=0)), peak


def check_confidence(value: object, owner: str) -> float:
    """Return a probability between 0 and 1."""
    rule = "a number between 0 and 1, both excluded"
    return check_number(value, "confidence", owner, rule, lambda x: 0 < x < 1)


def mean_interval(
    signs: NDArray[Any], logs: NDArray[Any], confidence: float, owner: str
) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return low, high and log-scale of an interval ``exp(log_scale) * [low, high]`` of the mean over axis 0."""
    from scipy.special import stdtrit

    level = check_confidence(confidence, owner)
    m = len(signs)
    values, mean, peak = _scaled(signs, logs)
    if m < _FEWEST:
        return np.full(mean.shape, math.nan), np.full(mean.shape, math.nan), peak
    there = signs != 0
    n = np.maximum(there.sum(axis=0), 1)
    y = np.where(there, logs - peak, 0.0)
    center = y.sum(axis=0) / n
    spread = np.where(there, (y - center) ** 2, 0.0).sum(axis=0) / np.maximum(n - 1, 1)
    alike = (signs == signs[0]).all(axis=0) & there[0]
    with np.errstate(over="ignore", divide="ignore", invalid="ignore"):
        second = n / m * np.exp(2 * (center + spread))  # of the log-normal law
        variance = np.maximum(values.var(axis=0, ddof=1), np.where(alike, second * -np.expm1(-spread), second))
        half = stdtrit(m - 1, 0.5 + level / 2) * np.sqrt(np.where(there.any(axis=0), variance, 0.0) / m)
        ratio = np.exp(half / np.abs(mean))
        ends = np.where(alike, mean / ratio, mean - half), np.where(alike, mean * ratio, mean + half)
    return np.minimum(*ends), np.maximum(*ends), peak


def signed_mean(signs: NDArray[Any], logs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return sign, log and relative standard error of the mean over axis 0 of ``signs * exp(logs)``."""
    m = len(signs)
    values, mean, peak = _scaled(signs, logs)
    size = np.abs(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_abs = np.log(size) + peak
        if m == 1:
            return np.sign(mean), log_abs, np.full(mean.shape, math.nan)
        spread = values.std(axis=0, ddof=1) / math.sqrt(m)
        error = np.where((size == 0) & (spread == 0), 0.0, spread / size)
    return np.sign(mean), log_abs, error


class SketchedVolume(NamedTuple):
    """An estimate of a logarithmic volume, in float64.

    Attributes
    ----------
    log_volume : ndarray (...) or scalar
        Estimate of log √det(A Aᵀ); -inf where the sketched rows are dependent.
    log_error : ndarray (...) or scalar
        Its standard error. For a Gaussian sketch known in closed form; for others from the repetitions, NaN for one.
    logs : ndarray (n_repeats, ...)
        Logarithms of the single estimates of det(A Aᵀ), from which this one is made.
    skewness, kurtosis : float or None
        Skewness and excess kurtosis of the estimate, where they are known: of a Gaussian sketch.
    """

    log_volume: NDArray[Any]
    log_error: NDArray[Any]
    logs: NDArray[Any]
    skewness: float | None
    kurtosis: float | None

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends (low, high) of an interval that covers the log-volume with this probability.

        For a Gaussian sketch by the quantiles of the known law, whatever A is, by its first four moments (Cornish and
        Fisher); for others half the logarithm of `SketchedInner.interval`, whose errors and NaN are here, too.
        """
        if self.skewness is None or self.kurtosis is None:
            signs = np.where(np.isneginf(self.logs), 0.0, 1.0)
            low, high, peak = mean_interval(signs, self.logs, confidence, "interval")
            with np.errstate(divide="ignore", invalid="ignore"):
                return ((np.log(np.maximum(low, 0)) + peak) / 2)[()], ((np.log(high) + peak) / 2)[()]
        level = check_confidence(confidence, "interval")
        above, below = (_quantile(p, self.skewness, self.kurtosis) for p in ((1 + level) / 2, (1 - level) / 2))
        return self.log_volume - above * self.log_error, self.log_volume - below * self.log_error


def _quantile(p: float, skewness: float, kurtosis: float) -> float:
    """Return a quantile of a standardized law (Cornish and Fisher 1938)."""
    from scipy.special import ndtri

    z = float(ndtri(p))
    return z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36


def log_volume_moments(k: int, r: int) -> tuple[float, float]:
    r"""Return mean and variance of log √det(A SᵀS Aᵀ) - log √det(A Aᵀ) for a Gaussian sketch of r rows and k vectors.

    .. math:: \tfrac12 \sum_{i=1}^k \left(\psi(\tfrac{r-i+1}{2}) + \log 2\right) - \tfrac k2 \log r, \qquad
        \tfrac14 \sum_{i=1}^k \psi'(\tfrac{r-i+1}{2}).
    """
    from scipy.special import digamma

    k = check_integer(k, "k", "log_volume_moments", low=0)
    r = check_integer(r, "r", "log_volume_moments", low=max(1, k), hint="k vectors have no volume in fewer dimensions.")
    mean = 0.5 * float(np.sum(digamma((r - np.arange(k)) / 2) + math.log(2.0))) - 0.5 * k * math.log(r)
    return mean, _cumulant(2, k, r)


def _cumulant(n: int, k: int, r: int) -> float:
    """Return cumulant n ≥ 2 of the sum of log χ with r, r-1, …, r-k+1 degrees of freedom."""
    from scipy.special import polygamma

    return float(np.sum(polygamma(n - 1, (r - np.arange(k)) / 2))) / 2.0**n


def sketched_volume(
    A: ArrayLike,
    S: Sketch | int,
    /,
    *,
    n_repeats: int = 8,
    rng: np.random.Generator | int | None = None,
    rtol: float | None = None,
) -> SketchedVolume:
    r"""Estimate the logarithm of the k-volume √det(A Aᵀ) of the rows of ``A`` from r-dimensional sketches.

    For a Gaussian sketch, exactly in distribution (Bartlett's decomposition of a Wishart matrix),

    .. math:: \log\det(A S^T S A^T) = \log\det(A A^T) + \sum_{i=1}^k \log \chi^2_{r-i+1} - k \log r,

    independent, so that the bias of the logarithm is known and is subtracted, and so is its variance: the mean of m
    sketches is unbiased, with standard error √(Σ ψ'((r-i+1)/2) / 4m), whatever A is. Other sketches average the
    unbiased estimates of det(A Aᵀ), those of `sketched_inner`, and take half the logarithm; the error is that of the
    mean, to first order. Intervals that cover what they say: ``interval`` of the result.

    Parameters
    ----------
    A : array_like (..., k, d)
        Vectors as rows, k ≤ r.
    S : Sketch (r, d), or int
        An integer r stands for ``GaussianSketch(r, d, rng=rng)``.
    n_repeats : int
        Number of sketches: S and others that S.seed determines.
    rng : Generator, int or None
        Draws the Gaussian sketch where ``S`` is an integer.
    rtol : float, optional
        Sketched rows count as dependent where what of one is orthogonal to those before it is at most ``rtol`` times
        its length. Default: 64·r·eps (8·r·eps for float32).

    Raises
    ------
    ArgumentError
        If the shapes do not fit, k > r, or A is not real or not finite; for a sketch that is not Gaussian, if the mean
        of its minors is not known.

    References
    ----------
    Muirhead, "Aspects of Multivariate Statistical Theory", 1982, Theorem 3.2.15.

    Examples
    --------
    >>> A = np.random.default_rng(0).standard_normal((10, 5000))
    >>> estimate, exact = cr.sketched_volume(A, 500, rng=0), np.linalg.slogdet(A @ A.T)[1] / 2
    >>> round(float(estimate.log_error), 3), bool(abs(estimate.log_volume - exact) < 4 * estimate.log_error)
    (0.036, True)
    """
    owner = "sketched_volume"
    A = as_real(A, "A", owner, min_ndim=2)
    if not isinstance(S, Sketch):
        if not isinstance(S, int | np.integer):
            raise fail("S", owner, "a sketch, or an integer r for a Gaussian one", S)
        S = GaussianSketch(check_integer(S, "S", owner), A.shape[-1], rng=rng)
    elif rng is not None:
        as_generator(rng, owner)  # it draws nothing here, and still is one
    check_factors(A, S, owner)
    k, r = A.shape[-2], S.shape[0]
    m = check_integer(n_repeats, "n_repeats", owner)
    tolerance = check_rtol(rtol, max(r, 4), A.dtype, owner)
    gaussian = isinstance(S, GaussianSketch)
    bias, variance = log_volume_moments(k, r) if gaussian else (S.log_minor_constant(k) / 2, math.nan)
    rows, shift = scaled_factors(A)
    logs = np.stack([log_volume(rows @ sketch.T, tolerance) for sketch in redraws(S, m)]) + (shift - bias)
    squares = 2 * logs
    if gaussian:
        value, third, fourth = logs.mean(axis=0), _cumulant(3, k, r), _cumulant(4, k, r)
        skewness, kurtosis = (third / variance**1.5 / math.sqrt(m), fourth / variance**2 / m) if k else (0.0, 0.0)
        log_error = np.full(value.shape, math.sqrt(variance / m))[()]
        return SketchedVolume(value[()], log_error, squares, skewness, kurtosis)
    signs = np.where(np.isneginf(squares), 0.0, 1.0)
    _, log_square, relative = signed_mean(signs, squares)
    return SketchedVolume((0.5 * log_square)[()], (0.5 * relative)[()], squares, None, None)
