"""Gated-ReLU networks as scikit-learn estimators."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.claims import GatedClaim
from clifford_rand_nn.estimators.candidates import GatedFamily
from clifford_rand_nn.estimators.progress import progress_line
from clifford_rand_nn.estimators.targets import NetworkClassifier, NetworkRegressor
from clifford_rand_nn.pricing.family import gate_scope
from clifford_rand_nn.problems.gated import Coefficients, GatedReLUProblem
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.solvers.fista import Fista

__all__ = ["GatedReLUClassifier", "GatedReLURegressor"]

Array = NDArray[np.float64]


class GatedReLU(GatedFamily):
    """Parameters and training; `GatedReLUClassifier` and `GatedReLURegressor` add what targets need."""

    _penalties = ("group_l2",)
    _solvers = ("auto", "fista", "cvxpy")

    def _train(self, X: Array, targets: Array, loss: str, classes: Any, weights: Array | None) -> None:
        self.patterns_, gates = self._gate_patterns(X)
        problem = self._problem(X, targets, loss, self.patterns_, weights)
        self.result_ = result = self._minimise(problem)
        self._solution = result.coefficients
        self._warn(result)
        self.n_iter_ = max(1, result.n_iter)
        self._set_gated(result.coefficients, gates)
        self._certify_result(result, gate_scope(gates), len(gates), GatedClaim(gates, result.coefficients), classes)

    def _least_empty_beta(self, X: Array, targets: Array, loss: str, weights: Array | None) -> float:
        return self._problem(X, targets, loss, self._gate_patterns(X).patterns, weights).beta_max()

    def _problem(
        self, X: Array, targets: Array, loss: str, patterns: NDArray[np.bool_], weights: Array | None
    ) -> GatedReLUProblem:
        return GatedReLUProblem(
            X,
            targets,
            patterns,
            self.beta,
            loss=loss,
            bias=self.bias,
            fit_intercept=self.fit_intercept,
            huber_delta=self.huber_delta,
            sample_weight=weights,
        )

    def _minimise(self, problem: GatedReLUProblem) -> Result[Coefficients]:
        if self.solver == "cvxpy":
            from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference  # cvxpy takes a second to import

            return CvxpyReference(tol=self.tol).solve(problem)
        start = None
        if self._warm is not None and self._warm.gate_intercept.shape == (problem.outputs, problem.map.n_patterns):
            start = problem.point(self._warm)
        with progress_line(self.verbose, self.tol) as callback:
            return Fista(tol=self.tol, max_iter=self.max_iter, callback=callback).solve(problem, start)


class GatedReLUClassifier(NetworkClassifier, GatedReLU):
    r"""Two-layer gated-ReLU classifier, trained to the optimum of a convex program.

    .. math:: \min_{U,b,t}\ \frac1n\sum_j \ell\Big(\sum_i D_{i,jj}(x_j^TU_i+b_i)+t,\ y_j\Big)+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu and Algorithms 2 and 4). Labels
    may be anything that scikit-learn takes; two classes are -1 and 1, more are one output each, with one group of
    weights for each gate over all outputs. Features are used as they come: nothing is rescaled.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : {"cross", "gaussian", "exhaustive"} or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`. "exhaustive" takes one gate of every activation pattern there is, for
        small d; see `exhaustive_gates`.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2"}
        :math:`\sum_i||U_i||_F`.
    loss : {"squared", "logistic", "squared_hinge"}, default "squared"
        "logistic" is the softmax cross-entropy for more than two classes, "squared_hinge" one margin per class.
    bias : bool, default True
        Whether gates and neurons have one; a neuron's is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised.
    solver : {"auto", "fista", "cvxpy"}
        "auto" is FISTA; "cvxpy" the reference, for small problems.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.
    huber_delta : float
        Of no use here; it belongs to the losses of regressors.

    Attributes
    ----------
    coef_ : (m, d)
        U, with an axis for the outputs in front if there are several.
    gate_intercept_ : (m,)
        Likewise.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The m hyperplanes with distinct patterns; their incident rows, and notes on what was resampled.
    patterns_ : (n, m) bool
    result_ : Result
        Objective, gap, iterations, status, history.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it.
    network_ : TwoLayerNetwork
    n_iter_ : int
    classes_ : (n_classes,)

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes, one class).

    Examples
    --------
    >>> from clifford_rand_nn import GatedReLUClassifier, spiral
    >>> X, y = spiral()
    >>> model = GatedReLUClassifier(n_gates=40, beta=1e-4, random_state=0).fit(X, y)
    >>> model.certificate_.relative_gap <= 1e-6
    True
    """


class GatedReLURegressor(NetworkRegressor, GatedReLU):
    r"""Two-layer gated-ReLU regressor, trained to the optimum of a convex program.

    .. math:: \min_{U,b,t}\ \frac1{2n}\sum_j \Big\|\sum_i D_{i,jj}(x_j^TU_i+b_i)+t-y_j\Big\|^2+\beta\sum_i||U_i||_F

    over the activation patterns :math:`D_i` of sampled gates (paper, eq. cvxnn:grelu). Several targets are several
    outputs, with one group of weights for each gate over all of them. Nothing is rescaled.

    Parameters
    ----------
    n_gates : int, default 50
        Hyperplanes to sample. Gates with the same pattern on the training rows are kept once.
    gates : {"cross", "gaussian", "exhaustive"} or (directions (d, m), offsets (m,))
        How they are chosen; see `sample_gates`. "exhaustive" takes one gate of every activation pattern there is, for
        small d; see `exhaustive_gates`.
    sketch_dim : int, "auto" or None, default "auto"
        Sketch size of the cross products.
    beta : float > 0, default 1e-3
        Weight of the penalty, in the 1/n scale: it means the same for every n.
    penalty : {"group_l2"}
        :math:`\sum_i||U_i||_F`.
    loss : {"squared", "huber"}
    bias : bool, default True
        Whether gates and neurons have one; a neuron's is not penalised.
    fit_intercept : bool, default True
        Whether the output has an intercept; it is not penalised.
    solver : {"auto", "fista", "cvxpy"}
        "auto" is FISTA; "cvxpy" the reference, for small problems.
    tol : float, default 1e-6
        Relative duality gap to reach.
    max_iter : int, default 20000
    random_state : int, RandomState, Generator or None
    verbose : int, default 0
        1 shows one line with the iteration and the gap.
    huber_delta : float > 0, default 1.0
        Residual at which the Huber loss turns from square to line.

    Attributes
    ----------
    coef_ : (m, d)
        U, with an axis for the outputs in front if there are several.
    gate_intercept_ : (m,)
        Likewise.
    intercept_ : float, or (outputs,)
    gates_ : Gates
        The m hyperplanes with distinct patterns; their incident rows, and notes on what was resampled.
    patterns_ : (n, m) bool
    result_ : Result
        Objective, gap, iterations, status, history.
    certificate_ : Certificate
        What is proved; ``certificate_.verify(X, y)`` recomputes it.
    network_ : TwoLayerNetwork
    n_iter_ : int

    Raises
    ------
    ArgumentError
        A parameter breaks its rule; a ValueError of scikit-learn for data it refuses (NaN, shapes).

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import GatedReLURegressor
    >>> X = np.linspace(-1, 1, 50)[:, None]
    >>> model = GatedReLURegressor(beta=1e-5, random_state=0).fit(X, np.abs(X[:, 0]))
    >>> bool(model.score(X, np.abs(X[:, 0])) > 0.99)
    True
    """
