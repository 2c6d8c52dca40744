"""Families of gates: sampled, given or exhaustive ones, and Gaussian ones in the limit of infinitely many."""

from dataclasses import field
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import as_generator, check_integer
from clifford_rand._threads import blas_threads
from clifford_rand_nn.certificates.claims import KernelClaim
from clifford_rand_nn.certificates.values import with_network_values
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.estimators.task import Task, WarmStart, refuse_together
from clifford_rand_nn.gates.enumeration import central_count, chosen_patterns, deadline
from clifford_rand_nn.gates.hyperplanes import ActivationPatterns, Gates
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel, KernelMatrix, KernelProblem
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.solvers.kernel_newton import KernelNewton

_WHEN_CHOSEN = 0.15  # share of max_time for the enumeration where beta is selected
_OF_GATES = ("coef_", "gate_intercept_", "gates_", "patterns_")  # attributes of fits with a list of gates
_SCOPE = "all gated networks of any width with Gaussian gates, in the limit of infinitely many"
_FEW = 1024  # gates that cost nothing to draw: as many as asked for, even if there are fewer patterns


class GatedFamily(ConvexNetwork):
    """An estimator over the patterns of gates: the parameters that choose them, and what they choose."""

    n_gates: int = field(default=50, kw_only=False)
    gates: Any = field(default="cross", kw_only=False)
    sketch_dim: int | str | None = "auto"
    penalty: str = "group_l2"

    _chosen = False  # whether this fit began with beta="auto"
    _enumerations = cast(list[tuple[Any, ActivationPatterns]] | None, None)  # during a fit: rows and their patterns

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_integer(self.n_gates, "n_gates", type(self).__name__)

    @property
    def _samples(self) -> bool:
        return isinstance(self.gates, str) and self.gates not in ("exhaustive", "infinite")

    @property
    def _exhaustive(self) -> bool:
        return isinstance(self.gates, str) and self.gates == "exhaustive"

    def _settled(self, task: Task) -> Task:
        self._chosen = isinstance(self.beta, str)
        return super()._settled(task)

    def _choose_and_train(self, task: Task, warm: WarmStart | None) -> None:
        self._enumerations = []  # copies that choose beta share it
        super()._choose_and_train(task, warm)
        self._enumerations = None

    def _enumerated(self, X: Any) -> ActivationPatterns:
        """Return all patterns on X, enumerated once a fit; some, with a warning, where time is short."""
        for rows, cached in self._enumerations or ():
            if rows is X:
                return cached
        late = deadline(self.max_time, *([_WHEN_CHOSEN] if self._chosen else []))
        owner, category = type(self).__name__, ConvergenceWarning
        patterns = chosen_patterns(X, "exhaustive", self._offset, owner, late=late, category=category)
        if self._enumerations is not None:
            self._enumerations.append((X, patterns))
        return patterns

    def _gate_patterns(self, X: Any, targets: NDArray[np.float64]) -> ActivationPatterns:
        """Distinct patterns on X, and a gate of each, as the parameters say."""
        if self._exhaustive:
            return self._enumerated(X)
        return chosen_patterns(
            X, self.gates, self._offset, type(self).__name__, lambda how: self._drawn(X, targets, how)
        )

    def _drawn(self, X: Any, targets: NDArray[np.float64], method: str) -> Gates:
        n, d = X.shape
        offset = self._offset
        most = central_count(n, min(n - offset, d) + offset)  # patterns that there are at most
        n_gates = min(self.n_gates, max(most, _FEW))
        rng = as_generator(self.random_state, type(self).__name__, "random_state")
        return sample_gates(X, n_gates, method, sketch_dim=self.sketch_dim, bias=offset, random_state=rng, y=targets)


class InfiniteFamily(GatedFamily):
    """A `GatedFamily` with the kernel of Gaussian gates on unscaled rows, their limit, for every loss."""

    @property
    def _infinite(self) -> bool:
        return isinstance(self.gates, str) and self.gates == "infinite"

    def _check_infinite(self) -> None:
        """Refuse parameters with which there is no limit of many gates."""
        condition = "with gates='infinite'"
        finite = "A sum of norms selects finitely many gates: sample some, or give penalty='ridge'."
        free = "Free biases of infinitely many gates fit any targets at no cost."
        listed = "The others need a list of gates."
        refuse_together(
            self,
            (self.penalty != "ridge", "penalty", f"'ridge' {condition}", finite),
            (self._free_bias, "bias", f"'penalized' or False {condition}", free),
            (self.solver not in ("auto", "kernel"), "solver", f"'auto' or 'kernel' {condition}", listed),
        )

    def _forget_gates(self) -> None:
        """Remove what a fit with finitely many gates has left, and one with infinitely many cannot have."""
        for name in _OF_GATES:
            self.__dict__.pop(name, None)

    def _train_infinite(self, task: Task, warm: WarmStart | None) -> None:
        self._forget_gates()
        matrix, start = (self._kernel_matrix(task), None) if warm is None or warm.state is None else warm.state
        problem = KernelProblem(matrix, task.datafit(type(self).__name__, self._own_delta), self.beta_)
        result = problem.solve(self._limited(KernelNewton, task), start)
        if warm is not None:
            warm.state = matrix, result.fitted
        alpha, intercept = result.coefficients
        X = np.asarray(task.X, dtype=np.float64)
        unscaled = Standardization(np.zeros(X.shape[1]), np.ones(X.shape[1]))
        network = KernelNetwork(unscaled, GateKernel(task.feature or 0.0), X, alpha, intercept)
        self._set_kernel(network)
        self.result_, self.n_iter_ = result, max(1, result.n_iter)
        self._certify(KernelClaim(network), task.classes, scope=_SCOPE, n_patterns=0, **self._proof(result, task))
        # of K alpha, as the network predicts, and of K in all digits
        self.certificate_ = with_network_values(self.certificate_, X, task.targets, task.weights, bound=True)
        if not result.converged:
            self._warn(result.message, 5)

    def _kernel_matrix(self, task: Task) -> KernelMatrix:
        kernel, X = GateKernel(task.feature or 0.0), np.asarray(task.X, dtype=np.float64)
        with blas_threads(len(X)):
            return KernelMatrix(kernel(X), self.fit_intercept)
