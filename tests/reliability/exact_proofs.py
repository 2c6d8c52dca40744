"""An exact proof never contradicts its certificate: by its objective, its bound and its gap, in extreme scales.

Fits of every family, loss and penalty with offsets to 1e12, scales from 1e-9 to 1e9, near copies, weights from 1e-9 to
1e9 and zero, constant columns, tiny and huge betas, fewer rows than columns, one column. The exact objective is not
below the stated bound by more than 1e-9, the exact bound not above the exact objective, and the exact gap not above the
stated one by more than 1e-9. Refusals are counted by their reason.
"""

from collections import Counter

from fuzz.exact_instances import FAMILIES, instance, judged
from reliability.promise import Outcome, trials

WHOLE, SHORT = 1200, 40


def run(budget):
    families = budget.named(FAMILIES)
    faults, refused, done = [], Counter(), Counter()

    def number(i):
        return i // len(families) * len(FAMILIES) + FAMILIES.index(families[i % len(families)])

    for trial in trials(budget, SHORT if budget.short else WHOLE, lambda i: instance(budget.seed, number(i)), judged):
        if trial.refusal:
            refused[trial.refusal.split(". Got")[0][:90]] += 1
        elif trial.instance is not None:
            family = FAMILIES[number(trial.k) % len(FAMILIES)]
            done[family] += 1
            where = f"seed {budget.seed}, {number(trial.k)}: {trial.instance[0]}"
            faults += [f"{where}: {fault}" for fault in trial.result or trial.faults]
    reasons = [f"{count} '{reason}'" for reason, count in refused.most_common()]
    figure = f"{sum(done.values())} instances ({', '.join(f'{n} {family}' for family, n in sorted(done.items()))}), "
    figure += f"{len(faults)} contradictions; {sum(refused.values())} refused: {', '.join(reasons)}"
    return Outcome(figure, faults)
