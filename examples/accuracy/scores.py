"""Scores of predictions: log-likelihood, calibration, R², coverage."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["calibration_error", "coverage", "negative_log_likelihood", "r2"]

_BINS = 15
_LEAST = 1e-15  # a probability of 0 would make the mean infinite


def negative_log_likelihood(P: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    r"""Return the mean of :math:`-\log p(y_i)`, probabilities P (n, C) below 1e-15 taken as that.

    Examples
    --------
    >>> round(negative_log_likelihood(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1])), 4)
    0.4904
    """
    own = P[np.arange(len(y)), y]
    return float(-np.mean(np.log(np.clip(own, _LEAST, 1.0))))


def calibration_error(P: NDArray[np.float64], y: NDArray[np.integer]) -> float:
    r"""Return the expected calibration error of the class that each row of P (n, C) favors.

    .. math:: \sum_{b=1}^{15}\frac{|B_b|}{n}\,\big|\mathrm{accuracy}(B_b) - \mathrm{confidence}(B_b)\big|

    with B_b the rows whose largest probability lies in :math:`((b-1)/15,\ b/15]`, accuracy the share of them whose
    favored class is right, and confidence the mean of their largest probabilities.

    References
    ----------
    Guo, Pleiss, Sun, Weinberger, "On calibration of modern neural networks", ICML 2017, eq. 3 and 5.

    Examples
    --------
    >>> calibration_error(np.array([[0.5, 0.5], [0.25, 0.75]]), np.array([0, 1]))
    0.375
    """
    confidence = P.max(axis=1)
    right = P.argmax(axis=1) == y
    bins = np.clip(np.ceil(confidence * _BINS).astype(int) - 1, 0, _BINS - 1)
    excess = np.bincount(bins, weights=right - confidence, minlength=_BINS)  # |B| (accuracy - confidence) of each
    return float(np.abs(excess).sum() / len(y))


def r2(f: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    r"""Return :math:`1 - \sum(f_i-y_i)^2/\sum(y_i-\bar y)^2`, the mean being that of the rows tested.

    Examples
    --------
    >>> r2(np.array([1.0, 2.0]), np.array([1.0, 3.0]))
    0.5
    """
    return float(1.0 - np.sum((f - y) ** 2) / np.sum((y - y.mean()) ** 2))


def coverage(low: NDArray[np.float64], high: NDArray[np.float64], y: NDArray[np.float64]) -> float:
    """Return the share of rows whose target lies in its interval.

    Examples
    --------
    >>> coverage(np.array([0.0, 0.0]), np.array([1.0, 1.0]), np.array([0.5, 2.0]))
    0.5
    """
    return float(np.mean((low <= y) & (y <= high)))
