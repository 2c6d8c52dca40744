"""Inner products and volumes of blades by their sketched factors, without bias, with an error bar."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_integer, check_number, describe, fail
from clifford_rand.sketch.base import Sketch, redraws
from clifford_rand.sketch.products import scaled_factors

_FEWEST = 8  # repetitions of an interval: fewer have one sign by chance, of a product near 0, in more than 1 of 128


class SketchedInner(NamedTuple):
    """An estimate of det(A Bᵀ) as ``sign * exp(log_abs)``.

    Attributes
    ----------
    sign, log_abs : ndarray (...) or scalar
        0 and -inf where the estimate is 0.
    relative_error : ndarray (...) or scalar
        Standard error of the estimate over its absolute value, from its repetitions; NaN for one repetition, inf where
        the estimate is 0 but its repetitions are not. The estimates are skewed: two standard errors on both sides cover
        60 to 95 % only; see `interval`.
    signs, logs : ndarray (repeats, ...)
        Signs and logarithms of the single estimates, of which this is the mean.
    """

    sign: NDArray[Any]
    log_abs: NDArray[Any]
    relative_error: NDArray[Any]
    signs: NDArray[Any]
    logs: NDArray[Any]

    @property
    def value(self) -> NDArray[Any]:
        """The estimate itself; inf, with NumPy's warning, where it leaves the floating-point range."""
        return np.asarray(self.sign * np.exp(self.log_abs))[()]

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


def sketched_inner(A: ArrayLike, B: ArrayLike, S: Sketch, *, repeats: int = 1) -> SketchedInner:
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
    only: see their ``log_minor``.

    Parameters
    ----------
    A, B : array_like (..., k, d)
        Factors as rows, k ≤ r; batch axes broadcast.
    S : Sketch (r, d)
        One with a known c_k.
    repeats : int
        Number of independent sketches whose estimates are averaged: S and others that S.rng determines. From 2 on the
        error is estimated.

    Returns
    -------
    SketchedInner
        In float64.

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
    >>> found = cr.sketched_inner(A, A, cr.GaussianSketch(100, 400, rng=0), repeats=20)
    >>> bool(abs(found.value - np.linalg.det(A @ A.T)) < 4 * found.error)
    True
    >>> low, high = found.interval(0.99)
    >>> bool(low < np.linalg.det(A @ A.T) < high)
    True
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
    log_factor = S.log_minor(k)
    rows_a, log_a = scaled_factors(A)
    rows_b, log_b = scaled_factors(B)
    signs, logs = [], []
    for sketch in redraws(S, check_integer(repeats, "repeats", owner)):
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
