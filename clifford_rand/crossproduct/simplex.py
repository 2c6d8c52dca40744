"""The adjugate trick: one inverse of d rows gives d cross products, one for each row that is left out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_bool, describe, fail
from clifford_rand.crossproduct.exact import row_index
from clifford_rand.crossproduct.factor import inverses
from clifford_rand.crossproduct.paths import check_rtol, finite_peaks, null_vectors
from clifford_rand.crossproduct.scaled import to_direction

_CHUNK_BYTES = 64 * 2**20


class Facets(NamedTuple):
    """The d hyperplanes through d rows but one.

    Attributes
    ----------
    direction : ndarray (m, d, d)
        ``direction[b, i]``: unit, oriented cross product of the rows of subset b without row i, in their order.
    log_norm : ndarray (m, d)
        Logarithm of its norm; -inf where those rows are dependent.
    offset : ndarray (m, d + 1) or None
        With ``bias``: the planes are x·direction + offset = 0, direction (m, d + 1, d).
    """

    direction: NDArray[Any]
    log_norm: NDArray[Any]
    offset: NDArray[Any] | None


def cross_simplex(
    X: ArrayLike, index: ArrayLike | None = None, *, bias: bool = False, rtol: float | None = None
) -> Facets:
    r"""Return all d cross products of d-1 out of d rows, for many sets of d rows, from one inverse each.

    With the rows of a subset as B (d × d), the columns of its inverse are orthogonal to all rows but one:

    .. math:: \times(x_1, …, \widehat{x_i}, …, x_d) = (-1)^{i-1} \det(B)\, B^{-1} e_i,

    (the adjugate of B up to signs), so d products cost O(d³), O(d²) each. With ``bias`` the rows are (x, 1): d + 1
    points of R^d give the d + 1 facet hyperplanes of their simplex.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row.
    index : array_like of integers (m, d), or (m, d + 1) with ``bias``, optional
        Subsets of rows; all rows once by default, n being d (or d + 1).
    bias : bool
        Return affine hyperplanes x·v + b = 0 through d of d + 1 points.
    rtol : float, optional
        A subset whose reciprocal condition number, in the 1-norm and with rows scaled to peak 1, is at most ``rtol`` is
        taken for dependent; its products come one by one from `cross_log`, exactly so. Default: that of `cross`.

    Returns
    -------
    Facets

    Raises
    ------
    ArgumentError
        If the shapes do not fit, ``X`` is not real or not finite, or ``index`` is not made of rows of X.

    Notes
    -----
    Neighboring facets share d-2 rows, so their directions are not independent samples; `cross_many` has those.

    Examples
    --------
    >>> import numpy as np
    >>> import clifford_rand as cr
    >>> cr.cross_simplex(np.diag([1.0, 2.0, 4.0])).direction[0]
    array([[ 1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    >>> triangle = cr.cross_simplex([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]], bias=True)
    >>> height = triangle.direction[0] @ [0.0, 3.0] + triangle.offset[0]
    >>> np.abs(height).round(12)  # on the two sides that meet there, 3 above the base
    array([0., 0., 3.])
    """
    owner = "cross_simplex"
    X = as_real(X, "X", owner, finite=False)
    if X.ndim != 2 or X.shape[1] < 1:
        raise fail("X", owner, "of shape (n, d), one vector per row", describe(f"shape {X.shape}"))
    bias = check_bool(bias, "bias", owner)
    rows = np.concatenate([X, np.ones((len(X), 1), X.dtype)], axis=1) if bias else X
    d = rows.shape[1]
    if index is None:
        if len(X) != d:
            raise fail("index", owner, f"given where X has not exactly {d} rows", describe(f"X of shape {X.shape}"))
        subsets = np.arange(d)[None]
    else:
        subsets = row_index(index, len(X), d, owner)
    tolerance = check_rtol(rtol, d, X.dtype, owner)
    direction = np.empty((len(subsets), d, d), X.dtype)
    log_norm = np.empty((len(subsets), d), X.dtype)
    step = max(1, _CHUNK_BYTES // (d * d * X.itemsize))
    for start in range(0, len(subsets), step):
        part = slice(start, start + step)
        _facets(rows, subsets[part], tolerance, direction[part], log_norm[part])
    if not bias:
        return Facets(direction, log_norm, None)
    normal, offset = direction[..., :-1], direction[..., -1]
    size = np.linalg.norm(normal, axis=-1)
    flat = size == 0  # the points but one coincide: no hyperplane
    scale = np.where(flat, 1, size)
    with np.errstate(divide="ignore"):
        log_norm = np.where(flat, -np.inf, log_norm + np.log(scale)).astype(X.dtype)
    return Facets(normal / scale[..., None], log_norm, np.where(flat, 0, offset / scale))


def _facets(
    X: NDArray[Any], subsets: NDArray[np.int64], rtol: float, direction: NDArray[Any], log_norm: NDArray[Any]
) -> None:
    """Write directions (m, d, d) and log-norms (m, d) of the subsets (m, d)."""
    d = X.shape[1]
    work = X[subsets]
    peaks = finite_peaks(work, "X", "cross_simplex")  # of the rows in use only, which may be few of many
    columns, exponent, log_det, sign, good = inverses(work, peaks, rtol)
    size = np.sqrt(np.einsum("bij,bij->bi", columns, columns, dtype=np.float64))
    size[~good] = 1.0
    signs = sign[:, None] * np.where(np.arange(d) % 2, -1.0, 1.0)
    np.multiply(columns, (signs / size)[..., None].astype(columns.dtype), out=direction)
    # row i was scaled by 2^-exponent[i]: of its own product it is not a factor
    log_norm[:] = np.log(size) + log_det[:, None] - exponent * np.log(2.0)
    direction += 0.0
    for b in np.flatnonzero(~good):  # dependent or nearly so: each product by its own elimination
        facets = np.array([np.delete(subsets[b], i) for i in range(d)])
        direction[b], log_norm[b] = to_direction(null_vectors(X, facets, rtol, finite_peaks(X, "X", "cross_simplex")))
