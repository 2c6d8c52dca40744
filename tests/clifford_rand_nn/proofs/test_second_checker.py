"""The checker of proofs and a second one with other arithmetic: the same verdict on proofs, and on mutated ones."""

import random
from fractions import Fraction

import pytest

pytest.importorskip("flint")
from clifford_rand_nn.proof_checker.check import check, evaluate
from support import proof_mutations, proof_problems, second_checker

ROUNDING = Fraction(1, 10**28)  # of an objective or a bound


@pytest.mark.parametrize("name", proof_problems.NAMES)
def test_both_checkers_find_the_same_values(name):
    proof = proof_problems.proof(name)
    verdict, own = evaluate(proof), second_checker.confirm(proof)
    assert check(proof).objective >= verdict.objective >= own.objective_below
    assert verdict.objective <= own.objective * (1 + ROUNDING)
    assert own.bound_above >= verdict.bound >= own.bound * (1 - ROUNDING) > 0


def test_mutated_proofs_that_are_accepted_are_true():
    rng, accepted = random.Random(0), 0
    for k in range(350):
        name = proof_problems.NAMES[k % len(proof_problems.NAMES)]
        proof, words = proof_mutations.mutated(rng, proof_problems.proof(name))
        is_valid, fault = proof_mutations.judged(proof)
        accepted += is_valid
        assert not fault, f"{name}: {words}: {fault}"
    assert 40 < accepted < 175


def test_the_second_checker_refuses_what_is_false():
    for name in proof_problems.NAMES:
        proof = proof_problems.proof(name)
        own = second_checker.values(proof)
        for key, value in (("objective", own.objective_below * Fraction(99, 100)), ("bound", own.bound_above * 2)):
            with pytest.raises(second_checker.RefusedError):
                second_checker.confirm(proof | {key: [str(part) for part in value.as_integer_ratio()]})
