"""The vectors of a blade as numbers: scaled into range, orthonormalized, tested for dependence, complemented."""

import math
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_tolerance, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray

LN2 = float(np.log(2.0))
ORDINARY = 2.0**-32, 2.0**32  # squared lengths of rows that need none
LARGEST_SQUARE = ORDINARY[1]
# Rows of unit length that depend on each other up to rounding leave a smallest singular value of some eps. Measured for
# products of Gaussian matrices of rank k-1, k = 2 … 400, both precisions: at most 1.2·√k·eps.
_NOISE = 8
_LEAST = 256  # times eps: the least tolerance of angles and lengths that data of that precision can meet
_TINY = float(np.finfo(np.float64).tiny)
_LARGEST_INVERSE = 1e3  # of a Gram matrix of rows of length 1: three digits are lost, of the volume's relative error
_LEAST_LOG = 1 - float(np.log(_LARGEST_INVERSE))  # then λ_min ≥ det/e ≥ 10⁻³, see `log_least_eigenvalue`
LARGEST_GRAM_RTOL = 1e-3  # well-conditioned rows are independent to this; a larger tolerance asks for a frame by QR
_GRAM_FROM = 2**14  # numbers from which products are faster than a QR factorization: five times at 100 × 10,000
_WHOLE_SVD_UP_TO = 64  # singular values cost 10 times the factorization itself; past this one of them is estimated
_ITERATIONS = 5  # two solves each; the estimate is within a factor of two or three then, where rounding is orders below
_STACKED_UP_TO = 32  # dimension up to which one call factors a batch; of a large Q only the last columns are formed


class Frame(NamedTuple):
    """f1∧…∧fk = sign · exp(log_volume) · q1∧…∧qk for orthonormal rows q (..., k, d) in coordinates.

    For dependent rows the sign (...) is 0, and log_volume (...) -inf.
    """

    basis: Array
    sign: Array
    log_volume: Array


def default_rtol(k: int, dtype: np.dtype[Any]) -> float:
    """Return the smallest singular value, of k rows of unit length, up to which they count as dependent."""
    return _NOISE * math.sqrt(max(k, 1)) * float(np.finfo(dtype).eps)


def relative(dtype: np.dtype[Any], rtol: float) -> float:
    """Return a relative tolerance that the precision of the data can meet."""
    return max(check_tolerance(rtol, 0.0, "Blade"), _LEAST * float(np.finfo(dtype).eps))


def is_ordinary(factors: NDArray[Any]) -> bool:
    """Tell whether all rows are finite and of lengths from 2^-16 to 2^16: one pass."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        squares = np.vecdot(factors, factors)
    return bool(squares.min(initial=1.0) >= ORDINARY[0] and squares.max(initial=1.0) <= ORDINARY[1])


class UnitGram(NamedTuple):
    """The Gram matrix C (..., k, k) of rows at length 1, one over their lengths, log √det for the rows as they are.

    ``good`` tells whether that is as good as by a factorization of the rows, which are independent then.
    """

    matrix: Array
    shrink: Array
    log_volume: Any
    good: NDArray[np.bool_]


def unit_gram(rows: Array) -> UnitGram:
    """Return the Gram matrix of rows (..., k, d) at length 1, and what its determinant is worth.

    The determinant is off by at most k eps |C⁻¹|, relatively, so it serves where |C⁻¹| ≤ 10³. In most cases det C
    itself is large enough to tell; the inverse is looked at for the others.
    """
    return unit_gram_of(rows @ rows.swapaxes(-1, -2))


def unit_gram_of(gram: Array) -> UnitGram:
    """Return what `unit_gram` does of rows whose Gram matrix is ``gram``, which is overwritten."""
    with np.errstate(divide="ignore", invalid="ignore"):
        shrink = np.diagonal(gram, axis1=-2, axis2=-1) ** -0.5
        gram *= shrink[..., None]
        gram *= shrink[..., None, :]
        sign, log = np.linalg.slogdet(gram)
        volume = log / 2 - np.log(shrink).sum(axis=-1)
    good = np.asarray((sign > 0) & (log >= _LEAST_LOG))
    if not good.all():
        rest = (sign > 0) & ~good
        if rest.any():
            bounded = np.abs(np.linalg.inv(gram[rest])).sum(axis=-1).max(axis=-1) <= _LARGEST_INVERSE
            good[rest] = bounded
    return UnitGram(gram, shrink, volume, good)


def plain_log_volume(rows: Array) -> float | None:
    """Return log √det of the Gram matrix of one blade's rows (k, d), k ≥ 1, None where `unit_gram` has to look closer.

    For rows of ordinary lengths the determinant of the Gram matrix as it is: no row is scaled, and squares s_i that
    differ by a factor r cost r times the error, so that λ_min ≥ r/1000 is asked of the matrix at length 1.
    """
    gram = rows.dot(rows.T)
    squares = gram.diagonal().tolist()
    low, high = min(squares), max(squares)
    if not ORDINARY[0] <= low <= high <= ORDINARY[1]:
        return None
    most = math.prod(squares)  # Hadamard: no determinant is larger
    least = math.exp(_LEAST_LOG) * high / low
    if most * least > _TINY and most < math.inf:
        value = _det_of_few(gram.tolist()) if len(squares) <= 3 else float(np.linalg.det(gram))
        return math.log(value) / 2 if value >= least * most else None
    log = float(np.linalg.slogdet(gram)[1])
    return log / 2 if log - sum(map(math.log, squares)) >= math.log(least) else None


def _det_of_few(rows: list[list[float]]) -> float:
    """Return the determinant of a symmetric matrix of order 1 to 3, sooner than a call of LAPACK."""
    if len(rows) == 1:
        return rows[0][0]
    if len(rows) == 2:
        return rows[0][0] * rows[1][1] - rows[0][1] ** 2
    (a, b, c), (_, e, f), (_, _, i) = rows
    return a * (e * i - f * f) - b * (b * i - c * f) + c * (b * f - c * e)


def frame_of(rows: Array, rtol: float) -> Frame:
    """Return orthonormal rows of the same span, orientation and volume, O(k² d).

    By one QR factorization; many numbers that are well-conditioned by two of their Gram matrices, which are products.
    """
    k = rows.shape[-2]
    if k == 0:
        return Frame(rows, np.ones(rows.shape[:-2]), np.zeros(rows.shape[:-2]))
    if rows.ndim == 2 and rows.size >= _GRAM_FROM and rtol <= LARGEST_GRAM_RTOL:
        gram = unit_gram(rows)
        if gram.good:
            return _frame_by_gram(rows, gram)
    Q, R = np.linalg.qr(rows.swapaxes(-1, -2))
    sign, log_volume = log_det_triangular(R)
    zero = is_singular(R, rtol)
    return Frame(Q.swapaxes(-1, -2), np.where(zero, 0.0, sign), np.where(zero, -np.inf, log_volume))


def _frame_by_gram(rows: Array, gram: UnitGram) -> Frame:
    """Orthonormalize by C = L Lᵀ, Q = L⁻¹ R, twice: the second time rounding alone is left (Yamamoto et al., 2015).

    With |C⁻¹| ≤ 10³ the first Q is orthonormal to 10³ eps, and the second to eps.
    """
    L = np.linalg.cholesky(gram.matrix)
    Q = (np.linalg.inv(L) * gram.shrink) @ rows
    L = np.linalg.cholesky(Q @ Q.T)
    return Frame(np.linalg.inv(L) @ Q, np.ones(()), np.asarray(gram.log_volume))


def log_det_triangular(R: Array) -> tuple[Array, Array]:
    """Return sign and log of |det R| of triangular matrices (..., k, k)."""
    diagonal = np.diagonal(R, axis1=-2, axis2=-1)
    with np.errstate(divide="ignore"):
        return np.sign(diagonal).prod(axis=-1), np.log(np.abs(diagonal)).sum(axis=-1)


def is_singular(R: Array, rtol: float, *, scaled: bool = False) -> NDArray[np.bool_]:
    """Tell whether the smallest singular value of R (..., k, k), upper triangular, is at most ``rtol``.

    The columns are brought to length 1 first, unless they are ``scaled``: the length of a factor does not count.
    """
    k = R.shape[-1]
    if k == 0:
        return np.zeros(R.shape[:-2], dtype=bool)
    if not scaled:
        length = np.linalg.norm(R, axis=-2, keepdims=True)
        R = R / np.where(length > 0, length, 1)
    with np.errstate(divide="ignore"):
        log = 2 * np.log(np.abs(np.diagonal(R, axis1=-2, axis2=-1))).sum(axis=-1)
    trace = (R * R).sum(axis=(-2, -1)) if scaled else float(k)
    if rtol < 1 and np.all(log_least_eigenvalue(log, trace, k) > 2 * np.log(max(rtol, _TINY)) + 1):
        return np.zeros(R.shape[:-2], dtype=bool)
    if k <= _WHOLE_SVD_UP_TO:
        return np.asarray(np.linalg.svd(R, compute_uv=False)[..., -1] <= rtol)
    flat = R.reshape(-1, k, k)
    return np.array([_is_singular_large(triangle, rtol) for triangle in flat], dtype=bool).reshape(R.shape[:-2])


def log_least_eigenvalue(log_det: Any, trace: Any, k: int) -> Any:
    """Return a lower bound of log λ_min of a positive matrix of order k: the others have at most their mean's power.

    det = λ_min Π λ_i ≤ λ_min (trace/(k-1))^{k-1}. For rows of length 1 the power is below e, so that a determinant
    which is not small tells without a singular value that no eigenvalue is.
    """
    if k == 1:
        return log_det
    return log_det - (k - 1) * np.log(np.maximum(trace, _TINY) / (k - 1))


def _is_singular_large(R: Array, rtol: float) -> bool:
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


def spread(k: int) -> Array:
    """Return a fixed vector that is orthogonal to no vector one meets: cos n²."""
    return np.asarray(np.cos(np.arange(1.0, k + 1) ** 2))


def broadcast(X: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Return ``X`` with batch axes of ``shape`` before its last two."""
    return X if X.shape[:-2] == shape else np.broadcast_to(X, (*shape, *X.shape[-2:]))


def check_rows(X: ArrayLike, d: int, name: str, owner: str) -> NDArray[Any]:
    """Return vectors (..., d)."""
    array = as_real(X, name, owner)
    if array.ndim < 1 or array.shape[-1] != d:
        raise fail(name, owner, f"of shape (..., {d})", describe(f"shape {array.shape}"))
    return array


def complement(rows: Array, rtol: float, *, scaled: bool = False) -> tuple[Array, Array, Array]:
    """Return (C, sign, log) with star(r1∧…∧rk) = sign · exp(log) · c1∧…∧c_{d-k}, C orthonormal, Euclidean.

    With Rᵀ = Q [T; 0] and C the last columns of Q: star(r1∧…) = det(T) star(q1∧…∧qk), and star(q1∧…) = s c1∧… with
    s = det[C; q1 … qk] = (-1)^{k(d-k)} det Q, where det Q is -1 to the number of reflections. So one factorization,
    2 k² (d - k/3) operations, gives the complement and no determinant is computed. Dependent rows have the sign 0 and
    the log -inf; they are compared at length 1 unless they are ``scaled``.
    """
    *batch, k, d = rows.shape
    if k == 0:
        whole = np.broadcast_to(np.eye(d), (*batch, d, d))
        return whole, np.ones(batch), np.zeros(batch)
    count = int(np.prod(batch))
    if d <= _STACKED_UP_TO and count > 1:
        Q, T = np.linalg.qr(rows.swapaxes(-1, -2), mode="complete")
        T, C = T[..., :k, :], Q[..., k:].swapaxes(-1, -2)
        turn = np.sign(np.linalg.det(Q))
    else:
        C, T, turn = np.empty((*batch, d - k, d)), np.empty((*batch, k, k)), np.empty(batch)
        for index in np.ndindex(*batch):
            C[index], T[index], turn[index] = _factor(rows[index])
    sign, log = log_det_triangular(T)
    zero = is_singular(T, rtol, scaled=scaled)
    sign = sign * turn * (-1) ** (k * (d - k))
    return C, np.where(zero, 0.0, sign), np.where(zero, -np.inf, log)


def _factor(rows: Array) -> tuple[Array, Array, float]:
    """Return (C, T, det Q) of one matrix; only the last columns of Q are formed."""
    from scipy.linalg import get_lapack_funcs, qr

    k, d = rows.shape
    (reflectors, tau), T = qr(np.array(rows).T, mode="raw", overwrite_a=True, check_finite=False)
    last = np.zeros((d, d - k), order="F")
    last[k:] = np.eye(d - k)
    if k < d:
        (ormqr,) = get_lapack_funcs(("ormqr",), (reflectors,))
        size = int(ormqr("L", "N", reflectors, tau, last, -1)[1][0])
        last = ormqr("L", "N", reflectors, tau, last, size, overwrite_c=1)[0]
    return last.T, T[:k], float((-1) ** int(np.count_nonzero(tau)))
