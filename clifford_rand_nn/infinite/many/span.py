r"""The problem of functions in the span of landmarks, in double precision: its values, and steps to its solution."""

from collections.abc import Callable

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.infinite.leave_one_out import KernelFit
from clifford_rand_nn.infinite.many.landmarks import STRIP, LandmarkFeatures
from clifford_rand_nn.infinite.many.problem import ManyRows
from clifford_rand_nn.infinite.many.tiles import KernelTiles
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.watch import Watch

_IDLE = 10  # steps that lower the gap no more: rounding is all that is left


class SpanProblem:
    r"""The least of :math:`\frac1n\sum_i\omega_i\tfrac12||y_i-(Vu)_i-t||^2+\frac\beta2||u||^2` over u (m, C) and t.

    V are the `LandmarkFeatures`, here in double precision, as :math:`Vu=K_{nm}L^{-T}u`: a pass over the rows for both
    Vu and :math:`V^T\Omega Vu`, n m entries of the kernel. With r the residuals and :math:`\alpha=\Omega r/n\beta`,
    each point is judged by

    .. math:: D = \beta\sum_c\max_s s\,\alpha_c^Ty_c-\frac{s^2}2\big(|V^T\alpha_c|^2
              +n\beta\,\alpha_c^T\Omega^{-1}\alpha_c\big).
    """

    def __init__(self, problem: ManyRows, features: LandmarkFeatures, beta: float) -> None:
        self._problem, self._features, self.beta = problem, features, beta
        self._radius = problem.n * beta
        self._tiles = KernelTiles(problem.kernel, problem.X[features.rows])
        self._weights = problem.weights[:, None]
        sides = self._weights * np.column_stack([problem.targets, np.ones(problem.n)])
        self._sides = self._pass(None, sides)[1]  # VᵀΩ(y, 1)

    def _pass(self, u: Array | None, sides: Array) -> tuple[Array, Array]:
        """Return V u and VᵀΩVu, or for None Vᵀ times the sides."""
        n, X = self._problem.n, self._problem.X
        a = None if u is None else self._features.coefficients(u)
        image, back = sides, np.zeros((self._features.m, sides.shape[1]))
        for start in range(0, n, STRIP):
            part = slice(start, start + STRIP)
            K = self._tiles.matrix_from(X[part])
            if a is not None:
                image[part] = K @ a
            back += K.T @ (image[part] if a is None else self._weights[part] * image[part])
        return image, self._features.whitened(back)

    def _mean(self, values: Array) -> Array:
        return np.asarray(np.average(values, axis=0, weights=self._problem.weights))

    def solve(self, u: Array, inverse: Callable[[Array], Array], watch: Watch[KernelFit]) -> None:
        r"""Leave the best point in ``watch``: u itself, and from there conjugate gradients until it ends them.

        ``inverse`` is one of :math:`V^T\Omega V+n\beta I` with V centred, as near as single precision comes to it.
        """
        shape = self._problem.targets.shape
        fitted, back = self._pass(u, np.empty(shape))
        left = self._check(watch, 1, u, fitted, back)
        z = inverse(left)
        step, along = z, np.einsum("mc,mc->c", left, z)
        least, at = watch.gap, 1
        while watch.status is None:
            image, curved = self._pass(step, np.empty(shape))
            centred = curved - np.outer(self._sides[:, -1], self._mean(image)) + self._radius * step
            across = np.einsum("mc,mc->c", step, centred)
            length = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
            u, fitted, back = u + length * step, fitted + length * image, back + length * curved
            left = self._check(watch, watch.n_iter + 1, u, fitted, back)
            if watch.gap < least:
                least, at = watch.gap, watch.n_iter
            elif watch.status is None and watch.n_iter - at >= _IDLE:
                watch.stop(Status.STALLED)
            z = inverse(left)
            new = np.einsum("mc,mc->c", left, z)
            step = z + step * np.divide(new, along, out=np.zeros_like(new), where=along > 0)
            along = new

    def _check(self, watch: Watch[KernelFit], n_iter: int, u: Array, fitted: Array, back: Array) -> Array:
        """Judge u by Vu and VᵀΩVu; return what is left of its normal equations."""
        n, radius, y = self._problem.n, self._radius, self._problem.targets
        residuals = y - fitted
        t = self._mean(residuals)
        residuals -= t
        seen = self._sides[:, :-1] - back - np.outer(self._sides[:, -1], t)  # VᵀΩr
        primal = 0.5 * float(np.sum(self._weights * residuals**2)) / n + 0.5 * self.beta * float(np.sum(u**2))
        alpha = self._weights * residuals / radius
        alpha -= alpha.mean(axis=0)
        across = np.sum((seen / radius) ** 2, axis=0) + radius * np.sum(alpha**2 / self._weights, axis=0)
        along = np.sum(alpha * y, axis=0)
        scale = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
        bound = DualBound(0.5 * self.beta * float(np.sum(scale * along)), radius * scale * alpha)
        watch.check(n_iter, primal, bound, KernelFit(self._features.coefficients(u), t), fitted + t)
        return np.asarray(seen - radius * u)
