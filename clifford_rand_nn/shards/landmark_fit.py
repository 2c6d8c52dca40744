"""From shards to a network over landmarks: choices on a sample, one pass of sums, every beta, Newton's method.

With the squared loss one pass makes the normal equations of all rows but those held out, which select beta; steps on
all rows follow. With the logistic loss and the softmax the sample is solved first. From its function one pass makes the
normal equations of a Newton step, and held-out rows select beta by where that step leads. Newton's method goes on from
there, first without the held-out rows, so that their predictions are out-of-sample, then on all rows.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import quantity
from clifford_rand._typing import Array
from clifford_rand_nn._progress import phase
from clifford_rand_nn.kernel_network.candidates import Candidate, Problem, level
from clifford_rand_nn.kernel_network.kernel_products import (
    LOGISTIC_PASSES,
    SQUARED_PASSES,
    LandmarkRows,
    LandmarkSpan,
    Size,
    Workload,
    independent,
    landmarks_of_shards,
)
from clifford_rand_nn.kernel_network.landmark_judge import SpanProblem
from clifford_rand_nn.kernel_network.landmark_newton import (
    RADII,
    SINGLE,
    NewtonSteps,
    Normal,
    NormalSum,
    Solved,
    State,
    WorkingSum,
)
from clifford_rand_nn.kernel_network.many_rows import TOL
from clifford_rand_nn.kernel_network.metric_selection import MetricSelection
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.training import Choices
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.row_sums import Engine, MemoryEngine, Sums, Targets
from clifford_rand_nn.shards.landmark_sample import SampleRows, select_on_sample, split_sample
from clifford_rand_nn.shards.scan import Facts
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Status, explain

_STEPS = 100  # passes over all rows, at most
_SAMPLED = Limits(tol=1e-3, max_iter=60)  # of the sample, from which a Newton step begins
_HELD_TOL = 1e-4  # of the fit without the held-out rows, if the loss is not squared
_SHARE = 0.6  # of the time, for that
_T = TypeVar("_T")


class Saved(NamedTuple):
    """All that a fit goes on from."""

    size: Size
    rows: NDArray[np.intp]  # (m,): landmarks among the unique rows of the sample
    sums: Sums  # of the normal equations; none where nobody asked for states
    center: Array  # (C,): subtracted from their targets
    is_final: bool  # whether steps are on all rows
    steps: State
    # u and intercept of the fit without the held-out rows, once it is known
    unseen: tuple[Array, Array] | None

    @classmethod
    def restored(cls, values: tuple[Any, ...]) -> "Saved":
        """Return the state of plain tuples, as a checkpoint has them."""
        state = cls(*values)
        return state._replace(size=Size(*state.size), steps=State.restored(state.steps))


@dataclass(frozen=True, eq=False)
class Trained:
    r"""A network over landmarks, and what is known of it."""

    network: KernelNetwork
    rows: NDArray[np.int64]  # (m,): the landmarks, by their index among all rows
    held: SampleRows  # the rows that beta was judged on
    outputs: Array  # (h, C): their predictions by a fit without them
    beta: float
    # objective, bound and dual scale s: the dual point of row i is s\,\omega_i(y_i-f(x_i)), \omega of mean 1
    solved: Solved
    candidates: list[Candidate]  # the betas on the held-out rows, best first, then the comparisons on the sample
    metric_selection: MetricSelection | None
    metric: Array | None  # (d, d)
    scope: str
    reason: str
    status: Status
    message: str  # what it says; empty where the tolerance was reached
    history: tuple[HistoryRow, ...]
    state: Saved | None  # none if an interrupt left the normal equations of the sample


def _finished(work: Callable[[], _T]) -> tuple[_T, bool]:
    """Return the result of some seconds of work in memory, begun anew after an interrupt, and whether there was one."""
    try:
        return work(), False
    except KeyboardInterrupt:
        return work(), True


class LandmarkFit:
    """Chooses from the sample, sums normal equations in one pass, takes the best beta, solves, and bounds.

    ``targets``: of the loss that is trained; the sample chooses by the squared loss. ``owner``: whose errors these are.
    ``state``: to go on from. ``save``: called after every pass with a function that returns the state.
    """

    def __init__(
        self,
        engine: Engine,
        facts: Facts,
        targets: Targets,
        choices: Choices,
        owner: str,
        state: Saved | None = None,
        save: Callable[[Callable[[], Saved]], object] | None = None,
    ) -> None:
        self.began = time.perf_counter()
        self.engine, self.facts, self.targets, self.choices, self.save = engine, facts, targets, choices, save
        self.state, self.is_squared = state, targets.loss.is_quadratic
        squared = targets
        if targets.classes is not None:
            squared = replace(targets, loss=as_loss("squared", owner).of_classes(len(targets.classes)))
        self.learn, self.held = split_sample(facts, squared, owner)
        phase("choosing on a sample of the rows")
        self.selection = select_on_sample(facts, self.learn, choices, owner)
        standard, kernel = self.selection.standard, self.selection.kernel
        self.size, self.landmarks = self._landmarks(owner) if state is None else state[:2]
        self.rows = self.selection.rows.take(self.landmarks)
        self.Z = standard.rows(self.rows.X)
        self.span, self.double = LandmarkSpan(kernel, self.Z), LandmarkRows(kernel, self.Z, standard)
        self.summed = LandmarkRows(kernel, self.Z, standard, np.float32) if self.size.single else self.double
        self.rest = replace(self.targets, left_out=np.sort(self.held.index))
        self.K = self.double.kernel(self.held.X)
        self.center_k = np.average(self.K, axis=0, weights=self.held.weights)
        self.center_y = level(self.held.targets, np.average(self.held.targets, axis=0, weights=self.held.weights))
        self.sample = MemoryEngine(self.learn.stored(self.facts.sample), 1)
        self.held_y = self.targets.of(self.held.stored(self.facts.sample))

    def _landmarks(self, owner: str) -> tuple[Size, NDArray[np.intp]]:
        """Return what limits allow, and landmarks among the unique rows; fewer where only double precision serves them.

        Without ``max_memory`` two threads are counted, so that a result does not depend on how many there are.
        """
        choices, selection = self.choices, self.selection
        limit, memory = self.engine.agreed(choices.max_time), choices.max_memory
        width = selection.kernel.features(np.zeros((1, selection.standard.width))).shape[1]
        workers = 2 if memory is None else self.engine.workers
        passes = SQUARED_PASSES if self.is_squared else LOGISTIC_PASSES
        load = Workload(self.facts.n, width, self.held.targets.shape[1], workers, passes)
        for single in (True, False):
            size = landmarks_of_shards(load._replace(single=single), limit, memory, owner)
            some, least = independent(selection.kernel, selection.standard.rows(selection.rows.X[: size.landmarks]))
            if least > SINGLE:
                break
        return size, some

    def run(self) -> Trained:
        """Fit, from a state or from the sample."""
        state = self.state
        weight, whole, hurry = self.facts.n - float(self.held.weights.sum()), True, False
        if state is None:
            start, hurry = (None, False) if self.is_squared else self._solve_sample()
            center = self.center_y if start is None else start[1]
            phase(f"normal equations of {len(self.landmarks):,} landmarks")
            try:
                sums = self.engine.sum(self._normal_sum(self.rest, start))
            except KeyboardInterrupt:  # the sample's network is better than none
                sums, whole = self.sample.sum(self._normal_sum(self.targets, start)), False
                weight = float(self.learn.weights.sum())
        else:
            sums, center = state.sums, state.center
        keeps = whole and not hurry and self.save is not None  # after Ctrl-C the way is another
        saved_sums = tuple(sums) if keeps else ()
        normal, early = _finished(partial(Normal, self.span, sums, self.center_k, center))
        del sums
        phase("selecting beta on held-out rows")
        (tried, beta, first), late = _finished(lambda: self._betas(normal, weight))
        hurry = hurry or early or late or not whole
        if state is None:
            unseen = first if self.is_squared else None
            steps = State.at_first(*first)
            state = Saved(self.size, self.landmarks, saved_sums, center, self.is_squared, steps, unseen)
        offered: list[Callable[[], Saved]] = []

        def keep(steps: State, base: Saved) -> None:
            if keeps and self.save is not None:
                offered[:] = [lambda: base._replace(steps=steps)]
                self.save(offered[0])

        limits = Limits(tol=TOL, max_iter=_STEPS, max_time=self.choices.max_time)
        keep(state.steps, state)
        if not state.is_final:
            if whole:
                share = None if limits.max_time is None else _SHARE * limits.max_time
                newton = NewtonSteps(self.engine, self._problem(self.rest, weight), beta, normal, proves=False)
                early_limits = Limits(tol=_HELD_TOL, max_iter=_STEPS, max_time=share)
                steps, status = newton.solve(state.steps, early_limits, self.began, partial(keep, base=state), hurry)
                hurry = hurry or status is Status.INTERRUPTED
                # a state after an interrupt is not one of the undisturbed way
                keeps = keeps and not hurry
                state = state._replace(steps=steps)
            best = state.steps.best
            unseen = state.steps.point() if best is None else (best.u, best.intercept)
            state = state._replace(is_final=True, steps=State.at_first(*unseen), unseen=unseen)
            keep(state.steps, state)
        phase("steps over all rows, and the certificate")
        newton = NewtonSteps(self.engine, self._problem(self.targets, float(self.facts.n)), beta, normal)
        last, status = newton.solve(state.steps, limits, self.began, partial(keep, base=state), hurry)
        assert last.best is not None
        assert state.unseen is not None
        u, t = state.unseen
        outputs = np.asarray(self.K @ self.span.coefficients(u) + t)
        return self._trained(last, status, (beta, tried), outputs, whole, offered[0]() if offered else None)

    def _problem(self, targets: Targets, weight: float) -> SpanProblem:
        return SpanProblem(self.double, self.span, targets, weight, self.center_y)

    def _normal_sum(self, targets: Targets, start: tuple[Array, Array] | None) -> NormalSum:
        """Return the normal equations of squares, or of a Newton step from a function."""
        if start is None:
            return NormalSum(self.summed, targets, self.center_k, self.center_y)
        return WorkingSum(self.summed, targets, self.center_k, self.span.coefficients(start[0]), start[1])

    def _betas(self, normal: Normal, weight: float) -> tuple[list[Candidate], float, tuple[Array, Array]]:
        """Return the held-out loss of every beta, best first, the best beta, and its function."""
        like, held, y = self.selection.candidates[0], self.held, self.held_y
        w = held.weights / held.weights.sum()
        # ρ = Wβ in units of the mean of K(z, z)
        betas = RADII * float(np.mean(self.double.tiles.diagonal())) / weight
        if self.choices.beta is not None:
            betas = np.array([self.choices.beta])
        tried = []
        for beta, f in zip(betas, normal.predictions(self.K, weight * betas), strict=True):
            loss = score = float(w @ self.targets.loss.stated_value(f, y))
            if self.is_squared:
                score = float(Problem(held.X, y, w).score((w @ (f - y) ** 2)[None])[0])
            tried.append((loss, like._replace(beta=float(beta), mean_loss=score, n_rows=len(held))))
        tried.sort(key=lambda pair: pair[0])
        best = tried[0][1].beta
        return [candidate for _, candidate in tried], best, normal.fit(weight * best)

    def _solve_sample(self) -> tuple[tuple[Array, Array], bool]:
        """Return about the optimum of the rows that learn, and whether an interrupt ended it."""
        weight, loss = float(self.learn.weights.sum()), self.targets.loss
        y = self.targets.of(self.learn.stored(self.facts.sample))
        assert loss.labels is not None
        low, high = loss.labels
        share = self.learn.weights @ ((y - low) / (high - low)) / weight
        share = np.clip(share, 0.5 / weight, 1 - 0.5 / weight)
        t = np.log(share) if len(share) > 1 else np.log(share / (1 - share))
        sums = self.sample.sum(self._normal_sum(self.targets, (np.zeros((self.double.m, len(t))), t)))
        normal, early = _finished(lambda: Normal(self.span, sums, self.center_k, t))
        (_, beta, first), late = _finished(lambda: self._betas(normal, weight))
        newton = NewtonSteps(self.sample, self._problem(self.targets, weight), beta, normal, proves=False)
        last, status = newton.solve(State.at_first(*first), _SAMPLED, self.began, lambda _: None, early or late)
        assert last.best is not None
        return (last.best.u, last.best.intercept), status is Status.INTERRUPTED

    def _trained(
        self,
        last: State,
        status: Status,
        selected: tuple[float, list[Candidate]],
        outputs: Array,
        whole: bool,
        state: Saved | None,
    ) -> Trained:
        best, selection, rows, n = last.best, self.selection, self.rows, self.facts.n
        assert best is not None
        how = f"sums in {'single' if self.size.single else 'double'} precision"
        if not whole:
            how = f"an interrupt ended the pass over all rows, and {len(self.learn)} of them say what the network is"
        expected = f"expected {self.size.seconds:.2g} s on two cores and {quantity(self.size.bytes)}"
        advice = "a larger beta is solved sooner" if status in (Status.MAX_ITER, Status.STALLED) else ""
        message = explain(status, last.n_iter, time.perf_counter() - self.began, best.gap, advice)
        a = self.span.coefficients(best.u)
        return Trained(
            network=KernelNetwork(selection.standard, selection.kernel, self.Z, a, best.intercept),
            rows=rows.index,
            held=self.held,
            outputs=outputs,
            beta=selected[0],
            solved=best,
            candidates=[*selected[1], *selection.candidates],
            metric_selection=selection.metric_selection,
            metric=selection.metric,
            scope=f"over functions in the span of {len(rows)} landmarks, and an intercept",
            reason=f"n = {n} in shards: {len(rows)} landmarks, {expected}; {how}",
            status=status,
            message="" if status is Status.OPTIMAL else message,
            history=last.history,
            state=state,
        )
