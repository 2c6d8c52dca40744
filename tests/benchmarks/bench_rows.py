"""Kernel regression as rows are added: run by hand, ``python tests/benchmarks/bench_rows.py``.

Made rows: standard normal, 50 columns, a teacher network of 20 neurons and noise of half its size; the share of the
clean targets' variance that is predicted on 5,000 new rows. A process a line, so that its memory is its own.
"""

from dataclasses import replace

import numpy as np
from timing import in_process, options, peak_bytes, timed

from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles
from clifford_rand_nn.kernel_network.many_rows import LIMITS, solve_many

ROWS = (2000, 4000, 8000, 16_000, 64_000)
NEW = 5000


def made(n, d=50):
    """Return rows and noisy targets to learn from, new rows and their clean targets: the same ones for every n."""
    rng = np.random.default_rng(5)
    W, b, w2 = rng.standard_normal((20, d)) / np.sqrt(d), 0.5 * rng.standard_normal(20), rng.standard_normal((20, 1))

    def clean(X):
        return np.maximum(X @ W.T + b, 0) @ w2

    new = rng.standard_normal((NEW, d))
    size = clean(new).std()
    X = rng.standard_normal((n, d))
    return X, clean(X) / size + 0.5 * rng.standard_normal((n, 1)), new, clean(new) / size


def line(n, max_memory):
    """Return what is printed of one fit."""
    X, Y, new, truth = made(n)
    kernel = GateKernel(bias=float(np.sqrt(np.mean((X**2).sum(axis=1)))))
    given = {"betas": (0.25 / len(X), 4.0 / len(X), 1.0 / len(X))}
    solve_many(kernel, X[:200], Y[:200], **given, limits=replace(LIMITS, max_time=60.0))  # what is compiled once
    limits = replace(LIMITS, max_memory=max_memory)
    solution, seconds, cpu = timed(lambda: solve_many(kernel, X, Y, **given, limits=limits))
    tiles = KernelTiles(kernel, X[solution.centers], np.float32)
    f = tiles.multiply_from(new, solution.alpha) + solution.intercept
    share = 1 - np.mean((f - truth) ** 2) / truth.var()
    return (
        f"| {len(X)} | {solution.way} | {seconds:.1f} | {cpu:.1f} | {peak_bytes() / 2**30:.2f} "
        f"| {solution.relative_gap:.1e} | {solution.beta * len(X):.3g} | {100 * share:.2f} |"
    )


def main():
    args = options(__doc__, rows=list(ROWS), max_memory=float)
    print("| rows | way | seconds | CPU seconds | peak GiB | gap | nβ | R², % |")
    print("|---|---|---|---|---|---|---|---|", flush=True)
    for n in args.rows:
        print(in_process(line, n, args.max_memory), flush=True)


if __name__ == "__main__":
    main()
