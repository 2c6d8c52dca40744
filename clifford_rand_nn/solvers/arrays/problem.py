"""The gated problem on arrays of any library: objective, gradient, prox, duality gap, coefficients."""

import math
from typing import Any, NamedTuple

from array_api_compat import device as device_of

from clifford_rand._checks import check_positive, describe, fail
from clifford_rand_nn.problems.duality import DualBound, gap_above
from clifford_rand_nn.solvers.arrays.linear_map import ArrayMap
from clifford_rand_nn.solvers.arrays.losses import ArrayLoss, make_loss
from clifford_rand_nn.solvers.arrays.namespace import (
    check_finite,
    common_namespace,
    constant,
    detached,
    peak,
    wide_dtype,
)

__all__ = ["ArrayCoefficients", "ArrayPoint", "ArrayProblem"]

# Newton steps of the prox, a fixed number so that nothing waits for the device. In a million random groups of up to 27
# levels, squares from 1e-8 to 1e8, five steps left tau wrong by 3e-4, six by 3e-8, seven to ten by 5e-8.
_NEWTON_STEPS = 7
_BALANCED = 4500.0  # roundings: an equality of the dual holds if its residual is below this share; 1e-12


class ArrayPoint(NamedTuple):
    """Solver variables: U (r, P, C), penalised by group, and c (q, C), free."""

    U: Any
    c: Any


class ArrayCoefficients(NamedTuple):
    """As `Coefficients`, in the library of the data: coef (C, P, d), gate_intercept (C, P), intercept (C,)."""

    coef: Any
    gate_intercept: Any
    intercept: Any


class ArrayProblem:
    """`GatedReLUProblem` on arrays of one library and device; parameters and shapes are the same.

    X is float32 or float64, patterns bool. What is added up, and every bound, is in float64 where the device has it.
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        patterns: Any,
        beta: float,
        *,
        loss: str = "squared",
        bias: bool = True,
        fit_intercept: bool = True,
        sample_weight: Any = None,
        huber_delta: float = 1.0,
        owner: str = "solve_array",
    ) -> None:
        weights = {} if sample_weight is None else {"sample_weight": sample_weight}
        xp = common_namespace(owner, X=X, y=y, patterns=patterns, **weights)
        X, y, sample_weight = detached(X), detached(y), None if sample_weight is None else detached(sample_weight)
        if X.ndim != 2 or 0 in X.shape:
            raise fail("X", owner, "an (n, d) array with n ≥ 1 and d ≥ 1", describe(f"shape {tuple(X.shape)}"))
        if X.dtype not in (xp.float32, xp.float64):
            raise fail("X", owner, "an array in float32 or float64", describe(f"dtype {X.dtype}"))
        check_finite(xp, X, "X", owner)
        n = int(X.shape[0])
        if not xp.isdtype(patterns.dtype, "bool") or patterns.ndim != 2 or patterns.shape[0] != n:
            said = describe(f"dtype {patterns.dtype}, shape {tuple(patterns.shape)}")
            raise fail("patterns", owner, f"a boolean array of shape ({n}, P)", said)
        self.xp, self.n = xp, n
        self.beta = check_positive(beta, "beta", owner)
        wide = wide_dtype(xp, device_of(X))
        self.loss_name = loss
        self.loss: ArrayLoss = make_loss(xp, loss, y, n, owner, wide, huber_delta, sample_weight)
        self.map = ArrayMap(xp, X, patterns, bool(bias), bool(fit_intercept), wide)
        share = self.loss.bend / n
        self._curvature = share * self.loss.w, share * float(xp.max(self.loss.w))
        self._level_squares = self.map.level_weights[:, None] ** 2
        zero = float(self.loss.value(xp.zeros_like(self.loss.y)))
        info = xp.finfo(wide)
        self._least = float(info.eps) * max(zero, float(info.smallest_normal))
        self._zero, self._met = zero, max(1e-6, math.sqrt(float(info.eps)))

    @property
    def curvature(self) -> tuple[Any, float]:
        """Curvature bounds of the mean loss: row by row, (n, 1), and the largest."""
        return self._curvature

    @property
    def outputs(self) -> int:
        """Number of outputs C."""
        return int(self.loss.y.shape[1])

    def start(self) -> ArrayPoint:
        """Return zero with the best intercept and biases of the squared loss, for it and Huber's; else zero."""
        xp, y, Q = self.xp, self.loss.y, self.map.Q
        U = self.map.zeros(self.map.frame.shape[1], self.map.n_patterns, y.shape[1])
        c = Q.T @ y / self.map.sigma
        return ArrayPoint(U, c if self.loss_name in ("squared", "huber") else xp.zeros_like(c))

    def null_fit(self) -> tuple[Any, ArrayPoint]:
        """Return the best predictions without a gate, of the squared loss, and their point."""
        loss, Q = self.loss, self.map.Q
        f = Q @ loss.solve(Q.T @ (loss.w * Q), Q.T @ (loss.w * loss.y)) if Q.shape[1] else self.xp.zeros_like(loss.y)
        return f, ArrayPoint(self.start().U, Q.T @ f / self.map.sigma)

    def lipschitz(self) -> float:
        """Estimate the Lipschitz constant of `gradient`, by the mean curvature."""
        return self.loss.bend * self.map.sigma**2 / self.n

    def gradient(self, f: Any, narrow: bool) -> ArrayPoint:
        """Gradient of the mean loss at the point that has these predictions."""
        return ArrayPoint(*self.map.adjoint(-self.loss.residual(f) / self.n, narrow))

    def norms(self, U: Any) -> Any:
        """Norm of each group's coefficients, (P,)."""
        return self.xp.sqrt(self.xp.sum(self._level_squares * self._squares(U), axis=0))

    def objective(self, U: Any, f: Any) -> float:
        """Primal objective; waits for the device."""
        return float(self.loss.value(f) + self.beta * self.xp.sum(self.norms(U)))

    def prox(self, U: Any, step: Any) -> Any:
        """`GroupL2.prox`, of ``step`` (an array without axes) times the penalty, without waiting for the device."""
        xp = self.xp
        radius, h = step * self.beta, 1 / self._level_squares
        squares = self._squares(U) * h
        active = xp.sum(squares, axis=0) > radius * radius
        levels = max(1, int(h.shape[0]))
        # Idle groups get the squares whose root is at zero, so that no step divides by nothing.
        relative = xp.where(active[None, :], squares / (radius * radius), constant(squares, 1 / levels))
        tau = xp.zeros_like(relative[:1, :]) if relative.shape[0] else self.map.zeros(1, U.shape[1])
        for _ in range(_NEWTON_STEPS):  # tau in units of the radius
            inverse = 1 / (h * tau + 1)
            terms = relative * inverse * inverse
            phi = xp.sum(terms, axis=0, keepdims=True)
            slope = xp.sum(terms * (h * inverse), axis=0, keepdims=True)
            tau = tau + phi / slope * (xp.sqrt(phi) - 1) if relative.shape[0] else tau
        shrink = xp.where(active[None, :], h * tau / (h * tau + 1), constant(squares, 0.0))
        return U * (self.map.levels.T @ shrink)[:, :, None]

    def dual_norm(self, theta: Any) -> float:
        r"""Return :math:`\max_i||X^TD_i\theta||_F`."""
        squares = self._squares(self.map.gated_adjoint(theta))
        return math.sqrt(peak(self.xp, self.xp.sum(squares / self._level_squares, axis=0)))

    def dual_bound(self, f: Any) -> DualBound:
        """Lower bound of the optimum from predictions, as `problems.duality.dual_bound`."""
        return self.bound_at(self.loss.residual(f))

    def bound_at(self, theta: Any) -> DualBound:
        """Lower bound of the optimum from a dual point, which is balanced and scaled."""
        loss, Q, norm = self.loss, self.map.Q, self.xp.linalg.vector_norm
        theta = loss.balance(theta, Q)
        if not float(norm(Q.T @ theta)) <= _BALANCED * self.map.eps * float(norm(theta)):
            theta = self.xp.zeros_like(theta)  # always feasible
        found, radius = self.dual_norm(theta), self.n * self.beta
        theta = theta * loss.scale(theta, radius / found if found > 0 else math.inf)
        return DualBound(loss.dual_value(theta), theta)

    def relative_gap(self, primal: float, dual: float) -> float:
        """(primal - dual) / primal, as `problems.duality.relative_gap`."""
        return gap_above(primal, dual, self._zero, self._met) / max(primal, self._least)

    def coefficients(self, z: ArrayPoint) -> ArrayCoefficients:
        """Coefficients and biases of a point: the same predictions, the same objective."""
        xp = self.xp
        r, P, C = z.U.shape
        coef = xp.reshape(self.map.frame @ xp.reshape(z.U, (r, P * C)), (self.map.frame.shape[0], P, C))
        gate, intercept = self.map.biases(z.U, z.c)
        return ArrayCoefficients(xp.permute_dims(coef, (2, 1, 0)), gate.T, intercept)

    def _squares(self, U: Any) -> Any:
        """Sum of squares over each level's coordinates and all outputs, (levels, P)."""
        return self.map.levels @ self.xp.sum(U * U, axis=2)
