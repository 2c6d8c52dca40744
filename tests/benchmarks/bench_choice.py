"""The choice between the kernel method and FISTA, how both grow, and what a path and a cross-validation cost.

    python tests/benchmarks/bench_choice.py [--cap 60] [--only choice growth paths]

choice: both solvers on problems on both sides of the crossover, estimated and measured seconds to a gap of 1e-6, and
the solver that `AutoSolver` takes. growth: seconds for n, 2n, 4n, 8n rows and P, 2P, 4P, 8P gates and the exponents.
paths: a path of 20 beta and a 5-fold cross-validation of it in units of single fits at the smallest beta. Synthetic
text-like data: unit rows of decaying spectrum, labels from a few ReLU units and noise. A choice that takes more than
three times as long as the other solver leaves with 1.
"""

import itertools
import sys
import time

import numpy as np
from timing import machine, options

from clifford_rand_nn import BetaCV, GatedReLURegressor, gated_path, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver, estimate_fista, estimate_kernel
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint

_WORST = 3.0  # what a wrong choice may cost


def embeddings(n, d, P, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) / np.sqrt(1 + np.arange(d))
    X = X @ np.linalg.qr(rng.standard_normal((d, d)))[0] + 0.3 * rng.standard_normal(d) / np.sqrt(d)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    y = np.maximum(X @ rng.standard_normal((d, 3)), 0) @ [1.0, -1.0, 0.5] + 0.05 * rng.standard_normal(n)
    return X, np.where(y > np.median(y), 1.0, -1.0), X @ rng.standard_normal((d, P)) >= 0


def problem_of(n, d, P, share, loss="squared"):
    X, y, D = embeddings(n, d, P)
    problem = GatedReLUProblem(X, y, D, 1.0, loss=loss, bias=False, fit_intercept=False)
    problem.penalty.beta = share * problem.beta_max()
    return problem


def choice(cap):
    print("\nn, d, P, beta/beta_max, loss: kernel estimated / measured, FISTA estimated / measured [s]; taken; cost")
    wrong = []
    for n, d, P, share, loss in [
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
    ]:
        problem = problem_of(n, d, P, share, loss)
        expected = estimate_kernel(problem).seconds, estimate_fista(problem, 1e-6).seconds
        solver, _ = AutoSolver().choose(problem)
        taken = 0 if isinstance(solver, KernelInteriorPoint) else 1
        measured, notes = [], []
        for one in (KernelInteriorPoint(max_time=cap), Fista(max_time=cap, max_iter=10**6)):
            began = time.perf_counter()
            result = one.solve(problem)
            measured.append(time.perf_counter() - began)
            notes.append("" if result.converged else f" (gap {result.relative_gap:.0e})")
        cost = measured[taken] / min(measured)
        wrong += [(n, d, P, share)] if cost > _WORST else []
        times = ", ".join(f"{e:7.2f} / {m:6.2f}{note}" for e, m, note in zip(expected, measured, notes, strict=True))
        print(f"{n:5d} {d:4d} {P:4d} {share:5g} {loss:8s}: {times}; {('kernel', 'fista')[taken]}; {cost:.1f}")
    return wrong


def growth(cap):
    print("\ngrowth of the time to a gap of 1e-6, d = 100, beta = 0.03 beta_max: seconds, exponents between neighbors")
    for what, sizes in (
        ("n", [(1000, 50), (2000, 50), (4000, 50), (8000, 50)]),
        ("P", [(2000, 50), (2000, 100), (2000, 200), (2000, 400)]),
    ):
        for name in ("kernel", "fista"):
            seconds = []
            for n, P in sizes:
                problem = problem_of(n, 100, P, 0.03)
                one = KernelInteriorPoint() if name == "kernel" else Fista(max_time=cap, max_iter=10**6)
                began = time.perf_counter()
                result = one.solve(problem)
                seconds.append(time.perf_counter() - began if result.converged else np.nan)
            slopes = [np.log2(b / a) for a, b in itertools.pairwise(seconds)]
            sizes_text = ", ".join(str(size[0] if what == "n" else size[1]) for size in sizes)
            print(
                f"{name:6s} {what} = {sizes_text}: {', '.join(f'{s:.2f}' for s in seconds)} s; "
                f"exponents {', '.join(f'{s:.1f}' for s in slopes)}"
            )


def paths():
    print("\nn = 2000, d = 384, 50 gates with biases, tol 1e-6, from beta_max to 1e-3 of it")
    X, y, _ = embeddings(2000, 384, 1)
    gates = sample_gates(X, 50, rng=0)
    for loss in ("squared", "huber"):
        began = time.perf_counter()
        path = gated_path(X, y, gates, loss=loss, n_betas=20)
        whole = time.perf_counter() - began
        began = time.perf_counter()
        GatedReLURegressor(gates=gates, beta=float(path.betas[-1]), loss=loss, bias=True).fit(X, y)
        single = time.perf_counter() - began
        began = time.perf_counter()
        BetaCV(
            GatedReLURegressor(gates=gates, loss=loss, random_state=0, beta=1e-3, bias=True), betas=path.betas, cv=5
        ).fit(X, y)
        folds = time.perf_counter() - began
        print(
            f"{loss}: single fit {single:.2f} s; path of 20 {whole:.2f} s = {whole / single:.1f} fits; "
            f"5-fold cross-validation {folds:.2f} s = {folds / single:.1f} fits; "
            f"gaps ≤ {path.relative_gaps.max():.0e}, {sum(s != 'optimal' for s in path.statuses)} not reached",
            flush=True,
        )


def main():
    args = options(__doc__, cap=(60.0, "seconds for one run of FISTA"), only=["choice", "growth", "paths"])
    machine("scipy")
    wrong = choice(args.cap) if "choice" in args.only else []
    if "growth" in args.only:
        growth(args.cap)
    if "paths" in args.only:
        paths()
    if wrong:
        sys.exit(f"the choice cost more than {_WORST} times the other solver: {wrong}")


if __name__ == "__main__":
    main()
