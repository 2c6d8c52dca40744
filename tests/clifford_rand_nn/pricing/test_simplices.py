"""Branch and bound over simplicial cones of directions: against all patterns, on degenerate rows, in any scale."""

from itertools import product

import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.gates.enumeration import enumerate_gates
from clifford_rand_nn.pricing.cone_best import least_norm
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.pricing.simplices import SimplexPricer


def instance(name):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((12, 3))
    match name:
        case "duplicates":
            X[6:] = X[:6]
        case "parallel":
            X[6:] = -2 * X[:6]
        case "zero rows":
            X[::3] = 0
        case "dependent columns":
            X[:, 2] = X[:, 0] - X[:, 1]
        case "fewer rows than columns":
            X = rng.standard_normal((2, 4))
        case "grid":
            X = np.array(list(product((-1.0, 0.0, 1.0), repeat=2))) @ np.array([[1.0, 0, 1], [0, 1, 1]])
        case "one column":
            X = X[:, :1]
        case "constant":
            X[:, 2] = 0.5
        case "columns of other sizes":
            X *= [1.0, 1e3, 1e-2]
    return X, rng.standard_normal((len(X), 3))


NAMES = ["general", "duplicates", "parallel", "zero rows", "dependent columns", "fewer rows than columns", "grid",
         "one column", "constant", "columns of other sizes"]  # fmt: skip


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_bound_encloses_the_supremum_over_all_patterns(name, p, outputs):
    X, theta = instance(name)
    theta = theta[:, :outputs]
    patterns, _ = enumerate_gates(X, False)
    truth = ConePricer(X, patterns, p, False).price(theta, 1).size
    for tol in (1e-2, 1e-5) if outputs == 1 else (1e-3,):
        size, neurons = SimplexPricer(X, p, tol).price(theta, 3)
        values = np.linalg.norm(neurons.columns(X).T @ theta, axis=1)
        assert truth * (1 - (1e-12 if outputs == 1 else 2e-9)) <= size <= truth * (1 + tol) * (1 + 1e-9)
        assert size <= values[0] * (1 + tol) * (1 + 1e-11)
        np.testing.assert_allclose(neurons.norms(p), 1, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1e9, 1e-150])
@pytest.mark.parametrize("p", [1, 2])
def test_the_bound_scales_with_rows_and_dual_point(scale, p):
    X, theta = instance("general")
    theta = theta[:, 0]
    size = SimplexPricer(X, p).price(theta, 1).size
    assert SimplexPricer(scale * X, p).price(theta, 1).size == pytest.approx(scale * size, rel=3e-8)
    assert SimplexPricer(X, p).price(scale * theta, 1).size == pytest.approx(scale * size, rel=3e-8)


def test_nothing_to_find_has_the_size_zero():
    X, theta = instance("general")
    size, neurons = SimplexPricer(X).price(0 * theta, 1)
    assert size == len(neurons) == 0
    size, neurons = SimplexPricer(0 * X).price(theta, 1)
    assert size == len(neurons) == 0


def test_the_bound_holds_wherever_the_search_ends():
    rng = np.random.default_rng(1)
    X, theta = rng.standard_normal((80, 4)), rng.standard_normal(80)
    truth = SimplexPricer(X, tol=1e-4).price(theta, 1).size
    sizes = [SimplexPricer(X, max_splits=splits).price(theta, 1).size for splits in (0, 50, 300)]
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[0] > 1.1 * truth
    assert sizes[-1] >= truth * (1 - 1e-4)
    assert SimplexPricer(X).price(theta, 1, late=lambda: True).size == sizes[0]


def test_a_level_ends_the_search_on_either_side():
    rng = np.random.default_rng(2)
    X, theta = rng.standard_normal((100, 3)), rng.standard_normal(100)
    truth = SimplexPricer(X).price(theta, 1).size
    above = SimplexPricer(X).price(theta, 1, enough=1.2 * truth)
    assert truth < above.size <= 1.2 * truth
    size, neurons = SimplexPricer(X).price(theta, 1, enough=0.5 * truth)
    value = np.abs(neurons.columns(X).T @ theta)[0]
    assert value <= truth * (1 + 1e-8)
    assert size <= value + 0.11 * (value - 0.5 * truth)


@pytest.mark.parametrize("p", [1, 2])
@pytest.mark.parametrize("outputs", [1, 2])
def test_the_leaves_of_a_witness_cover_all_directions_and_bound_each(p, outputs):
    rng = np.random.default_rng(3)
    X, theta = rng.standard_normal((20, 3)), rng.standard_normal((20, outputs))
    pricer = SimplexPricer(X, p)
    radius = 1.02 * pricer.price(theta, 1).size
    assert pricer.witness(theta, 0.98 * radius / 1.02, 1000) is None
    splits, leaves = pricer.witness(theta, radius, 1000)
    orthants = [sign[:, None] * np.eye(3) for sign in np.array(list(product((1.0, -1.0), repeat=3)))]
    rays = dict(enumerate(orthants * (2 if outputs == 1 else 1)))
    assert sorted([*leaves.nodes, *splits[:, 0]]) == list(range(len(rays) + 2 * len(splits)))
    signs = {node: 1 if node < 8 else -1 for node in rays}
    for node, i, j, s, t, child in sorted(splits.tolist()):
        A, new = rays[node], 2**s * rays[node][i] + 2**t * rays[node][j]
        rays[child], rays[child + 1] = A.copy(), A.copy()
        rays[child][i], rays[child + 1][j] = new, new
        signs[child] = signs[child + 1] = signs[node]
    assert (np.linalg.norm(leaves.vectors, ord=2 if p == 2 else np.inf, axis=1) <= radius).all()
    for leaf, g, reference in zip(leaves.nodes.tolist(), leaves.vectors, leaves.references, strict=True):
        products = X @ rays[leaf].T
        on = (products >= 0).all(axis=1)
        low = products * (on | ((X @ reference > 0) & (products > 0).any(axis=1)))[:, None]
        high = np.maximum(products, 0)
        plus, minus = np.maximum(theta, 0), np.maximum(-theta, 0)
        upper, lower = high.T @ plus - low.T @ minus, low.T @ plus - high.T @ minus
        h = np.linalg.norm(np.maximum(upper, -lower), axis=1)
        if outputs == 1:
            h = (upper if signs[leaf] > 0 else -lower)[:, 0]
        assert (rays[leaf] @ g >= h).all()


def test_too_many_columns_are_refused():
    with pytest.raises(ArgumentError, match="of at most 10 columns"):
        SimplexPricer(np.ones((3, 11)))
    assert isinstance(Family("all", 2, False).pricer(np.eye(2, 11)), ConePricer)


def test_least_norms_are_feasible_and_least():
    rng = np.random.default_rng(4)
    for width in (1.0, 1e-2, 1e-7):
        A = np.abs(rng.standard_normal((1, 1, 3)) + width * rng.standard_normal((200, 3, 3)))
        A /= np.linalg.norm(A, axis=2)[:, :, None]
        h = rng.standard_normal((200, 3))
        g, direction = least_norm(A, h)
        assert (np.einsum("qij,qj->qi", A, g) >= h).all()
        lengths = np.linalg.norm(g, axis=1)
        unit = direction / np.maximum(np.linalg.norm(direction, axis=1), 1e-300)[:, None]
        if width > 1e-3:  # g is along the direction, in the cone, whose multipliers prove that none is shorter
            mu = np.linalg.solve(A.transpose(0, 2, 1), unit[:, :, None])[:, :, 0]
            assert (mu >= -1e-9).all()
            np.testing.assert_allclose(np.maximum(np.einsum("qi,qi->q", mu, h), 0), lengths, atol=1e-9)


def test_all_neurons_are_priced_by_branch_and_bound_where_patterns_are_many():
    rng = np.random.default_rng(6)
    X, theta = rng.standard_normal((50, 2)), rng.standard_normal((50, 1))
    pricer = Family("all", 2, False, feature=1.5).pricer(X)
    assert isinstance(pricer, SimplexPricer)
    assert pricer.scope == "global: all neurons, by branch and bound"
    assert isinstance(Family("all", 2, False, feature=1.5).pricer(X[:9]), ConePricer)
    lifted = np.column_stack([X, np.full(50, 1.5)])
    patterns, _ = enumerate_gates(lifted[:30], False)
    truth = ConePricer(lifted[:30], patterns, 2, False).price(theta[:30], 1).size
    theta[30:] = 0
    assert pricer.price(theta, 1).size == pytest.approx(truth, rel=1e-7)
