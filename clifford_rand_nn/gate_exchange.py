"""Iterative exchange of the gates of a gated network: candidates, their prices, and the gates that leave."""

import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import check_choice, check_integer, check_positive, fail
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns, Gates, activation_patterns, gates_without_incidence
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.pricing.gate_candidates import GatePrices, climbed, price_gates, removal_costs
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem
from clifford_rand_nn.solvers.base import SOONEST, Result, Status, explain
from clifford_rand_nn.solvers.dispatch import GATED_SOLVERS
from clifford_rand_nn.solvers.stopping import BestIterate, as_interrupted, raise_held

_NEW_SHARE = 0.5  # of the gates: added in an iteration; on text embeddings smaller shares were no better for the time
_DRAWN = 10  # candidates drawn for each gate that is added
_PROBLEM_OPTIONS = ("loss", "bias", "fit_intercept", "huber_delta", "sample_weight")
_CLIMBING = 3  # times as many as are added: the best of the drawn gates, which then climb
_PATIENCE = 3  # iterations in a row that did not help, each with fresh draws, before refinement ends
_NEAR = 1e-9  # of the largest margin: a plane this near to a row may put it on another side in another product


class RefinementIteration(NamedTuple):
    """An iteration: the model after it, with its objective, and whether it was kept.

    ``largest_price`` and ``largest_gain`` are of the candidates, at the model before it, as in `price_gates`;
    both are 0 in the first row, the model that refinement began with.
    """

    n_gates: int
    n_active: int
    objective: float
    largest_price: float
    largest_gain: float
    kept: bool
    seconds: float


@dataclass(frozen=True, eq=False)
class Refinement:
    """Refined gates, the optimum over them, and what is proved beyond them.

    Attributes
    ----------
    gates : Gates
    patterns : (n, P) bool
    result : Result
        The solution over these gates, with its own gap.
    lower_bound : float
        Lower bound of the optimum over these gates *and* the last candidates, all with biases of their own if
        ``bias``. It can be weak with biases: what many free biases fit costs nothing.
    relative_gap : float
        ``(result.objective - lower_bound) / result.objective``.
    candidates : Gates
        The last ones.
    history : tuple of RefinementIteration
    status : Status
        "refined" if no candidate offered a share ``tol`` of the objective, or what ended refinement before; Ctrl-C
        does, and the model of the iterations before is returned.
    message : str
        The status in words, with what to do about it.
    """

    gates: Gates
    patterns: NDArray[np.bool_]
    result: Result[Coefficients]
    lower_bound: float
    relative_gap: float
    candidates: Gates
    history: tuple[RefinementIteration, ...]
    status: Status
    message: str

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended it; the model is the best of the iterations before."""
        return self.status is Status.INTERRUPTED

    def __repr__(self) -> str:
        return (
            f"Refinement(objective={self.result.objective:.8g} from {self.history[0].objective:.8g}, "
            f"n_gates={len(self.gates)}, n_iter={len(self.history) - 1}, relative_gap={self.relative_gap:.1e}, "
            f"status={self.status.value!r})"
        )


@as_interrupted.register
def _(refinement: Refinement) -> Refinement:
    status, last, gap = Status.INTERRUPTED, refinement.history[-1], refinement.result.relative_gap
    message = explain(status, len(refinement.history) - 1, last.seconds, gap)
    return replace(refinement, status=status, message=message)


class _Model(NamedTuple):
    """Gates with the optimum over them."""

    gates: Gates
    problem: GatedReLUProblem
    result: Result[Coefficients]

    @property
    def patterns(self) -> NDArray[np.bool_]:
        return self.problem.map.patterns

    @property
    def norms(self) -> Array:
        """Norm of each gate's weights, (P,)."""
        return np.asarray(np.linalg.norm(self.result.coefficients.coef, axis=(0, 2)))

    def kept(self, index: NDArray[np.intp]) -> Coefficients:
        """Coefficients of the gates at ``index``."""
        coef, gate_intercept, intercept = self.result.coefficients
        return Coefficients(np.ascontiguousarray(coef[:, index]), gate_intercept[:, index], intercept)

    def widened(self, more: int) -> Coefficients:
        """Coefficients with zeros for so many further gates."""
        coef, gate_intercept, intercept = self.result.coefficients
        wide = np.pad(coef, ((0, 0), (0, more), (0, 0)))
        return Coefficients(wide, np.pad(gate_intercept, ((0, 0), (0, more))), intercept)

    def removal_costs(self) -> Array:
        """See `removal_costs`."""
        a, z = self.problem.map, self.result.coefficients
        curvature = self.problem.datafit.curvature
        weights = z.coef, z.gate_intercept
        return removal_costs(self.problem.X, a.patterns, weights, a.Q, curvature, a.bias, a.fit_intercept)


@dataclass(frozen=True)
class RefinementSettings:
    """The options of a refinement."""

    loss: str = "squared"
    bias: bool = True
    fit_intercept: bool = True
    huber_delta: float | None = None
    sample_weight: ArrayLike | None = None
    method: str = "cross"
    climb: bool = True
    sketch_dim: int | str | None = "auto"
    n_candidates: int | None = None
    n_new_gates: int | None = None
    max_gates: int | None = None
    max_iter: int = 10
    max_time: float | None = None
    tol: float = 1e-4
    random_state: np.random.Generator | int | None = None
    solver: str = "fista"
    callback: Callable[[RefinementIteration], object] | None = None

    def check(self, owner: str) -> None:
        """Raise ArgumentError unless every option follows its rule."""
        check_choice(self.method, "method", owner, ("cross", "gaussian"))
        check_choice(self.climb, "climb", owner, (True, False))
        check_choice(self.bias, "bias", owner, (True, False))
        check_integer(self.max_iter, "max_iter", owner, low=0)
        check_positive(self.tol, "tol", owner)
        if self.max_time is not None:
            check_positive(self.max_time, "max_time", owner)
        for name in ("n_candidates", "n_new_gates", "max_gates"):
            if getattr(self, name) is not None:
                check_integer(getattr(self, name), name, owner)
        if self.callback is not None and not callable(self.callback):
            raise fail("callback", owner, "None or a function of a RefinementIteration", self.callback)
        check_choice(self.solver, "solver", owner, GATED_SOLVERS)

    def sized(self, n_gates: int) -> "RefinementSettings":
        """Return the settings with numbers of gates in the place of None."""
        n_new_gates = self.n_new_gates or max(1, round(_NEW_SHARE * (self.max_gates or n_gates)))
        return replace(self, n_new_gates=n_new_gates, n_candidates=self.n_candidates or _DRAWN * n_new_gates)


@dataclass(frozen=True)
class GateExchange:
    """The steps of a refinement, with settings that are sized; ``solver``, `Limits`, is for problems of iterations."""

    X: Array
    y: Any
    beta: float
    settings: RefinementSettings
    solver: Any
    rng: np.random.Generator
    ends: float | None

    def run(self, first: ActivationPatterns) -> Refinement:
        """Exchange gates until no candidate offers a share ``tol``, or the iterations, the time or Ctrl-C end it."""
        began, settings = time.perf_counter(), self.settings
        history: list[RefinementIteration] = []

        def note(model: _Model, price: float, gain: float, kept: bool) -> None:
            active = int(np.count_nonzero(model.norms))
            seconds = time.perf_counter() - began
            row = RefinementIteration(len(model.gates), active, model.result.objective, price, gain, kept, seconds)
            history.append(row)
            if settings.callback is not None:
                settings.callback(row)

        model = self._solved(first.gates, first.patterns, None)
        undone, message = 0, ""
        status: Status | None = None
        offered = ActivationPatterns(model.patterns[:, :0], model.gates.take(np.zeros(0, dtype=np.intp)))
        with BestIterate(history) as kept:
            note(model, 0.0, 0.0, True)
            raise_held()
            if model.result.interrupted:
                raise KeyboardInterrupt
            if self._late():  # where the first solution took all of the time
                status = Status.MAX_TIME
            else:
                offered = self._candidates(model)
            while status is None:
                prices = self._prices(model, offered.patterns)
                price, gain = float(prices.price.max(initial=0.0)), float(prices.gain.max(initial=0.0))
                if gain <= settings.tol * model.result.objective:
                    status = Status.REFINED
                elif len(history) > settings.max_iter:
                    status = Status.MAX_ITER
                    message = f"stopped after {settings.max_iter} iterations: try a larger max_iter"
                elif undone == _PATIENCE:
                    status = Status.STALLED
                    message = f"stopped after {undone} iterations in a row without a lower objective"
                elif self._late():
                    status = Status.MAX_TIME
                if status:
                    break
                # gates with large gains of their own may crowd each other
                adding = max(1, self.n_new_gates // 2**undone)
                best = np.argsort(-prices.gain, kind="stable")[:adding]
                new = self._exchanged(model, offered, best[prices.gain[best] > 0])
                lower = new.result.objective < model.result.objective
                model, undone = (new, 0) if lower else (model, undone + 1)
                note(model, price, gain, lower)
                offered = self._candidates(model)
        status = kept.status or status
        assert status is not None
        gap, seconds = model.result.relative_gap, time.perf_counter() - began
        message = message or explain(status, len(history) - 1, seconds, gap)
        both = self._problem(np.hstack([model.patterns, offered.patterns])) if len(offered.gates) else model.problem
        bound = both.dual_bound(model.result.fitted).value
        gap = both.relative_gap(model.result.objective, bound)
        return Refinement(
            model.gates, model.patterns, model.result, bound, gap, offered.gates, tuple(history), status, message
        )

    @property
    def n_new_gates(self) -> int:
        """Gates added in an iteration."""
        assert self.settings.n_new_gates is not None
        return self.settings.n_new_gates

    def _late(self) -> bool:
        return self.ends is not None and time.perf_counter() >= self.ends

    def _problem(self, patterns: NDArray[np.bool_]) -> GatedReLUProblem:
        options: dict[str, Any] = {name: getattr(self.settings, name) for name in _PROBLEM_OPTIONS}
        return GatedReLUProblem(self.X, self.y, np.ascontiguousarray(patterns), self.beta, **options)

    def _solved(self, gates: Gates, patterns: NDArray[np.bool_], start: Coefficients | None) -> _Model:
        problem, solver = self._problem(patterns), self.solver
        if self.ends is not None:
            solver = replace(solver, max_time=max(self.ends - time.perf_counter(), SOONEST))
        result: Result[Coefficients] = solver.solve(problem, None if start is None else problem.point(start))
        if result.interrupted and start is not None:  # an unfinished iteration; the model before it is better
            raise KeyboardInterrupt
        return _Model(gates, problem, result)

    def _candidates(self, model: _Model) -> ActivationPatterns:
        """Draw gates, and add those to which the best of them climb; none with a pattern that the model has."""
        settings, bias = self.settings, self.settings.bias
        sketch_dim = settings.sketch_dim if settings.method == "cross" else None
        assert settings.n_candidates is not None
        options: dict[str, Any] = {"sketch_dim": sketch_dim, "bias": bias, "random_state": self.rng}
        drawn = sample_gates(self.X, settings.n_candidates, settings.method, **options)
        fresh = activation_patterns(self.X, drawn)
        if settings.climb:
            theta = model.problem.datafit.residual(model.result.fitted)
            best = np.argsort(-self._prices(model, fresh.patterns).gain, kind="stable")[: _CLIMBING * self.n_new_gates]
            some = fresh.gates.take(best)
            H, c = climbed(self.X, some.directions, some.offsets, theta, bias)
            margins = np.abs(self.X @ H + c)[self.X.any(axis=1) | bias]  # a row 0 is on, whatever the rounding
            clear = margins.min(axis=0, initial=np.inf) > _NEAR * margins.max(axis=0, initial=0.0)
            higher = gates_without_incidence(H[:, clear], c[clear], "refined")
            fresh = activation_patterns(self.X, _joined(fresh.gates, higher))
        known = set(_keys(model.patterns))
        index = np.flatnonzero([key not in known for key in _keys(fresh.patterns)])
        return ActivationPatterns(np.ascontiguousarray(fresh.patterns[:, index]), fresh.gates.take(index))

    def _prices(self, model: _Model, patterns: NDArray[np.bool_]) -> GatePrices:
        datafit, Q = model.problem.datafit, model.problem.map.Q
        theta = datafit.residual(model.result.fitted)
        theta = theta - Q @ (Q.T @ theta)  # zero at the optimum
        return price_gates(self.X, patterns, theta, Q, model.problem.beta, datafit.curvature, self.settings.bias)

    def _exchanged(self, model: _Model, offered: ActivationPatterns, best: NDArray[np.intp]) -> _Model:
        """Solve with the best candidates added, then drop what is not needed or not allowed."""
        gates = _joined(model.gates, offered.gates.take(best))
        patterns = np.hstack([model.patterns, offered.patterns[:, best]])
        wide = self._solved(gates, patterns, model.widened(best.size))
        keep = np.arange(len(gates))
        if not self.settings.bias:
            keep = np.flatnonzero(wide.norms)  # the others change neither predictions, objective nor bound
        most = self.settings.max_gates
        if most is not None and keep.size > most:
            keep = np.sort(keep[np.argsort(-wide.removal_costs()[keep], kind="stable")[:most]])
            return self._solved(gates.take(keep), patterns[:, keep], wide.kept(keep))
        if keep.size == len(gates):
            return wide
        result = replace(wide.result, coefficients=wide.kept(keep))
        return _Model(gates.take(keep), self._problem(patterns[:, keep]), result)


def _keys(patterns: NDArray[np.bool_]) -> list[bytes]:
    return [column.tobytes() for column in np.ascontiguousarray(np.packbits(patterns, axis=0).T)]


def _joined(a: Gates, b: Gates) -> Gates:
    """Gates of two sets, without the incidence that only cross products have."""
    H, c = np.hstack([a.directions, b.directions]), np.concatenate([a.offsets, b.offsets])
    return gates_without_incidence(H, c, "refined")
