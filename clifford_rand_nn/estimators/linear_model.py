"""The linear model of an estimator's loss, whose planes stand before sampled gates; its squared norm is charged."""

from typing import Any

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.registry import as_loss
from clifford_rand_nn.estimators.base import Task
from clifford_rand_nn.estimators.gated import GatedReLUClassifier, GatedReLURegressor
from clifford_rand_nn.estimators.held_out import chosen_beta
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import without_feature
from clifford_rand_nn.problems.gated import GatedRidgeProblem
from clifford_rand_nn.solvers.dispatch import AutoSolver
from clifford_rand_nn.solvers.interrupts import unless_interrupted

_TOL = 1e-4  # relative gap of a model that is only judged
# From the middle, where time is short. On wine, 63 rows, every power of four beyond is better by what says nothing.
_POWERS = (4, 3, 5, 2, 6, 1, 7, 8, 9)
_TIGHT = 1e-12  # of the one that is taken, so that neither the order of the rows nor copies of them turn a plane


def linear_weight(owner: Any, task: Task) -> float:
    """Return the weight of the squared norm of the linear model that does best on held-out rows."""
    return chosen_beta(_model(owner, task), task)[0]


def linear_coefficients(owner: Any, task: Task, weight: float) -> Array:
    r"""Return W (d, C) of the linear model :math:`xW+c` of an estimator's loss, biases and intercept.

    .. math:: \min_{W,c}\ \frac1n\sum_i\omega_i\ell(x_iW+c, y_i)+\frac\lambda2||W||_F^2
    """
    always = np.ones((len(task.X), 1), dtype=bool)
    problem = GatedRidgeProblem(task.rows, task.targets, always, weight, bias=owner._free_bias, **owner._options(task))
    solver = AutoSolver(tol=_TIGHT, max_memory=owner.max_memory)  # whatever the time
    result = unless_interrupted(solver.solve(problem))
    return np.asarray(without_feature(result.coefficients, task.feature).coef[:, 0].T)


def expected_beta(owner: Any, task: Task, weight: float) -> float:
    r"""Return the beta at which norms hold two neurons of a plane where half the squared norm holds the linear model.

    The neurons (z)₊ and -(-z)₊ of :math:`z=x\cdot w` cost :math:`2\beta||w||`, whose slope along w is that of
    :math:`\frac\lambda2||w||^2` for :math:`\beta=\lambda||w||/2`; the root mean square over the outputs is taken.
    """
    lengths = np.linalg.norm(linear_coefficients(owner, task, weight), axis=0)
    return float(weight * np.sqrt(np.mean(lengths**2)) / 2)


def _model(owner: Any, task: Task) -> Any:
    """Return the gated estimator, with squared norms, whose one gate is on everywhere."""
    d = task.X.shape[1]
    kind: Any = _LinearRegressor if task.classes is None else _LinearClassifier
    shared = {name: getattr(owner, name) for name in ("bias", "fit_intercept", "max_time", "max_memory")}
    always = Gates.without_incidence(np.zeros((d, 1)), np.ones(1), "given")
    loss = "logistic" if owner.loss == "auto" else owner.loss
    model = kind(penalty="ridge", gates=always, loss=loss, tol=_TOL, random_state=0, **shared)
    if task.classes is None:
        model.huber_delta = owner.huber_delta
    model.loss_, model._sample_weight, model.bias_feature_ = loss, None, task.feature
    return model


class _Traced:
    """The first weight is the largest eigenvalue that there can be; weights of rows are so many copies."""

    def _warn(self, message: str, level: int) -> None:
        """Say nothing: the owner has the same limits, and warns of them."""

    def _shares(self) -> Array:
        return 0.25 ** np.array(_POWERS)

    def _top(self, task: Task) -> float:
        omega = np.ones(len(task.X)) if task.weights is None else task.weights
        rows = task.rows - omega @ task.rows / omega.sum()
        curvature = as_loss(task.loss, type(self).__name__).curvature
        return float(curvature * (omega @ (rows**2).sum(axis=1)) / omega.sum())


class _LinearClassifier(_Traced, GatedReLUClassifier):
    pass


class _LinearRegressor(_Traced, GatedReLURegressor):
    pass
