"""The loss as a function of the coefficients of a design: from one Gram matrix, or by passes over the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.duality import DualBound, dual_bound
from clifford_rand_nn.problems.gated import GatedProblem, GatedReLUProblem, GatedRidgeProblem
from clifford_rand_nn.solvers.gram_design import GatedDesign

_LEAST = 0.03  # of the mean weight of a row in a preconditioner: rows below it are left out
_PRODUCT = 10.8  # a product takes the time of so many multiplications by the Gram matrix for a row, column and output
_PAYS = 0.15  # Gram matrices of the classes are made where the products of a step took this share of their time,
_FEW = 25  # and are more than these; new ones where they are more than
_WORN = 2.0  # times those of the first step with them
_ROUNDINGS = 10  # of the sums over rows, and of a product with them
_ALIKE = 0.6  # weights that differ by this share in the mean, up to a factor, need no new Gram matrix, but more CG


class QuadraticSum:
    r"""The squared loss, :math:`\frac12\mathrm{tr}(x^TGx) - \langle H, x\rangle + \frac12\sum\omega y^2`, without rows.

    ``G`` :math:`= A^TWA` and ``H`` :math:`= A^TWy` are made in one pass each, and serve every beta.
    """

    def __init__(self, design: GatedDesign, datafit: Datafit) -> None:
        self.datafit = datafit
        weights = np.broadcast_to(np.asarray(datafit.weights), (design.n, 1))
        self.G = design.gram(weights[:, 0], np.float64)
        noise = np.flatnonzero(self.G.diagonal()[: design.N] <= float(weights.max()) * design.rounding**2)
        if noise.size:  # else a small beta fits with what rounding left
            design.drop(noise)
            self.G[noise] = self.G[:, noise] = 0.0
        self.H = design.adjoint(weights * datafit.y)
        self._square = float(np.sum(weights * datafit.y**2))
        self._sizes = float(np.linalg.norm(self.G)), float(np.linalg.norm(self.H))

    def move_to(self, x: Array) -> None:
        """Go to coefficients."""
        turned = self.G @ x
        self.slope = self.H - turned
        self._dot = float(np.vdot(self.H, x))
        self.value = 0.5 * (self._square + float(np.vdot(x, turned))) - self._dot

    def model(self, bounded: bool, dtype: Any) -> list[NDArray[Any]]:
        """Return G itself."""
        return [self.G]

    def product(self, p: Array, dtype: Any) -> Array:
        """Return G p."""
        return np.asarray(self.G @ p)

    def along(self, p: Array) -> Callable[[float], float]:
        """Return the parabola."""
        fall, bend = float(np.vdot(self.slope, p)), float(np.vdot(p, self.G @ p))
        return lambda share: self.value - share * fall + 0.5 * share * (share * bend)  # share**2 would raise

    def rounding(self, x: Array) -> float:
        """Return by how much rounding may have changed the norm of a slope at x."""
        G, H = self._sizes
        return _ROUNDINGS * float(np.finfo(np.float64).eps) * (H + G * float(np.linalg.norm(x)))

    def scaled_dual(self, largest: float) -> float:
        """Return the best dual value, n times, of the residual times at most ``largest``; its biases are balanced."""
        own = 2 * self.value  # of the squared residuals
        to_targets = self._square - self._dot
        share = min(max(to_targets / own, 0.0), largest) if own > 0 else 0.0
        return share * to_targets - 0.5 * share**2 * own


class RowSum:
    """Any loss: predictions on the rows, their residual, and products in one pass over the columns."""

    def __init__(self, design: GatedDesign, datafit: Datafit) -> None:
        self.datafit, self._design = datafit, design
        self._turn: dict[Any, Any] = {}
        self._made: tuple[Array, NDArray[Any]] | None = None  # the last Gram matrix, and what weighted it
        self._each: list[NDArray[Any]] | None = None  # Gram matrices of the classes; empty if new ones are required
        self.products, self._fresh = 0, 0.0  # of this step, and of the first with these matrices

    def move_to(self, x: Array) -> None:
        """Go to coefficients: two passes."""
        self.f = self._design.forward(x)
        self.theta = self.datafit.residual(self.f)
        self.slope = self._design.adjoint(self.theta)
        self.value = self._design.n * self.datafit.value(self.f)

    def model(self, bounded: bool, dtype: Any) -> list[NDArray[Any]]:
        r"""Fix the curvature of every row, or a bound of it; return the Gram matrix weighted by its mean over outputs.

        Of a softmax the Hessian of a row is :math:`\mathrm{diag}(p) - pp^T`, whose trace is shared by C - 1 directions.
        Where the products of the last step took long, each output has its own weights :math:`p(1-p)`.
        """
        datafit, theta = self.datafit, self.theta
        self._turn = {}
        C = theta.shape[1]
        if datafit.loss.separable:
            self._h = each = _bounded(datafit, self.f, theta) if bounded else _curvature(datafit, theta)
            mean = self._h.mean(axis=1)
        else:
            size = np.abs(theta)  # p, and 1 - p of the true class without cancellation
            self._h, each = datafit.weights, size * (1 - size / datafit.weights)
            mean = each.sum(axis=1) / max(C - 1, 1)
            n, order = self._design.n, self._design.N + self._design.q
            cost = order * (n + order / 3) / (_PRODUCT * n)  # of the matrices and their factors, in products
            if 8 * C * order**2 <= self._design.spare and self.products > max(_PAYS * cost, _FEW, _WORN * self._fresh):
                self._each, self._fresh = [], np.inf
            elif not np.isfinite(self._fresh):
                self._fresh = self.products
        self.products = 0
        if self._each is not None and dtype is np.float32:
            self._each = self._each or [self._gram(weights, dtype) for weights in each.T]
            return self._each
        if self._made is not None and self._made[0].any():  # all zero where every row is on a linear piece
            of, G = self._made
            factor = float(mean.sum()) / float(of.sum())
            if G.dtype == dtype and float(np.abs(mean - factor * of).sum()) <= _ALIKE * float(mean.sum()):
                return [np.asarray(G * dtype(factor))]
        self._made = mean, self._gram(mean, dtype)
        return [self._made[1]]

    def _gram(self, weights: Array, dtype: Any) -> NDArray[Any]:
        return self._design.gram(np.where(weights < _LEAST * float(weights.mean()), 0.0, weights), dtype)

    def product(self, p: Array, dtype: Any) -> Array:
        """Return AᵀH A p in one pass, in a precision."""
        self.products += 1
        if dtype not in self._turn:
            loss, parts = self.datafit.loss, (self._h, self.theta / self.datafit.weights, self.datafit.y)
            h, theta, y = (np.broadcast_to(np.asarray(part, dtype), self.theta.shape) for part in parts)
            if loss.separable:
                self._turn[dtype] = lambda rows, u: h[rows] * u
            else:
                self._turn[dtype] = lambda rows, u: h[rows] * loss.hessian_product(theta[rows], y[rows], u)
        return self._design.turned(p, self._turn[dtype], dtype).astype(np.float64, copy=False)

    def along(self, p: Array) -> Callable[[float], float]:
        """Return the values on the line: one pass, and then none."""
        ahead = self._design.forward(p)
        return lambda share: self._design.n * self.datafit.value(self.f + share * ahead)


def _curvature(datafit: Datafit, theta: Array) -> Array:
    """Second derivatives (n, C) where the residual is theta; 0 on linear pieces."""
    low, high = datafit.dual_domain()
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where((theta <= low) | (theta >= high), 0.0, 1 / datafit.dual_curvature(theta)))


def _bounded(datafit: Datafit, f: Array, theta: Array) -> Array:
    """Curvatures (n, C) of parabolas above the loss; of an even one about its targets."""
    if not datafit.loss.has_bounded_curvature:
        return _curvature(datafit, theta)
    most = np.broadcast_to(np.asarray(datafit.row_curvature), f.shape)
    if not datafit.loss.even:
        return most
    away = np.abs(datafit.y - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(away > 0, np.minimum(np.abs(theta) / away, most), most))


_SURE = 0.1  # of the tolerance: rounding of the sums that a bound may bear


def penalty_value(problem: GatedProblem, design: GatedDesign, x: Array) -> float:
    """Return the penalty of coefficients x (N + q, C), in the scale of the objective."""
    squares = design.squares(x)
    if isinstance(problem, GatedReLUProblem):
        return problem.beta * float(np.sqrt(squares).sum())
    return 0.5 * problem.beta * float(squares.sum())


def lower_bound(
    problem: GatedProblem, design: GatedDesign, smooth: QuadraticSum | RowSum, x: Array, f: Array, tol: float
) -> DualBound:
    """Return what the predictions f (n, C) of x prove, by a product with the columns, or by sums that are exact enough.

    ``smooth`` is at x. Where rounding of the sums takes less than a share of ``tol``, it is taken from the bound.
    """
    if isinstance(problem, GatedRidgeProblem):
        return problem.dual_bound(
            f, lambda theta: problem.square_above(float(design.squares(design.adjoint(theta)).sum()), theta)
        )
    radius = problem.n * problem.beta

    def size(theta: Array) -> float:
        if isinstance(smooth, QuadraticSum) and (problem.datafit.sample_weight is None or not design.q):
            error = smooth.rounding(x) + float(np.linalg.norm(design.rounding)) * float(np.linalg.norm(theta))
            if error <= _SURE * tol * radius:  # biases are balanced by a projection, which the columns do not see
                return float(np.sqrt(design.squares(smooth.slope).max(initial=0.0))) + error
        return float(np.sqrt(design.squares(design.adjoint(theta)).max(initial=0.0)))

    return dual_bound(problem.datafit, problem.datafit.residual(f), design.Q, size, radius, problem.reach)


def dual_without_rows(problem: GatedProblem, design: GatedDesign, smooth: QuadraticSum) -> float:
    """Return what the bound will be, if biases are balanced."""
    radius, squares = problem.n * problem.beta, design.squares(smooth.slope)
    if isinstance(problem, GatedRidgeProblem):
        return (smooth.scaled_dual(1.0) - 0.5 * float(squares.sum()) / radius) / problem.n
    largest = float(np.sqrt(squares.max(initial=0.0)))
    return smooth.scaled_dual(radius / largest if largest > 0 else np.inf) / problem.n
