"""Volume sampling: rows by the squared volume they span, by singular vectors or by a walk of exchanges."""

import math

import numpy as np

from clifford_rand._checks import as_generator, check_choice, check_fits, check_integer, describe, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.errors import ArgumentError
from clifford_rand.sketch.leverage import check_rank_rtol, check_rows, scaled_rows

_CHUNK_BYTES = 64 * 2**20  # of gathered singular vectors


def volume_sample(
    X: ArrayLike,
    /,
    k: int,
    *,
    size: int = 1,
    rng: np.random.Generator | int | None = None,
    method: str = "auto",
    bias: bool = False,
    rtol: float | None = None,
) -> NDArray[np.int64]:
    r"""Draw subsets of k rows with probability proportional to the square of the volume that they span.

    .. math:: P(S) = \frac{\det(X_S X_S^T)}{e_k(\sigma_1^2, …, \sigma_r^2)}, \qquad |S| = k,

    with σ_j the singular values of X and e_k the k-th elementary symmetric polynomial. So dependent rows are never
    drawn together, and at k = d-1 a cross product of rows is drawn in proportion to its squared norm. k = 1 draws rows
    in proportion to their squared norms; at k = rank X row i is in S with the probability of its leverage score.

    Parameters
    ----------
    X : array_like (n, d)
        One vector per row.
    k : int
        Rows of a subset, from 1 to the rank.
    size : int
        Number of independent subsets.
    rng : Generator, int or None
        Source of randomness, or its seed.
    method : {"auto", "exact", "mcmc"}
        "exact": a singular value decomposition, once, O(nd min(n, d)); then O(nk²) a subset. "mcmc": a walk of
        exchanges, O(n(d + k)) each and of order k log k of them a subset, whose law is within 1e-6 of the exact one in
        total variation. "auto": the one with fewer operations; the walk where k is small and n, d and rank are large.
    bias : bool
        Take the rows (x, 1). At k = d + 1 these are the simplices, in proportion to the squares of their volumes;
        the law then depends neither on the origin nor on the scale of X. For fewer rows it does.
    rtol : float, optional
        Singular values up to ``rtol`` times the largest count as zero. Where k is the number of columns the columns
        are scaled to one size first, which does not change the law. Default: max(n, d)·eps.

    Returns
    -------
    ndarray (size, k) of int64
        Rows of each subset, ascending, as `cross_many` takes them.

    Raises
    ------
    ArgumentError
        If ``X`` is not (n, d) with n, d ≥ 1, not real or not finite, k is more than the rank, or another argument
        breaks its rule.

    Notes
    -----
    The walk starts at greedy rows; a row leaves at random, and one comes in with probability proportional to its
    squared distance from the span of those that stayed. It is stopped after k log(H / (2·10⁻¹²)) steps with
    H = log C(n, k) + 2 log k!, a proved bound (Cryan, Guo and Mousa 2021), and starts anew for every subset.

    References
    ----------
    Deshpande, Rademacher, Vempala and Wang, "Matrix approximation and projective clustering via volume sampling",
    Theory of Computing 2, 2006. Kulesza and Taskar, "Determinantal point processes for machine learning", Foundations
    and Trends in Machine Learning 5, 2012, Algorithm 8. Anari, Oveis Gharan and Rezaei, "Monte Carlo Markov chain
    algorithms for sampling strongly Rayleigh distributions and determinantal point processes", COLT 2016, for chains of
    exchanges. Cryan, Guo and Mousa, "Modified log-Sobolev inequalities for strongly log-concave distributions", Annals
    of Probability 49, 2021, for the number of steps.

    Examples
    --------
    >>> X = [[1.0, 0.0], [2.0, 0.0], [0.0, 1.0]]  # rows 0 and 1 span no area: row 2 is in every subset
    >>> index = cr.volume_sample(X, 2, size=1000, rng=0)
    >>> subsets, counts = np.unique(index, axis=0, return_counts=True)
    >>> subsets.tolist()
    [[0, 2], [1, 2]]
    >>> bool(np.abs(counts / 1000 - [0.2, 0.8]).max() < 0.05)  # squared areas 1 and 4
    True
    """
    owner = "volume_sample"
    X = check_rows(X, bias, owner)
    n, m = len(X), X.shape[1] + bool(bias)
    k = check_integer(k, "k", owner)
    size = check_integer(size, "size", owner, low=0)
    check_choice(method, "method", owner, ("auto", "exact", "mcmc"))
    tolerance = check_rank_rtol(rtol, X, bias, owner)
    generator = as_generator(rng, owner)
    check_fits(8 * k * size, "size", owner)
    if k > min(n, m):
        raise _too_many(k, min(n, m), (n, m), tolerance)
    rows = scaled_rows(X, bias, only_span=k == m)
    if method == "auto":
        method = _cheaper(n, m, k, size)
    if method == "mcmc":
        walk = Exchange(rows, k, tolerance)
        if walk.rank < k:
            raise _too_many(k, walk.rank, (n, m), tolerance)
        steps = burn_in(n, k)
        return np.sort([walk.sample(steps, generator) for _ in range(size)], axis=-1).reshape(size, k)
    U, singular, _ = np.linalg.svd(rows, full_matrices=False)
    rank = int(np.count_nonzero(singular > tolerance * singular[0]))
    if k > rank:
        raise _too_many(k, rank, (n, m), tolerance)
    log_weight = 2 * np.log(singular[:rank] / singular[0])
    return _sample_rows(U[:, :rank], log_weight, k, size, generator)


def _cheaper(n: int, d: int, k: int, size: int) -> str:
    """Return the method with the smaller time for (n, d) rows."""
    # Multiplications, but for the decomposition, where 3 n·d·min(n, d) is the measured break-even with a walk that
    # reads X from memory at every step: 4000 × 1000, k = 5 takes 0.9 s against 0.2 s, k = 20 as long in both.
    exact = 3 * n * d * min(n, d) + size * 4 * n * k * k
    walk = size * burn_in(n, k) * n * (4 * d + 12 * k)
    return "mcmc" if walk < exact else "exact"


def _too_many(k: int, rank: int, shape: tuple[int, int], rtol: float) -> ArgumentError:
    """Return the error for more rows than are independent."""
    rule = f"an integer from 1 to {rank}, the rank of the rows" if rank else "at most the rank of the rows, which is 0"
    received = describe(f"{k} for {shape[0]} rows of length {shape[1]}, rtol = {rtol:.2g}")
    hint = "More rows than the rank span no volume: lower k, or scale columns that differ by many orders of magnitude."
    return fail("k", "volume_sample", rule, received, hint)


def _sample_rows(U: Array, log_weight: Array, k: int, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    r"""Return ``size`` subsets (size, k), ascending, of P(S) ∝ det (U Λ Uᵀ)_S, U (n, r) orthonormal, k ≤ r.

    That law is a mixture (Kulesza and Taskar 2012, Algorithm 8): k columns J of U are chosen with probability ∝ Π λ_j,
    then rows with P(S) = det(U_SJ)².
    """
    n, r = U.shape
    index = np.empty((size, k), np.int64)
    vectors = np.ascontiguousarray(U.T)
    step = max(1, _CHUNK_BYTES // (8 * n * k))
    table = log_elementary(log_weight, k) if k < r else None
    for start in range(0, size, step):
        part = index[start : start + step]
        if table is None:
            gathered = np.broadcast_to(vectors, (len(part), r, n))
        else:
            gathered = vectors[_columns(log_weight, table, len(part), rng)]
        part[:] = _project(gathered, rng)
    index.sort(axis=1)
    return index


def log_elementary(log_weight: Array, k: int) -> Array:
    r"""Return log e_j(λ_1, …, λ_m) for m = 0 … r and j = 0 … k, (r + 1, k + 1).

    .. math:: e_j(λ_1, …, λ_m) = e_j(λ_1, …, λ_{m-1}) + λ_m e_{j-1}(λ_1, …, λ_{m-1}).
    """
    table = np.full((len(log_weight) + 1, k + 1), -np.inf)
    table[:, 0] = 0.0
    for m, value in enumerate(log_weight):
        table[m + 1, 1:] = np.logaddexp(table[m, 1:], value + table[m, :-1])
    return table


def _columns(log_weight: Array, table: Array, size: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return ``size`` sets (size, k) of columns with probability ∝ the product of their weights, by the table."""
    r, k = len(log_weight), table.shape[1] - 1
    left = np.full(size, k)
    taken = np.zeros((size, r), bool)
    for m in range(r, 0, -1):
        open_ = np.flatnonzero(left > 0)
        need = left[open_]
        log_probability = log_weight[m - 1] + table[m - 1, need - 1] - table[m, need]
        # where as many are left as are needed all are taken: of a quotient that is 1 but for rounding
        take = (need == m) | (rng.random(len(open_)) < np.exp(np.minimum(log_probability, 0.0)))
        taken[open_[take], m - 1] = True
        left[open_[take]] -= 1
    return np.nonzero(taken)[1].reshape(size, k)


def _project(vectors: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    r"""Return subsets (B, k) with P(S) = det(V_S)² for orthonormal V (B, k, n), transposed: rows by the chain rule.

    Row i follows the rows already drawn with probability ∝ the squared distance of v_i from their span.
    """
    B, k = vectors.shape[:2]
    each = np.arange(B)
    first = np.einsum("bkn,bkn->bn", vectors, vectors)
    weight = first.copy()
    floor = 8 * k * np.finfo(np.float64).eps * first  # rounding noise of a row in the span
    drawn = np.empty((B, k), np.int64)
    basis = np.zeros((B, k, k))
    for t in range(k):
        row = draw(weight, rng)
        drawn[:, t] = row
        v = vectors[each, :, row]
        for _ in range(2):  # twice is enough (Kahan)
            v = v - np.matmul(np.matmul(basis[:, :t], v[:, :, None])[:, None, :, 0], basis[:, :t])[:, 0]
        v /= np.linalg.norm(v, axis=1, keepdims=True)
        basis[:, t] = v
        weight -= np.matmul(v[:, None, :], vectors)[:, 0] ** 2
        weight[weight <= floor] = 0.0
        weight[each[:, None], drawn[:, : t + 1]] = 0.0
    return drawn


_DISTANCE = 1e-6  # in total variation, of a sample's law from the exact one
# Squared distances are differences |x|² - |projection|². Below this share of |x|², all rows together, that costs six
# digits and more, and the projection is subtracted from the rows themselves.
_CANCELS = 1e-6


def burn_in(n: int, k: int, distance: float = _DISTANCE) -> int:
    r"""Return how many exchanges bring the law of the walk within ``distance`` of volume sampling.

    Each contracts the relative entropy by 1 - 1/k (Cryan, Guo and Mousa 2021, Theorem 1, for all strongly log-concave
    laws), which is at first log 1/P(S₀) ≤ log C(n, k) + 2 log k!, as greedy rows span at least 1/k! of the largest
    volume (Çivril and Magdon-Ismail 2009); Pinsker's inequality takes it to the total variation.
    """
    entropy = math.lgamma(n + 1) - math.lgamma(n - k + 1) + math.lgamma(k + 1)
    return max(1, math.ceil(k * math.log(max(entropy, 1.0) / (2 * distance**2))))


class Exchange:
    """The walk on subsets of k rows of X (n, d): a random row leaves, and one comes in by its distance to the others.

    ``basis`` (k, d) is an orthonormal basis of the span of the subset, ``Z`` = X basisᵀ (n, k).
    """

    def __init__(self, X: Array, k: int, rtol: float) -> None:
        self.X = X
        self.squares = np.einsum("ij,ij->i", X, X)
        self.rows = np.empty(k, np.int64)
        self.basis, self.Z = np.zeros((k, X.shape[1])), np.zeros((len(X), k))
        limit = rtol * math.sqrt(self.squares.max())
        self.rank = 0
        for t in range(k):  # greedy: the row that is farthest from the span of those chosen
            distance = self._distances(t)
            self.rows[t] = np.argmax(distance)
            if not math.sqrt(distance[self.rows[t]]) > limit:
                return
            self._enter(t, t)
            self.rank = t + 1
        self._start = self.rows.copy(), self.basis.copy(), self.Z.copy()

    def sample(self, steps: int, rng: np.random.Generator) -> NDArray[np.int64]:
        """Return the rows (k,) after ``steps`` exchanges from the greedy start."""
        rows, basis, Z = self._start
        self.rows, self.basis, self.Z = rows.copy(), basis.copy(), Z.copy()
        for _ in range(steps):
            self._step(rng)
        return self.rows.copy()

    def _step(self, rng: np.random.Generator) -> None:
        k = len(self.rows)
        place = int(rng.integers(k))
        # u: the direction of the span that is orthogonal to the rows that stay, in coordinates. A reflection brings it
        # to the last axis, so that the others span these rows; and it keeps the basis orthonormal, whatever the rows.
        u = np.linalg.solve(self.Z[self.rows], np.eye(k)[place])
        h = u / np.linalg.norm(u)
        h[-1] += math.copysign(1.0, h[-1])
        scaled = h * (2 / (h @ h))
        self.Z -= np.outer(self.Z @ h, scaled)
        self.basis -= np.outer(scaled, h @ self.basis)
        weight = self._distances(k - 1)
        weight[np.delete(self.rows, place)] = 0.0
        if weight.any():  # else the row that left was within rounding of the others: it comes back
            self.rows[place] = draw(weight[None], rng)[0]
            self._enter(place, k - 1)

    def _distances(self, t: int) -> Array:
        """Return the squared distance of every row to the span of the first t basis vectors; what is rounding is 0."""
        Z, basis = self.Z[:, :t], self.basis[:t]
        noise = 8 * (t + 1) * np.finfo(np.float64).eps
        distance: Array = self.squares - np.einsum("ij,ij->i", Z, Z)
        if distance.sum() > _CANCELS * self.squares.sum():
            distance[distance <= noise * self.squares] = 0.0
            return distance
        rest = self.X - Z @ basis
        rest -= (rest @ basis.T) @ basis
        distance = np.einsum("ij,ij->i", rest, rest)
        distance[distance <= noise**2 * self.squares] = 0.0
        return distance

    def _enter(self, place: int, t: int) -> None:
        """Make the row at ``place``, less its projection on the first t basis vectors, basis vector t."""
        basis = self.basis[:t]
        v = self.X[self.rows[place]]
        for _ in range(3):  # twice is enough to be orthogonal, once more where almost nothing is left
            v = v - (basis @ v) @ basis
            v = v / np.linalg.norm(v)
        self.basis[t] = v
        self.Z[:, t] = self.X @ v


def draw(weight: Array, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return an index for each row of ``weight`` (B, n), with probability ∝ its entries, not all of which are 0."""
    total = np.cumsum(weight, axis=1)
    # u < 1 keeps u·total below the last sum, and an entry of weight 0 is never the first to exceed it
    target = rng.random(len(weight)) * total[:, -1]
    return np.asarray(np.argmax(total > target[:, None], axis=1))
