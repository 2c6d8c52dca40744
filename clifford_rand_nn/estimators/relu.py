"""ReLU networks trained by the constrained convex program, as scikit-learn estimators."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import fail
from clifford_rand_nn.claims import NetworkClaim
from clifford_rand_nn.datafits.choice import make_datafit
from clifford_rand_nn.estimators.candidates import GatedFamily
from clifford_rand_nn.estimators.progress import progress_line
from clifford_rand_nn.estimators.targets import NetworkClassifier, NetworkRegressor
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.paths.relu import least_empty_beta
from clifford_rand_nn.patterns import ActivationPatterns
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.pricing.family import Family, gate_scope
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.pruning import pruned
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.lasso.working_set import WorkingSet
from clifford_rand_nn.solvers.relu.augmented_lagrangian import AugmentedLagrangian
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint

__all__ = ["ConvexReLUClassifier", "ConvexReLURegressor"]

Array = NDArray[np.float64]


class ConvexReLU(GatedFamily):
    """Parameters and training; `ConvexReLUClassifier` and `ConvexReLURegressor` add what targets need."""

    _penalties = ("group_l2", "group_l1")
    _solvers = ("auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy")

    def _check_parameters(self) -> None:
        super()._check_parameters()
        self._require_intercept()

    def _train(self, X: Array, targets: Array, loss: str, classes: Any, weights: Array | None) -> None:
        sampled, family = self._candidates(X, targets)
        network: TwoLayerNetwork
        if self._by_columns(targets):
            pricer = family.pricer(X)
            result: Result[Any] = self._generate_columns(X, targets, loss, pricer, weights)
            self._solution = result.coefficients  # to start from, all the atoms are better
            result = self._pruned(result, X, targets, loss, family, weights)
            network = TwoLayerNetwork.from_neurons(result.coefficients, family.p)
            scope, count = pricer.scope, pricer.n_atoms
        else:
            patterns, gates = self._gate_patterns(X, targets) if sampled is None else sampled
            family = Family("gates", family.p, self.bias, gates)
            result = self._solve_program(self._problem(X, targets, loss, patterns, weights))
            network = TwoLayerNetwork.from_relu(result.coefficients, family.p)
            if targets.shape[1] == 1:  # an interior point uses every unit: make the solution basic
                result = replace(result, coefficients=network.to_neurons(family.p))
                result = self._pruned(result, X, targets, loss, family, weights)
                network = TwoLayerNetwork.from_neurons(result.coefficients, family.p)
            scope, count = gate_scope(gates), len(gates)
        self.result_ = result
        self._warn(result)
        self.n_iter_ = max(1, result.n_iter)
        self._set_network(network, "neurons")
        self.patterns_ = self.gates_.on(X)
        self.candidate_gates_ = None if sampled is None else sampled.gates
        self._certify_result(result, scope, count, NetworkClaim(network, family), classes)

    def _pruned(
        self, result: Result[Any], X: Array, targets: Array, loss: str, family: Family, weights: Array | None
    ) -> Result[Any]:
        datafit = make_datafit(loss, targets, len(X), type(self).__name__, self.huber_delta, weights)
        return pruned(result, X, datafit, self.beta, family.p, self.fit_intercept)

    def _least_empty_beta(self, X: Array, targets: Array, loss: str, weights: Array | None) -> float:
        sampled, family = self._candidates(X, targets)
        if self._by_columns(targets):
            pricer = family.pricer(X)
            owner = type(self).__name__
            return least_empty_beta(X, targets, pricer, loss, self.fit_intercept, self.huber_delta, owner, weights)
        return self._problem(
            X, targets, loss, (sampled or self._gate_patterns(X, targets)).patterns, weights
        ).beta_max()

    def _candidates(self, X: Array, targets: Array) -> tuple[ActivationPatterns | None, Family]:
        """Return the sampled gates, or None for all patterns, and the family of neurons they stand for."""
        p = 1 if self.penalty == "group_l1" else 2
        if isinstance(self.gates, str) and self.gates == "exhaustive":
            return None, Family("all", p, self.bias)
        sampled = self._gate_patterns(X, targets)
        return sampled, Family("gates", p, self.bias, sampled.gates)

    def _by_columns(self, targets: Array) -> bool:
        """Whether the network is grown by column generation, which knows one output."""
        single = targets.shape[1] == 1
        if self.solver == "column_generation" and not single:
            rule = "'auto', 'interior_point', 'augmented_lagrangian' or 'cvxpy' for several outputs"
            raise fail("solver", type(self).__name__, rule, self.solver)
        if self.solver == "auto":  # a list of patterns is best solved whole, all patterns need no list
            return single and isinstance(self.gates, str) and self.gates == "exhaustive"
        return self.solver == "column_generation"

    def _problem(
        self, X: Array, targets: Array, loss: str, patterns: NDArray[np.bool_], weights: Array | None
    ) -> ConvexReLUProblem:
        return ConvexReLUProblem(
            X,
            targets,
            patterns,
            self.beta,
            loss=loss,
            penalty=self.penalty,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            huber_delta=self.huber_delta,
            sample_weight=weights,
        )

    def _generate_columns(
        self, X: Array, targets: Array, loss: str, pricer: Pricer, weights: Array | None
    ) -> Result[WeightedNeurons]:
        start = None if self._warm is None else self._warm.neurons
        with progress_line(self.verbose, self.tol) as callback:
            return WorkingSet(tol=self.tol, callback=callback).solve(
                X,
                targets,
                self.beta,
                pricer,
                loss=loss,
                fit_intercept=self.fit_intercept,
                huber_delta=self.huber_delta,
                sample_weight=weights,
                start=start,
            )

    def _solve_program(self, problem: ConvexReLUProblem) -> Result[Any]:
        if self.solver == "cvxpy":
            from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference  # cvxpy takes a second to import

            return CvxpyReference(tol=self.tol).solve(problem)
        with progress_line(self.verbose, self.tol) as callback:
            if self.solver == "interior_point" or (self.solver == "auto" and ConeInteriorPoint.suits(problem)):
                return ConeInteriorPoint(tol=self.tol, callback=callback).solve(problem)
            return AugmentedLagrangian(tol=self.tol, max_iter=self.max_iter, callback=callback).solve(problem)


class ConvexReLUClassifier(NetworkClassifier, ConvexReLU):
    r"""Two-layer ReLU classifier, trained to the optimum of the constrained convex program.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j\ell\Big(\sum_iD_{i,jj}\big(x_j^T(U_i-U_i')+b_i-b_i'\big)+t,\ y_j\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)

    over the activation patterns :math:`D_i`, with :math:`(2D_i-I)(XU_i+b_i)\ge0` and the same for the primed (paper,
    eqs. cvxnn:relu and cvxnn:relu_bias). It is the convex form of training ReLU neurons with the penalty
    :math:`\frac\beta2\sum_i(||w_i||_p^2+\alpha_i^2)`; over all patterns the optima are equal.
    Labels may be anything that
    scikit-learn takes; more than two classes are one output each, and a unit has weights for all of them.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : a method of `sample_gates`, "exhaustive" or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`. "exhaustive" takes all activation patterns: the network is then a
        global optimum. It is for small d: up to some thousand rows for d ≤ 2, where patterns are priced by a sweep, and
        as many patterns as `enumerate_patterns` allows beyond.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2", "group_l1"}, default "group_l2"
        p = 2 or 1 in :math:`||U_i||_p`, the norm of a neuron's weights.
    loss : {"squared", "logistic", "squared_hinge"}, default "squared"
        "logistic" is the softmax cross-entropy for more than two classes, "squared_hinge" one margin per class.
    bias : bool, default True
        Whether neurons have one; it is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised. Needed with ``bias``: a neuron with w = 0 is one.
    solver : {"auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy"}
        "column_generation" grows the network neuron by neuron (one output) and is the only one that needs no list of
        patterns; "interior_point" is for few features, "augmented_lagrangian" for many, where it takes minutes to a gap
        of 1e-3 (hundreds of features are the domain of the gated estimators); "auto" is column generation for all
        patterns and the one of the other two that suits the size for given ones; "cvxpy" is the reference.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
        Of the augmented Lagrangian.
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.
    huber_delta : float
        Of no use here; it belongs to the losses of regressors.

    Attributes
    ----------
    coef_ : (m, d)
        Output weight times input weights of each neuron, with an axis for the outputs in front if there are several:
        on the training rows :math:`f = \sum_j\mathrm{patterns\_}_{:,j}(X\,\mathrm{coef\_}_j+b_j)+t`.
    gate_intercept_ : (m,)
        Likewise; b.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The hyperplane of each neuron.
    patterns_ : (n, m) bool
        Of each neuron on the training rows.
    candidate_gates_ : Gates or None
        The gates with distinct patterns that the program ran over; None for all patterns.
    network_ : TwoLayerNetwork
        Balanced, with ReLU neurons.
    result_ : Result
        Objective, gap, iterations, status, history, in the solver's variables.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it, ``certificate_.over_all_neurons(X, y)`` extends it
        to every two-layer network.
    n_iter_ : int
    classes_ : (n_classes,)

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes, one class).

    Examples
    --------
    >>> from clifford_rand_nn import ConvexReLUClassifier, spiral
    >>> X, y = spiral(20)
    >>> model = ConvexReLUClassifier(gates="exhaustive", beta=1e-3).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6, model.certificate_.scope
    (True, 'global: all 1,562 patterns')
    """


class ConvexReLURegressor(NetworkRegressor, ConvexReLU):
    r"""Two-layer ReLU regressor, trained to the optimum of the constrained convex program.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j\ell\Big(\sum_iD_{i,jj}\big(x_j^T(U_i-U_i')+b_i-b_i'\big)+t,\ y_j\Big)
              +\beta\sum_i(||U_i||_p+||U_i'||_p)

    over the activation patterns :math:`D_i`, with :math:`(2D_i-I)(XU_i+b_i)\ge0` and the same for the primed (paper,
    eqs. cvxnn:relu and cvxnn:relu_bias). It is the convex form of training ReLU neurons with the penalty
    :math:`\frac\beta2\sum_i(||w_i||_p^2+\alpha_i^2)`; over all patterns the optima are equal.
    Several targets are several
    outputs, and a unit has weights for all of them.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : a method of `sample_gates`, "exhaustive" or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`. "exhaustive" takes all activation patterns: the network is then a
        global optimum. It is for small d: up to some thousand rows for d ≤ 2, where patterns are priced by a sweep, and
        as many patterns as `enumerate_patterns` allows beyond.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2", "group_l1"}, default "group_l2"
        p = 2 or 1 in :math:`||U_i||_p`, the norm of a neuron's weights.
    loss : {"squared", "huber"}, default "squared"
    bias : bool, default True
        Whether neurons have one; it is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised. Needed with ``bias``: a neuron with w = 0 is one.
    solver : {"auto", "column_generation", "interior_point", "augmented_lagrangian", "cvxpy"}
        "column_generation" grows the network neuron by neuron (one output) and is the only one that needs no list of
        patterns; "interior_point" is for few features, "augmented_lagrangian" for many, where it takes minutes to a gap
        of 1e-3 (hundreds of features are the domain of the gated estimators); "auto" is column generation for all
        patterns and the one of the other two that suits the size for given ones; "cvxpy" is the reference.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
        Of the augmented Lagrangian.
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.
    huber_delta : float > 0, default 1.0
        Residual at which the Huber loss turns from square to line.

    Attributes
    ----------
    coef_ : (m, d)
        Output weight times input weights of each neuron, with an axis for the outputs in front if there are several:
        on the training rows :math:`f = \sum_j\mathrm{patterns\_}_{:,j}(X\,\mathrm{coef\_}_j+b_j)+t`.
    gate_intercept_ : (m,)
        Likewise; b.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The hyperplane of each neuron.
    patterns_ : (n, m) bool
        Of each neuron on the training rows.
    candidate_gates_ : Gates or None
        The gates with distinct patterns that the program ran over; None for all patterns.
    network_ : TwoLayerNetwork
        Balanced, with ReLU neurons.
    result_ : Result
        Objective, gap, iterations, status, history, in the solver's variables.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it, ``certificate_.over_all_neurons(X, y)`` extends it
        to every two-layer network.
    n_iter_ : int

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes).

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import ConvexReLURegressor
    >>> X = np.linspace(-1, 1, 21)[:, None]
    >>> model = ConvexReLURegressor(gates="exhaustive", beta=1e-4).fit(X, np.abs(X[:, 0]))
    >>> model.network_.n_neurons, bool(model.score(X, np.abs(X[:, 0])) > 0.999)
    (2, True)
    """
