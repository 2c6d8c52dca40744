"""A reported gap is never below the true one: exact arithmetic gives the same objectives, and bounds no lower.

Small fits of every family, in memory and on shards, with targets of scales 1e-9 to 1e9 at offsets 0 to 1e12, weights,
biases and intercepts; objective, bound and gap of the fit and of `verify` are compared with 60-digit arithmetic on the
float64 inputs. Targets that round to a constant are left out and counted.
"""

from collections import Counter, defaultdict

from sklearn.exceptions import ConvergenceWarning

from fuzz.gap_instances import FAMILIES, instance, judged
from reliability.promise import Outcome, trials

WHOLE, SHORT = 2000, 42
_SILENT = 1e-5  # a gap that a fit without a warning does not leave
_FAR = 1e8  # offsets in units of the scale, beyond which rounding of the intercept alone may leave such a gap


def run(budget):
    families = budget.named(FAMILIES)
    counts, faults, refused, constant, silent = defaultdict(Counter), [], 0, 0, 0

    def number(i):
        return i // len(families) * len(FAMILIES) + FAMILIES.index(families[i % len(families)])

    for trial in trials(budget, SHORT if budget.short else WHOLE, lambda i: instance(budget.seed, number(i)), judged):
        case = trial.instance
        constant += case is None
        refused += bool(trial.refusal)
        if case is None or trial.refusal:
            continue
        differences, gap = trial.result or (trial.faults, 0.0)
        warned = any(issubclass(word.category, ConvergenceWarning) for word in trial.warnings)
        if "shards" not in case.family and case.offset < _FAR * case.scale:  # on shards the tolerance is 1e-3
            silent += gap > _SILENT and not warned
        for name in ("family", "loss", "offset", "scale"):
            counts[name][getattr(case, name), bool(differences)] += 1
        faults += [f"seed {budget.seed}, {number(trial.k)}: {case.words}: {fault}" for fault in differences]
    done = sum(counts["family"].values())
    wrong = sum(count for (_, fault), count in counts["family"].items() if fault)
    figure = f"{done} instances, {wrong} with a fault, {constant} of constant targets or one class left out, "
    figure += f"{refused} refused, "
    figure += f"{silent} gaps above {_SILENT:g} in memory without a warning, but for offsets beyond 1e8 scales; "
    return Outcome(figure + "; ".join(f"{name}: {_table(count)}" for name, count in counts.items()), faults)


def _table(count):
    """Name values with their instances, and in parentheses those with a fault."""
    values = sorted({value for value, _ in count})
    names = [f"{value:g}" if isinstance(value, float) else value for value in values]
    faulty = [f" ({count[value, True]})" if count[value, True] else "" for value in values]
    totals = [count[value, False] + count[value, True] for value in values]
    return ", ".join(f"{name} {total}{wrong}" for name, total, wrong in zip(names, totals, faulty, strict=True))
