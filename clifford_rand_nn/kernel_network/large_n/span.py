r"""The problem of functions in the span of landmarks, in double precision: its values, and steps to its solution."""

from collections.abc import Callable

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.large_n.landmarks import STRIP, LandmarkFeatures
from clifford_rand_nn.kernel_network.large_n.problem import ManyRows
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.convergence import Watch

_IDLE = 10  # steps that lower the gap no more: rounding is all that is left
_INSIDE = 0.9  # of the tolerance, by the sums of steps, before a pass judges
_LESS = 0.5  # of the gap before, or rounding is all that is left


class SpanProblem:
    r"""The least of :math:`\frac1n\sum_i\omega_i\tfrac12||y_i-(Vu)_i-t||^2+\frac\beta2||u||^2` over u (m, C) and t.

    V are the `LandmarkFeatures`, here in double precision, as :math:`Vu=K_{nm}L^{-T}u`: a pass over the rows for both
    Vu and :math:`V^T\Omega Vu`, n m entries of the kernel. With r the residuals and :math:`\alpha=\Omega r/n\beta`,
    each point is judged by

    .. math:: D = \beta\sum_c\max_s s\,\alpha_c^Ty_c-\frac{s^2}2\big(|V^T\alpha_c|^2
              +n\beta\,\alpha_c^T\Omega^{-1}\alpha_c\big),

    to which `LandmarkSpan` adds what rounding may take from :math:`|V^T\alpha_c|^2`.
    """

    def __init__(self, problem: ManyRows, features: LandmarkFeatures, beta: float) -> None:
        self._problem, self._span, self.beta = problem, features.span, beta
        self._radius = problem.n * beta
        self._tiles = KernelTiles(problem.kernel, problem.X[features.rows])
        self._weights = problem.weights[:, None]
        self._root = np.sqrt(problem.kernel.diagonal(problem.X)) * problem.weights
        self._ones = np.zeros(features.m)  # VᵀΩ1

    def _pass(self, u: Array, t: Array | None) -> tuple[Array, Array]:
        """Return V u and VᵀΩVu; with an intercept f = Vu + t and VᵀΩ(y - f, 1), to judge it."""
        X, y = self._problem.X, self._problem.targets
        a, image = self._span.coefficients(u), np.empty(y.shape)
        back = np.zeros((self._span.m, y.shape[1] + (t is not None)))
        for start in range(0, len(y), STRIP):
            part = slice(start, start + STRIP)
            K = self._tiles.matrix_from(X[part])
            image[part] = right = K @ a
            if t is not None:
                image[part] += t
                right = np.column_stack([y[part] - image[part], np.ones(len(K))])
            back += K.T @ (self._weights[part] * right)
        return image, self._span.whitened(back)

    def _mean(self, values: Array) -> Array:
        return np.asarray(np.average(values, axis=0, weights=self._problem.weights))

    def solve(self, u: Array, t: Array, inverse: Callable[[Array], Array], watch: Watch[KernelFit], tol: float) -> None:
        r"""Leave the best point in ``watch``: u and t, and from there conjugate gradients until it ends them.

        ``inverse`` is one of :math:`V^T\Omega V+n\beta I` with V centered, as near as single precision comes to it.
        Where steps seem to be at the tolerance, or lower the gap no more, a pass judges them without their rounding.
        """
        y, n_iter, before = self._problem.targets, 1, np.inf
        while watch.status is None:
            fitted, back = self._pass(u, t)
            back, self._ones = back[:, :-1], back[:, -1]
            size = self._root @ np.abs(y - fitted)
            left, dual = self._check(watch, n_iter, u, t, fitted, back, size)
            least, at = self._open(watch, dual), n_iter
            if watch.status is None and least > _LESS * before:
                watch.stop(Status.STALLED)
            before = least
            z = inverse(left)
            step, along = z, np.einsum("mc,mc->c", left, z)
            while watch.status is None:
                image, curved = self._pass(step, None)
                centered = curved - np.outer(self._ones, self._mean(image)) + self._radius * step
                across = np.einsum("mc,mc->c", step, centered)
                length = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
                u, fitted, back = u + length * step, fitted + length * image, back - length * curved
                size = size + np.abs(length) * (self._root @ np.abs(image))
                n_iter += 1
                left, value = self._check(watch, n_iter, u, t, fitted, back, size)
                dual = max(dual, value)
                if self._open(watch, dual) < least:
                    least, at = self._open(watch, dual), n_iter
                if least <= _INSIDE * tol or n_iter - at >= _IDLE:
                    break
                z = inverse(left)
                new = np.einsum("mc,mc->c", left, z)
                step = z + step * np.divide(new, along, out=np.zeros_like(new), where=along > 0)
                along = new
            n_iter, t = n_iter + 1, t + self._mean(y - fitted)

    def _check(
        self, watch: Watch[KernelFit], n_iter: int, u: Array, t: Array, fitted: Array, back: Array, size: Array
    ) -> tuple[Array, float]:
        r"""Judge u by f = Vu + t and VᵀΩ(y - f), with the best intercept.

        ``size`` (C,) is that of the sums that make the last, the sum of :math:`\omega_i\sqrt{K(x_i,x_i)}` times what
        was added up. Return what is left of the normal equations, and what the dual value would be without rounding.
        """
        n, radius, y = self._problem.n, self._radius, self._problem.targets
        residuals = y - fitted
        shift = self._mean(residuals)
        residuals -= shift
        seen = back - np.outer(self._ones, shift)  # VᵀΩr
        size = size + np.abs(shift) * self._root.sum()
        primal = 0.5 * float(np.sum(self._weights * residuals**2)) / n + 0.5 * self.beta * float(np.sum(u**2))
        alpha = self._weights * residuals / radius
        alpha -= alpha.mean(axis=0)
        across = np.sum((seen / radius) ** 2, axis=0) + radius * np.sum(alpha**2 / self._weights, axis=0)
        along = np.sum(alpha * y, axis=0)
        shares = np.divide(along**2, across, out=np.zeros_like(along), where=across > 0)
        across += self._span.rounding_of_form(seen, size) / radius**2
        scale = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
        bound = DualBound(0.5 * self.beta * float(np.sum(scale * along)), radius * scale * alpha)
        watch.check(n_iter, primal, bound, KernelFit(self._span.coefficients(u), t + shift), fitted + shift)
        return np.asarray(seen - radius * u), 0.5 * self.beta * float(shares.sum())

    @staticmethod
    def _open(watch: Watch[KernelFit], dual: float) -> float:
        """Return the gap between the best objective and a dual value."""
        return (watch.objective - dual) / max(watch.objective, np.finfo(np.float64).tiny)
