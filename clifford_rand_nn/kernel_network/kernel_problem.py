"""Kernels of the infinite-width limit, and kernel ridge regression with them."""

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_array, check_number, describe, fail
from clifford_rand._threads import blas_threads, for_each_slice
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.export.program import Value, apply, constant, inverse_lengths, matmul_t, where
from clifford_rand_nn.kernel_network.kernel_functions import SAME, add_column_kernel, arc_of_rows
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.problems.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.problems.duality import DualBound, bound_with_square, relative_gap
from clifford_rand_nn.solvers.base import Limits, Result, check_memory
from clifford_rand_nn.solvers.gate_kernel import SummedKernel
from clifford_rand_nn.solvers.kernel_newton import NewtonStep, State
from clifford_rand_nn.solvers.stopping import Watch

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

    def dual_bound(self, predictions: Array, square: Any, theta: Array | None = None) -> DualBound:
        r"""Return the dual value of the residual, or of theta, moved to meet the equality.

        ``square`` is no less by rounding.
        """
        theta = self.datafit.residual(predictions) if theta is None else theta
        theta = self.datafit.dual_point(theta, self.kernel.Q)
        return bound_with_square(self.datafit, theta, square(theta) / (2 * self.n**2 * self.beta))

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
        return float(self.datafit.largest_curvature(self.null_predictions) * max(trace, 0.0) / self.n)

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


_LEAST = 64  # rows of a kernel matrix that are worth a thread
_BLOCK = 128  # rows of a symmetric one that are mirrored together


class StatedKernel(NamedTuple):
    """The kernel of new rows with given ones, of each new row with itself, and of the given ones, as a program's."""

    matrix: Value
    diagonal: Value
    gram: Value


@short_repr
@dataclass(frozen=True, eq=False)
class GateKernel:
    r"""The gate distribution, and the kernel of a gated network with all of them.

    .. math:: K(x, x') = E_g\big[1(g\cdot z\ge0)\,1(g\cdot z'\ge0)\big]\,z\cdot z' = z\cdot z'\,\frac{\pi-\theta}{2\pi},
              \qquad z = (F^Tx,\ c),\quad \theta = \angle(z, z'),\quad g\sim N(0, I).

    It is the limit of :math:`\frac1m\sum_iD_i\,zz'^T D_i` over m gates, so that `GatedRidgeProblem` on rows z with m
    sampled gates, a weight :math:`\beta` there being m times the one here, nears it at :math:`1/\sqrt m`. This is the
    tangent kernel of the first layer of a ReLU network, and not the arc-cosine kernel of order one.

    ``frame`` (d, r): F; None for the identity. Gates :math:`w\sim N(0, M)` with norms measured by :math:`M^{-1}` are
    :math:`F = M^{1/2}`.

    **Steps.** With ``steps`` s > 0 rows have 2d columns, the second half the levels v of the columns, and there are
    gates in single columns, too, each with a constant in the place of a linear function:

    .. math:: K(x,x') = z\cdot z'\,\frac{\pi-\theta}{2\pi} + s\,\big(1-\sum_j|v_j-v'_j|\big).

    The levels of a column being its ranks over d, as `Standardization` makes them, :math:`1-\sum_j|v_j-v'_j|` is the
    share of hyperplanes with both rows on one side, of those through a training row and orthogonal to an axis: cross
    products of the row with all other axes.

    **Boxes.** With ``decay`` γ > 0 the gates are products of steps in several columns, which are on in boxes:

    .. math:: K(x,x') = z\cdot z'\,\frac{\pi-\theta}{2\pi} + s\,\exp\Big(-\gamma\sum_j\mu_j|v_j-v'_j|\Big).

    The exponential is the probability that no threshold of a Poisson process in each column, of rate γμ, separates the
    rows: both are in one cell of a Mondrian partition. :math:`\mu_j` are the ``rates`` (d,). Without them it is 1, or
    with a frame the length of row j of F over the mean of those that are not 0, so that columns along which the metric
    is large are cut more finely.

    References: Cho, Saul, "Kernel methods for deep learning", NIPS 2009, eq. 6 with n = 0, times z·z'; Dwaraknath,
    Ergen, Pilanci, "Fixing the NTK", NeurIPS 2023; Balog, Lakshminarayanan, Ghahramani, Roy, Teh, "The Mondrian
    kernel", UAI 2016, prop. 1, for boxes.

    Examples
    --------
    >>> import numpy as np
    >>> K = GateKernel(bias=0.0)(np.array([[1.0, 0.0], [0.0, 2.0], [-1.0, 0.0]]))
    >>> abs(K).round(3).tolist()  # half the squared length; nothing at right angles or opposite
    [[0.5, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 0.5]]
    """

    bias: float = 0.0  # c, the constant feature: biases are inside the norm. 0 for none
    frame: Array | None = None
    steps: float = 0.0  # s, the weight of gates in single columns, or of those in boxes
    decay: float = 0.0  # γ, the rate of thresholds of boxes; 0 for gates in single columns
    rates: Array | None = None  # μ, (d,), of boxes; None: by the frame

    def __post_init__(self) -> None:
        owner = "GateKernel"
        for name in ("steps", "decay"):
            check_number(getattr(self, name), name, owner, "a finite number ≥ 0", lambda s: 0 <= s < np.inf)
        check_number(self.bias, "bias", owner, "a finite number ≥ 0", lambda c: 0 <= c < np.inf)
        if self.frame is not None:
            check_array(self.frame, "frame", owner, (None, None))
        if self.rates is not None:
            check_array(self.rates, "rates", owner, (None,))
            if not ((self.rates >= 0) & (self.rates < np.inf)).all():
                raise fail("rates", owner, "finite numbers ≥ 0", describe(f"numbers from {np.min(self.rates)} on"))

    def features(self, X: ArrayLike) -> NDArray[np.floating]:
        """Return the rows z of X, (n, r) or with a bias (n, r + 1); in float32 if X and the frame are."""
        rows = as_real(X, "X", "GateKernel")
        if rows.ndim != 2:
            raise fail("X", "GateKernel", "an (n, d) array", describe(f"shape {rows.shape}"))
        rows = self.gated(rows)
        if self.frame is not None:
            if rows.shape[1] != len(self.frame):
                raise fail("X", "GateKernel", f"{len(self.frame)} columns", describe(f"{rows.shape[1]}"))
            rows = rows @ self.frame.astype(rows.dtype, copy=False)
        return np.column_stack([rows, np.full(len(rows), self.bias, dtype=rows.dtype)]) if self.bias else rows

    def parts(self, X: NDArray[np.floating]) -> tuple[NDArray[np.floating], NDArray[np.floating]]:
        """Return the columns (n, d) of Gaussian gates, and levels (n, d) whose distances count, none without steps."""
        gated = self.gated(X)
        d, levels = gated.shape[1], X[:, gated.shape[1] :]
        return gated, levels * self.level_rates(d).astype(X.dtype) if self.steps and self.decay else levels

    def gated(self, X: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the columns (n, d) of Gaussian gates alone."""
        return X[:, : X.shape[1] // 2] if self.steps else X

    def level_rates(self, d: int) -> Array:
        r"""Return what the levels of d columns are multiplied by, (d,): :math:`\gamma\mu_j`, or 1 without boxes."""
        if self.decay and self.rates is not None:
            return self.decay * self.rates
        if not self.decay or self.frame is None:
            return np.full(d, self.decay or 1.0)
        lengths = np.linalg.norm(self.frame, axis=1)
        used = lengths > 0  # constant columns have no slope, and change nothing
        return np.asarray(self.decay * lengths / (lengths[used].mean() if used.any() else 1.0))

    def add_steps(self, inner: NDArray[np.floating], levels: NDArray[Any], levels2: NDArray[Any]) -> None:
        """Add the kernel of steps of levels (n, d) and (d, m), as of `parts`, to a matrix (n, m), all of one type."""
        if self.steps:
            columns = np.ascontiguousarray(levels2)  # each is read for every row
            add_column_kernel(inner, levels, columns, inner.dtype.type(self.steps), self.decay > 0)

    def __call__(self, X: ArrayLike, other: ArrayLike | None = None) -> NDArray[np.floating]:
        """Return the kernel matrix of the rows X (n, d) and those of ``other``, (n, m); of X with itself if None.

        The matrix of X with itself is symmetric, and equal rows have an angle of zero.
        """
        z = self.features(X)
        z2 = z if other is None else self.features(other)
        n, out = len(z), np.empty((len(z), len(z2)), dtype=z.dtype)
        lengths, lengths2 = np.linalg.norm(z, axis=1), np.linalg.norm(z2, axis=1)
        levels = self.parts(np.asarray(X, dtype=z.dtype))[1]
        across = levels if other is None else self.parts(np.asarray(other, dtype=z.dtype))[1]
        across = np.ascontiguousarray(across.T)

        def fill(rows: slice, columns: slice) -> None:
            block = z[rows] @ z2[columns].T  # of one array with itself NumPy makes it symmetric
            arc_of_rows(block, z[rows], z2[columns], lengths[rows], lengths2[columns])
            self.add_steps(block, levels[rows], across[:, columns])
            out[rows, columns] = block

        starts = range(0, n, _BLOCK)  # the first goes with the last: together they are as long as others
        paired = [k for pair in zip(starts, reversed(starts), strict=True) for k in pair][: len(starts)]

        def mirror(part: slice) -> None:  # rows of the upper triangle, and the columns below them
            for k in paired[part]:
                own, rest = slice(k, min(k + _BLOCK, n)), slice(min(k + _BLOCK, n), n)
                fill(own, own)
                fill(own, rest)
                out[rest, own] = out[own, rest].T

        if other is None:
            for_each_slice(mirror, len(paired))
        else:
            for_each_slice(lambda part: fill(part, slice(None)), n, least=_LEAST)
        return out

    def diagonal(self, X: ArrayLike) -> Array:
        r"""Return :math:`K(x, x) = ||z||^2/2 + s` of every row, (n,)."""
        z = self.features(X)
        return np.asarray(0.5 * np.einsum("ij,ij->i", z, z), dtype=np.float64) + self.steps

    def stated(self, x: Value, rows: Array) -> "StatedKernel":
        """Return the kernel of rows x with those of an array (m, d), as operations of a program."""
        z, frame, c = self.features(rows), self.frame, self.bias
        gated, levels = self.parts(rows)
        d = gated.shape[1]
        there = constant(z[:, :-1] if c else z, "rows")
        sizes = np.linalg.norm(z, axis=1)
        rates = constant(np.divide(1, sizes, out=np.zeros_like(sizes), where=sizes > 0), "rates")

        def between(x: Value, own: Value | None) -> tuple[Value, Value]:
            inner, squares = matmul_t(x, there), apply("row_sums", x * x)
            if c:
                inner, squares = inner + c**2, squares + c**2
            inner, squares = inner.named("inner"), squares.named("squares")
            inverse = 1.0 / apply("sqrt", squares) if c else inverse_lengths(squares)
            cosines = (inner * inverse * rates).named("cosines")
            same = where(apply("abs", cosines) < SAME, cosines, apply("sign", cosines)).named("same")
            share = (apply("arcsin", same) / (2 * math.pi) + 0.25).named("share")
            matrix, diagonal = inner * share, 0.5 * squares
            if own is not None:
                apart = apply("abs", apply("layers", own) - layers).named("apart")
                distances = apply("layer_sums", apart).named("distances")
                near = apply("exp", -1.0 * distances) if self.decay else 1.0 - distances
                matrix, diagonal = matrix + self.steps * near, diagonal + self.steps
            return matrix.named("kernel"), diagonal

        own = own_levels = None
        if self.steps:
            halves, layers = np.eye(2 * d), constant(levels.T[:, None], "level_layers")
            columns = constant(halves[:, d:] * self.level_rates(d), "level_columns")
            x, own = x @ constant(halves[:, :d], "gate_columns"), x @ columns
            own_levels = constant(levels, "levels")
        framed = x if frame is None else (x @ constant(frame, "frame")).named("framed")
        return StatedKernel(*between(framed, own), between(there, own_levels)[0])
