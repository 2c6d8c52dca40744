"""The plane: which of the 2n activation patterns random gates find, and how often. The laws themselves."""

import numpy as np
import pytest
from scipy import stats

from clifford_rand_nn import sample_gates

FAILS = 1e-9  # probability that one chi-square test fails though the law is right
DRAWS = 5_000


def keys(on):
    """Return a string of 0 and 1 for every column of on (n, m)."""
    return np.ascontiguousarray(np.where(on.T, "1", "0")).view(f"U{len(on)}")[:, 0]


def chambers(X):
    """Return {pattern: angle of its chamber}, in order of angle; borders are orthogonal to a row."""
    angles = np.sort(np.concatenate([np.arctan2(X[:, 1], X[:, 0]) + s * np.pi / 2 for s in (1, -1)]) % (2 * np.pi))
    following = np.append(angles[1:], angles[0] + 2 * np.pi)
    middle = (angles + following) / 2
    patterns = keys(X @ np.stack([np.cos(middle), np.sin(middle)]) > 0)
    assert len(set(patterns)) == 2 * len(X)
    return dict(zip(patterns, following - angles, strict=True))


def frequencies(X, order, **sampler):
    gates = sample_gates(X, DRAWS, bias=False, random_state=11, **sampler)
    found = keys(gates.activations(X))
    counts = dict(zip(*np.unique(found, return_counts=True), strict=True))
    assert set(counts) <= set(order)
    return np.array([counts.get(pattern, 0) for pattern in order])


def assert_has_law(found, probability):
    probability = np.asarray(probability)
    assert found[probability == 0].sum() == 0
    keep = probability > 0
    expected = found.sum() * probability[keep]
    large = expected >= 5
    a, b = found[keep][large], expected[large]
    if not large.all():
        a, b = np.append(a, found[keep][~large].sum()), np.append(b, expected[~large].sum())
    assert stats.chi2.sf(((a - b) ** 2 / b).sum(), len(a) - 1) > FAILS


def data(n, seed, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) * rng.uniform(0.1, 10, (n, 1)) * scale


SETS = [(1, 0, 1.0), (3, 1, 1e-150), (8, 3, 1e150), (20, 4, 1.0)]


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seed", "scale"), SETS)
def test_random_sides_visit_every_pattern_equally_and_gaussian_directions_by_angle(n, seed, scale):
    X = data(n, seed, scale)
    angles = chambers(X)
    assert_has_law(frequencies(X, list(angles), side="random"), np.full(2 * n, 1 / (2 * n)))
    gaussian = frequencies(X, list(angles), method="gaussian")
    assert_has_law(gaussian, np.array(list(angles.values())) / (2 * np.pi))


@pytest.mark.slow
@pytest.mark.parametrize(("n", "seed"), [(3, 1), (8, 3)])
def test_incident_rows_on_or_off_miss_patterns(n, seed):
    """A pattern is entered from a border with its row on: from 0, 1 or 2 borders, and its share is that over 2n."""
    X = data(n, seed)
    order = list(chambers(X))
    for side, mark in (("on", "1"), ("off", "0")):
        ways = np.zeros(2 * n)
        for i, pattern in enumerate(order):
            for other in (order[i - 1], order[(i + 1) % (2 * n)]):
                (row,) = [j for j in range(n) if pattern[j] != other[j]]  # neighbors differ in the border's row
                ways[i] += pattern[row] == mark
        assert ways.sum() == 2 * n
        found = frequencies(X, order, side=side)
        assert_has_law(found, ways / (2 * n))
        assert np.count_nonzero(found) == np.count_nonzero(ways)
        if n > 3:  # of three rows each pattern may have one way
            assert np.count_nonzero(found) < 2 * n
            uniform = DRAWS / (2 * n)
            assert stats.chi2.sf(((found - uniform) ** 2 / uniform).sum(), 2 * n - 1) < 1e-50  # the paper's law fails
