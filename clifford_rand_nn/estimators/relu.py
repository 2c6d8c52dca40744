"""ReLU networks trained by the constrained convex program, as scikit-learn estimators."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates import NetworkClaim
from clifford_rand_nn.datafits.choice import make_datafit
from clifford_rand_nn.estimators.base import Task
from clifford_rand_nn.estimators.gated import GatedFamily
from clifford_rand_nn.estimators.targets import NetworkClassifier, NetworkRegressor
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns
from clifford_rand_nn.networks import TwoLayerNetwork, without_feature
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.paths.relu import beta_max_over
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family, gate_scope
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.pruning import pruned
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.lasso.distinct import DistinctRows
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet
from clifford_rand_nn.solvers.relu.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint


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
    penalty : {"group_l2", "group_l1"}, default "group_l2"
        p = 2 or 1 in :math:`||U_i||_p`, the norm of a neuron's weights.
    {loss}
    {biases}
    solver : {"auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy"}
        "column_generation" grows the network neuron by neuron and is the only one for several outputs, and that needs
        no list of patterns; "interior_point" is for few features, "augmented_lagrangian" for many, where it takes
        minutes to a gap of 1e-3 (hundreds of features are the domain of the gated estimators); "auto" is column
        generation for several outputs and for all patterns, and else the one of the other two that suits the size;
        "cvxpy" is the reference.
    {limits}
    {random_state}

    Attributes
    ----------
    {neurons}
    candidate_gates_ : Gates or None
        The gates with distinct patterns that the program ran over; None for all patterns.
    {relu}
    {classes}

    Raises
    ------
    {errors}
    """

    _penalties = ("group_l2", "group_l1")
    _solvers = ("auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require_intercept()

    def _train(self, task: Task, shared: list[Any] | None) -> None:
        X, targets = task.X, task.targets
        sampled, family = self._candidates(task)
        network: TwoLayerNetwork
        if self._by_columns(targets):
            result: Result[Any]
            result, pricer = self._generate_columns(task, family, shared)
            result = self._pruned(result, task, family)
            network = TwoLayerNetwork.from_neurons(result.coefficients, family.p)
            scope, count = pricer.scope, pricer.n_atoms
        else:
            patterns, gates = self._gate_patterns(X, targets) if sampled is None else sampled
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
        return pruned(result, task.rows, datafit, self.beta, family.p, self.fit_intercept, self.tol)

    def _beta_max(self, task: Task) -> float:
        sampled, family = self._candidates(task)
        if self._by_columns(task.targets):
            return beta_max_over(
                task.rows, task.targets, family.pricer(task.X), owner=type(self).__name__, **self._options(task)
            )
        return self._problem(task, (sampled or self._gate_patterns(task.X, task.targets)).patterns).beta_max()

    def _candidates(self, task: Task) -> tuple[ActivationPatterns | None, Family]:
        """Return the sampled gates, or None for all patterns, and the family of neurons they stand for."""
        p = 1 if self.penalty == "group_l1" else 2
        if isinstance(self.gates, str) and self.gates == "exhaustive":
            return None, Family("all", p, self._free_bias, feature=task.feature)
        sampled = self._gate_patterns(task.X, task.targets)
        return sampled, Family("gates", p, self._free_bias, sampled.gates, task.feature)

    def _by_columns(self, targets: Array) -> bool:
        """Whether the network is grown by column generation, the only way to several outputs."""
        single = targets.shape[1] == 1
        if not single and self.solver not in ("auto", "column_generation"):
            hint = "The other solvers' program has one output."
            rule = "'auto' or 'column_generation' for several outputs"
            raise fail("solver", type(self).__name__, rule, self.solver, hint)
        if self.solver == "auto":  # a list of patterns is best solved whole, all patterns need no list
            return not single or (isinstance(self.gates, str) and self.gates == "exhaustive")
        return self.solver == "column_generation"

    def _problem(self, task: Task, patterns: NDArray[np.bool_]) -> ConvexReLUProblem:
        return ConvexReLUProblem(
            task.rows,
            task.targets,
            patterns,
            self.beta,
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
            found = solver.solve(distinct.X, distinct.y, self.beta, pricer, start=start, **options)
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
    >>> model = ConvexReLUClassifier(gates="exhaustive", beta=1e-3).fit(X, y)
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
