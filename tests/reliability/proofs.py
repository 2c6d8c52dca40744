"""A certificate's bound is below every network of its family, on rows however hard; a fit reaches its gap or says why.

Instances of every family, loss, penalty, bias, with weights and several outputs, on rows of mixed scales (columns times
1e±8), far offsets (to 1e8), near copies and ill-conditioned Gram matrices. The attack is a descent on the family's own
problem, evaluated in extended precision.
"""

import time
from collections import Counter

import numpy as np

from fuzz.proof_instances import FAMILIES, attack, instance
from reliability.promise import Outcome, trials

WHOLE, SHORT = 2400, 40


def run(budget):
    done, faults, near, silent = Counter(), [], 0, 0
    refused, others, slowest = Counter(), 0, (0.0, 0)

    def draw(k):
        rng = np.random.default_rng([budget.seed, k])
        one = instance(rng, FAMILIES[k % len(FAMILIES)], outputs=4 if k % 25 == 5 else 2)
        return one and (rng, one)

    def timed(pair):
        started = time.process_time()
        return *attack(*pair, starts=4), time.process_time() - started

    for trial in trials(budget, SHORT if budget.short else WHOLE, draw, timed):
        if trial.instance is None:
            continue
        one = trial.instance[1]
        if trial.refusal:
            refused[trial.refusal.split(".")[0][:60]] += 1
            others += type(one.model).__name__ not in trial.refusal
            continue
        done[FAMILIES[trial.k % len(FAMILIES)]] += 1
        found = trial.faults
        if trial.result is not None:
            found, above, gap, seconds = trial.result
            slowest = max(slowest, (seconds, trial.k))
            near += above < 1e-3
            if gap > 1e-5 and not any("onvergence" in type(word.message).__name__ for word in trial.warnings):
                silent += 1
                found.append(f"a gap of {gap:.1e} without a word")
        faults += [f"seed {budget.seed}, {trial.k}: {one.words}: {fault}" for fault in found]
    each = ", ".join(f"{count} {family}" for family, count in sorted(done.items()))
    figure = f"{done.total()} instances ({each}), {refused.total()} refused in a sentence "
    figure += f"({others} by one of an argument that nobody gave), "
    figure += f"{len(faults)} faults; a descent came within 1e-3 of the bound in {near / max(done.total(), 1):.0%}"
    figure += f"; the longest took {slowest[0]:.0f} s of the processor ({slowest[1]})"
    return Outcome(figure, faults)
