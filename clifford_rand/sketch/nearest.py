"""Vectors nearest to a subspace, exactly or by their sketches."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_integer, describe, fail
from clifford_rand.crossproduct.paths import check_rtol
from clifford_rand.crossproduct.scaled import unit_scaled
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.products import check_factors, scaled_factors

_CHUNK_BYTES = 64 * 2**20


class NearestToSpan(NamedTuple):
    """The rows nearest to a span.

    Attributes
    ----------
    rows : ndarray (count,)
        Indices of rows of X by ascending ``estimate``.
    residual : ndarray (count,)
        Their exact distances to the span.
    estimate : ndarray (n,)
        The sketched distances of all rows, the exact ones without a sketch.
    """

    rows: NDArray[np.int64]
    residual: NDArray[Any]
    estimate: NDArray[Any]


def nearest_to_span(
    X: ArrayLike, A: ArrayLike, S: Sketch | NDArray[Any] | None = None, *, count: int = 1, rtol: float | None = None
) -> NearestToSpan:
    r"""Return the rows of ``X`` nearest to the span of the rows of ``A``.

    .. math:: \rho(x) = \min_c |x - A^T c|, \qquad \hat\rho(x) = \min_c |S(x - A^T c)|.

    Where (1-ε)|y| ≤ |S y| ≤ (1+ε)|y| on span(A, x), of dimension k + 1 at most, (1-ε) ρ(x) ≤ ρ̂(x) ≤ (1+ε) ρ(x): at the
    exact minimizer ρ̂ ≤ |S(x - Aᵀc)| ≤ (1+ε) ρ, and at the sketched one ρ̂ ≥ (1-ε)|x - Aᵀĉ| ≥ (1-ε) ρ. So the row that
    is returned first is at most (1+ε)/(1-ε) times as far as the nearest one. For all n rows at once take δ/n in
    ``suggest_dim(k + 1)``.

    Parameters
    ----------
    X : array_like (n, d)
        Candidates as rows.
    A : array_like (k, d)
        Vectors that span the subspace; they may be dependent.
    S : Sketch or ndarray (r, d), optional
        Without one the distances are exact.
    count : int
        Number of rows to return, at most n.
    rtol : float, optional
        Singular values of the rows of A, scaled to peak 1, up to ``rtol`` times the largest count as 0. Default:
        64·d·eps (8·d·eps for float32).

    Returns
    -------
    NearestToSpan

    Raises
    ------
    ArgumentError
        If the shapes do not fit, k ≥ r, or X or A is not real or not finite.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> cr.nearest_to_span([[0, 0, 1.0], [5, 2, 0.5], [1, 1, -3]], [[1, 0, 0], [1, 1, 0]], count=2)
    NearestToSpan(rows=array([1, 0]), residual=array([0.5, 1. ]), estimate=array([1. , 0.5, 3. ]))
    """
    owner = "nearest_to_span"
    X, A = as_real(X, "X", owner), as_real(A, "A", owner)
    if A.ndim != 2:
        raise fail("A", owner, "of shape (k, d)", describe(f"shape {A.shape}"))
    if X.ndim != 2 or not len(X) or X.shape[1] != A.shape[1]:
        raise fail("X", owner, f"of shape (n, {A.shape[1]}) with n ≥ 1", describe(f"shape {X.shape}"))
    count = check_integer(count, "count", owner, high=len(X), hint="X has no more rows.")
    if S is not None:
        check_factors(A, S, owner, below=1)
    dtype = np.result_type(X, A)
    tolerance = check_rtol(rtol, max(A.shape[1], 4), dtype, owner)
    rows, _ = scaled_factors(A.astype(dtype))
    exact_basis = _basis(rows, tolerance)
    basis = exact_basis if S is None else _basis(np.asarray(rows @ S.T), tolerance)
    estimate = _distances(X, S, basis, dtype)
    index = np.argsort(estimate, kind="stable")[:count]
    exact = estimate[index] if S is None else _distances(X[index], None, exact_basis, dtype)
    return NearestToSpan(index, exact, estimate)


def _basis(rows: NDArray[Any], rtol: float) -> NDArray[Any]:
    """Return orthonormal rows that span the same."""
    if not len(rows):
        return rows
    _, size, Vt = np.linalg.svd(rows, full_matrices=False)
    return np.asarray(Vt[size > rtol * size[0]])


def _distances(X: NDArray[Any], S: Any, basis: NDArray[Any], dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the distances (n,) of the rows of X, or of their sketches, to the span of orthonormal rows."""
    result = np.empty(len(X), dtype)
    step = max(1, _CHUNK_BYTES // (X.shape[1] * dtype.itemsize))
    for start in range(0, len(X), step):
        part = slice(start, start + step)
        block, exponent = unit_scaled(X[part].astype(dtype))
        if S is not None:
            block = np.asarray(block @ S.T)
        for _ in range(2):  # twice is enough: the second pass takes away what rounding left in the span
            block = block - (block @ basis.T) @ basis
        length = np.sqrt(np.einsum("ij,ij->i", block, block, dtype=np.float64))
        result[part] = np.ldexp(length, exponent).astype(dtype)
    return result
