"""Coordinates of a gated problem: a basis of the data's directions, and one of what no penalty touches."""

from typing import Any

from clifford_rand_nn.datafits.functions import cast, library, lower_inverse, peak, zeros

_RANK_TOL = 1e-10  # singular values of the 0/1 bias columns below this share of the largest are zero
# Directions of less than this share of the largest variance are scaled up no further. Iterations of FISTA to a gap of
# 1e-6 on six problems (n = 2000, P = 50; text, pixels, reports): over 18,700 unscaled, 13,000 at 0.1, 10,600 at 0.03,
# 10,400 at 0.01.
_FLOOR = 0.01
# Weights are rounded to powers of 2^(1/8), so that a coordinate is scaled by 4 % more or less than it could be and at
# most 28 different weights remain. The prox of the penalty costs as much as there are different ones.
_LEVELS_PER_OCTAVE = 8
_TILE = 4096  # rows that are converted to double precision and centred at a time
_SMALL = 10**6  # entries of the bias columns up to which their singular value decomposition takes under 0.2 s
_GRAM_TOL = 1e-12  # eigenvalues of a Gram matrix below this share of the largest may be rounding


def row_tiles(n: int, size: int = _TILE) -> list[slice]:
    """Cut n rows into tiles, which are worked on one at a time."""
    return [slice(start, min(start + size, n)) for start in range(0, n, size)]


def coordinates(X: Any, centred: bool, wide: Any = None) -> tuple[Any, Any]:
    """Orthonormal basis (d, r) of the directions in which the rows vary, and the weight (r,) of each coordinate.

    X (n, d), an array of any library, may be in single precision; the result is in double, or in ``wide``, and no copy
    of X is made unless n < d.
    """
    xp = library(X)
    n, d = X.shape
    wide = xp.float64 if wide is None else wide
    mean = xp.sum(X, axis=0, dtype=wide) / n if centred else zeros(X, (d,), wide)
    tiles = row_tiles(n)
    scale = max((float(xp.max(xp.abs(cast(X[tile, :], wide) - mean))) for tile in tiles), default=0.0)
    scale = max(scale, float(xp.finfo(wide).smallest_normal))
    frame = None
    if n < d:
        frame, triangle = xp.linalg.qr((cast(X, wide) - mean).T / scale)  # the row space first: n directions
        gram = triangle @ triangle.T
    else:
        gram = zeros(X, (d, d), wide)
        for tile in tiles:
            rows = (cast(X[tile, :], wide) - mean) / scale
            gram += rows.T @ rows
    variance, vectors = xp.linalg.eigh(gram)
    top = max(float(variance[-1]), 0.0)
    first = _zeros(variance, max(n, d) * float(xp.finfo(wide).eps) * top)
    basis = vectors[:, first:] if frame is None else frame @ vectors[:, first:]
    octaves = -0.5 * xp.log2(xp.clip(variance[first:] / top, _FLOOR, None) if top > 0 else variance[first:])
    return basis, 2.0 ** (xp.round(octaves * _LEVELS_PER_OCTAVE) / _LEVELS_PER_OCTAVE)


def unpenalised_basis(mask: Any, bias: bool, fit_intercept: bool, wide: Any = None) -> tuple[Any, Any]:
    """Orthonormal basis Q (n, q) of the unpenalised columns B (n, p), and the (p, q) matrix R with B R = Q.

    B has a column for each gate of mask (P, n) if ``bias``, and one of ones if ``fit_intercept``. R is the
    pseudo-inverse of B times Q. Few columns are decomposed by singular values, many through B^T B.
    """
    wide = library(mask).float64 if wide is None else wide
    P, n = mask.shape
    p = (P if bias else 0) + fit_intercept
    B = zeros(mask, (n, p), wide)
    if bias:
        B[:, :P] = cast(mask.T, wide)
    if fit_intercept:
        B[:, p - 1] = 1.0
    if p == 0:
        return B, zeros(mask, (0, 0), wide)
    found = _by_gram(B) if n * p > _SMALL and p < n else None
    return _by_singular_values(B) if found is None else found


def _zeros(rising: Any, bound: float) -> int:
    """Count the leading entries that are at most ``bound``, of numbers in rising order."""
    return int(rising.shape[0]) - int(library(rising).count_nonzero(rising > bound))


def _rank_tol(B: Any) -> float:
    return max(_RANK_TOL, int(B.shape[0]) * float(library(B).finfo(B.dtype).eps))


def _by_singular_values(B: Any) -> tuple[Any, Any]:
    xp = library(B)
    W, s, Vt = xp.linalg.svd(B, full_matrices=False)
    rank = int(xp.count_nonzero(s > _rank_tol(B) * float(s[0])))
    return W[:, :rank], Vt[:rank, :].T / s[:rank]


def _by_gram(B: Any) -> tuple[Any, Any] | None:
    """Eigenvectors of B^T B, then a Cholesky step that makes Q orthonormal to rounding; None where rank is doubtful."""
    xp = library(B)
    variance, V = xp.linalg.eigh(B.T @ B)
    top = float(variance[-1])
    first = _zeros(variance, max(_GRAM_TOL, int(B.shape[0]) * float(xp.finfo(B.dtype).eps)) * top)
    if not top > 0:
        return None
    R = V[:, first:] / xp.sqrt(variance[first:])
    Q = B @ R
    inverse = lower_inverse(xp.linalg.cholesky(Q.T @ Q)).T
    for tile in row_tiles(int(Q.shape[0])):
        Q[tile, :] = Q[tile, :] @ inverse
    # What was taken for rounding must be rounding: a column outside the span would make the dual bound false.
    rest = B @ V[:, :first]
    rest = rest - Q @ (Q.T @ rest)
    if peak(xp.linalg.vector_norm(rest, axis=0)) > _rank_tol(B) * top**0.5:
        return None
    return Q, R @ inverse
