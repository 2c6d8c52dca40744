"""The interior-point method on the kernel of a gated network, squared loss, on arrays of any library."""

from typing import Any

import numpy as np
from array_api_compat import device as device_of
from array_api_compat import is_cupy_array, is_numpy_array, is_torch_array

from clifford_rand_nn.datafits.functions import cast, solve
from clifford_rand_nn.problems.duality import dual_bound
from clifford_rand_nn.problems.gated import Point
from clifford_rand_nn.solvers.arrays.problem import ArrayProblem
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.watch import Watch

# As in `solvers.kernel`, where they are explained.
_SLACK = 0.1
_BOUNDARY = 0.99
_SHORT = 0.2
_RIDGES = (1e-13, 1e-11, 1e-9, 1e-7)
_STALLED = 4
_LATE = 1e-3
_LOST = 25
_FLOOR = 1e-3
_SHORTEST = 1e-8
_STEPS = 100


class SingularMatrixError(Exception):
    """A matrix that is positive definite but for rounding could not be factorised."""


class _Factor:
    """Cholesky factor of a positive definite matrix, and solutions with it."""

    def __init__(self, xp: Any, matrix: Any) -> None:
        self._xp = xp
        errors = (np.linalg.LinAlgError, getattr(xp.linalg, "LinAlgError", np.linalg.LinAlgError))
        try:
            self._L = xp.linalg.cholesky(matrix)
        except errors as error:
            raise SingularMatrixError from error
        if not bool(xp.all(xp.isfinite(xp.linalg.diagonal(self._L)))):  # some libraries raise nothing
            raise SingularMatrixError

    def solve(self, b: Any) -> Any:
        """Solve for right-hand sides b (n, k), by triangles where the library has them: the standard has not."""
        L = self._L
        if is_torch_array(L):
            import torch

            return torch.cholesky_solve(b, L)
        if is_numpy_array(L):
            from scipy.linalg import cho_solve

            return cho_solve((L, True), b, check_finite=False)
        if is_cupy_array(L):
            from cupyx.scipy.linalg import solve_triangular

            return solve_triangular(L, solve_triangular(L, b, lower=True), lower=True, trans="T")
        return self._xp.linalg.solve(L.T, self._xp.linalg.solve(L, b))


class ArrayKernelPath:
    r"""`KernelPath` for the squared loss: its notation, its start and its steps.

    The dual's curvature is :math:`1/\omega` whatever the point, so that all outputs share one factor of
    :math:`I+S\sum_i(\eta_i/\lambda)K_iS`, :math:`S=\omega^{1/2}`, and the biases of all outputs its solutions for Q.
    """

    def __init__(self, problem: ArrayProblem) -> None:
        xp, m = problem.xp, problem.map
        self.problem, self.xp = problem, xp
        self.radius = problem.n * problem.beta
        self.rows = m.wide_rows / m.weights  # in an orthonormal basis of their directions
        self.mask = cast(m.patterns, self.rows.dtype)
        self.gram = self.rows @ self.rows.T
        self._eye = xp.eye(problem.n, dtype=self.rows.dtype, device=device_of(self.rows))
        self._root = problem.datafit.weights**0.5
        Q, null = m.Q, problem.predictions(problem.null_point())
        theta = problem.datafit.residual(null)
        squares = xp.sum(self._correlations(theta) ** 2, axis=(0, 2))
        start = float(xp.sqrt(xp.max(squares)) * xp.sum(theta * theta) / xp.sum(squares))
        self.theta, self.c = theta, Q.T @ null
        self.eta = xp.zeros_like(squares) + start
        self._correlate()
        factor = self._factor()
        solved = self._apply(factor, xp.concat([Q, self._away()], axis=1))
        q = int(Q.shape[1])
        columns, move = solved[:, :q], solved[:, q:]
        if q:
            dc = solve(Q.T @ columns, Q.T @ (move + theta))
            move, self.c = move - columns @ dc, self.c + dc
        self.theta = theta + move
        self._correlate()
        self.s = xp.clip(self._slack(), _SLACK * self.radius, None)

    def _correlations(self, theta: Any) -> Any:
        """X^T D_i theta for every gate, (r, P, C)."""
        xp = self.xp
        (n, P), C = self.mask.shape, theta.shape[1]
        masked = xp.reshape(self.mask[:, :, None] * theta[:, None, :], (n, P * C))
        return xp.reshape(self.rows.T @ masked, (self.rows.shape[1], P, C))

    def _blocks(self, V: Any) -> Any:
        """D_i X V_i for every gate, (n, P, C)."""
        xp = self.xp
        r, P, C = V.shape
        return xp.reshape(self.rows @ xp.reshape(V, (r, P * C)), (self.mask.shape[0], P, C)) * self.mask[:, :, None]

    def _correlate(self) -> None:
        """Bring everything that theta and the weights determine up to date."""
        self._V = self._correlations(self.theta)
        self._squares = self.xp.sum(self._V * self._V, axis=(0, 2))
        self.U = self._V * (self.eta / self.radius)[:, None]
        self.f = self.xp.sum(self._blocks(self.U), axis=1) + self.problem.map.Q @ self.c

    def _slack(self) -> Any:
        return 0.5 * (self.radius - self._squares / self.radius)

    def _away(self) -> Any:
        return self.problem.datafit.predictions_at(self.theta) - self.f

    def _factor(self) -> _Factor:
        roots = self.mask * self.xp.sqrt(self.eta / self.radius) * self._root
        return _Factor(self.xp, (roots @ roots.T) * self.gram + self._eye)

    def _apply(self, factor: _Factor, b: Any) -> Any:
        return self._root * factor.solve(self._root * b)

    def point(self, keep: Any = None) -> Point:
        """Solver variables of the problem, of the gates marked by ``keep``."""
        m, xp = self.problem.map, self.xp
        U = self.U if keep is None else xp.where(keep[None, :, None], self.U, xp.zeros_like(self.U))
        inside = self.problem.map.Q @ self.c + xp.sum(self._blocks(U), axis=1)
        return Point(U / m.weights[:, None, None], m.Q.T @ inside / m.sigma)

    def likely(self) -> Any:
        """Tell which gates are active: those whose weight, as a share of the largest, exceeds their slack's share."""
        return self.eta * self.radius > self.s * self.xp.max(self.eta)

    def finite(self) -> bool:
        """Whether the point is one."""
        return bool(self.xp.all(self.xp.isfinite(self.f)) & self.xp.all(self.xp.isfinite(self.theta)))

    def step(self, gap: float, floor: float) -> float:
        """Take Mehrotra's predictor and corrector; return the length of the step."""
        xp, radius, Q = self.xp, self.radius, self.problem.map.Q
        (n, P), C, q = self.mask.shape, self.theta.shape[1], int(Q.shape[1])
        mu = float(xp.sum(self.eta * self.s)) / P
        factor = self._factor()
        gates = xp.permute_dims(self._blocks(self._V), (0, 2, 1)) / radius  # K_i theta / radius, (n, C, P)
        solved = self._apply(factor, xp.concat([xp.reshape(gates, (n, C * P)), Q], axis=1))
        solved_gates, solved_Q = xp.reshape(solved[:, : C * P], (n, C, P)), solved[:, C * P :]
        flat = xp.reshape(gates, (n * C, P))
        bordered = self._border(flat.T @ xp.reshape(solved_gates, (n * C, P)), gates, solved_Q)
        excess = self.s - self._slack()

        def turn(right: Any, excess: Any, product: Any) -> tuple[Any, Any, Any, Any, float]:
            """Solve for the direction with these right-hand sides; return it and the largest step along it."""
            first = self._apply(factor, right)
            top = flat.T @ xp.reshape(first, (n * C, 1)) + (product / self.eta + excess)[:, None]
            rest = xp.reshape((Q.T @ (first + self.theta)).T, (C * q, 1))
            x = bordered.solve(xp.concat([top, rest], axis=0))
            deta, dc = x[:P, 0], xp.reshape(x[P:, 0], (C, q)).T
            dtheta = first - xp.reshape(xp.reshape(solved_gates, (n * C, P)) @ x[:P, :], (n, C)) - solved_Q @ dc
            ds = -(flat.T @ xp.reshape(dtheta, (n * C, 1)))[:, 0] - excess
            return dtheta, deta, dc, ds, min(self._ratio(self.eta, deta), self._ratio(self.s, ds))

        away = self._away()
        dtheta, deta, _, ds, longest = turn(away, excess, -self.eta * self.s)
        length = min(1.0, longest)
        reached = float(xp.sum((self.eta + length * deta) * (self.s + length * ds)))
        share = 1.0 if length < _SHORT else min(max(reached / (P * mu), 0.0), 1.0) ** 3
        target = max(share * mu, floor)
        if length < _SHORT:  # the second-order terms of a step that is not taken would lead astray
            dtheta, deta, ds = length * dtheta, length * deta, length * ds
        turned = self._correlations(dtheta)
        excess = excess + xp.sum(turned * turned, axis=(0, 2)) / (2 * radius)
        away = away - xp.sum(self._blocks(turned * (deta / radius)[:, None]), axis=1)
        dtheta, deta, dc, ds, longest = turn(away, excess, target - self.eta * self.s - deta * ds)
        length = min(1.0, max(_BOUNDARY, 1 - gap) * longest)
        self.theta = self.theta + length * dtheta
        self.eta = self.eta + length * deta
        self.s = self.s + length * ds
        self.c = self.c + length * dc
        self._correlate()
        return length

    def _border(self, corner: Any, gates: Any, solved_Q: Any) -> _Factor:
        """Factor of what is left for weights and biases, outputs one after the other."""
        xp, m = self.xp, self.problem.map
        P, C, q = corner.shape[0], gates.shape[1], int(solved_Q.shape[1])
        eye = xp.eye(P + C * q, dtype=corner.dtype, device=device_of(corner))
        small = corner + eye[:P, :P] * (self.s / self.eta)
        if q:
            cross = xp.concat([gates[:, a, :].T @ solved_Q for a in range(C)], axis=1)
            inner, zero = m.Q.T @ solved_Q, m.zeros(q, q)
            blocks = [xp.concat([inner if a == b else zero for b in range(C)], axis=1) for a in range(C)]
            lower = xp.concat([cross.T, xp.concat(blocks, axis=0)], axis=1)
            small = xp.concat([xp.concat([small, cross], axis=1), lower], axis=0)
        diagonal = xp.linalg.diagonal(small)
        for ridge in _RIDGES:
            try:
                return _Factor(xp, small + eye * (ridge * diagonal))
            except SingularMatrixError:
                continue
        raise SingularMatrixError

    def _ratio(self, value: Any, change: Any) -> float:
        """Largest step that keeps value + step * change ≥ 0."""
        xp = self.xp
        falls = change < 0
        share = xp.where(falls, -change / value, xp.zeros_like(value))  # value is positive
        largest = float(xp.max(share))
        return 1 / largest if largest > 0 else float("inf")


def run_kernel(problem: ArrayProblem, watch: Watch[Point], tol: float) -> None:
    """Take steps until the watch or rounding ends them."""
    z = problem.null_point()
    f = problem.predictions(z)
    watch.check(0, problem.objective(z, f), problem.dual_bound(f), z, f)
    with np.errstate(all="ignore"):  # what overflows is not finite afterwards, and is judged then
        if watch.status is None:
            try:
                _take_steps(ArrayKernelPath(problem), watch, tol)
            except SingularMatrixError:
                watch.stop(Status.STALLED)


def _take_steps(path: ArrayKernelPath, watch: Watch[Point], tol: float) -> None:
    problem, since, least = path.problem, 0, float("inf")
    for k in range(_STEPS + 1):
        if not path.finite():
            return watch.stop(Status.NOT_FINITE)
        _check(path, k, watch, tol)
        since, least = (0, watch.gap) if watch.gap < 0.9 * least else (since + 1, least)
        if watch.status is not None:
            return None
        floor = _FLOOR * tol * problem.n * abs(watch.objective) / problem.map.n_patterns
        lost = since >= (_STALLED if watch.gap <= _LATE else _LOST)
        if lost or not path.step(watch.gap, floor) > _SHORTEST:
            return watch.stop(Status.STALLED)
    return watch.stop(Status.MAX_ITER, "the kernel takes no more, try solver='fista'")


def _check(path: ArrayKernelPath, k: int, watch: Watch[Point], tol: float) -> None:
    """Judge the point by the better of its two bounds; without its idle gates if that meets the tolerance."""
    problem = path.problem
    bounds = [
        dual_bound(problem.datafit, theta, problem.map.Q, problem.dual_norm, problem.n * problem.beta, problem.reach)
        for theta in (problem.datafit.residual(path.f), path.theta)
    ]
    bound = max(bounds, key=lambda bound: bound.value)
    for keep in (path.likely(), None):
        z = path.point(keep)
        f = problem.predictions(z)
        objective = problem.objective(z, f)
        if keep is None or problem.relative_gap(objective, bound.value) <= tol:
            watch.check(k, objective, bound, z, f)
            return
