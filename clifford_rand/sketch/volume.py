"""The volume that vectors span, by their sketch."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_generator, as_real, check_integer, fail
from clifford_rand.crossproduct.paths import check_rtol
from clifford_rand.sketch.base import Sketch, redraws
from clifford_rand.sketch.dense import GaussianSketch
from clifford_rand.sketch.inner import check_confidence, mean_interval, signed_mean
from clifford_rand.sketch.products import check_factors, log_volume, scaled_factors


class SketchedVolume(NamedTuple):
    """An estimate of a logarithmic volume.

    Attributes
    ----------
    log_volume : ndarray (...) or scalar
        Estimate of log √det(A Aᵀ); -inf where the sketched rows are dependent.
    error : ndarray (...) or scalar
        Its standard error. For a Gaussian sketch known in closed form; for others from the repetitions, NaN for one.
    logs : ndarray (repeats, ...)
        Logarithms of the single estimates of det(A Aᵀ), from which this one is made.
    shape : tuple of float or None
        Skewness and excess kurtosis of the estimate, where they are known: of a Gaussian sketch.
    """

    log_volume: NDArray[Any]
    error: NDArray[Any]
    logs: NDArray[Any]
    shape: tuple[float, float] | None

    def interval(self, confidence: float = 0.95) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return the ends (low, high) of an interval that covers the log-volume with this probability.

        For a Gaussian sketch by the quantiles of the known law, whatever A is, by its first four moments (Cornish and
        Fisher); for others that of `SketchedInner.interval`, half its logarithm, and NaN for fewer than 8 repeats.

        Raises
        ------
        ArgumentError
            If ``confidence`` is not between 0 and 1.
        """
        if self.shape is None:
            low, high, peak = mean_interval(
                np.where(np.isneginf(self.logs), 0.0, 1.0), self.logs, confidence, "interval"
            )
            with np.errstate(divide="ignore", invalid="ignore"):
                return ((np.log(np.maximum(low, 0)) + peak) / 2)[()], ((np.log(high) + peak) / 2)[()]
        level = check_confidence(confidence, "interval")
        above, below = (_quantile(p, *self.shape) for p in ((1 + level) / 2, (1 - level) / 2))
        return self.log_volume - above * self.error, self.log_volume - below * self.error


def _quantile(p: float, skewness: float, kurtosis: float) -> float:
    """Return a quantile of a standardized law (Cornish and Fisher 1938)."""
    from scipy.special import ndtri

    z = float(ndtri(p))
    return z + (z**2 - 1) * skewness / 6 + (z**3 - 3 * z) * kurtosis / 24 - (2 * z**3 - 5 * z) * skewness**2 / 36


def log_volume_moments(k: int, r: int) -> tuple[float, float]:
    r"""Return mean and variance of log √det(A SᵀS Aᵀ) - log √det(A Aᵀ) for a Gaussian sketch of r rows and k vectors.

    .. math:: \tfrac12 \sum_{i=1}^k \left(\psi(\tfrac{r-i+1}{2}) + \log 2\right) - \tfrac k2 \log r, \qquad
        \tfrac14 \sum_{i=1}^k \psi'(\tfrac{r-i+1}{2}).

    Examples
    --------
    >>> from clifford_rand.sketch.volume import log_volume_moments
    >>> mean, variance = log_volume_moments(10, 100)
    >>> round(mean, 4), round(variance, 4)
    (-0.2851, 0.053)
    """
    from scipy.special import digamma, polygamma

    k = check_integer(k, "k", "log_volume_moments", low=0)
    r = check_integer(r, "r", "log_volume_moments", low=max(1, k), hint="k vectors have no volume in fewer dimensions.")
    half = (r - np.arange(k)) / 2
    mean = 0.5 * float(np.sum(digamma(half) + math.log(2.0))) - 0.5 * k * math.log(r)
    return mean, 0.25 * float(np.sum(polygamma(1, half)))


def sketched_volume(
    A: ArrayLike,
    S: Sketch | int,
    *,
    repeats: int = 8,
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
    repeats : int
        Number of sketches: S and others that S.rng determines.
    rng : Generator, int or None
        Draws the Gaussian sketch where ``S`` is an integer.
    rtol : float, optional
        Sketched rows count as dependent where what of one is orthogonal to those before it is at most ``rtol`` times
        its length. Default: 64·r·eps (8·r·eps for float32).

    Returns
    -------
    SketchedVolume
        In float64.

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
    >>> found = cr.sketched_volume(A, 500, rng=0)
    >>> exact = np.linalg.slogdet(A @ A.T)[1] / 2
    >>> round(float(found.error), 3), bool(abs(found.log_volume - exact) < 4 * found.error)
    (0.036, True)
    """
    from scipy.special import polygamma

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
    m = check_integer(repeats, "repeats", owner)
    tolerance = check_rtol(rtol, max(r, 4), A.dtype, owner)
    gaussian = isinstance(S, GaussianSketch)
    log_factor = 0.0 if gaussian else S.log_minor(k)
    rows, shift = scaled_factors(A)
    logs = np.stack([log_volume(rows @ sketch.T, tolerance) for sketch in redraws(S, m)])
    if gaussian:
        mean, variance = log_volume_moments(k, r)
        value = logs.mean(axis=0) + (shift - mean)
        half = (r - np.arange(k)) / 2
        third, fourth = (float(np.sum(polygamma(n, half))) / 2 ** (n + 1) for n in (2, 3))  # cumulants of log χ
        shape = (third / variance**1.5 / math.sqrt(m), fourth / variance**2 / m) if k else (0.0, 0.0)
        squares = 2 * (logs + (shift - mean))
        return SketchedVolume(value[()], np.full(value.shape, math.sqrt(variance / m))[()], squares, shape)
    squares = 2 * (logs + shift) - log_factor
    signs = np.where(np.isneginf(squares), 0.0, 1.0)
    _, log_square, relative = signed_mean(signs, squares)
    return SketchedVolume((0.5 * log_square)[()], (0.5 * relative)[()], squares, None)
