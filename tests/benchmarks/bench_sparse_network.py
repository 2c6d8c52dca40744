"""The tuning-free network on sparse rows as of TF-IDF: seconds, peak memory, new rows that are right.

    python tests/benchmarks/bench_sparse_network.py [--rows 2000] [--columns 30000] [--density 0.01]

Rows are those of bench_sparse_gated.py; nothing dense of their shape is made, as the peak tells.
"""

import numpy as np
from bench_sparse_gated import tfidf
from timing import machine, options, peak_bytes, timed

from clifford_rand_nn import ConvexNetworkClassifier

_NEW = 1000  # further rows, to predict


def main() -> None:
    """Fit, predict, and print."""
    given = options(__doc__.splitlines()[0], rows=2000, columns=30_000, classes=2, density=0.01)
    X, y = tfidf(given.rows + _NEW, given.columns, given.density, given.classes)
    new, labels = X[given.rows :], y[given.rows :]
    X, y = X[: given.rows], y[: given.rows]
    before = peak_bytes() / 2**20
    model, wall, busy = timed(lambda: ConvexNetworkClassifier().fit(X, y))
    peak, right = peak_bytes() / 2**20, float(np.mean(model.predict(new) == labels))
    machine()
    print(
        f"{given.rows} x {given.columns}, {100 * X.nnz / np.prod(X.shape):.1f} % not zero: {wall:.1f} s, {busy:.1f} of "
        f"the processor; {peak:.0f} MB at most, {before:.0f} before; {right:.3f} of {_NEW} new rows right"
    )


if __name__ == "__main__":
    main()
