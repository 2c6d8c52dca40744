"""Random gated ridge problems through Newton's method, each checked by the plain formula; runs until stopped.

    python tests/fuzz/fuzz_ridge.py [SEED] [SECONDS]

n from 1 to 60, d up to 20, up to 30 gates, every loss, several outputs, weights, repeated rows, dead columns, scales
from 1e-4 to 1e4, beta from 1e-5 to 10 times the largest of a path; biases for the squared loss only, as they separate
the classes of so few rows. Leaves with 1 if a fit misses a gap of 1e-7, its objective is not that of its
network, or an error is raised.
"""

import sys
import time
import traceback

import numpy as np

from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.solvers.kernel.newton import KernelNewton

LOSSES = ("squared", "huber", "logistic", "squared_hinge", "softmax")


def made(rng):
    n, d, P = int(rng.integers(1, 60)), int(rng.integers(1, 20)), int(rng.integers(0, 30))
    loss = str(rng.choice(LOSSES))
    C = {"softmax": int(rng.integers(2, 5)), "logistic": 1}.get(loss, int(rng.integers(1, 4)))
    X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4)
    if rng.random() < 0.3:
        X[:, rng.integers(d)] = 0.0
    if rng.random() < 0.3:
        X = X[rng.integers(n, size=n)]
    D = X @ rng.standard_normal((d, P)) >= 0 if rng.random() < 0.8 else rng.random((n, P)) < 0.5
    if loss == "softmax":
        y = np.eye(C)[rng.integers(C, size=n)]
    elif loss in ("logistic", "squared_hinge"):
        y = rng.choice([-1.0, 1.0], size=(n, C))
    else:
        y = rng.standard_normal((n, C)) * 10.0 ** rng.uniform(-2, 2)
    options = {"loss": loss, "bias": loss == "squared" and rng.random() < 0.5, "fit_intercept": rng.random() < 0.7}
    if rng.random() < 0.3:
        options["sample_weight"] = rng.uniform(0.1, 5, n)
    if loss != "squared":  # an intercept alone must not separate the classes
        options["fit_intercept"] = bool(options["fit_intercept"]) and bool((y != y[0]).any(axis=0).all())
    problem = GatedRidgeProblem(X, y, D, 1.0, **options)
    problem.penalty.beta = 10.0 ** rng.uniform(-5, 1) * (problem.beta_max() or 1.0)
    return problem


def objective(problem, coefficients):
    U, b, t = coefficients
    f = np.tile(t, (problem.n, 1))
    for i, on in enumerate(problem.map.patterns.T):
        f[on] += problem.X[on] @ U[:, i].T + b[:, i]
    return problem.datafit.value(f) + problem.beta / 2 * float(np.sum(U**2))


def main():
    seed = int(sys.argv[1]) if len(sys.argv) > 1 else 0
    limit = float(sys.argv[2]) if len(sys.argv) > 2 else np.inf
    began, fits, wrong = time.time(), 0, 0
    while time.time() - began < limit:
        seed, fits = seed + 1, fits + 1
        try:
            problem = made(np.random.default_rng(seed))
            found = KernelNewton(tol=1e-7).solve(problem)
            recomputed = objective(problem, found.coefficients)
            scale = problem.datafit.value(np.zeros_like(problem.datafit.y))
            if not found.converged:
                complaint = found.message
            elif abs(recomputed - found.objective) > 1e-7 * abs(found.objective) + 1e-12 * scale:
                complaint = f"objective {found.objective!r}, recomputed {recomputed!r}"
            else:
                continue
        except Exception:
            complaint = traceback.format_exc()
        wrong += 1
        shape = f"n={problem.n} r={problem.map.d} P={problem.map.n_patterns} C={problem.outputs}"
        print(f"seed {seed}: {problem.loss}, {shape}, {complaint}", flush=True)
    print(f"{fits} fits, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
