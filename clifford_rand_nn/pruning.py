"""Fewer neurons, the same function on the training rows, no larger penalty."""

from dataclasses import replace

import numpy as np

from clifford_rand._checks import as_real, check_bool, check_choice, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.gates.hyperplanes import distinct_columns
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_network, unit_atoms
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.duality import relative_gap
from clifford_rand_nn.problems.lasso import Weights
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.lasso.vertex_solution import purify

_LEAST = 1e-6  # of the largest weight: a neuron below it is what an interior point leaves of none
_ON_PLANE = 1e-12  # activations below this share of a neuron's largest are rounding, on rows that span its hyperplane


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
    columns, kept, moved = purify(atoms.columns(data), start, fit_intercept)
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
    f = solution.predictions(X)
    return f, datafit.value(f) + beta * float(np.linalg.norm(solution.values, axis=1).sum())


def _added_up(solution: WeightedNeurons, X: NDArray[np.float64], p: int) -> WeightedNeurons:
    """One neuron for each pattern and sign; a sum without weights is on everywhere and goes into the intercept."""
    atoms, values, intercept = solution
    K = atoms.columns(X)
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
