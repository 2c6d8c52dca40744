"""The volume that vectors span, by their sketch."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_integer, fail
from clifford_rand.crossproduct.paths import check_rtol
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.factors import check_factors, log_volume, redraws, scaled_factors
from clifford_rand.sketch.gaussian import GaussianSketch
from clifford_rand.sketch.inner import signed_mean

__all__ = ["SketchedVolume", "log_volume_moments", "sketched_volume"]


class SketchedVolume(NamedTuple):
    """An estimate of a logarithmic volume.

    Attributes
    ----------
    log_volume : ndarray (...) or scalar
        Estimate of log √det(A Aᵀ); -inf where the sketched rows are dependent.
    error : ndarray (...) or scalar
        Its standard error. For a Gaussian sketch known in closed form; for others from the repetitions, NaN for one.
    """

    log_volume: NDArray[Any]
    error: NDArray[Any]


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
    mean, to first order.

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
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> A = np.random.default_rng(0).standard_normal((10, 5000))
    >>> found = cr.sketched_volume(A, 500, rng=0)
    >>> exact = np.linalg.slogdet(A @ A.T)[1] / 2
    >>> round(float(found.error), 3), bool(abs(found.log_volume - exact) < 4 * found.error)
    (0.036, True)
    """
    owner = "sketched_volume"
    A = as_real(A, "A", owner, min_ndim=2)
    if not isinstance(S, Sketch):
        if not isinstance(S, int | np.integer):
            raise fail("S", owner, "a sketch, or an integer r for a Gaussian one", S)
        S = GaussianSketch(check_integer(S, "S", owner), A.shape[-1], rng=rng)
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
        return SketchedVolume(value[()], np.full(value.shape, math.sqrt(variance / m))[()])
    _, log_square, relative = signed_mean(np.ones_like(logs), 2 * logs)
    return SketchedVolume((0.5 * (log_square - log_factor) + shift)[()], (0.5 * relative)[()])
