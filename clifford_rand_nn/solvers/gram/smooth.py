"""The loss as a function of the coefficients of a design: from one Gram matrix, or by passes over the rows."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.solvers.gram.design import GatedDesign

_LEAST = 0.03  # of the mean weight of a row in a preconditioner: rows below it are left out
_ROUNDINGS = 10  # of the sums over rows, and of a product with them
_ALIKE = (
    0.6  # weights that differ by this share in the mean, up to a factor, need no new Gram matrix, only more CG steps
)


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

    def model(self, bounded: bool, dtype: Any) -> NDArray[Any]:
        """Return G itself."""
        return self.G

    def product(self, p: Array, dtype: Any) -> Array:
        """Return G p."""
        return np.asarray(self.G @ p)

    def along(self, p: Array) -> Callable[[float], float]:
        """Return the parabola."""
        fall, bend = float(np.vdot(self.slope, p)), float(np.vdot(p, self.G @ p))
        return lambda share: self.value - share * fall + 0.5 * share**2 * bend

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

    def move_to(self, x: Array) -> None:
        """Go to coefficients: two passes."""
        self.f = self._design.forward(x)
        self.theta = self.datafit.residual(self.f)
        self.slope = self._design.adjoint(self.theta)
        self.value = self._design.n * self.datafit.value(self.f)

    def model(self, bounded: bool, dtype: Any) -> NDArray[Any]:
        r"""Fix the curvature of every row, or a bound of it; return the Gram matrix weighted by its mean over outputs.

        Of a softmax the Hessian of a row is :math:`\mathrm{diag}(p) - pp^T`, whose trace is shared by C - 1 directions.
        """
        datafit, theta = self.datafit, self.theta
        self._turn = {}
        C = theta.shape[1]
        if not datafit.loss.separable:
            self._mass, self._h = datafit.weights * datafit.y - theta, None
            p = self._mass / datafit.weights
            mean = (self._mass * (1 - p)).sum(axis=1) / max(C - 1, 1)
        else:
            self._h = _bounded(datafit, self.f, theta) if bounded else _curvature(datafit, theta)
            mean = self._h.mean(axis=1)
        if self._made is not None and self._made[0].any():  # all zero where every row is on a linear piece
            of, G = self._made
            factor = float(mean.sum()) / float(of.sum())
            if G.dtype == dtype and float(np.abs(mean - factor * of).sum()) <= _ALIKE * float(mean.sum()):
                return np.asarray(G * dtype(factor))
        self._made = mean, self._design.gram(np.where(mean < _LEAST * float(mean.mean()), 0.0, mean), dtype)
        return self._made[1]

    def product(self, p: Array, dtype: Any) -> Array:
        """Return AᵀH A p in one pass, in a precision."""
        if dtype not in self._turn:
            if self._h is not None:
                h = self._h.astype(dtype)
                self._turn[dtype] = lambda rows, u: h[rows] * u
            else:
                mass = self._mass.astype(dtype)
                share = (self._mass / self.datafit.weights).astype(dtype)

                def turn(rows: slice, u: Any) -> Any:
                    return mass[rows] * (u - np.einsum("nc,nc->n", share[rows], u)[:, None])

                self._turn[dtype] = turn
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
    most = np.broadcast_to(np.asarray(datafit.row_curvature), f.shape)
    if not datafit.loss.even:
        return most
    away = np.abs(datafit.y - f)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.asarray(np.where(away > 0, np.minimum(np.abs(theta) / away, most), most))
