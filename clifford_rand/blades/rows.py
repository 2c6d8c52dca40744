"""The vectors of a blade as numbers: scaled into range, orthonormalised, tested for dependence; all in float64."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LN2 = float(np.log(2.0))
_TAME = 16  # rows of peak 2^-16 to 2^16 need no scale: their products are far from the ends of float64
# Rows of unit length that depend on each other up to rounding leave a smallest singular value of some eps. Measured for
# products of Gaussian matrices of rank k-1, k = 2 … 400, both precisions: at most 1.2·√k·eps.
_NOISE = 8
_LEAST = 256  # times eps: the least tolerance of angles and lengths that data of that precision can meet
_WHOLE_SVD_UP_TO = 64  # singular values cost 10 times the factorisation itself; past this one of them is estimated
_ITERATIONS = 5  # two solves each; the estimate is within a factor of two or three then, where rounding is orders below


class Frame(NamedTuple):
    """f1∧…∧fk = sign · exp(log_volume) · q1∧…∧qk for orthonormal rows q in coordinates.

    Attributes
    ----------
    basis : ndarray (..., k, d)
    sign : ndarray (...)
        1, -1, or 0 for dependent rows.
    log_volume : ndarray (...)
        -inf for dependent rows.
    """

    basis: NDArray[np.float64]
    sign: NDArray[np.float64]
    log_volume: NDArray[np.float64]


def default_rtol(k: int, dtype: np.dtype[Any]) -> float:
    """Return the smallest singular value, of k rows of unit length, up to which they count as dependent."""
    return float(_NOISE * np.sqrt(max(k, 1)) * np.finfo(dtype).eps)


def relative(dtype: np.dtype[Any], rtol: float) -> float:
    """Return a relative tolerance that the precision of the data can meet."""
    return max(float(rtol), _LEAST * float(np.finfo(dtype).eps))


def scaled_rows(factors: NDArray[Any], peaks: NDArray[Any]) -> tuple[NDArray[np.float64], NDArray[np.int64]]:
    """Return rows (..., k, d) of moderate size and n (...) with f1∧…∧fk = 2^n r1∧…∧rk, exactly."""
    rows = factors.astype(np.float64, copy=False)
    shift = np.frexp(peaks)[1]
    shift[np.abs(shift) <= _TAME] = 0
    if shift.any():
        rows = np.ldexp(rows, -shift[..., None])
    return rows, shift.sum(axis=-1, dtype=np.int64)


def frame_of(rows: NDArray[np.float64], rtol: float) -> Frame:
    """Return orthonormal rows of the same span, orientation and volume, by one QR factorisation, O(k² d)."""
    k = rows.shape[-2]
    if k == 0:
        return Frame(rows, np.ones(rows.shape[:-2]), np.zeros(rows.shape[:-2]))
    Q, R = np.linalg.qr(rows.swapaxes(-1, -2))
    sign, log_volume = log_det_triangular(R)
    zero = is_singular(R, rtol)
    return Frame(Q.swapaxes(-1, -2), np.where(zero, 0.0, sign), np.where(zero, -np.inf, log_volume))


def log_det_triangular(R: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return sign and log of |det R| of triangular matrices (..., k, k)."""
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore"):
        return np.sign(diagonal).prod(axis=-1), np.log(np.abs(diagonal)).sum(axis=-1)


def is_singular(R: NDArray[np.float64], rtol: float, *, scaled: bool = False) -> NDArray[np.bool_]:
    """Tell whether the smallest singular value of R (..., k, k), upper triangular, is at most ``rtol``.

    The columns are brought to length 1 first, unless they are ``scaled``: the length of a factor does not count.
    """
    k = R.shape[-1]
    if k == 0:
        return np.zeros(R.shape[:-2], dtype=bool)
    if not scaled:
        length = np.linalg.norm(R, axis=-2, keepdims=True)
        R = R / np.where(length > 0, length, 1)
    if k <= _WHOLE_SVD_UP_TO:
        return np.asarray(np.linalg.svd(R, compute_uv=False)[..., -1] <= rtol)
    flat = R.reshape(-1, k, k)
    return np.array([_is_singular_large(one, rtol) for one in flat], dtype=bool).reshape(R.shape[:-2])


def _is_singular_large(R: NDArray[np.float64], rtol: float) -> bool:
    """Estimate the smallest singular value by inverse iteration, O(k²) a step."""
    from scipy.linalg import solve_triangular  # loads with the first large blade

    if not np.abs(np.diagonal(R)).min() > rtol:  # no singular value is larger than the least of the diagonal
        return True
    x = spread(len(R))
    size = 0.0
    for _ in range(_ITERATIONS):
        x = solve_triangular(R, x / np.linalg.norm(x), trans="T", check_finite=False)
        x = solve_triangular(R, x, check_finite=False)
        size = float(np.linalg.norm(x))
        if not size < np.inf:
            return True
    return bool(size**-0.5 <= rtol)


def spread(k: int) -> NDArray[np.float64]:
    """Return a fixed vector that is orthogonal to no vector one meets: cos n²."""
    return np.asarray(np.cos(np.arange(1.0, k + 1) ** 2))
