"""Paths of gated networks, each solve from the last solution, all on one kernel."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from clifford_rand._checks import as_rows, check_choice
from clifford_rand_nn.arrangements.chosen import chosen_patterns
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.paths.path import RegularizationPath, beta_grid
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem, Point
from clifford_rand_nn.problems.ridge import GatedRidgeProblem
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.choice import AutoSolver

__all__ = ["gated_path"]


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
    huber_delta: float = 1.0,
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
    loss : {"squared", "huber", "logistic", "squared_hinge", "softmax"}
    betas : array of numbers > 0, optional
        In the 1/n scale; otherwise ``n_betas`` values from beta_max to ``eps`` times it, evenly in the log.
    tol : float
        Relative duality gap at each beta.
    max_iter : int
        Of FISTA, at each beta.
    sample_weight : (n,) array of numbers > 0, optional
        As in `GatedReLUProblem`.
    penalty : {"group_l2", "ridge"}
        Norms, or half their squares: see `GatedRidgeProblem`, whose beta_max is another one.

    Returns
    -------
    RegularizationPath
        ``n_neurons`` counts the outputs of active gates, and gates with a bias alone.

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
    check_choice(penalty, "penalty", "gated_path", ("group_l2", "ridge"))
    patterns, kept = chosen_patterns(as_rows(X, "gated_path"), gates, bias, "gated_path")
    kind = GatedRidgeProblem if penalty == "ridge" else GatedReLUProblem

    def problem_at(beta: float) -> GatedReLUProblem | GatedRidgeProblem:
        return kind(
            X,
            y,
            patterns,
            beta,
            loss=loss,
            bias=bias,
            fit_intercept=fit_intercept,
            huber_delta=huber_delta,
            sample_weight=sample_weight,
        )

    problem = problem_at(1.0)
    top = problem.beta_max()
    grid = beta_grid(betas, n_betas, eps, top, "gated_path")
    solver = AutoSolver(tol=tol, max_iter=max_iter)
    kernel: list[Any] = []
    found: list[Result[Coefficients]] = []
    start: Point | None = None
    for beta in grid:
        problem.penalty.beta = float(beta)
        result = solver.solve(problem, start, kernel)
        start = problem.point(result.coefficients)
        found.append(result)
    return _path(found, grid, top, kept)


def _path(found: list[Result[Coefficients]], grid: Any, top: float, gates: Gates) -> RegularizationPath:
    return RegularizationPath(
        betas=grid,
        beta_max=top,
        networks=tuple(TwoLayerNetwork.from_gated(result.coefficients, gates) for result in found),
        objectives=np.array([result.objective for result in found]),
        bounds=np.array([result.objective - result.duality_gap for result in found]),
        relative_gaps=np.array([result.relative_gap for result in found]),
        statuses=tuple(result.status for result in found),
        scope=f"over the {len(gates)} patterns",
    )
