"""Newton's method on sums over rows, against the kernel methods and FISTA, and what it makes of the rows."""

import tracemalloc

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import GatedReLUClassifier, GatedReLURegressor, gated_path, sample_gates
from clifford_rand_nn.problems.duality import shrinkage
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gram_design import GatedDesign
from clifford_rand_nn.solvers.gram_newton import GramNewton, _Run
from clifford_rand_nn.solvers.gram_smooth import QuadraticSum, RowSum
from clifford_rand_nn.solvers.gram_system import Norms, Preconditioner, Squares
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from support.pairwise import pairwise
from support.problems import LOSSES, targets

KINDS = {"norms": (GatedReLUProblem, KernelInteriorPoint), "squares": (GatedRidgeProblem, KernelNewton)}


def arguments(loss, n=120, d=3, m=5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) + 0.3
    return X, targets(loss, n, rng), X @ rng.standard_normal((d, m)) + 0.2 >= 0


def problem_of(kind, loss, share, *, n=120, d=3, m=5, seed=0, **options):
    problem = KINDS[kind][0](*arguments(loss, n, d, m, seed), 1.0, loss=loss, **options)
    problem.penalty.beta = share * problem.beta_max()
    return problem


def network_value(problem, coefficients):
    """The objective by the formula of the docstring, from what is printed."""
    U, b, t = coefficients
    D = problem.map.patterns
    f = t + sum(D[:, [i]] * (problem.X @ U[:, i].T + b[:, i]) for i in range(D.shape[1]))
    squares = np.sum(U**2, axis=(0, 2))
    norms = isinstance(problem, GatedReLUProblem)
    return problem.datafit.value(f) + problem.beta * float(np.sqrt(squares).sum() if norms else 0.5 * squares.sum())


@pairwise({"loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False], "kind": KINDS})
def test_agrees_with_the_kernel_methods(kind, bias, fit_intercept, loss):
    weights = np.random.default_rng(3).uniform(0.3, 3, 120)
    for share, w in ((0.5, None), (0.05, weights), (0.002, None)):
        problem = problem_of(kind, loss, share, bias=bias, fit_intercept=fit_intercept, sample_weight=w)
        ours, theirs = GramNewton(tol=1e-8).solve(problem), KINDS[kind][1](tol=1e-8).solve(problem)
        assert ours.status == "optimal", (share, ours)
        assert abs(ours.objective - theirs.objective) <= ours.duality_gap + theirs.duality_gap + 1e-14
        assert network_value(problem, ours.coefficients) == pytest.approx(ours.objective, rel=1e-9)
        np.testing.assert_allclose(ours.fitted, problem.predictions(problem.point(ours.coefficients)), atol=1e-9)
        assert problem.datafit.dual_value(ours.dual_point) > -np.inf


@pytest.mark.parametrize("kind", KINDS)
def test_agrees_with_first_order_on_many_rows_of_several_outputs(kind):
    problem = problem_of(kind, "softmax", 0.05, n=1500, d=4, m=6)
    ours, theirs = GramNewton().solve(problem), Fista(tol=1e-4).solve(problem)
    assert ours.status == theirs.status == "optimal"
    assert abs(ours.objective - theirs.objective) <= ours.duality_gap + theirs.duality_gap


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared", "logistic", "softmax"])
def test_degenerate_rows(kind, loss):
    rng = np.random.default_rng(0)
    x, y, D = arguments(loss, 40, 2, 4)
    twice = np.concatenate([D, D[:, :1] * False, D[:, :1] | True], axis=1)  # a gate that is off, one that is on
    cases = {
        "dependent columns": (np.column_stack([x, x[:, 0] * 2, np.ones(40)]), D),
        "one column": (x[:, :1], D),
        "fewer rows than columns": (rng.standard_normal((40, 60)), D),
        "copies of a row": (np.repeat(x[:8], 5, axis=0), np.repeat(D[:8], 5, axis=0)),
        "a gate that is never on, and one that always is": (x, twice),
        "columns of very different sizes": (x * np.array([1e-3, 1e3]), D),
        "no column that varies": (np.zeros((40, 2)), D),
        "no gate": (x, D[:, :0]),
    }
    for k, (name, (X, patterns)) in enumerate(cases.items()):
        for bias in (True, False) if loss != "softmax" else (k % 2 == 1,):
            problem = KINDS[kind][0](X, y, patterns, 0.05, loss=loss, bias=bias)
            ours, theirs = GramNewton(tol=1e-7).solve(problem), KINDS[kind][1](tol=1e-7).solve(problem)
            assert ours.status == "optimal", (name, bias, ours)
            assert abs(ours.objective - theirs.objective) <= ours.duality_gap + theirs.duality_gap + 1e-12, name


@pytest.mark.parametrize("kind", KINDS)
def test_the_squared_loss_leaves_the_rows_alone_whatever_the_number_of_steps_is(kind, monkeypatch):
    passes, own = {"n": 0}, {name: getattr(GatedDesign, name) for name in ("forward", "adjoint", "gram")}
    for name in own:

        def counted(self, *arguments, name=name):
            passes["n"] += 1
            return own[name](self, *arguments)

        monkeypatch.setattr(GatedDesign, name, counted)
    needed = {}
    for tol in (1e-2, 1e-9):
        passes["n"] = 0
        steps = GramNewton(tol=tol).solve(problem_of(kind, "squared", 0.05)).n_iter
        needed[tol] = steps, passes["n"]
    assert needed[1e-9][0] > needed[1e-2][0] or kind == "squares"
    assert max(made for _, made in needed.values()) <= 7


@pytest.mark.kept("softmax-squares")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_a_path_makes_the_sums_once_and_starts_from_the_last_solution(kind, loss, monkeypatch):
    made, own = [], QuadraticSum.__init__

    def counted(self, *arguments):
        made.append(1)
        own(self, *arguments)

    monkeypatch.setattr(QuadraticSum, "__init__", counted)
    problem = problem_of(kind, loss, 1.0)
    top, kernel, steps, alone = problem.beta, [], 0, 0
    for share in np.geomspace(0.5, 0.01, 6):
        problem.penalty.beta = share * top
        followed = GramNewton(tol=1e-7).solve(problem, None, kernel)
        assert followed.status == "optimal"
        steps += followed.n_iter
    assert len(made) == (loss == "squared")
    for share in np.geomspace(0.5, 0.01, 6):
        problem.penalty.beta = share * top
        fresh = GramNewton(tol=1e-7).solve(problem)
        alone += fresh.n_iter
    rounding = 1e-14 * fresh.objective  # gaps may be 0
    assert abs(followed.objective - fresh.objective) <= followed.duality_gap + fresh.duality_gap + rounding
    assert steps <= alone
    with pytest.raises(ArgumentError, match="that of another problem"):
        GramNewton().solve(problem_of(kind, loss, 0.1, seed=1), None, kernel)
    with pytest.raises(ArgumentError, match="kernel"):
        GramNewton().solve(problem, None, [1])


def test_a_start_of_another_solver_is_gone_on_from():
    problem = problem_of("squares", "softmax", 0.02)
    near = Fista(tol=1e-3).solve(problem)
    start = problem.point(near.coefficients)
    assert GramNewton(tol=1e-8).solve(problem, start).n_iter < GramNewton(tol=1e-8).solve(problem).n_iter


def test_columns_that_are_not_kept_give_the_same(monkeypatch):
    problem = problem_of("norms", "softmax", 0.05, n=600)
    kept = GramNewton(tol=1e-7).solve(problem)
    monkeypatch.setattr("clifford_rand_nn.solvers.gram_newton._KEPT", 0.0)
    again = GramNewton(tol=1e-7).solve(problem)
    assert again.n_iter == kept.n_iter
    assert again.objective == pytest.approx(kept.objective, rel=1e-9)


@pytest.mark.parametrize("loss", ["squared", "softmax"])
def test_the_memory_that_is_asked_for_is_what_the_matrices_and_the_columns_take(loss):
    problem = problem_of("norms", loss, 0.05, n=1500, d=8, m=20)
    assert problem.map.sigma > 0  # made beforehand, and what follows counts only the solve
    tracemalloc.start()
    GramNewton(max_iter=3).solve(problem)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak <= 1.1 * (GramNewton.memory(problem) + GatedDesign.bytes(problem))


@pytest.mark.parametrize("loss", LOSSES)
def test_the_slope_and_the_products_of_a_loss_are_those_of_its_value(loss):
    problem = problem_of("norms", loss, 0.1, n=40, d=2, m=3, sample_weight=np.linspace(0.5, 2, 40))
    design = GatedDesign(problem, np.inf)
    rng = np.random.default_rng(0)
    x, p = (0.3 * rng.standard_normal((design.N + design.q, problem.outputs)) for _ in range(2))
    smooth = (QuadraticSum if problem.datafit.loss.is_quadratic else RowSum)(design, problem.datafit)
    smooth.move_to(x)
    line, h = smooth.along(p), 1e-5
    assert line(0.0) == pytest.approx(smooth.value)
    assert smooth.value == pytest.approx(problem.n * problem.datafit.value(design.forward(x)))
    assert (line(h) - line(-h)) / (2 * h) == pytest.approx(-float(np.vdot(smooth.slope, p)), rel=1e-6)
    smooth.model(False, np.float64)
    bend, down = float(np.vdot(p, smooth.product(p, np.float64))), smooth.slope
    smooth.move_to(x + h * p)
    assert bend == pytest.approx(float(np.vdot(down - smooth.slope, p)) / h, rel=1e-2)


def test_the_system_of_the_norms_is_positive_and_its_right_side_the_slope_of_the_merit():
    problem = problem_of("norms", "squared", 0.1, n=60)
    design = GatedDesign(problem, np.inf)
    rng = np.random.default_rng(0)
    x, slope, p = (rng.standard_normal((design.N + design.q, problem.outputs)) for _ in range(3))
    terms = Norms(design, 2.0, problem.datafit.y, slope, False)
    linear = terms.linearize(x, slope)
    h = 1e-6
    by_difference = (terms.value(x + h * p) - terms.value(x - h * p)) / (2 * h)
    assert by_difference == pytest.approx(float(np.vdot(slope - linear.right, p)), rel=1e-6)
    largest = np.einsum("prc,prc->p", linear.directions, linear.directions)
    assert (largest < linear.diagonal).all()


@pytest.mark.slow
def test_estimators_and_paths_take_it_where_rows_are_many():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((6000, 4))
    y = np.argmax(np.maximum(X @ rng.standard_normal((4, 8)), 0) @ rng.standard_normal((8, 4)), axis=1)
    for penalty in ("group_l2", "ridge"):
        model = GatedReLUClassifier(8, gates="gaussian", loss="logistic", penalty=penalty, random_state=0, beta=1e-2)
        model.fit(X, y)
        assert model.result_.solver == "gram"
        assert "sums over rows some" in model.result_.reason
        assert model.certificate_.verify(X, y).relative_gap <= 2e-6
    target, gates = np.abs(X[:, 0]), sample_gates(X, 8, random_state=0)
    path = gated_path(X, target, gates, n_betas=3)
    alone = GatedReLURegressor(8, beta=float(path.betas[-1]), gates=gates, bias=True).fit(X, target)
    assert (path.relative_gaps <= 1e-6).all()
    assert path.objectives[-1] == pytest.approx(alone.result_.objective, rel=3e-6)
    assert AutoSolver().choose(GatedReLUProblem(X, target, X[:, :2] > 0, 0.1))[0].tol == 1e-6


def test_what_brings_sizes_within_limits():
    sizes = np.array([0.0, 5e-324, 1.0, 4.0, 8.0, np.inf])
    np.testing.assert_array_equal(shrinkage(sizes, 4.0), [1, 1, 1, 1, 0.5, 0])
    np.testing.assert_array_equal(shrinkage(sizes[2:5], np.array([0.0, 2.0, 1e300])), [0, 0.5, 1])


@pytest.mark.parametrize("loss", LOSSES)
def test_any_beta_and_rows_that_the_biases_span_end_without_an_overflow(loss):
    """The square of the radius, and of a weight for slopes of zero, were beyond the largest float."""
    X, y, patterns = arguments(loss, n=12, d=2, m=3)
    for beta in (1e200, 1e-200):
        result = GramNewton(max_iter=5).solve(GatedReLUProblem(X, y, patterns, beta, loss=loss))
        assert np.isfinite(result.objective)
    constant = GatedReLUProblem(np.full((12, 1), 1e8), y, np.ones((12, 2), dtype=bool), 0.5, loss=loss)
    assert GramNewton().solve(constant).status == "optimal"


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("outputs", [1, 3])
def test_products_are_those_with_the_columns(fit_intercept, outputs):
    """By the rows and the patterns as by the columns, up to the rounding of either precision."""
    rng = np.random.default_rng(0)
    X, patterns = rng.standard_normal((1100, 4)) + 2, rng.random((1100, 6)) < 0.5
    problem = GatedReLUProblem(X, X[:, :1], patterns, 0.1, bias=False, fit_intercept=fit_intercept)
    design = GatedDesign(problem, np.inf)
    A = np.concatenate([design._made(slice(0, 600)), design._made(slice(600, 1100))])
    x, R = rng.standard_normal((A.shape[1], outputs)), rng.standard_normal((1100, outputs))
    np.testing.assert_allclose(design.forward(x), A @ x, atol=1e-12)
    np.testing.assert_allclose(design.adjoint(R), A.T @ R, atol=1e-10)
    for dtype, tol in ((np.float64, 1e-13), (np.float32, 1e-5)):
        found = design.turned(x, lambda rows, u: 2 * u, dtype)
        np.testing.assert_allclose(found, 2 * A.T @ (A @ x), atol=tol * np.abs(A.T @ (A @ x)).max())
    weights = rng.random(1100) * (rng.random(1100) < 0.4)
    np.testing.assert_allclose(design.gram(weights, np.float64), A.T @ (weights[:, None] * A), atol=1e-10)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["norms", "ridge"])
def test_a_softmax_needs_few_gram_matrices_and_steps(kind, monkeypatch):
    """Six classes in twelve columns: all rows of Gram matrices serve several steps, 25 of which reach a gap of 1e-5."""
    made, gram = [], GatedDesign.gram
    rows = lambda weights: np.count_nonzero(weights) / 3000  # noqa: E731
    monkeypatch.setattr(GatedDesign, "gram", lambda self, *given: (made.append(rows(given[0])), gram(self, *given))[1])
    rng = np.random.default_rng(0)
    centers, y = 3 * rng.standard_normal((6, 12)), rng.integers(0, 6, 3000)
    X = centers[y] + 1.5 * rng.standard_normal((3000, 12))
    beta = 1e-4 if kind == "ridge" else 1e-3
    problem = (GatedRidgeProblem if kind == "ridge" else GatedReLUProblem)(
        X, np.eye(6)[y], X @ rng.standard_normal((12, 10)) > 0, beta, loss="softmax", bias=False
    )
    result = GramNewton(tol=1e-5, max_iter=25).solve(problem)
    assert result.converged
    assert sum(made) <= result.n_iter / 2


def softmax_system(kind, seed=0):
    """A softmax away from its optimum, with Newton's system there."""
    problem = problem_of(kind, "softmax", 0.05, n=200, d=3, m=4, seed=seed)
    design = GatedDesign(problem, np.inf)
    rng = np.random.default_rng(seed)
    smooth = RowSum(design, problem.datafit)
    x = rng.standard_normal((design.N + design.q, problem.outputs))
    smooth.move_to(x - x.mean(axis=1, keepdims=True))
    theta = problem.datafit.residual(problem.null_predictions)
    terms = Squares(design, 2.0, None) if kind == "squares" else Norms(design, 2.0, theta, smooth.slope, False)
    return design, smooth, terms.linearize(x, smooth.slope)


@pytest.mark.parametrize("kind", KINDS)
def test_the_factors_of_the_classes_solve_their_systems(kind):
    """Blocks of the classes less the directions of the gates, which couple them: as the dense matrix is solved."""
    design, smooth, linear = softmax_system(kind)
    C, order = smooth.theta.shape[1], design.N + design.q
    smooth.products = 10**9  # which took longer than Gram matrices
    grams = smooth.model(False, np.float32)
    assert len(grams) == C
    whole = np.zeros((order, C, order, C))
    for c, G in enumerate(grams):
        whole[:, c, :, c] = G + np.diag(np.concatenate([np.repeat(linear.diagonal, design.r), np.zeros(design.q)]))
    for i in range(design.P if linear.directions is not None else 0):
        own = slice(i * design.r, (i + 1) * design.r)
        whole[own, :, own] -= np.multiply.outer(linear.directions[i], linear.directions[i])
    b = np.random.default_rng(1).standard_normal((order, C))
    expected = np.linalg.solve(whole.reshape(order * C, -1), b.ravel()).reshape(b.shape)
    found = Preconditioner(design, grams, linear, False)(b)
    np.testing.assert_allclose(found, expected, atol=1e-3 * np.abs(expected).max())
    assert smooth.model(False, np.float32) is grams
    assert len(smooth.model(False, np.float64)) == 1


def separated(kind, beta, scale=1.0):
    """Five classes in 1,500 rows, which gates with free biases separate, in another unit of the features."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 5, 1500)
    X = 1.5 * rng.standard_normal((5, 10))[y] + rng.standard_normal((1500, 10))
    patterns = X @ rng.standard_normal((10, 40)) > 0
    unit = scale if kind == "norms" else scale**2
    return KINDS[kind][0](scale * X, np.eye(5)[y], patterns, unit * beta, loss="softmax")


@pytest.mark.parametrize(("kind", "beta"), [("squares", 1e-6), ("norms", 1e-5)])
def test_a_small_beta_of_a_softmax_is_reached_by_whole_steps(kind, beta, monkeypatch):
    """Steps of a sixteenth if the radius of the problem is aimed at from the start; the same steps in every unit."""
    lengths, own, kinds = [], _Run._length, []

    def length(self, *given):
        lengths.append(own(self, *given))
        kinds.append(self.dtype)
        return lengths[-1]

    monkeypatch.setattr(_Run, "_length", length)
    steps = {GramNewton(tol=1e-5, max_iter=12).solve(separated(kind, beta, s)).n_iter for s in (2.0**-30, 2.0**30)}
    assert len(steps) == 1
    assert max(steps) < 12
    assert min(lengths) >= 0.5
    assert set(kinds) == {np.float32}


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_preconditioner_is_positive_definite_where_biases_have_no_curvature(dtype):
    """All but a few rows are fitted to 1e-9: the columns of 41 biases depend on each other, up to rounding."""
    problem = separated("squares", 1e-6)
    design, rng = GatedDesign(problem, np.inf), np.random.default_rng(1)
    weights = np.where(np.arange(problem.n) < 30, 1.0, 1e-9 * rng.random(problem.n))
    gram = design.gram(weights, dtype)
    order = design.N + design.q
    terms = Squares(design, 1e-3, None).linearize(np.zeros((order, 1)), np.zeros((order, 1)))
    factor = Preconditioner(design, [gram], terms, False)
    inverse = np.column_stack([factor(column[:, None])[:, 0] for column in np.eye(order)[:: order // 60]])
    part = inverse[:: order // 60]
    np.testing.assert_allclose(part, part.T, atol=1e-2 * np.abs(part).max())
    assert np.linalg.eigvalsh(part + part.T).min() > 0
    free = np.eye(order)[:, design.N :] @ rng.standard_normal((design.q, 1))
    assert np.abs(factor(free)[design.N :]).max() * gram.diagonal()[design.N :].min() <= 1e6 * np.abs(free).max()
