"""Exact training: the spiral, its paths, the plane, and small instances of every kind.

    python tests/benchmarks/bench_exact.py [--only spiral_lasso spiral_exact spiral_relu homotopy equal plane]

All parts run some ten minutes, most of it in CVXPY. Every figure is recomputed from the networks: nothing is stored,
and a part leaves with 1 if a statement does not hold.

spiral_lasso  the paper's dictionary (n = 160, 25,440 columns, l2 denominators, sum of squares + 1e-3 |z|_1, free
              intercept): working set and interior point against CVXPY + CLARABEL on the same columns, in this run
spiral_exact  the global optimum of the same data for p = 1 and p = 2, with certificates recomputed from the data
spiral_relu   200 patterns, cross-product and Gaussian gates: the fast solvers against CVXPY
homotopy      the whole path of 200 pairs down to 1e-3 and of the full dictionary to 1e-3, in the paper's scale
equal         p = 1: Lasso = convex program over all patterns = best of many local descents, never above; p = 2: column
              generation = convex program, and the bracket L2(beta/G) <= optimum <= L2(beta)
plane         n = 2000 random points in the plane with bias: 8 million columns, never held
"""

import itertools
import sys
import warnings
from pathlib import Path

import numpy as np
from timing import hold, run_parts, timed

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
from clifford_rand_nn import (
    ConvexReLURegressor,
    CrossProductLassoRegressor,
    activation_patterns,
    bracket_factor,
    cross_product_dictionary,
    enumerate_patterns,
    sample_gates,
    spiral,
)
from clifford_rand_nn.networks import balanced_network
from clifford_rand_nn.pricing.base import BlockPricer
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint
from clifford_rand_nn.solvers.lasso_path import homotopy, solution_at
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from support.descents import Descent

PAPER = 1e-3  # the paper's beta on the spiral, in its scale
OPTIMUM = 0.80696367  # of the dictionary, found by CLARABEL to 1e-8 in another program
CVXPY = "CVXPY + CLARABEL"


def on_spiral():
    """Return the spiral, its beta, and the factor of the paper's scale."""
    X, y = spiral()
    return X, y, PAPER / (2 * len(X)), 2 * len(X)


def compare(works, scale, more=lambda result: ""):
    """Solve in several ways; print objectives, gaps and seconds; return the results and the seconds."""
    results, times = {}, {}
    for name, work in works.items():
        result, times[name], _ = timed(work)
        results[name] = result
        gap = f"relative gap {result.relative_gap:.1e}"
        print(f"  {name:<34} {scale * result.objective:.10f}  {gap}  {times[name]:8.2f} s  {more(result)}", flush=True)
    reference = times.get(CVXPY)
    if reference:
        print(f"  {CVXPY} takes " + ", ".join(f"{reference / t:.1f} × {name}" for name, t in times.items()))
    return results


def compare_fits(models, X, y, scale, gap):
    """Fit models that claim the global optimum; print them, and check their certificates from the data alone."""
    for name, model in models.items():
        compare({name: lambda model=model: model.fit(X, y).result_}, scale)
        again, wall, _ = timed(lambda model=model: model.certificate_.verify(X, y))
        print(f"    {model.network_.n_neurons} neurons, {model.n_iter_} rounds; from the data ({wall:.2f} s): {again}")
        hold(again.relative_gap <= gap and "global" in again.scope, f"{name}: {again}")


def spiral_lasso():
    X, y, beta, scale = on_spiral()
    dictionary = cross_product_dictionary(X, "l2")
    K, wall, _ = timed(lambda: dictionary.neurons().columns(X))
    print(f"spiral, {K.shape[1]:,} columns made in {wall:.2f} s; objective in the paper's scale")
    problem = LassoProblem(K, y, beta)
    WorkingSet(tol=1e-8).solve_columns(problem)  # first calls load what they need
    works = {
        "working set": lambda: WorkingSet(tol=1e-8).solve_columns(problem),
        "interior point": lambda: InteriorPoint(tol=1e-8).solve(problem),
        "column generation, no matrix": lambda: WorkingSet(tol=1e-8).solve(X, y, beta, BlockPricer(X, dictionary)),
        CVXPY: lambda: CvxpyReference(tol=1e-8).solve(problem),
    }
    results = compare(works, scale, lambda result: f"{len(result.coefficients.values)} neurons")
    del results[CVXPY]
    for name, result in results.items():
        hold(result.relative_gap <= 1e-8, f"{name}: gap {result.relative_gap}")
        hold(abs(scale * result.objective - OPTIMUM) <= 1e-7, f"{name}: {scale * result.objective}")


def spiral_exact():
    X, y, beta, scale = on_spiral()
    print("spiral, global optima; objective in the paper's scale")
    options = {"beta": beta, "tol": 1e-8, "bias": True}
    models = {
        "p = 1, CrossProductLassoRegressor": CrossProductLassoRegressor(**options),
        "p = 1, ConvexReLURegressor": ConvexReLURegressor(gates="exhaustive", penalty="group_l1", **options),
        "p = 2, ConvexReLURegressor": ConvexReLURegressor(gates="exhaustive", **options),
    }
    compare_fits(models, X, y, scale, 2e-6)


def spiral_relu():
    X, y, beta, scale = on_spiral()
    for method in ("cross", "gaussian"):
        patterns, gates = activation_patterns(X, sample_gates(X, 200, method, random_state=0))
        print(f"spiral, {len(gates)} distinct patterns of 200 {method} gates; objective in the paper's scale")
        problem, pricer = ConvexReLUProblem(X, y, patterns, beta), ConePricer(X, patterns, 2)
        works = {
            "column generation": lambda pricer=pricer: WorkingSet(tol=1e-7).solve(X, y, beta, pricer),
            "interior point": lambda problem=problem: ConeInteriorPoint(tol=1e-6).solve(problem),
            CVXPY: lambda problem=problem: CvxpyReference().solve(problem),
        }
        results = compare(works, scale)
        reference = results.pop(CVXPY).objective
        for name, result in results.items():
            hold(abs(result.objective / reference - 1) <= 1e-5, f"{name} agrees with CVXPY")


def follow_paths():
    X, y, end, _ = on_spiral()
    for name, subsample, peer, solve in (
        ("200 pairs", 200, "interior point", InteriorPoint(tol=1e-9).solve),
        ("the full dictionary", None, "working set", WorkingSet(tol=1e-9).solve_columns),
    ):
        K = cross_product_dictionary(X, "l2", subsample=subsample, random_state=0).matrix()
        path, wall, _ = timed(lambda K=K: homotopy(LassoProblem(K, y, 1.0), end))
        print(f"homotopy, {name} ({K.shape[1]:,} columns) to beta_p = {PAPER:g}: {wall:.1f} s, ", end="")
        print(f"{len(path)} breakpoints, up to {path.n_active.max()} columns, ", end="")
        print(f"gaps ≤ {path.relative_gaps.max():.1e}, {path.status}")
        hold(path.converged, path.status)
        betas = np.geomspace(path.betas[0], path.betas[-1], 21)[1:]
        problems = [LassoProblem(K, y, beta) for beta in betas]
        worst = max(abs(solution_at(path, one, 1e-9).objective / solve(one).objective - 1) for one in problems)
        print(f"  objective at 20 beta against {peer}: {worst:.1e} relative")
        hold(worst <= 1e-8, "the path and the solver agree")


def instances():
    """Yield (name, X, y, loss, bias): random, repeated, rank-deficient and integer rows, n < d among them."""
    rng = np.random.default_rng(0)
    shapes = [(1, 1), (3, 1), (6, 1), (2, 2), (5, 2), (8, 2), (2, 3), (6, 3), (7, 3), (5, 4), (8, 4)]
    kinds = ("random", "repeated", "flat", "integer")
    cases = itertools.product(shapes, (False, True), ("squared", "logistic", "huber"))
    for kind, ((n, d), bias, loss) in zip(itertools.cycle(kinds), cases, strict=False):
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


def by_cvxpy(problem):
    """Solve by CLARABEL, asked for 1e-10, or by SCS where CLARABEL breaks off."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # CVXPY's, of inaccurate solutions; what is reached is compared
        try:
            tight = {"tol_gap_abs": 1e-10, "tol_gap_rel": 1e-10, "tol_feas": 1e-10}
            return CvxpyReference(options=tight).solve(problem).objective
        except RuntimeError:
            options = {"eps_abs": 1e-10, "eps_rel": 1e-10, "max_iters": 200_000}
            return CvxpyReference(solver="SCS", options=options).solve(problem).objective


def equal():
    rng = np.random.default_rng(1)
    beta, count, reached, factors = 0.03, 0, 0, []
    worst = {"program": 0.0, "network": 0.0, "below": 0.0, "p2": 0.0}
    for name, X, y, loss, bias in instances():
        patterns = enumerate_patterns(X, bias)
        options = {"loss": loss, "bias": bias, "fit_intercept": bias}

        def generate(pricer, beta=beta, X=X, y=y, loss=loss, bias=bias):
            return WorkingSet(tol=1e-9).solve(X, y, beta, pricer, loss=loss, fit_intercept=bias)

        lasso = generate(BlockPricer(X, cross_product_dictionary(X, "l1", bias=bias)))
        hold(lasso.relative_gap <= 1e-8, f"{name}: lasso gap {lasso.relative_gap}")
        program = by_cvxpy(ConvexReLUProblem(X, y, patterns, beta, penalty="group_l1", **options))
        network = balanced_network(lasso.coefficients, 1)
        zero = LassoProblem(np.zeros((len(X), 0)), y, 1.0, loss=loss).datafit.value(0 * y[:, None])
        descent = Descent(X, y[:, None], loss, beta, 1, bias, bias)
        weights = network.W1, network.b1, network.w2, network.b2
        with np.errstate(over="ignore"):  # of descents that go too far, and turn back
            decoded, best = descent.objective(*weights), descent.lowest(rng, len(X) + 1, 20, steps=2000)
            near = descent.lowest(rng, len(X) + 1, 2, near=weights, steps=2000)
        cones = ConePricer(X, patterns, 2, bias)
        two, reference = generate(cones), by_cvxpy(ConvexReLUProblem(X, y, patterns, beta, **options))
        errors = {
            "program": abs(lasso.objective - program),
            "network": abs(decoded - lasso.objective),
            "below": lasso.objective - min(near, best),
            "p2": abs(two.objective - reference),
        }
        scale = max(lasso.objective, 1e-3 * zero)
        worst = {key: max(value, errors[key] / scale) for key, value in worst.items()}
        reached += best <= lasso.objective * (1 + 1e-3)
        count += 1
        if not bias and len(X) >= X.shape[1] and np.linalg.matrix_rank(X) == X.shape[1]:
            factor = bracket_factor(X)
            rows = BlockPricer(X, cross_product_dictionary(X, "l2", bias=False))
            low, middle = (generate(rows, b).objective for b in (beta / factor, beta))
            wide, slack = generate(cones, factor * beta), 1 + 1e-8
            hold(low <= two.objective * slack <= middle * slack**2, f"{name}: bracket")
            hold(middle <= wide.objective * slack <= factor * two.objective * slack**2, f"{name}: bracket")
            factors.append(factor)
    print(f"{count} instances up to n = 8, d = 4; three losses, with and without bias, degenerate rows among them")
    print(f"  p = 1: Lasso against the program over all patterns in CVXPY: {worst['program']:.1e} relative")
    print(f"         its decoded network: {worst['network']:.1e}; best descent below it by {worst['below']:.1e}")
    print(f"         20 random starts come within 1e-3 of it in {reached} of {count}")
    print(f"  p = 2: column generation against the program over all patterns in CVXPY: {worst['p2']:.1e} relative")
    print(f"         the bracket holds in all {len(factors)}, factors {min(factors):.2f} to {max(factors):.2f}")
    for key, value in worst.items():
        hold(value <= 1e-7, f"{key}: {value}")


def plane():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (2000, 2))
    y = np.sin(4 * X[:, 0]) * np.cos(3 * X[:, 1]) + 0.3 * rng.standard_normal(2000)
    print("plane, n = 2000, column generation")
    options = {"beta": 1e-3, "tol": 1e-4, "bias": True}
    models = {
        "p = 1, dictionary": CrossProductLassoRegressor(**options),
        "p = 2, all patterns": ConvexReLURegressor(gates="exhaustive", **options),
    }
    compare_fits(models, X, y, 1.0, 1e-4)


if __name__ == "__main__":
    parts = {"homotopy": follow_paths, "equal": equal, "plane": plane}
    parts = {"spiral_lasso": spiral_lasso, "spiral_exact": spiral_exact, "spiral_relu": spiral_relu, **parts}
    run_parts(__doc__, parts, "scipy", "cvxpy", "clarabel")
