"""Paths of gated networks, each solve from the last solution, all on one kernel."""

from collections.abc import Callable
from typing import Any

from numpy.typing import ArrayLike

from clifford_rand._checks import as_rows, check_bool, check_choice
from clifford_rand_nn.arrangements.every import chosen_patterns
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.paths.path import RegularizationPath, beta_grid, documented, walked
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem, GatedRidgeProblem, Point
from clifford_rand_nn.solvers.base import HistoryRow, Limits, Result
from clifford_rand_nn.solvers.choice import AutoSolver


@documented
def gated_path(
    X: ArrayLike,
    y: ArrayLike,
    gates: Gates | tuple[ArrayLike, ArrayLike] | str,
    *,
    bias: bool = True,
    fit_intercept: bool = True,
    loss: str = "squared",
    betas: ArrayLike | None = None,
    n_betas: int = 50,
    eps: float = 1e-3,
    tol: float = 1e-6,
    max_iter: int = 20_000,
    max_time: float | None = None,
    max_memory: float | None = None,
    callback: Callable[[HistoryRow], object] | None = None,
    huber_delta: float | None = None,
    sample_weight: ArrayLike | None = None,
    penalty: str = "group_l2",
) -> RegularizationPath:
    r"""Optimal gated networks for many beta (paper, eq. cvxnn:grelu), each solve from the last one's solution.

    .. math:: \beta_{\max} = \frac1n\max_i||X^TD_i\theta_0||_F

    with :math:`\theta_0` the residual of the best fit by biases and intercept alone.

    Parameters
    ----------
    X : (n, d) array
    y : (n,) or (n, C) array
        As in `GatedReLUProblem`.
    gates : Gates, (directions (d, m), offsets (m,)) or "exhaustive"
    bias, fit_intercept : bool
    max_iter : int
        At each beta.
    {shared}
    penalty : {"group_l2", "ridge"}
        Norms, or half their squares: see `GatedRidgeProblem`, whose beta_max is another one.

    Returns
    -------
    RegularizationPath
        ``n_neurons`` counts the outputs of active gates.

    Raises
    ------
    ArgumentError
        An argument breaks its rule.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import sample_gates
    >>> x = np.linspace(-1, 1, 30)[:, None]
    >>> path = gated_path(x, np.abs(x[:, 0]), sample_gates(x, 5, rng=0), bias=False, n_betas=4)
    >>> path.n_neurons[0], bool((np.diff(path.objectives) < 0).all())
    (np.int64(0), True)
    """
    owner = "gated_path"
    check_choice(penalty, "penalty", owner, ("group_l2", "ridge"))
    bias = check_bool(bias, "bias", owner)
    limits = Limits.of(owner, tol=tol, max_iter=max_iter, max_time=max_time, max_memory=max_memory, callback=callback)
    patterns, kept = chosen_patterns(as_rows(X, owner), gates, bias, owner)
    kind = GatedRidgeProblem if penalty == "ridge" else GatedReLUProblem
    options: dict[str, Any] = {"loss": loss, "huber_delta": huber_delta, "sample_weight": sample_weight}
    problem: GatedReLUProblem | GatedRidgeProblem = kind(
        X, y, patterns, 1.0, bias=bias, fit_intercept=fit_intercept, **options
    )
    top = problem.beta_max()
    kernel: list[Any] = []
    start: Point | None = None

    def solve(beta: float, left: Limits) -> Result[Coefficients]:
        nonlocal start
        problem.penalty.beta = beta
        result = AutoSolver(**left.shared()).solve(problem, start, kernel)
        start = problem.point(result.coefficients)
        return result

    walk = walked(beta_grid(betas, n_betas, eps, top, owner), limits, solve)
    networks = [TwoLayerNetwork.from_gated(result.coefficients, kept) for result in walk.results]
    return RegularizationPath.of(walk, top, networks, f"over the {len(kept)} patterns")
