"""Ctrl-C by a signal: at every moment after a point was judged, what is returned has the best one."""

import os
import signal
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from clifford_rand_nn import (
    BetaCV,
    ConvexNetworkClassifier,
    ConvexNetworkRegressor,
    GatedReLUClassifier,
    GatedReLURegressor,
    Shards,
    gated_path,
    lasso_path,
    refine_gates,
    relu_path,
)
from clifford_rand_nn.estimators import network_fit as network_shards
from clifford_rand_nn.estimators import sharded as gated_shards
from clifford_rand_nn.estimators import sparse_network
from clifford_rand_nn.estimators.folds import PipelinePrefix
from clifford_rand_nn.estimators.unique_rows import UniqueRows
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.base import Limits, Status
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from clifford_rand_nn.solvers.lasso_path import homotopy
from clifford_rand_nn.solvers.stopping import BestIterate, Interrupts, handed_over, held, raise_held
from support.ctrl_c import traced
from support.limited import GATED, OURS, PATHS, RIDGE, SIGNS, SOLVERS, K, X, Y, is_sound

_FEW = {"beta": 1e-2, "tol": 1e-3, "max_iter": 4, "random_state": 0}
WORK = {name: partial(SOLVERS[name][1], tol=1e-9, max_iter=3) for name in OURS}
WORK |= {f"path, {name}": PATHS[name] for name in ("gated", "ridge", "lasso, exact")}
WORK["homotopy"] = lambda: homotopy(LassoProblem(K, Y, 1.0), 1e-2)
WORK["estimator, logistic"] = lambda: GatedReLUClassifier(30, loss="logistic", **_FEW).fit(X, SIGNS)
WORK["estimator, ridge"] = lambda: GatedReLURegressor(30, penalty="ridge", **_FEW).fit(X, Y)
WORK["estimator, infinite"] = lambda: GatedReLURegressor(gates="infinite", penalty="ridge", **_FEW).fit(X, Y)
_LINES = 3  # tried of each part of a call
QUICK = ("fista", "newton", "kernel", "interior point", "estimator, ridge")


@pytest.fixture(autouse=True)
def _usual_handler():
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def press():
    signal.raise_signal(signal.SIGINT)


def is_given_back():
    return signal.getsignal(signal.SIGINT) is signal.default_int_handler


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in WORK]
)
def test_ctrl_c_at_any_line_after_the_first_point_loses_nothing(name):
    WORK[name]()  # what is made once
    with traced() as whole:
        WORK[name]()
    first, last = whole.first or whole.count // 2, whole.last or whole.count - 20
    pressed = 0
    for part in ((first, last), (last, whole.count)):
        for k in np.unique(np.linspace(*part, _LINES).astype(int)):
            found, lines = _interrupted(WORK[name], k)
            if not lines.pressed:  # a few lines may depend on what was solved before
                continue
            pressed += 1
            assert found is not None, lines.where
            result = getattr(found, "result_", found)
            assert result.status is Status.INTERRUPTED, lines.where
            assert is_given_back()
            if name in SOLVERS:
                is_sound(SOLVERS[name][0], result)
    assert pressed >= _LINES


def _interrupted(work, k):
    """Return what is left of a call with Ctrl-C at line k, None if nothing is; what is raised would end pytest."""
    try:
        with traced(k) as lines:
            return work(), lines
    except KeyboardInterrupt:
        return None, lines


def _below(kind):
    return {kind}.union(*(_below(one) for one in kind.__subclasses__()))


def test_every_solver_path_and_refinement_hands_over():
    solvers = [one for one in _below(Limits) if "solve" in vars(one)]
    assert len(solvers) >= 11
    calls = [one.solve for one in solvers] + [gated_path, relu_path, lasso_path, homotopy, refine_gates]
    code = handed_over(lambda: None).__code__
    assert [one.__qualname__ for one in calls if one.__code__ is not code] == []


def test_an_interrupt_between_the_last_step_and_the_result_is_a_status_and_a_second_one_is_raised(monkeypatch):
    """Of Newton's method for kernels the network is made of the dual variable after the last step."""
    result = KernelNewton._result

    def pressed(*arguments):
        press()
        return result(*arguments)

    def pressed_twice(*_):
        press()
        press()
        raise AssertionError("not raised")

    monkeypatch.setattr(KernelNewton, "_result", pressed)
    found = KernelNewton(tol=1e-9).solve(RIDGE)
    assert found.status is Status.INTERRUPTED
    assert found.relative_gap <= 1e-9
    assert "stopped by an interrupt" in found.message
    is_sound(RIDGE, found)
    monkeypatch.setattr(KernelNewton, "_result", pressed_twice)
    with pytest.raises(KeyboardInterrupt):
        KernelNewton().solve(RIDGE)
    assert is_given_back()


LAST_STEPS = {
    "regressor": (UniqueRows, "certificate", lambda X, y: ConvexNetworkRegressor(n_neurons=2, beta=0.05).fit(X, y)),
    "classifier": (
        *(UniqueRows, "certificate"),
        lambda X, y: ConvexNetworkClassifier(n_neurons=2, beta=0.05).fit(X, y > 0),
    ),
    "search": (
        *(PipelinePrefix, "joined"),
        lambda X, y: BetaCV(GatedReLURegressor(4), betas=[0.1, 0.01], cv=2).fit(X, y).estimator_,
    ),
    "gated shards": (
        *(gated_shards.ShardedGatedReLU, "_sharded_result"),
        lambda X, y: GatedReLURegressor(4, beta=0.1).fit(Shards([X], [y])),
    ),
    "network of shards": (
        *(network_shards, "_network_attributes"),
        lambda X, y: ConvexNetworkRegressor(max_metric_iter=0).fit(Shards([X], [y])),
    ),
}


@pytest.mark.parametrize("estimator", LAST_STEPS)
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
def test_an_interrupt_after_the_last_solver_of_an_estimator_is_a_status(monkeypatch, estimator):
    """It waits until the network is kept, and the next Ctrl-C is the program's again."""
    place, name, fit = LAST_STEPS[estimator]
    kept = getattr(place, name)

    def pressed(*arguments):
        press()
        monkeypatch.setattr(place, name, kept)
        return kept(*arguments)

    monkeypatch.setattr(place, name, pressed)
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((24, 2)), rng.standard_normal(24)
    model = fit(X, y)
    assert model.result_.status is Status.INTERRUPTED
    assert np.isfinite(model.predict(X).astype(float)).all()
    assert is_given_back()


@pytest.mark.slow
def test_an_interrupt_between_the_programs_of_few_neurons_leaves_the_second_its_optimum(monkeypatch):
    proved, calls = sparse_network._proved, []

    def pressed(*arguments):
        calls.append(1)
        if len(calls) == 1:
            press()
        return proved(*arguments)

    monkeypatch.setattr(sparse_network, "_proved", pressed)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 3))
    with pytest.warns(ConvergenceWarning, match="interrupt"):
        model = ConvexNetworkRegressor(n_neurons=2, beta=1e-2).fit(X, np.abs(X[:, 0]) + X[:, 1])
    assert len(calls) == 2
    assert model.result_.status is Status.INTERRUPTED
    assert model.certificate_.relative_gap < 1e-5
    assert model.network_.n_neurons > 0


def test_an_interrupt_before_the_first_point_is_raised():
    with pytest.raises(KeyboardInterrupt):
        handed_over(press)()


def test_an_interrupt_between_two_solves_ends_the_second_at_its_first_check():
    @handed_over
    def twice():
        Fista(tol=1e-3).solve(GATED)
        press()
        assert held()
        return Fista(tol=1e-12).solve(GATED)

    found = twice()
    assert (found.status, found.n_iter) == (Status.INTERRUPTED, 0)


@pytest.mark.parametrize("taken", [False, True])
def test_what_is_of_no_more_use_holds_nothing_back(taken):
    @handed_over
    def twice():
        with BestIterate([1]):
            pass
        if not taken:
            press()
        raise_held()
        press()
        raise AssertionError("not raised")

    with pytest.raises(KeyboardInterrupt):
        twice()


def test_an_error_gives_the_handler_back():
    @handed_over
    def fails():
        assert isinstance(signal.getsignal(signal.SIGINT), Interrupts)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fails()
    assert is_given_back()


def handlers_seen():
    """Return the handlers that are there at each step of a solver, and its status."""
    seen = []
    result = Fista(tol=1e-3, callback=lambda _: seen.append(signal.getsignal(signal.SIGINT))).solve(GATED)
    return seen, result.status


@pytest.mark.parametrize("handler", [signal.SIG_IGN, lambda *_: None])
def test_a_program_with_a_handler_of_its_own_keeps_it(handler):
    signal.signal(signal.SIGINT, handler)
    seen, _ = handlers_seen()
    assert set(seen) == {handler}
    assert signal.getsignal(signal.SIGINT) is handler


def test_a_handler_that_a_callback_installs_stays():
    def mine(*_):
        pass

    Fista(tol=1e-3, callback=lambda _: signal.signal(signal.SIGINT, mine)).solve(GATED)
    assert signal.getsignal(signal.SIGINT) is mine


def test_another_thread_leaves_the_handler_alone():
    with ThreadPoolExecutor(1) as pool:
        seen, status = pool.submit(handlers_seen).result()
    assert status is Status.OPTIMAL
    assert set(seen) == {signal.default_int_handler}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children of this process by fork")
def test_a_forked_child_holds_nothing_back():
    @handed_over
    def fork():
        with BestIterate([1]):
            pass
        child = os.fork()
        if child == 0:
            code = 1
            try:
                press()
            except KeyboardInterrupt:
                code = 0
            finally:
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fork()


def test_memory_that_runs_out_ends_a_keeper_too():
    with pytest.raises(MemoryError), BestIterate([]):
        raise MemoryError
    with BestIterate([1]) as kept:
        raise MemoryError
    assert kept.status is Status.MAX_MEMORY
