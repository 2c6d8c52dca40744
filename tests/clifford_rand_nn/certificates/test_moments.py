"""Proofs by moments: each inequality that a bound rests on is refused where it does not hold."""

import re

import pytest

from clifford_rand_nn.proof_checker.check import InvalidProofError, evaluate
from support import proof_problems

BELOW = "a function of a row is below its activation"


def refused(proof, words):
    with pytest.raises(InvalidProofError, match=re.escape(words)):
        evaluate(proof)


def scaled(pair, numerator, denominator):
    return [str(numerator * int(pair[0])), str(denominator * int(pair[1]))]


def functions(proof, k=0):
    """Return the functions of the rows of a bound, integers (p, q, c) as strings."""
    return proof["family"]["bounds"][k]["functions"]["numerators"]


def row_of(proof, positive):
    """Return the first bound's first row whose square has a factor above 0, or not."""
    return next(row for row in functions(proof) if (int(row[1]) > 0) == positive)


@pytest.mark.parametrize("entry", [1, 2])
def test_a_function_above_0_for_no_long_row(entry):
    """Of rows that add: without its last percent the square or the constant lets the activation pass."""
    proof = proof_problems.proof("moments, l2")
    row = row_of(proof, True)
    row[entry] = str(int(row[entry]) * 99 // 100)
    refused(proof, BELOW)


@pytest.mark.parametrize("change", [
    lambda row: [row[0], row[1], -1],
    lambda row: [-row[0], row[1], row[2]],
    lambda row: [2 * row[0] - 1, row[1], row[2]],
    lambda row: [row[0], 100 * row[0] - 1, row[2]],
])  # fmt: skip
def test_a_function_of_a_row_that_takes_away(change):
    """With q <= 0 its constant is 0, and it is between 0 and the activation at the ends of the ball."""
    proof = proof_problems.proof("moments, l2")
    row = row_of(proof, False)
    row[:] = map(str, change([int(text) for text in row]))
    refused(proof, BELOW)


@pytest.mark.parametrize("name", ["moments, l2", "moments, l2, free", "moments, l1, no bias", "moments, softmax"])
def test_a_bound_below_the_maximum_of_its_quadratic_function(name):
    proof = proof_problems.proof(name)
    for bound in proof["family"]["bounds"]:
        bound["value"] = scaled(bound["value"], 98, 100)
    refused(proof, "a quadratic function exceeds its bound")


def test_a_multiplier_below_0():
    proof = proof_problems.proof("moments, l2")
    bound = proof["family"]["bounds"][0]
    bound["level"] = scaled(bound["level"], -1, 1)
    refused(proof, "a multiplier or a bound is negative")


@pytest.mark.parametrize("name", ["moments, l2", "moments, softmax"])
def test_bounds_above_the_dual_norm(name):
    proof = proof_problems.proof(name)
    for bound in proof["family"]["bounds"]:
        bound["value"] = scaled(bound["value"], 101, 100)
    refused(proof, "a neuron exceeds the dual norm")


def test_rows_beyond_the_ball():
    proof = proof_problems.proof("moments, l2, free")
    proof["family"]["square"] = scaled(proof["family"]["square"], 999, 1000)
    refused(proof, "a row is further from the center")


def test_a_bound_for_each_output_and_sign():
    proof = proof_problems.proof("moments, softmax")
    proof["family"]["bounds"].pop()
    refused(proof, "there is not one bound for each output and sign")
