"""Refined gates against as many fresh random ones on real features: objective by round, at equal time.

    python tests/benchmarks/bench_refinement.py FOLDER [--names imdb mnist01] [--betas 1e-3] [--n-gates 50] [--rounds 6]

FOLDER holds NPZ files with X (n, d), y in {0, 1} and split (True = train). For every file and beta, on the training
half, with the squared loss and biases: refinement from cross-product gates at a constant number of gates, its objective
and time after every round; then fresh random draws of as many gates, solved to the same tolerance, until the same time
is spent: the best objective of them. Last, how many random gates reach the refined objective (doubled until they do, or
until the time is spent twice).
"""

import time
from pathlib import Path

import numpy as np
from timing import machine, options, table

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.refinement import refine_gates
from clifford_rand_nn.solvers.fista import Fista

TOL = 1e-5


def random_gates(X, y, beta, n_gates, seed, max_time=None):
    patterns, _ = activation_patterns(X, sample_gates(X, n_gates, sketch_dim="auto", rng=seed))
    return Fista(tol=TOL, max_time=max_time).solve(GatedReLUProblem(X, y, patterns, beta))


def run(name, X, y, beta, n_gates, rounds):
    print(f"\n{name}: n = {len(X)}, d = {X.shape[1]}, {n_gates} gates, beta = {beta:g}")
    began = time.perf_counter()
    gates = sample_gates(X, n_gates, sketch_dim="auto", rng=0)
    found = refine_gates(
        X, y, gates, beta=beta, max_gates=n_gates, max_rounds=rounds, rng=1, solver=Fista(tol=TOL),
        callback=lambda row: print(
            f"  {row.seconds:7.2f} s: objective {row.objective:.6f}, {row.n_gates} gates, {row.n_active} active, "
            f"largest price {row.largest_price:.2f}" + ("" if row.kept else " (undone)"), flush=True,
        ),
    )  # fmt: skip
    spent = time.perf_counter() - began
    target = found.result.objective
    print(f"  {spent:7.2f} s: {found.message}; gap over the gates {found.result.relative_gap:.1e}")
    draws, began = [], time.perf_counter()
    while time.perf_counter() - began < spent:
        draws.append(random_gates(X, y, beta, n_gates, 100 + len(draws)).objective)
    print(
        f"  best of {len(draws)} random draws of {n_gates}: {min(draws):.6f}; refined / that: {target / min(draws):.3f}"
    )
    m, began = 2 * n_gates, time.perf_counter()
    while True:
        left = 2 * spent - (time.perf_counter() - began)
        if left <= 0:
            print("  the time is spent twice over")
            break
        result = random_gates(X, y, beta, m, 7, left)
        print(f"  {m} random gates: {result.objective:.6f} in {result.seconds:.2f} s, gap {result.relative_gap:.1e}")
        if result.objective <= target:
            break
        m *= 2


def main():
    args = options(
        __doc__,
        ("folder", {"type": Path}),
        names=["imdb", "mnist01"],
        betas=[0.001],
        n_gates=50,
        rounds=6,
        rows=(int, "use the first so many training rows only"),
    )
    machine()
    for name in args.names:
        X, y, split = table(args.folder / f"{name}.npz")
        X, y = X[split][: args.rows], np.where(y[split][: args.rows] == 1, 1.0, -1.0)
        for beta in args.betas:
            run(name, X, y, beta, args.n_gates, args.rounds)


if __name__ == "__main__":
    main()
