"""Networks that stand in for a `ConvexReLU` while beta is selected, where its own training takes too long.

Cones decide which. Where columns are few beside rows, a cone is thin: its neurons differ little from that of the gate
itself, and a network of these alone is near. Where they are many it holds little back, and a gated network is near.
"""

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.bias import with_feature
from clifford_rand_nn.estimators.base import Task
from clifford_rand_nn.networks import TwoLayerNetwork, gated_predictions, without_feature
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.interrupts import unless_interrupted
from clifford_rand_nn.solvers.lasso.working_set import solved_master
from clifford_rand_nn.solvers.relu.augmented_lagrangian import AugmentedLagrangian

_DEARER, _CLOSER = 4.0, 2.0  # on pima and iris the best beta was 1/8 and 1/2 to 1 of that of the gated network
_WIDE = 0.5  # columns a row from which the augmented Lagrangian trains few patterns at once: .3 for 4 s on amazon
_THIN = 0.5  # columns a row up to which the gates' own neurons stand for all of their cones
_TOL = 1e-3  # relative gap of the program, whose first digits take a small part of the time


class Judge(Protocol):
    """A network that is cheaper to train."""

    def top(self, owner: Any, task: Task) -> float:
        """Return the beta of which those that are tried are shares."""

    def judged(self, owner: Any, task: Task, shared: list[Any], X: Array) -> tuple[Array, float]:
        """Train it at ``owner.beta_``; return its outputs for X, and how many neurons it has."""


def judge_of(owner: Any, task: Task, quadratic: bool) -> Judge:
    """Return the network that stands for an estimator with planes of linear models among sampled gates, or without."""
    n, d = task.rows.shape
    if owner._linear and owner.solver == "auto" and not quadratic:
        if task.targets.shape[1] == 1 and d >= _WIDE * n:
            return Program()
        if task.targets.shape[1] > 1 and d <= _THIN * n:
            return OwnNeurons()
    return Gated(float(np.clip(n / d, _CLOSER, _DEARER)) if owner._linear and not quadratic else _DEARER)


@dataclass(frozen=True)
class Gated:
    """The gated network at ``factor`` times beta: its units are not held to cones, so they bend at less."""

    factor: float

    def top(self, owner: Any, task: Task) -> float:
        """Return that of the gated network."""
        return float(self._problem(owner, task, owner._task_patterns(task).patterns).beta_max()) / self.factor

    def judged(self, owner: Any, task: Task, shared: list[Any], X: Array) -> tuple[Array, float]:
        """Start from the solution of the last beta."""
        if not shared:
            patterns, gates = owner._task_patterns(task)
            shared += [gates, self._problem(owner, task, patterns), None, []]
        gates, problem, start, kernel = shared
        problem.penalty.beta = self.factor * owner.beta_
        with owner._limited(AutoSolver, task) as solver:
            result = unless_interrupted(solver.solve(problem, start, kernel))
        shared[2] = problem.point(result.coefficients)
        coefficients = without_feature(result.coefficients, task.feature)
        norms = np.linalg.norm(coefficients.coef, axis=(0, 2))
        return gated_predictions(X, gates, coefficients), int(np.count_nonzero(norms))

    @staticmethod
    def _problem(owner: Any, task: Task, patterns: Any) -> GatedReLUProblem:
        options = {"bias": owner._free_bias, **owner._options(task)}
        return GatedReLUProblem(task.rows, task.targets, patterns, 1.0, **options)


@dataclass(frozen=True)
class Program:
    """The network itself to its first digits, by the method for many columns."""

    def top(self, owner: Any, task: Task) -> float:
        """Return that of the convex program."""
        owner.beta_ = 1.0  # a problem has one; this is ignored
        return float(owner._problem(task, owner._task_patterns(task).patterns).beta_max())

    def judged(self, owner: Any, task: Task, shared: list[Any], X: Array) -> tuple[Array, float]:
        """Start from the solution of the last beta."""
        if not shared:
            shared += [owner._problem(task, owner._task_patterns(task).patterns), None]
        problem, start = shared
        problem.beta = owner.beta_
        with owner._limited(AugmentedLagrangian, task, tol=_TOL) as solver:
            result = unless_interrupted(solver.solve(problem, start))
        shared[1] = result.coefficients
        network = without_feature(TwoLayerNetwork.from_relu(result.coefficients, problem.p), task.feature)
        return np.asarray(network.predict(X)).reshape(len(X), -1), network.n_neurons


@dataclass(frozen=True)
class OwnNeurons:
    """The weights of the gates' own neurons alone, the network that column generation begins with."""

    def top(self, owner: Any, task: Task) -> float:
        """Return that of their Lasso."""
        return self._problem(owner, task)[1].beta_max()

    def judged(self, owner: Any, task: Task, shared: list[Any], X: Array) -> tuple[Array, float]:
        """Start from the solution of the last beta."""
        if not shared:
            shared += [*self._problem(owner, task), None]
        neurons, problem, start = shared
        problem.beta = owner.beta_
        with owner._limited(AutoSolver, task) as limits:
            result = unless_interrupted(solved_master(problem, start, limits.tol, limits.max_time))
        columns, values, intercept = shared[2] = result.coefficients
        rows = with_feature(X, task.feature)
        return neurons.take(columns).columns(rows) @ values + intercept, int(np.count_nonzero(values.any(axis=1)))

    @staticmethod
    def _problem(owner: Any, task: Task) -> tuple[Neurons, LassoProblem]:
        neurons = own_neurons(owner._candidates(task)[1])
        return neurons, LassoProblem(neurons.columns(task.rows), task.targets, 1.0, **owner._options(task))


def own_neurons(family: Family) -> Neurons:
    """Return the neurons of the gates of a family, on the rows of the problem: each is inside the cone of its gate."""
    gates: Any = family.members
    directions = gates.directions
    if family.feature is not None:
        directions = np.vstack([directions, gates.offsets / family.feature])
    lengths = np.linalg.norm(directions, ord=family.p, axis=0)
    offsets = gates.offsets / lengths if family.bias else np.zeros(len(gates))
    return Neurons.free(np.ascontiguousarray(directions / lengths), offsets)
