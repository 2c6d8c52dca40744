"""Cross products of the d-1 rows of matrices, of subsets of rows, and of all d-1 out of d rows by one inverse."""

import math
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_array, as_real, check_bool, describe, extremes, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.crossproduct import paths
from clifford_rand.crossproduct.factor import ScaledVectors, inverses, to_direction, to_value
from clifford_rand.crossproduct.paths import check_rtol, checked_shape, finite_peaks, null_vectors, ordinary_pairs
from clifford_rand.errors import one_array


class CrossProduct(NamedTuple):
    """A cross product as ``direction * exp(log_norm)``.

    Attributes
    ----------
    direction : ndarray (..., d)
        Unit vector, oriented; 0 for rank-deficient rows.
    log_norm : ndarray (...) or scalar
        Natural logarithm of the norm; -inf for rank-deficient rows.
    """

    direction: NDArray[Any]
    log_norm: NDArray[Any]


@one_array
def cross(A: ArrayLike, /, *, rtol: float | None = None) -> NDArray[Any]:
    r"""Return the generalized cross product of the d-1 rows of ``A``.

    .. math:: \times(x_1, …, x_{d-1}) = \sum_{i=1}^d (-1)^{i-1} \det(M_i)\, e_i,

    where M is the d × (d-1) matrix with *columns* x_j and M_i is M without its i-th row. So the product is orthogonal
    to every x_j, its norm is the volume that they span, and xᵀ×(x_1, …) = det[x, x_1, …, x_{d-1}], x first. At d = 3
    it is `numpy.cross`; at d = 2, ×(x) = (x2, -x1); at d = 1 the product of no vectors is e1. One LU factorization
    computes it, O(d³).

    Parameters
    ----------
    A : array_like (..., d-1, d)
        One vector per row. float32 and float64 are kept, integers become float64. Arrays of Python integers and
        fractions (``dtype=object``) are computed without rounding.
    rtol : float, optional
        The rows are taken for dependent, and their product is 0, where elimination leaves of a row a pivot of at most
        ``rtol`` times its largest entry; scaling a row does not change this. Default: 64·d·eps for float64,
        8·d·eps for float32, 4·eps where d ≤ 3.

    Returns
    -------
    ndarray (..., d)
        Where the norm leaves the floating-point range the value overflows to inf, with NumPy's warning, or underflows
        to 0, as that of `numpy.linalg.det` does (Gaussian rows: float64 near d = 310, float32 near d = 60); use
        `cross_log` there.

    Raises
    ------
    ArgumentError
        If ``A`` is not (..., d-1, d) with d ≥ 1, not real or not finite, or ``rtol`` is not in [0, 1).

    References
    ----------
    Wang, Kim, Chu, Subramaniam and Pilanci, "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024,
    arXiv:2406.02806, Section 3.2, definition of the generalized cross-product.

    Examples
    --------
    >>> cr.cross([[3, 4]])
    array([ 4., -3.])
    >>> cr.cross([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0]])
    array([ 0.,  0.,  0., -1.])
    >>> cr.cross(np.array([[3, 4, 10**20], [1, 2, 0]], dtype=object))
    array([-200000000000000000000, 100000000000000000000, 2], dtype=object)
    """
    array = as_array(A, "A", "cross")
    if array.dtype == object:
        return paths.exact_products(checked_shape(array, "cross"), rtol, "cross")
    scaled, batch = _null_vectors(array, rtol, "cross")
    value = scaled if isinstance(scaled, np.ndarray) else to_value(scaled)
    return value.reshape(*batch, value.shape[1])


@one_array
def cross_log(A: ArrayLike, /, *, rtol: float | None = None) -> CrossProduct:
    """Return the cross product of the d-1 rows of ``A`` as unit direction and log-norm, which never overflow.

    ``cross(A) == direction * exp(log_norm)`` to rounding, the pair being to `cross` what `numpy.linalg.slogdet` is to
    `numpy.linalg.det`; log_norm is half the log-determinant of A Aᵀ.

    Parameters
    ----------
    A : array_like (..., d-1, d)
        One vector per row.
    rtol : float, optional
        Relative pivot size up to which rows count as dependent, see `cross`.

    Returns
    -------
    CrossProduct
        ``direction`` (..., d) and ``log_norm`` (...), both in A's dtype; 0 and -inf for rank-deficient rows.

    Raises
    ------
    ArgumentError
        As `cross`.

    References
    ----------
    The definition is that of `cross`; |×(x_1, …)|² = det(A Aᵀ).

    Examples
    --------
    >>> direction, log_norm = cr.cross_log([[3e200, 4e200]])
    >>> print(direction, round(log_norm - 200 * np.log(10), 6))
    [ 0.8 -0.6] 1.609438
    >>> cr.cross_log(np.ones((3, 4))).log_norm
    np.float64(-inf)
    """
    scaled, batch = _null_vectors(A, rtol, "cross_log")
    direction, log_norm = to_direction(_scaled(scaled))
    return CrossProduct(direction.reshape(*batch, direction.shape[-1]), log_norm.reshape(batch)[()])


def _scaled(vectors: ScaledVectors | NDArray[Any]) -> ScaledVectors:
    """Return values as vectors with exponents of 0."""
    return ScaledVectors(vectors, np.zeros(len(vectors), np.int64)) if isinstance(vectors, np.ndarray) else vectors


def _null_vectors(A: ArrayLike, rtol: float | None, owner: str) -> tuple[ScaledVectors | NDArray[Any], tuple[int, ...]]:
    """Check ``A``, and return the products of its m matrices, or their values (m, d), with the batch shape."""
    A = checked_shape(as_real(A, "A", owner, finite=False), owner)
    *batch, rows, d = A.shape
    m = math.prod(batch)
    X = A.reshape(m * rows, d)
    if d == 3:
        ordinary = ordinary_pairs(X, None, check_rtol(rtol, d, A.dtype, owner))
        if ordinary is not None:
            return ordinary, tuple(batch)
    peaks = finite_peaks(X, "A", owner)
    index = np.arange(m * rows).reshape(m, rows)
    return null_vectors(X, index, check_rtol(rtol, d, A.dtype, owner), peaks), tuple(batch)


def cross_many(
    X: ArrayLike, /, index: ArrayLike, *, normalize: bool = False, rtol: float | None = None
) -> NDArray[Any]:
    """Return ``cross(X[index[b]])`` for every b.

    From d = 4 on the rows are gathered at most 64 MiB at a time, so memory stays near that of ``X``, ``index`` and the
    result.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row. float32 and float64 are kept, integers become float64.
    index : array_like of integers (m, d-1)
        Rows of ``X``, from 0 to n-1. A row named twice makes its subset rank-deficient.
    normalize : bool
        Return unit directions, which never overflow.
    rtol : float, optional
        Relative pivot size up to which rows count as dependent, see `cross`.

    Returns
    -------
    ndarray (m, d)
        0 where the rows are rank-deficient.

    Raises
    ------
    ArgumentError
        If ``X`` is not (n, d) with d ≥ 1, not real or not finite, or ``index`` is not an integer
        array (m, d-1) of rows of X.

    References
    ----------
    Wang et al., "Randomized Geometric Algebra Methods for Convex Neural Networks", 2024, arXiv:2406.02806, equation of
    h = ×(x_{j_1}, …, x_{j_{d-1}}) in Section 3.2.

    Examples
    --------
    >>> X = np.array([[1.0, 0, 0], [0, 2, 0], [0, 0, 3]])
    >>> cr.cross_many(X, [[0, 1], [2, 0]])
    array([[0., 0., 2.],
           [0., 3., 0.]])
    >>> cr.cross_many(X, [[0, 1], [2, 0]], normalize=True)
    array([[0., 0., 1.],
           [0., 1., 0.]])
    """
    owner = "cross_many"
    X, rows = _subsets(X, index, owner)
    rtol = check_rtol(rtol, X.shape[1], X.dtype, owner)
    vectors: ScaledVectors | NDArray[Any] | None = None
    if X.shape[1] == 3 and len(X):
        low, high = extremes(X)
        vectors = ordinary_pairs(X, rows, rtol) if -math.inf < low <= high < math.inf else None
    if vectors is None:
        vectors = null_vectors(X, rows, rtol, finite_peaks(X, "X", owner))
    if check_bool(normalize, "normalize", owner):
        return to_direction(_scaled(vectors))[0]
    return vectors if isinstance(vectors, np.ndarray) else to_value(vectors)


def checked_subsets(X: ArrayLike, index: ArrayLike, owner: str) -> tuple[NDArray[Any], NDArray[Any], NDArray[np.int64]]:
    """Return rows (n, d), their peaks and the subsets (m, d-1)."""
    X, rows = _subsets(X, index, owner)
    return X, finite_peaks(X, "X", owner), rows


def _subsets(X: ArrayLike, index: ArrayLike, owner: str) -> tuple[NDArray[Any], NDArray[np.int64]]:
    X = as_real(X, "X", owner, finite=False)
    if X.ndim != 2 or X.shape[1] < 1:
        raise fail("X", owner, "of shape (n, d), one vector per row", describe(f"shape {X.shape}"))
    return X, row_index(index, X.shape[0], X.shape[1] - 1, owner)


def row_index(index: ArrayLike, n: int, k: int, owner: str) -> NDArray[np.int64]:
    """Return ``index`` as int64 (m, k) with entries from 0 to n-1."""
    array = as_array(index, "index", owner)
    if array.dtype.kind not in "iu":
        raise fail("index", owner, "an array of integers", describe(f"dtype {array.dtype}"))
    if array.ndim != 2 or array.shape[1] != k:
        rule = f"of shape (m, {k}), {k} rows of X a subset"
        raise fail("index", owner, rule, describe(f"shape {array.shape}"))
    low, high = extremes(array) if array.size else (0, -1)
    if low < 0 or high >= n:
        wrong = low if low < 0 else high
        raise fail("index", owner, f"rows of X, from 0 to {n - 1}", describe(f"the entry {wrong}"))
    return array.astype(np.int64, copy=False)


_CHUNK_BYTES = 64 * 2**20


class Facets(NamedTuple):
    """The d hyperplanes through d rows but one.

    Attributes
    ----------
    direction : ndarray (m, d, d)
        ``direction[b, i]``: unit, oriented cross product of the rows of subset b without row i, in their order.
    log_norm : ndarray (m, d)
        Logarithm of its norm; -inf where those rows are dependent.
    intercept : ndarray (m, d + 1) or None
        With ``bias``: the planes are x·direction + intercept = 0, direction (m, d + 1, d).
    """

    direction: NDArray[Any]
    log_norm: NDArray[Any]
    intercept: NDArray[Any] | None


def cross_simplex(
    X: ArrayLike, /, index: ArrayLike | None = None, *, bias: bool = False, rtol: float | None = None
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

    Raises
    ------
    ArgumentError
        If the shapes do not fit, ``X`` is not real or not finite, or ``index`` is not made of rows of X.

    Notes
    -----
    Neighboring facets share d-2 rows, so their directions are not independent samples; `cross_many` has those.

    Examples
    --------
    >>> cr.cross_simplex(np.diag([1.0, 2.0, 4.0])).direction[0]
    array([[ 1.,  0.,  0.],
           [ 0., -1.,  0.],
           [ 0.,  0.,  1.]])
    >>> triangle = cr.cross_simplex([[0.0, 0.0], [4.0, 0.0], [0.0, 3.0]], bias=True)
    >>> height = triangle.direction[0] @ [0.0, 3.0] + triangle.intercept[0]
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
    normal, intercept = direction[..., :-1], direction[..., -1]
    size = np.linalg.norm(normal, axis=-1)
    flat = size == 0  # the points but one coincide: no hyperplane
    scale = np.where(flat, 1, size)
    with np.errstate(divide="ignore"):
        log_norm = np.where(flat, -np.inf, log_norm + np.log(scale)).astype(X.dtype)
    return Facets(normal / scale[..., None], log_norm, np.where(flat, 0, intercept / scale))


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
