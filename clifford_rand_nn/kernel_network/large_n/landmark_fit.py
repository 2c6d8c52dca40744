r"""Kernel regression in the span of landmarks: normal equations of every beta in one pass over the rows."""

import numpy as np
from numpy.linalg import eigh
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.large_n.landmarks import LandmarkFeatures
from clifford_rand_nn.kernel_network.large_n.problem import Found, ManyRows, Tried
from clifford_rand_nn.kernel_network.large_n.span import SpanProblem
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.kernel_network.leave_one_out import KernelFit
from clifford_rand_nn.kernel_network.squared_loss_gap import null_value
from clifford_rand_nn.problems.duality import DualBound, gap_share
from clifford_rand_nn.solvers.base import Limits
from clifford_rand_nn.solvers.convergence import Watch

_HELD = 2000  # rows held out to compare betas, or a tenth
_RADII = np.geomspace(1e3, 1e-6, 46)  # of the mean diagonal of the kernel


class _Sums:
    r"""Sums over rows of :math:`\omega\,(v, y, 1)(v, y, 1)^T`: of two sets the sum is that of both."""

    def __init__(self, m: int, outputs: int) -> None:
        self.m = m
        self.all = np.zeros((m + outputs + 1, m + outputs + 1))

    def add(self, V: NDArray[np.float32], y: Array, weights: Array) -> None:
        """Add rows."""
        root = np.sqrt(weights, dtype=np.float32)[:, None]
        rows = np.hstack([V * root, y.astype(np.float32) * root, root])
        self.all += rows.T @ rows

    def centered(self) -> tuple[Array, Array, Array, Array, float]:
        """Return covariance sums of v (m, m), with y (m, C), both means, and the sum of weights."""
        total, m = float(self.all[-1, -1]), self.m
        mean = self.all[-1, :-1] / total
        inner = self.all[:m, :-1] - total * np.outer(mean[:m], mean)
        return inner[:, :m], inner[:, m:], mean[:m], mean[m:], total


def by_landmarks(problem: ManyRows, limits: Limits, began: float, beta: float | None, landmarks: int) -> Found:
    r"""Solve :math:`\min_{a,t}\frac1n\sum_i\omega_i\ell(K_{im}a+t, y_i)+\frac\beta2a^TK_{mm}a`, one pass over the rows.

    With beta None it is the best of a grid by the last rows, held out; they are taken in afterwards. These sums are in
    single precision, which is not enough where landmarks are nearly dependent or beta is small: they precondition
    the steps in double precision by which `SpanProblem` is solved and certified, a pass each.
    """
    n, C = problem.targets.shape
    zero = null_value(problem.targets, problem.weights)
    watch: Watch[KernelFit] = Watch(limits, lambda p, d: gap_share(p, d, zero), began=began)
    mean = np.average(problem.targets, axis=0, weights=problem.weights)
    nothing = np.zeros((n, C))
    tried: list[Tried] = []
    unseen, chosen = problem.targets[:0], beta or 1.0
    features = LandmarkFeatures(problem.kernel, problem.X, np.arange(landmarks))
    with watch:
        point = KernelFit(np.zeros((features.m, C)), mean)
        watch.check(0, zero, DualBound(0.0, nothing), point, nothing + mean)
        held = min(_HELD, n // 10)
        seen, last = _Sums(features.m, C), _Sums(features.m, C)
        kept: list[NDArray[np.float32]] = []
        for part, V in features.strips():
            cut = max(0, min(part.stop, n - held) - part.start)
            for sums, rows in ((seen, slice(0, cut)), (last, slice(cut, None))):
                if len(V[rows]):
                    sums.add(V[rows], problem.targets[part][rows], problem.weights[part][rows])
            if cut < len(V):
                kept.append(V[cut:])  # an empty part of a strip would keep the whole strip
        ridge = _Ridge(seen)
        new, scale = np.concatenate(kept), float(np.mean(KernelTiles(problem.kernel, problem.X[:n]).diagonal()))
        for radius in _RADII * scale if beta is None else [n * beta]:
            u, t = ridge.fit(float(radius))
            guess = np.asarray(new @ u.astype(np.float32), dtype=np.float64) + t
            tried.append(Tried(float(radius) / n, problem.loss(guess), held, "rows held out"))
            if tried[-1].loss == min(one.loss for one in tried):
                unseen, chosen = guess, tried[-1].beta
        seen.all += last.all
        ridge = _Ridge(seen)
        span = SpanProblem(problem, features, chosen)
        span.solve(*ridge.fit(n * chosen), lambda b: ridge.inverse(b, n * chosen), watch, limits.tol)
    scope = f"over functions in the span of {features.m} landmarks, and an intercept"
    remark = f"an approximation: functions in the span of {features.m} of {n} rows"
    return Found(watch, chosen, tuple(tried), len(unseen), unseen, features.rows, scope, remark)


class _Ridge:
    """Normal equations for every radius, from one eigendecomposition."""

    def __init__(self, sums: _Sums) -> None:
        inner, cross, self._mean, self._mean_y, _ = sums.centered()
        values, self._Q = eigh(inner)
        self._values, self._cross = np.maximum(values, 0.0)[:, None], cross

    def fit(self, radius: float) -> tuple[Array, Array]:
        """Return u (m, C) and the intercept (C,)."""
        u = self.inverse(self._cross, radius)
        return u, self._mean_y - self._mean @ u

    def inverse(self, b: Array, radius: float) -> Array:
        """Return the inverse of the matrix of the normal equations times b (m, C)."""
        return np.asarray(self._Q @ ((self._Q.T @ b) / (self._values + radius)))
