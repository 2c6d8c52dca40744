"""Leverage scores, exact and by sketching, and the sampling of rows by them."""

import math
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from clifford_rand._checks import (
    as_real,
    check_bool,
    check_fits,
    check_integer,
    check_number,
    check_tolerance,
    describe,
    fail,
)
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.crossproduct.factor import unit_scaled
from clifford_rand.crossproduct.paths import check_rtol
from clifford_rand.sketch.base import (
    Sketch,
    check_accuracy,
    chernoff_exponent,
    drawn_seed,
    log_minor_of_draws,
    own_stream,
)
from clifford_rand.sketch.sparse import SparseSketch


def leverage_scores(X: ArrayLike, /, *, bias: bool = False, rtol: float | None = None) -> NDArray[np.float64]:
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
    >>> cr.leverage_scores([[1.0, 0.0], [1.0, 0.0], [0.0, 5.0]]).round(12)
    array([0.5, 0.5, 1. ])
    """
    owner = "leverage_scores"
    X = check_rows(X, bias, owner)
    return span_scores(scaled_rows(X, bias, only_span=True), check_rank_rtol(rtol, X, bias, owner))


def span_scores(X: NDArray[Any], rtol: float) -> NDArray[Any]:
    """Return the scores of checked rows: QR, then the SVD of R tells its rank, in half of the time of that of X."""
    Q, R = np.linalg.qr(X)
    U, size, _ = np.linalg.svd(R, full_matrices=False)
    return _squares(Q @ U[:, size > rtol * size[0]])


def check_rows(X: ArrayLike, bias: bool, owner: str, name: str = "X") -> NDArray[Any]:
    """Return ``X`` as a real (n, d) array with n, d ≥ 1; check ``bias`` as well."""
    X = as_real(X, name, owner)
    if X.ndim != 2 or 0 in X.shape:
        raise fail(name, owner, "of shape (n, d) with n, d ≥ 1, one vector per row", describe(f"shape {X.shape}"))
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


def sketched_leverage_scores(
    X: ArrayLike, S: Sketch, /, *, project: Sketch | None = None, rtol: float | None = None
) -> NDArray[Any]:
    r"""Return approximate leverage scores of the rows of ``X``, by sketching; `leverage_scores` has the exact ones.

    .. math:: \ell_i = x_i^T (X^T X)^+ x_i \approx \|x_i V Σ^{-1}\|^2, \qquad S X = Q Σ V^T.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row.
    S : Sketch (r, n)
        Where (1-ε)|y| ≤ |S y| ≤ (1+ε)|y| on the column space of X, all scores lie between 1/(1+ε)² and 1/(1-ε)² times
        the exact ones, as the singular values of (S U)⁻¹ do, U an orthonormal basis of that space.
    project : Sketch (p, d), optional
        Shortens the vectors x_i V Σ⁻¹ before their lengths are taken: O(n d p) operations instead of O(n d²), and
        another factor (1±ε)², ε that of the Johnson-Lindenstrauss lemma for n vectors, p = O(log(n/δ)/ε²).
    rtol : float, optional
        Singular values up to ``rtol`` times the largest, of S X with the columns of X scaled to one size, count as 0.
        Default: 64·d·eps (8·d·eps for float32).

    Returns
    -------
    ndarray (n,)
        Zeros for a zero matrix.

    Raises
    ------
    ArgumentError
        If ``X`` is not a real finite (n, d), or a sketch does not fit it.

    References
    ----------
    Drineas, Magdon-Ismail, Mahoney and Woodruff, "Fast approximation of matrix coherence and statistical leverage",
    J. Mach. Learn. Res. 13, 2012, Algorithm 1.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((1000, 3))
    >>> X[7] *= 100
    >>> scores = cr.sketched_leverage_scores(X, cr.SparseSign(200, 1000, rng=0))
    >>> int(scores.argmax())
    7
    """
    owner = "sketched_leverage_scores"
    X = unit_scaled(check_rows(X, False, owner), axis=0)[0]  # scores stay, ranks are more reliable
    n, d = X.shape
    for name, sketch, size in (("S", S, n), ("project", project, d)):
        if not (isinstance(sketch, Sketch) and sketch.shape[1] == size) and (name == "S" or sketch is not None):
            raise fail(name, owner, f"a sketch of shape (r, {size})", sketch)
    tolerance = check_rtol(rtol, max(d, 4), X.dtype, owner)  # from 4 on it is the rule for inexact decompositions
    if not X.any():
        return np.zeros(n, X.dtype)
    _, size_of, Vt = np.linalg.svd(S @ X, full_matrices=False)
    kept = size_of > tolerance * size_of[0]
    rank = int(kept.sum())
    whitening = np.zeros((d, d), X.dtype)
    whitening[:rank] = Vt[kept] / size_of[kept, None]
    return _squares(X @ (whitening[:rank] if project is None else project @ whitening).T)


def _squares(basis: NDArray[Any]) -> NDArray[Any]:
    return np.asarray(np.einsum("ij,ij->i", basis, basis))


class LeverageSampling(SparseSketch):
    r"""Sampling of r rows of an (n, d) matrix, independently and with probabilities proportional to their scores.

    .. math:: S_{t j} = \frac{[j = j_t]}{\sqrt{r p_j}}, \quad P(j_t = j) = p_j = \frac{\ell_j}{\sum_i \ell_i}, \qquad
        \mathbb E[S^T S] = I_n \text{ on the rows of positive score.}

    ``S @ X`` picks rows of X and rescales them, where the other sketches mix them.

    Parameters
    ----------
    scores : array_like (n,) or (n, d)
        Non-negative scores, or a matrix X, whose exact leverage scores are taken.
    r : int
        Rows to sample, with replacement.
    rng : Generator, int or None
        See `SJLT`. ``LeverageSampling(S.scores, S.r, rng=S.seed)`` rebuilds the map.

    Attributes
    ----------
    scores, rows : ndarray (n,), (r,)
        The scores, and the rows that were drawn, in the order of the draws.

    Raises
    ------
    ArgumentError
        If the scores are negative, not finite or all zero, or r is not a positive integer; in products, if the shapes
        do not fit.

    Notes
    -----
    A sparse factor gives a sparse result.

    *Dimension.* (1-ε)|y| ≤ |S y| ≤ (1+ε)|y| on the column space of X, of dimension k, but with probability δ, for
    r ≥ k log(2k/δ)/(β h), h the smaller Chernoff exponent of ε, if p_j ≥ β ℓ_j/k for the exact scores ℓ; β = 1 for
    these. Approximate scores within 1/(1±ε')² have β = ((1-ε')/(1+ε'))². (Tropp, "User-friendly tail bounds for sums of
    random matrices", Found. Comput. Math. 12, 2012, Theorem 1.1, for r terms of norm at most k/(β r).)

    *Propositions* of `sketched_cross`: the first holds. The second does for r ≥ 2, the draws being independent and
    alike for given scores, but not for r = 1, where v is a positive multiple of one basis vector: there are no random
    signs here.

    References
    ----------
    Drineas, Mahoney and Muthukrishnan, "Relative-error CUR matrix decompositions", SIAM J. Matrix Anal. Appl. 30, 2008.

    Examples
    --------
    >>> S = cr.LeverageSampling([0.0, 1.0, 3.0], 4, rng=0)
    >>> S
    LeverageSampling(<3 scores>, r=4, rng=0)
    >>> bool(np.all(np.isin(S.rows, [1, 2])))
    True
    """

    _arguments = ("scores", "r")

    def __init__(self, scores: ArrayLike, r: int, *, rng: np.random.Generator | int | None = None) -> None:
        owner = "LeverageSampling"
        scores = as_real(scores, "scores", owner, min_ndim=1)
        if scores.ndim == 2:
            X = check_rows(scores, False, owner, "scores")
            rtol = check_rtol(None, max(X.shape[1], 4), X.dtype, owner)
            scores = span_scores(scaled_rows(X, False, only_span=True), rtol).astype(X.dtype)
        if scores.ndim != 1 or not scores.size:
            raise fail("scores", owner, "of shape (n,), or a matrix (n, d)", describe(f"shape {scores.shape}"))
        if scores.min() < 0 or not scores.max() > 0:
            rule, wrong = "non-negative, and not all zero", scores.min() if scores.min() < 0 else scores.max()
            raise fail("scores", owner, rule, describe(f"the score {wrong}"))
        self.scores = scores
        self.r = check_integer(r, "r", owner)
        self.d = scores.size
        self.shape = (self.r, self.d)
        check_fits(26 * self.r, "r", owner)  # the draws and what they are made from, by tracemalloc
        self.seed, _ = drawn_seed(rng, owner)
        weights = scores.astype(np.float64) / float(scores.max())
        probability = weights / weights.sum()
        self.rows = own_stream(self.seed).choice(self.d, size=self.r, p=probability)
        self._scale = 1 / np.sqrt(self.r * probability[self.rows])
        self._set_matrix(csr_array((self._scale, self.rows, np.arange(self.r + 1)), shape=self.shape), 1.0)

    @staticmethod
    def suggest_dim(k: int, *, eps: float = 0.5, delta: float = 0.1, beta: float = 1.0) -> int:
        """Return the smallest r of the rule in the notes, for a matrix of rank ``k``."""
        owner = "LeverageSampling.suggest_dim"
        k, eps, delta = check_accuracy(k, eps, delta, owner)
        beta = check_number(beta, "beta", owner, "a number from 1e-100 to 1", lambda x: 1e-100 <= x <= 1)
        return math.ceil(k * math.log(2 * k / delta) / (beta * chernoff_exponent(eps)))

    def log_minor_constant(self, k: int) -> float:
        """Return log c_k = log r!/((r-k)! r^k), -inf for k > r, as for all independent rows of covariance I/r.

        It needs positive scores wherever A and B have columns other than 0.
        """
        return log_minor_of_draws(self.r, k)

    def _apply(self, x: NDArray[Any]) -> NDArray[Any]:
        return np.asarray(x[self.rows] * self._scale.astype(x.dtype)[:, None])

    def __repr__(self) -> str:
        return f"LeverageSampling(<{self.d} scores>, r={self.r}, rng={self.seed})"
