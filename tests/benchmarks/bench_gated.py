"""Gated networks on real features: gap, time, and agreement with CVXPY.

    python tests/benchmarks/bench_gated.py FOLDER [--names imdb mnist01] [--betas 1e-3 1e-4] [--n-gates 50]

FOLDER holds NPZ files with X (n, d), y in {0, 1} and split (True = train). For every file and beta: fit cross-product
gates (sketch_dim="auto") on the training half to a relative gap of 1e-6; print iterations, seconds to gaps of 1e-2,
1e-4 and 1e-6, the gap recomputed from the data alone, and the largest difference between predict and the solver's own
fit. Then the same problem on the first 200 rows by CVXPY + CLARABEL, in the same run. Nothing is chosen by the test
accuracy that is printed.
"""

import warnings

import numpy as np
from data import halves
from timing import machine, options, timed

from clifford_rand_nn import GatedReLUClassifier
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver


def seconds_to(history, gap):
    return next((f"{row.seconds:.2f}" for row in history if row.relative_gap <= gap), "-")


def run(name, X, y, Xt, yt, beta, n_gates, n_reference):
    model = GatedReLUClassifier(n_gates=n_gates, beta=beta, random_state=0, bias=True)
    model, total, _ = timed(lambda: model.fit(X, y))
    result = model.result_
    reached = " / ".join(seconds_to(result.history, gap) for gap in (1e-2, 1e-4, 1e-6))
    difference = np.abs(model.decision_function(X) - result.fitted[:, 0]).max()
    active = np.count_nonzero(np.linalg.norm(model.coef_, axis=1))
    print(f"\n{name}: n = {len(X)}, d = {X.shape[1]}, {model.coef_.shape[0]} patterns, beta = {beta:g}, {model.gates_}")
    print(f"  objective {result.objective:.10f}, relative gap {result.relative_gap:.2e} ({result.status})")
    print(f"  the same from the data alone: {model.certificate_.verify(X, y)}")
    print(f"  {result.n_iter} iterations; seconds to a gap of 1e-2 / 1e-4 / 1e-6: {reached}; whole fit {total:.2f} s")
    print(f"  max |predict - solver's fit| on the training rows: {difference:.1e}")
    print(f"  accuracy: train {model.score(X, y):.4f}, test {model.score(Xt, yt):.4f}; active gates {active}")
    if n_reference:
        rows = slice(0, n_reference)
        small = GatedReLUProblem(X[rows], np.where(y[rows] == 1, 1.0, -1.0), model.patterns_[rows], beta)
        ours, theirs = AutoSolver(tol=1e-8).solve(small), CvxpyReference().solve(small)
        print(f"  first {n_reference} rows: ours {ours.objective:.10f} in {ours.seconds:.2f} s, ", end="")
        print(f"CVXPY + CLARABEL {theirs.objective:.10f} in {theirs.seconds:.2f} s; relative difference ", end="")
        print(f"{abs(ours.objective / theirs.objective - 1):.1e}, time ratio {theirs.seconds / ours.seconds:.1f}")


def main():
    folder = ("folder", {})
    names, betas = ["imdb", "mnist01"], [0.001, 0.0001]
    args = options(__doc__, folder, names=names, betas=betas, n_gates=50, reference_rows=200)
    warnings.simplefilter("always")
    machine()
    for name in args.names:
        for beta in args.betas:
            run(name, *halves(args.folder, name), beta, args.n_gates, args.reference_rows)


if __name__ == "__main__":
    main()
