"""Convex gated-ReLU networks: one sample of gates, one kernel, and a warm path down the grid of beta."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn import Gates, activation_patterns, sample_gates, with_linear_gate
from clifford_rand_nn.gates.rules import ROW_RULES
from clifford_rand_nn.networks import gated_predictions
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem, GatedRidgeProblem, Point
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.kernel_interior_point import KernelInteriorPoint
from clifford_rand_nn.solvers.kernel_newton import KernelNewton
from examples.paper.methods.base import Array, Labels, Model, Snapshot, SteppedMethod

__all__ = ["ConvexGated", "GatedModel"]

# Shares of beta_max: at 0.8 a few gates are active, and at 0.005 the loss on validation rows has long been rising.
_SHARES = tuple(float(share) for share in np.geomspace(0.8, 5e-3, 10))
# With squared norms beta_max is where every direction is halved: a network is found at a thousandth of it or less.
_RIDGE_SHARES = tuple(float(share) for share in np.geomspace(0.1, 3e-6, 10))
_GRID_TOL = 1e-3  # accuracies do not change below this gap, and the path takes half the time
_STEPS = 100  # of the kernel method, which takes 6 to 20


class GatedModel(Model):
    """Coefficients over gates, with beta, the objective there, and the gap that the solver proved."""

    def __init__(
        self, coefficients: Coefficients, gates: Gates, gap: float, beta: float = np.nan, objective: float = np.nan
    ) -> None:
        self.coefficients, self.gates, self.gap = coefficients, gates, gap
        self.beta, self.objective = beta, objective

    @property
    def n_active(self) -> int:
        """Gates with weights."""
        return int(np.count_nonzero(np.linalg.norm(self.coefficients.coef, axis=(0, 2))))

    def decision(self, X: Array) -> Array:
        """Return the network's output."""
        return np.asarray(gated_predictions(X, self.gates, self.coefficients)[:, 0])


class _Prepared(NamedTuple):
    """Data that all beta share."""

    problem: GatedReLUProblem | GatedRidgeProblem
    gates: Gates
    top: float
    kernel: list[Any]


class ConvexGated(SteppedMethod):
    """A gated-ReLU network by its convex program; the grid is beta, as shares of the least beta without a neuron.

    Gates are drawn with the trial's seed on the fitted rows. In the grid each solve starts from the last one's solution
    and ends at a relative gap of ``grid_tol``; the final model is solved to ``tol``.

    Parameters
    ----------
    gates : str or callable
        A method of `sample_gates`, or ``gates(X, y, seed)`` that returns `Gates`.
    n_gates : int
    sketch_dim : int, "auto" or None
    sketch : str
    mirror : bool
        As in `sample_gates`; with ``mirror`` there are 2 ``n_gates`` gates.
    linear : bool
        Whether there is one gate more, which is always on.
    loss : {"logistic", "squared", "squared_hinge"}
    penalty : {"group_l2", "ridge"}
        As in `GatedReLUClassifier`.
    bias, fit_intercept : bool
        By default hyperplanes go through the mean of the rows, as features are centered, and the output is shifted.
    shares : sequence of float, optional
        Of beta_max; by default ten, from 0.8 to 0.005, or from 0.1 to 3e-6 with squared norms.
    grid_tol, tol : float
    max_time : float or None
        Seconds of one solve at most.
    name : str, optional
        By default "convex-" and the name of the gates.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((40, 3))
    >>> model = ConvexGated("cross", n_gates=10).fit(X, (X[:, 0] * X[:, 1] > 0).astype(int), 0.01, 0)
    >>> model.gap <= 1e-6, model.decision(X).shape
    (True, (40,))
    """

    def __init__(
        self,
        gates: str | Callable[[Array, Labels, int], Gates],
        *,
        n_gates: int = 50,
        sketch_dim: int | str | None = "auto",
        sketch: str = "sjlt",
        mirror: bool = False,
        linear: bool = False,
        loss: str = "squared",
        penalty: str = "group_l2",
        bias: bool = False,
        fit_intercept: bool = True,
        shares: Sequence[float] | None = None,
        grid_tol: float = _GRID_TOL,
        tol: float = 1e-6,
        max_time: float | None = None,
        name: str = "",
    ) -> None:
        self._gates_name = gates if isinstance(gates, str) else getattr(gates, "__name__", "given")
        self.name = name or f"convex-{self._gates_name}"
        self.gates, self.n_gates, self.loss = gates, n_gates, loss
        self.sketch_dim = sketch_dim if gates in ROW_RULES else None
        self.sketch, self.mirror, self.linear = sketch, mirror, linear
        self.penalty, self.bias, self.fit_intercept = penalty, bias, fit_intercept
        self.grid = tuple(shares or (_RIDGE_SHARES if penalty == "ridge" else _SHARES))
        self.margin_loss = loss if loss in ("logistic", "squared") else None
        self.grid_tol, self.tol, self.max_time = grid_tol, tol, max_time

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> GatedModel:
        """Solve for one share of beta_max, to ``tol``."""
        ready = self._prepare(X, y, seed)
        return self._model(self._solve(ready, value * ready.top, self.tol, None), ready)

    def fit_beta(self, X: Array, y: Labels, beta: float, seed: int) -> GatedModel:
        """Solve for one beta itself, to ``tol``: to compare objectives over different gates."""
        ready = self._prepare(X, y, seed)
        return self._model(self._solve(ready, beta, self.tol, None), ready)

    def beta_max(self, X: Array, y: Labels, seed: int) -> float:
        """Return the least beta without a neuron."""
        return self._prepare(X, y, seed).top

    def fit_grid(self, X: Array, y: Labels, values: Sequence[Any], seed: int) -> Iterator[GatedModel]:
        """Go down the shares on one kernel, to ``grid_tol``."""
        ready = self._prepare(X, y, seed)
        start: Point | None = None
        for share in values:
            result = self._solve(ready, share * ready.top, self.grid_tol, start)
            if self.penalty != "ridge":  # there the kernel keeps it
                start = ready.problem.point(result.coefficients)
            yield self._model(result, ready)

    def steps(self, X: Array, y: Labels, value: Any, seed: int) -> Iterator[Snapshot]:
        """Yield the best network after each step of the kernel method; set-up and gates count as training.

        The seconds are those of one run to ``tol``; its points are found again by runs of fewer steps.
        """
        began = time.perf_counter()
        ready = self._prepare(X, y, seed)
        ready.problem.penalty.beta = value * ready.top
        setup = time.perf_counter() - began
        solver: Any = KernelNewton if self.penalty == "ridge" else KernelInteriorPoint
        whole: Result[Coefficients] = solver(tol=self.tol, max_iter=_STEPS, max_time=self.max_time).solve(ready.problem)
        _refuse_interrupt(whole)
        latest = {row.n_iter: row for row in whole.history}  # a step may be judged more than once
        for row in latest.values():
            if row.n_iter == 0 < whole.n_iter:
                continue
            if row.n_iter == whole.n_iter:
                result = whole
            else:
                short = solver(tol=self.tol, max_iter=row.n_iter)
                result = short.solve(ready.problem, None, ready.kernel)
                _refuse_interrupt(result)
            yield Snapshot(setup + row.seconds, row.n_iter, self._model(result, ready))

    def describe(self) -> str:
        """Return the grid and all parameters."""
        sketch = f", sketch_dim {self.sketch_dim}" if self.gates in ROW_RULES else ""
        sketch += f", sketch {self.sketch}" if self.sketch != "sjlt" else ""
        sketch += ", mirrored" if self.mirror else ""
        sketch += " and one always on" if self.linear else ""
        sketch += f", gates {self._gates_name}" if self.name != f"convex-{self._gates_name}" else ""
        sketch += ", squared norms" if self.penalty == "ridge" else ""
        return (
            f"{super().describe()} of beta_max; {self.n_gates} gates{sketch}, {self.loss} loss, bias {self.bias}, "
            f"fit_intercept {self.fit_intercept}, tol {self.grid_tol:g} in the grid and {self.tol:g} at the end"
        )

    def _prepare(self, X: Array, y: Labels, seed: int) -> _Prepared:
        sampled = self._sample(X, y, seed)
        sampled = with_linear_gate(sampled) if self.linear else sampled
        patterns, kept = activation_patterns(X, sampled)
        kind = GatedRidgeProblem if self.penalty == "ridge" else GatedReLUProblem
        problem = kind(X, _signs(y), patterns, 1.0, loss=self.loss, bias=self.bias, fit_intercept=self.fit_intercept)
        return _Prepared(problem, kept, problem.beta_max(), [])

    def _sample(self, X: Array, y: Labels, seed: int) -> Gates:
        if not isinstance(self.gates, str):
            return self.gates(X, y, seed)
        names = ("sketch_dim", "bias", "sketch", "mirror")
        options: dict[str, Any] = {name: getattr(self, name) for name in names}
        return sample_gates(X, self.n_gates, self.gates, random_state=seed, y=y, **options)

    def _solve(self, ready: _Prepared, beta: float, tol: float, start: Point | None) -> Result[Coefficients]:
        ready.problem.penalty.beta = beta
        result = AutoSolver(tol=tol, max_time=self.max_time).solve(ready.problem, start, ready.kernel)
        _refuse_interrupt(result)
        return result

    @staticmethod
    def _model(result: Result[Coefficients], ready: _Prepared) -> GatedModel:
        beta = ready.problem.penalty.beta
        return GatedModel(result.coefficients, ready.gates, result.relative_gap, beta, result.objective)


def _signs(y: Labels) -> NDArray[np.float64]:
    return np.where(y == 1, 1.0, -1.0)


def _refuse_interrupt(result: Result[Any]) -> None:
    """End the experiment at Ctrl-C: a solver returns its best point instead, which is not a measurement."""
    if result.interrupted:
        raise KeyboardInterrupt("the unfinished measurement is left out; the same command goes on from there.")
