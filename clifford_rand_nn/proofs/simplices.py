"""Witnesses of networks of all neurons in a few dimensions: trees of simplicial cones, by branch and bound."""

from fractions import Fraction

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import NDArray
from clifford_rand_nn.pricing.simplices import SimplexPricer, SimplicialCones
from clifford_rand_nn.proofs.dual_points import DualPoint
from clifford_rand_nn.proofs.rationals import Stated, over_common_denominator

_MOST_SEARCHES = 12  # for dual points that are shrunk by 2^-27 at most
_SPLIT = 2000  # multiplications that take as long as a split of a cone of few rows, and bound what a tree holds
_BELOW = 1 - 1e-15  # of the radius, so that what double precision bounds by it is below it


class SimplexWitness:
    """The function that states all neurons for a dual point: cones whose bounds are at most the radius.

    ``radius`` is the largest correlation that a neuron of norm one may have. A search takes at most ``most``
    multiplications.
    """

    def __init__(self, pricer: SimplexPricer, radius: Fraction, most: float) -> None:
        self.pricer, self.radius = pricer, float(radius) * _BELOW
        self.max_splits, self.failures = int(most / (pricer.X.size + _SPLIT)), 0

    def __call__(self, dual: DualPoint) -> Stated:
        """Return the family; one that is not a proof where no tree was found.

        Raises ArgumentError: no search of many has found one.
        """
        trees = self.pricer.witness(dual.doubles(), self.radius, self.max_splits)
        if trees is not None:
            return stated_trees(*trees)
        self.failures += 1
        if self.failures > _MOST_SEARCHES:
            value = describe("bounds by branch and bound in double precision that stay above the radius")
            raise fail("certificate", "the proof", "of a family that has an exact proof", value)
        return {"kind": "simplices", "denominator": "1", "nodes": []}


def stated_trees(splits: NDArray[np.intp], leaves: SimplicialCones) -> Stated:
    """Return the trees of a search as a proof states them, each node before its halves."""
    vectors, denominator = over_common_denominator(leaves.vectors)
    references = over_common_denominator(leaves.references)[0]
    numbers = {node: [*v, *r] for node, v, r in zip(leaves.nodes.tolist(), vectors, references, strict=True)}
    numbers |= {node: [i, j, s - t] for node, i, j, s, t, _ in splits.tolist()}
    children = {node: [child + 1, child] for node, *_, child in splits.tolist()}
    nodes, waiting = [], list(range(len(numbers) - 2 * len(children)))[::-1]
    while waiting:
        node = waiting.pop()
        waiting += children.get(node, [])
        nodes.append(" ".join(map(str, numbers[node])))
    return {"kind": "simplices", "denominator": str(denominator), "nodes": nodes}
