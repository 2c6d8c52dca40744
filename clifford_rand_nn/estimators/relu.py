"""ReLU networks trained by the constrained convex program, as scikit-learn estimators."""

from dataclasses import replace
from typing import Any, ClassVar, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.cost import Estimate, slowdown
from clifford_rand_nn.estimators.gate_families import GatedFamily
from clifford_rand_nn.estimators.relu_selection import ReLUSelection, at_least, columns_seconds, program_seconds
from clifford_rand_nn.estimators.targets import LossChoosingClassifier, NetworkRegressor
from clifford_rand_nn.estimators.task import Task, WarmStart
from clifford_rand_nn.gates.enumeration import central_count
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns, activation_patterns, with_fitted
from clifford_rand_nn.networks import TwoLayerNetwork, balanced_network, balanced_relu, unit_atoms, without_feature
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family, gate_scope, lists_patterns
from clifford_rand_nn.problems.lasso import LassoProblem
from clifford_rand_nn.problems.loss_registry import as_loss, loss_lines
from clifford_rand_nn.problems.relu import RELU_PENALTIES, ConvexReLUProblem
from clifford_rand_nn.refinement import pruned
from clifford_rand_nn.relu_paths import DistinctRows, beta_max_over
from clifford_rand_nn.solvers.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.cone_interior_point import ConeInteriorPoint
from clifford_rand_nn.solvers.lasso_working_set import WorkingSet

_SHARE = 0.5  # of max_time, as the other half is for the choice of beta
_SOON = 2.5  # seconds that training should take where how many gates there are is nobody's wish
_STEPS = 14  # factors of two to each side of the beta that is tried first
_LONG = 10.0  # seconds that nobody should wait for without having asked
_TAKEN = 0.15  # of the time that decides how many patterns there are, which is that of hard problems
_EACH, _JUDGED = 0.008, 1.4e-8  # seconds of a fit that judges a beta, and by the entries of its columns
_PRICED = 2000  # patterns, of which column generation prices as many as it needs
_NUMBERS = 8  # for each entry of the columns, at the peak of a fit


class ConvexReLU(ReLUSelection, GatedFamily):
    r"""Parameters and training; `ConvexReLUClassifier` and `ConvexReLURegressor` add what targets need.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j\ell\Big(\sum_iD_{i,jj}\big(x_j^T(U_i-U_i')+b_i-b_i'\big)+t,\ y_j\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)

    over the activation patterns :math:`D_i`, with :math:`(2D_i-I)(XU_i+b_i)\ge0` and the same for the primed (paper,
    eqs. cvxnn:relu and cvxnn:relu_bias). It is the convex form of training ReLU neurons with the penalty
    :math:`\frac\beta2\sum_i(||w_i||_p^2+\alpha_i^2)`; over all patterns the optima are equal. With
    ``gates="exhaustive"`` the network is then a global optimum: up to some thousand rows for d ≤ 2, where patterns are
    priced by a sweep, and some hundred rows for d ≤ 4, by branch and bound; the constant of a penalized bias counts.
    With free biases patterns are listed, as many as `enumerate_patterns` allows.

    A neuron with weights :math:`\alpha_i` for several outputs costs :math:`||w_i||_p||\alpha_i||_2`. The bound of such
    networks is exact for d ≤ 3, for up to four outputs that are independent (five classes with the softmax), and for
    ``penalty="group_l1"`` over all patterns; beyond, the gap that is stated holds too, but may end above ``tol``.

    {targets}

    Parameters
    ----------
    {gates}
    {beta}
        With sampled gates and "group_l2" a network that is judged stands for this one, as it takes a small part of the
        time: the gates' own neurons alone, where several outputs have few columns, whose cones are thin; the network
        itself to three digits, where one output has at least half as many columns as rows; else the gated one on the
        same gates at two to four times beta, as its neurons are not held to cones and bend at less.
    penalty : {"group_l2", "group_l1"}, default "group_l2"
        p = 2 or 1 in :math:`||U_i||_p`, the norm of a neuron's weights.
    {loss}
    {class_weight}
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
        Whether the hyperplanes of linear models of the outputs, from both sides, stand before the sampled ones: neurons
        of these patterns make linear models, for which sampled cones have none. They are those of least squares, or of
        the loss with squared norms of the weight that does best on held-out rows; training begins with their own
        neurons, so a network that ends at its time limit is at least as good as these. "auto" adds them where ``beta``
        is "auto" and gates are sampled, and then takes no more of the ``n_gates`` sampled ones than are expected to be
        trained in 2.5 seconds, or in half of ``max_time``, and none beside so many columns that they add nothing;
        ``candidate_gates_.notes`` says so.

    Attributes
    ----------
    {neurons}
    candidate_gates_ : Gates or None
        The gates with distinct patterns that the program ran over; None for all patterns.
    {relu}
    {fitted}
    {classes_and_errors}
    """

    linear: bool | str = "auto"

    _pivot = cast(float | None, None)  # the beta that is tried first
    _penalties = tuple(RELU_PENALTIES)
    _solvers = ("auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_choice(self.linear, "linear", type(self).__name__, (True, False, "auto"))
        self._require_intercept()

    def _task_patterns(self, task: Task) -> ActivationPatterns:
        """Distinct patterns, and a gate of each; first those of linear models, where they are wanted."""
        if self._judge == "program":
            note = f"0 of {self.n_gates:,} gates: beside so many columns they add nothing to a linear model"
            return activation_patterns(task.X, replace(self._planes(task), notes=(note,)))
        sampled = self._gate_patterns(task.X, task.targets)
        if self._exhaustive or not self._linear:
            return sampled
        fitted, gates = self._planes(task), sampled.gates
        if self._chosen and self._samples and self.solver == "auto":
            few = max(0, self._room(task) - len(fitted)) if len(gates) else 0
            if few < len(gates):
                seconds = _SOON if self.max_time is None else _SHARE * self.max_time
                note = f"{few:,} of {len(gates):,} gates: more take over {seconds:g} s; a longer max_time is for more"
                gates = replace(gates.take(np.arange(few)), notes=(*gates.notes, note))
        return activation_patterns(task.X, with_fitted(gates, fitted))

    def _room(self, task: Task) -> int:
        """Return how many patterns are expected to be trained in 2.5 seconds, or in half of ``max_time``."""
        seconds = _SOON if self.max_time is None else _SHARE * self.max_time / slowdown()
        return max(1, int(seconds / self._expected(task, 1)))

    def _costs_of(self, task: Task) -> tuple[Estimate, Estimate]:
        task, self._chosen = GatedFamily._settled(self, task), isinstance(self.beta, str)
        n, d = task.rows.shape
        P = min(central_count(n, d), _PRICED) if self._exhaustive else self.n_gates
        if self._chosen and self._samples and self.solver == "auto":
            P = min(P, self._room(task))
        work = float(n) * d * P * task.targets.shape[1]
        trained = Estimate(_TAKEN * self._expected(task, P), _NUMBERS * 8.0 * work)
        return Estimate(_JUDGED * work + _EACH, trained.bytes), trained

    def _settled(self, task: Task) -> Task:
        task = super()._settled(task)
        self._weight, self._judge, self._pivot = None, None, None
        if self._linear and not self._exhaustive and not self._quadratic(task):
            self._weight = self._linear_weight(task)
            if self._chosen:
                self._pivot = self._expected_beta(task, self._weight) or None
        if self._chosen and self.penalty == "group_l2" and not self._exhaustive:
            self._set_judge(task)
        return task

    def _prefers_logistic(self, task: Task) -> bool:
        """Where beta is chosen and gates are sampled: cones take the time, whatever the loss."""
        return self._chosen and self._samples

    def _shares(self) -> Array:
        if self._pivot is None:
            return super()._shares()
        steps = np.arange(1.0, _STEPS)
        return 2.0 ** np.append(0.0, np.column_stack([steps, -steps]).ravel())  # to both sides of what is expected

    def _judged(self, task: Task, warm: WarmStart, X: Array) -> tuple[Array, float]:
        """Judge a network that stands for this one, where gates are sampled and the norms are its own."""
        if self._judge is None:
            return super()._judged(task, warm, X)
        return self._judge_outputs(task, warm, X)

    def _expected(self, task: Task, n_patterns: int) -> float:
        outputs = task.targets.shape[1] - (not as_loss(task.loss, type(self).__name__, self._own_delta).separable)
        n, d = task.rows.shape
        if self._by_columns(task.targets):
            return columns_seconds(n, d, outputs, n_patterns)
        return program_seconds(n, d, n_patterns, self._judge == "program")

    def _ask_for_limits(self, task: Task, n_patterns: int) -> None:
        """Refuse to begin what takes long by itself, where no limit was given."""
        n, d = task.rows.shape
        seconds = self._expected(task, n_patterns)
        if self.max_time is None and self.solver == "auto" and seconds > _LONG:
            rule = f"given for {n_patterns:,} patterns on {n:,} rows of {d} columns, which take some {seconds:.0f} s"
            hint = "The step in which it ends is the last. Or take fewer gates, or gated networks, which take a second."
            raise fail("max_time", type(self).__name__, rule, None, hint)

    def _top(self, task: Task) -> float:
        if self._judge is None:
            return super()._top(task)
        self._ask_for_limits(task, self._task_patterns(task).patterns.shape[1])
        return self._judge_top(task) if self._pivot is None else self._pivot

    def _train(self, task: Task, warm: WarmStart | None) -> None:
        X, targets = task.X, task.targets
        sampled, family = self._candidates(task)
        if sampled is not None:
            self._ask_for_limits(task, len(sampled.gates))
        network: TwoLayerNetwork
        if self._by_columns(targets):
            result: Result[Any]
            result, pricer = self._generate_columns(task, family, warm)
            scope, count = pricer.scope, pricer.n_atoms
        else:
            patterns, gates = self._task_patterns(task) if sampled is None else sampled
            family = replace(family, kind="gates", members=gates)
            result = self._solve_program(task, self._problem(task, patterns))
            network = balanced_relu(result.coefficients, family.p)
            result = replace(result, coefficients=unit_atoms(network, family.p))
            scope, count = gate_scope(gates), len(gates)
        neurons = None if result.converged else self._first_neurons(family)
        if neurons is not None:
            problem = LassoProblem(neurons.columns(task.rows), targets, self.beta_, **self._options(task))
            result = at_least(result, neurons, problem)
        # a vertex solution, which an interior point's is not: it uses every unit
        datafit = task.datafit(type(self).__name__, self._own_delta)
        result = pruned(result, task.rows, datafit, self.beta_, family.p, self.fit_intercept, self._tolerance())
        network = balanced_network(result.coefficients, family.p)
        network, result = without_feature(network, task.feature), without_feature(result, task.feature)
        self._set_network(network, "neurons")
        self.patterns_ = self.gates_.activations(X)
        self.candidate_gates_ = None if sampled is None else sampled.gates
        self._conclude(result, scope, count, NetworkClaim(network, family), task)

    def _beta_max(self, task: Task) -> float:
        sampled, family = self._candidates(task)
        if self._by_columns(task.targets):
            datafit, pricer = task.datafit(type(self).__name__, self._own_delta), self._pricer(family, task, task.X)
            return beta_max_over(task.rows, datafit, pricer, self.fit_intercept, self._late(task))
        return self._problem(task, (sampled or self._task_patterns(task)).patterns).beta_max()

    def _candidates(self, task: Task) -> tuple[ActivationPatterns | None, Family]:
        """Return the sampled gates, or None for all patterns, and the family of neurons they stand for."""
        p = 1 if self.penalty == "group_l1" else 2
        if self._exhaustive and (not self._listed(p, task) or not self._enumerated(task.X).gates.notes):
            return None, Family("all", p, self._free_bias, feature=task.feature)
        sampled = self._task_patterns(task)
        return sampled, Family("gates", p, self._free_bias, sampled.gates, task.feature)

    def _listed(self, p: int, task: Task) -> bool:
        """Whether all neurons are priced by a list of their patterns."""
        return lists_patterns(task.rows.shape, p, self._free_bias)

    def _pricer(self, family: Family, task: Task, X: Array) -> Pricer:
        """Return the family's pricer on the distinct rows X; a list of all patterns is made once for a fit."""
        if family.kind == "all" and self._listed(family.p, task):
            family = replace(family, kind="gates", members=self._enumerated(task.X).gates)
        return family.pricer(X)

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
        options = {"penalty": self.penalty, "bias": self._free_bias, **self._options(task)}
        return ConvexReLUProblem(task.rows, task.targets, patterns, self.beta_, **options)

    def _generate_columns(
        self, task: Task, family: Family, warm: WarmStart | None
    ) -> tuple[Result[WeightedNeurons], Pricer]:
        """Solve on the distinct rows, and bring back what all rows have; the lifted ones have their feature last."""
        distinct = DistinctRows(task.rows, task.targets, task.weights)
        pricer = self._pricer(family, task, distinct.X[:, : task.X.shape[1]])
        known = None if warm is None else warm.state
        start = self._first_neurons(family) if known is None else known
        options = self._options(task) | {"sample_weight": distinct.weights}
        solver = self._limited(WorkingSet, task)
        result = solver.solve(distinct.X, distinct.y, self.beta_, pricer, start=start, **options)
        if warm is not None:
            warm.state = result.coefficients.neurons  # to start from, all the atoms are better than the pruned ones
        return distinct.restored(result), pricer

    def _solve_program(self, task: Task, problem: ConvexReLUProblem) -> Result[Any]:
        method: Any = "cvxpy"
        if self.solver != "cvxpy":
            suits = self.solver == "auto" and self._judge != "program" and ConeInteriorPoint.suits(problem)
            small = self.solver == "interior_point" or suits
            method = ConeInteriorPoint if small else AugmentedLagrangian
        result: Result[Any] = self._limited(method, task).solve(problem)
        return result


class ConvexReLUClassifier(ConvexReLU, LossChoosingClassifier):
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

    loss: str = "auto"

    _parts: ClassVar[dict[str, str]] = {
        "loss": loss_lines("classification", "auto")
        + """    "auto": "logistic" where ``beta`` is "auto" too and gates are sampled, else "squared": see ``loss_``.
"""
    }


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
