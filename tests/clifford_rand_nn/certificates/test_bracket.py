"""The factor by which unit l2 cross products bracket the optimum."""

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn import bracket_factor, enumerate_patterns


def test_in_the_plane_it_is_the_widest_chamber():
    """1 / cos(angle / 2), the angle from sorting the lines."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 7):
        X = rng.standard_normal((n, 2))
        lines = np.sort(np.mod(np.arctan2(X[:, 1], X[:, 0]), np.pi))
        widest = np.diff(np.append(lines, lines[0] + np.pi)).max()
        assert bracket_factor(X) == pytest.approx(1 / np.cos(widest / 2), rel=1e-9)


@pytest.mark.parametrize("d", [2, 3, 4])
def test_orthants(d):
    """The rays of an orthant are the axes: the shortest convex combination has length 1/sqrt(d)."""
    assert bracket_factor(np.eye(d)) == pytest.approx(np.sqrt(d))


def test_every_direction_is_a_sum_of_rays_of_weight_at_most_the_factor():
    """The inequality behind the bracket, by a linear program over all cross products in the closed chamber."""
    from scipy.optimize import linprog

    from clifford_rand_nn import cross_product_dictionary

    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 3))
    factor = bracket_factor(X)
    rays = cross_product_dictionary(X, "l2", bias=False).neurons().directions
    worst = 0.0
    for _ in range(200):
        u = rng.standard_normal(3)
        u /= np.linalg.norm(u)
        side = np.where(X @ u >= 0, 1.0, -1.0)
        inside = rays[:, (side[:, None] * (X @ rays) >= -1e-9).all(axis=0)]
        found = linprog(np.ones(inside.shape[1]), A_eq=inside, b_eq=u)
        worst = max(worst, found.fun)
    assert 1 < worst <= factor * (1 + 1e-9)
    assert enumerate_patterns(X, bias=False).shape[1] == 32


def test_one_dimension_and_repeated_rows():
    assert bracket_factor(np.array([[2.0], [-1.0]])) == 1.0
    X = np.random.default_rng(2).standard_normal((4, 3))
    assert bracket_factor(np.vstack([X, X, 0 * X[:1], -2 * X])) == pytest.approx(bracket_factor(X))


def test_lower_rank_is_refused():
    with pytest.raises(ArgumentError, match=r"an \(n, d\) array of rank d"):
        bracket_factor(np.ones((5, 2)))
