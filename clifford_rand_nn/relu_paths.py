"""Paths of ReLU networks: by column generation that keeps its neurons from beta to beta, or exact for the Lasso."""

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from clifford_rand._checks import as_rows, check_bool, check_choice, check_size
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.gates.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.gates.enumeration import chosen_patterns, deadline
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_network
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family, lists_patterns
from clifford_rand_nn.problems.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.problems.duality import Centered, constant_columns
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.problems.loss_registry import as_loss, make_datafit
from clifford_rand_nn.problems.relu import RELU_PENALTIES
from clifford_rand_nn.refinement import pruned
from clifford_rand_nn.regularization_path import PathSettings, RegularizationPath, Walk, path_function, path_of, walked
from clifford_rand_nn.solvers.base import Limits, Result
from clifford_rand_nn.solvers.lasso_path import MAX_BREAKPOINTS, homotopy, solution_at
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet
from clifford_rand_nn.solvers.stopping import handed_over
from clifford_rand_nn.sparse_rows import merged_rows

_MOST_BYTES = 2**30  # of a matrix whose path is followed exactly
FIRST_SHARE = 0.25  # of max_time for the largest beta


@path_function
@handed_over
def relu_path(
    X: ArrayLike,
    y: ArrayLike,
    gates: Gates | tuple[ArrayLike, ArrayLike] | str | None = None,
    *,
    penalty: str = "group_l2",
    bias: bool = True,
    **options: Any,
) -> RegularizationPath:
    r"""Optimal ReLU networks for many beta: of the constrained program over given gates, or over all patterns.

    .. math:: \min_{U,b,t}\frac1n\sum_j\ell\Big(\sum_iD_i(X(U_i-U_i')+b_i-b_i')+t,y\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)

    in the cones :math:`(2D_i-I)(XU_i+b_i)\ge0` (paper, eq. cvxnn:relu), for beta from

    .. math:: \beta_{\max} = \frac1n\max_i\sup\{||\theta_0^TD_i(Xu+b)||_2:||u||_p\le1,\ (2D_i-I)(Xu+b)\ge0\}

    downwards, with :math:`\theta_0` the residual of the best constant. Every solve starts from the last one's neurons.
    A neuron with weights :math:`\alpha` for several outputs costs :math:`||w||_p||\alpha||_2`.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) or (n, C) array
        Real targets; -1 and 1 for "logistic" and "squared_hinge"; rows of a unit matrix for "softmax".
    gates : Gates, (directions (d, m), offsets (m,)), "exhaustive" or None
        None or "exhaustive": all activation patterns, so that the networks are global optima; see `Family` for how
        they are priced.
    penalty : {"group_l2", "group_l1"}
    bias : bool
        Whether neurons have one, which is not penalized. An output intercept is always fitted with it, and never
        without it.
    {shared}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 9)
    >>> path = relu_path(x[:, None], np.abs(x), n_betas=5)
    >>> path.n_neurons[0], bool((path.relative_gaps <= 1e-6).all())
    (np.int64(0), True)
    """
    owner = "relu_path"
    check_choice(penalty, "penalty", owner, tuple(RELU_PENALTIES))
    settings = PathSettings(**options)
    limits = settings.limits(WorkingSet.max_iter, owner)
    rows = _distinct(X, y, settings, owner)
    p = 1 if penalty == "group_l1" else 2
    every = gates is None or (isinstance(gates, str) and gates == "exhaustive")
    kind = Family("all", p, check_bool(bias, "bias", owner))
    began = time.perf_counter()
    if not every:
        kind = Family("gates", p, bias, chosen_patterns(rows.X, gates, bias, owner).gates)
    elif settings.max_time is not None and lists_patterns(rows.X.shape, p, bias):
        listed = chosen_patterns(rows.X, "exhaustive", bias, owner, late=deadline(settings.max_time)).gates
        kind = Family("gates", p, bias, listed) if listed.notes else kind
    limits = limits.after(time.perf_counter() - began)
    return _by_columns(rows, kind, settings, limits, owner, bias, merge=True)


@path_function
@handed_over
def lasso_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    penalty: str = "l1",
    bias: bool = True,
    subsample: int | None = None,
    random_state: np.random.Generator | int | None = None,
    **options: Any,
) -> RegularizationPath:
    r"""Optimal networks of the dictionary Lasso for many beta (paper, eq. cvxnn:lasso and Lemma 1).

    .. math:: \min_{z,t}\frac1n\sum_i\ell\Big(\sum_jK_{ij}z_j+t,\ y_i\Big)+\beta||z||_1,\qquad
              \beta_{\max}=\frac1n\max_j|K_j^T\theta_0|

    with :math:`\theta_0` the residual of the best constant; for the squared loss, in the paper's scale, that is
    :math:`2\max_j|K_j^T(y-\bar y)|`. For the squared loss, and a dictionary of at most 1 GiB, the path is followed
    exactly (`homotopy`), all its breakpoints are returned, and the given beta cost nothing more; otherwise each beta is
    solved by column generation from the last one's neurons.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
        Real targets; -1 and 1 for "logistic" and "squared_hinge".
    penalty, subsample, random_state
        The dictionary, as in `cross_product_dictionary`. "l1", not subsampled, is the exact one: its networks are
        global optima.
    bias : bool
        As in `relu_path`.
    {shared}

    Examples
    --------
    >>> import numpy as np
    >>> x = np.linspace(-1, 1, 9)
    >>> path = lasso_path(x[:, None], np.abs(x), n_betas=5)
    >>> path.n_neurons.tolist(), len(path.breakpoints)
    ([0, 2, 2, 2, 2], 2)
    """
    owner = "lasso_path"
    check_choice(penalty, "penalty", owner, ("l1", "l2"))
    settings = PathSettings(**options)
    limits = settings.limits(WorkingSet.max_iter, owner)
    rows = _distinct(X, y, settings, owner)
    dictionary = cross_product_dictionary(rows.X, penalty, bias=bias, subsample=subsample, random_state=random_state)
    largest = _MOST_BYTES if settings.max_memory is None else min(settings.max_memory, _MOST_BYTES)
    quadratic = as_loss(settings.loss, owner, settings.huber_delta).is_quadratic
    if quadratic and 8 * len(rows.X) * dictionary.n_columns <= largest:
        return _exact(rows, dictionary, settings, settings.limits(MAX_BREAKPOINTS, owner))
    return _by_columns(rows, Family.of(dictionary), settings, limits, owner, bias)


class DistinctRows:
    """Rows of X (n, d) with targets y (n, C), each once, in lexicographic order; for `WorkingSet` and `homotopy`.

    A pricer and a dictionary of these rows make a solution equal to the last bit, not only within its gap.

    ``X``, ``y`` (m, d). ``weights`` (m,): sums of the weights of equal rows, of mean 1.
    """

    def __init__(self, X: Array, y: Array, sample_weight: Array | None) -> None:
        self._first, self._place = merged_rows(np.hstack([X, y]))
        self._own = np.ones(len(X)) if sample_weight is None else sample_weight
        mass = np.bincount(self._place, self._own)
        self.X, self.y, self.weights = X[self._first], y[self._first], mass / mass.mean()

    def restored(self, result: Result[WeightedNeurons]) -> Result[WeightedNeurons]:
        """Return a result on the distinct rows as one on all rows: indices of rows, predictions, dual point."""
        neurons, values, intercept = result.coefficients
        spanning = np.concatenate([self._first, len(self._place) + np.arange(self.X.shape[1])])[neurons.rows]
        theta = result.dual_point[self._place] * (self._own / self.weights[self._place])[:, None]
        kept = WeightedNeurons(replace(neurons, rows=spanning), values, intercept)
        return replace(result, coefficients=kept, fitted=result.fitted[self._place], dual_point=theta)


def _distinct(X: ArrayLike, y: ArrayLike, settings: PathSettings, owner: str) -> DistinctRows:
    data = as_rows(X, owner)
    check_size(data, "X", owner)
    datafit = make_datafit(settings.loss, y, len(data), owner, settings.huber_delta, settings.sample_weight)
    return DistinctRows(data, datafit.y, datafit.sample_weight)


def _exact(
    rows: DistinctRows, dictionary: CrossProductDictionary, settings: PathSettings, limits: Limits
) -> RegularizationPath:
    atoms = dictionary.neurons()
    problem = LassoProblem(
        atoms.training_columns(rows.X), rows.y, 1.0, fit_intercept=dictionary.bias, sample_weight=rows.weights
    )
    centered = Centered.of(problem.datafit, dictionary.bias)
    problem.datafit = centered.datafit
    top = problem.beta_max()
    betas = settings.grid(top, "lasso_path")
    exact = homotopy(
        problem,
        float(betas[-1]),
        max_iter=limits.max_iter,
        max_time=limits.max_time,
        callback=limits.callback,
    )
    top = max(top, float(exact.betas[0]))  # the two differ by rounding, and nothing is active at the larger
    betas = settings.grid(top, "lasso_path")
    results: list[Result[Weights]] = []
    networks: list[TwoLayerNetwork] = []
    for beta in betas:
        if exact.status.ends_all and beta < exact.betas[-1] and results:
            break
        problem.beta = float(beta)
        results.append(solution_at(exact, problem, limits.tol))
        columns, values, intercept = results[-1].coefficients
        solution = WeightedNeurons(atoms.take(columns), values, intercept)
        networks.append(balanced_network(solution, dictionary.p))
    walk = Walk.over(betas, results, exact.status if exact.status.ends_all else None)
    scope = Family.of(dictionary).pricer(rows.X).scope
    return path_of(walk, top, networks, scope, centered, exact.betas)


def beta_max_over(
    X: Array, datafit: Datafit, pricer: Pricer, fit_intercept: bool, late: Callable[[], bool] | None = None
) -> float:
    r"""Return the least beta whose optimum has no neuron: the largest :math:`|k^T\theta_0|/n` of a unit neuron k.

    When ``late`` says that time is over it is an upper bound.
    """
    Q = constant_columns(len(X), fit_intercept)
    theta = datafit.balance(datafit.residual(unpenalized_fit(datafit, Q)), Q)
    priced = pricer.price(theta, 1, late)
    size = np.linalg.norm(theta, axis=1)
    bound = float(pricer.reach @ size)  # by the sizes of the rows, when no time was left
    if late is not None and late() and fit_intercept and size.any():
        # sum theta (z)_+ = (sum theta z + sum theta |z|) / 2 where theta sums to 0; |z| deviates no more than z does
        centered = X - np.average(X, axis=0, weights=size)
        spread = size.sum() * (size @ (centered**2).sum(axis=1))
        bound = min(bound, 0.5 * float(np.linalg.norm(X.T @ theta) + np.sqrt(spread)))
    return min(priced.size, bound) / len(X)


def _by_columns(
    rows: DistinctRows,
    family: Family,
    settings: PathSettings,
    limits: Limits,
    owner: str,
    fit_intercept: bool,
    merge: bool = False,
) -> RegularizationPath:
    """Solve at every beta over the neurons of a family, each time from the neurons of the last solution.

    ``merge`` adds up neurons of one pattern, which leaves a dictionary but not a cone.
    """
    X, pricer = rows.X, family.pricer(rows.X)
    options = {"loss": settings.loss, "huber_delta": settings.huber_delta, "sample_weight": rows.weights}
    centered = Centered.of(make_datafit(y=rows.y, n=len(X), owner=owner, **options), fit_intercept)
    datafit = centered.datafit
    began = time.perf_counter()
    top = beta_max_over(X, datafit, pricer, fit_intercept, deadline(limits.max_time, FIRST_SHARE))
    start: Neurons | None = None

    def solve(beta: float, left: Limits) -> Result[Any]:
        nonlocal start
        solver = WorkingSet(**left.shared())
        result = solver.solve(X, datafit.y, beta, pricer, start=start, fit_intercept=fit_intercept, **options)
        start = result.coefficients.neurons
        if not merge:
            return result
        return pruned(result, X, datafit, beta, family.p, fit_intercept, limits.tol)

    walk = walked(settings.grid(top, owner), limits.after(time.perf_counter() - began), solve)
    networks = [balanced_network(result.coefficients, family.p) for result in walk.results]
    return path_of(walk, top, networks, pricer.scope, centered)
