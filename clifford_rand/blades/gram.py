"""Rows of vectors in a metric, and the logarithms of determinants A G Bᵀ."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.basis.metric import Metric
from clifford_rand.blades.rows import LN2, spread
from clifford_rand.crossproduct.factor import unit_scaled

_EXACT_UP_TO = 16  # determinants of whole numbers take d^4 operations on Python's; eigenvalues do past this
_DOUBTFUL = 1e8  # conditions of A G Bᵀ past this make us look whether A or B has dependent rows, which costs two QRs
_CERTAIN_LOG = -13.0  # of a determinant of rows of length 1, so that their condition is below 10⁶ √k


def check_metric(metric: Metric, owner: str) -> None:
    """Refuse a metric of symbols; fractions are numbers."""
    if metric.is_numeric:
        return
    try:
        entries = metric.diagonal if metric.diagonal is not None else metric.gram
        entries.astype(np.float64)
    except (TypeError, ValueError):
        raise fail(
            "algebra", owner, "of a metric of numbers", describe("a metric of symbols"), "Substitute numbers first."
        ) from None


def is_euclidean(metric: Metric) -> bool:
    """Tell whether G is the identity."""
    return metric.is_unit and not (metric.negative or metric.null)


def is_degenerate(metric: Metric) -> bool:
    """Tell whether det G = 0, to rounding for floats, without a determinant where d is large."""
    if metric.diagonal is not None:
        entries = metric.diagonal.astype(np.float64)
        limit = 0.0 if metric.is_exact else metric.d * float(np.finfo(np.float64).eps) * np.abs(entries).max()
        return bool((np.abs(entries) <= limit).any())
    if metric.is_exact and metric.d <= _EXACT_UP_TO:
        return metric.is_degenerate
    return metric.counts[2] > 0


def lowered(metric: Metric, X: NDArray[np.float64]) -> tuple[NDArray[np.float64], int]:
    """Return X G / 2^n (..., d) and n, the largest entry of G / 2^n being in [1/2, 1) or G of entries 1, -1 and 0."""
    if metric.is_unit:
        return (X, 0) if is_euclidean(metric) else (X * np.asarray(metric.diagonal), 0)
    entries = (metric.diagonal if metric.diagonal is not None else metric.gram).astype(np.float64)
    entries, exponent = unit_scaled(entries, None)
    return (X * entries if metric.diagonal is not None else X @ entries), int(exponent)


def log_det_metric(metric: Metric) -> tuple[float, float]:
    """Return sign and log of |det G|."""
    if metric.diagonal is not None:
        entries = metric.diagonal.astype(np.float64)
        with np.errstate(divide="ignore"):
            return float(np.sign(entries).prod()), float(np.log(np.abs(entries)).sum())
    gram = metric.gram.astype(np.float64)
    gram, exponent = unit_scaled(gram, None)
    sign, log = np.linalg.slogdet(gram)
    return float(sign), float(log) + int(exponent) * len(gram) * LN2


def log_det(M: NDArray[np.float64]) -> tuple[Any, Any, NDArray[np.bool_]]:
    """Return sign, log |det M| and whether M (..., k, k) may be singular to rounding.

    A determinant that is not small beside the product of the rows' lengths tells that it is not: of rows of length 1 no
    singular value is below |det M|/√e. Elsewhere a lower bound |M| |M⁻¹ x| / |x| of the condition for one vector x
    does, which never misses a singular matrix in practice, and costs another LU factorization, O(k³) beside the
    O(k² d) of M itself.
    """
    k = M.shape[-1]
    sign, log = np.linalg.slogdet(M)
    with np.errstate(all="ignore"):
        sure = log - np.log(np.vecdot(M, M)).sum(axis=-1) / 2 >= _CERTAIN_LOG
    if sure.all():
        return sign, log, ~sure
    doubtful = np.asarray(sign == 0)
    if k:
        x = np.broadcast_to(spread(k)[:, None], (*M.shape[:-2], k, 1))
        solution = np.linalg.solve(np.where(doubtful[..., None, None], np.eye(k), M) if doubtful.any() else M, x)
        with np.errstate(over="ignore", invalid="ignore"):
            condition = np.linalg.norm(M, axis=(-2, -1)) * np.linalg.norm(solution[..., 0], axis=-1)
            doubtful = doubtful | ~(condition <= _DOUBTFUL * np.linalg.norm(x[..., 0], axis=-1))
    return sign, log, doubtful
