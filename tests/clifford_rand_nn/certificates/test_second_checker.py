"""The checker of proofs and a second one with other arithmetic: the same verdict on proofs, and on mutated ones."""

import random
from fractions import Fraction

import pytest

pytest.importorskip("flint")
from clifford_rand_nn.proof_checker.check import check, evaluate
from support import proof_mutations, proof_problems, second_checker

ROUNDING = Fraction(1, 10**28)  # of an objective or a bound


@pytest.mark.parametrize("name", proof_problems.NAMES)
def test_both_checkers_find_the_same_values_and_the_second_refuses_others(name, monkeypatch):
    proof = proof_problems.proof(name)
    verdict, own = evaluate(proof), second_checker.confirm(proof)
    assert check(proof).objective >= verdict.objective >= own.objective_below
    assert verdict.objective <= own.objective * (1 + ROUNDING)
    assert own.bound_above >= verdict.bound >= own.bound * (1 - ROUNDING) > 0
    monkeypatch.setattr(second_checker, "values", lambda stated: own)  # they do not depend on what is stated of them
    for key, value in (("objective", own.objective_below * Fraction(99, 100)), ("bound", own.bound_above * 2)):
        with pytest.raises(second_checker.RefusedError):
            second_checker.confirm(proof | {key: [str(part) for part in value.as_integer_ratio()]})


@pytest.mark.slow
def test_mutated_proofs_that_are_accepted_are_true():
    """As `python -m tests.reliability mutations` tries more of."""
    trials = 350
    rng, accepted = random.Random(0), 0
    for k in range(trials):
        name = proof_problems.NAMES[k % len(proof_problems.NAMES)]
        proof, words = proof_mutations.mutated(rng, proof_problems.proof(name))
        is_valid, fault = proof_mutations.judged(proof)
        accepted += is_valid
        assert not fault, f"{name}: {words}: {fault}"
    assert trials / 8.75 < accepted < trials / 2
