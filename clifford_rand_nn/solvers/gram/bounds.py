"""Objective and lower bound of coefficients of a design: by its products, or by sums over rows alone."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import DualBound, dual_bound
from clifford_rand_nn.problems.gated import GatedProblem, GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.gram.design import GatedDesign
from clifford_rand_nn.solvers.gram.smooth import QuadraticSum, RowSum

_SURE = 0.1  # of the tolerance: rounding of the sums that a bound may bear


def penalty_value(problem: GatedProblem, design: GatedDesign, x: Array) -> float:
    """Return the penalty of coefficients x (N + q, C), in the scale of the objective."""
    squares = design.squares(x)
    if isinstance(problem, GatedReLUProblem):
        return problem.beta * float(np.sqrt(squares).sum())
    return 0.5 * problem.beta * float(squares.sum())


def lower_bound(
    problem: GatedProblem, design: GatedDesign, smooth: QuadraticSum | RowSum, x: Array, f: Array, tol: float
) -> DualBound:
    """Return what the predictions f (n, C) of x prove, by a product with the columns, or by sums that are exact enough.

    ``smooth`` is at x. Where rounding of the sums takes less than a share of ``tol``, it is taken from the bound.
    """
    if isinstance(problem, GatedRidgeProblem):
        return problem.dual_bound(
            f, lambda theta: problem.square_above(float(design.squares(design.adjoint(theta)).sum()), theta)
        )
    radius = problem.n * problem.beta

    def size(theta: Array) -> float:
        if isinstance(smooth, QuadraticSum) and (problem.datafit.sample_weight is None or not design.q):
            error = smooth.rounding(x) + float(np.linalg.norm(design.rounding)) * float(np.linalg.norm(theta))
            if error <= _SURE * tol * radius:  # biases are balanced by a projection, which the columns do not see
                return float(np.sqrt(design.squares(smooth.slope).max(initial=0.0))) + error
        return float(np.sqrt(design.squares(design.adjoint(theta)).max(initial=0.0)))

    return dual_bound(problem.datafit, problem.datafit.residual(f), design.Q, size, radius, problem.reach)


def dual_without_rows(problem: GatedProblem, design: GatedDesign, smooth: QuadraticSum) -> float:
    """Return what the bound will be, if biases are balanced."""
    radius, squares = problem.n * problem.beta, design.squares(smooth.slope)
    if isinstance(problem, GatedRidgeProblem):
        return (smooth.scaled_dual(1.0) - 0.5 * float(squares.sum()) / radius) / problem.n
    largest = float(np.sqrt(squares.max(initial=0.0)))
    return smooth.scaled_dual(radius / largest if largest > 0 else np.inf) / problem.n
