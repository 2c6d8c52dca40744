"""Refinement of gates: column generation for the gated model, by sampled gates that climb to a higher price."""

import time
from typing import Any

import numpy as np

from clifford_rand._checks import as_generator, as_rows
from clifford_rand._typing import ArrayLike
from clifford_rand_nn._records import show_options
from clifford_rand_nn.gate_exchange import GateExchange, Refinement, RefinementSettings
from clifford_rand_nn.gates.enumeration import chosen_patterns, deadline
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.solvers.dispatch import gated_solver
from clifford_rand_nn.solvers.gate_working_set import GateSolver
from clifford_rand_nn.solvers.stopping import handed_over

_OWNER = "refine_gates"
_SOLVER_TOL = 1e-5  # relative gap of an iteration; those worth having lower the objective by much more


@handed_over
def refine_gates(
    X: ArrayLike,
    y: ArrayLike,
    gates: Gates | tuple[ArrayLike, ArrayLike] | str,
    *,
    beta: float,
    **options: Any,
) -> Refinement:
    r"""Exchange and add gates of `GatedReLUProblem` so that its optimum falls.

    An iteration draws fresh candidates, lets the best of them climb, ranks all by the gain that each guarantees (see
    `price_gates`), adds the best, and solves again from where it was. Gates without weights are dropped if gates have
    no bias; with ``max_gates`` only the gates whose removal would cost most are kept, and the problem is solved once
    more. An iteration that does not lower the objective is undone, so the objective never rises.

    Parameters
    ----------
    X, y, beta, loss, bias, fit_intercept, huber_delta, sample_weight
        As in `GatedReLUProblem`.
    gates : Gates, (directions (d, m), offsets (m,)) or "exhaustive"
        To begin with; of gates with equal patterns one is kept.
    method : {"cross", "gaussian"}
        Method of `sample_gates` for the draws.
    climb : bool
        Whether candidates move to a higher price, by gradient ascent on a soft gate. They are then no cross products.
    sketch_dim : int, "auto" or None
        Of the draws.
    n_candidates : int or None
        Gates drawn in an iteration; None for 10 times ``n_new_gates``.
    n_new_gates : int or None
        Gates added in an iteration; None for half as many as there are at the start, or as ``max_gates``. An iteration
        that does not help halves the number for the next.
    max_gates : int or None
        Most gates that the model has after an iteration, not counting the first model; None for no limit.
    max_iter : int
    max_time : float or None
        Seconds after which no new iteration begins; the solver is stopped too.
    tol : float
        Ends refinement: no candidate of an iteration offers this share of the objective.
    random_state : Generator, int or None
    solver : {"auto", "kernel", "gram", "fista", "cvxpy"}
        As in `GatedReLURegressor`, for the problems of the iterations. They are solved to a relative gap of 1e-5.
    callback : callable or None
        Called with each `RefinementIteration`.

    Raises
    ------
    ArgumentError
        As `GatedReLUProblem` and `sample_gates`; another argument breaks its rule.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import sample_gates, spiral
    >>> X, y = spiral()
    >>> gates = sample_gates(X, 10, random_state=0)
    >>> found = refine_gates(X, y, gates, beta=1e-3, max_gates=10, max_iter=3, random_state=1)
    >>> len(found.gates) <= 10, found.result.objective < 0.9 * found.history[0].objective
    (True, True)
    """
    settings = RefinementSettings(**options)
    settings.check(_OWNER)
    return refined_gates(X, y, gates, beta, settings, gated_solver(settings.solver)(tol=_SOLVER_TOL))


show_options(refine_gates, RefinementSettings)


@handed_over
def refined_gates(
    X: ArrayLike, y: ArrayLike, gates: Any, beta: float, settings: RefinementSettings, solver: GateSolver
) -> Refinement:
    """Return what `refine_gates` does, by any solver of gated problems."""
    data = np.ascontiguousarray(as_rows(X, _OWNER))  # the same sums whatever the layout was
    limit = settings.max_time
    ends = None if limit is None else time.perf_counter() + limit
    first = chosen_patterns(data, gates, settings.bias, _OWNER, late=deadline(limit))
    settings = settings.sized(len(first.gates))
    rng = as_generator(settings.random_state, _OWNER, "random_state")
    return GateExchange(data, y, beta, settings, solver, rng, ends).run(first)
