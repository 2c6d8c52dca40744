"""Convex networks whose gates are exchanged for better ones, by column generation, at the beta that was chosen."""

from typing import Any

import numpy as np

from clifford_rand_nn import activation_patterns, refine_gates
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from examples.paper.methods.base import Array, Labels
from examples.paper.methods.convex import ConvexGated, GatedModel

__all__ = ["ConvexRefined"]


class ConvexRefined(ConvexGated):
    """`ConvexGated` with rounds of `refine_gates` in the final fit; never more gates than at the beginning.

    The grid is that of the first gates: refining at each of its points would take as long for every one of them. So
    beta is chosen for other gates than it is used with.

    Parameters
    ----------
    rounds : int
        Rounds of refinement.
    gates, **options
        As `ConvexGated`.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((60, 3))
    >>> y = (X[:, 0] * X[:, 1] > 0).astype(int)
    >>> sampled = ConvexGated("cross", n_gates=10).fit_beta(X, y, 0.01, 0)
    >>> refined = ConvexRefined("cross", n_gates=10).fit_beta(X, y, 0.01, 0)
    >>> refined.objective < sampled.objective, len(refined.gates) <= 10
    (True, True)
    """

    def __init__(self, gates: str = "cross", *, rounds: int = 3, name: str = "convex-refined", **options: Any) -> None:
        super().__init__(gates, name=name, **options)
        self.rounds = rounds

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> GatedModel:
        """Refine at one share of the first gates' beta_max."""
        return self.fit_beta(X, y, value * self.beta_max(X, y, seed), seed)

    def fit_beta(self, X: Array, y: Labels, beta: float, seed: int) -> GatedModel:
        """Refine at one beta, then solve to ``tol``."""
        first = self._sample(X, y, seed)
        targets = np.where(y == 1, 1.0, -1.0)
        found = refine_gates(
            X,
            targets,
            first,
            beta=beta,
            loss=self.loss,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            method="gaussian" if self.gates == "gaussian" else "cross",
            sketch_dim="auto" if self.gates == "gaussian" else self.sketch_dim,
            max_gates=len(first),
            max_iter=self.rounds,
            max_time=self.max_time,
            random_state=np.random.default_rng([seed, 1]),  # draws of its own, not those of the first gates
            solver="auto",
        )
        if found.interrupted:
            raise KeyboardInterrupt("the unfinished measurement is left out; the same command goes on from there.")
        patterns, gates = activation_patterns(X, found.gates)
        problem = GatedReLUProblem(
            X, targets, patterns, beta, loss=self.loss, bias=self.bias, fit_intercept=self.fit_intercept
        )
        result = AutoSolver(tol=self.tol, max_time=self.max_time).solve(problem)
        if result.interrupted:
            raise KeyboardInterrupt("the unfinished measurement is left out; the same command goes on from there.")
        return GatedModel(result.coefficients, gates, result.relative_gap, beta, result.objective)

    def describe(self) -> str:
        """Return the grid and all parameters."""
        return f"{super().describe()}; {self.rounds} rounds of refinement in the final fit"
