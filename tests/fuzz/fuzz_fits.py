"""Random problems of every kind through solvers and estimators, each result checked; runs until stopped.

    python tests/fuzz/fuzz_fits.py exact|gated|ridge [--seed SEED] [--seconds SECONDS] [--only NUMBER]

exact: estimators over all patterns, given gates and dictionaries, both norms, with and without bias, squared and Huber
loss, beta from 1e-5 to 1.6 times the least one without a neuron; n up to 24, d up to 3, rows far from the origin at
scales from 1e-6 to 1e6. A fault is a fit that misses its gap, or a certificate that does not verify.

gated: gated problems through all solvers, judged by gap and against each other; n up to 60, d up to 20; every loss,
with and without biases and weights; gates from data, Gaussian, or any given patterns, empty ones too; beta from 1e-4 to
1.5 times the least one without an active gate. A fault is solvers that disagree by more than their gaps, or a dual
point that is not feasible; misses of the tolerance are counted for each solver.

ridge: gated ridge problems through Newton's method, checked by the plain formula; n up to 60, d up to 20, up to 30
gates, several outputs, weights, repeated rows, dead columns, scales from 1e-4 to 1e4, beta from 1e-5 to 10 times the
largest of a path; biases for the squared loss only, as they separate the classes of so few rows. A fault is a fit that
misses a gap of 1e-7, or an objective that is not that of its network.

An error is a fault, too. Leaves with 1 if there are any.
"""

import argparse
import itertools
import sys
import time
import traceback
import warnings
from collections import Counter

import numpy as np
from hard_rows import changed

from clifford_rand import ArgumentError
from clifford_rand_nn import ConvexReLURegressor, CrossProductLassoRegressor, activation_patterns, sample_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateWorkingSet
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton

LOSSES = ["squared", "huber", "logistic", "squared_hinge", "softmax"]
SOLVERS = {
    "kernel": KernelInteriorPoint(tol=1e-7),
    "fista": Fista(tol=1e-5, max_iter=3000, max_time=5.0),
    "working_set": GateWorkingSet(tol=1e-4, max_rounds=20, max_time=5.0),
}


def targets(rng, loss, n, outputs):
    """Return targets (n, C) as the loss takes them."""
    if loss == "softmax":
        return np.eye(max(outputs, 2))[rng.integers(0, max(outputs, 2), n)]
    y = rng.standard_normal((n, 1 if loss == "logistic" else outputs))
    if loss in ("logistic", "squared_hinge"):
        return np.where(y < rng.uniform(-1, 1), -1.0, 1.0)
    return np.round(y) if rng.random() < 0.2 else y


class Exact:
    """Estimators, each checked by its certificate."""

    def problem(self, rng):
        n, d = int(rng.integers(1, 25)), int(rng.integers(1, 4))
        kind = str(rng.choice(["random", "small integers", "repeated", "flat", "scaled"]))
        X = changed(rng, kind, rng.standard_normal((n, d)))
        if kind == "scaled":
            X = X * 10.0 ** rng.integers(-6, 7) + 10.0 ** rng.integers(-2, 3) * (rng.random() < 0.3)
        y = targets(rng, "squared", n, 1)[:, 0] * 10.0 ** rng.integers(-6, 7)
        model, share = self.estimator(rng, y), 10.0 ** rng.uniform(-5, 0.2)
        return f"{model} on {kind} rows {X.shape}, beta {share:.1e} of the largest", (model, X, y, share)

    def estimator(self, rng, y):
        bias, p = bool(rng.random() < 0.6), int(rng.integers(1, 3))
        options = {"loss": "huber" if rng.random() < 0.3 else "squared", "huber_delta": float(np.abs(y).mean() + 1e-12)}
        options |= {"beta": 1e-3, "bias": bias, "fit_intercept": bias, "random_state": 0}
        match str(rng.choice(["all", "gates", "dictionary", "subsample"])):
            case "all":
                return ConvexReLURegressor(gates="exhaustive", penalty=f"group_l{p}", **options)
            case "gates":
                gates = {"gates": str(rng.choice(["cross", "gaussian"])), "n_gates": int(rng.integers(1, 10))}
                return ConvexReLURegressor(penalty=f"group_l{p}", **gates, **options)
            case "dictionary":
                return CrossProductLassoRegressor(penalty="l1", **options)
        return CrossProductLassoRegressor(penalty="l2", subsample=5, **options)

    def faults(self, case):
        model, X, y, share = case
        try:
            top = model.beta_max(X, y)
            model.set_params(beta=max(share * top, 1e-300) if top > 0 else 1.0).fit(X, y)
            gap = model.certificate_.verify(X, y).relative_gap
        except ArgumentError as error:  # too few or dependent rows for the dictionary or the gates that were asked for
            if "parameter of sample_gates" not in str(error) and "cross_product_dictionary" not in str(error):
                yield str(error)
            return
        if not (model.result_.relative_gap <= 1e-6 and gap <= 1e-5):
            yield f"{model.result_.message}; verified {gap:.1e}"


class Gated:
    """Gated problems by every solver, and what each says of the others."""

    def __init__(self):
        self.misses = Counter()

    def problem(self, rng):
        kind = str(rng.choice(["random", "small integers", "repeated", "flat", "wide", "line", "far"]))
        n, d = int(rng.integers(2, 61)), 1 if kind == "line" else int(rng.integers(1, 6))
        if kind == "wide":
            n, d = int(rng.integers(2, 15)), int(rng.integers(8, 21))
        X = changed(rng, kind, rng.standard_normal((n, d)))
        loss, bias = str(rng.choice(LOSSES)), bool(rng.random() < 0.4)
        how, D = self.gates(rng, X, bias)
        y = targets(rng, loss, n, 3 if loss == "softmax" else int(rng.integers(1, 3)))
        scale, unit = (10.0 ** rng.integers(-6, 7) if rng.random() < 0.3 else 1.0 for _ in range(2))
        unit = unit if loss in ("squared", "huber") else 1.0
        w = None
        if rng.random() < 0.3:
            w = rng.integers(1, 6, n) * 1.0 if rng.random() < 0.7 else 10.0 ** rng.uniform(-2, 2, n)
        options = {"loss": loss, "bias": bias, "fit_intercept": bool(rng.random() < 0.5), "sample_weight": w}
        if loss == "huber":
            options["huber_delta"] = unit * 10.0 ** rng.uniform(-1.5, 0.5)
        made = GatedReLUProblem(scale * X, unit * y, D, 1.0, **options)
        top, share = made.beta_max(), 10.0 ** rng.uniform(-4, 0.2)
        # Below rounding of the data there is nothing to learn: the null fit is exact.
        made.penalty.beta = share * top if top > 1e-9 * scale * unit else scale * unit
        words = f"{loss} bias={bias} intercept={options['fit_intercept']} {kind} {X.shape} x{scale:.0e} y x{unit:.0e} "
        return words + f"{how} P={D.shape[1]} C={made.outputs} weights={w is not None} beta/max={share:.1e}", made

    @staticmethod
    def gates(rng, X, bias):
        m, how = int(rng.integers(1, 30)), str(rng.choice(["cross", "gaussian", "given"]))
        if how == "given":
            return how, rng.random((len(X), m)) < rng.random(m)
        try:
            return how, activation_patterns(X, sample_gates(X, m, how, bias=bias, random_state=rng)).patterns
        except ValueError as error:
            if "sample_gates" not in str(error):
                raise
            return "given", X @ rng.standard_normal((X.shape[1], m)) >= 0  # too few unique rows for gates

    def faults(self, made):
        results = {name: solver.solve(made) for name, solver in SOLVERS.items()}
        self.misses.update(name for name, result in results.items() if not result.converged)
        zero = made.datafit.value(np.zeros_like(made.datafit.y))
        noise = 1e-12 * max(zero, np.finfo(float).tiny)
        for name, result in results.items():
            # Coefficients of rows 1e-6 long and biases of data far away lose digits of the predictions.
            value = made.objective(made.point(result.coefficients))
            if not abs(value - result.objective) <= 1e-7 * zero:
                yield f"{name}: the coefficients have the objective {value:.8g}, not {result.objective:.8g}"
            theta = result.dual_point
            if not made.dual_norm(theta) <= made.n * made.beta * (1 + 1e-9):
                yield f"{name}: its dual point is not feasible"
            if np.linalg.norm(made.map.Q.T @ theta) > 1e-9 * np.linalg.norm(theta):
                yield f"{name}: its dual point is not balanced"
            for peer, than in results.items():
                if result.objective - result.duality_gap > than.objective * (1 + 1e-9) + noise:
                    yield f"the bound of {name} is above the objective of {peer}: {result} {than}"


class Ridge:
    """Gated ridge problems by Newton's method."""

    def problem(self, rng):
        n, d, P = int(rng.integers(1, 60)), int(rng.integers(1, 20)), int(rng.integers(0, 30))
        loss = str(rng.choice(LOSSES))
        X = rng.standard_normal((n, d)) * 10.0 ** rng.uniform(-4, 4)
        if rng.random() < 0.3:
            X[:, rng.integers(d)] = 0.0
        if rng.random() < 0.3:
            X = X[rng.integers(n, size=n)]
        D = X @ rng.standard_normal((d, P)) >= 0 if rng.random() < 0.8 else rng.random((n, P)) < 0.5
        y = targets(rng, loss, n, int(rng.integers(1, 5)))
        if loss in ("squared", "huber"):
            y = y * 10.0 ** rng.uniform(-2, 2)
        options = {"loss": loss, "bias": loss == "squared" and rng.random() < 0.5, "fit_intercept": rng.random() < 0.7}
        if rng.random() < 0.3:
            options["sample_weight"] = rng.uniform(0.1, 5, n)
        if loss != "squared":  # an intercept alone must not separate the classes
            options["fit_intercept"] = bool(options["fit_intercept"]) and bool((y != y[0]).any(axis=0).all())
        made = GatedRidgeProblem(X, y, D, 1.0, **options)
        made.penalty.beta = 10.0 ** rng.uniform(-5, 1) * (made.beta_max() or 1.0)
        return f"{loss} n={n} r={made.map.d} P={made.map.n_patterns} C={made.outputs}", made

    def faults(self, made):
        result = KernelNewton(tol=1e-7).solve(made)
        if not result.converged:
            yield result.message
        U, b, t = result.coefficients
        f = np.tile(t, (made.n, 1))
        for i, on in enumerate(made.map.patterns.T):
            f[on] += made.X[on] @ U[:, i].T + b[:, i]
        recomputed = made.datafit.value(f) + made.beta / 2 * float(np.sum(U**2))
        scale = made.datafit.value(np.zeros_like(made.datafit.y))
        if abs(recomputed - result.objective) > 1e-7 * abs(result.objective) + 1e-12 * scale:
            yield f"objective {result.objective!r}, recomputed {recomputed!r}"


def main(kind, seed, seconds, only=None):
    warnings.simplefilter("ignore")  # of convergence: the gap is judged here
    end, count, bad = time.monotonic() + seconds, 0, 0
    for number in itertools.count() if only is None else [only]:
        if time.monotonic() > end:
            break
        count, words = count + 1, ""
        try:
            words, made = kind.problem(np.random.default_rng([seed, number]))
            faults = list(kind.faults(made))
        except Exception:
            faults = [traceback.format_exc()]
        bad += bool(faults)
        for fault in faults:
            print(f"{number}: {words}: {fault}", flush=True)
    misses = f"; tolerances missed {dict(kind.misses)}" if isinstance(kind, Gated) else ""
    print(f"{count} problems, {bad} bad{misses}")
    return bad == 0 and count > 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("kind", choices=("exact", "gated", "ridge"))
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--only", type=int, help="number of one problem")
    options = parser.parse_args()
    kind = {"exact": Exact, "gated": Gated, "ridge": Ridge}[options.kind]()
    sys.exit(0 if main(kind, options.seed, options.seconds, options.only) else 1)
