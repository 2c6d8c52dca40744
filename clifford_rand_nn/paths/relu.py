"""Paths of ReLU networks, by column generation that keeps its neurons from beta to beta."""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from clifford_rand._checks import as_rows, check_bool, check_choice
from clifford_rand._typing import Array
from clifford_rand_nn.arrangements.chosen import chosen_patterns
from clifford_rand_nn.datafits.choice import make_datafit
from clifford_rand_nn.datafits.fit import unpenalised_fit
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.paths.path import RegularizationPath, beta_grid, walked
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.lasso import constant_columns
from clifford_rand_nn.pruning import pruned
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet


def relu_path(
    X: ArrayLike,
    y: ArrayLike,
    gates: Gates | tuple[ArrayLike, ArrayLike] | str | None = None,
    *,
    penalty: str = "group_l2",
    bias: bool = True,
    loss: str = "squared",
    betas: ArrayLike | None = None,
    n_betas: int = 50,
    eps: float = 1e-3,
    tol: float = 1e-6,
    max_iter: int | None = None,
    max_time: float | None = None,
    max_memory: float | None = None,
    callback: Callable[[HistoryRow], object] | None = None,
    huber_delta: float | None = None,
    sample_weight: ArrayLike | None = None,
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
        Whether neurons have one, which is not penalised. An output intercept is always fitted with it, and never
        without it.
    loss : str or Loss
        A name in `clifford_rand_nn.datafits.choice.LOSSES`, or a record.
    betas : array of numbers > 0, optional
        In the 1/n scale; otherwise ``n_betas`` values from beta_max to ``eps`` times it, evenly in the log.
    tol : float
        Relative duality gap at each beta.
    max_iter : int or None
        Rounds of column generation at each beta; None for as many as it takes.
    max_time, max_memory : float or None
        Seconds for the whole path, and bytes for a solve, as in `Limits`. A limit or Ctrl-C ends the path with the
        results so far: ``betas`` are those that were reached, ``status`` and ``message`` say why.
    callback : callable or None
        Called with each `HistoryRow` of every solve.
    sample_weight : (n,) array of numbers > 0, optional
        As in `GatedReLUProblem`.

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
    >>> path = relu_path(x[:, None], np.abs(x), n_betas=5)
    >>> path.n_neurons[0], bool((path.relative_gaps <= 1e-6).all())
    (np.int64(0), True)
    """
    owner = "relu_path"
    check_choice(penalty, "penalty", owner, ("group_l2", "group_l1"))
    limits = path_limits(owner, tol, max_iter, max_time, max_memory, callback)
    data = as_rows(X, owner)
    p = 1 if penalty == "group_l1" else 2
    if gates is None or (isinstance(gates, str) and gates == "exhaustive"):
        kind = Family("all", p, check_bool(bias, "bias", owner))
    else:
        kind = Family("gates", p, bias, chosen_patterns(data, gates, bias, owner).gates)
    pricer = kind.pricer(data)
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
        p=kind.p,
        loss=loss,
        intercept=bias,
        limits=limits,
        huber_delta=huber_delta,
        sample_weight=sample_weight,
        merge=True,
    )


def path_limits(
    owner: str,
    tol: float,
    max_iter: int | None,
    max_time: float | None,
    max_memory: float | None,
    callback: Callable[[HistoryRow], object] | None,
) -> Limits:
    """Return the limits of a path by column generation."""
    most = WorkingSet.max_iter if max_iter is None else max_iter
    return Limits.of(owner, tol=tol, max_iter=most, max_time=max_time, max_memory=max_memory, callback=callback)


def beta_max_over(
    X: Array,
    y: Any,
    pricer: Pricer,
    *,
    loss: str,
    fit_intercept: bool,
    huber_delta: float | None,
    owner: str,
    sample_weight: ArrayLike | None = None,
) -> float:
    r"""Return the least beta whose optimum has no neuron: the largest :math:`|k^T\theta_0|/n` of a unit neuron k."""
    datafit = make_datafit(loss, y, len(X), owner, huber_delta, sample_weight)
    Q = constant_columns(len(X), fit_intercept)
    theta = datafit.balance(datafit.residual(unpenalised_fit(datafit, Q)), Q)
    return pricer.price(theta, 1).size / len(X)


def path_over(
    X: Array,
    y: Any,
    pricer: Pricer,
    betas: Array,
    beta_max: float,
    *,
    p: int,
    loss: str,
    intercept: bool,
    limits: Limits,
    huber_delta: float | None,
    sample_weight: ArrayLike | None = None,
    merge: bool = False,
) -> RegularizationPath:
    """Solve at every beta over the neurons of ``pricer``, each time from the neurons of the last solution.

    ``merge`` adds up neurons of one pattern, which leaves a dictionary but not a cone.
    """
    datafit = make_datafit(loss, y, len(X), "path", huber_delta, sample_weight)
    start: Neurons | None = None

    def solve(beta: float, left: Limits) -> Result[Any]:
        nonlocal start
        result = WorkingSet(**left.shared()).solve(
            X,
            y,
            beta,
            pricer,
            loss=loss,
            fit_intercept=intercept,
            huber_delta=huber_delta,
            sample_weight=sample_weight,
            start=start,
        )
        start = result.coefficients.neurons
        return pruned(result, X, datafit, beta, p, intercept, limits.tol) if merge else result

    walk = walked(betas, limits, solve)
    networks = [TwoLayerNetwork.from_neurons(result.coefficients, p) for result in walk.results]
    return RegularizationPath.of(walk, beta_max, networks, pricer.scope)
