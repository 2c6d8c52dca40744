"""Paths of the Lasso over a dictionary of cross products: exact where one can be held, else beta by beta."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import as_rows, check_choice
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.choice import as_loss
from clifford_rand_nn.dictionaries.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.paths.path import RegularizationPath, Walk, beta_grid
from clifford_rand_nn.paths.relu import beta_max_over, path_limits, path_over
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result
from clifford_rand_nn.solvers.lasso.path import solution_at
from clifford_rand_nn.solvers.lasso.path_following import MAX_BREAKPOINTS, homotopy

_MOST_BYTES = 2**30  # of a matrix whose path is followed exactly


def lasso_path(
    X: ArrayLike,
    y: ArrayLike,
    *,
    penalty: str = "l1",
    bias: bool = True,
    subsample: int | None = None,
    loss: str = "squared",
    betas: ArrayLike | None = None,
    n_betas: int = 50,
    eps: float = 1e-3,
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    max_memory: float | None = None,
    callback: Callable[[Any], object] | None = None,
    huber_delta: float | None = None,
    sample_weight: ArrayLike | None = None,
    rng: np.random.Generator | int | None = None,
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
    penalty, subsample, rng
        The dictionary, as in `cross_product_dictionary`. "l1", not subsampled, is the exact one: its networks are
        global optima.
    bias : bool
        Whether neurons have one, which is not penalised. An output intercept is always fitted with it, and never
        without it.
    loss : str or Loss
        A name in `clifford_rand_nn.datafits.choice.LOSSES`, or a record.
    betas : array of numbers > 0, optional
        In the 1/n scale; otherwise ``n_betas`` values from beta_max to ``eps`` times it, evenly in the log.
    tol : float
        Relative duality gap at each beta; the exact path reaches 1e-9.
    max_iter : int or None
        At each beta; None for as many as the solver takes. Where the path is followed exactly, breakpoints.
    max_time, max_memory : float or None
        Seconds for the whole path, and bytes for a solve, as in `Limits`. A limit or Ctrl-C ends the path with the
        results so far: ``betas`` are those that were reached, ``status`` and ``message`` say why.
    callback : callable or None
        Called with each `HistoryRow` of every solve, or each `PathRow`.
    sample_weight : (n,) array of numbers > 0, optional
        As in `LassoProblem`.

    Returns
    -------
    RegularizationPath

    Raises
    ------
    ArgumentError
        An argument breaks its rule.

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
    limits = path_limits(owner, tol, max_iter, max_time, max_memory, callback)
    data = as_rows(X, owner)
    dictionary = cross_product_dictionary(data, penalty, bias=bias, subsample=subsample, rng=rng)
    most = _MOST_BYTES if max_memory is None else min(max_memory, _MOST_BYTES)
    if as_loss(loss, owner, huber_delta).is_quadratic and 8 * len(data) * dictionary.n_columns <= most:
        limits = replace(limits, max_iter=MAX_BREAKPOINTS if max_iter is None else max_iter)
        return _exact(data, y, sample_weight, dictionary, betas, n_betas, eps, limits)
    family = Family.of(dictionary)
    pricer = family.pricer(data)
    top = beta_max_over(
        data,
        y,
        pricer,
        loss=loss,
        fit_intercept=bias,
        huber_delta=huber_delta,
        owner=owner,
        sample_weight=sample_weight,
    )
    grid = beta_grid(betas, n_betas, eps, top, owner)
    return path_over(
        data,
        y,
        pricer,
        grid,
        top,
        p=family.p,
        loss=loss,
        intercept=bias,
        limits=limits,
        huber_delta=huber_delta,
        sample_weight=sample_weight,
    )


def _exact(
    X: Array,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    dictionary: CrossProductDictionary,
    betas: ArrayLike | None,
    n_betas: int,
    eps: float,
    limits: Limits,
) -> RegularizationPath:
    """Follow the breakpoints; read the solutions at the grid from them."""
    atoms = dictionary.neurons()
    problem = LassoProblem(
        atoms.training_columns(X), y, 1.0, fit_intercept=dictionary.bias, sample_weight=sample_weight
    )
    top = problem.beta_max()
    grid = beta_grid(betas, n_betas, eps, top, "lasso_path")
    exact = homotopy(
        problem.K,
        problem.datafit.y,
        fit_intercept=dictionary.bias,
        beta_min=float(grid[-1]),
        sample_weight=problem.datafit.sample_weight,
        max_breakpoints=limits.max_iter,
        max_time=limits.max_time,
        callback=limits.callback,
    )
    top = max(top, float(exact.betas[0]))  # the two differ by rounding, and nothing is active at the larger
    grid = beta_grid(betas, n_betas, eps, top, "lasso_path")
    found: list[Result[Weights]] = []
    for beta in grid:
        if exact.status.ends_all and beta < exact.betas[-1] and found:
            break
        problem.beta = float(beta)
        found.append(solution_at(exact, problem, limits.tol))
    solutions = [
        WeightedNeurons(atoms.take(c), values, intercept) for c, values, intercept in (r.coefficients for r in found)
    ]
    networks = [TwoLayerNetwork.from_neurons(solution, dictionary.p) for solution in solutions]
    walk = Walk.over(grid, found, exact.status if exact.status.ends_all else None)
    scope = Family.of(dictionary).pricer(X).scope
    return RegularizationPath.of(walk, top, networks, scope, exact.betas)
