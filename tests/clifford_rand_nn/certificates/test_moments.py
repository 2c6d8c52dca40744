"""Proofs by moments: each inequality that a bound rests on is refused where it does not hold."""

import json
import math
import re
from pathlib import Path

import pytest

from clifford_rand_nn.proof_checker.check import InvalidProofError, check
from support import proof_problems


def leaves(bounds):
    """Return the leaves of trees of cells, those of the deepest first."""
    found = [(0, bounds)] if "row" not in bounds else []
    for side in ("on", "off") if "row" in bounds else ():
        found += [(depth + 1, leaf) for depth, leaf in leaves(bounds[side])]
    return sorted(found, key=lambda pair: -pair[0])


def cells(proof):
    """Return all leaves of a proof."""
    return [leaf for bound in proof["family"]["bounds"] for _, leaf in leaves(bound)]


def edited(adds, change):
    """Change the integers p, q, c of a row of the first bound that adds, whose square has a factor above 0, or not."""

    def edit(proof):
        rows = [row for leaf in cells(proof) for row in leaf["functions"]["numerators"]]
        row = next(row for row in rows if (int(row[1]) > 0) == adds)
        row[:] = map(str, change(*map(int, row)))

    return edit


def scaled(key, numerator, denominator):
    """Scale a number of all bounds, or the square of the ball."""

    def edit(proof):
        for place in [proof["family"]] if key == "square" else cells(proof):
            place[key] = [str(k * int(part)) for k, part in zip((numerator, denominator), place[key], strict=True)]

    return edit


def split(change):
    """Change the root of the first tree that is split."""

    def edit(proof):
        change(next(bound for bound in proof["family"]["bounds"] if "row" in bound))

    return edit


def swapped(bound):
    """The cells of one side are said to be those of the other."""
    bound["on"], bound["off"] = bound["off"], bound["on"]


def cut(change):
    """Change the integers of the largest cut."""

    def edit(proof):
        cuts = [row for leaf in cells(proof) if "cuts" in leaf for row in leaf["cuts"]["numerators"]]
        row = max(cuts, key=lambda row: int(row[0]))
        row[:] = map(str, change([int(part) for part in row]))

    return edit


BELOW, PLAIN = "a function of a row is below its activation", "moments, l2"
CASES = [
    # without its last percent the square or the constant lets the activation pass
    (PLAIN, edited(True, lambda p, q, c: (p, q * 99 // 100, c)), BELOW),
    (PLAIN, edited(True, lambda p, q, c: (p, q, c * 99 // 100)), BELOW),
    # with q <= 0 the constant is 0, and the function between 0 and the activation at the ends of the ball
    (PLAIN, edited(False, lambda p, q, c: (p, q, -1)), BELOW),
    (PLAIN, edited(False, lambda p, q, c: (-p, q, c)), BELOW),
    (PLAIN, edited(False, lambda p, q, c: (2 * p - 1, q, c)), BELOW),
    (PLAIN, edited(False, lambda p, q, c: (p, 100 * p - 1, c)), BELOW),
    *(
        (name, scaled("value", 98, 100), "a quadratic function exceeds its bound")
        for name in (PLAIN, "moments, l2, free", "moments, l1, no bias", "moments, softmax")
    ),
    (PLAIN, scaled("level", -1, 1), "a multiplier or a bound is negative"),
    *((name, scaled("value", 101, 100), "a neuron exceeds the dual norm") for name in (PLAIN, "moments, softmax")),
    ("moments, l2, free", scaled("square", 999, 1000), "a row is further from the center"),
    ("moments, softmax", lambda proof: proof["family"]["bounds"].pop(), "not one bound for each output and sign"),
    # a cell without one of its halves, with its halves exchanged, split twice by a row, or by none
    *((name, split(lambda bound: bound.pop("off")), "cannot be checked") for name in (PLAIN, "moments, l2, free")),
    *((name, split(swapped), "a quadratic function exceeds its bound") for name in (PLAIN, "moments, l2, free")),
    (PLAIN, split(lambda bound: bound["on"].update(row=bound["row"], on={}, off={})), "split by no row, or again"),
    (PLAIN, split(lambda bound: bound.update(row="8")), "split by no row, or again"),
    (PLAIN, split(lambda bound: bound.update(row="-1")), "split by no row, or again"),
    # a half stands for the whole, as if its row were free
    (PLAIN, lambda proof: proof["family"]["bounds"].__setitem__(0, cells(proof)[0]), "the functions of rows"),
    # a cut that is negative where it is added, and others than those that bound the function
    (
        PLAIN,
        cut(lambda row: [math.isqrt(sum(part**2 for part in row[1:])) * 99 // 100, *row[1:]]),
        "a cut is negative in the ball",
    ),
    (PLAIN, cut(lambda row: [-row[0], *row[1:]]), "a cut is negative in the ball"),
    (PLAIN, cut(lambda row: [2 * row[0], *row[1:]]), "a quadratic function exceeds its bound"),
    (PLAIN, cut(lambda row: [row[0], *(-part for part in row[1:])]), "a quadratic function exceeds its bound"),
    ("moments, l2, free", cut(lambda row: row[:-1]), "the cuts of a cell"),
]


@pytest.mark.parametrize(("name", "change", "words"), CASES)
def test_an_inequality_that_does_not_hold_is_refused(name, change, words):
    proof = proof_problems.proof(name)
    change(proof)
    with pytest.raises(InvalidProofError, match=re.escape(words)):
        check(proof)


@pytest.mark.parametrize("name", [PLAIN, "moments, l2, free", "moments, l1, no bias", "moments, softmax"])
def test_proofs_have_trees_and_cuts(name):
    """Otherwise the cases above would change nothing."""
    proof = proof_problems.proof(name)
    check(proof)
    assert any(
        int(part) for leaf in cells(proof) if "cuts" in leaf for row in leaf["cuts"]["numerators"] for part in row
    )


def test_a_proof_from_before_there_were_cells_is_valid():
    proof = json.loads((Path(__file__).parent / "golden" / "moments.json").read_text())
    assert not any("row" in bound or "cuts" in bound for bound in proof["family"]["bounds"])
    verdict = check(proof)
    assert 0 < verdict.bound < verdict.objective
