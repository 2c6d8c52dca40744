"""Coordinates of a gated problem: a basis of the data's directions, and one of what no penalty touches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

__all__ = ["coordinates", "unpenalised_basis"]

Array = NDArray[np.float64]

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


def coordinates(X: NDArray[Any], centred: bool) -> tuple[Array, Array]:
    """Orthonormal basis (d, r) of the directions in which the rows vary, and the weight (r,) of each coordinate.

    X (n, d) may be in single precision; the result is double, and no copy of X is made unless n < d.
    """
    n, d = X.shape
    mean = X.mean(axis=0, dtype=np.float64) if centred else np.zeros(d)
    scale = max((float(np.abs(X[a : a + _TILE] - mean).max()) for a in range(0, n, _TILE)), default=0.0)
    scale = max(scale, np.finfo(np.float64).tiny)
    frame = None
    if n < d:
        frame, triangle = np.linalg.qr((X - mean).T / scale)  # the row space first: n directions instead of d
        gram = triangle @ triangle.T
    else:
        gram = np.zeros((d, d))
        for start in range(0, n, _TILE):
            rows = (X[start : start + _TILE] - mean) / scale
            gram += rows.T @ rows
    variance, vectors = np.linalg.eigh(gram)
    top = max(float(variance[-1]), 0.0)
    keep = variance > max(n, d) * np.finfo(np.float64).eps * top
    basis = vectors[:, keep] if frame is None else frame @ vectors[:, keep]
    octaves = -0.5 * np.log2(np.maximum(variance[keep] / top, _FLOOR) if top > 0 else variance[keep])
    return basis, 2.0 ** (np.round(octaves * _LEVELS_PER_OCTAVE) / _LEVELS_PER_OCTAVE)


def unpenalised_basis(mask: NDArray[np.bool_], bias: bool, fit_intercept: bool) -> tuple[Array, Array]:
    """Orthonormal basis Q (n, q) of the unpenalised columns B (n, p), and the (p, q) matrix R with B R = Q.

    B has a column for each gate of mask (P, n) if ``bias``, and one of ones if ``fit_intercept``. R is the
    pseudo-inverse of B times Q. Few columns are decomposed by singular values, many through B^T B.
    """
    P, n = mask.shape
    p = (P if bias else 0) + fit_intercept
    B = np.empty((n, p))
    if bias:
        B[:, :P] = mask.T
    if fit_intercept:
        B[:, -1] = 1
    if p == 0:
        return B, np.zeros((0, 0))
    found = _by_gram(B) if B.size > _SMALL and p < n else None
    return _by_singular_values(B) if found is None else found


def _by_singular_values(B: Array) -> tuple[Array, Array]:
    W, s, Vt = np.linalg.svd(B, full_matrices=False)
    keep = s > _RANK_TOL * s[0]
    return np.ascontiguousarray(W[:, keep]), Vt[keep].T / s[keep]


def _by_gram(B: Array) -> tuple[Array, Array] | None:
    """Eigenvectors of B^T B, then a Cholesky step that makes Q orthonormal to rounding; None where rank is doubtful."""
    variance, V = np.linalg.eigh(B.T @ B)
    keep = variance > _GRAM_TOL * variance[-1]
    R = V[:, keep] / np.sqrt(variance[keep])
    Q = B @ R
    triangle = np.linalg.cholesky(Q.T @ Q)
    inverse = solve_triangular(triangle, np.eye(len(triangle)), lower=True).T
    for start in range(0, len(Q), _TILE):
        Q[start : start + _TILE] = Q[start : start + _TILE] @ inverse
    # What was taken for rounding must be rounding: a column outside the span would make the dual bound false.
    rest = B @ V[:, ~keep]
    rest -= Q @ (Q.T @ rest)
    if np.linalg.norm(rest, axis=0).max(initial=0.0) > _RANK_TOL * np.sqrt(variance[-1]):
        return None
    return Q, R @ inverse
