"""ReLU networks trained by the constrained convex program, as scikit-learn estimators."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates import NetworkClaim
from clifford_rand_nn.datafits.choice import make_datafit
from clifford_rand_nn.estimators.base import Task
from clifford_rand_nn.estimators.gated import GatedFamily
from clifford_rand_nn.estimators.targets import NetworkClassifier, NetworkRegressor
from clifford_rand_nn.gates.fitted import fitted_gates, with_fitted
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns, activation_patterns
from clifford_rand_nn.networks import TwoLayerNetwork, gated_predictions, without_feature
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.paths.relu import beta_max_over
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family, gate_scope
from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.pruning import pruned
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.choice import AutoSolver
from clifford_rand_nn.solvers.lasso.distinct import DistinctRows
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet
from clifford_rand_nn.solvers.relu.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint

# Measured on two cores with 50 and 200 patterns on breast cancer (569 x 30) and the spiral (160 x 2).
_BLOCK, _STEPS = 4e-8, 40  # seconds of a step for each pattern, row and squared column; steps of the interior point
_PROJECTION, _ROUNDS = 3e-8, 15  # the same for a projection on a cone; rounds of column generation
_SEARCHED = 5  # projections for each pattern and further output
_DEARER = 4.0  # on pima and iris the best beta was 1/8 and 1/2 to 1 of that of the gated network
_SHARE = 0.5  # of max_time, as the other half is for the choice of beta
_SOON = 2.5  # seconds that training should take where how many gates there are is nobody's wish
_LONG = 10.0  # seconds that nobody should wait for without having asked


class ConvexReLU(GatedFamily):
    r"""Parameters and training; `ConvexReLUClassifier` and `ConvexReLURegressor` add what targets need.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j\ell\Big(\sum_iD_{i,jj}\big(x_j^T(U_i-U_i')+b_i-b_i'\big)+t,\ y_j\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)

    over the activation patterns :math:`D_i`, with :math:`(2D_i-I)(XU_i+b_i)\ge0` and the same for the primed (paper,
    eqs. cvxnn:relu and cvxnn:relu_bias). It is the convex form of training ReLU neurons with the penalty
    :math:`\frac\beta2\sum_i(||w_i||_p^2+\alpha_i^2)`; over all patterns the optima are equal. With
    ``gates="exhaustive"`` the network is then a global optimum: up to some thousand rows for d ≤ 2, where patterns are
    priced by a sweep, and as many patterns as `enumerate_patterns` allows beyond.

    A neuron with weights :math:`\alpha_i` for several outputs costs :math:`||w_i||_p||\alpha_i||_2`. The bound of such
    networks is exact for d ≤ 3, for up to four outputs that are independent (five classes with the softmax), and for
    ``penalty="group_l1"`` over all patterns; beyond, the gap that is stated holds too, but may end above ``tol``.

    {targets}

    Parameters
    ----------
    {gates}
    {beta}
        With sampled gates and "group_l2" the network that is judged is the gated one on the same gates at four times
        beta, which takes a small part of the time: its neurons are not held to cones, so it bends at less.
    penalty : {"group_l2", "group_l1"}, default "group_l2"
        p = 2 or 1 in :math:`||U_i||_p`, the norm of a neuron's weights.
    {loss}
    {bias}
    {intercept}
    solver : {"auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy"}
        "column_generation" grows the network neuron by neuron and is the only one for several outputs, and that needs
        no list of patterns; "interior_point" is for few features, "augmented_lagrangian" for many, where it takes
        minutes to a gap of 1e-3 (hundreds of features are the domain of the gated estimators); "auto" is column
        generation for several outputs and for all patterns, and else the one of the other two that suits the size, and
        asks for ``max_time`` where that is expected to take more than ten seconds; "cvxpy" is the reference.
    {limits}
    {random_state}
    linear : bool or "auto", default "auto"
        Whether the hyperplanes of linear least-squares fits of the outputs, from both sides, stand before the sampled
        ones: neurons of these patterns make linear models, for which sampled cones have none. "auto" adds them where
        ``beta`` is "auto" and gates are sampled, and then takes no more of the ``n_gates`` sampled ones than are
        expected to be trained in 2.5 seconds, or in half of ``max_time``; ``candidate_gates_.notes`` says so.

    Attributes
    ----------
    {neurons}
    candidate_gates_ : Gates or None
        The gates with distinct patterns that the program ran over; None for all patterns.
    {relu}
    {fitted}
    {classes}

    Raises
    ------
    {errors}
    """

    linear: bool | str = "auto"

    _penalties = ("group_l2", "group_l1")
    _solvers = ("auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.linear, "linear", type(self).__name__, (True, False, "auto"))
        self._require_intercept()

    def _task_patterns(self, task: Task) -> ActivationPatterns:
        """Distinct patterns, and a gate of each; first those of linear models, where they are wanted."""
        found = self._gate_patterns(task.X, task.targets)
        every = found.gates.method == "exhaustive"
        if every or not (self._chosen and self._samples if self.linear == "auto" else self.linear):
            return found
        fitted, gates = fitted_gates(task.X, task.targets, self._offset, task.weights), found.gates
        if self._chosen and self._samples and self.solver == "auto":
            seconds = _SOON if self.max_time is None else _SHARE * self.max_time
            room = max(1, int(seconds / self._expected(task, 1))) if len(gates) else 0
            few = max(0, room - len(fitted))
            if few < len(gates):
                note = f"{few:,} of {len(gates):,} gates: more take over {seconds:g} s; a longer max_time is for more"
                gates = replace(gates.take(np.arange(few)), notes=(*gates.notes, note))
        return activation_patterns(task.X, with_fitted(gates, fitted))

    def _judged(self, task: Task, shared: list[Any], X: Array) -> tuple[Array, float]:
        """Judge the gated network on the same gates, where they are sampled and the norms are its own."""
        if self.penalty != "group_l2" or self._exhaustive:
            return super()._judged(task, shared, X)
        if not shared:
            patterns, gates = self._task_patterns(task)
            options = {"bias": self._free_bias, **self._options(task)}
            shared += [gates, GatedReLUProblem(task.rows, task.targets, patterns, self.beta_, **options), None, []]
        gates, problem, start, kernel = shared
        problem.penalty.beta = _DEARER * self.beta_
        with self._limited(AutoSolver, task) as solver:
            result = solver.solve(problem, start, kernel)
        if result.interrupted:
            raise KeyboardInterrupt("while beta was chosen; there is no network yet")
        shared[2] = problem.point(result.coefficients)
        coefficients = without_feature(result.coefficients, task.feature)
        norms = np.linalg.norm(coefficients.coef, axis=(0, 2))
        return gated_predictions(X, gates, coefficients), int(np.count_nonzero(norms))

    def _expected(self, task: Task, n_patterns: int) -> float:
        """Return the seconds that training over so many patterns is expected to take."""
        n, d = task.rows.shape
        work = float(n_patterns) * n * d**2
        if self._by_columns(task.targets):
            return float(work * _PROJECTION * _ROUNDS * 2 * max(1, _SEARCHED * (task.targets.shape[1] - 1)))
        return float(work * _BLOCK * _STEPS)

    def _ask_for_limits(self, task: Task, n_patterns: int) -> None:
        """Refuse to begin what takes long by itself, where no limit was given."""
        n, d = task.rows.shape
        seconds = self._expected(task, n_patterns)
        if self.max_time is None and self.solver == "auto" and seconds > _LONG:
            rule = f"given for {n_patterns:,} patterns on {n:,} rows of {d} columns, which take some {seconds:.0f} s"
            hint = "The step in which it ends is the last. Or take fewer gates, or gated networks, which take a second."
            raise fail("max_time", type(self).__name__, rule, None, hint)

    def _top(self, task: Task) -> float:
        if self.penalty != "group_l2" or self._exhaustive:
            return super()._top(task)
        patterns = self._task_patterns(task).patterns
        self._ask_for_limits(task, patterns.shape[1])
        options = {"bias": self._free_bias, **self._options(task)}
        return float(GatedReLUProblem(task.rows, task.targets, patterns, 1.0, **options).beta_max()) / _DEARER

    def _train(self, task: Task, shared: list[Any] | None) -> None:
        X, targets = task.X, task.targets
        sampled, family = self._candidates(task)
        if sampled is not None:
            self._ask_for_limits(task, len(sampled.gates))
        network: TwoLayerNetwork
        if self._by_columns(targets):
            result: Result[Any]
            result, pricer = self._generate_columns(task, family, shared)
            result = self._pruned(result, task, family)
            network = TwoLayerNetwork.from_neurons(result.coefficients, family.p)
            scope, count = pricer.scope, pricer.n_atoms
        else:
            patterns, gates = self._task_patterns(task) if sampled is None else sampled
            family = replace(family, kind="gates", members=gates)
            result = self._solve_program(task, self._problem(task, patterns))
            network = TwoLayerNetwork.from_relu(result.coefficients, family.p)
            result = replace(result, coefficients=network.to_neurons(family.p))
            result = self._pruned(result, task, family)  # an interior point uses every unit: make the solution basic
            network = TwoLayerNetwork.from_neurons(result.coefficients, family.p)
            scope, count = gate_scope(gates), len(gates)
        network, result = without_feature(network, task.feature), without_feature(result, task.feature)
        self._set_network(network, "neurons")
        self.patterns_ = self.gates_.on(X)
        self.candidate_gates_ = None if sampled is None else sampled.gates
        self._conclude(result, scope, count, NetworkClaim(network, family), task.classes)

    def _pruned(self, result: Result[Any], task: Task, family: Family) -> Result[Any]:
        owner = type(self).__name__
        datafit = make_datafit(
            task.loss, task.targets, len(task.X), owner, self._options(task)["huber_delta"], task.weights
        )
        return pruned(result, task.rows, datafit, self.beta_, family.p, self.fit_intercept, self.tol)

    def _beta_max(self, task: Task) -> float:
        sampled, family = self._candidates(task)
        if self._by_columns(task.targets):
            return beta_max_over(
                task.rows, task.targets, family.pricer(task.X), owner=type(self).__name__, **self._options(task)
            )
        return self._problem(task, (sampled or self._task_patterns(task)).patterns).beta_max()

    def _candidates(self, task: Task) -> tuple[ActivationPatterns | None, Family]:
        """Return the sampled gates, or None for all patterns, and the family of neurons they stand for."""
        p = 1 if self.penalty == "group_l1" else 2
        if self._exhaustive:
            return None, Family("all", p, self._free_bias, feature=task.feature)
        sampled = self._task_patterns(task)
        return sampled, Family("gates", p, self._free_bias, sampled.gates, task.feature)

    def _by_columns(self, targets: Array) -> bool:
        """Whether the network is grown by column generation, the only way to several outputs."""
        single = targets.shape[1] == 1
        if not single and self.solver not in ("auto", "column_generation"):
            hint = "The other solvers' program has one output."
            rule = "'auto' or 'column_generation' for several outputs"
            raise fail("solver", type(self).__name__, rule, self.solver, hint)
        if self.solver == "auto":  # a list of patterns is best solved whole, all patterns need no list
            return not single or self._exhaustive
        return self.solver == "column_generation"

    def _problem(self, task: Task, patterns: NDArray[np.bool_]) -> ConvexReLUProblem:
        return ConvexReLUProblem(
            task.rows,
            task.targets,
            patterns,
            self.beta_,
            penalty=self.penalty,
            bias=self._free_bias,
            **self._options(task),
        )

    def _generate_columns(
        self, task: Task, family: Family, shared: list[Any] | None
    ) -> tuple[Result[WeightedNeurons], Pricer]:
        """Solve on the distinct rows, and bring back what all rows have; the lifted ones have their feature last."""
        distinct = DistinctRows(task.rows, task.targets, task.weights)
        pricer = family.pricer(distinct.X[:, : task.X.shape[1]])
        start = shared.pop() if shared else None
        options = self._options(task) | {"sample_weight": distinct.weights}
        with self._limited(WorkingSet, task) as solver:
            found = solver.solve(distinct.X, distinct.y, self.beta_, pricer, start=start, **options)
        if shared is not None:
            shared.append(found.coefficients.neurons)  # to start from, all the atoms are better than the pruned ones
        return distinct.restored(found), pricer

    def _solve_program(self, task: Task, problem: ConvexReLUProblem) -> Result[Any]:
        method: Any = "cvxpy"
        if self.solver != "cvxpy":
            small = self.solver == "interior_point" or (self.solver == "auto" and ConeInteriorPoint.suits(problem))
            method = ConeInteriorPoint if small else AugmentedLagrangian
        with self._limited(method, task) as solver:
            result: Result[Any] = solver.solve(problem)
            return result


class ConvexReLUClassifier(ConvexReLU, NetworkClassifier):
    """Two-layer ReLU classifier, trained to the optimum of the constrained convex program.

    {family}

    Examples
    --------
    >>> from clifford_rand_nn import ConvexReLUClassifier, spiral
    >>> X, y = spiral(20)
    >>> model = ConvexReLUClassifier(gates="exhaustive", bias="free", beta=1e-3).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6, model.certificate_.scope
    (True, 'global: all 1,562 patterns')
    """


class ConvexReLURegressor(ConvexReLU, NetworkRegressor):
    """Two-layer ReLU regressor, trained to the optimum of the constrained convex program.

    {family}

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import ConvexReLURegressor
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> model = ConvexReLURegressor(gates="exhaustive", beta=1e-4).fit(X, np.abs(X[:, 0]))
    >>> model.network_.n_neurons, bool(model.score(X, np.abs(X[:, 0])) > 0.999)
    (2, True)
    """
