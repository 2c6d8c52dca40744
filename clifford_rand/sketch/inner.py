"""Inner products and volumes of blades by their sketched factors, without bias, with an error bar."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_integer, describe, fail
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.factors import redraws, scaled_factors

__all__ = ["SketchedInner", "sketched_inner"]


class SketchedInner(NamedTuple):
    """An estimate of det(A Bᵀ) as ``sign * exp(log_abs)``.

    Attributes
    ----------
    sign, log_abs : ndarray (...) or scalar
        0 and -inf where the estimate is 0.
    relative_error : ndarray (...) or scalar
        Standard error of the estimate over its absolute value, from its repetitions; NaN for one repetition, inf where
        the estimate is 0 but its repetitions are not.
    """

    sign: NDArray[Any]
    log_abs: NDArray[Any]
    relative_error: NDArray[Any]

    @property
    def value(self) -> NDArray[Any]:
        """The estimate itself; inf, with NumPy's warning, where it leaves the floating-point range."""
        return np.asarray(self.sign * np.exp(self.log_abs))[()]

    @property
    def error(self) -> NDArray[Any]:
        """The standard error of ``value``."""
        return np.asarray(np.abs(self.value) * self.relative_error)[()]


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
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> A = np.random.default_rng(0).standard_normal((2, 400))
    >>> found = cr.sketched_inner(A, A, cr.GaussianSketch(100, 400, rng=0), repeats=20)
    >>> bool(abs(found.value - np.linalg.det(A @ A.T)) < 4 * found.error)
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
    sign, log_abs, error = signed_mean(np.stack(signs), np.stack(logs))
    return SketchedInner(sign[()], (log_abs + (log_a + log_b - log_factor))[()], error[()])


def signed_mean(signs: NDArray[Any], logs: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Return sign, log and relative standard error of the mean over axis 0 of ``signs * exp(logs)``."""
    m = len(signs)
    peak = logs.max(axis=0)
    peak = np.where(np.isfinite(peak), peak, 0.0)
    values = signs * np.exp(logs - peak)
    mean = np.asarray(values.mean(axis=0))
    size = np.abs(mean)
    with np.errstate(divide="ignore", invalid="ignore"):
        log_abs = np.log(size) + peak
        if m == 1:
            return np.sign(mean), log_abs, np.full(mean.shape, math.nan)
        spread = values.std(axis=0, ddof=1) / math.sqrt(m)
        error = np.where((size == 0) & (spread == 0), 0.0, spread / size)
    return np.sign(mean), log_abs, error
