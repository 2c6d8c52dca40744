"""The chambers of the plane: the 2n activation patterns of n rows, the laws of samplers on them, and waiting times."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from clifford_rand._checks import as_generator, as_real, as_rows, check_choice, check_integer, describe, fail
from clifford_rand_nn import sample_gates

__all__ = ["SAMPLERS", "Chambers", "chambers", "expected_wait", "fit_of_law", "law", "uniform_wait", "visits", "wait"]

Array = NDArray[np.float64]

SAMPLERS: dict[str, dict[str, Any]] = {
    "gaussian": {"method": "gaussian"},
    "cross": {"method": "cross", "side": "random"},
    "cross-on": {"method": "cross", "side": "on"},  # 1(0 ≥ 0) = 1 on the sampled row, as the paper prints it
}
_LARGEST_BATCH = 200_000  # gates drawn at once: 16 MB of patterns for 80 rows
_NODES = 4000  # of the quadrature, which is evenly spaced in log t: 1e-9 of the wait and better for 4 to 1000 patterns
_LEAST = 5.0  # expected counts below it are pooled, the usual rule for a chi-square test


class Chambers(NamedTuple):
    """Arcs of directions with one pattern each, in order of angle: from a border to the next.

    ``borders`` and ``angles`` (2n,) in radians, ``patterns`` (2n, n) bool.
    """

    borders: Array
    angles: Array
    patterns: NDArray[np.bool_]


def chambers(X: ArrayLike) -> Chambers:
    r"""Return the 2n chambers of the rows of X (n, 2): arcs of directions u with one pattern 1(Xu ≥ 0) each.

    Raises
    ------
    ArgumentError
        X has not two columns, a row is 0, or two rows are parallel.

    Examples
    --------
    >>> found = chambers([[1.0, 0.0], [0.0, 1.0]])
    >>> (found.angles / np.pi).tolist(), found.patterns.astype(int).tolist()
    ([0.5, 0.5, 0.5, 0.5], [[1, 1], [0, 1], [0, 0], [1, 0]])
    """
    data = as_rows(X, "chambers")
    if data.shape[1] != 2:
        raise fail("X", "chambers", "of shape (n, 2)", describe(f"shape {data.shape}"))
    angle = np.arctan2(data[:, 1], data[:, 0])
    borders = np.sort(np.concatenate([angle + np.pi / 2, angle - np.pi / 2]) % (2 * np.pi))
    angles = np.diff(borders, append=borders[0] + 2 * np.pi)
    middle = borders + angles / 2
    patterns = np.stack([np.cos(middle), np.sin(middle)], axis=1) @ data.T >= 0
    if len(np.unique(patterns, axis=0)) < 2 * len(data):
        hint = "Leave out rows of 0 and all but one of parallel rows."
        raise fail("X", "chambers", "n rows of which no two are parallel", describe(f"shape {data.shape}"), hint)
    return Chambers(borders, angles, patterns)


def law(X: ArrayLike, sampler: str) -> Array:
    r"""Return the probability (2n,) of each chamber, in their order.

    "gaussian": angle / 2π. "cross", sides at random: 1/(2n). "cross-on", the sampled row always on: the number of the
    chamber's two borders on which the border's row is on, over 2n: 0, 1/(2n) or 2/(2n).

    Examples
    --------
    >>> X = [[1.0, 0.0], [0.0, 1.0]]
    >>> law(X, "cross").tolist(), law(X, "cross-on").tolist()
    ([0.25, 0.25, 0.25, 0.25], [0.5, 0.25, 0.0, 0.25])
    """
    check_choice(sampler, "sampler", "law", tuple(SAMPLERS))
    _, angles, patterns = chambers(X)
    if sampler == "gaussian":
        return np.asarray(angles / (2 * np.pi))
    if sampler == "cross":
        return np.full(len(angles), 1 / len(angles))
    changes = patterns != np.roll(patterns, 1, axis=0)  # the row of the border before each chamber
    before = (patterns & changes).any(axis=1)
    after = (patterns & np.roll(changes, -1, axis=0)).any(axis=1)
    return np.asarray((before.astype(float) + after) / len(angles))


def visits(X: ArrayLike, n_gates: int, sampler: str, rng: np.random.Generator | int | None = None) -> NDArray[np.intp]:
    """Return the chamber (n_gates,) of every gate that `sample_gates` draws, found by its pattern on the rows.

    Examples
    --------
    >>> np.bincount(visits([[1.0, 0.0], [0.0, 1.0]], 1000, "cross", 0), minlength=4).min() > 200
    np.True_
    """
    check_choice(sampler, "sampler", "visits", tuple(SAMPLERS))
    return _Visitor(as_rows(X, "visits"), sampler)(n_gates, as_generator(rng, "visits"))


def wait(X: ArrayLike, sampler: str, rng: np.random.Generator | int | None = None) -> int:
    """Return how many gates are drawn until all 2n patterns were seen.

    Raises
    ------
    ArgumentError
        A pattern has probability 0, so that the wait is infinite.

    Examples
    --------
    >>> wait([[1.0, 0.0], [0.0, 1.0]], "cross", 0) >= 4
    True
    """
    data = as_rows(X, "wait")
    probability = law(data, sampler)
    if not probability.all():
        never = describe(f"{sampler!r}, which never visits {np.count_nonzero(probability == 0)} of {len(probability)}")
        raise fail("sampler", "wait", "one that visits every chamber", never)
    visitor, generator = _Visitor(data, sampler), as_generator(rng, "wait")
    first = np.full(2 * len(data), -1)
    drawn, batch = 0, 8 * len(data)
    while (first < 0).any():
        chamber, index = np.unique(visitor(batch, generator), return_index=True)
        new = first[chamber] < 0
        first[chamber[new]] = drawn + index[new]
        drawn, batch = drawn + batch, min(2 * batch, _LARGEST_BATCH)
    return int(first.max()) + 1


def expected_wait(probability: ArrayLike) -> float:
    r"""Return the mean number of draws until all outcomes were seen, infinite if one of them has probability 0.

    .. math:: \int_0^\infty 1 - \prod_i (1 - e^{-p_it})\,dt

    by quadrature in log t. Inclusion and exclusion would give a sum of 2^(2n) terms that cancel.

    Raises
    ------
    ArgumentError
        ``probability`` is not one row of numbers ≥ 0 with sum 1.

    References
    ----------
    Flajolet, Gardy and Thimonier, "Birthday paradox, coupon collectors, caching algorithms and self-organizing
    search", 1992, equation (14).

    Examples
    --------
    >>> round(expected_wait([0.5, 0.5]), 6), round(expected_wait([0.9, 0.1]), 6), expected_wait([1, 0])
    (3.0, 10.111111, inf)
    """
    p = np.asarray(as_real(probability, "probability", "expected_wait"), dtype=np.float64)
    if p.ndim != 1 or p.size == 0 or not ((p >= 0).all() and np.isclose(p.sum(), 1)):
        raise fail("probability", "expected_wait", "numbers ≥ 0 with sum 1", describe(f"sum {p.sum():.6g}"))
    if not p.all():
        return float("inf")
    s = np.linspace(-25, np.log(50 / p.min()), _NODES)  # beyond either end is less than 1e-10 of a draw, or of the wait
    missing = -np.expm1(np.log(-np.expm1(-p[:, None] * np.exp(s))).sum(axis=0))
    return float(np.trapezoid(missing * np.exp(s), s))


def uniform_wait(n: int) -> float:
    r"""Return the mean wait for 2n equally likely patterns, :math:`2n\,(1 + 1/2 + … + 1/(2n))`.

    Examples
    --------
    >>> round(uniform_wait(2), 6)
    8.333333
    """
    check_integer(n, "n", "uniform_wait")
    return 2 * n * float(np.sum(1 / np.arange(1, 2 * n + 1)))


def fit_of_law(counts: ArrayLike, probability: ArrayLike) -> tuple[float, float]:
    r"""Return Pearson's statistic over its degrees of freedom, about 1 if the law is right, and the p-value.

    Outcomes with an expected count below 5 are pooled. An outcome of probability 0 that was seen refutes the law:
    infinity and 0.

    Examples
    --------
    >>> fit_of_law([10, 10, 20], [0.25, 0.25, 0.5])
    (0.0, 1.0)
    >>> fit_of_law([20, 20, 0], [0.5, 0, 0.5])
    (inf, 0.0)
    """
    found, p = np.asarray(counts, dtype=np.float64), np.asarray(probability, dtype=np.float64)
    if found[p == 0].any():
        return float("inf"), 0.0
    order = np.argsort(p)[np.count_nonzero(p == 0) :]
    found, expected = found[order], (found.sum() * p / p.sum())[order]
    few = int(np.count_nonzero(expected < _LEAST))
    if few and expected[:few].sum() < _LEAST:
        few = min(few + 1, len(expected))
    if few:
        found = np.append(found[few:], found[:few].sum())
        expected = np.append(expected[few:], expected[:few].sum())
    freedom = len(found) - 1
    if freedom == 0:
        return 0.0, 1.0
    statistic = float(((found - expected) ** 2 / expected).sum())
    return statistic / freedom, float(stats.chi2.sf(statistic, freedom))


class _Visitor:
    """Draws gates and finds their chambers by a key of their patterns."""

    def __init__(self, X: Array, sampler: str) -> None:
        self._X, self._sampler = X, SAMPLERS[sampler]
        # Sums of random 64-bit numbers, modulo 2^64: two of 160 patterns share one with probability 1e-15.
        self._numbers = np.random.default_rng(0).integers(0, 2**64, len(X), dtype=np.uint64)
        keys = chambers(X).patterns @ self._numbers
        self._order = np.argsort(keys)
        self._keys = keys[self._order]
        assert (np.diff(self._keys) > 0).all()

    def __call__(self, n_gates: int, rng: np.random.Generator) -> NDArray[np.intp]:
        gates = sample_gates(self._X, n_gates, bias=False, random_state=rng, **self._sampler)
        keys = self._numbers @ gates.activations(self._X)
        place = np.minimum(np.searchsorted(self._keys, keys), len(self._keys) - 1)
        assert (self._keys[place] == keys).all()  # every pattern of a gate is that of a chamber
        return np.asarray(self._order[place])
