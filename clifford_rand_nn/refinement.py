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
from clifford_rand_nn.solvers.stopping import handed_over


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
        Seconds after which no new iteration begins; a solver with a field ``max_time`` is stopped too.
    tol : float
        Ends refinement: no candidate of an iteration offers this share of the objective.
    random_state : Generator, int or None
    solver : solver or None
        For the problems of the iterations; None for ``Fista(tol=1e-5)``. Gains below its tolerance are noise.
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
    owner = "refine_gates"
    data = np.ascontiguousarray(as_rows(X, owner))  # the same sums whatever the layout was
    settings = RefinementSettings(**options)
    limit = settings.max_time
    settings.check(owner)
    ends = None if limit is None else time.perf_counter() + limit
    first = chosen_patterns(data, gates, settings.bias, owner, late=deadline(limit))
    settings = settings.sized(len(first.gates))
    rng = as_generator(settings.random_state, owner, "random_state")
    return GateExchange(data, y, beta, settings, rng, ends).run(first)


show_options(refine_gates, RefinementSettings)
