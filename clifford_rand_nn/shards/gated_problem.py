r"""The gated problem over shards: sums by an engine, and its geometry from a sample of the rows that is in memory.

.. math:: \min_{U,t}\ \frac1n\sum_j\omega_j\ell\Big(\sum_iD_{i,jj}(x_j,c)\cdot U_i+t,\ y_j\Big)+\beta\sum_i||U_i||_F

or with half the squared norms. Points are those of the sample's `GatedProblem`: coordinates in which the rows vary as
much in every direction, and an intercept that is orthogonal to the rest, both as the sample has them. That decides how
long steps are and nothing else; values, gradients and bounds are sums over all rows.
"""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import gap_share
from clifford_rand_nn.problems.gated import GatedProblem, GatedReLUProblem, Point
from clifford_rand_nn.row_sums import Engine, Sums, Targets
from clifford_rand_nn.shards.gated_passes import Balance, Judge, Judged, Network

_NEWTON_STEPS = 12
BALANCED = 1e-11  # share of the sum of |theta| below which its sum is zero
NEARLY = 1e-6  # such a share from which a Newton step leads to less than 1e-10: it squares the share
_SHORTER = np.array([1.0, 0.25])  # of a Newton step, judged in one pass
_SPACING = np.array([0.98, 0.995, 1.0, 1.01])  # scales that are tried, in units of the last one


class Evaluated(NamedTuple):
    """A point as a pass judges it: objective, slope in its coordinates, and the best scaled residual's dual value.

    ``scale`` is the largest s with sθ within the norms; 1 for squared norms. ``dual`` bounds the optimum whatever θ is;
    ``estimate`` is its dual value, a bound only if θ sums to zero or there is no intercept.
    """

    objective: float
    slope: Point
    dual: float
    estimate: float
    scale: float


class ShardedProblem:
    """See above.

    ``engine``: that keeps the `Patterns` of the rows. ``n``: rows of weight > 0. ``feature``: c.
    """

    def __init__(self, engine: Engine, sample: GatedProblem, targets: Targets, n: int, feature: float | None) -> None:
        self.engine, self.sample, self.targets, self.n, self.feature = engine, sample, targets, n, feature
        self.norms = isinstance(sample, GatedReLUProblem)
        self.passes = 0
        self.zero = float("nan")
        frame = sample.map.basis * sample.map.weights
        self._frame = frame
        rows = sample.map.gated_adjoint(np.ones((sample.n, 1)))  # what the sample's rows add up to in every gate
        self._mean = rows[:, :, 0] / sample.n

    @property
    def beta(self) -> float:
        """Regularization parameter, in the 1/n scale."""
        return self.sample.beta

    def network(self, z: Point) -> Network:
        """Return coefficients and intercept of a point."""
        U = np.asarray(z.U, dtype=np.float64)
        # U in the columns of [X c]
        natural = np.tensordot(self._frame, U, 1)
        return Network(natural, self._intercept(z))

    def _intercept(self, z: Point) -> Array:
        outputs = z.U.shape[2]
        if not len(z.c):
            return np.zeros(outputs)
        map_ = self.sample.map
        mean = np.einsum("rp,rpc->c", self._mean, z.U)
        return np.asarray(map_.sigma * z.c[0] / np.sqrt(self.sample.n) * np.sign(map_.Q[0, 0]) - mean)

    def with_intercept(self, z: Point, t: Array) -> Point:
        """Return the point with another intercept."""
        if not len(z.c):
            return z
        map_ = self.sample.map
        mean = np.einsum("rp,rpc->c", self._mean, z.U)
        return Point(z.U, ((t + mean) * np.sqrt(self.sample.n) / map_.sigma * np.sign(map_.Q[0, 0]))[None])

    def judge(self, z: Point, near: float, single: bool) -> Evaluated:
        """Evaluate a point in one pass; ``near`` is about the scale that its residual will need."""
        scales = np.unique(np.minimum(near * _SPACING, 1.0))
        return self.judged(self.network(z), z, scales, single)

    def judged(self, network: Network, z: Point, scales: Array, single: bool) -> Evaluated:
        """Evaluate a network, which is that of z."""
        dtype = np.float32 if single else np.float64
        sums = Judged(*self.engine.sum(Judge(network, self.targets, self.feature, scales, dtype))).mean(self.n)
        self.passes += 1
        norms = np.linalg.norm(sums.gradient, axis=(0, 2))
        gradient = np.tensordot(self._frame.T, sums.gradient, 1)
        objective = float(sums.loss) + self.sample.penalty.value(z.U)
        scale, largest = 1.0, float(norms.max(initial=0.0))
        if self.norms and largest > 0:
            # the largest s with s|X_iᵀθ| ≤ β for all gates
            scale = min(1.0, self.beta / largest)
        at_scale = float(sums.duals[-1]) if scale == scales[-1] == 1.0 else _between(scale, scales, sums.duals)
        dual = at_scale if self.norms else at_scale - float(norms @ norms) / (2 * self.beta)
        bound = sums.bound(self.n, scale, at_scale, self.beta, not self.norms, bool(len(z.c)))
        map_ = self.sample.map
        slope_c = np.zeros((0, len(sums.balance)))
        if len(z.c):
            gradient = gradient - self._mean[:, :, None] * sums.balance
            slope_c = -(map_.sigma / np.sqrt(self.sample.n) * np.sign(map_.Q[0, 0]) * sums.balance)[None]
        return Evaluated(objective, Point(-gradient, slope_c), bound, dual, scale)

    def gap(self, primal: float, dual: float) -> float:
        """Relative gap, as in memory."""
        return gap_share(primal, dual, self.zero)

    def zero_network(self) -> Point:
        """Return about the best point without a gate, and set ``zero``, the loss of the network that is 0."""
        z = self.sample.start()
        loss, sums, _, hessian = self._balance(self.network(z), np.zeros((1, z.U.shape[2])))
        self.zero = float(loss[0])
        return self.with_intercept(z, np.linalg.lstsq(hessian[0], sums[0], rcond=None)[0])

    def _balance(self, network: Network, intercepts: Array) -> Sums:
        sums = self.engine.sum(Balance(network, self.targets, self.feature, intercepts))
        self.passes += 1
        return tuple(values / self.n for values in sums)

    def balanced(self, network: Network, near: float = BALANCED) -> Array:
        """Return the best intercept for the network's coefficients."""
        return balanced(partial(self._balance, network), network.t, near) if len(self.sample.start().c) else network.t


def balanced(judge: Callable[[Array], Sums], t: Array, near: float = BALANCED) -> Array:
    """Return the best intercept, by Newton's method from t: its residuals sum to zero.

    The step from where they do so to ``near``, a share of the sum of their sizes, is the last one, and not judged.

    ``t`` (C,). ``judge``: returns the sums of `Balance`, or their means, for intercepts (k, C).
    """
    intercepts = t[None]
    loss, sums, size, hessian = judge(intercepts)
    best = 0
    for _ in range(_NEWTON_STEPS):
        off = float(np.abs(sums[best]).sum())
        # Newton's step of the intercept: H Δt = Σθ
        move = np.linalg.lstsq(hessian[best], sums[best], rcond=None)[0]
        if off <= BALANCED * size[best] or not move.any():
            break
        if off <= near * size[best]:
            return np.asarray(t + move)
        intercepts = t + _SHORTER[:, None] * move
        before = loss[best]
        loss, sums, size, hessian = judge(intercepts)
        best = int(np.argmin(loss))
        # near the end losses differ by rounding: the whole step is as good as any, and its sum the smallest
        level = np.flatnonzero(loss <= loss[best] + 1e-13 * abs(loss[best]))
        best = int(level[np.argmin(np.abs(sums[level]).sum(axis=1))])
        if loss[best] > before * (1 + 1e-12):
            break
        t = intercepts[best]
    return t


def _between(scale: float, scales: Array, values: Array) -> float:
    r"""Return a lower bound of the dual value at sθ from those at other scales: it is concave in s, and ≥ 0 at 0."""
    # chords of a concave function lie below it
    order = np.argsort(scales, kind="stable")
    known, values = np.append(0.0, scales[order]), np.append(0.0, values[order])
    if scale >= known[-1]:
        return float(values[-1])  # of a smaller scale, within the norms all the more
    return float(np.interp(scale, known, values))
