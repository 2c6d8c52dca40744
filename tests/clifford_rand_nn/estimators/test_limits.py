"""Limits of every solver and path: time, iterations, memory and Ctrl-C end them with the best point so far."""

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn import gated_path, refine_gates
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.base import Limits, Status, check_limits, is_stuck
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.lasso_path import homotopy
from clifford_rand_nn.solvers.stopping import Watch
from support import limited
from support.clock import within
from support.limited import GATED, GATES, LONG, NESTED, OURS, PATHS, SOLVERS, K, X, Y, is_sound


def stop_at(k, error=KeyboardInterrupt):
    rows = []

    def stop(row):
        rows.append(row)
        if len(rows) == k:
            raise error

    return rows, stop


@pytest.mark.parametrize("name", OURS)
@pytest.mark.parametrize("k", [1, 2, 3])
def test_an_interrupt_at_the_kth_check_leaves_the_best_point(name, k):
    problem, solve = SOLVERS[name]
    rows, stop = stop_at(k)
    result = solve(tol=1e-12, callback=stop)
    assert result.status is Status.INTERRUPTED
    assert result.interrupted
    assert not is_stuck(result)
    assert "stopped by an interrupt" in result.message
    assert tuple(rows) == result.history
    assert [row.objective for row in rows] == sorted((row.objective for row in rows), reverse=True)
    is_sound(problem, result)


@pytest.mark.filterwarnings("ignore:Solution may be inaccurate")
@pytest.mark.parametrize("name", SOLVERS)
def test_time_iterations_and_memory_end_it_with_the_best_point(name):
    problem, solve = SOLVERS[name]
    with within(20.0):
        result = solve(tol=1e-14, max_time=2e-3)
    assert result.status is Status.MAX_TIME
    assert "try a larger max_time" in result.message
    is_sound(problem, result)
    for most in (1, 2):
        result = solve(tol=1e-14, max_iter=most)
        assert result.n_iter == most
        assert result.status is Status.MAX_ITER
        assert "max_iter" in result.message
        is_sound(problem, result)
    if name == "working set":  # grows: it ends where it would take more
        result = solve(tol=1e-10, max_memory=1e5)
        assert result.status is Status.MAX_MEMORY
        assert result.n_iter >= 1
        is_sound(problem, result)
    else:  # refused before it is taken
        with pytest.raises(ArgumentError, match=r"'max_memory' parameter of \w+ must be "):
            solve(max_memory=100.0)


@pytest.mark.kept("majorized")
@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name in LONG)) for name in NESTED])
def test_an_interrupt_of_a_step_ends_what_it_is_a_step_of(name, monkeypatch):
    """At any check of any solver inside: the best point comes back as interrupted, or there is none yet."""
    check, checks, at = Watch.check, [], [0]

    def interrupted(self, *arguments, **named):
        check(self, *arguments, **named)
        checks.append(1)
        if len(checks) == at[0]:
            raise KeyboardInterrupt

    monkeypatch.setattr(Watch, "check", interrupted)
    NESTED[name]()
    assert checks  # else it has no solver inside
    for k in np.unique(np.linspace(1, len(checks), 3).astype(int)):
        checks.clear()
        at[0] = k
        try:
            found = NESTED[name]()
        except KeyboardInterrupt:
            continue
        assert len(checks) >= k
        assert _status(found) == "interrupted", k


def _status(found):
    return getattr(found, "result_", found).status


def test_memory_that_runs_out_is_a_status():
    _, stop = stop_at(3, MemoryError)
    result = Fista(tol=1e-12, callback=stop).solve(GATED)
    assert result.status is Status.MAX_MEMORY
    is_sound(GATED, result)


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({"tol": 0}, "'tol' parameter of me must be a finite number > 0"),
        ({"max_iter": 0}, "'max_iter' parameter of me must be an integer ≥ 1"),
        ({"max_time": -1}, "'max_time' parameter of me must be a finite number > 0"),
        ({"max_memory": "1 GB"}, "'max_memory' parameter of me must be a finite number > 0"),
        ({"callback": 3}, "'callback' parameter of me must be None or a function"),
    ],
)
def test_limits_are_checked_in_one_place(limits, message):
    with pytest.raises(ArgumentError, match=message):
        check_limits("me", **{"tol": 1.0, "max_iter": 1, **limits})
    (name,) = limits
    kinds = [kind for kind in vars(limited).values() if isinstance(kind, type) and issubclass(kind, Limits)]
    assert len(kinds) >= 13
    for solver in kinds:
        with pytest.raises(ArgumentError, match=f"'{name}' parameter of {solver.__name__} "):
            solver(**limits)


def test_a_solver_of_cvxpy_without_a_limit_refuses_it():
    with pytest.raises(ArgumentError, match="'max_time' parameter of CvxpyReference must be None with SCIPY"):
        CvxpyReference(solver="SCIPY", max_time=1.0)
    with pytest.raises(ArgumentError, match="'max_memory' parameter of CvxpyReference must be None with CLARABEL"):
        CvxpyReference(max_memory=1e9)


def test_statuses_that_end_all():
    assert {status for status in Status if status.ends_all} == {"interrupted", "max_time", "max_memory"}


# ------------------------------------------------------------------------------------------------------ paths


@pytest.mark.kept("gated")
@pytest.mark.parametrize("name", [pytest.param(name, marks=[pytest.mark.slow] * (name == "relu")) for name in PATHS])
def test_an_interrupt_ends_a_path_with_the_results_so_far(name):
    whole = PATHS[name]()
    assert (whole.status, len(whole), whole.message) == ("optimal", 8, "")
    rows, stop = stop_at(9)
    path = PATHS[name](callback=stop)
    assert len(rows) == 9  # nothing was solved after it
    assert path.status is Status.INTERRUPTED
    assert 1 <= len(path) < 8
    assert path.message == f"ended by interrupted after {len(path)} of 8 betas"
    assert path.message in repr(path)
    np.testing.assert_array_equal(path.betas, whole.betas[: len(path)])
    assert len(path.networks) == len(path.statuses) == len(path.objectives) == len(path)
    assert (path.objectives >= whole.lower_bounds[: len(path)] * (1 - 1e-9)).all()
    assert (path.lower_bounds <= whole.objectives[: len(path)] * (1 + 1e-9)).all()


@pytest.mark.parametrize("name", PATHS)
def test_time_ends_a_path_with_the_results_so_far(name):
    path = PATHS[name](max_time=1e-3)
    assert path.status is Status.MAX_TIME
    assert 1 <= len(path) < 8
    assert path.predict(X).shape == (len(path), len(X))


def test_an_interrupt_before_the_first_result_is_the_callers(monkeypatch):
    def stop(*arguments):
        raise KeyboardInterrupt

    path = gated_path(X, Y, GATES, bias=False, n_betas=8, callback=stop)
    assert len(path) == 1  # the point that the solver began with was judged
    monkeypatch.setattr(AutoSolver, "solve", stop)
    with pytest.raises(KeyboardInterrupt):
        gated_path(X, Y, GATES, bias=False)


def test_the_exact_path_ends_at_its_limits():
    _, stop = stop_at(4)
    path = homotopy(LassoProblem(K, Y, 1.0), 1e-4, callback=stop)
    assert (path.status, len(path)) == (Status.INTERRUPTED, 4)
    assert "this is the path so far" in path.message
    late = homotopy(LassoProblem(K, Y, 1.0), 1e-6, max_time=1e-6)
    assert late.status is Status.MAX_TIME
    assert len(late) >= 1


@pytest.mark.kept("1")
@pytest.mark.parametrize("k", [1, 2])
def test_an_interrupt_ends_refinement_with_the_rounds_so_far(k):
    rounds, stop = stop_at(k)
    options = {"gates": GATES.take(np.arange(5)), "beta": 1e-3, "bias": False, "random_state": 0}
    refined = refine_gates(X, Y, callback=stop, **options)
    assert refined.status is Status.INTERRUPTED
    assert refined.interrupted
    assert len(refined.history) == k
    assert refined.result.objective == pytest.approx(rounds[-1].objective)
    late = refine_gates(X, Y, max_time=1e-3, **options)
    assert late.status is Status.MAX_TIME
