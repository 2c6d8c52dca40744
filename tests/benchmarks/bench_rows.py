"""Kernel regression as rows are added: run by hand, ``python tests/benchmarks/bench_rows.py [--tables FOLDER]``.

Made rows: standard normal, 50 columns, a teacher network of 20 neurons and noise of half its size; the share of the
clean targets' variance that is predicted on 5,000 new rows. With a folder of tables (`letter.npz` with X, y and a
``split`` that is true for training rows), also the accuracy on 2,000 of the training rows, learned from the others. A
process a line, so that its memory is its own.
"""

import resource
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import numpy as np
from timing import options

from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.large_n.rows import LIMITS, ManyRowsSolution, solve_many

ROWS = (2000, 4000, 8000, 16_000, 64_000)
TABLE_ROWS = (1000, 2000, 4000, 8000, 10_000)
NEW = 5000
HELD = 2000


def made(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return rows and noisy targets to learn from, new rows and their clean targets: the same ones for every n."""
    rng = np.random.default_rng(5)
    d = 50
    W, b, w2 = rng.standard_normal((20, d)) / np.sqrt(d), 0.5 * rng.standard_normal(20), rng.standard_normal((20, 1))

    def clean(X: np.ndarray) -> np.ndarray:
        return np.maximum(X @ W.T + b, 0) @ w2

    new = rng.standard_normal((NEW, d))
    size = clean(new).std()
    X = rng.standard_normal((n, d))
    return X, clean(X) / size + 0.5 * rng.standard_normal((n, 1)), new, clean(new) / size


def table(path: Path, n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return n training rows with one-hot targets, and other training rows with theirs."""
    data = np.load(path)
    X, y = data["X"][data["split"]].astype(float), data["y"][data["split"]].astype(int)
    order = np.random.default_rng(1).permutation(len(X))
    held, used = order[:HELD], order[HELD : HELD + n]
    mean, deviation = X[used].mean(axis=0), X[used].std(axis=0)
    rows, Y = (X - mean) / np.where(deviation > 0, deviation, 1.0), np.eye(y.max() + 1)[y]
    return rows[used], Y[used], rows[held], Y[held]


def one(n: int, max_memory: float | None, path: Path | None) -> None:
    X, Y, new, there = made(n) if path is None else table(path, n)
    kernel = GateKernel(bias=float(np.sqrt(np.mean((X**2).sum(axis=1)))))
    solve_many(kernel, X[:200], Y[:200], limits=replace(LIMITS, max_time=60.0))  # what is compiled once
    began = time.process_time()
    found: ManyRowsSolution = solve_many(kernel, X, Y, limits=replace(LIMITS, max_memory=max_memory))
    cpu = time.process_time() - began
    f = found.predict(new, X, np.float32)
    share = 1 - np.mean((f - there) ** 2) / there.var() if path is None else (f.argmax(1) == there.argmax(1)).mean()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    print(
        f"| {len(X)} | {found.way} | {found.seconds:.1f} | {cpu:.1f} | {peak:.2f} | {found.relative_gap:.1e} "
        f"| {found.beta * len(X):.3g} | {100 * share:.2f} |",
        flush=True,
    )


def main() -> None:
    asked = options(
        __doc__,
        rows=list(ROWS),
        max_memory=float,
        tables=Path,
        one=int,
        path=Path,
    )
    if asked.one is not None:
        one(asked.one, asked.max_memory, asked.path)
        return
    jobs: list[tuple[str, list[int], list[str]]] = [("R², %", list(asked.rows), [])]
    if asked.tables is not None:
        jobs.append(("accuracy, %", list(TABLE_ROWS), ["--path", str(asked.tables / "letter.npz")]))
    for what, sizes, more in jobs:
        print(f"| rows | way | seconds | CPU seconds | peak GiB | gap | nβ | {what} |")
        print("|---|---|---|---|---|---|---|---|", flush=True)
        for n in sizes:
            limit = [] if asked.max_memory is None else ["--max-memory", str(asked.max_memory)]
            subprocess.run([sys.executable, __file__, "--one", str(n), *limit, *more], check=True)


if __name__ == "__main__":
    main()
