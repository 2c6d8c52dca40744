"""Random gated problems of every kind through all solvers, judged by gap and against each other; runs until stopped.

    python tests/fuzz/fuzz_gated.py [--seed SEED] [--seconds SECONDS] [--only NUMBER]

Rows are random, integer, repeated, of low rank, fewer than columns, or far from the origin, at scales from 1e-6 to 1e6;
n up to 60, d up to 20; every loss, with and without biases and weights; gates from data, Gaussian, or any given
patterns, empty ones too; beta from 1e-4 to 1.5 times the least one without an active gate.
Prints every miss of the tolerance, with a count for each solver; leaves with 1 if the solvers disagree by more than
their gaps, a dual point is not feasible, or an error is raised.
"""

import argparse
import itertools
import sys
import time
import traceback
import warnings

import numpy as np
from hard_rows import changed

from clifford_rand_nn import activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint

LOSSES = ["squared", "huber", "logistic", "squared_hinge", "softmax"]
SOLVERS = {
    "kernel": KernelInteriorPoint(tol=1e-7),
    "fista": Fista(tol=1e-5, max_iter=3000, max_time=5.0),
    "working_set": GateWorkingSet(tol=1e-4, max_rounds=20, max_time=5.0),
}


def rows(rng):
    kind = str(rng.choice(["random", "small integers", "repeated", "flat", "wide", "line", "far"]))
    n, d = int(rng.integers(2, 61)), int(rng.integers(1, 6))
    if kind == "wide":
        n, d = int(rng.integers(2, 15)), int(rng.integers(8, 21))
    if kind == "line":
        d = 1
    return kind, changed(rng, kind, rng.standard_normal((n, d)))


def targets(rng, loss, n):
    if loss == "softmax":
        return np.eye(3)[rng.integers(0, 3, n)]
    C = 1 if loss == "logistic" else int(rng.integers(1, 3))
    y = rng.standard_normal((n, C))
    if loss in ("logistic", "squared_hinge"):
        return np.where(y < rng.uniform(-1, 1), -1.0, 1.0)
    return np.round(y) if rng.random() < 0.2 else y


def gates(rng, X, bias):
    m, how = int(rng.integers(1, 30)), str(rng.choice(["cross", "gaussian", "given"]))
    if how == "given":
        D = rng.random((len(X), m)) < rng.random(m)
        return how, D
    return how, activation_patterns(X, sample_gates(X, m, how, bias=bias, rng=rng)).patterns


def problem(rng):
    kind, X = rows(rng)
    loss = str(rng.choice(LOSSES))
    bias, fit_intercept = bool(rng.random() < 0.4), bool(rng.random() < 0.5)
    how, D = gates(rng, X, bias)
    y = targets(rng, loss, len(X))
    scale, unit = (10.0 ** rng.integers(-6, 7) if rng.random() < 0.3 else 1.0 for _ in range(2))
    unit = unit if loss in ("squared", "huber") else 1.0
    w = None
    if rng.random() < 0.3:
        w = rng.integers(1, 6, len(X)) * 1.0 if rng.random() < 0.7 else 10.0 ** rng.uniform(-2, 2, len(X))
    options = {"loss": loss, "bias": bias, "fit_intercept": fit_intercept, "sample_weight": w}
    if loss == "huber":
        options["huber_delta"] = unit * 10.0 ** rng.uniform(-1.5, 0.5)
    made = GatedReLUProblem(scale * X, unit * y, D, 1.0, **options)
    top, share = made.beta_max(), 10.0 ** rng.uniform(-4, 0.2)
    # Below rounding of the data there is nothing to learn: the null fit is exact.
    floor = 1e-9 * scale * unit
    made.penalty.beta = share * top if top > floor else scale * unit
    words = f"{loss} bias={bias} intercept={fit_intercept} {kind} {X.shape} x{scale:.0e} y x{unit:.0e} {how} "
    words += f"P={D.shape[1]} C={made.outputs} weights={w is not None} beta/max={share:.1e}"
    return words, made


def faults(made, results):
    """Sentences on what is wrong with results that need not have reached their tolerance."""
    zero = made.datafit.value(np.zeros_like(made.datafit.y))
    noise = 1e-12 * max(zero, np.finfo(float).tiny)
    for name, result in results.items():
        z = made.point(result.coefficients)
        # Coefficients of rows 1e-6 long and biases of data far away lose digits of the predictions.
        value = made.objective(z)
        if not abs(value - result.objective) <= 1e-7 * zero:
            yield f"{name}: the coefficients have the objective {value:.8g}, not {result.objective:.8g}"
        theta = result.dual_point
        if not made.dual_norm(theta) <= made.n * made.beta * (1 + 1e-9):
            yield f"{name}: its dual point is not feasible"
        if np.linalg.norm(made.map.Q.T @ theta) > 1e-9 * np.linalg.norm(theta):
            yield f"{name}: its dual point is not balanced"
        for other, than in results.items():
            if result.objective - result.duality_gap > than.objective * (1 + 1e-9) + noise:
                yield f"the bound of {name} is above the objective of {other}: {result} {than}"


def main(seed, seconds, only=None):
    warnings.simplefilter("ignore")
    end, count, bad = time.monotonic() + seconds, 0, 0
    missed, steps = dict.fromkeys(SOLVERS, 0), []
    for number in itertools.count() if only is None else [only]:
        if time.monotonic() > end:
            break
        try:
            words, made = problem(np.random.default_rng([seed, number]))
        except ValueError as error:
            if "sample_gates" not in str(error):  # too few distinct rows for gates
                raise
            continue
        try:
            results = {name: solver.solve(made) for name, solver in SOLVERS.items()}
            found = list(faults(made, results))
        except Exception:
            bad += 1
            print(f"{number}: {words}", flush=True)
            traceback.print_exc()
            continue
        count += 1
        bad += bool(found)
        for sentence in found:
            print(f"{number}: {words}: {sentence}", flush=True)
        steps.append(results["kernel"].n_iter)
        for name, result in results.items():
            missed[name] += not result.converged
        if not results["kernel"].converged:
            print(f"MISS {number}: {words}: {results['kernel'].message}; {results['fista']}", flush=True)
    print(f"{count} problems, {bad} bad; misses {missed}; steps mean {np.mean(steps):.1f}, largest {max(steps)}")
    return bad == 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--only", type=int, help="number of one problem")
    given = parser.parse_args()
    sys.exit(0 if main(given.seed, given.seconds, given.only) else 1)
