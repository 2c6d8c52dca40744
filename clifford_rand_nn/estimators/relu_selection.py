"""Selection of beta for `ConvexReLU`: cheaper networks, the linear model of its loss, and estimated training times.

Cones decide which. Where columns are few beside rows, a cone is thin: its neurons differ little from that of the gate
itself, and a network of these alone is near. Where they are many it holds little back, and a gated network is near.
"""

from dataclasses import replace
from typing import Any, cast

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.held_out import chosen_beta
from clifford_rand_nn.estimators.task import Task, WarmStart
from clifford_rand_nn.gates.hyperplanes import Gates, fitted_gates, gates_without_incidence, planes_of
from clifford_rand_nn.networks import balanced_relu, gated_predictions, without_feature
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.datafit import unpenalized_fit
from clifford_rand_nn.problems.duality import constant_columns
from clifford_rand_nn.problems.gated import GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.loss_registry import as_loss
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.base import Result, with_status
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.lasso_working_set import solved_master
from clifford_rand_nn.solvers.stopping import unless_interrupted
from clifford_rand_nn.sparse_rows import with_feature

_DEARER, _CLOSER = 4.0, 2.0  # on pima and iris the best beta was 1/8 and 1/2 to 1 of that of the gated network
_WIDE = 0.5  # columns a row from which the augmented Lagrangian trains few patterns at once: .3 for 4 s on amazon
_THIN = 0.5  # columns a row up to which the gates' own neurons stand for all of their cones
_STARTING_NEURONS = 200  # where time is short: their weights take some hundredths of a second
_OWN = 1e-3  # relative gap of the weights of the gates' own neurons
_TOL = 1e-3  # relative gap of the program, whose first digits take a small part of the time
_LINEAR_TOL = 1e-4  # relative gap of a model that is only judged
# From the middle, where time is short. On wine, 63 rows, every power of four beyond is better by what says nothing.
_POWERS = (4, 3, 5, 2, 6, 1, 7, 8, 9)
_TIGHT = 1e-12  # of the one that is taken, so that neither the order of the rows nor copies of them turn a plane
_STEP_SECONDS = 4e-8 * 40  # of the interior point: for each pattern, row and squared column, times its steps
_PROJECTION, _LEAST_PROJECTION = 1.2e-8, 1e-4  # on a cone: for each row and root of a cubed column; at least
_CHECKED = 20  # projections for each pattern of the augmented Lagrangian, which it takes where it looks at the gap
_ROUNDS, _CLIMBED = 25, 6  # rounds of column generation, and projections for each pattern in one
# Passes that prove a bound, and their questions for each pattern: climbs, branch and bound, or climbs and a relaxation.
_PASSES, _CLIMBS, _SPLITS = 6, 60, 500
_EXACT, _ENCLOSED = 2, 4  # outputs up to which few splits, or branch and bound, enclose the longest outputs
# A step of a relaxation, least and by columns and squared rows that bound a cone, some ten a column; their number.
_RELAX, _BOUNDING, _RELAXED = (2e-5, 2e-9), 10, 400
_MASTER = (0.05, 5e-6)  # a problem over the neurons in use, and by rows and outputs


class ReLUSelection:
    """The part of `ConvexReLU` by which beta is selected: networks that stand for it, and the linear model of its loss.

    ``_judge`` is the network that stands for this one, as the parameter ``beta`` says, None for itself. "gated": the
    gated network at ``_factor`` times beta. "program": the network itself to its first digits. "neurons": the weights
    of the gates' own neurons alone, the network that column generation begins with.
    """

    _judge = cast(str | None, None)
    _factor = 1.0
    _weight = cast(float | None, None)  # of the squared norm of the linear model

    @property
    def _linear(self: Any) -> bool:
        return self._chosen and self._samples if self.linear == "auto" else bool(self.linear)

    def _set_judge(self: Any, task: Task) -> None:
        """Take the network that stands for this one: planes of linear models count, that are no least squares."""
        (n, d), outputs, linear = task.rows.shape, task.targets.shape[1], self._linear and not self._quadratic(task)
        self._judge, self._factor = "gated", float(np.clip(n / d, _CLOSER, _DEARER)) if linear else _DEARER
        if linear and self.solver == "auto" and outputs == 1 and d >= _WIDE * n:
            self._judge = "program"
        elif linear and self.solver == "auto" and outputs > 1 and d <= _THIN * n:
            self._judge = "neurons"

    def _judge_top(self: Any, task: Task) -> float:
        """Return the beta of which those that are tried are shares: that of the network that stands for this one."""
        if self._judge == "neurons":
            return float(self._problem_of_neurons(task)[1].beta_max())
        patterns = self._task_patterns(task).patterns
        if self._judge == "gated":
            return float(self._gated_problem(task, patterns).beta_max()) / float(self._factor)
        self.beta_ = 1.0  # a problem has one; this is ignored
        return float(self._problem(task, patterns).beta_max())

    def _judge_outputs(self: Any, task: Task, warm: WarmStart, X: Array) -> tuple[Array, float]:
        """Train the network that stands for this one from that of the last beta; return outputs for X and neurons."""
        if self._judge == "gated":
            return cast(tuple[Array, float], self._gated_outputs(task, warm, X))
        if self._judge == "neurons":
            return cast(tuple[Array, float], self._outputs_of_neurons(task, warm, X))
        if warm.state is None:
            warm.state = self._problem(task, self._task_patterns(task).patterns), None
        problem, start = warm.state
        problem.beta = self.beta_
        result = unless_interrupted(self._limited(AugmentedLagrangian, task, tol=_TOL).solve(problem, start))
        warm.state = problem, result.coefficients
        network = without_feature(balanced_relu(result.coefficients, problem.p), task.feature)
        return np.asarray(network.predict(X)).reshape(len(X), -1), network.n_neurons

    def _gated_outputs(self: Any, task: Task, warm: WarmStart, X: Array) -> tuple[Array, float]:
        if warm.state is None:
            patterns, gates = self._task_patterns(task)
            warm.state = gates, self._gated_problem(task, patterns), None, []
        gates, problem, start, kernel = warm.state
        problem.penalty.beta = self._factor * self.beta_
        result = unless_interrupted(self._limited(AutoSolver, task).solve(problem, start, kernel))
        warm.state = gates, problem, problem.point(result.coefficients), kernel
        coefficients = without_feature(result.coefficients, task.feature)
        norms = np.linalg.norm(coefficients.coef, axis=(0, 2))
        return gated_predictions(X, gates, coefficients), int(np.count_nonzero(norms))

    def _gated_problem(self: Any, task: Task, patterns: Any) -> GatedReLUProblem:
        options = {"bias": self._free_bias, **self._options(task)}
        return GatedReLUProblem(task.rows, task.targets, patterns, 1.0, **options)

    def _outputs_of_neurons(self: Any, task: Task, warm: WarmStart, X: Array) -> tuple[Array, float]:
        if warm.state is None:
            warm.state = *self._problem_of_neurons(task), None
        neurons, problem, start = warm.state
        problem.beta = self.beta_
        limits = self._limited(AutoSolver, task)
        result = unless_interrupted(solved_master(problem, start, limits.tol, limits.max_time))
        columns, values, intercept = result.coefficients
        warm.state = neurons, problem, result.coefficients
        rows = with_feature(X, task.feature)
        return neurons.take(columns).columns(rows) @ values + intercept, int(np.count_nonzero(values.any(axis=1)))

    def _problem_of_neurons(self: Any, task: Task) -> tuple[Neurons, LassoProblem]:
        neurons = own_neurons(self._candidates(task)[1])
        return neurons, LassoProblem(neurons.columns(task.rows), task.targets, 1.0, **self._options(task))

    def _first_neurons(self, family: Family) -> Neurons | None:
        """Return the neurons that column generation begins with, and that a fit which ends early falls back on.

        They are own neurons of the gates: of all with linear models among them, of some if the enumeration was cut.
        """
        gates = family.members
        if isinstance(gates, Gates) and gates.method == "enumerated":
            some = np.unique(np.linspace(0, len(gates) - 1, _STARTING_NEURONS).astype(np.intp))
            return own_neurons(replace(family, members=gates.take(some)))
        return own_neurons(family) if isinstance(gates, Gates) and gates.method == "fitted" else None

    # ---- linear models

    def _quadratic(self: Any, task: Task) -> bool:
        return as_loss(task.loss, type(self).__name__, self._own_delta).is_quadratic

    def _planes(self: Any, task: Task) -> Gates:
        """Both sides of the planes of a linear model: least squares, or that of another loss with its own weight."""
        if self._quadratic(task):
            return fitted_gates(task.X, task.targets, self._offset, task.weights)
        weight = self._linear_weight(task) if self._weight is None else self._weight
        return planes_of(task.X, self._linear_coefficients(task, weight), self._offset, task.weights)

    def _linear_weight(self: Any, task: Task) -> float:
        """Return the weight of the squared norm of the linear model that does best on held-out rows."""
        return chosen_beta(self._linear_model(task), task)[0]

    def _linear_coefficients(self: Any, task: Task, weight: float) -> Array:
        r"""Return W (d, C) of the linear model :math:`xW+c` of the loss, biases and intercept.

        .. math:: \min_{W,c}\ \frac1n\sum_i\omega_i\ell(x_iW+c, y_i)+\frac\lambda2||W||_F^2
        """
        always = np.ones((len(task.X), 1), dtype=bool)
        options = {"bias": self._free_bias, **self._options(task)}
        problem = GatedRidgeProblem(task.rows, task.targets, always, weight, **options)
        solver = AutoSolver(tol=_TIGHT, max_memory=self.max_memory)  # whatever the time
        result = unless_interrupted(solver.solve(problem))
        return np.asarray(without_feature(result.coefficients, task.feature).coef[:, 0].T)

    def _expected_beta(self: Any, task: Task, weight: float) -> float:
        r"""Return the beta at which norms hold two neurons of a plane where half the squared norm holds the model.

        The neurons (z)₊ and -(-z)₊ of :math:`z=x\cdot w` cost :math:`2\beta||w||`, whose slope along w is that of
        :math:`\frac\lambda2||w||^2` for :math:`\beta=\lambda||w||/2`; the root mean square over the outputs is taken.
        """
        lengths = np.linalg.norm(self._linear_coefficients(task, weight), axis=0)
        return float(weight * np.sqrt(np.mean(lengths**2)) / 2)

    def _linear_model(self: Any, task: Task) -> Any:
        """Return the gated estimator, with squared norms, whose one gate is on everywhere."""
        kind: Any = _LinearRegressor if task.classes is None else _LinearClassifier
        options = {name: getattr(self, name) for name in ("bias", "fit_intercept", "max_time", "max_memory")}
        if task.classes is None:
            options["huber_delta"] = self.huber_delta
        always = gates_without_incidence(np.zeros((task.X.shape[1], 1)), np.ones(1), "given")
        loss = "logistic" if self.loss == "auto" else self.loss
        model = kind(penalty="ridge", gates=always, loss=loss, tol=_LINEAR_TOL, random_state=0, **options)
        model.loss_, model.bias_feature_ = loss, task.feature
        return model


def at_least(result: Result[WeightedNeurons], neurons: Neurons, problem: LassoProblem) -> Result[WeightedNeurons]:
    """Return the best network of some neurons where the solver ended before it had a better one."""
    own = solved_master(problem, None, _OWN, None)  # a second at most, and more than time buys otherwise
    if own.interrupted:
        result = with_status(result, own.status)
    if not own.objective < result.objective:
        return result
    bound = result.objective - result.duality_gap
    columns, values, intercept = own.coefficients
    return replace(
        result,
        objective=own.objective,
        duality_gap=own.objective - bound,
        relative_gap=problem.relative_gap(own.objective, bound),
        coefficients=WeightedNeurons(neurons.take(columns), values, intercept),
        fitted=own.fitted,
    )


def own_neurons(family: Family) -> Neurons:
    """Return the neurons of the gates of a family, on the rows of the problem: each is inside the cone of its gate."""
    gates: Any = family.members
    directions = gates.directions
    if family.feature is not None:
        directions = np.vstack([directions, gates.offsets / family.feature])
    lengths = np.linalg.norm(directions, ord=family.p, axis=0)
    offsets = gates.offsets / lengths if family.bias else np.zeros(len(gates))
    return Neurons.free(np.ascontiguousarray(directions / lengths), offsets)


def projection_seconds(n: int, d: int) -> float:
    """Return those of a projection on a cone of n rows in d dimensions."""
    return float(_LEAST_PROJECTION + _PROJECTION * n * min(n, d) ** 1.5)


def program_seconds(n: int, d: int, n_patterns: int, wide: bool) -> float:
    """Return those of the convex program of one output; ``wide``, by the augmented Lagrangian."""
    if wide:
        return float(_CHECKED * n_patterns * projection_seconds(n, d))
    return float(_STEP_SECONDS * n_patterns * n * d**2)


def columns_seconds(n: int, d: int, outputs: int, n_patterns: int) -> float:
    """Return those of column generation, to an optimum that is proved as far as it can be."""
    r = min(outputs, d)
    questions = _SPLITS if _EXACT < r <= _ENCLOSED else _CLIMBS
    pattern = (_ROUNDS * _CLIMBED + _PASSES * questions) * projection_seconds(n, d)
    if r > _ENCLOSED:
        rows = min(n, _BOUNDING * d)
        pattern += _PASSES * _RELAXED * (_RELAX[0] + _RELAX[1] * min(n, d) * rows**2)
    return float(n_patterns * pattern + _ROUNDS * (_MASTER[0] + _MASTER[1] * n * outputs))


class _Traced:
    """The first weight is the largest eigenvalue that there can be; weights of rows are so many copies."""

    _sample_weight: Array | None = None

    def _warn(self, message: str, level: int) -> None:
        """Say nothing: the owner has the same limits, and warns of them."""

    def _shares(self) -> Array:
        return 0.25 ** np.array(_POWERS)

    def _top(self, task: Task) -> float:
        omega = np.ones(len(task.X)) if task.weights is None else task.weights
        rows = task.rows - omega @ task.rows / omega.sum()
        loss = as_loss(task.loss, type(self).__name__)
        curvature = loss.curvature
        if not loss.has_bounded_curvature:
            datafit = replace(task, weights=None).datafit(type(self).__name__, None)
            curvature = datafit.largest_curvature(unpenalized_fit(datafit, constant_columns(len(omega), True)))
        return float(curvature * (omega @ (rows**2).sum(axis=1)) / omega.sum())


class _LinearClassifier(_Traced, GatedReLUClassifier):
    pass


class _LinearRegressor(_Traced, GatedReLURegressor):
    pass
