"""Leverage scores: how much each row matters to the span of the columns."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand.sampling.rows import check_rank_rtol, check_rows, scaled_rows


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
    U, size, _ = np.linalg.svd(scaled_rows(X, bias, only_span=True), full_matrices=False)
    U = U[:, size > tolerance * size[0]]
    return np.asarray(np.einsum("ij,ij->i", U, U))
