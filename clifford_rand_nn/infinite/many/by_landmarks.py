r"""Functions in the span of landmarks alone: normal equations in one pass over the rows, every beta from them."""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from clifford_rand._typing import Array
from clifford_rand_nn.infinite.leave_one_out import KernelFit
from clifford_rand_nn.infinite.many.landmarks import LandmarkFeatures
from clifford_rand_nn.infinite.many.problem import Found, ManyRows, Tried
from clifford_rand_nn.infinite.many.tiles import KernelTiles
from clifford_rand_nn.infinite.squared_gap import null_value, relative_gap
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.solvers.base import Limits, Status
from clifford_rand_nn.solvers.watch import Watch

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

    def centred(self) -> tuple[Array, Array, Array, Array, float]:
        """Return covariance sums of v (m, m), with y (m, C), both means, and the sum of weights."""
        total, m = float(self.all[-1, -1]), self.m
        mean = self.all[-1, :-1] / total
        inner = self.all[:m, :-1] - total * np.outer(mean[:m], mean)
        return inner[:, :m], inner[:, m:], mean[:m], mean[m:], total


def by_landmarks(problem: ManyRows, limits: Limits, began: float, beta: float | None, landmarks: int) -> Found:
    r"""Solve :math:`\min_{a,t}\frac1n\sum_i\omega_i\ell(K_{im}a+t, y_i)+\frac\beta2a^TK_{mm}a`, one pass over the rows.

    With beta None it is the best of a grid by the last rows, held out; they are taken in afterwards. The certificate is
    for this problem, by a second pass.
    """
    n, C = problem.targets.shape
    zero = null_value(problem.targets, problem.weights)
    watch: Watch[KernelFit] = Watch(limits, lambda p, d: relative_gap(p, d, zero), began=began)
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
            kept.append(V[cut:])
        solve = _ridge(seen)
        new, scale = np.concatenate(kept), float(np.mean(KernelTiles(problem.kernel, problem.X[:n]).diagonal()))
        for radius in _RADII * scale if beta is None else [n * beta]:
            u, t = solve(float(radius))
            guess = np.asarray(new @ u.astype(np.float32), dtype=np.float64) + t
            tried.append(Tried(float(radius) / n, problem.loss(guess), held, "rows held out"))
            if tried[-1].loss == min(one.loss for one in tried):
                unseen, chosen = guess, tried[-1].beta
        seen.all += last.all
        u, t = _ridge(seen)(n * chosen)
        a = features.coefficients(u)
        _certify(problem, features, a, chosen, watch)
        if watch.status is None:
            watch.stop(Status.STALLED)
    scope = f"over functions in the span of {features.m} landmarks, and an intercept"
    remark = f"an approximation: functions in the span of {features.m} of {n} rows"
    return Found(watch, chosen, tuple(tried), len(unseen), unseen, features.rows, scope, remark)


def _ridge(sums: _Sums) -> Callable[[float], tuple[Array, Array]]:
    """Return what solves for every radius, from one eigendecomposition."""
    inner, cross, mean, mean_y, _ = sums.centred()
    values, Q = eigh(inner, check_finite=False, driver="evd")
    turned, values = Q.T @ cross, np.maximum(values, 0.0)

    def solve(radius: float) -> tuple[Array, Array]:
        u = Q @ (turned / (values + radius)[:, None])
        return u, mean_y - mean @ u

    return solve


def _certify(problem: ManyRows, features: LandmarkFeatures, a: Array, beta: float, watch: Watch[KernelFit]) -> None:
    r"""Judge coefficients a in double precision, and the residuals as a dual point of the same problem.

    .. math:: D = \beta\sum_c\max_s s\,\alpha_c^Ty_c-\frac{s^2}2\Big(\big|L^{-1}K_{mn}\alpha_c\big|^2
              +n\beta\,\alpha_c^T\Omega^{-1}\alpha_c\Big)
    """
    n, weights = problem.n, problem.weights[:, None]
    tiles = KernelTiles(problem.kernel, problem.X[features.rows])
    fitted = tiles.multiply_from(problem.X, a)
    norm = float(np.sum(a * tiles.multiply(a)))
    residuals = problem.targets - fitted
    t = np.average(residuals, axis=0, weights=problem.weights)
    residuals -= t
    primal = 0.5 * float(np.sum(weights * residuals**2)) / n + 0.5 * beta * norm
    alpha = weights * residuals / (n * beta)
    alpha -= alpha.mean(axis=0)
    seen = np.zeros_like(a)
    for i in range(0, n, 4096):
        part = slice(i, min(i + 4096, n))
        seen += tiles.matrix_from(problem.X[part]).T @ alpha[part]
    across = np.sum(features.whitened(seen) ** 2, axis=0) + n * beta * np.sum(alpha**2 / weights, axis=0)
    along = np.sum(alpha * problem.targets, axis=0)
    scale = np.divide(along, across, out=np.zeros_like(along), where=across > 0)
    bound = DualBound(0.5 * beta * float(np.sum(scale * along)), n * beta * scale * alpha)
    watch.check(1, primal, bound, KernelFit(a, t), fitted + t)
