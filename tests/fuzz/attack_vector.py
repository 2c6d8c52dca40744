"""Attack the certificates of ReLU networks: descents on the true problem must end above every proved bound.

    PYTHONPATH=tests python tests/fuzz/attack_vector.py [SEED] [INSTANCES] [OUTPUTS] [DESCENTS]

OUTPUTS is 0 for 2 to 4 outputs (default), 1 for one. d = 1 to 4; p = 1 and 2; with biases and intercept, without, and
with an intercept alone; squared and Huber loss, softmax or logistic; rows random, integer, repeated, of low rank, or
with outliers; sample weights; all patterns, given gates or the exact dictionary. Checked for each:

* the objective of the network, by its formula, is the certificate's primal;
* no descent (L-BFGS on all parameters of wide networks, from random starts and from perturbations of the optimum) ends
  below the dual value of a global certificate;
* `verify` and, of given gates, `over_all_neurons` return the same bound, or one below every descent.

Leaves with 1 if a proof is false.
"""

import sys
import time
import warnings

import numpy as np

from clifford_rand_nn import (
    ConvexReLUClassifier,
    ConvexReLURegressor,
    CrossProductLassoClassifier,
    CrossProductLassoRegressor,
)
from fuzz.hard_rows import changed
from support.descents import Descent

_ROUNDING = 1e-13  # of the targets' squares: what a bound may be above a network by, beside 1e-9 of its objective


def rows(rng):
    d = int(rng.integers(1, 5))
    n = int(rng.integers(2, {1: 15, 2: 13, 3: 9, 4: 8}[d]))
    kind = rng.choice(["random", "small integers", "repeated", "flat", "outlier"])
    return kind, changed(rng, kind, rng.standard_normal((n, d)))


def targets(rng, X, C):
    """Return (loss, y as the estimator takes it, y (n, C) as the loss takes it, loss of the formula)."""
    n = len(X)
    loss = rng.choice(["squared", "huber", "logistic"])
    if loss == "logistic":
        count = 2 if C == 1 else max(C, 3)
        labels = rng.integers(0, count, n)
        labels[:count] = np.arange(count)[:n]
        if len(np.unique(labels)) == count:
            if C == 1:
                return loss, labels, 2.0 * labels[:, None] - 1, "logistic"
            return loss, labels, np.eye(count)[labels], "softmax"
        loss = "squared"
    W = rng.standard_normal((X.shape[1], 3))
    Y = np.maximum(X @ W + rng.standard_normal(3), 0) @ rng.standard_normal((3, C)) + 0.2 * rng.standard_normal((n, C))
    if rng.random() < 0.3:
        Y[:, -1] = -Y[:, 0]
    return loss, Y if C > 1 else Y[:, 0], Y, loss


def instance(rng, one_output):
    kind, X = rows(rng)
    C = 1 if one_output else int(rng.integers(2, 5))
    loss, y, Y, formula = targets(rng, X, C)
    p = int(rng.integers(1, 3))
    bias, intercept = [(True, True), (False, False), (False, True)][rng.integers(3)]
    weights = rng.uniform(0.2, 3, len(X)) if rng.random() < 0.3 else None
    delta = 0.5
    beta = 10.0 ** rng.uniform(-3, -0.7)
    options = {"beta": beta, "loss": loss, "bias": bias, "fit_intercept": intercept, "tol": 1e-6}
    how = rng.choice(["all", "gates", "dictionary"] if p == 1 else ["all", "gates"])
    classes = loss == "logistic"
    if not classes:
        options["huber_delta"] = delta
    if how == "dictionary":
        model = (CrossProductLassoClassifier if classes else CrossProductLassoRegressor)(penalty="l1", **options)
    else:
        gates = {"gates": "exhaustive"} if how == "all" else {"n_gates": 4, "random_state": 0}
        model = (ConvexReLUClassifier if classes else ConvexReLURegressor)(penalty=f"group_l{p}", **gates, **options)
    words = (
        f"{kind} {X.shape} C={C} p={p} {formula} bias={bias} intercept={intercept} {how} weights={weights is not None}"
    )
    return words, model, X, y, weights, Descent(X, Y, formula, beta, p, bias, intercept, weights, delta)


def faults(rng, model, X, y, weights, descent, descents):
    """Return what is wrong, in words, and by how much the descents stayed above the bound."""
    model.fit(X, y, sample_weight=weights)
    proof, net = model.certificate_, model.network_
    size = float(np.mean(descent.weights * (np.sum(descent.y**2, axis=1) + 1)))
    found = []
    own = descent.objective(net.W1, net.b1, net.w2, net.b2)
    if abs(own - proof.primal) > 1e-8 * own + 1e3 * _ROUNDING * size:
        found.append(f"primal {proof.primal} of a network that costs {own}")
    again = proof.verify(X, y)
    if proof.relative_gap <= 1e-5 and abs(again.dual - proof.dual) > 1e-5 * own:  # a search that ended gives others
        found.append(f"verify's dual {again.dual}, not {proof.dual}")
    wide = proof if proof.scope.startswith("global") else proof.over_all_neurons(X, y)
    if not wide.scope.startswith("global"):
        found.append(f"scope {wide.scope!r}")
    m = min(2 * (len(X) + 1) * descent.y.shape[1], 24)
    lowest = min(own, descent.lowest(rng, m, descents, (net.W1, net.b1, net.w2, net.b2)))
    if lowest < max(wide.dual, again.dual if wide is proof else wide.dual) - 1e-9 * lowest - _ROUNDING * size:
        found.append(f"a network at {lowest}, below the bound {wide.dual}, {wide.scope}")
    return found, (lowest - wide.dual) / max(lowest, 1e-12), proof.relative_gap


def main(seed=0, instances=300, one_output=0, descents=8):
    warnings.simplefilter("ignore")  # of convergence: the gap is judged here
    began, bad, above, gaps = time.monotonic(), 0, [], []
    for k in range(instances):
        rng = np.random.default_rng([seed, k])  # so that an instance can be had again
        words, model, *rest = instance(rng, bool(one_output))
        found, margin, gap = faults(rng, model, *rest, descents)
        above.append(margin)
        gaps.append(gap)
        if gap > 1e-3:
            print(f"{k}: {words}: {model.certificate_}, {model.result_.status}", flush=True)
        for fault in found:
            bad += 1
            print(f"{k}: {words}: {fault}", flush=True)
    near = np.mean(np.array(above) < 1e-3)
    print(
        f"{instances} instances, {instances * descents} descents, {bad} false; the best of them within 1e-3 of the "
        f"bound in {near:.0%}; gaps: median {np.median(gaps):.1e}, largest {max(gaps):.1e}; "
        f"{time.monotonic() - began:.0f} s"
    )
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main(*map(int, sys.argv[1:])))
