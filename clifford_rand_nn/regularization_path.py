"""Regularization paths: a network, its objective and a lower bound for every beta; gated paths."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from clifford_rand._checks import (
    as_real,
    as_rows,
    check_array,
    check_bool,
    check_choice,
    check_fits,
    check_integer,
    check_number,
    describe,
    fail,
)
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import show_options
from clifford_rand_nn.gates.enumeration import chosen_patterns, deadline
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_gated
from clifford_rand_nn.problems.duality import Centered, stated_gap
from clifford_rand_nn.problems.gated import GATED_PENALTIES, Coefficients, GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.stopping import BestIterate, as_interrupted, handed_over, held

F = TypeVar("F", bound=Callable[..., Any])

_GATED_MAX_ITER = 20_000  # steps of a solver at each beta
_SMALLEST = 1e-300  # beta of a grid: below, its quotients are beyond float64
_SHARED = """
    max_iter : int or None
        At each beta; None for as many as the solver takes. Where the path is followed exactly, breakpoints.
    loss : str or Loss
        A name in `clifford_rand_nn.problems.loss_registry.LOSSES`, or a record.
    betas : array of numbers > 0, optional
        In the 1/n scale; otherwise ``n_betas`` values from beta_max to ``eps`` times it, evenly in the log.
    tol : float
        Relative duality gap at each beta; a path that is followed exactly reaches 1e-9.
    max_time, max_memory : float or None
        Seconds for the whole path, and bytes for a solve, as in `Limits`. A limit or Ctrl-C ends the path with the
        results so far: ``betas`` are those that were reached, ``status`` and ``message`` say why.
    callback : callable or None
        Called with each `HistoryRow` of every solve, or each `PathRow` of a path that is followed exactly.
    sample_weight : (n,) array of numbers > 0, optional
        As in `GatedReLUProblem`.

    Returns
    -------
    RegularizationPath

    Raises
    ------
    ArgumentError
        An argument breaks its rule.
"""


@dataclass(frozen=True)
class PathSettings:
    """The options of a path: its loss, its grid of beta, and the limits of its solves."""

    loss: str = "squared"
    betas: ArrayLike | None = None
    n_betas: int = 50
    eps: float = 1e-3
    tol: float = 1e-6
    max_iter: int | None = None
    max_time: float | None = None
    max_memory: float | None = None
    callback: Callable[[Any], object] | None = None
    huber_delta: float | None = None
    sample_weight: ArrayLike | None = None

    def grid(self, beta_max: float, owner: str) -> Array:
        """Return the falling values of beta."""
        return beta_grid(self.betas, self.n_betas, self.eps, beta_max, owner)

    def limits(self, max_iter: int, owner: str) -> Limits:
        """Return the checked limits, with ``max_iter`` where none was given."""
        limits = {name: getattr(self, name) for name in ("tol", "max_time", "max_memory", "callback")}
        return Limits.of(owner, max_iter=max_iter if self.max_iter is None else self.max_iter, **limits)


def path_function(path: F) -> F:
    """Show the options of all paths in the signature of one, and their description in its docstring."""
    show_options(path, PathSettings, _SHARED)
    return path


@dataclass(frozen=True, eq=False, kw_only=True)
class RegularizationPath:
    r"""Networks along a path of falling beta. Made by `gated_path`, `relu_path` and `lasso_path`.

    The optimal value is a non-decreasing, concave function of beta, since it is the least of functions that are affine
    in beta; its slope is the penalty of the solution.

    Attributes
    ----------
    betas : (B,)
        Falling.
    beta_max : float
        Least beta whose optimum has no neuron.
    networks : tuple of TwoLayerNetwork
    objectives, lower_bounds : (B,)
        Primal value and its proved lower bound, in the 1/n scale.
    relative_gaps : (B,)
    n_neurons : (B,) int
    statuses : tuple of Status
        "optimal", or why a solve stopped early.
    status : Status
        "optimal" if all are; "interrupted", "max_time" or "max_memory" if the path ended before its last beta.
    message : str
        Where the path ended, if before its last beta.
    scope : str
        What the bounds range over.
    breakpoints : (K,) or None
        Where the exact path turns, if it was followed exactly; between two of them it is linear in beta.
    """

    betas: Array
    beta_max: float
    networks: tuple[TwoLayerNetwork, ...]
    objectives: Array
    lower_bounds: Array
    relative_gaps: Array
    statuses: tuple[Status, ...]
    scope: str
    breakpoints: Array | None = None
    status: Status = Status.OPTIMAL
    message: str = ""

    def __post_init__(self) -> None:
        owner = "RegularizationPath"
        n = len(check_array(self.betas, "betas", owner, (None,)))
        for name in ("objectives", "lower_bounds", "relative_gaps"):
            check_array(getattr(self, name), name, owner, (n,))
        for name, kind in (("networks", TwoLayerNetwork), ("statuses", Status)):
            values = getattr(self, name)
            if not (
                isinstance(values, tuple) and len(values) == n and all(isinstance(value, kind) for value in values)
            ):
                raise fail(name, owner, f"a tuple of {n} of {kind.__name__}, one for each beta", values)

    @property
    def n_neurons(self) -> NDArray[np.intp]:
        """Number of neurons at each beta."""
        return np.array([network.n_neurons for network in self.networks], dtype=np.intp)

    def predict(self, X: Any) -> Array:
        """Return the outputs of every network: (B, n), or (B, n, C) for several outputs."""
        return np.stack([network.predict(X) for network in self.networks])

    def __len__(self) -> int:
        return len(self.betas)

    def __repr__(self) -> str:
        return (
            f"RegularizationPath({len(self)} betas from {self.betas[0]:.3g} to {self.betas[-1]:.3g}, "
            f"{self.n_neurons.min()} to {self.n_neurons.max()} neurons, relative gaps ≤ {self.relative_gaps.max():.1e} "
            f"{self.scope}{f', {self.message}' if self.message else ''})"
        )


@as_interrupted.register
def _(path: RegularizationPath) -> RegularizationPath:
    n = len(path)
    return replace(path, status=Status.INTERRUPTED, message=_end_message(Status.INTERRUPTED, n, n))


class Walk(NamedTuple):
    """Results along a grid of beta, as many as there are, and why there are no more."""

    betas: Array
    results: list[Result[Any]]
    status: Status
    message: str

    @classmethod
    def over(cls, betas: Array, results: list[Result[Any]], ended: Status | None) -> "Walk":
        """Return the walk that ended for a reason, or at the end of the grid."""
        if ended is None:
            missed = [result.status for result in results if not result.converged]
            return cls(betas, results, missed[0] if missed else Status.OPTIMAL, "")
        return cls(betas, results, ended, _end_message(ended, len(results), len(betas)))


def path_of(
    walk: Walk,
    beta_max: float,
    networks: Sequence[TwoLayerNetwork],
    scope: str,
    centered: Centered,
    breakpoints: Array | None = None,
) -> RegularizationPath:
    """Return the path of a walk, whose solutions for centered targets are these networks."""
    results = walk.results
    raised = [centered.back(network.b2, result.fitted) for network, result in zip(networks, results, strict=True)]
    objectives = np.array([result.objective for result in results])
    bounds = np.maximum(objectives - [result.duality_gap for result in results], 0.0)
    objectives = objectives + [change for _, change in raised]
    return RegularizationPath(
        betas=walk.betas[: len(results)],
        beta_max=beta_max,
        networks=tuple(replace(network, b2=b2) for network, (b2, _) in zip(networks, raised, strict=True)),
        objectives=objectives,
        lower_bounds=bounds,
        relative_gaps=np.array(list(map(stated_gap, objectives, bounds))),
        statuses=tuple(result.status for result in results),
        scope=scope,
        breakpoints=breakpoints,
        status=walk.status,
        message=walk.message,
    )


def _end_message(ended: Status, reached: int, of: int) -> str:
    return f"ended by {ended.value} after {reached} of {of} betas"


def walked(betas: Array, limits: Limits, solve: Callable[[float, Limits], Result[Any]]) -> Walk:
    """Solve at every beta, within what is left of the limits; one that ends, or Ctrl-C, keeps the results so far."""
    began = time.perf_counter()
    results: list[Result[Any]] = []
    with BestIterate(results) as kept:
        for beta in betas:
            seconds = time.perf_counter() - began
            if results and limits.max_time is not None and seconds >= limits.max_time:
                kept.stop(Status.MAX_TIME)
                break
            results.append(solve(float(beta), limits.after(seconds)))
            if results[-1].status.ends_all or held():
                kept.stop(results[-1].status if results[-1].status.ends_all else Status.INTERRUPTED)
                break
    return Walk.over(betas, results, kept.status)


def beta_grid(betas: Any, n_betas: int, eps: float, beta_max: float, owner: str) -> Array:
    """Return falling values: the given ones, or ``n_betas`` from ``beta_max``, or 1 if it is 0, to ``eps`` times it."""
    if betas is None:
        n_betas = check_integer(n_betas, "n_betas", owner)
        check_fits(64 * n_betas, "n_betas", owner)
        eps = check_number(eps, "eps", owner, "between 0 and 1", lambda share: 0 < share < 1)
        top = beta_max if beta_max > 0 else 1.0
        if top * eps < _SMALLEST:
            value = describe(f"{eps:.1e} of {top:.1e}, the largest")
            raise fail("eps", owner, f"such that the smallest beta is {_SMALLEST:.0e} or more", value)
        return np.asarray(top * np.geomspace(1.0, eps, n_betas)) if n_betas > 1 else np.array([top])
    values = np.atleast_1d(np.asarray(as_real(betas, "betas", owner), dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not (values > 0).all():
        raise fail("betas", owner, "one or more numbers > 0", describe(f"shape {np.shape(betas)}"))
    return np.sort(values)[::-1].copy()


@path_function
@handed_over
def gated_path(
    X: ArrayLike,
    y: ArrayLike,
    gates: Gates | tuple[ArrayLike, ArrayLike] | str,
    *,
    bias: bool = True,
    fit_intercept: bool = True,
    penalty: str = "group_l2",
    **options: Any,
) -> RegularizationPath:
    r"""Optimal gated networks for many beta (paper, eq. cvxnn:grelu), each solve from the last one's solution.

    .. math:: \beta_{\max} = \frac1n\max_i||X^TD_i\theta_0||_F

    with :math:`\theta_0` the residual of the best fit by biases and intercept alone. ``n_neurons`` counts the outputs
    of active gates.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) or (n, C) array
        As in `GatedReLUProblem`.
    gates : Gates, (directions (d, m), offsets (m,)) or "exhaustive"
    bias, fit_intercept : bool
    penalty : {"group_l2", "ridge"}
        Norms, or half their squares: see `GatedRidgeProblem`, whose beta_max is another one.
    {shared}

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import sample_gates
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> path = gated_path(x, np.abs(x[:, 0]), sample_gates(x, 5, random_state=0), bias=False, n_betas=4)
    >>> path.n_neurons[0], bool((np.diff(path.objectives) < 0).all())
    (np.int64(0), True)
    """
    owner = "gated_path"
    check_choice(penalty, "penalty", owner, tuple(GATED_PENALTIES))
    bias = check_bool(bias, "bias", owner)
    settings = PathSettings(**options)
    limits = settings.limits(_GATED_MAX_ITER, owner)
    began = time.perf_counter()
    patterns, kept = chosen_patterns(as_rows(X, owner), gates, bias, owner, late=deadline(settings.max_time))
    kind = GATED_PENALTIES[penalty]
    losses = {name: getattr(settings, name) for name in ("loss", "huber_delta", "sample_weight")}
    problem: GatedReLUProblem | GatedRidgeProblem = kind(
        X, y, patterns, 1.0, bias=bias, fit_intercept=fit_intercept, **losses
    )
    centered = Centered.of(problem.datafit, fit_intercept)
    problem.datafit = centered.datafit
    top = problem.beta_max()
    kernel: list[Any] = []
    last: Result[Coefficients] | None = None

    def solve(beta: float, left: Limits) -> Result[Coefficients]:
        nonlocal last
        problem.penalty.beta = beta
        last = AutoSolver(**left.shared()).solve(problem, last, kernel)
        return last

    walk = walked(settings.grid(top, owner), limits.after(time.perf_counter() - began), solve)
    networks = [balanced_gated(result.coefficients, kept) for result in walk.results]
    return path_of(walk, top, networks, f"over the {len(kept)} patterns", centered)
