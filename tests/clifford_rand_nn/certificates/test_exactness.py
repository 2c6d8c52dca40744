"""Equal optima of the Lasso, the program over all patterns and the network, and the bracket of unit l2 columns."""

import warnings

import numpy as np
import pytest
from scipy.optimize import check_grad, linprog, minimize
from sklearn.exceptions import ConvergenceWarning

import clifford_rand_nn as nn
from clifford_rand import ArgumentError
from clifford_rand_nn.networks import balanced_network
from clifford_rand_nn.pricing.base import BlockPricer
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from examples.paper.methods.cone_decomposition import cone_decomposition
from support.pairwise import pairwise

BETA = 0.03
KINDS = ["random", "repeated", "flat", "integer", "wide"]


def lasso_optimum(X, y, norm, family="mixed", bias=False, beta=BETA):
    pricer = BlockPricer(X, nn.cross_product_dictionary(X, norm, bias=bias, family=family))
    return WorkingSet(tol=1e-9).solve(X, y, beta, pricer, fit_intercept=bias)


def rows(kind, d, rng):
    n = 2 if kind == "wide" else 6
    X = rng.standard_normal((n, d))
    if kind == "repeated":
        X[3] = X[0]
    if kind == "flat":
        X[:, -1] = X[:, 0]
    if kind == "integer":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    return X


@pairwise({"bias": [True, False], "loss": ["squared", "logistic", "huber"], "kind": KINDS})
def test_one_lasso_is_the_network_for_p_1(kind, loss, bias):
    rng = np.random.default_rng(KINDS.index(kind))
    for d in (1, 2, 3):
        X = rows(kind, d, rng)
        n = len(X)
        y = rng.permutation(np.where(np.arange(n) % 2, -1.0, 1.0)) if loss == "logistic" else rng.standard_normal(n)
        options = {"loss": loss, "fit_intercept": bias}
        pricer = BlockPricer(X, nn.cross_product_dictionary(X, "l1", bias=bias))
        lasso = WorkingSet(tol=1e-9).solve(X, y, BETA, pricer, **options)
        patterns = nn.enumerate_patterns(X, bias)
        program = ConvexReLUProblem(X, y, patterns, BETA, penalty="group_l1", bias=bias, **options)
        assert lasso.objective == pytest.approx(ConeInteriorPoint(tol=1e-9).solve(program).objective, rel=1e-7)
        network = balanced_network(lasso.coefficients, 1)
        f = network.predict(X)[:, None]
        assert program.datafit.value(f) + BETA * network.penalty(1) == pytest.approx(lasso.objective, rel=1e-12)
        assert network.n_neurons <= n


@pytest.mark.parametrize("bias", [True, False])
def test_no_descent_from_anywhere_is_better(bias):
    """The non-convex problem with n + 1 neurons, smooth in the parts of the weights, from 15 random points."""
    rng = np.random.default_rng(3)
    X, y = rng.standard_normal((6, 2)), rng.standard_normal(6)
    optimum, m = lasso_optimum(X, y, "l1", bias=bias).objective, 7

    def value_and_gradient(x):
        plus, minus = x[: 2 * m].reshape(m, 2), x[2 * m : 4 * m].reshape(m, 2)
        b, alpha, t = x[4 * m : 5 * m] * bias, x[5 * m : 6 * m], x[-1] * bias
        norms = (plus + minus).sum(axis=1)
        inside = X @ (plus - minus).T + b
        r = np.maximum(inside, 0) @ alpha + t - y
        G = (inside > 0) * np.outer(r / len(y), alpha)  # derivative by what is inside the units, (n, m)
        by_norm = BETA * norms[:, None]
        parts = (
            (by_norm + G.T @ X).ravel(),
            (by_norm - G.T @ X).ravel(),
            G.sum(axis=0) * bias,
            np.maximum(inside, 0).T @ r / len(y) + BETA * alpha,
            [np.mean(r) * bias],
        )
        return 0.5 * np.mean(r**2) + 0.5 * BETA * (norms @ norms + alpha @ alpha), np.concatenate(parts)

    starts = np.abs(rng.standard_normal((15, 6 * m + 1)))
    assert check_grad(lambda x: value_and_gradient(x)[0], lambda x: value_and_gradient(x)[1], starts[0]) < 1e-5
    bounds = [(0, None)] * (4 * m) + [(None, None)] * (2 * m + 1)
    ends = [minimize(value_and_gradient, start, jac=True, method="L-BFGS-B", bounds=bounds).fun for start in starts]
    assert min(ends) >= optimum * (1 - 1e-9)
    assert min(ends) <= optimum * 1.05  # and some come near


@pytest.mark.parametrize("kind", KINDS)
def test_column_generation_is_the_program_for_p_2(kind):
    rng = np.random.default_rng(10 + KINDS.index(kind))
    for d, bias in ((2, True), (3, False), (2, False)):
        X = rows(kind, d, rng)
        y = rng.standard_normal(len(X))
        patterns = nn.enumerate_patterns(X, bias)
        columns = WorkingSet(tol=1e-9).solve(X, y, BETA, ConePricer(X, patterns, 2, bias), fit_intercept=bias)
        program = ConvexReLUProblem(X, y, patterns, BETA, bias=bias, fit_intercept=bias)
        assert columns.objective == pytest.approx(ConeInteriorPoint(tol=1e-9).solve(program).objective, rel=1e-7)


@pytest.mark.slow
def test_the_bracket_and_the_order_of_the_programs():
    """L2(β/Γ) ≤ NC(β) ≤ L2(β) ≤ NC(Γβ) ≤ Γ NC(β); gated ≤ ReLU ≤ decomposed gated."""
    rng = np.random.default_rng(20)
    X, y = rng.standard_normal((6, 3)), rng.standard_normal(6)
    factor = nn.bracket_factor(X)
    assert factor > 1.1
    patterns = nn.enumerate_patterns(X, bias=False)

    def network(beta):
        return WorkingSet(tol=1e-9).solve(X, y, beta, ConePricer(X, patterns, 2, False), fit_intercept=False).objective

    least = network(BETA)
    lasso = [lasso_optimum(X, y, "l2", beta=beta).objective for beta in (BETA / factor, BETA)]
    order = [lasso[0], least, lasso[1], network(factor * BETA), factor * least]
    assert order == sorted(order)
    assert least < lasso[1] * (1 - 1e-6)  # for p = 2 the finite dictionary is not exact
    flags = {"bias": False, "fit_intercept": False}
    gated = Fista(tol=1e-8).solve(GatedReLUProblem(X, y, patterns, BETA, **flags))
    relu_problem = ConvexReLUProblem(X, y, patterns, BETA, **flags)
    decomposed = cone_decomposition(X, patterns, gated.coefficients)
    assert gated.objective <= least * (1 + 1e-8) <= relu_problem.network_objective(decomposed)


def test_rows_alone_are_not_exact_for_p_1():
    """The paper's printed family, scaled to ||v||_1 = 1, misses the optimum: the basis vectors are needed."""
    rng = np.random.default_rng(0)
    excess = []
    for _ in range(5):
        X, y = rng.standard_normal((5, 3)), rng.standard_normal(5)
        rows, mixed = (lasso_optimum(X, y, "l1", family).objective for family in ("rows", "mixed"))
        excess.append(rows / mixed - 1)
    assert min(excess) >= -1e-9
    assert max(excess) > 0.01


def test_far_from_the_origin_a_certificate_has_the_objective_of_its_network():
    """And not that of columns that are exactly zero on the planes' own rows, as no plane in double precision is."""
    rng = np.random.default_rng(0)
    X = 2e7 * rng.standard_normal(3) + rng.standard_normal((8, 3))
    y, model = rng.standard_normal(8), nn.CrossProductLassoRegressor(beta=1e-6, penalty="l2", bias=False)
    with pytest.warns(ConvergenceWarning, match="rounded to double precision, .* subtract the means"):
        model.fit(X, y)
    again = model.certificate_.verify(X, y)
    assert model.certificate_.objective == again.objective > model.result_.objective * (1 + 1e-9)


def test_a_fit_that_is_exact_to_rounding_is_no_warning():
    """Free biases meet these targets: an objective of 1e-31 has a relative gap of .8, all of it rounding."""
    X, y = np.repeat([[1, 3], [2, 1], [3, 3], [4, 1]], 4, axis=0), np.tile(np.repeat([1.0, 2.0], 4), 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        model = nn.GatedReLURegressor(n_gates=8, beta=0.01, bias=True, penalty="ridge", random_state=0).fit(X, y)
    assert model.certificate_.objective < 1e-30


@pytest.mark.parametrize("penalty", ["group_l2", "ridge"])
@pytest.mark.parametrize("loss", ["squared", "log_cosh"])
def test_on_columns_of_mixed_sizes_a_certificate_has_the_objective_of_its_coefficients(loss, penalty):
    """A solver's own, in an orthonormal basis of the rows, was off by 1e-6 of it."""
    rng = np.random.default_rng(2)
    X = (rng.normal(size=(23, 5)) + rng.normal(size=5) * 1e7) * [1.0, 1e-4, 1e6, 1e5, 1e2]
    y = rng.normal(size=23)
    options = {"beta": 1e-5, "loss": loss, "penalty": penalty, "bias": False, "n_gates": 2, "random_state": 0}
    model = nn.GatedReLURegressor(**options, solver="gram", max_iter=20)
    with pytest.warns(ConvergenceWarning):
        proof = model.fit(X, y).certificate_
    assert proof.objective == pytest.approx(proof.verify(X, y).objective, rel=1e-12)


# ---- the factor by which unit l2 cross products bracket the optimum


def test_the_factor_in_the_plane_is_that_of_the_widest_chamber():
    """1 / cos(angle / 2), the angle from sorting the lines."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 7):
        X = rng.standard_normal((n, 2))
        lines = np.sort(np.mod(np.arctan2(X[:, 1], X[:, 0]), np.pi))
        widest = np.diff(np.append(lines, lines[0] + np.pi)).max()
        assert nn.bracket_factor(X) == pytest.approx(1 / np.cos(widest / 2), rel=1e-9)


def test_the_factor_of_orthants_one_dimension_and_repeated_rows():
    """The rays of an orthant are the axes: the shortest convex combination has length 1/sqrt(d)."""
    for d in (2, 3, 4):
        assert nn.bracket_factor(np.eye(d)) == pytest.approx(np.sqrt(d))
    assert nn.bracket_factor(np.array([[2.0], [-1.0]])) == 1.0
    X = np.random.default_rng(2).standard_normal((4, 3))
    assert nn.bracket_factor(np.vstack([X, X, 0 * X[:1], -2 * X])) == pytest.approx(nn.bracket_factor(X))
    with pytest.raises(ArgumentError, match=r"an \(n, d\) array of rank d"):
        nn.bracket_factor(np.ones((5, 2)))


def test_every_direction_is_a_sum_of_rays_of_weight_at_most_the_factor():
    """The inequality behind the bracket, by a linear program over all cross products in the closed chamber."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((6, 3))
    factor = nn.bracket_factor(X)
    rays = nn.cross_product_dictionary(X, "l2", bias=False).neurons().directions
    worst = 0.0
    for u in rng.standard_normal((60, 3)):
        u /= np.linalg.norm(u)
        side = np.where(X @ u >= 0, 1.0, -1.0)
        inside = rays[:, (side[:, None] * (X @ rays) >= -1e-9).all(axis=0)]
        worst = max(worst, linprog(np.ones(inside.shape[1]), A_eq=inside, b_eq=u).fun)
    assert 1 < worst <= factor * (1 + 1e-9)
    assert nn.enumerate_patterns(X, bias=False).shape[1] == 32
