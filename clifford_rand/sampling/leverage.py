"""Leverage scores: how much each row matters to the span of the columns; the rows of samplers, checked and scaled."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, check_bool, check_tolerance, describe, fail
from clifford_rand._typing import Array
from clifford_rand.crossproduct.scaled import unit_scaled


def leverage_scores(X: ArrayLike, *, bias: bool = False, rtol: float | None = None) -> NDArray[np.float64]:
    r"""Return the leverage score of every row, the diagonal of the projection on the span of the columns.

    .. math:: \ell_i = (X X^+)_{ii} = \lVert u_i \rVert^2 \in [0, 1], \qquad \sum_i \ell_i = \operatorname{rank} X,

    with u_i the rows of the left singular vectors. It is the probability that row i is in a volume sample of rank X
    rows, see `volume_sample`. No unit of a feature changes it, nor any other change of basis.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row.
    bias : bool
        Take the rows (x, 1).
    rtol : float, optional
        Singular values up to ``rtol`` times the largest, of X with columns scaled to one size, count as zero. Default:
        max(n, d)·eps.

    Returns
    -------
    ndarray (n,) of float64

    Raises
    ------
    ArgumentError
        If ``X`` is not (n, d) with n, d ≥ 1, not real or not finite.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> cr.leverage_scores([[1.0, 0.0], [1.0, 0.0], [0.0, 5.0]]).round(12)
    array([0.5, 0.5, 1. ])
    """
    owner = "leverage_scores"
    X = check_rows(X, bias, owner)
    tolerance = check_rank_rtol(rtol, X, bias, owner)
    rows = scaled_rows(X, bias, only_span=True)
    turn = None
    if rows.shape[0] >= 2 * rows.shape[1]:  # singular vectors of the triangle: half of the time of those of the rows
        turn, rows = np.linalg.qr(rows)
    U, size, _ = np.linalg.svd(rows, full_matrices=False)
    U = U[:, size > tolerance * size[0]]
    if turn is not None:
        U = turn @ U
    return np.asarray(np.einsum("ij,ij->i", U, U))


def check_rows(X: ArrayLike, bias: bool, owner: str) -> NDArray[Any]:
    """Return ``X`` as a real (n, d) array with n, d ≥ 1; check ``bias`` as well."""
    X = as_real(X, "X", owner)
    if X.ndim != 2 or 0 in X.shape:
        raise fail("X", owner, "of shape (n, d) with n, d ≥ 1, one vector per row", describe(f"shape {X.shape}"))
    check_bool(bias, "bias", owner)
    return X


def check_rank_rtol(rtol: float | None, X: NDArray[Any], bias: bool, owner: str) -> float:
    """Return ``rtol`` as a float in [0, 1); by default max(n, d)·eps of X's dtype, as `numpy.linalg.matrix_rank`."""
    return check_tolerance(rtol, max(len(X), X.shape[1] + bool(bias)) * float(np.finfo(X.dtype).eps), owner)


def scaled_rows(X: NDArray[Any], bias: bool, only_span: bool) -> Array:
    """Return the rows of X (n, d), or (x, 1), in float64 and scaled to entries of at most 1.

    One power of two scales all, which changes no ratio of volumes. Where only the span of the columns counts
    (``only_span``) every column has its own, and with ``bias`` the mean row is subtracted first: so neither the units
    of the features nor the place of the origin cost digits.
    """
    ones = np.ones((len(X), int(bias)))
    if not only_span:
        return unit_scaled(np.concatenate([X.astype(np.float64), ones], axis=1), None)[0]
    columns = unit_scaled(X.astype(np.float64), 0)[0]
    if bias:
        columns = columns - columns.mean(axis=0)
    return unit_scaled(np.concatenate([columns, ones], axis=1), 0)[0]
