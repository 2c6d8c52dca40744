"""No mutated proof that the checker accepts is false, a second checker agrees, and no other exception leaves the first.

Small proofs of every family, loss and penalty, with one to three changes of digits, signs, indices, denominators,
words, shapes, types, data, weights or the dual point. Half of them state the values that the checker finds.
"""

import random
from collections import Counter

from reliability.promise import Outcome
from support import proof_problems

WHOLE, SHORT = 20_000, 600


def run(budget):
    from support import proof_mutations  # the second checker needs python-flint

    names = budget.named(proof_problems.NAMES)
    rng, faults, accepted = random.Random(budget.seed), [], Counter()
    tried = SHORT if budget.short else WHOLE
    for k in range(tried):
        name = names[k % len(names)]
        proof, words = proof_mutations.mutated(rng, proof_problems.proof(name))
        is_valid, fault = proof_mutations.judged(proof)
        accepted[is_valid] += 1
        if fault:
            faults.append(f"seed {budget.seed}, {k}: {name}: {words}: {fault}")
    figure = f"{tried} mutated proofs of {len(names)} problems, {accepted[False]} refused, "
    figure += f"{accepted[True]} accepted and confirmed by a second checker, {len(faults)} faults"
    return Outcome(figure, faults)
