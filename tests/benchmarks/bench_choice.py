"""The choice between the kernel method and FISTA, how both grow, and what a path and a cross-validation cost.

    python tests/benchmarks/bench_choice.py [--cap 60] [--only choice growth paths]

choice: both solvers on problems on both sides of the crossover, estimated and measured seconds to a gap of 1e-6, and
the solver that `AutoSolver` takes. growth: seconds for n, 2n, 4n, 8n rows and P, 2P, 4P, 8P gates and the exponents.
paths: a path of 20 beta and a 5-fold cross-validation of it in units of single fits at the smallest beta. Rows like
text embeddings, labels from a few ReLU units and noise. A choice that takes more than three times as long as the other
solver leaves with 1.
"""

import itertools
import sys

import numpy as np
from data import text_like
from timing import chosen, machine, options, seconds, timed

from clifford_rand_nn import BetaCV, GatedReLURegressor, gated_path, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver, estimate_fista, estimate_kernel
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint

_WORST = 3.0  # what a wrong choice may cost
_PROBLEMS = [  # n, d, P, beta/beta_max, loss
    (500, 20, 20, 0.1, "squared"),
    (2000, 5, 10, 0.3, "squared"),
    (2000, 384, 50, 0.1, "squared"),
    (2000, 384, 50, 0.01, "squared"),
    (2000, 384, 50, 0.01, "logistic"),
    (4000, 30, 20, 0.1, "squared"),
    (4000, 100, 50, 0.1, "squared"),
    (4000, 100, 50, 0.01, "squared"),
    (8000, 50, 20, 0.3, "squared"),
    (8000, 100, 50, 0.03, "squared"),
]


def problem_of(n, d, P, share, loss="squared"):
    problem = GatedReLUProblem(*text_like(n, d, P), 1.0, loss=loss, bias=False, fit_intercept=False)
    problem.penalty.beta = share * problem.beta_max()
    return problem


def solvers(cap):
    return {"kernel": KernelInteriorPoint(max_time=cap), "fista": Fista(max_time=cap, max_iter=10**6)}


def choice(cap):
    print("\nn, d, P, beta/beta_max, loss: estimated / measured seconds of both; taken; cost")
    wrong = []
    for n, d, P, share, loss in _PROBLEMS:
        problem = problem_of(n, d, P, share, loss)
        expected = estimate_kernel(problem).seconds, estimate_fista(problem, 1e-6).seconds
        taken = "kernel" if isinstance(AutoSolver().choose(problem)[0], KernelInteriorPoint) else "fista"
        measured, words = {}, []
        for (name, solver), estimate in zip(solvers(cap).items(), expected, strict=True):
            result, measured[name], _ = timed(lambda solver=solver, problem=problem: solver.solve(problem))
            note = "" if result.converged else f" (gap {result.relative_gap:.0e})"
            words.append(f"{name} {estimate:7.2f} / {measured[name]:6.2f}{note}")
        cost = measured[taken] / min(measured.values())
        wrong += [(n, d, P, share)] if cost > _WORST else []
        print(f"{n:5d} {d:4d} {P:4d} {share:5g} {loss:8s}: {', '.join(words)}; {taken}; {cost:.1f}", flush=True)
    if wrong:
        sys.exit(f"the choice cost more than {_WORST} times the other solver: {wrong}")


def growth(cap):
    print("\ngrowth of the time to a gap of 1e-6, d = 100, beta = 0.03 beta_max: seconds, exponents between neighbors")
    for what, sizes in (
        ("n", [(1000, 50), (2000, 50), (4000, 50), (8000, 50)]),
        ("P", [(2000, 50), (2000, 100), (2000, 200), (2000, 400)]),
    ):
        for name, solver in solvers(cap).items():
            times = []
            for n, P in sizes:
                problem = problem_of(n, 100, P, 0.03)
                result, wall, _ = timed(lambda problem=problem, solver=solver: solver.solve(problem))
                times.append(wall if result.converged else np.nan)
            exponents = ", ".join(f"{np.log2(b / a):.1f}" for a, b in itertools.pairwise(times))
            shown = ", ".join(str(n if what == "n" else P) for n, P in sizes)
            print(f"{name:6s} {what} = {shown}: {', '.join(f'{s:.2f}' for s in times)} s; exponents {exponents}")


def paths(cap):
    print("\nn = 2000, d = 384, 50 gates with biases, tol 1e-6, from beta_max to 1e-3 of it")
    X, y, _ = text_like(2000, 384)
    gates = sample_gates(X, 50, random_state=0)
    for loss in ("squared", "huber"):
        model = GatedReLURegressor(gates=gates, loss=loss, random_state=0, bias=True)
        path, whole, _ = timed(lambda loss=loss: gated_path(X, y, gates, loss=loss, n_betas=20))
        single = seconds(lambda model=model, path=path: model.set_params(beta=float(path.betas[-1])).fit(X, y))
        folds = seconds(lambda model=model, path=path: BetaCV(model, betas=path.betas, cv=5).fit(X, y))
        print(f"{loss}: single fit {single:.2f} s; path of 20 {whole:.2f} s = {whole / single:.1f} fits; ", end="")
        print(f"5-fold cross-validation {folds:.2f} s = {folds / single:.1f} fits; gaps ≤ ", end="")
        missed = sum(status != "optimal" for status in path.statuses)
        print(f"{path.relative_gaps.max():.0e}, {missed} not reached", flush=True)


if __name__ == "__main__":
    parts = {"paths": paths, "growth": growth, "choice": choice}  # the last one may leave with 1
    args = options(__doc__, cap=(60.0, "seconds for one run of FISTA"), only=chosen(parts))
    machine("scipy")
    for part, work in parts.items():
        if part in args.only:
            work(args.cap)
