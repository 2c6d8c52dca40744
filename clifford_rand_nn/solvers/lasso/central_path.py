"""Predictor-corrector steps along the central path of the dual Lasso."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.interior.complementarity import Box, Complementarity, Discs, TwoSided
from clifford_rand_nn.solvers.interior.dual_terms import DualTerms
from clifford_rand_nn.solvers.lasso.normal_matrix import NormalMatrix

_START = 0.5  # the starting point has its largest correlation at this share of the bound
_SPREAD = 10.0  # the first weights explain the predictions so often: 24 steps on the spiral; 1 takes 26, 100 takes 24
_BOUNDARY = 0.99  # share of the way to the boundary
_SHORTEST = 1e-10  # a step below this share of the direction is lost in rounding


class CentralPath:
    r"""A strictly feasible dual point with multipliers, and the step that brings it on.

    Stationarity, with f the predictions at which theta is the residual and the box force of `Box`:
    :math:`KZ + t = f(\theta)` - force. It need not hold on the way; everything else does.
    """

    def __init__(self, problem: LassoProblem, terms: DualTerms) -> None:
        self.problem, self.terms = problem, terms
        K, self.radius = problem.K, problem.n * problem.beta
        self.squares = np.einsum("ij,ij->j", K, K)
        start = terms.start()
        start = start * min(1.0, _START * self.radius / problem.dual_norm(start))
        self.theta = start
        reduced = terms.mix.shape[1]
        shift = terms.null[0] - (terms.null[0, -1] if reduced < problem.outputs else 0.0)
        self.t = shift[:reduced] if problem.fit_intercept else np.zeros(0)
        U = K.T @ start
        kind = TwoSided if problem.outputs == 1 else Discs
        unit = K @ kind(U, self.radius, 1.0).weights()
        low, high = terms.closed
        count = U.size + np.count_nonzero(np.isfinite(low)) + np.count_nonzero(np.isfinite(high))
        gap = problem.n * (problem.datafit.value(terms.null) - problem.datafit.dual_value(start))
        mu = float(gap / count)
        wanted = float(np.vdot(unit, terms.predictions(start) - self.intercept()))
        if wanted > 0:
            mu = min(mu, _SPREAD * wanted / float(np.vdot(unit, unit)))
        self.cones: Complementarity = kind(U, self.radius, mu)
        self.box = Box(start, low, high, mu)
        self._measure()

    def _measure(self) -> None:
        self.Z = self.cones.weights()
        self.f = self.problem.K @ self.Z + self.intercept()

    def weights(self) -> Array:
        """Return the weights of all columns, (N, C)."""
        return self.Z

    def intercept(self) -> Array:
        """Return the intercept (C,)."""
        t = np.zeros(self.problem.outputs)
        t[: self.t.size] = self.t
        return t

    def objective(self) -> float:
        """Primal objective at the weights."""
        penalty = float(np.linalg.norm(self.Z, axis=1).sum())
        return self.problem.datafit.value(self.f) + self.problem.beta * penalty

    def step(self, least: float) -> bool:
        """Take one step towards products whose sum is not below n times ``least``; False if rounding leaves none.

        Without that floor slacks fall far below the rounding of K^T theta while stationarity still has to be reached.
        """
        cones, box, terms = self.cones, self.box, self.terms
        total = cones.count + box.count
        mu = (cones.product() + box.product()) / total
        floor = min(self.problem.n * least / total, mu)  # far above the optimum ``least`` may be above what is reached
        away = terms.predictions(self.theta) - self.f - box.force()
        excess = -self.theta.sum(axis=0)[: self.t.size]
        matrix = NormalMatrix(
            self.problem.K,
            self.squares,
            terms.curvature(self.theta) + box.curvature(),
            cones.curvature(),
            terms.mix,
            self.problem.fit_intercept,
        )

        def turn(target: float, second_order: bool) -> tuple[Array, Array, float]:
            pull = self.problem.K @ cones.aim(target, second_order) + box.aim(target, second_order)
            dtheta, dt, dU = matrix.solve(away + pull, excess)
            cones.turn(dU)
            box.turn(dtheta)
            return dtheta, dt, min(cones.limit(), box.limit(), terms.limit(self.theta, dtheta))

        length = min(1.0, turn(0.0, False)[2])
        reached = (cones.product_after(length) + box.product_after(length)) / total
        dtheta, dt, limit = turn(max(min(max(reached / mu, 0.0), 1.0) ** 3 * mu, floor), True)
        length = min(1.0, _BOUNDARY * limit)
        if not length > _SHORTEST:
            return False
        self.theta = self.theta + length * dtheta
        self.t = self.t + length * dt
        cones.advance(length)
        box.advance(length)
        self._measure()
        return True
