"""Proofs by moments: each inequality that a bound rests on is refused where it does not hold."""

import re

import pytest

from clifford_rand_nn.proof_checker.check import InvalidProofError, evaluate
from support import proof_problems


def edited(adds, change):
    """Change the integers p, q, c of the first row of a bound that adds, whose square has a factor above 0, or not."""

    def edit(proof):
        rows = proof["family"]["bounds"][0]["functions"]["numerators"]
        row = next(row for row in rows if (int(row[1]) > 0) == adds)
        row[:] = map(str, change(*map(int, row)))

    return edit


def scaled(key, numerator, denominator):
    """Scale a number of all bounds, or the square of the ball."""

    def edit(proof):
        for place in [proof["family"]] if key == "square" else proof["family"]["bounds"]:
            place[key] = [str(k * int(part)) for k, part in zip((numerator, denominator), place[key], strict=True)]

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
]


@pytest.mark.parametrize(("name", "change", "words"), CASES)
def test_an_inequality_that_does_not_hold_is_refused(name, change, words):
    proof = proof_problems.proof(name)
    change(proof)
    with pytest.raises(InvalidProofError, match=re.escape(words)):
        evaluate(proof)
