"""Kernel regression as rows are added: run by hand, ``python tests/benchmarks/bench_rows.py [--tables FOLDER]``.

Made rows: standard normal, 50 columns, a teacher network of 20 neurons and noise of half its size; the share of the
clean targets' variance that is predicted on 5,000 new rows. With a folder of tables (`letter.npz` with X, y and a
``split`` that is true for training rows), also the accuracy on 2,000 of the training rows, learned from the others. A
process a line, so that its memory is its own.
"""

from dataclasses import replace

import numpy as np
from data import halves
from timing import in_process, options, peak_bytes, timed

from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles
from clifford_rand_nn.kernel_network.many_rows import LIMITS, solve_many

ROWS = (2000, 4000, 8000, 16_000, 64_000)
TABLE_ROWS = (1000, 2000, 4000, 8000, 10_000)
NEW = 5000
HELD = 2000


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


def letter(folder, n):
    """Return n training rows with one-hot targets, and other training rows with theirs."""
    X, y, *_ = halves(folder, "letter")
    order = np.random.default_rng(1).permutation(len(X))
    held, used = order[:HELD], order[HELD : HELD + n]
    mean, deviation = X[used].mean(axis=0), X[used].std(axis=0)
    rows, Y = (X - mean) / np.where(deviation > 0, deviation, 1.0), np.eye(int(y.max()) + 1)[y.astype(int)]
    return rows[used], Y[used], rows[held], Y[held]


def line(n, max_memory, folder):
    """Return what is printed of one fit."""
    X, Y, new, truth = letter(folder, n) if folder else made(n)
    kernel = GateKernel(bias=float(np.sqrt(np.mean((X**2).sum(axis=1)))))
    given = {"betas": (0.25 / len(X), 4.0 / len(X), 1.0 / len(X))}
    solve_many(kernel, X[:200], Y[:200], **given, limits=replace(LIMITS, max_time=60.0))  # what is compiled once
    limits = replace(LIMITS, max_memory=max_memory)
    solution, seconds, cpu = timed(lambda: solve_many(kernel, X, Y, **given, limits=limits))
    tiles = KernelTiles(kernel, X[solution.centers], np.float32)
    f = tiles.multiply_from(new, solution.alpha) + solution.intercept
    share = (f.argmax(1) == truth.argmax(1)).mean() if folder else 1 - np.mean((f - truth) ** 2) / truth.var()
    return (
        f"| {len(X)} | {solution.way} | {seconds:.1f} | {cpu:.1f} | {peak_bytes() / 2**30:.2f} "
        f"| {solution.relative_gap:.1e} | {solution.beta * len(X):.3g} | {100 * share:.2f} |"
    )


def main():
    args = options(__doc__, rows=list(ROWS), max_memory=float, tables=str)
    jobs = [("R², %", args.rows, None)] + ([("accuracy, %", TABLE_ROWS, args.tables)] if args.tables else [])
    for what, sizes, folder in jobs:
        print(f"| rows | way | seconds | CPU seconds | peak GiB | gap | nβ | {what} |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for n in sizes:
            print(in_process(line, n, args.max_memory, folder), flush=True)


if __name__ == "__main__":
    main()
