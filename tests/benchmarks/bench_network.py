"""Seconds of `ConvexNetworkClassifier` with everything chosen, a benchmark to run by hand.

    python tests/benchmarks/bench_network.py [--data FOLDER] [NAME …]

2000 rows of each table NAME.npz (X, y, split) of the folder, training rows as far as they go; without a folder made
rows of 16 columns and 26 classes, 784 and 10, 768 and 2. Wall and CPU seconds, the number of eigendecompositions, and
how many rounds of learned gates were taken. The first fit, which loads compiled code, is not counted.
"""

from pathlib import Path

import numpy as np
from timing import machine, options, timed

import clifford_rand_nn.kernel_network.leave_one_out as leave_one_out
from clifford_rand_nn import ConvexNetworkClassifier

_ROWS = 2000
_MADE = ((16, 26), (784, 10), (768, 2))


def made(d, classes):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((_ROWS, d))
    scores = np.maximum(X @ rng.standard_normal((d, 30)), 0) @ rng.standard_normal((30, classes))
    return f"made {d} × {classes}", X, np.argmax(scores / scores.std() * 3 + rng.gumbel(size=scores.shape), axis=1)


def table(folder, name):
    with np.load(Path(folder) / f"{name}.npz") as data:
        split = data["split"].astype(bool)
        return name, data["X"][split][:_ROWS].astype(float), data["y"][split][:_ROWS]


def main():
    args = options(__doc__, ("names", {"nargs": "*"}), data=str)
    machine()
    sets = [table(args.data, name) for name in args.names] if args.data else [made(*one) for one in _MADE]
    decompose, count = leave_one_out.eigh, [0]

    def counted(*args, **options):
        count[0] += 1
        return decompose(*args, **options)

    leave_one_out.eigh = counted
    ConvexNetworkClassifier().fit(sets[0][1][:300], sets[0][2][:300])
    for name, X, y in sets:
        count[0] = 0
        model, wall, cpu = timed(lambda X=X, y=y: ConvexNetworkClassifier().fit(X, y))
        size, rounds = f"{X.shape[0]} × {X.shape[1]}, {len(model.classes_)} classes", model.rounds_.rounds
        print(
            f"{name:16s} {size}: {wall:.2f} s wall, {cpu:.2f} s cpu, {count[0]} eigendecompositions, {rounds} rounds, "
            f"promise {model.loo_score_:.3f}"
        )


if __name__ == "__main__":
    main()
