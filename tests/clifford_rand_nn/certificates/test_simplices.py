"""Proofs by branch and bound over simplicial cones: checked, and refused where a tree, a ray or a vector is changed."""

import json
from fractions import Fraction

import numpy as np
import pytest

import clifford_rand_nn as nn
from clifford_rand_nn.certificates.dual_points import DualPoint
from clifford_rand_nn.certificates.witnesses import SimplexWitness, stated_trees
from clifford_rand_nn.pricing.simplices import SimplexPricer
from clifford_rand_nn.proof_checker import simplices
from clifford_rand_nn.proof_checker.check import InvalidProofError, Problem, check
from support.proof_problems import confirmed, integers


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.slow)], ids=["one output", "two outputs"])
def proof(request):
    rng = np.random.default_rng(7)
    X = rng.standard_normal((20, 2))
    Y = np.abs(X[:, :1]) + 0.3 * rng.standard_normal((20, request.param))
    model = nn.ConvexReLURegressor(gates="exhaustive", beta=3e-2)
    return confirmed(model, X, Y[:, 0] if request.param == 1 else Y)[1]


def test_the_proof_is_valid_and_global(proof):
    assert proof["family"]["kind"] == "simplices"
    verdict = check(proof)
    assert verdict.family.startswith("all networks of any width (")
    assert verdict.gap < Fraction(1, 10**5)


def changed(proof, nodes, **family):
    return proof | {"family": proof["family"] | {"nodes": nodes} | family}


def edited(nodes, length, edit):
    """Apply an edit to the numbers of all nodes with that many of them."""
    lists = [[*map(int, node.split())] for node in nodes]
    return [" ".join(map(str, edit(numbers) if len(numbers) == length else numbers)) for numbers in lists]


MUTATIONS = {
    "no trees": lambda nodes: [],
    "a leaf is missing": lambda nodes: nodes[:-1],
    "a tree is missing": lambda nodes: nodes[1:],
    "a leaf too many": lambda nodes: [*nodes, nodes[-1]],
    "a leaf instead of a split": lambda nodes: [nodes[-1] if len(node.split()) == 3 else node for node in nodes],
    "an edge from a ray to itself": lambda nodes: edited(nodes, 3, lambda n: [n[0], n[0], n[2]]),
    "a ray that does not exist": lambda nodes: edited(nodes, 3, lambda n: [n[0], 3, n[2]]),
    "a ray from the end": lambda nodes: edited(nodes, 3, lambda n: [n[0] - 3, n[1], n[2]]),
    "moved rays": lambda nodes: edited(nodes, 3, lambda n: [n[0], n[1], n[2] + 4]),
    "a ray without bound": lambda nodes: edited(nodes, 3, lambda n: [n[0], n[1], 10**9]),
    "other edges": lambda nodes: edited(nodes, 3, lambda n: [n[1], 3 - n[0] - n[1], n[2]]),
    "shorter vectors": lambda nodes: edited(nodes, 6, lambda n: [*(99 * v // 100 for v in n[:3]), *n[3:]]),
    "longer vectors": lambda nodes: edited(nodes, 6, lambda n: [*(2 * v for v in n[:3]), *n[3:]]),
    "vectors of other leaves": lambda nodes: nodes[::-1],
    "opposite references": lambda nodes: edited(nodes, 6, lambda n: [*n[:3], *(-v for v in n[3:])]),
    "a number too many": lambda nodes: edited(nodes, 6, lambda n: [*n, 0]),
    "another notation": lambda nodes: [" " + node for node in nodes],
    "a word": lambda nodes: ["x", *nodes[1:]],
}


@pytest.mark.parametrize("mutation", MUTATIONS)
def test_a_changed_tree_is_refused(proof, mutation):
    nodes = MUTATIONS[mutation](proof["family"]["nodes"])
    assert nodes != proof["family"]["nodes"]
    with pytest.raises(InvalidProofError):
        check(changed(proof, nodes))


def test_a_bound_below_the_norm_of_one_leaf_is_refused(proof):
    nodes = list(proof["family"]["nodes"])
    leaves = {k: list(map(int, node.split())) for k, node in enumerate(nodes) if len(node.split()) == 6}
    longest = max(leaves, key=lambda k: sum(v**2 for v in leaves[k][:3]))
    nodes[longest] = " ".join(map(str, [0, 0, 0, *leaves[longest][3:]]))
    with pytest.raises(InvalidProofError, match="a vector does not bound its cone"):
        check(changed(proof, nodes))


@pytest.mark.parametrize("denominator", ["0", "-1", "1"])
def test_another_denominator_is_refused(proof, denominator):
    with pytest.raises(InvalidProofError):
        check(changed(proof, proof["family"]["nodes"], denominator=denominator))


def test_a_smaller_penalty_and_other_rows_are_refused(proof):
    smaller, other = (json.loads(json.dumps(proof)) for _ in range(2))
    numerator, denominator = map(int, proof["problem"]["beta"])
    smaller["problem"]["beta"] = [str(99 * numerator), str(100 * denominator)]
    for row in other["data"]["X"]["numerators"]:
        row[0] = str(2 * int(row[0]))
    for changes in (smaller, other):
        with pytest.raises(InvalidProofError):
            check(changes)


def test_trees_for_the_l1_norm():
    rng = np.random.default_rng(8)
    X = rng.standard_normal((20, 3))
    y = np.abs(X[:, 0]) + 0.3 * rng.standard_normal(20)
    certificate, proof, _ = confirmed(nn.CrossProductLassoRegressor(penalty="l1", bias=False, beta=5e-2), X, y)
    numerators = [[999 * int(t) for t in row] for row in proof["dual"]["numerators"]]
    dual = DualPoint(numerators, 1000 * int(proof["dual"]["denominator"]))
    family = SimplexWitness(SimplexPricer(X, 1), 20 * Fraction(certificate.beta), 1e8)(dual)
    proof |= {"dual": dual.stated(), "family": family, "bound": ["0", "1"]}
    assert check(proof).family.startswith("all networks of any width (")
    with pytest.raises(InvalidProofError, match="vector"):
        check(proof | {"dual": DualPoint(numerators, dual.denominator // 2).stated()})


def instance(kind, rng):
    n, d = rng.integers(15, 35), 3
    X = rng.standard_normal((n, d))
    match kind:
        case "tenths":  # rays are orthogonal to rows in floating point, or exactly, but not in both
            X = 0.1 * rng.integers(-3, 4, (n, d))
        case "integers":
            X = rng.integers(-2, 3, (n, d)).astype(float)
        case "near duplicates":
            X[1::2] = X[: len(X[1::2])] + 1e-12 * rng.standard_normal(X[1::2].shape)
        case "offset":
            X += 1e6
        case "scales":
            X *= [1e-9, 1.0, 1e9]
    return X, 1e-3 * rng.standard_normal((n, rng.integers(1, 3)))


@pytest.mark.parametrize("kind", ["tenths", "integers", "near duplicates", "offset", "scales"])
@pytest.mark.parametrize("p", [1, 2])
def test_what_floating_point_bounds_is_bounded_exactly(kind, p):
    rng, one = np.random.default_rng(9), Fraction(1)
    for _ in range(5):
        X, theta = instance(kind, rng)
        pricer = SimplexPricer(X, p, tol=0.05)
        radius = 1.02 * pricer.price(theta, 1).size
        family = stated_trees(*pricer.witness(theta, radius, 20_000))
        zero, points = integers(0 * theta), integers(theta)
        options = "squared", one, f"l{p}", "none", one, False, Fraction(radius)
        stated = Problem(*options, integers(X), zero, [one], points)
        simplices.family(stated, family)
        with pytest.raises(InvalidProofError):
            simplices.family(stated._replace(beta=Fraction(radius) * 9 / 10), family)


def test_leaves_within_the_rounding_of_their_sums_are_left_to_the_exact_check():
    """Correlations cancel to 1e-7 of their terms; what a bound added for rounding put it above the radius."""
    rng = np.random.default_rng(3)
    X, theta = np.column_stack([np.full(8, 1e3), 1e-2 * rng.standard_normal(8)]), rng.standard_normal((8, 1))
    theta -= theta.mean()
    pricer, radius = SimplexPricer(X), 0.0749913743595
    family = stated_trees(*pricer.witness(theta, (1 - 1e-15) * radius, 30_000))
    options = "squared", Fraction(1), "l2", "none", Fraction(1), False, Fraction(radius)
    simplices.family(Problem(*options, integers(X), integers(0 * theta), [Fraction(1)], integers(theta)), family)
