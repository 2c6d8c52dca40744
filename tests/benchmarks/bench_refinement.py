"""Refined gates against as many fresh random ones on real features: objective by round, at equal time.

    python tests/benchmarks/bench_refinement.py FOLDER [--names imdb mnist01] [--betas 1e-3] [--n-gates 50] [--rounds 6]

FOLDER holds NPZ files with X (n, d), y in {0, 1} and split (True = train). For every file and beta, on the training
half, with the squared loss and biases: refinement from cross-product gates at a constant number of gates, its objective
and time after every round; then fresh random draws of as many gates, solved to the same tolerance, until the same time
is spent: the best objective of them. Last, how many random gates reach the refined objective (doubled until they do, or
until the time is spent twice).
"""

import time

import numpy as np
from data import halves
from timing import machine, options, timed

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.refinement import refine_gates
from clifford_rand_nn.solvers.fista import Fista

TOL = 1e-5  # that of `refine_gates`


def show(row):
    undone = "" if row.kept else " (undone)"
    print(f"  {row.seconds:7.2f} s: objective {row.objective:.6f}, {row.n_gates} gates, ", end="")
    print(f"{row.n_active} active, largest price {row.largest_price:.2f}{undone}", flush=True)


def run(name, X, y, beta, n_gates, rounds):
    def random_gates(count, seed, max_time=None):
        patterns, _ = activation_patterns(X, sample_gates(X, count, sketch_dim="auto", random_state=seed))
        return Fista(tol=TOL, max_time=max_time).solve(GatedReLUProblem(X, y, patterns, beta))

    print(f"\n{name}: n = {len(X)}, d = {X.shape[1]}, {n_gates} gates, beta = {beta:g}")
    gates = sample_gates(X, n_gates, sketch_dim="auto", random_state=0)
    settings = {"beta": beta, "max_gates": n_gates, "max_iter": rounds, "random_state": 1}
    refined, spent, _ = timed(lambda: refine_gates(X, y, gates, callback=show, **settings))
    target = refined.result.objective
    print(f"  {spent:7.2f} s: {refined.message}; gap over the gates {refined.result.relative_gap:.1e}")
    draws, began = [], time.perf_counter()
    while time.perf_counter() - began < spent:
        draws.append(random_gates(n_gates, 100 + len(draws)).objective)
    best = min(draws)
    print(f"  best of {len(draws)} random draws of {n_gates}: {best:.6f}; refined / that: {target / best:.3f}")
    m, objective, began = n_gates, np.inf, time.perf_counter()
    while objective > target:
        m, left = 2 * m, 2 * spent - (time.perf_counter() - began)
        if left <= 0:
            print("  the time is spent twice over")
            break
        result = random_gates(m, 7, left)
        objective = result.objective
        print(f"  {m} random gates: {objective:.6f} in {result.seconds:.2f} s, gap {result.relative_gap:.1e}")


def main():
    some = (int, "use the first so many training rows only")
    args = options(__doc__, ("folder", {}), names=["imdb", "mnist01"], betas=[0.001], n_gates=50, rounds=6, rows=some)
    machine()
    for name in args.names:
        X, y, *_ = halves(args.folder, name)
        for beta in args.betas:
            run(name, X[: args.rows], np.where(y[: args.rows] == 1, 1.0, -1.0), beta, args.n_gates, args.rounds)


if __name__ == "__main__":
    main()
