"""`GatedReLU` with infinitely many gates: the kernel of Gaussian ones on the rows as they come, for every loss."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._blas import blas_threads
from clifford_rand._checks import fail
from clifford_rand_nn.claims import KernelClaim
from clifford_rand_nn.datafits.registry import make_datafit
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.kernel_problem import KernelMatrix, KernelProblem
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.solvers.kernel.newton import KernelNewton

SCOPE = "all gated networks of any width with Gaussian gates, in the limit of infinitely many"
_ABSENT = ("coef_", "gate_intercept_", "gates_", "patterns_")


def check_infinite(model: Any) -> None:
    """Refuse parameters with which there is no limit of many gates.

    Raises
    ------
    ArgumentError
        The penalty is not squared, biases are free, or the solver needs a list of gates.
    """
    owner, rule = type(model).__name__, "with gates='infinite'"
    if model.penalty != "ridge":
        hint = "A sum of norms selects finitely many gates: sample some, or give penalty='ridge'."
        raise fail("penalty", owner, f"'ridge' {rule}", model.penalty, hint)
    if model._free_bias:
        hint = "Free biases of infinitely many gates fit any targets at no cost."
        raise fail("bias", owner, f"'penalized' or False {rule}", model.bias, hint)
    if model.solver not in ("auto", "kernel"):
        raise fail("solver", owner, f"'auto' or 'kernel' {rule}", model.solver, "The others need a list of gates.")


def forget_gates(model: Any) -> None:
    """Remove what a fit with finitely many gates has left, and one with infinitely many cannot have."""
    for name in _ABSENT:
        if hasattr(model, name):
            delattr(model, name)


def train_infinite(model: Any, task: Any, beta: float, shared: list[Any] | None) -> None:
    """Solve, and set all attributes."""
    forget_gates(model)
    matrix, start = shared.pop() if shared else (_matrix(model, task), None)
    problem = _problem(model, task, matrix, beta)
    with model._limited(KernelNewton, task) as solver:
        result = problem.solve(solver, start)
    if shared is not None:
        shared.append((matrix, result.fitted))
    alpha, intercept = result.coefficients
    X = np.asarray(task.X, dtype=np.float64)
    as_they_come = Standardization(np.zeros(X.shape[1]), np.ones(X.shape[1]))
    model._set_kernel(KernelNetwork(as_they_come, GateKernel(task.feature or 0.0), X, alpha, intercept))
    model.result_, model.n_iter_ = result, max(1, result.n_iter)
    claim = KernelClaim(model.network_)
    model._certify(claim, task.classes, scope=SCOPE, n_patterns=0, **model._proof(result, task))
    if not result.converged:
        warnings.warn(f"{type(model).__name__}: {result.message}.", ConvergenceWarning, stacklevel=5)


def infinite_beta_max(model: Any, task: Any) -> float:
    """Return the beta from which every direction is shrunk by a half or more."""
    return _problem(model, task, _matrix(model, task), 1.0).beta_max()


def _matrix(model: Any, task: Any) -> KernelMatrix:
    kernel, X = GateKernel(task.feature or 0.0), np.asarray(task.X, dtype=np.float64)
    with blas_threads(len(X)):
        return KernelMatrix(kernel(X), model.fit_intercept)


def _problem(model: Any, task: Any, matrix: KernelMatrix, beta: float) -> KernelProblem:
    options = model._options(task)
    datafit = make_datafit(
        task.loss, task.targets, len(task.X), type(model).__name__, options["huber_delta"], options["sample_weight"]
    )
    return KernelProblem(matrix, datafit, beta)
