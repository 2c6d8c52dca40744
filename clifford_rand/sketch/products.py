"""Products of sketched vectors, embedded back: the sketched cross product."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_bool, describe, fail
from clifford_rand.crossproduct.exact import cross, cross_log
from clifford_rand.crossproduct.paths import default_rtol
from clifford_rand.crossproduct.scaled import row_peaks
from clifford_rand.sketch.base import Sketch


def sketched_cross(
    A: ArrayLike, S: Sketch | NDArray[Any], *, normalize: bool = False, rtol: float | None = None
) -> NDArray[Any]:
    r"""Return the cross product of r-1 sketched vectors, embedded back into R^d.

    .. math:: v = S^T \times(S x_1, …, S x_{r-1})

    * v is orthogonal to every x_i, exactly: vᵀx_i = ×(S x_1, …)ᵀ(S x_i) = 0 (first proposition).
    * For any other x, vᵀx = det[S x, S x_1, …, S x_{r-1}]; if two rows of S may be exchanged without changing its
      distribution, then E_S[vᵀx] = 0 (second proposition). All sketches of this library are such
      (``exchangeable_rows``; `LeverageSampling` from r = 2 on), a fixed matrix or a sample in sorted order is not.

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
        0 where the sketched rows are rank-deficient, and, of unit vectors, where Sᵀ maps the direction orthogonal to
        them to rounding noise: S has a rank below r then.

    Raises
    ------
    ArgumentError
        If the shapes do not fit, ``A`` is not real or not finite, or ``rtol`` is not in [0, 1).

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806, Section 3.3.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> A = np.random.default_rng(0).standard_normal((4, 50))
    >>> v = cr.sketched_cross(A, cr.SJLT(5, 50, rng=0), normalize=True)
    >>> bool(np.abs(A @ v).max() < 1e-12), round(float(np.linalg.norm(v)), 12)
    (True, 1.0)
    """
    owner = "sketched_cross"
    A = as_real(A, "A", owner)
    shape = getattr(S, "shape", None)
    if not isinstance(shape, tuple) or len(shape) != 2:
        raise fail("S", owner, "a sketch or a matrix of shape (r, d)", S)
    r, d = shape
    if A.ndim < 2 or A.shape[-2:] != (r - 1, d):
        rule = f"of shape (..., {r - 1}, {d}), r-1 vectors as rows for S of shape {shape}"
        raise fail("A", owner, rule, describe(f"shape {A.shape}"))
    sketched = A @ S.T
    if not check_bool(normalize, "normalize", owner):
        return np.asarray(cross(sketched, rtol=rtol) @ S)
    v = cross_log(sketched, rtol=rtol).direction @ S
    norm = np.linalg.norm(v, axis=-1, keepdims=True)
    known = norm > default_rtol(max(r, 4), v.dtype) * _stretch(A, sketched)
    return np.asarray(np.divide(v, norm, out=np.zeros_like(v), where=known))


def _stretch(A: NDArray[Any], sketched: NDArray[Any]) -> NDArray[Any]:
    """Return the largest ratio (..., 1) of the peaks of a sketched row and of the row itself: the scale of S."""
    if not A.shape[-2]:
        return np.zeros((*A.shape[:-2], 1))
    before, after = row_peaks(A), row_peaks(sketched)
    ratio = np.divide(after, before, out=np.zeros_like(after), where=before > 0)
    return np.asarray(ratio.max(axis=-1, keepdims=True))
