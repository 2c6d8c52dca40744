r"""Training problem of any loss over a kernel, solved by the Newton method of `KernelNewton`."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import blas_threads
from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.problems.duality import DualBound, relative_gap
from clifford_rand_nn.solvers.base import Limits, Result, check_memory
from clifford_rand_nn.solvers.convergence import Watch
from clifford_rand_nn.solvers.kernel.gram import SummedKernel
from clifford_rand_nn.solvers.kernel.newton import NewtonStep, State

_ADVICE = "try a larger tol"


class KernelMatrix(SummedKernel):
    """A symmetric kernel matrix (n, n), in the place of the sum over gates that `NewtonStep` works with."""

    def __init__(self, K: NDArray[np.floating], fit_intercept: bool) -> None:
        self.last: Any = None
        matrix = K if K.flags.f_contiguous else K.T  # symmetric: either triangle does
        self.total = np.asfortranarray(matrix, dtype=np.float64)
        self.Q = np.full((len(K), int(fit_intercept)), len(K) ** -0.5)

    @property
    def n(self) -> int:
        """Number of rows."""
        return len(self.total)


class KernelProblem:
    r"""Any loss over a kernel.

    .. math:: \min_{\alpha,t}\ \frac1n\sum_i\omega_i\ell(f_i,y_i)+\frac\beta2\mathrm{tr}(\alpha^TK\alpha),\qquad
              f=K\alpha+1t^T,

    with the dual :math:`\max_\theta\frac1n\sum_i-\omega_i\ell^*(-\theta_i/\omega_i)
    -\frac1{2n^2\beta}\mathrm{tr}(\theta^TK\theta)`, :math:`1^T\theta=0` with an intercept, :math:`\theta=n\beta\alpha`
    at the optimum.

    ``datafit``: loss, targets (n, C) and weights of n rows.
    """

    def __init__(self, kernel: KernelMatrix, datafit: Datafit, beta: float) -> None:
        self.kernel, self.datafit, self.beta = kernel, datafit, beta

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.datafit.y.shape[0])

    @property
    def outputs(self) -> int:
        """Number of outputs C."""
        return int(self.datafit.y.shape[1])

    @property
    def null_predictions(self) -> Array:
        """Return the predictions (n, C) of the best constant, or zeros without an intercept."""
        return unpenalized_fit(self.datafit, self.kernel.Q)

    def dual_bound(self, predictions: Array, square: Any) -> DualBound:
        r"""Return the dual value of the residual, moved to meet the equality; ``square`` is no less by rounding."""
        theta = self.datafit.dual_point(self.datafit.residual(predictions), self.kernel.Q)
        form = square(theta)
        return DualBound(self.datafit.dual_value(theta) - form / (2 * self.n**2 * self.beta), theta)

    def relative_gap(self, primal: float, dual: float) -> float:
        """(primal - dual) / primal."""
        return relative_gap(self.datafit, primal, dual)

    def beta_max(self) -> float:
        r"""Beta from which every direction of the predictions is shrunk by a half or more.

        That is :math:`\kappa\,\mathrm{tr}(K)/n`, κ the largest curvature of the loss, of the centered K with an
        intercept.
        """
        Q = self.kernel.Q
        trace = float(np.trace(self.kernel.total)) - float(np.vdot(Q, self.kernel.apply(Q)) if Q.size else 0.0)
        return float(self.datafit.curvature * max(trace, 0.0) / self.n)

    def solve(self, limits: Limits, start: Array | None = None) -> Result[KernelFit]:
        """Minimize; ``start`` (n, C) are predictions to begin with, those for another beta.

        Raises ArgumentError: the matrices would take more than ``max_memory``.
        """
        check_memory("KernelNewton", limits.max_memory, self.memory, f"{self.n} rows", "Take sampled gates.")
        with blas_threads(self.n):
            watch, _ = self.minimize(limits, ahead=start)
        alpha = watch.point.theta / (self.n * self.beta)
        intercept = self.intercept(watch.point)
        return watch.result("newton", KernelFit(alpha, intercept if self.kernel.Q.size else np.zeros(self.outputs)))

    @property
    def memory(self) -> float:
        """Return the bytes of the matrices of a step."""
        loss = self.datafit.loss
        matrices = 2.5 + (1.5 if loss.is_quadratic else self.outputs) + (0.0 if loss.separable else 2.0)
        return float(8 * self.n**2 * matrices)

    def intercept(self, state: State) -> Array:
        r"""Return t (C,) of :math:`f = K\theta/\lambda+1t^T`."""
        return np.asarray((state.f - state.image / (self.n * self.beta)).mean(axis=0))

    def state(self, alpha: Array | None = None, f: Array | None = None) -> State:
        """Return the network with these coefficients (n, C) and predictions, or the best constant."""
        if alpha is None or f is None:
            free = self.null_predictions
            zero = np.zeros_like(free)
            return State(zero, zero, free, self.datafit.value(free))
        theta = self.n * self.beta * alpha  # the dual variable in the scale of residuals
        image = self.kernel.apply(theta)
        norm = float(np.vdot(alpha, image)) / self.n  # β αᵀKα
        return State(theta, image, f, self.datafit.value(f) + 0.5 * norm)

    def minimize(
        self, limits: Limits, state: State | None = None, ahead: Array | None = None
    ) -> tuple[Watch[State], NewtonStep]:
        """Take steps from a state, the best constant if None; the first from predictions ``ahead`` if that helps."""
        watch = Watch[State](limits, self.relative_gap, _ADVICE)
        newton = NewtonStep(self, self.kernel)
        with watch, np.errstate(all="ignore"):  # what overflows is not finite afterwards: it is judged
            state = self.state() if state is None else state
            watch.check(0, state.objective, newton.bound(state.f), state, state.f)
            if watch.status is None:
                newton.run(state, ahead, watch)
        return watch, newton
