"""Refinement of networks: better gates by column generation, and fewer neurons with the same function."""

import time
from dataclasses import replace
from typing import Any

import numpy as np

from clifford_rand._checks import as_generator, as_real, as_rows, check_bool, check_choice, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand_nn._records import show_options
from clifford_rand_nn.gate_exchange import GateExchange, Refinement, RefinementSettings
from clifford_rand_nn.gates.enumeration import chosen_patterns, deadline
from clifford_rand_nn.gates.hyperplanes import Gates, distinct_columns
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_network, unit_atoms
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.duality import relative_gap
from clifford_rand_nn.problems.lasso import Weights
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.dispatch import gated_solver
from clifford_rand_nn.solvers.lasso_interior_point import purify
from clifford_rand_nn.solvers.stopping import handed_over

_OWNER = "refine_gates"
_SOLVER_TOL = 1e-5  # relative gap of an iteration; those worth having lower the objective by much more
_LEAST = 1e-6  # of the largest weight: a neuron below it is what an interior point leaves of none
_ON_PLANE = 1e-12  # activations below this share of a neuron's largest are rounding, on rows that span its hyperplane


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
    X: ArrayLike, y: ArrayLike, gates: Any, beta: float, settings: RefinementSettings, solver: Any
) -> Refinement:
    """Return what `refine_gates` does, by any solver of gated problems."""
    data = np.ascontiguousarray(as_rows(X, _OWNER))  # the same sums whatever the layout was
    limit = settings.max_time
    ends = None if limit is None else time.perf_counter() + limit
    first = chosen_patterns(data, gates, settings.bias, _OWNER, late=deadline(limit))
    settings = settings.sized(len(first.gates))
    rng = as_generator(settings.random_state, _OWNER, "random_state")
    return GateExchange(data, y, beta, settings, solver, rng, ends).run(first)


def prune(network: TwoLayerNetwork, X: ArrayLike, *, p: int = 2, fit_intercept: bool = True) -> TwoLayerNetwork:
    r"""Prune a ReLU network to linearly independent neurons, without a change on the rows of X.

    First, for one output, neurons with the same activation pattern on X and the same sign of their output weight are
    added up, :math:`u = \sum_j\alpha_jw_j`: a cone of weights is closed under addition, and
    :math:`||u||_p\le\sum_j||w_j||_p|\alpha_j|`. Then, as long as the activations are linearly dependent, output weights
    move along a null vector in the direction in which :math:`\sum_j||w_j||_p||\alpha_j||_2` does not rise, until one is
    zero (`purify`). An optimal network stays optimal; of n rows at most n neurons remain, n - 1 if the intercept may
    move, times the number of outputs.

    Parameters
    ----------
    network : TwoLayerNetwork
        With ReLU neurons.
    X : (n, d) array
        Training rows.
    p : {1, 2}
        Norm of the penalty.
    fit_intercept : bool
        Whether the output intercept may move, as where it is not penalized.

    Returns
    -------
    TwoLayerNetwork
        Balanced.

    Raises
    ------
    ArgumentError
        The network is gated; X does not fit it.

    References
    ----------
    Mishkin, Pilanci, "Optimal sets and solution paths of ReLU networks", ICML 2023, section 4.

    Examples
    --------
    >>> import numpy as np
    >>> W1, w2 = np.array([[1.0], [2.0], [-1.0]]), np.array([[1.0], [0.5], [1.0]])
    >>> wide = TwoLayerNetwork(W1, np.zeros(3), w2, np.zeros(1))
    >>> x = np.array([[-1.0], [0.5], [2.0]])
    >>> small = prune(wide, x)
    >>> small.n_neurons, np.allclose(small.predict(x), wide.predict(x)), bool(small.penalty() <= wide.penalty())
    (2, True, True)
    """
    check_choice(p, "p", "prune", (1, 2))
    if not isinstance(network, TwoLayerNetwork):
        raise fail("network", "prune", "a TwoLayerNetwork", network)
    data = np.asarray(as_real(X, "X", "prune"), dtype=np.float64)
    fit_intercept = check_bool(fit_intercept, "fit_intercept", "prune")
    if data.ndim != 2 or data.shape[1] != network.W1.shape[1] or not len(data):
        rule = f"of shape (n, {network.W1.shape[1]}) with n ≥ 1"
        raise fail("X", "prune", rule, describe(f"shape {data.shape}"))
    atoms, values, intercept = unit_atoms(network, p, "prune")
    if values.shape[1] == 1:
        atoms, values, intercept = _added_up(WeightedNeurons(atoms, values, intercept), data, p)
    start = Weights(np.arange(len(atoms)), values, intercept)
    columns, kept, moved = purify(atoms.training_columns(data), start, fit_intercept)
    return balanced_network(WeightedNeurons(atoms.take(columns), kept, moved), p)


def pruned(
    result: Result[WeightedNeurons],
    X: NDArray[np.float64],
    datafit: Datafit,
    beta: float,
    p: int,
    fit_intercept: bool,
    tol: float,
) -> Result[WeightedNeurons]:
    """Prune the network of a result over all neurons of some patterns, and judge it again.

    Neurons of one pattern approach one direction from several sides; their sum is a better neuron. Neurons of next to
    no weight, as interior points leave them, go where the gap stays within ``tol``. The lower bound stays, and the
    result is returned as it is if rounding made the objective larger.
    """
    network = prune(balanced_network(result.coefficients, p), X, p=p, fit_intercept=fit_intercept)
    solution, bound = unit_atoms(network, p), result.objective - result.duality_gap
    f, objective = _judged(solution, X, datafit, beta)
    if not objective <= result.objective:
        solution, f, objective = result.coefficients, result.fitted, result.objective
    weight = np.linalg.norm(solution.values, axis=1)
    some = np.flatnonzero(weight > _LEAST * weight.max(initial=0.0))
    if len(some) < len(weight):
        fewer = WeightedNeurons(solution.neurons.take(some), solution.values[some], solution.intercept)
        f_fewer, higher = _judged(fewer, X, datafit, beta)
        if relative_gap(datafit, higher, bound) <= max(tol, relative_gap(datafit, objective, bound)):
            solution, f, objective = fewer, f_fewer, higher
    if solution is result.coefficients:
        return result
    return replace(
        result,
        objective=objective,
        duality_gap=max(objective - bound, 0.0),
        relative_gap=relative_gap(datafit, objective, bound),
        coefficients=solution,
        fitted=f,
    )


def _judged(
    solution: WeightedNeurons, X: NDArray[np.float64], datafit: Datafit, beta: float
) -> tuple[NDArray[np.float64], float]:
    f = solution.neurons.training_columns(X) @ solution.values + solution.intercept
    return f, datafit.value(f) + beta * float(np.linalg.norm(solution.values, axis=1).sum())


def _added_up(solution: WeightedNeurons, X: NDArray[np.float64], p: int) -> WeightedNeurons:
    """One neuron for each pattern and sign; a sum without weights is on everywhere and goes into the intercept."""
    atoms, values, intercept = solution
    K = atoms.training_columns(X)
    on = _ON_PLANE * K.max(axis=0, initial=0.0) < K
    group = distinct_columns(np.vstack([on, values.T > 0]))[1]
    belongs = np.arange(group.max(initial=-1) + 1)[:, None] == group  # (groups, neurons)
    share = belongs * np.abs(values[:, 0])
    V, b = atoms.directions @ share.T, share @ atoms.offsets
    sign = np.where((belongs & (values[:, 0] > 0)).any(axis=1), 1.0, -1.0)
    length = np.linalg.norm(V, ord=p, axis=0)
    constant = length <= _ON_PLANE * share.sum(axis=1)
    live = ~constant
    return WeightedNeurons(
        Neurons.free(V[:, live] / length[live], b[live] / length[live]),
        (sign * length)[live, None],
        intercept + sign[constant] @ np.maximum(b[constant], 0),
    )
