"""Factors of the wedge and of the Hodge star of sketched vectors."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real
from clifford_rand.crossproduct.paths import check_rtol
from clifford_rand.sketch.base import Sketch
from clifford_rand.sketch.factors import check_factors, log_volume, scaled_factors


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


def sketched_wedge(A: ArrayLike, S: Sketch | NDArray[Any]) -> NDArray[Any]:
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
        If the shapes do not fit, k > r, or A is not real or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> cr.sketched_wedge(np.eye(2, 20), cr.SJLT(5, 20, rng=0)).shape
    (2, 5)
    """
    A = as_real(A, "A", "sketched_wedge")
    check_factors(A, S, "sketched_wedge")
    return np.asarray(A @ S.T)


def sketched_star(A: ArrayLike, S: Sketch | NDArray[Any], *, rtol: float | None = None) -> SketchedStar:
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
        Sketched rows count as dependent where what of one is orthogonal to those before it is at most ``rtol`` times
        its length. Default: 64·r·eps (8·r·eps for float32).

    Returns
    -------
    SketchedStar

    Raises
    ------
    ArgumentError
        If the shapes do not fit, k ≥ r, or A is not real or not finite.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
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
