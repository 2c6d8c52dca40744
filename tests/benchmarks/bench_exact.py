"""Exact training: the spiral, the plane, small instances of every kind, and the laws of the paths.

    python tests/benchmarks/bench_exact.py [spiral_lasso spiral_exact spiral_relu homotopy equal plane laws]

Without names all parts run, some ten minutes of it in CVXPY. Every figure is recomputed from the networks: nothing is
stored, and a part leaves with 1 if a statement does not hold.

spiral_lasso  the paper's dictionary (n = 160, 25,440 columns, l2 denominators, sum of squares + 1e-3 |z|_1, free
              intercept): working set and interior point against CVXPY + CLARABEL on the same columns, in this run
spiral_exact  the global optimum of the same data for p = 1 and p = 2, with certificates recomputed from the data
spiral_relu   200 patterns, cross-product and Gaussian gates: the fast solvers against CVXPY
homotopy      the whole path of 200 pairs down to 1e-3 and of the full dictionary to 1e-3, in the paper's scale
equal         p = 1: Lasso = convex program over all patterns = best of many local descents, never above; p = 2: column
              generation = convex program, and the bracket L2(beta/G) <= optimum <= L2(beta)
plane         n = 2000 random points in the plane with bias: 8 million columns, never held
laws          beta_max, constant targets, monotone and concave objectives
"""

import itertools
import sys
import warnings

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit
from timing import machine, options, timed

from clifford_rand_nn import (
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    GatedReLURegressor,
    TwoLayerNetwork,
    activation_patterns,
    bracket_factor,
    cross_product_dictionary,
    enumerate_patterns,
    gated_path,
    lasso_path,
    relu_path,
    sample_gates,
    spiral,
)
from clifford_rand_nn.pricing.base import BlockPricer
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.lasso.interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso.path_following import homotopy
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint

PAPER = 1e-3  # the paper's beta on the spiral, in its scale
OPTIMUM = 0.80696367  # of the dictionary, found by CLARABEL to 1e-8 in another program


def hold(statement, words):
    """Leave with 1 if a statement does not hold."""
    if not statement:
        sys.exit(f"this does not hold: {words}")


def line(name, result, seconds, scale=1.0, more=""):
    gap = f"relative gap {result.relative_gap:.1e}"
    print(f"  {name:<34} {scale * result.objective:.10f}  {gap}  {seconds:8.2f} s  {more}", flush=True)


def spiral_lasso():
    X, y = spiral()
    n = len(X)
    beta, scale = PAPER / (2 * n), 2 * n
    dictionary = cross_product_dictionary(X, "l2")
    atoms, seconds, _ = timed(dictionary.neurons)
    K = atoms.columns(X)
    print(f"spiral, {K.shape[1]:,} columns made in {seconds:.2f} s; objective in the paper's scale")
    problem = LassoProblem(K, y, beta)
    WorkingSet(tol=1e-8).solve_columns(problem)  # first calls load what they need
    times = {}
    for name, work in (
        ("working set", lambda: WorkingSet(tol=1e-8).solve_columns(problem)),
        ("interior point", lambda: InteriorPoint(tol=1e-8).solve(problem)),
        ("column generation, no matrix", lambda: WorkingSet(tol=1e-8).solve(X, y, beta, BlockPricer(X, dictionary))),
        ("CVXPY + CLARABEL", lambda: CvxpyReference(tol=1e-8).solve(problem)),
    ):
        result, times[name], _ = timed(work)
        size = len(result.coefficients.values)
        line(name, result, times[name], scale, f"{size} neurons")
        if name != "CVXPY + CLARABEL":
            hold(result.relative_gap <= 1e-8, f"{name}: gap {result.relative_gap}")
            hold(abs(scale * result.objective - OPTIMUM) <= 1e-7, f"{name}: {scale * result.objective}")
    reference = times.pop("CVXPY + CLARABEL")
    print("  CVXPY takes " + ", ".join(f"{reference / t:.0f} × {name}" for name, t in times.items()))


def spiral_exact():
    X, y = spiral()
    beta, scale = PAPER / (2 * len(X)), 2 * len(X)
    print("spiral, global optima; objective in the paper's scale")
    for name, make in (
        ("p = 1, CrossProductLassoRegressor", lambda: CrossProductLassoRegressor(beta=beta, tol=1e-8, bias=True)),
        (
            "p = 1, ConvexReLURegressor",
            lambda: ConvexReLURegressor(gates="exhaustive", beta=beta, penalty="group_l1", tol=1e-8, bias=True),
        ),
        ("p = 2, ConvexReLURegressor", lambda: ConvexReLURegressor(gates="exhaustive", beta=beta, tol=1e-8, bias=True)),
    ):
        model, seconds, _ = timed(lambda make=make: make().fit(X, y))
        line(name, model.result_, seconds, scale, f"{model.network_.n_neurons} neurons")
        again, seconds, _ = timed(lambda model=model: model.certificate_.verify(X, y))
        print(f"    from the data alone ({seconds:.2f} s): {again}")
        hold(again.relative_gap <= 2e-6, "the certificate does not verify")
        hold("global" in again.scope, again.scope)


def spiral_relu():
    X, y = spiral()
    beta, scale = PAPER / (2 * len(X)), 2 * len(X)
    for method in ("cross", "gaussian"):
        patterns, gates = activation_patterns(X, sample_gates(X, 200, method, rng=0))
        print(f"spiral, {len(gates)} distinct patterns of 200 {method} gates; objective in the paper's scale")
        problem = ConvexReLUProblem(X, y, patterns, beta)
        found = {}
        for name, work in (
            (
                "column generation",
                lambda patterns=patterns: WorkingSet(tol=1e-7).solve(X, y, beta, ConePricer(X, patterns, 2)),
            ),
            ("interior point", lambda problem=problem: ConeInteriorPoint(tol=1e-6).solve(problem)),
            ("CVXPY + CLARABEL", lambda problem=problem: CvxpyReference().solve(problem)),
        ):
            found[name], seconds, _ = timed(work)
            line(name, found[name], seconds, scale)
        reference = found.pop("CVXPY + CLARABEL").objective
        for name, result in found.items():
            hold(abs(result.objective / reference - 1) <= 1e-5, f"{name} differs from CVXPY")


def follow_paths():
    X, y = spiral()
    n = len(X)
    for name, subsample in (("200 pairs", 200), ("the full dictionary", None)):
        K = cross_product_dictionary(X, "l2", subsample=subsample, rng=0).matrix()
        path, seconds, _ = timed(lambda K=K: homotopy(K, y, beta_min=PAPER / (2 * n)))
        words = f"{len(path)} breakpoints, up to {path.n_active.max()} columns, gaps ≤ {path.relative_gaps.max():.1e}"
        print(
            f"homotopy, {name} ({K.shape[1]:,} columns) to beta_p = {PAPER:g}: {seconds:.1f} s, {words}, {path.status}"
        )
        hold(path.converged, path.status)
        worst = 0.0
        for beta in np.geomspace(path.betas[0], path.betas[-1], 21)[1:]:
            result = (InteriorPoint(tol=1e-9).solve if subsample else WorkingSet(tol=1e-9).solve_columns)(
                LassoProblem(K, y, beta)
            )
            worst = max(worst, abs(path.objective(beta) / result.objective - 1))
        print(
            f"  objective at 20 beta against {'interior point' if subsample else 'working set'}: {worst:.1e} relative"
        )
        hold(worst <= 1e-8, "the path and the solver differ")


def instances():
    """Yield (name, X, y, loss, bias): random, repeated, rank-deficient and integer rows, n < d among them."""
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (3, 1), (6, 1), (2, 2), (5, 2), (8, 2), (2, 3), (6, 3), (7, 3), (5, 4), (8, 4)]
    kinds = ("random", "repeated", "flat", "integer")
    for i, ((n, d), bias, loss) in enumerate(
        itertools.product(shapes, (False, True), ("squared", "logistic", "huber"))
    ):
        kind = kinds[i % 4]
        X = rng.standard_normal((n, d))
        if kind == "repeated":
            X[n // 2] = X[0]
        if kind == "flat":
            X[:, -1] = X[:, 0]
        if kind == "integer":
            X = rng.integers(-1, 2, (n, d)).astype(float)
        if loss == "logistic":
            y = rng.permutation(np.where(np.arange(n) % 2, -1.0, 1.0))
            bias = bias and n > 1  # one class and a free constant: the infimum 0 is not attained
        else:
            y = rng.standard_normal(n)
        yield f"{kind} n={n} d={d} bias={bias} {loss}", X, y, loss, bias


def descents(X, y, beta, loss, bias, start, starts, rng):
    """Return the best value of the non-convex problem with per-neuron l1 norms, from a network and random starts.

    Variables are the positive and negative parts of the weights, so that ||w||_1 is smooth within bounds.
    """
    n, d = X.shape
    m = n + 1

    def unpack(x):
        return x[: m * d].reshape(m, d), x[m * d : 2 * m * d].reshape(m, d), *np.split(x[2 * m * d :], [m, 2 * m])

    def value(x):
        plus, minus, b, alpha, t = unpack(x)
        hidden = np.maximum(X @ (plus - minus).T + b, 0)
        f = hidden @ alpha + t[0]
        if loss == "squared":
            r = f - y
            terms, slope = 0.5 * r**2, r
        elif loss == "huber":
            r = f - y
            terms, slope = np.where(np.abs(r) <= 1, 0.5 * r**2, np.abs(r) - 0.5), np.clip(r, -1, 1)
        else:
            terms, slope = np.logaddexp(0, -y * f), -y * expit(-y * f)
        norms = (plus + minus).sum(axis=1)
        total = terms.mean() + 0.5 * beta * (norms @ norms + alpha @ alpha)
        back = (slope / n)[:, None] * (hidden > 0) * alpha
        g_w, shrink = back.T @ X, beta * norms[:, None]
        g = [g_w + shrink, -g_w + shrink, back.sum(axis=0) * bias, hidden.T @ slope / n + beta * alpha]
        return total, np.concatenate([part.ravel() for part in g] + [[slope.mean() * bias]])

    bounds = [(0, None)] * (2 * m * d) + ([(None, None)] * m if bias else [(0, 0)] * m) + [(None, None)] * m
    bounds += [(None, None)] if bias else [(0, 0)]
    network = start
    W = np.zeros((m, d))
    b, alpha = np.zeros(m), np.zeros(m)
    k = network.n_neurons
    W[:k], b[:k], alpha[:k] = network.W1, network.b1, network.w2[:, 0]
    points = [np.concatenate([np.maximum(W, 0).ravel(), np.maximum(-W, 0).ravel(), b, alpha, network.b2])]
    for _ in range(starts):
        part = rng.standard_normal((m, d))
        free = rng.standard_normal(2 * m + 1) * np.r_[np.full(m, bias), np.ones(m), bias]
        points.append(np.concatenate([np.maximum(part, 0).ravel(), np.maximum(-part, 0).ravel(), free]))
    ends = [
        minimize(value, x, jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": 2000}).fun for x in points
    ]
    return value(points[0])[0], min(ends[0], value(points[0])[0]), min(ends[1:])


def by_cvxpy(problem):
    """Solve by CLARABEL, asked for 1e-10, or by SCS where CLARABEL breaks off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's, of inaccurate solutions; what is reached is compared
        try:
            tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
            return CvxpyReference(options=tight).solve(problem)
        except RuntimeError:
            options = {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 200_000}
            return CvxpyReference(solver="SCS", options=options).solve(problem)


def equal():
    rng = np.random.default_rng(1)
    beta, count, reached = 0.03, 0, 0
    worst = {"program": 0.0, "network": 0.0, "below": 0.0, "p2": 0.0}
    brackets = []
    for name, X, y, loss, bias in instances():
        patterns = enumerate_patterns(X, bias)
        options = {"loss": loss, "bias": bias, "fit_intercept": bias}
        program = by_cvxpy(ConvexReLUProblem(X, y, patterns, beta, penalty="group_l1", **options))
        pricer = BlockPricer(X, cross_product_dictionary(X, "l1", bias=bias))
        lasso = WorkingSet(tol=1e-9).solve(X, y, beta, pricer, loss=loss, fit_intercept=bias)
        hold(lasso.relative_gap <= 1e-8, f"{name}: lasso gap {lasso.relative_gap}")
        network = TwoLayerNetwork.from_neurons(lasso.coefficients, 1)
        scale = max(
            lasso.objective, 1e-3 * LassoProblem(np.zeros((len(X), 0)), y, 1.0, loss=loss).datafit.value(0 * y[:, None])
        )
        worst["program"] = max(worst["program"], abs(lasso.objective - program.objective) / scale)
        decoded, near, best = descents(X, y, beta, loss, bias, network, 20, rng)
        worst["network"] = max(worst["network"], abs(decoded - lasso.objective) / scale)
        worst["below"] = max(worst["below"], (lasso.objective - min(near, best)) / scale)
        reached += best <= lasso.objective * (1 + 1e-3)
        two = WorkingSet(tol=1e-9).solve(X, y, beta, ConePricer(X, patterns, 2, bias), loss=loss, fit_intercept=bias)
        reference = by_cvxpy(ConvexReLUProblem(X, y, patterns, beta, **options))
        worst["p2"] = max(worst["p2"], abs(two.objective - reference.objective) / scale)
        if not bias and len(X) >= X.shape[1] and np.linalg.matrix_rank(X) == X.shape[1]:
            factor = bracket_factor(X)
            rows = BlockPricer(X, cross_product_dictionary(X, "l2", bias=False))
            values = [
                WorkingSet(tol=1e-9).solve(X, y, b, rows, loss=loss, fit_intercept=False).objective
                for b in (beta / factor, beta, factor * beta)
            ]
            wide = WorkingSet(tol=1e-9).solve(
                X, y, factor * beta, ConePricer(X, patterns, 2, False), loss=loss, fit_intercept=False
            )
            slack = 1 + 1e-8
            hold(values[0] <= two.objective * slack <= values[1] * slack**2, f"{name}: bracket")
            hold(values[1] <= wide.objective * slack <= factor * two.objective * slack**2, f"{name}: bracket")
            brackets.append(factor)
        count += 1
    print(f"{count} instances up to n = 8, d = 4; three losses, with and without bias, degenerate rows among them")
    print(f"  p = 1: Lasso against the program over all patterns in CVXPY: {worst['program']:.1e} relative")
    print(
        f"         against its decoded network: {worst['network']:.1e}; best descent below it by {worst['below']:.1e}"
    )
    print(f"         20 random starts come within 1e-3 of it in {reached} of {count}")
    print(f"  p = 2: column generation against the program over all patterns in CVXPY: {worst['p2']:.1e} relative")
    print(f"         the bracket holds in all {len(brackets)}, factors {min(brackets):.2f} to {max(brackets):.2f}")
    for key, value in worst.items():
        hold(value <= 1e-7, f"{key}: {value}")


def plane():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.3 * rng.standard_normal(2000)
    for name, make in (
        ("p = 1, dictionary", lambda: CrossProductLassoRegressor(beta=1e-3, tol=1e-4, bias=True)),
        ("p = 2, all patterns", lambda: ConvexReLURegressor(gates="exhaustive", beta=1e-3, tol=1e-4, bias=True)),
    ):
        model, seconds, _ = timed(lambda make=make: make().fit(X, y))
        print(f"plane, n = 2000, {name}")
        line(
            "column generation",
            model.result_,
            seconds,
            1.0,
            f"{model.network_.n_neurons} neurons, {model.n_iter_} rounds",
        )
        again, seconds, _ = timed(lambda model=model: model.certificate_.verify(X, y))
        print(f"    from the data alone ({seconds:.2f} s): {again}")
        hold(again.relative_gap <= 1e-4 and "global" in again.scope, "no global certificate")


def laws():
    X, y = spiral()
    rng = np.random.default_rng(0)
    gates = sample_gates(X, 30, rng=0)
    for name, path in (
        ("lasso_path, exact", lambda b: lasso_path(X, y, penalty="l2", subsample=200, rng=0, betas=b, n_betas=20)),
        ("lasso_path, huber", lambda b: lasso_path(X, y, loss="huber", betas=b, n_betas=8, eps=0.05)),
        ("relu_path, 30 gates", lambda b: relu_path(X, y, gates, betas=b, n_betas=12, eps=0.01)),
        ("relu_path, all patterns", lambda b: relu_path(X, y, betas=b, n_betas=8, eps=0.05)),
        ("gated_path", lambda b: gated_path(X, y, gates, bias=False, betas=b, n_betas=12, eps=0.05)),
    ):
        found, seconds, _ = timed(lambda path=path: path(None))
        top = path([2 * found.beta_max, found.beta_max])
        slope = np.diff(found.objectives) / np.diff(found.betas)
        noise = 4 * (found.objectives - found.bounds).max() / np.abs(np.diff(found.betas)).min()
        print(f"{name}: {found} in {seconds:.1f} s; at beta_max and above {top.n_neurons.tolist()} neurons")
        hold((top.n_neurons == 0).all() and found.n_neurons[0] == 0, f"{name}: neurons at beta_max")
        hold((slope >= -noise).all() and (np.diff(slope) >= -noise).all(), f"{name}: not monotone and concave")
    flat = np.full(40, 3.7)
    for model in (
        CrossProductLassoRegressor(beta=0.01, bias=True),
        ConvexReLURegressor(gates="exhaustive", beta=0.01, bias=True),
        ConvexReLURegressor(beta=0.01, random_state=0, bias=True),
        GatedReLURegressor(beta=0.01, random_state=0, bias=True),
    ):
        model.fit(rng.standard_normal((40, 2)), flat)
        print(f"constant target, {type(model).__name__}: objective {model.result_.objective:.1e}")
        hold(model.result_.objective <= 1e-25, "a constant costs something")


PARTS = {
    "spiral_lasso": spiral_lasso,
    "spiral_exact": spiral_exact,
    "spiral_relu": spiral_relu,
    "homotopy": follow_paths,
    "equal": equal,
    "plane": plane,
    "laws": laws,
}


if __name__ == "__main__":
    chosen = options(__doc__, ("parts", {"nargs": "*", "choices": [*PARTS, []]})).parts or list(PARTS)
    machine("scipy", "cvxpy", "clarabel")
    for part in chosen:
        PARTS[part]()
