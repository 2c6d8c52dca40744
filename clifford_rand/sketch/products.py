"""Products of sketched vectors, embedded back: cross product, wedge and Hodge star; vectors nearest to a subspace."""

import math
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_bool, check_integer, describe, fail
from clifford_rand._threads import stacked
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.crossproduct.exact import cross, cross_log
from clifford_rand.crossproduct.factor import row_peaks, unit_scaled
from clifford_rand.crossproduct.paths import check_rtol, default_rtol
from clifford_rand.sketch.base import Sketch

_LN2 = math.log(2.0)
_SHORT = 0.05  # of the scale of S: where Sᵀ takes so much from a unit vector, the rank of S is looked at


class SketchedStar(NamedTuple):
    """The Hodge star of sketched vectors, embedded back, as exp(log_norm) · v_1 ∧ … ∧ v_{r-k}.

    Attributes
    ----------
    factors : ndarray (..., r-k, d)
        v_i = Sᵀ n_i, n_i orthonormal in R^r. 0 where the sketched vectors are dependent.
    log_norm : ndarray (...) or scalar
        Logarithm of the k-volume of the sketched vectors; -inf where they are dependent.
    """

    factors: NDArray[Any]
    log_norm: NDArray[Any]


def sketched_cross(
    A: ArrayLike, S: Sketch | NDArray[Any], /, *, normalize: bool = False, rtol: float | None = None
) -> NDArray[Any]:
    r"""Return the cross product of r-1 sketched vectors, embedded back into R^d.

    .. math:: v = S^T \times(S x_1, …, S x_{r-1})

    * v is orthogonal to every x_i, exactly: vᵀx_i = ×(S x_1, …)ᵀ(S x_i) = 0 (first proposition).
    * For any other x, vᵀx = det[S x, S x_1, …, S x_{r-1}]; if two rows of S may be exchanged without changing its
      distribution, then E_S[vᵀx] = 0 (second proposition). All sketches of this library are such
      (``has_exchangeable_rows``; `LeverageSampling` from r = 2 on), a fixed matrix or a sample in sorted order is not.

    Parameters
    ----------
    A : array_like (..., r-1, d)
        One vector per row.
    S : Sketch or ndarray (r, d)
        Anything with ``shape``, ``T`` and products by ``@`` from both sides.
    normalize : bool
        Return unit vectors, which never overflow, whatever r. Then the sign of vᵀx still has mean zero.
    rtol : float, optional
        Relative pivot size up to which the sketched rows count as dependent, see `cross`.

    Returns
    -------
    ndarray (..., d)
        0 where the sketched rows are rank-deficient, and, of unit vectors, if S has a rank below r: Sᵀ maps the
        direction orthogonal to the sketched rows to rounding noise then.

    Raises
    ------
    ArgumentError
        If the shapes do not fit, ``A`` is not real or not finite, or ``rtol`` is not in [0, 1).

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806, Section 3.3.

    Examples
    --------
    >>> A = np.random.default_rng(0).standard_normal((4, 50))
    >>> v = cr.sketched_cross(A, cr.SJLT(5, 50, rng=0), normalize=True)
    >>> bool(np.abs(A @ v).max() < 1e-12), round(float(np.linalg.norm(v)), 12)
    (True, 1.0)
    """
    owner = "sketched_cross"
    A = as_real(A, "A", owner)
    r, d = shape = _shape_of(S, owner)
    if A.ndim < 2 or A.shape[-2:] != (r - 1, d):
        rule = f"of shape (..., {r - 1}, {d}), r-1 vectors as rows for S of shape {shape}"
        raise fail("A", owner, rule, describe(f"shape {A.shape}"))
    sketched = A @ S.T
    if not check_bool(normalize, "normalize", owner):
        return np.asarray(cross(sketched, rtol=rtol) @ S)
    v = cross_log(sketched, rtol=rtol).direction @ S
    norm = np.linalg.norm(v, axis=-1, keepdims=True)
    known = norm > 0
    if (known & (norm < _SHORT * _stretch(A, sketched))).any() and is_deficient(S, v.dtype):
        return np.zeros_like(v)
    return np.asarray(np.divide(v, norm, out=np.zeros_like(v), where=known))


def is_deficient(S: Sketch | NDArray[Any], dtype: Any) -> bool:
    """Tell whether S has a rank below r: noise is the longer the nearer rows are to dependence, its length no sign."""
    r = S.shape[0]
    rows = np.eye(r, dtype=dtype) @ S
    peak = float(np.abs(rows).max(initial=0.0))  # squares of tiny rows vanish
    rtol = default_rtol(max(r, 4), dtype)
    return bool(peak == 0 or np.linalg.matrix_rank(rows / np.asarray(peak, dtype=dtype), rtol=rtol) < r)


def _stretch(A: NDArray[Any], sketched: NDArray[Any]) -> NDArray[Any]:
    """Return the largest ratio (..., 1) of the peaks of a sketched row and of the row itself: the scale of S."""
    if not A.shape[-2]:
        return np.zeros((*A.shape[:-2], 1))
    before, after = row_peaks(A), row_peaks(sketched)
    ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    return np.asarray(ratio.max(axis=-1, keepdims=True))


def sketched_wedge(A: ArrayLike, S: Sketch | NDArray[Any], /) -> NDArray[Any]:
    r"""Return the factors S a_1, …, S a_k of the sketched blade, ``A @ S.T``.

    The blade S a_1 ∧ … ∧ S a_k is the image of a_1 ∧ … ∧ a_k under the outermorphism of S. It depends on that blade
    only, and so keeps linear dependence and orientation within span(A). Where (1-ε)|x| ≤ |S x| ≤ (1+ε)|x| on span(A),

    .. math:: (1-ε)^k \le \frac{|S a_1 ∧ … ∧ S a_k|}{|a_1 ∧ … ∧ a_k|} = |\det{}_k(S|_{\operatorname{span} A})| \le
              (1+ε)^k,

    the product of the k singular values of S U, U an orthonormal basis. Inner products: `sketched_inner`.

    Parameters
    ----------
    A : array_like (..., k, d)
        Vectors as rows, k ≤ r: more have the wedge 0 in R^r.
    S : Sketch or ndarray (r, d)

    Returns
    -------
    ndarray (..., k, r)

    Raises
    ------
    ArgumentError
        As `sketched_star`, for k > r.

    Examples
    --------
    >>> cr.sketched_wedge(np.eye(2, 20), cr.SJLT(5, 20, rng=0)).shape
    (2, 5)
    """
    A = as_real(A, "A", "sketched_wedge")
    check_factors(A, S, "sketched_wedge")
    return np.asarray(A @ S.T)


def sketched_star(A: ArrayLike, S: Sketch | NDArray[Any], /, *, rtol: float | None = None) -> SketchedStar:
    r"""Return the Hodge star of k sketched vectors, embedded back: r-k vectors of R^d orthogonal to the rows of ``A``.

    .. math:: \star(S a_1 ∧ … ∧ S a_k) = e^{\text{log\_norm}}\, n_1 ∧ … ∧ n_{r-k}, \qquad v_i = S^T n_i.

    * Every v_i is orthogonal to every a_j, exactly: v_iᵀa_j = n_iᵀ S a_j = 0 (first proposition of arXiv:2406.02806,
      Section 3.3, for any number of vectors). All other vectors orthogonal to A in the row space of S are combinations
      of these.
    * Oriented: det[n_1, …, n_{r-k}, S a_1, …, S a_k] = exp(log_norm). For k = r - 1 the factor times exp(log_norm) is
      `sketched_cross`.
    * For vectors y_1, …, y_{r-k} det(v_i·y_j) exp(log_norm) = det[S y_1, …, S y_{r-k}, S a_1, …, S a_k], of mean zero
      where two rows of S are exchangeable (second proposition).

    Parameters
    ----------
    A : array_like (..., k, d)
        Vectors as rows, k < r.
    S : Sketch or ndarray (r, d)
    rtol : float, optional
        When sketched rows count as dependent: see `sketched_volume`.

    Raises
    ------
    ArgumentError
        If the shapes do not fit, k ≥ r, or A is not real or not finite.

    Examples
    --------
    >>> A = np.random.default_rng(0).standard_normal((3, 50))
    >>> star = cr.sketched_star(A, cr.SJLT(8, 50, rng=0))
    >>> star.factors.shape, bool(np.abs(star.factors @ A.T).max() < 1e-12)
    ((5, 50), True)
    """
    owner = "sketched_star"
    A = as_real(A, "A", owner)
    check_factors(A, S, owner, below=1)
    r, k = S.shape[0], A.shape[-2]
    tolerance = check_rtol(rtol, max(r, 4), A.dtype, owner)
    rows, shift = scaled_factors(A)
    Y, lost = scaled_factors(np.asarray(rows @ S.T))
    if k == 0:
        Q, triangle = np.broadcast_to(np.eye(r, dtype=Y.dtype), (*Y.shape[:-2], r, r)), np.ones((*Y.shape[:-2], 0))
    else:
        Q, R = np.linalg.qr(np.swapaxes(Y, -1, -2), mode="complete")
        triangle = np.diagonal(R, axis1=-2, axis2=-1)
    normals = np.array(np.swapaxes(Q[..., k:], -1, -2))
    # det[N, Y] = (-1)^{k(r-k)} det[Y, N] = (-1)^{k(r-k)} det(Q) Π R_ii
    sign = np.linalg.slogdet(Q)[0] * np.sign(triangle).prod(axis=-1) * (-1.0) ** (k * (r - k))
    normals[..., 0, :] *= np.where(sign < 0, -1.0, 1.0)[..., None].astype(normals.dtype)
    size = log_volume(Y, tolerance)
    normals[~np.isfinite(size)] = 0.0
    log_norm = (size + lost + shift).astype(A.dtype)
    return SketchedStar(np.asarray(normals @ S), log_norm[()])


def check_factors(A: NDArray[Any], S: object, owner: str, *, below: int = 0) -> None:
    """Raise unless ``S`` is (r, d) and ``A`` (..., k, d) with k ≤ r - ``below``."""
    r, d = shape = _shape_of(S, owner)
    if A.ndim < 2 or A.shape[-1] != d or A.shape[-2] > r - below:
        rule = f"of shape (..., k, {d}) with k ≤ {r - below}, vectors as rows, for S of shape {shape}"
        raise fail("A", owner, rule, describe(f"shape {A.shape}"))


def _shape_of(S: object, owner: str) -> tuple[int, int]:
    shape = getattr(S, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise fail("S", owner, "a sketch or a matrix of shape (r, d)", S)
    return shape


def scaled_factors(A: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.float64]]:
    """Return the rows times powers of two that bring their peaks to [1/2, 1), and the log of what they lost (...)."""
    rows, exponent = unit_scaled(A)
    return rows, exponent.sum(axis=-1, dtype=np.float64) * _LN2


@stacked
def log_volume(Y: NDArray[Any], rtol: float | None = None) -> NDArray[np.float64]:
    """Return log √det(Y Yᵀ) for scaled rows Y (..., k, r) by QR, -inf where a row depends on those before it.

    A row depends on others where what is orthogonal to them is at most ``rtol`` times its length.
    """
    k, r = Y.shape[-2:]
    tolerance = default_rtol(max(r, 4), Y.dtype) if rtol is None else rtol
    Y = Y.astype(np.float64)
    if k == 0:
        return np.zeros(Y.shape[:-2])
    R = np.linalg.qr(np.swapaxes(Y, -1, -2), mode="r")
    height = np.abs(np.diagonal(R, axis1=-2, axis2=-1))
    length = np.linalg.norm(Y, axis=-1)
    dependent = (height <= tolerance * length).any(axis=-1)
    logs = np.log(np.where(dependent[..., None], 1.0, height)).sum(axis=-1)
    return np.asarray(np.where(dependent, -np.inf, logs))


_CHUNK_BYTES = 64 * 2**20


class NearestToSpan(NamedTuple):
    """The rows nearest to a span.

    Attributes
    ----------
    rows, residual : ndarray (n_rows,)
        Indices of rows of X by ascending ``estimate``, and their exact distances to the span.
    estimate : ndarray (n,)
        The sketched distances of all rows, the exact ones without a sketch.
    """

    rows: NDArray[np.int64]
    residual: NDArray[Any]
    estimate: NDArray[Any]


def nearest_to_span(
    X: ArrayLike, A: ArrayLike, S: Sketch | NDArray[Any] | None = None, /, *, n_rows: int = 1, rtol: float | None = None
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
    n_rows : int
        Number of rows to return, at most n.
    rtol : float, optional
        Singular values of A, its rows scaled to peak 1, up to ``rtol`` times the largest count as 0. Default: 64·d·eps
        (8·d·eps for float32).

    Raises
    ------
    ArgumentError
        If the shapes do not fit, k ≥ r, or X or A is not real or not finite.

    Examples
    --------
    >>> cr.nearest_to_span([[0, 0, 1.0], [5, 2, 0.5], [1, 1, -3]], [[1, 0, 0], [1, 1, 0]], n_rows=2)
    NearestToSpan(rows=array([1, 0]), residual=array([0.5, 1. ]), estimate=array([1. , 0.5, 3. ]))
    """
    owner = "nearest_to_span"
    X, A = as_real(X, "X", owner), as_real(A, "A", owner)
    if A.ndim != 2:
        raise fail("A", owner, "of shape (k, d)", describe(f"shape {A.shape}"))
    if X.ndim != 2 or not len(X) or X.shape[1] != A.shape[1]:
        raise fail("X", owner, f"of shape (n, {A.shape[1]}) with n ≥ 1", describe(f"shape {X.shape}"))
    n_rows = check_integer(n_rows, "n_rows", owner, high=len(X), hint="X has no more rows.")
    if S is not None:
        check_factors(A, S, owner, below=1)
    dtype = np.result_type(X, A)
    tolerance = check_rtol(rtol, max(A.shape[1], 4), dtype, owner)
    rows, _ = scaled_factors(A.astype(dtype))
    exact_basis = _basis(rows, tolerance)
    basis = exact_basis if S is None else _basis(np.asarray(rows @ S.T), tolerance)
    estimate = _distances(X, S, basis, dtype)
    index = np.argsort(estimate, kind="stable")[:n_rows]
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
