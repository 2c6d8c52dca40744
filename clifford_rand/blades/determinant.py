"""Logarithms of determinants: A G Bᵀ of rows in a metric; beyond memory by panels, earlier ones in a scratch file."""

import math
import os
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_path, check_positive, describe, fail, machine_memory, quantity
from clifford_rand._typing import Array, ArrayLike
from clifford_rand.basis.metric import Metric
from clifford_rand.blades.blocks import BLOCK, Rows, blocks, moderate, rows_of
from clifford_rand.blades.rows import LN2, spread
from clifford_rand.crossproduct.factor import unit_scaled

_COPIES = 3  # of a panel that are held at a time: its columns, the copy that LAPACK factors, blocks of earlier panels
_LEAST_WIDTH = 64  # columns of a panel, below which its products are as slow as reading
_EXACT_UP_TO = 16  # determinants of whole numbers take d^4 operations on Python's; eigenvalues do past this
_DOUBTFUL = 1e8  # conditions of A G Bᵀ past this make us look whether A or B has dependent rows, which costs two QRs
_CERTAIN_LOG = -13.0  # of a determinant of rows of length 1, so that their condition is below 10⁶ √k


class SignedLog(NamedTuple):
    """A determinant as ``sign * exp(logabsdet)``; 0 and -inf for singular matrices."""

    sign: float
    logabsdet: float


def slogdet(A: ArrayLike | Any, /, *, max_memory: float | None = None, scratch: str | Path | None = None) -> SignedLog:
    """Return sign and logarithm of the absolute value of the determinant of a matrix that need not fit into memory.

    `numpy.linalg.slogdet` for an array on disk, of any real type: it is read by panels of columns, once, and computed
    in float64. Each panel is updated by those before it, whose lower triangles are in a scratch file, and factored with
    partial pivoting: 2/3 n³ operations, 4 n² bytes on disk, none where one panel is the matrix.

    Parameters
    ----------
    A : array_like, memory map or SciPy sparse array (n, n)
        Not copied, and not changed.
    max_memory : float, optional
        Bytes to stay below, besides some 50 MiB; half of the machine's by default. The smaller, the more often the
        scratch file is read.
    scratch : path of a folder, optional
        Where the scratch file is made; by default that of `tempfile`. It is gone at the end.

    Returns
    -------
    SignedLog
        ``sign`` and ``logabsdet``.

    Raises
    ------
    ArgumentError
        If A is not a square matrix of finite real numbers, or ``max_memory`` does not hold a panel of 64 columns.

    References
    ----------
    Ameli, van der Heide, Hodgkinson, Roosta and Mahoney, "Determinant estimation under memory constraints and neural
    scaling laws", 2025 (memdet of detkit). Panels from the left: Toledo, "A survey of out-of-core algorithms in
    numerical linear algebra", 1999.

    Examples
    --------
    >>> A = np.random.default_rng(0).standard_normal((300, 300)).astype(np.float32)
    >>> sign, log = cr.slogdet(A, max_memory=2**20)
    >>> expected = np.linalg.slogdet(A.astype(float))
    >>> bool(sign == expected.sign and abs(log - expected.logabsdet) < 1e-9)
    True
    """
    rows = rows_of(A, "A", "slogdet")
    if rows.shape[0] != rows.shape[1]:
        raise fail("A", "slogdet", "a square matrix", describe(f"shape {rows.shape}"))
    scaled, log = moderate(rows, "A", "slogdet")
    result, _ = _factored(scaled.take, scaled.shape[0], max_memory, scratch, "slogdet")
    return SignedLog(result.sign, result.logabsdet + log)


def log_volume(rows: Rows, max_memory: float, scratch: str | Path | None) -> float:
    """Return log √det of the Gram matrix of rows (k, d), -inf where it is singular to rounding.

    By the determinant of the rows themselves for k = d; else by that of their Gram matrix at length 1, of which each
    panel takes a pass over the rows, 2 k² d operations in all.
    """
    owner, (k, d) = "LargeBlade.log_norm", rows.shape
    scaled, log = moderate(rows, "rows", owner)
    if k == d:
        result, least = _factored(scaled.take, k, max_memory, scratch, owner)
        return result.logabsdet + log if least > k * np.finfo(float).eps else -math.inf
    squares = np.zeros(k)
    for columns in blocks(scaled.active, d, scaled.height):
        squares += np.square(scaled.take(columns)).sum(axis=1)
    if not squares.all():
        return -math.inf

    def gram(part: slice) -> Array:
        total = np.zeros((k, part.stop - part.start), order="F")
        for columns in blocks(scaled.active, d, scaled.height):
            block = scaled.take(columns)
            total += block @ block[part].T
        total /= np.sqrt(squares)[:, None]
        total /= np.sqrt(squares[part])
        return total

    result, least = _factored(gram, k, max_memory, scratch, owner)
    rounding = k + 32 + math.sqrt(d) / 16  # units: of the factorization, and of sums of d products (measured 4 to 44)
    if result.sign <= 0 or least <= rounding * np.finfo(float).eps:
        return -math.inf
    return (result.logabsdet + float(np.log(squares).sum())) / 2 + log


def _factored(
    panel: Callable[[slice], Array], n: int, max_memory: float | None, scratch: str | Path | None, owner: str
) -> tuple[SignedLog, float]:
    """Return the determinant of the columns that ``panel`` gives (n, m), and the least pivot."""
    most = machine_memory() / 2 if max_memory is None else check_positive(max_memory, "max_memory", owner)
    folder = None if scratch is None else check_path(scratch, "scratch", owner)
    if folder is not None and not folder.is_dir():
        raise fail("scratch", owner, "the path of a folder", str(folder))
    column = 8 * _COPIES * n
    width = max(n, 1) if most >= column * n else int(most // column)
    if width < min(n, _LEAST_WIDTH):
        rule = f"at least {quantity(column * _LEAST_WIDTH)}, {_COPIES} panels of {_LEAST_WIDTH} columns"
        raise fail("max_memory", owner, rule, describe(quantity(most)))
    sign, log, least = 1.0, 0.0, math.inf
    with tempfile.TemporaryFile(dir=folder) as file:
        swaps = np.zeros(n, dtype=np.int32)
        for start in range(0, n, width):
            part = slice(start, min(start + width, n))
            P = np.asfortranarray(panel(part))
            for first in range(0, start, width):
                _eliminate(P, slice(first, first + width), swaps, file)
            P, swaps[part], _ = _lapack().dgetrf(np.asfortranarray(P[start:]), overwrite_a=True)
            pivots = P.diagonal()
            least = min(least, float(np.abs(pivots).min()))
            if not least:
                return SignedLog(0.0, -math.inf), 0.0
            negative = np.count_nonzero(pivots < 0) + np.count_nonzero(swaps[part] != np.arange(len(pivots)))
            sign *= -1.0 if negative % 2 else 1.0
            log += float(np.log(np.abs(pivots)).sum())
            swaps[part] += start
            if part.stop < n:
                file.seek(0, os.SEEK_END)
                for block in _row_blocks(0, len(P), width):
                    np.ascontiguousarray(P[block]).tofile(file)
    return SignedLog(sign, log), least


def _eliminate(P: Array, part: slice, swaps: Any, file: IO[bytes]) -> None:
    """Update the columns P (n, m) by an earlier panel: exchange rows, solve with its triangle, subtract."""
    n, width = len(P), part.stop - part.start
    _lapack().dlaswp(P, swaps[: part.stop], k1=part.start, k2=part.stop - 1, overwrite_a=True)
    earlier = part.start // width
    rows_before = earlier * n - width * earlier * (earlier - 1) // 2  # panel j has n - j width rows
    file.seek(8 * width * rows_before)
    L = np.fromfile(file, count=width * width).reshape(width, width)
    from scipy.linalg.blas import dtrsm

    top = dtrsm(1.0, L, P[part], lower=True, diag=True)
    P[part] = top
    for block in _row_blocks(part.stop, n, width):
        height = block.stop - block.start
        P[block] -= np.fromfile(file, count=height * width).reshape(height, width) @ top


def _row_blocks(start: int, stop: int, width: int) -> list[slice]:
    step = max(1, BLOCK // width)
    return [slice(first, min(first + step, stop)) for first in range(start, stop, step)]


def _lapack() -> Any:
    from scipy.linalg import lapack  # loads with the first determinant

    return lapack


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
