"""The same seed gives the same bits with 1, 2 and 8 threads, in every process: all fits, all that draws.

Every case of `support.repeated` runs in a process of its own with 1, 2 and 8 threads, as on machines of so many
processors, and once more with 1. Digests of all numbers that it gives must be equal. Larger ones (the whole run) are
compared with BLAS at one thread, which then gives the same bits for any number of ours, and with its own threads, where
objectives must agree to 1e-9. Cases may be tried one by one (`--only`). What killed fits leave when they go on is the
promise `kills`.
"""

from reliability.promise import Outcome
from support.repeated import ACROSS, CASES, SLOW
from support.running import answer, begin

_OBJECTIVE = 1e-9
_SHORT = (  # the default classifier is the network of tables
    "gated_fista", "gated_gram", "gated_float32", "infinite_gates", "relu", "lasso", "paths", "shards", "tables",
    "sampling", "cross_products", "algebra",
)  # fmt: skip


def run(budget):
    names, once = budget.named(
        list(_SHORT) if budget.short else [name for name in CASES if name not in SLOW],
        [name for name in CASES if name in SLOW and not budget.short],
    )
    faults, worst = [], 0.0
    runs = {threads: repeat(names, threads) for threads in ((1, 8) if budget.short else (1, 2, 8))}
    if not budget.short:
        runs["1 again"] = repeat(names, 1)
    for name in names:
        if name not in ACROSS:
            faults += _differing(name, runs)
    if not budget.short:
        large = {threads: repeat([*names, *once], threads, size=2, blas=1) for threads in (1, 8)}
        for name in large[1]:
            faults += _differing(f"{name}, large", {key: {f"{name}, large": one[name]} for key, one in large.items()})
        large["8 of BLAS"] = repeat([*names, *once], 8, size=2)
        for name in large[1]:
            far = furthest(large[1][name][1], large["8 of BLAS"][name][1])
            worst = max(worst, far)
            if far > _OBJECTIVE:
                faults.append(f"{name}: objectives differ by {far:.1e} where BLAS has 8 threads")
    figure = f"{len(names)} cases, the same bits at {', '.join(str(key) for key in runs)} threads"
    if not budget.short:
        figure += f"; {len(large[1])} larger ones, too, with BLAS at one thread, and to {worst:.0e} with 8 of its own"
    return Outcome(figure, faults)


def _differing(name, runs):
    said = {key: one[name][0] for key, one in runs.items()}
    return [] if len(set(said.values())) == 1 else [f"{name}: {said}"]


def furthest(one, other):
    """Return the largest relative difference of objectives."""
    return max((abs(a - b) / max(abs(a), 1e-300) for a, b in zip(one, other, strict=True)), default=0.0)


def repeat(names, threads, size=1, blas=None):
    """Run cases in a process of their own; return the digest, the objectives and the CPU seconds of each."""
    more = [] if blas is None else ["--blas", blas]
    return answer(begin("support.repeated", "--threads", threads, "--size", size, *more, "--only", *names))
