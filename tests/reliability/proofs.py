"""A certificate's bound is below every network of its family, on rows however hard; a fit reaches its gap or says why.

Instances of every family, loss, penalty, bias, with weights and several outputs, on rows of mixed scales (columns times
1e±8), far offsets (to 1e8), near copies and ill-conditioned Gram matrices. The attack is a descent on the family's own
problem, evaluated in extended precision.
"""

import time
import warnings
from collections import Counter

import numpy as np

from clifford_rand.errors import ArgumentError
from fuzz.proof_instances import FAMILIES, attack, instance
from reliability.promise import Outcome

WHOLE, SHORT = 2400, 40


def run(budget):
    wanted, done, faults, near, silent = SHORT if budget.short else WHOLE, Counter(), [], 0, 0
    refused, others, slowest = Counter(), 0, (0.0, 0)
    began = time.monotonic()
    for k in range(10 * wanted):
        if sum(done.values()) >= wanted or (budget.seconds and time.monotonic() - began > budget.seconds):
            break
        family, rng = FAMILIES[k % len(FAMILIES)], np.random.default_rng([budget.seed, k])
        one = instance(rng, family)
        if one is None:
            continue
        started = time.process_time()
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            try:
                found, above, gap = attack(rng, one, starts=4)
            except ArgumentError as error:
                refused[str(error).split(".")[0][:60]] += 1
                others += type(one.model).__name__ not in str(error)
                continue
            except Exception as error:
                faults.append(f"seed {budget.seed}, {k}: {one.words}: {type(error).__name__}: {error}")
                continue
        slowest = max(slowest, (time.process_time() - started, k))
        done[family] += 1
        near += above < 1e-3
        if gap > 1e-5 and not any("onvergence" in type(word.message).__name__ for word in told):
            silent += 1
            found.append(f"a gap of {gap:.1e} without a word")
        faults += [f"seed {budget.seed}, {k}: {one.words}: {fault}" for fault in found]
    each = ", ".join(f"{count} {family}" for family, count in sorted(done.items()))
    figure = f"{sum(done.values())} instances ({each}), {sum(refused.values())} refused in a sentence "
    figure += f"({others} by one of an argument that nobody gave), "
    figure += (
        f"{len(faults)} faults; a descent came within 1e-3 of the bound in {near / max(sum(done.values()), 1):.0%}"
    )
    figure += f"; the longest took {slowest[0]:.0f} s of the processor ({slowest[1]})"
    return Outcome(figure, faults)
