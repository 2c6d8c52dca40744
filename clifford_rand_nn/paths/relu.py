"""Paths of ReLU networks, by column generation that keeps its neurons from beta to beta."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_rows, check_bool, check_choice
from clifford_rand_nn.arrangements.chosen import chosen_patterns
from clifford_rand_nn.datafits.choice import make_datafit
from clifford_rand_nn.datafits.fit import unpenalised_fit
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.paths.path import RegularizationPath, beta_grid
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.lasso import constant_columns
from clifford_rand_nn.pruning import pruned
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet

__all__ = ["least_empty_beta", "path_over", "relu_path"]

Array = NDArray[np.float64]


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
    huber_delta: float = 1.0,
    sample_weight: ArrayLike | None = None,
) -> RegularizationPath:
    r"""Optimal ReLU networks for many beta: of the constrained program over given gates, or over all patterns.

    .. math:: \min_{U,b,t}\frac1n\sum_j\ell\Big(\sum_iD_i(X(U_i-U_i')+b_i-b_i')+t,y\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)

    in the cones :math:`(2D_i-I)(XU_i+b_i)\ge0` (paper, eq. cvxnn:relu), for beta from

    .. math:: \beta_{\max} = \frac1n\max_i\sup\{\pm\theta_0^TD_i(Xu+b):||u||_p\le1,\ (2D_i-I)(Xu+b)\ge0\}

    downwards, with :math:`\theta_0` the residual of the best constant. Every solve starts from the last one's neurons.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) array
        Real targets; -1 and 1 for "logistic" and "squared_hinge".
    gates : Gates, (directions (d, m), offsets (m,)), "exhaustive" or None
        None or "exhaustive": all activation patterns, so that the networks are global optima; see `Family` for how
        they are priced.
    penalty : {"group_l2", "group_l1"}
    bias : bool
        Whether neurons have one, which is not penalised. An output intercept is always fitted with it, and never
        without it.
    loss : {"squared", "huber", "logistic", "squared_hinge"}
    betas : array of numbers > 0, optional
        In the 1/n scale; otherwise ``n_betas`` values from beta_max to ``eps`` times it, evenly in the log.
    tol : float
        Relative duality gap at each beta.
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
    data = as_rows(X, owner)
    p = 1 if penalty == "group_l1" else 2
    if gates is None or (isinstance(gates, str) and gates == "exhaustive"):
        kind = Family("all", p, check_bool(bias, "bias", owner))
    else:
        kind = Family("gates", p, bias, chosen_patterns(data, gates, bias, owner).gates)
    pricer = kind.pricer(data)
    top = least_empty_beta(
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
        tol=tol,
        huber_delta=huber_delta,
        sample_weight=sample_weight,
        merge=True,
    )


def least_empty_beta(
    X: Array,
    y: Any,
    pricer: Pricer,
    *,
    loss: str,
    fit_intercept: bool,
    huber_delta: float,
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
    tol: float,
    huber_delta: float,
    sample_weight: ArrayLike | None = None,
    merge: bool = False,
) -> RegularizationPath:
    """Solve at every beta over the neurons of ``pricer``, each time from the neurons of the last solution.

    ``merge`` adds up neurons of one pattern, which leaves a dictionary but not a cone.
    """
    solver = WorkingSet(tol=tol)
    datafit = make_datafit(loss, y, len(X), "path", huber_delta, sample_weight)
    found: list[Result[Any]] = []
    start: Neurons | None = None
    for beta in betas:
        result = solver.solve(
            X,
            y,
            float(beta),
            pricer,
            loss=loss,
            fit_intercept=intercept,
            huber_delta=huber_delta,
            sample_weight=sample_weight,
            start=start,
        )
        start = result.coefficients.neurons
        found.append(pruned(result, X, datafit, float(beta), p, intercept) if merge else result)
    return RegularizationPath(
        betas=betas,
        beta_max=beta_max,
        networks=tuple(TwoLayerNetwork.from_neurons(result.coefficients, p) for result in found),
        objectives=np.array([result.objective for result in found]),
        bounds=np.array([result.objective - result.duality_gap for result in found]),
        relative_gaps=np.array([result.relative_gap for result in found]),
        statuses=tuple(result.status for result in found),
        scope=pricer.scope,
    )
