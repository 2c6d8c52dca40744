"""What a path is: for every beta a network, its objective, and a lower bound of the optimum."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from inspect import cleandoc
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_real, check_array, check_integer, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.solvers.base import Limits, Result, Status

F = TypeVar("F", bound=Callable[..., Any])

_SHARED = """
    loss : str or Loss
        A name in `clifford_rand_nn.datafits.choice.LOSSES`, or a record.
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
"""


def documented(path: F) -> F:
    """Put the parameters that all paths share where the docstring of one has ``{shared}``."""
    path.__doc__ = cleandoc(path.__doc__ or "").replace("{shared}", cleandoc(_SHARED))
    return path


@dataclass(frozen=True, eq=False)
class RegularizationPath:
    r"""Networks along a path of falling beta.

    The optimal value is a non-decreasing, concave function of beta, since it is the least of functions that are affine
    in beta; its slope is the penalty of the solution.

    Attributes
    ----------
    betas : (B,)
        Falling.
    beta_max : float
        Least beta whose optimum has no neuron.
    networks : tuple of TwoLayerNetwork
    objectives, bounds : (B,)
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
    bounds: Array
    relative_gaps: Array
    statuses: tuple[Status, ...]
    scope: str
    breakpoints: Array | None = None
    status: Status = Status.OPTIMAL
    message: str = ""

    def __post_init__(self) -> None:
        owner = "RegularizationPath"
        n = len(check_array(self.betas, "betas", owner, (None,)))
        for name in ("objectives", "bounds", "relative_gaps"):
            check_array(getattr(self, name), name, owner, (n,))
        for name, kind in (("networks", TwoLayerNetwork), ("statuses", Status)):
            values = getattr(self, name)
            if not (isinstance(values, tuple) and len(values) == n and all(isinstance(one, kind) for one in values)):
                raise fail(name, owner, f"a tuple of {n} of {kind.__name__}, one for each beta", values)

    @classmethod
    def of(
        cls,
        walk: "Walk",
        beta_max: float,
        networks: Sequence[TwoLayerNetwork],
        scope: str,
        breakpoints: Array | None = None,
    ) -> "RegularizationPath":
        """Return the path of a walk, whose solutions are these networks."""
        results = walk.results
        return cls(
            betas=walk.betas[: len(results)],
            beta_max=beta_max,
            networks=tuple(networks),
            objectives=np.array([result.objective for result in results]),
            bounds=np.array([result.objective - result.duality_gap for result in results]),
            relative_gaps=np.array([result.relative_gap for result in results]),
            statuses=tuple(result.status for result in results),
            scope=scope,
            breakpoints=breakpoints,
            status=walk.status,
            message=walk.message,
        )

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
        return cls(betas, results, ended, f"ended by {ended.value} after {len(results)} of {len(betas)} betas")


def walked(betas: Array, limits: Limits, solve: Callable[[float, Limits], Result[Any]]) -> Walk:
    """Solve at every beta in turn; an interrupt, or a limit of time or memory, ends the walk with the results so far.

    ``solve`` gets what is left of the limits. The result in which a solver was ended is the last one.
    """
    began = time.perf_counter()
    results: list[Result[Any]] = []
    ended: Status | None = None
    try:
        for beta in betas:
            seconds = time.perf_counter() - began
            if results and limits.max_time is not None and seconds >= limits.max_time:
                ended = Status.MAX_TIME
                break
            results.append(solve(float(beta), limits.after(seconds)))
            if results[-1].status.ends_all:
                ended = results[-1].status
                break
    except (KeyboardInterrupt, MemoryError) as error:
        if not results:
            raise
        ended = Status.INTERRUPTED if isinstance(error, KeyboardInterrupt) else Status.MAX_MEMORY
    return Walk.over(betas, results, ended)


def beta_grid(betas: Any, n_betas: int, eps: float, beta_max: float, owner: str) -> Array:
    """Return falling values: the given ones, or ``n_betas`` from ``beta_max`` to ``eps`` times it, evenly in the log.

    If nothing can be learned, ``beta_max`` = 0, the grid is that below 1, and every network is empty.
    """
    if betas is None:
        check_integer(n_betas, "n_betas", owner)
        if not (isinstance(eps, float | int) and 0 < eps < 1):
            raise fail("eps", owner, "between 0 and 1", eps)
        top = beta_max if beta_max > 0 else 1.0
        return np.asarray(top * np.geomspace(1.0, eps, n_betas)) if n_betas > 1 else np.array([top])
    values = np.atleast_1d(np.asarray(as_real(betas, "betas", owner), dtype=np.float64))
    if values.ndim != 1 or values.size == 0 or not (values > 0).all():
        raise fail("betas", owner, "one or more numbers > 0", describe(f"shape {np.shape(betas)}"))
    return np.sort(values)[::-1].copy()
