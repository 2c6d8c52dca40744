"""Convex ReLU networks over sampled gates: the constrained program solved, or the gated optimum decomposed."""

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from clifford_rand_nn import Gates, activation_patterns, sample_gates
from clifford_rand_nn.networks import balanced_relu
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from examples.paper.methods.base import Array, Labels, Method, Model
from examples.paper.methods.cone_decomposition import cone_decomposition
from examples.paper.methods.convex import ConvexGated, GatedModel

__all__ = ["ConvexReLU", "DecomposedReLU", "ReLUModel"]

_SHARES = (0.5, 0.2, 0.08, 0.03, 0.01)  # of beta_max: each solve takes seconds, so fewer than for gated networks
_GRID_TOL, _TOL = 1e-2, 1e-3  # relative gaps: the last digits of a program with cones take most of the time


class ReLUModel(Model):
    """A ReLU network with beta, its objective there, and the gap that was proved, if any."""

    def __init__(
        self, coefficients: ReLUCoefficients, gates: Gates, gap: float | None, beta: float, objective: float
    ) -> None:
        self.network = balanced_relu(coefficients)
        self.gates, self.gap, self.beta, self.objective = gates, gap, beta, objective

    @property
    def n_active(self) -> int:
        """Neurons of the network."""
        return len(self.network.b1)

    def decision(self, X: Array) -> Array:
        """Return the network's output."""
        return np.asarray(self.network.predict(X)).reshape(len(X))


class ConvexReLU(Method):
    """A ReLU network by the convex program with cones; the grid is beta, as shares of its own beta_max.

    That is far below the beta_max of the gated program with the same gates, since few units fit into narrow cones.

    Parameters
    ----------
    n_gates : int
        Cross-product gates, without bias, sketched as `sample_gates` does by "auto".
    shares : sequence of float
    max_time : float
        Seconds of one solve at most.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> model = ConvexReLU(n_gates=5).fit(X, (X[:, 0] > 0).astype(int), 0.1, 0)
    >>> model.gap <= 1e-3, model.decision(X).shape
    (True, (30,))
    """

    log_odds = False

    def __init__(self, *, n_gates: int = 50, shares: Sequence[float] = _SHARES, max_time: float = 20.0) -> None:
        self.name, self.n_gates, self.grid, self.max_time = "relu", n_gates, tuple(shares), max_time

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> ReLUModel:
        """Solve for one share of beta_max."""
        return next(self._path(X, y, (value,), seed, _TOL))

    def fit_grid(self, X: Array, y: Labels, values: Sequence[Any], seed: int) -> Iterator[ReLUModel]:
        """Go down the shares, each solve from the last solution."""
        return self._path(X, y, values, seed, _GRID_TOL)

    def _path(self, X: Array, y: Labels, values: Sequence[Any], seed: int, tol: float) -> Iterator[ReLUModel]:
        patterns, gates = activation_patterns(
            X, sample_gates(X, self.n_gates, sketch_dim="auto", bias=False, random_state=seed)
        )
        problem = ConvexReLUProblem(X, np.where(y == 1, 1.0, -1.0), patterns, 1.0, bias=False)
        top = problem.beta_max()
        start: ReLUCoefficients | None = None
        for share in values:
            problem.beta = share * top
            result = AugmentedLagrangian(tol=tol, max_time=self.max_time).solve(problem, start)
            if result.interrupted:
                raise KeyboardInterrupt("the unfinished measurement is left out; the same command goes on from there.")
            start = result.coefficients
            yield ReLUModel(start, gates, result.relative_gap, problem.beta, result.objective)

    def describe(self) -> str:
        """Return the grid and all parameters."""
        return (
            f"{super().describe()} of beta_max; {self.n_gates} gates, squared loss, tol {_GRID_TOL:g} in the grid and "
            f"{_TOL:g} at the end, {self.max_time:g} s for a solve"
        )


class DecomposedReLU(ConvexGated):
    """The gated network of `ConvexGated`, its final fit turned into a ReLU network that agrees on the rows fitted.

    Examples
    --------
    >>> X = np.random.default_rng(0).standard_normal((30, 2))
    >>> y = (X[:, 0] > 0).astype(int)
    >>> gated, relu = (make("cross", n_gates=5).fit(X, y, 0.1, 0) for make in (ConvexGated, DecomposedReLU))
    >>> bool(np.allclose(gated.decision(X), relu.decision(X))), bool(relu.objective >= gated.objective)
    (True, True)
    """

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> Any:
        """Solve for one share of beta_max, then decompose every unit in its cone."""
        gated: GatedModel = super().fit(X, y, value, seed)
        patterns = gated.gates.activations(X)
        relu = cone_decomposition(X, patterns, gated.coefficients)
        problem = ConvexReLUProblem(
            X,
            np.where(y == 1, 1.0, -1.0),
            patterns,
            gated.beta,
            loss=self.loss,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
        )
        return ReLUModel(relu, gated.gates, None, gated.beta, problem.objective(relu))
