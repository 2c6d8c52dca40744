"""The gated solver on arrays of any library: agreement with the NumPy solvers, precision, place, errors."""

import array_api_strict
import numpy as np
import pytest

from clifford_rand import ArgumentError
from clifford_rand_nn.datafits.choice import make_datafit
from clifford_rand_nn.datafits.datafit import Datafit, unpenalised_fit
from clifford_rand_nn.problems.gated import GatedReLUProblem, Point
from clifford_rand_nn.solvers.arrays import problem as array_problem
from clifford_rand_nn.solvers.arrays.fista import _State, solve_array
from clifford_rand_nn.solvers.arrays.problem import ArrayProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.fista import Fista
from support.pairwise import pairwise
from support.problems import LOSSES, delta_of, make, targets

LIBRARIES = ["numpy", "strict", "torch"]


class Library:
    """Arrays of one library from NumPy's, and back."""

    def __init__(self, name):
        self.name = name
        if name == "torch":
            self.module = pytest.importorskip("torch")
            self.module.set_num_threads(1)  # small operations in two threads wait for each other on a busy machine
        else:
            self.module = {"numpy": np, "strict": array_api_strict}[name]

    def __call__(self, array):
        return self.module.asarray(np.ascontiguousarray(array))

    def back(self, array):
        return np.from_dlpack(array) if self.name != "numpy" else array

    def arrays(self, problem, dtype=np.float64):
        weights = problem.datafit.sample_weight
        more = {} if weights is None else {"sample_weight": self(weights)}
        data = [self(a) for a in (problem.X.astype(dtype), problem.datafit.y, problem.map.patterns)]
        return (*data, problem.beta), {
            "loss": problem.loss,
            "bias": problem.map.bias,
            "fit_intercept": problem.map.fit_intercept,
            **more,
        }


@pytest.fixture(params=LIBRARIES)
def library(request):
    return Library(request.param)


def solved(library, problem, dtype=np.float64, **options):
    arrays, more = library.arrays(problem, dtype)
    return solve_array(*arrays, **more, **options)


def weighted(problem, seed=0):
    w = np.random.default_rng(seed).uniform(0.2, 3, problem.n)
    return GatedReLUProblem(
        problem.X,
        problem.datafit.y,
        problem.map.patterns,
        problem.beta,
        loss=problem.loss,
        bias=problem.map.bias,
        fit_intercept=problem.map.fit_intercept,
        sample_weight=w,
    )


def check(library, result, problem, rel):
    """The result's own claim, and the same from the coefficients alone in NumPy."""
    assert result.status == "optimal"
    found = result.coefficients
    coef, gate, intercept = (library.back(part) for part in found)
    C, P, d = problem.outputs, problem.map.n_patterns, problem.X.shape[1]
    assert (coef.shape, gate.shape, intercept.shape) == ((C, P, d), (C, P), (C,))
    f = np.einsum("np,npc->nc", problem.map.patterns, np.einsum("nd,cpd->npc", problem.X, coef) + gate.T) + intercept
    penalty = np.sqrt((coef**2).sum(axis=(0, 2))).sum()
    assert problem.datafit.value(f) + problem.beta * penalty == pytest.approx(result.objective, rel=rel)
    bound = result.objective - result.duality_gap
    theta = library.back(result.dual_point)
    assert problem.datafit.dual_value(theta) == pytest.approx(bound, rel=rel)
    assert problem.dual_norm(theta) <= problem.n * problem.beta * (1 + rel)
    assert np.abs(problem.map.Q.T @ theta).max(initial=0) <= rel * np.linalg.norm(theta)
    np.testing.assert_allclose(library.back(result.fitted), f, atol=1e3 * rel * np.abs(f).max())


@pairwise({"name": LIBRARIES, "loss": LOSSES, "bias": [True, False], "fit_intercept": [True, False]})
def test_agrees_with_fista(name, loss, bias, fit_intercept):
    library = Library(name)
    problem = make(loss, bias, fit_intercept, n=60, m=4, beta=0.035)
    if bias == fit_intercept:
        problem = weighted(problem)
    reference = Fista(tol=1e-8).solve(problem)
    result = solved(library, problem)
    assert library.back(result.coefficients.coef).any()
    check(library, result, problem, 1e-9)
    assert result.objective - result.duality_gap <= reference.objective * (1 + 1e-12)
    assert reference.objective - reference.duality_gap <= result.objective * (1 + 1e-12)


@pytest.mark.parametrize("loss", LOSSES)
def test_agrees_with_cvxpy_by_weights(loss):
    problem = weighted(make(loss, n=60, m=4, beta=0.05), seed=1)
    reference = CvxpyReference().solve(problem)
    assert solved(Library("numpy"), problem, tol=1e-8).objective == pytest.approx(reference.objective, rel=1e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_single_precision_data_end_in_double(library, loss):
    problem = make(loss, bias=False, n=60, m=4, beta=0.05)
    rounded = GatedReLUProblem(
        problem.X.astype(np.float32), problem.datafit.y, problem.map.patterns, 0.05, loss=loss, bias=False
    )
    result = solved(library, problem, np.float32)
    assert result.fitted.dtype == library.module.float64
    assert result.objective == pytest.approx(Fista().solve(rounded).objective, rel=2e-6)


@pytest.mark.parametrize("loss", LOSSES)
def test_a_device_without_double_precision(library, loss, monkeypatch):
    monkeypatch.setattr(array_problem, "wide_dtype", lambda xp, device: xp.float32)
    problem = make(loss, bias=False, n=60, m=4, beta=0.05)
    result = solved(library, problem, np.float32, tol=1e-3)
    assert result.status == "optimal"
    assert result.coefficients.coef.dtype == library.module.float32
    assert result.objective == pytest.approx(Fista(tol=1e-6).solve(problem).objective, rel=2e-3)


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("weights", [False, True])
def test_a_loss_is_the_same_in_every_library(library, loss, weights):
    """Value, residual, dual value, prox, balance, scale: on random predictions near and far, against NumPy's."""
    rng = np.random.default_rng(3)
    n, eps = 50, 1e-13
    w = rng.uniform(0.1, 4, n) if weights else None
    ours = make_datafit(loss, targets(loss, n, rng), n, "test", delta_of(loss, 0.8).get("huber_delta"), w)
    w = ours.sample_weight
    twin = Datafit(ours.loss, library(ours.y), None if w is None else library(w))
    C = ours.y.shape[1]
    assert twin.curvature == pytest.approx(ours.curvature, rel=1e-14)
    Q = np.linalg.qr(np.hstack([np.ones((n, 1)), rng.random((n, 3)) < 0.5]))[0]
    for size in (0.0, 0.3, 3.0, 800.0):
        f = size * rng.standard_normal((n, C))
        assert twin.value(library(f)) == pytest.approx(ours.value(f), rel=eps)
        theta = ours.residual(f)
        np.testing.assert_allclose(library.back(twin.residual(library(f))), theta, rtol=1e-11, atol=1e-300)
        for factor in (1.0, 0.5, 1.2, -0.1):
            assert twin.dual_value(library(factor * theta)) == pytest.approx(ours.dual_value(factor * theta), rel=1e-11)
        for largest in (0.01, 5.0, np.inf):
            assert twin.scale(library(theta), largest) == pytest.approx(ours.scale(theta, largest), rel=eps)
        for step in (0.1, 10.0):
            np.testing.assert_allclose(
                library.back(twin.prox(library(f), step)), ours.prox(f, step), rtol=1e-9, atol=1e-9
            )
    for size in (0.0, 1e-3, 0.03):  # near the best fit by biases; far from it Newton's method may fail, as it may there
        f = unpenalised_fit(ours, Q) + size * rng.standard_normal((n, C))
        moved = ours.balance(ours.residual(f), Q)
        theta = twin.residual(library(f))  # its own: which entries are at a bound is told without a tolerance
        np.testing.assert_allclose(library.back(twin.balance(theta, library(Q))), moved, atol=1e-9)
        assert np.linalg.norm(Q.T @ moved) <= 1e-11 * np.linalg.norm(moved)


@pytest.mark.parametrize("n", [30, 3])
def test_prox_and_map_are_those_of_numpy(library, n):
    """The prox by the minimum that it claims, and predictions, gradient and biases by the NumPy problem's."""
    rng = np.random.default_rng(0)
    ours = make("squared", n=n, d=5, m=4)
    (X, y, D, beta), more = library.arrays(ours)
    twin = ArrayProblem(X, y, D, beta, **more)
    r, P = twin.map.d, twin.map.n_patterns
    assert r == ours.map.d
    U, c = rng.standard_normal((r, P, 2)), rng.standard_normal((ours.map.Q.shape[1], 2))
    U[:, 0] *= 1e-3
    new = library.back(twin.penalty.prox(library(U), library(np.asarray(0.7))))
    weights = library.back(twin.map.weights)[:, None, None]
    norms = np.sqrt(((weights * new) ** 2).sum(axis=(0, 2)))
    assert not new[:, 0].any()
    active = norms > 0
    slope = (new - U) + 0.7 * beta * weights**2 * new / np.where(active, norms, 1)[:, None]
    np.testing.assert_allclose(slope[:, active], 0, atol=1e-9)
    assert (np.sqrt(((U / weights) ** 2).sum(axis=(0, 2)))[~active] <= 0.7 * beta).all()
    coefficients = [library.back(part) for part in twin.coefficients(Point(library(U), library(c)))]
    coef, gate, intercept = coefficients
    f = np.einsum("np,npc->nc", ours.map.patterns, np.einsum("nd,cpd->npc", ours.X, coef) + gate.T) + intercept
    np.testing.assert_allclose(library.back(twin.map.forward(library(U), library(c))), f, rtol=1e-9, atol=1e-9)
    R = rng.standard_normal((n, 2))
    gU, gc = (library.back(part) for part in twin.map.adjoint(library(R)))
    assert np.vdot(R, f) == pytest.approx(np.vdot(gU, U) + np.vdot(gc, c), rel=1e-9)
    assert twin.map.sigma == pytest.approx(ours.map.sigma, rel=0.06)  # two power iterations, from different starts


@pairwise({"name": LIBRARIES, "bias": [True, False], "fit_intercept": [True, False], "weights": [False, True]})
def test_kernel_agrees_with_fista(name, bias, fit_intercept, weights):
    library = Library(name)
    problem = make("squared", bias, fit_intercept, n=60, m=5, beta=0.02)
    problem = weighted(problem) if weights else problem
    reference = Fista(tol=1e-9).solve(problem)
    result = solved(library, problem, solver="kernel", tol=1e-8)
    check(library, result, problem, 1e-9)
    assert result.n_iter <= 12
    assert result.objective == pytest.approx(reference.objective, rel=2e-8)


def test_kernel_says_what_stopped_it(library):
    problem = make("squared", n=50, beta=1e-3)
    short = solved(library, problem, solver="kernel", tol=1e-10, max_iter=1)
    assert "stopped after 1 iterations at a relative gap of" in short.message
    assert short.n_iter == 1
    late = solved(library, problem, solver="kernel", tol=1e-10, max_time=1e-4)
    assert "try a larger max_time" in late.message
    rounded = solved(library, problem, solver="kernel", tol=1e-16)
    assert rounded.status == "optimal" or "by rounding" in rounded.message
    assert rounded.relative_gap < 1e-9
    with pytest.raises(ArgumentError, match=r"'solver' parameter of solve_array must be one of 'fista', 'kernel'"):
        solved(library, problem, solver="ipm")


CASES = {
    "more columns than rows": {"n": 8, "d": 20},
    "one column": {"n": 30, "d": 1},
    "large": {"scale": 1e6},
    "small": {"scale": 1e-6},
    "duplicates": {"rows": [0, 0, 1, 1, 2, 2, 3, 4, 5, 5, 6, 6]},
    "rank one": {"columns": [0, 0, 0]},
    "integers": {"round": True},
}


@pairwise({"name": LIBRARIES, "case": CASES, "dtype": [np.float64, np.float32]})
def test_unusual_data(name, case, dtype):
    library, about = Library(name), CASES[case]
    problem = make("squared", n=about.get("n", 30), d=about.get("d", 3), m=4)
    X, y, D = problem.X, problem.datafit.y, problem.map.patterns
    rows, scale = about.get("rows", slice(None)), about.get("scale", 1.0)
    X, y, D = scale * X[rows], scale * y[rows], D[rows]
    X = X[:, about["columns"]] if "columns" in about else np.round(X) if "round" in about else X
    X = X.astype(dtype)
    beta = 0.03 * scale**2
    reference = Fista(tol=1e-7).solve(GatedReLUProblem(X, y, D, beta))
    result = solve_array(library(X), library(y), library(D), beta, tol=1e-6)
    assert result.status == "optimal"
    assert result.objective == pytest.approx(reference.objective, rel=2e-6)
    kernel = solve_array(library(X), library(y), library(D), beta, solver="kernel", tol=1e-7)
    assert kernel.status == "optimal"
    assert kernel.objective == pytest.approx(reference.objective, rel=1e-6)


def test_no_gate_and_idle_gates(library):
    y = np.array([1.0, 2.0, 6.0])
    X, none, idle = np.ones((3, 2)), np.zeros((3, 0), bool), np.zeros((3, 2), bool)
    for patterns, solver in ((none, "fista"), (none, "kernel"), (idle, "fista"), (idle, "kernel")):
        result = solve_array(library(X), library(y), library(patterns), 0.1, solver=solver)
        assert float(result.coefficients.intercept[0]) == pytest.approx(3.0, abs=1e-6)
        assert result.objective == pytest.approx(np.mean((y - 3) ** 2) / 2, rel=1e-6)
    zero = solve_array(library(0 * X), library(y), library(~idle), 0.1, bias=False, fit_intercept=False)
    assert zero.objective == pytest.approx(np.mean(y**2) / 2, rel=1e-12)


def test_arrays_stay_in_their_library(library):
    result = solved(library, make(n=30))
    for part in (*result.coefficients, result.fitted, result.dual_point):
        assert type(part) is type(library(np.zeros(1)))
    assert isinstance(result.objective, float)
    assert isinstance(result.relative_gap, float)
    assert result.n_iter == result.history[-1].n_iter
    rows = []
    short = solved(library, make(n=50, beta=1e-3), tol=1e-12, max_iter=3, callback=rows.append)
    assert tuple(rows) == short.history
    assert "stopped after 3 iterations at a relative gap of" in short.message
    late = solved(library, make(n=50, beta=1e-3), tol=1e-15, max_time=1e-4)
    assert "try a larger max_time" in late.message


@pytest.mark.parametrize("loss", LOSSES)
def test_torch_is_never_converted_and_a_step_waits_for_nothing(loss, monkeypatch):
    library = Library("torch")
    torch = library.module
    arrays, more = library.arrays(weighted(make(loss, bias=False, n=30, beta=0.1)))
    X = arrays[0].requires_grad_()

    def refuse(*_args, **_options):
        raise AssertionError("a tensor left its library, or its device")

    for name in ("__array__", "numpy", "tolist"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    result = solve_array(X, *arrays[1:], **more)
    assert not result.fitted.requires_grad
    problem = ArrayProblem(X, *arrays[1:], **more)
    z = problem.null_point()
    state = _State.at(z, problem.predictions(z), problem.lipschitz() / 4)
    for name in ("__bool__", "__float__", "__int__", "__index__", "item", "nonzero"):
        monkeypatch.setattr(torch.Tensor, name, refuse)
    before = state.L
    for _ in range(30):
        state = state.stepped(problem, False)
    monkeypatch.undo()
    assert float(state.L) > float(before)  # the first steps were too long, and were undone
    assert problem.objective(state.z, state.f) < problem.objective(z)


def test_errors(library):
    X, y, D = library(np.ones((4, 2))), library(np.ones(4)), library(np.ones((4, 3), bool))
    other = array_api_strict.ones(4) if library.name == "numpy" else np.ones(4)
    with pytest.raises(
        ArgumentError, match=r"'y' parameter of solve_array must be an array of the library of X, .* Got one of"
    ):
        solve_array(X, other, D, 0.1)
    with pytest.raises(
        ArgumentError, match=r"'y' parameter of solve_array must be an array of a library .* Got list instead"
    ):
        solve_array(X, [1.0] * 4, D, 0.1)
    with pytest.raises(ArgumentError, match=r"'y' parameter of solve_array must be an array .* Got NoneType instead"):
        solve_array(X, None, D, 0.1)
    for beta in (0.0, -1.0, float("nan")):
        with pytest.raises(ArgumentError, match=r"'beta' parameter of solve_array must be a finite number > 0"):
            solve_array(X, y, D, beta)
    with pytest.raises(ArgumentError, match=r"'X' parameter of solve_array must be an \(n, d\) array"):
        solve_array(X[0, :], y, D, 0.1)
    with pytest.raises(ArgumentError, match=r"'X' parameter of solve_array must be an array in float32 or float64"):
        solve_array(library(np.ones((4, 2), int)), y, D, 0.1)
    with pytest.raises(ArgumentError, match=r"'X' parameter of solve_array must be finite. Got 1 NaN"):
        solve_array(library(np.array([[1.0], [np.nan]])), y[:2], D[:2, :], 0.1)
    with pytest.raises(ArgumentError, match=r"'y' parameter of solve_array must be of shape \(4,\) or \(4, C\)"):
        solve_array(X, y[:3], D, 0.1)
    with pytest.raises(
        ArgumentError, match=r"'patterns' parameter of solve_array must be a boolean array of shape \(4, P\)"
    ):
        solve_array(X, y, D[:3, :], 0.1)
    with pytest.raises(ArgumentError, match=r"'patterns' parameter of solve_array must be a boolean array"):
        solve_array(X, y, X, 0.1)
    with pytest.raises(ArgumentError, match=r"'loss' parameter of solve_array must be one of 'squared'"):
        solve_array(X, y, D, 0.1, loss="hinge")
    with pytest.raises(ArgumentError, match=r"one column of -1 and 1 for loss='logistic'"):
        solve_array(X, 2 * y, D, 0.1, loss="logistic")
    with pytest.raises(ArgumentError, match=r"columns of -1 and 1 for loss='squared_hinge'"):
        solve_array(X, 2 * y, D, 0.1, loss="squared_hinge")
    with pytest.raises(ArgumentError, match=r"one-hot rows of C ≥ 2 columns"):
        solve_array(X, y, D, 0.1, loss="softmax")
    with pytest.raises(ArgumentError, match=r"'sample_weight' parameter of solve_array must be > 0"):
        solve_array(X, y, D, 0.1, sample_weight=y - 1)
    with pytest.raises(ArgumentError, match=r"'sample_weight' parameter of solve_array must be of shape \(4,\)"):
        solve_array(X, y, D, 0.1, sample_weight=y[:3])
    with pytest.raises(ArgumentError, match=r"'tol' parameter of solve_array"):
        solve_array(X, y, D, 0.1, tol=0.0)
    with pytest.raises(ArgumentError, match=r"'solver' parameter of solve_array must be 'fista' for loss='logistic'"):
        solve_array(X, y, D, 0.1, loss="logistic", solver="kernel")
    with pytest.raises(ArgumentError, match=r"'max_iter' parameter of solve_array"):
        solve_array(X, y, D, 0.1, max_iter=0)


def test_another_device():
    first, second = array_api_strict.Device("CPU_DEVICE"), array_api_strict.Device("device1")
    X = array_api_strict.ones((4, 2), device=first)
    with pytest.raises(ArgumentError, match=r"'y' parameter of solve_array must be on the device of X"):
        solve_array(X, array_api_strict.ones(4, device=second), X > 0, 0.1)
    rng = np.random.default_rng(0)
    data = rng.standard_normal((20, 3)), rng.standard_normal(20), rng.random((20, 3)) < 0.5
    there = [array_api_strict.asarray(part, device=second) for part in data]
    result = solve_array(*there, 0.05)
    assert result.coefficients.coef.device == second
    assert result.objective == pytest.approx(solve_array(*data, 0.05).objective, rel=1e-6)
