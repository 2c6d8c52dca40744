"""Volume sampling by a walk that exchanges one row at a time, without a singular value decomposition."""

import math

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

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
