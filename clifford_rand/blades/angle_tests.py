"""Principal angles by chance, of uniform subspaces, and a permutation test of whether subspaces moved."""

import math
from collections.abc import Iterator
from itertools import combinations, islice
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import (
    as_generator,
    as_real,
    check_choice,
    check_fits,
    check_instance,
    check_integer,
    check_listed,
    describe,
    fail,
)
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand.blades.blade import Blade
from clifford_rand.blades.large import LargeBlade
from clifford_rand.blades.samples import subspace_distances
from clifford_rand.blades.subspace import DISTANCES

_LARGEST_D = 2**53  # degrees of freedom that float64 holds exactly
_CHUNK = 2**20  # numbers of sampled matrices, or of labels of splits, that are held at a time
_MOST_SPLITS = 10**9  # of a permutation test: they take some ten minutes


class PrincipalAngleDistribution:
    r"""The principal angles between independent, uniformly distributed subspaces of dimensions j and k in R^d.

    One subspace may be fixed. With p angles that are not always 0 and q ≥ p the larger dimension, of the complements
    where j + k > d, the :math:`\cos^2\theta_i` are the eigenvalues of a matrix-variate Beta(q/2, (d-q)/2) of order p.

    Parameters
    ----------
    j, k : int
        From 1 to d.
    d : int
        Dimension of the space.

    References
    ----------
    Absil, Edelman and Koev, "On the largest principal angle between random subspaces", Linear Algebra Appl. 414, 2006.

    Examples
    --------
    >>> law = cr.PrincipalAngleDistribution(1, 1, 3)
    >>> law.cdf(np.pi / 3).round(6)  # of lines in space: 1 - cos θ
    np.float64(0.5)
    >>> cr.PrincipalAngleDistribution(2, 3, 1000).sample(1, rng=0).round(2)
    array([[1.52, 1.56]])
    """

    def __init__(self, j: int, k: int, d: int) -> None:
        owner = "PrincipalAngleDistribution"
        self.d = d = check_integer(d, "d", owner, high=_LARGEST_D)
        self.j, self.k = (check_integer(n, name, owner, high=d) for n, name in ((j, "j"), (k, "k")))
        small, large = sorted((self.j, self.k))
        self._zeros = max(0, self.j + self.k - d)
        self._p, self._q = (d - large, d - small) if self._zeros else (small, large)

    def __repr__(self) -> str:
        return f"PrincipalAngleDistribution({self.j}, {self.k}, {self.d})"

    def sample(self, size: int, *, rng: np.random.Generator | int | None = None) -> Array:
        """Return independent sets of angles (size, min(j, k)), smallest first, by O(p²) random numbers each.

        cot θ are the singular values of L⁻¹ M for triangular L and M of Wishart matrices with d-q and q degrees of
        freedom (Bartlett): the law of Haar-distributed frames, without their d rows.

        Examples
        --------
        >>> angles = cr.PrincipalAngleDistribution(3, 4, 6).sample(2, rng=0)
        >>> angles.shape, bool((angles[:, 0] == 0).all())  # they always share a line
        ((2, 3), True)
        """
        n = check_integer(size, "size", "sample", low=0)
        rng = as_generator(rng, "sample")
        check_fits(8 * n * min(self.j, self.k), "size", "sample")
        check_fits(24 * self._p**2, "k", "sample")
        p, angles = self._p, np.zeros((n, min(self.j, self.k)))
        step = max(1, _CHUNK // max(1, p * p))
        for start in range(0, n if p else 0, step):
            count = min(step, n - start)
            L, M = (_wishart_factors(p, degrees, count, rng) for degrees in (self.d - self._q, self._q))
            with ONE_BLAS_THREAD:
                angles[start : start + count, self._zeros :] = np.arctan2(1, np.linalg.svd(np.linalg.solve(L, M))[1])
        return angles

    def cdf(
        self, angle: ArrayLike, *, which: str = "largest", n_samples: int = 9999,
        rng: np.random.Generator | int | None = None,
    ) -> Any:  # fmt: skip
        r"""Return the probability that the smallest or the largest angle is at most ``angle``.

        Closed forms: of one angle :math:`\sin^2\theta \sim \mathrm{Beta}((d-q)/2, q/2)`; for q = p + 1 the largest has
        :math:`\sin^{p(d-q)}\theta`, for d - q = p + 1 the smallest :math:`1 - \cos^{pq}\theta`. Else the share of
        ``n_samples`` samples, with a standard error of at most 1/(2√n_samples).

        Examples
        --------
        >>> bool(np.isclose(cr.PrincipalAngleDistribution(2, 3, 8).cdf(1.0), np.sin(1.0) ** 10))
        True
        """
        check_choice(which, "which", "cdf", ("smallest", "largest"))
        angle = np.clip(as_real(angle, "angle", "cdf").astype(np.float64), 0.0, np.pi / 2)
        p, q, rest = self._p, self._q, self.d - self._q
        if p == 0 or (self._zeros and which == "smallest"):
            return np.ones(angle.shape)[()]
        if p == 1:
            from scipy.special import betainc

            return betainc(rest / 2, q / 2, np.sin(angle) ** 2)
        if which == "largest" and q == p + 1:
            return np.sin(angle) ** (p * rest)
        if which == "smallest" and rest == p + 1:
            return 1 - np.cos(angle) ** (p * q)
        values = np.sort(self.sample(check_integer(n_samples, "n_samples", "cdf"), rng=rng)[:, -(which == "largest")])
        return np.searchsorted(values, angle, side="right") / len(values)

    def distance_pvalue(
        self, distance: ArrayLike, *, kind: str = "geodesic", n_samples: int = 9999,
        rng: np.random.Generator | int | None = None,
    ) -> Any:  # fmt: skip
        """Return the probability that two uniform subspaces are at most this far apart: small where they are related.

        Of one angle in closed form, for the geodesic distance. Else (1 + s)/(1 + n), s the number of n samples that are
        as near, which is a p-value for every n, at least 1/(1 + n).

        Examples
        --------
        >>> law = cr.PrincipalAngleDistribution(5, 5, 100)
        >>> law.distance_pvalue([1.0, 2.95, 3.4], rng=0).round(2)
        array([0.  , 0.01, 1.  ])
        """
        check_choice(kind, "kind", "distance_pvalue", tuple(DISTANCES))
        if self.j != self.k:
            raise fail("j", "distance_pvalue", "equal to k, as distances are of subspaces of one dimension", self.j)
        value = as_real(distance, "distance", "distance_pvalue").astype(np.float64)
        if self._p == 1 and kind == "geodesic":
            return self.cdf(value)
        n = check_integer(n_samples, "n_samples", "distance_pvalue")
        chance = np.sort(DISTANCES[kind](self.sample(n, rng=rng)))
        return (1 + np.searchsorted(chance, value, side="right")) / (1 + n)


def _wishart_factors(p: int, degrees: int, count: int, rng: np.random.Generator) -> Array:
    """Return lower triangular L (count, p, p) with L Lᵀ of a Wishart distribution (Bartlett's decomposition)."""
    L = np.tril(rng.standard_normal((count, p, p)), -1)
    L[:, range(p), range(p)] = np.sqrt(rng.chisquare(degrees - np.arange(p), (count, p)))
    return L


class SubspaceTest(NamedTuple):
    """The result of `subspace_test`.

    Attributes
    ----------
    statistic : float
        The energy distance of both groups.
    pvalue : float
        The share of splits into groups of these sizes whose statistic is as large, the observed one included.
    n_splits : int
        The number of splits.
    is_exact : bool
        Whether these are all splits.
    """

    statistic: float
    pvalue: float
    n_splits: int
    is_exact: bool


def subspace_test(
    before: Any, after: Any, *, kind: str = "chordal", distances: ArrayLike | None = None, n_permutations: int = 9999,
    rng: np.random.Generator | int | None = None,
) -> SubspaceTest:  # fmt: skip
    r"""Test whether subspaces moved, by replicates of both: a permutation test of the energy distance.

    .. math:: E = 2\,\overline{d(A_i, B_j)} - \overline{d(A_i, A_j)} - \overline{d(B_i, B_j)}.

    The null hypothesis is that replicates before and after are exchangeable, as of fits from other seeds or of
    resampled rows that differ by nothing else. Then a p-value of at most α has probability at most α, whatever their
    distribution, number and dimension.

    Parameters
    ----------
    before, after : Blade or sequence of LargeBlade or Blade
        Replicates, subspaces of one dimension k: batches of blades or several. ``after`` may be a single one.
    kind : str, default="chordal"
        A distance of `Blade.distance`. The chordal distance is Euclidean, so that E > 0 whenever distributions differ.
    distances : array_like (N, N), optional
        Of all N subspaces, those before first, where they are known: from `subspace_distances`, of any kind.
    n_permutations : int, default=9999
        Random splits, where there are more of them; else all splits are taken. At most 10⁹, held by chunks.
    rng : Generator, int or None
        Source of randomness, or its seed.

    Returns
    -------
    SubspaceTest
        statistic, pvalue, n_splits, is_exact. No p-value is smaller than one over the number of splits, so that a
        single subspace after needs 19 before for 0.05; 4 and 4 have 70 splits, in pairs of equal E.

    References
    ----------
    Székely and Rizzo, "Energy statistics: a class of statistics based on distances", J. Stat. Plan. Inference, 2013.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> base, move = rng.standard_normal((2, 3, 50))
    >>> before = cr.Blade(base + 0.3 * rng.standard_normal((6, 3, 50)))
    >>> after = cr.Blade(base + 0.3 * move + 0.3 * rng.standard_normal((6, 3, 50)))
    >>> cr.subspace_test(before, after).pvalue < 0.01, cr.subspace_test(before[:3], before[3:]).pvalue > 0.05
    (True, True)
    """
    owner = "subspace_test"
    rule = "a batch of blades with one axis, or several Blade or LargeBlade"
    groups = [
        [] if getattr(blades, "ndim", 1) != 1 else check_listed(blades, name, owner, rule)
        for blades, name in ((before, "before"), (after, "after"))
    ]
    for group, name in zip(groups, ("before", "after"), strict=True):
        for blade in group:
            check_instance(blade, Blade | LargeBlade, name, owner, rule)
    m, n = map(len, groups)
    if m < 2 or n < 1:
        hint = "Replicates tell how much subspaces vary that did not move."
        raise fail("before", owner, "two subspaces or more, and after at least one", describe(f"{m} and {n}"), hint)
    check_choice(kind, "kind", owner, tuple(DISTANCES))
    splits = check_integer(n_permutations, "n_permutations", owner, high=_MOST_SPLITS)
    generator = as_generator(rng, owner)
    if distances is None:
        D = subspace_distances(groups[0] + groups[1], kind=kind)
    else:
        D = as_real(distances, "distances", owner).astype(np.float64)
        if D.shape != (m + n, m + n):
            raise fail("distances", owner, f"of shape {(m + n, m + n)}", describe(f"shape {D.shape}"))
    observed = float(_energies(D, np.arange(m, m + n)[None])[0])
    least = observed - 1e-12 * max(1e-300, D.max())
    is_exact = math.comb(m + n, n) <= splits + 1
    as_large, total = (0, 0) if is_exact else (1, 1)  # all splits have the observed one among them
    for chosen in _all_splits(m, n) if is_exact else _random_splits(m, n, splits, generator):
        as_large += int((_energies(D, chosen) >= least).sum())
        total += len(chosen)
    return SubspaceTest(observed, as_large / total, total, is_exact)


def _all_splits(m: int, n: int) -> Iterator[NDArray[np.int64]]:
    """Return all choices of n among m + n, by chunks (count, n)."""
    every = combinations(range(m + n), n)
    while chunk := list(islice(every, max(1, _CHUNK // (m + n)))):
        yield np.array(chunk)


def _random_splits(m: int, n: int, splits: int, generator: np.random.Generator) -> Iterator[NDArray[np.int64]]:
    """Return random choices of n among m + n, by chunks (count, n)."""
    step = max(1, _CHUNK // (m + n))
    for start in range(0, splits, step):
        rows = np.tile(np.arange(m + n), (min(step, splits - start), 1))
        yield generator.permuted(rows, axis=1)[:, :n]


def _energies(D: Array, chosen: NDArray[np.int64]) -> Array:
    """Return the energy distances of the splits (count, n), the places of the second group, of distances D (N, N)."""
    n, total = chosen.shape[1], len(D)
    m = total - n
    label = np.zeros((len(chosen), total))
    np.put_along_axis(label, chosen, 1.0, axis=1)
    inner = ((label @ D) * label).sum(axis=1)  # of pairs within the second group
    either = label @ D.sum(axis=1)
    return np.asarray(2 * (either - inner) / (m * n) - inner / n**2 - (D.sum() - 2 * either + inner) / m**2)
