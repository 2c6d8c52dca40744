"""The tuning-free network on sparse rows as of TF-IDF: seconds, peak memory, new rows that are right.

    python tests/benchmarks/bench_sparse_network.py [--rows 2000] [--columns 30000] [--density 0.01]

Rows are those of bench_sparse_gated.py; nothing dense of their shape is made, as the peak tells.
"""

import argparse
import os
import platform
import resource
import time

import numpy as np
from bench_sparse_gated import tfidf

import clifford_rand as cr
from clifford_rand_nn import ConvexNetworkClassifier

_NEW = 1000  # further rows, to predict


def main() -> None:
    """Fit, predict, and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    for name, value in (("rows", 2000), ("columns", 30_000), ("classes", 2)):
        parser.add_argument(f"--{name}", type=int, default=value)
    parser.add_argument("--density", type=float, default=0.01)
    given = parser.parse_args()
    X, y = tfidf(given.rows + _NEW, given.columns, given.density, given.classes)
    new, labels = X[given.rows :], y[given.rows :]
    X, y = X[: given.rows], y[: given.rows]
    before, busy, wall = _peak(), time.process_time(), time.perf_counter()
    model = ConvexNetworkClassifier().fit(X, y)
    busy, wall = time.process_time() - busy, time.perf_counter() - wall
    peak, right = _peak(), float(np.mean(model.predict(new) == labels))
    machine = platform.processor() or platform.machine()
    print(f"clifford-rand {cr.__version__}, {machine}, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    print(
        f"{given.rows} x {given.columns}, {100 * X.nnz / np.prod(X.shape):.1f} % not zero: {wall:.1f} s, {busy:.1f} of "
        f"the processor; {peak:.0f} MB at most, {before:.0f} before; {right:.3f} of {_NEW} new rows right"
    )


def _peak() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
