"""Solvers: limits, statuses and results."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any, Generic, NamedTuple, Self, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, check_positive, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.rounding import additions, rounding_of_norm, square_above
from clifford_rand_nn.sparse_rows import row_lengths

Solution = TypeVar("Solution")

SOONEST = 1e-9  # seconds; where no time is left, a solver still judges the point that it begins with
_LIMITS = ("tol", "max_iter", "max_time", "max_memory", "callback")
_NO_BOUND = (
    "no positive lower bound was found. Bring the columns of X, its rows, and y to similar scales; where unpenalized "
    "biases alone separate classes, the infimum 0 is not attained: use fewer gates, bias=False or loss='squared'"
)


class Status(StrEnum):
    """Why a solver ended; each is equal to its text, so that ``result.status == "optimal"`` holds."""

    OPTIMAL = "optimal"
    """The tolerance was reached."""
    MAX_ITER = "max_iter"
    MAX_TIME = "max_time"
    MAX_MEMORY = "max_memory"
    INTERRUPTED = "interrupted"
    """By Ctrl-C."""
    STALLED = "stalled"
    """Rounding leaves no better point, or no better bound."""
    NOT_FINITE = "not_finite"
    """A step overflowed."""
    REFINED = "refined"
    """Of `refine_gates`: no candidate gate lowers the objective by much."""

    @property
    def ends_all(self) -> bool:
        """Whether a run ends with this status all others that it belongs to, as a path."""
        return self in (Status.INTERRUPTED, Status.MAX_TIME, Status.MAX_MEMORY)


class HistoryRow(NamedTuple):
    """State of a solver when it checked its gap."""

    n_iter: int
    seconds: float
    objective: float
    relative_gap: float


def check_limits(
    owner: str,
    tol: object,
    max_iter: object,
    max_time: object = None,
    max_memory: object = None,
    callback: object = None,
) -> None:
    """Raise unless limits are what `Limits` says."""
    check_positive(tol, "tol", owner)
    check_integer(max_iter, "max_iter", owner)
    if max_time is not None:
        check_positive(max_time, "max_time", owner, "These are seconds.")
    if max_memory is not None:
        check_positive(max_memory, "max_memory", owner, "These are bytes.")
    if callback is not None and not callable(callback):
        raise fail("callback", owner, "None or a function of one argument", callback)


def check_memory(owner: str, max_memory: float | None, needed: float, what: str, hint: str) -> None:
    """Raise if ``what`` takes more bytes than there may be."""
    if max_memory is not None and needed > max_memory:
        limit = describe(f"{max_memory:.2g}")
        raise fail("max_memory", owner, f"at least {needed:.2g} bytes for {what}", limit, hint)


@dataclass(frozen=True, kw_only=True)
class Limits:
    """Limits of a solver; every solver is one, with defaults of its own.

    ``max_time``: seconds after which the best point so far is returned. An iteration that has begun is finished.
    ``max_memory``: bytes that a solver may take beside the data. One that knows beforehand that it takes more refuses
    the problem. ``callback``: called with each `HistoryRow`. A KeyboardInterrupt there, or elsewhere, ends the solver
    with its best point. Raises ArgumentError: A limit breaks its rule.
    """

    tol: float = 1e-6  # relative duality gap to reach
    max_iter: int = 20_000  # most iterations
    max_time: float | None = None
    max_memory: float | None = None
    callback: Callable[[Any], object] | None = None

    def __post_init__(self) -> None:
        check_limits(type(self).__name__, self.tol, self.max_iter, self.max_time, self.max_memory, self.callback)

    @classmethod
    def of(cls, owner: str, **limits: Any) -> Self:
        """Return limits that a function called ``owner`` was given."""
        check_limits(owner, *(limits.get(name, getattr(cls, name)) for name in _LIMITS))
        return cls(**limits)

    def after(self, seconds: float, **changes: Any) -> Self:
        """Return the same limits when so many seconds have passed."""
        if self.max_time is not None:
            changes["max_time"] = max(self.max_time - seconds, SOONEST)
        return replace(self, **changes)

    def shared(self, **changes: Any) -> dict[str, Any]:
        """Return the limits as keywords, for another solver."""
        return {name: getattr(self, name) for name in _LIMITS} | changes

    def admit(self, problem: object, kind: type, start: object = None, hint: str = "") -> None:
        """Refuse a problem of another kind, and a start that is no point or of another shape than its points."""
        owner = type(self).__name__
        if not isinstance(problem, kind):
            raise fail("problem", owner, f"a {kind.__name__}", describe(type(problem).__name__), hint)
        if start is not None:
            wanted = getattr(problem, "start")()  # noqa: B009
            if not isinstance(start, type(wanted)) or [np.shape(a) for a in start] != [np.shape(a) for a in wanted]:
                rule = f"None or a {type(wanted).__name__} of the problem"
                raise fail("start", owner, rule, describe(type(start).__name__), "See the problem's start().")

    def admit_shared(self, kernel: Any, kind: type, problem: object) -> list[Any]:
        """Return what solves for several betas share, an empty list for None; refuse that of another problem."""
        owner = type(self).__name__
        if kernel is None:
            return []
        rule = f"an empty list, or one with the {kind.__name__} of this problem's rows and gates"
        if not isinstance(kernel, list) or not all(type(item) is kind for item in kernel):
            raise fail("kernel", owner, rule, kernel)
        if kernel and not kernel[0].fits(problem):
            raise fail("kernel", owner, rule, describe("that of another problem"))
        return kernel

    def admit_memory(self, needed: float, what: str, hint: str) -> None:
        """Refuse a problem that takes more than ``max_memory``."""
        check_memory(type(self).__name__, self.max_memory, needed, what, hint)


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Generic[Solution]):
    """A solution, how far from the optimum it is at most, and how it was reached. Made by the fits of estimators.

    Attributes
    ----------
    objective : float
        Primal value at ``coefficients``, in the 1/n scale.
    duality_gap : float
        Objective minus a proved lower bound of the optimum, ≥ 0.
    relative_gap : float
        ``duality_gap / objective``.
    n_iter : int
    status : Status
        "optimal", or what stopped the solver.
    history : tuple of HistoryRow
        One row for each check of the gap.
    solver : str
        Empty for tuning-free networks, whose ``reason`` has it.
    seconds : float
    coefficients : Coefficients, ReLUCoefficients, Weights or WeightedNeurons
        What was found, in the form of the problem: gated, constrained ReLU, Lasso, or neurons of a family.
    fitted : (n, C)
        The solver's own predictions on the training rows; empty for shards and tuning-free networks, as the next.
    dual_point : (n, C)
        The feasible dual point that proves the bound.
    reason : str
        Why this solver, if it was chosen automatically.
    message : str
        The status in words, with what to do about it.
    """

    objective: float
    duality_gap: float
    relative_gap: float
    n_iter: int
    status: Status
    history: tuple[HistoryRow, ...]
    solver: str
    seconds: float
    coefficients: Solution
    fitted: NDArray[np.float64]
    dual_point: NDArray[np.float64]
    reason: str = ""
    message: str = ""

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status is Status.OPTIMAL

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the solver."""
        return self.status is Status.INTERRUPTED

    def __repr__(self) -> str:
        return (
            f"Result(objective={self.objective:.8g}, relative_gap={self.relative_gap:.1e}, n_iter={self.n_iter}, "
            f"status={self.status.value!r}, solver={self.solver!r}, seconds={self.seconds:.2f})"
        )


def with_status(result: Result[Solution], status: Status, advice: str = "", **changes: Any) -> Result[Solution]:
    """Return the result with another status, and the message that belongs to it."""
    result = replace(result, status=status, **changes)
    bound = result.objective - result.duality_gap
    message = explain(status, result.n_iter, result.seconds, result.relative_gap, advice, bound > 0)
    return replace(result, message=message)


def sure_result(
    result: Result[Any],
    datafit: Datafit,
    rows: Any,
    beta: float,
    squares: int = 0,
    prices: Array | None = None,
    norm: float | None = None,
) -> Result[Any]:
    r"""Return a result whose gap counts all that rounding may have added to its bound, and not `USUAL` alone.

    A dual point scaled by :math:`s=n\beta/(n\beta+e)` has norms within :math:`n\beta`, and a value of sD or more, as D
    is concave and at least 0 at 0; e is what rounding may take from a norm of activations on the ``rows`` (n, d).
    ``squares``: how many squared norms the penalty is half of; 0 if it is of norms. ``prices`` (C,): what the sum of
    theta over the rows, which is to be 0, costs for each output of a free intercept: a separable loss changes targets
    by it, a softmax leaves it. ``norm``: the dual norm of theta with its rounding, where the family was priced again,
    :math:`n\beta+e`.
    """
    theta, value, lengths = result.dual_point, result.objective - result.duality_gap, row_lengths(rows)
    n, C = theta.shape
    reach = lengths + lengths.max(initial=0.0)  # with an offset
    lost = rounding_of_norm(reach, theta, additions(n) + rows.shape[1] + C + 8)
    if squares:
        unit, gains = 2 * n**2 * beta, datafit.dual_value(theta)
        value = gains - square_above(unit * (gains - value), squares, lost) / unit
    else:
        value *= n * beta / (n * beta + lost if norm is None else max(norm, n * beta))
    if prices is not None:
        value -= float(np.abs([math.fsum(column) for column in theta.T]) @ prices) / n
    return replace(result, duality_gap=result.objective - value + datafit.rounding_error(theta))


def is_stuck(result: Result[Any]) -> bool:
    """Whether rounding, or its number of steps, ended the solver; another solver may go on from there."""
    return not result.converged and not result.status.ends_all


def explain(
    status: Status, n_iter: int, seconds: float, relative_gap: float, advice: str = "", bounded: bool = True
) -> str:
    """Return a status in words, with what to do about it unless ``advice`` says; ``bounded``: there is a bound > 0."""
    reached = f"at a relative gap of {relative_gap:.1e}"
    when, usual = {
        Status.OPTIMAL: (f"reached the tolerance after {n_iter} iterations", ""),
        Status.MAX_ITER: (f"stopped after {n_iter} iterations", "try a larger max_iter or a larger tol"),
        Status.MAX_TIME: (f"stopped after {seconds:.1f} s", "try a larger max_time"),
        Status.MAX_MEMORY: (f"stopped by memory after {n_iter} iterations", "try a larger max_memory"),
        Status.INTERRUPTED: (f"stopped by an interrupt after {seconds:.1f} s", "this is the best point so far"),
        Status.STALLED: (f"stopped after {n_iter} iterations by rounding", "try a larger tol"),
        Status.NOT_FINITE: (
            f"stopped after {n_iter} iterations by a step that is not finite",
            "bring the columns of X and y to similar scales",
        ),
        Status.REFINED: ("no candidate gate lowers the objective", ""),
    }[status]
    advice = advice or usual
    if status is not Status.OPTIMAL and not bounded:
        advice = f"{_NO_BOUND}; else {advice}"
    return f"{when} {reached}" + (f": {advice}" if advice else "")
