"""Squared norms: one fit and a path on the kernel of all gates, against scikit-learn on the same problem.

    python tests/benchmarks/bench_ridge.py [--rows 2000] [--gates 50 500]

n x 384 text-like rows, no free biases, an intercept. fit: seconds from the arrays to coefficients with a certified gap
of 1e-6, set-up included. Ridge and LogisticRegression of scikit-learn (tol 1e-8, newton-cholesky) have the kernel's
Cholesky factor as their columns, which is the same problem and the least they could be given; making it is not
counted. columns: Ridge on the P d gated columns themselves, where they fit into 2 GiB. path: 20 beta, each from the
last one. Objectives that differ by more than 1e-5 leave with 1.
"""

import sys

import numpy as np
from data import text_like
from sklearn.linear_model import LogisticRegression, Ridge
from timing import least, machine, options, seconds, timed

from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.solvers.gate_kernel import SummedKernel
from clifford_rand_nn.solvers.kernel_newton import KernelNewton

_SHARE = 1e-4  # of beta_max: where networks of text-like rows are at their best
_COLUMNS = 2**31  # bytes


def fitted(X, y, D, beta, loss):
    problem = GatedRidgeProblem(X, y, D, beta, loss=loss, bias=False)
    return KernelNewton(tol=1e-6).solve(problem)


def objective(problem, f, squares):
    return problem.datafit.value(f[:, None]) + problem.beta / 2 * squares


def compare(n, P, loss):
    X, y, D = text_like(n, 384, P)
    problem = GatedRidgeProblem(X, y, D, 1.0, loss=loss, bias=False)
    beta = problem.penalty.beta = _SHARE * problem.beta_max()
    (ours, _), result = least(lambda: fitted(X, y, D, beta, loss)), fitted(X, y, D, beta, loss)
    K = SummedKernel(problem).total
    L = np.linalg.cholesky(K + 1e-10 * np.trace(K) / n * np.eye(n))

    def peer():
        if loss == "squared":
            return Ridge(alpha=n * beta, tol=1e-8).fit(L, y)
        return LogisticRegression(C=1 / (n * beta), solver="newton-cholesky", tol=1e-8).fit(L, y)

    model, theirs, _ = timed(peer)
    f = model.predict(L) if loss == "squared" else model.decision_function(L)
    difference = objective(problem, f, float(np.sum(model.coef_**2))) / result.objective - 1
    line = f"{loss:9} P={P:4}: {ours:.2f} s in {result.n_iter} steps, gap {result.relative_gap:.0e}; "
    line += f"scikit-learn {theirs:.2f} s, {theirs / ours:.1f} times, objective {difference:+.0e}"
    if loss == "squared" and 8 * n * P * 384 <= _COLUMNS:
        columns = np.concatenate([D[:, [i]] * X for i in range(P)], axis=1)
        _, whole, _ = timed(lambda: Ridge(alpha=n * beta).fit(columns, y))
        line += f"; on the columns {whole:.2f} s, {whole / ours:.1f} times"

    def walk():
        kernel = []  # knows the last solution
        for share in np.geomspace(1e-1, 1e-6, 20):
            problem.penalty.beta = share * beta / _SHARE
            KernelNewton(tol=1e-6).solve(problem, None, kernel)

    path = seconds(walk)
    print(f"{line}; path of 20 {path:.2f} s, {path / ours:.1f} fits", flush=True)
    return abs(difference) <= 1e-5


def main():
    arguments = options(__doc__, rows=2000, gates=[50, 500])
    machine()
    right = [compare(arguments.rows, P, loss) for P in arguments.gates for loss in ("squared", "logistic")]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
