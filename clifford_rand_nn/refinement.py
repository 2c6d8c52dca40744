"""Refinement of gates: column generation for the gated model, by sampled gates that climb to a higher price."""

import time
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import (
    as_generator,
    as_rows,
    check_choice,
    check_integer,
    check_positive,
    fail,
)
from clifford_rand_nn.arrangements.enumeration import chosen_patterns, deadline
from clifford_rand_nn.gate_exchange import GateExchange, Refinement, RefinementRound
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.gate_working_set import GateSolver
from clifford_rand_nn.solvers.interrupts import handed_over

_SOLVER_TOL = 1e-5  # relative gap of a round; rounds worth having lower the objective by much more
_PER_ROUND = 0.5  # of the gates: added in a round; on text embeddings smaller shares were no better for the time
_DRAWN = 10  # candidates drawn for each gate that is added


@handed_over
def refine_gates(
    X: ArrayLike,
    y: ArrayLike,
    gates: Gates | tuple[ArrayLike, ArrayLike] | str,
    *,
    beta: float,
    loss: str = "squared",
    bias: bool = True,
    fit_intercept: bool = True,
    huber_delta: float | None = None,
    sample_weight: ArrayLike | None = None,
    candidates: str = "cross",
    climb: bool = True,
    sketch_dim: int | str | None = "auto",
    n_candidates: int | None = None,
    per_round: int | None = None,
    max_gates: int | None = None,
    max_rounds: int = 10,
    max_time: float | None = None,
    tol: float = 1e-4,
    rng: np.random.Generator | int | None = None,
    solver: GateSolver | None = None,
    callback: Callable[[RefinementRound], object] | None = None,
) -> Refinement:
    r"""Exchange and add gates of `GatedReLUProblem` so that its optimum falls.

    A round draws fresh candidates, lets the best of them climb, ranks all by the gain that each guarantees (see
    `price_gates`), adds the best, and solves again from where it was. Gates without weights are dropped if gates have
    no bias; with ``max_gates`` only the gates whose removal would cost most are kept, and the problem is solved once
    more. A round that does not lower the objective is undone, so the objective never rises.

    Parameters
    ----------
    X, y, beta, loss, bias, fit_intercept, huber_delta, sample_weight
        As in `GatedReLUProblem`.
    gates : Gates, (directions (d, m), offsets (m,)) or "exhaustive"
        To begin with; of gates with equal patterns one is kept.
    candidates : {"cross", "gaussian"}
        Method of `sample_gates` for the draws.
    climb : bool
        Whether candidates move to a higher price, by gradient ascent on a soft gate. They are then no cross products.
    sketch_dim : int, "auto" or None
        Of the draws.
    n_candidates : int or None
        Gates drawn in a round; None for 10 times ``per_round``.
    per_round : int or None
        Gates added in a round; None for half as many as there are at the start, or as
        ``max_gates``. A round that does not help halves the number for the next.
    max_gates : int or None
        Most gates that the model has after a round, not counting the first model; None for no limit.
    max_rounds : int
    max_time : float or None
        Seconds after which no new round begins; a solver with a field ``max_time`` is stopped too.
    tol : float
        Ends refinement: no candidate of a round offers this share of the objective.
    rng : Generator, int or None
    solver : solver or None
        For the problems of the rounds; None for ``Fista(tol=1e-5)``. Gains below its tolerance are noise.
    callback : callable or None
        Called with each `RefinementRound`.

    Raises
    ------
    ArgumentError
        As `GatedReLUProblem` and `sample_gates`; another argument breaks its rule.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import sample_gates, spiral
    >>> X, y = spiral()
    >>> found = refine_gates(X, y, sample_gates(X, 10, rng=0), beta=1e-3, max_gates=10, max_rounds=3, rng=1)
    >>> len(found.gates) <= 10, found.result.objective < 0.9 * found.rounds[0].objective
    (True, True)
    """
    owner = "refine_gates"
    data = np.ascontiguousarray(as_rows(X, owner))  # the same sums whatever the layout was
    check_choice(candidates, "candidates", owner, ("cross", "gaussian"))
    check_choice(climb, "climb", owner, (True, False))
    check_choice(bias, "bias", owner, (True, False))
    max_rounds = check_integer(max_rounds, "max_rounds", owner, low=0)
    check_positive(tol, "tol", owner)
    if max_time is not None:
        check_positive(max_time, "max_time", owner)
    n_candidates, per_round, max_gates = (
        None if value is None else check_integer(value, name, owner)
        for value, name in ((n_candidates, "n_candidates"), (per_round, "per_round"), (max_gates, "max_gates"))
    )
    ends = None if max_time is None else time.perf_counter() + max_time
    first = chosen_patterns(data, gates, bias, owner, late=deadline(max_time))
    if callback is not None and not callable(callback):
        raise fail("callback", owner, "None or a function of a RefinementRound", callback)
    if solver is not None and not callable(getattr(solver, "solve", None)):
        raise fail("solver", owner, "None or a solver such as Fista()", solver)
    adding = max(1, round(_PER_ROUND * (max_gates or len(first.gates)))) if per_round is None else per_round
    search = GateExchange(
        X=data,
        y=y,
        options={
            "beta": beta, "loss": loss, "bias": bias, "fit_intercept": fit_intercept, "huber_delta": huber_delta,
            "sample_weight": sample_weight,
        },
        method=candidates,
        climb=climb,
        sketch_dim=sketch_dim,
        drawn=_DRAWN * adding if n_candidates is None else n_candidates,
        adding=adding,
        max_gates=max_gates,
        rng=as_generator(rng, owner),
        solver=Fista(tol=_SOLVER_TOL) if solver is None else solver,
        ends=ends,
    )  # fmt: skip
    return search.run(first, max_rounds, tol, callback)
