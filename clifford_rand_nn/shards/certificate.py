"""Bounds over shards: the gated problem, whose passes state them, and certificates, which one pass verifies."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.certificates.claims import GatedClaim, KernelClaim
from clifford_rand_nn.certificates.values import Statement
from clifford_rand_nn.kernel_network.kernel_products import LandmarkRows, LandmarkSpan
from clifford_rand_nn.kernel_network.landmark_judge import SpanProblem, judge
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.problems.duality import EQUALITY_TOL, gap_share, imbalance, rounding, stated_gap
from clifford_rand_nn.problems.gated import GatedProblem, GatedReLUProblem, Point
from clifford_rand_nn.rescaling import Units
from clifford_rand_nn.row_sums import Engine, Sums, Targets
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.gated_passes import Balance, Judge, Judged, Network, Verify
from clifford_rand_nn.shards.source import Shards

_NEWTON_STEPS = 12
BALANCED = 1e-11  # share of the sum of |theta| below which its sum is zero
NEARLY = 1e-6  # such a share from which a Newton step leads to less than 1e-10: it squares the share
_SHORTER = np.array([1.0, 0.25])  # of a Newton step, judged in one pass
_SPACING = np.array([0.98, 0.995, 1.0, 1.01])  # scales that are tried, in units of the last one
# Objective, bound, the objective of the best constant, and the sum of the weights, of mean 1 in training.
Values = tuple[float, float, float, float]


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
    r"""The gated problem over shards: sums by an engine, and its geometry from a sample of the rows that is in memory.

    .. math:: \min_{U,t}\ \frac1n\sum_j\omega_j\ell\Big(\sum_iD_{i,jj}(x_j,c)\cdot U_i+t,\ y_j\Big)+\beta\sum_i||U_i||_F

    or with half the squared norms. Points are those of the sample's `GatedProblem`: coordinates in which the rows vary
    as much in every direction, and an intercept that is orthogonal to the rest, both as the sample has them. That
    decides how long steps are and nothing else; values, gradients and bounds are sums over all rows.

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


@dataclass(frozen=True, eq=False, repr=False)
class ShardCertificate(Statement):
    r"""A proved statement: the objective is within ``relative_gap`` of the optimum over the family named by ``scope``.

    The dual point, a number for each row and output, is not stored. It is ``scale`` times the residual
    :math:`\theta_j=-\omega_j\ell'(f(x_j))` of the network, with its best intercept where the stored one is rounded to
    the spacing of targets far from 0, so it follows from the network, the scale and the shards.
    """

    objective: float  # in the 1/n scale
    lower_bound: float
    relative_gap: float  # (objective - lower_bound) / objective
    scope: str  # over what
    n_patterns: int
    claim: GatedClaim | KernelClaim  # the network, compared with all of these gates, or in the span of its landmarks
    # s in (0, 1]; in the span of landmarks one for each output (C,), and the residuals of squares are less their mean;
    # those of the logistic loss are mixed, see `judge`, and s is 1
    scale: float | Array
    beta: float
    loss: str
    huber_delta: float
    targets: Targets  # how stored labels and weights are read
    n: int  # rows of weight > 0
    n_rows: int  # all rows
    fit_intercept: bool

    def verify(self, shards: Shards, engine: Any = None) -> "ShardCertificate":
        """Recompute objective, bound and gap from the training shards in one pass, in double precision.

        The dual point is scaled into its norm constraints, so that the bound returned holds whatever was stored. Where
        the residuals of a gated network do not sum to 0, because its intercept is rounded to the spacing of targets
        far from 0, the dual point is that of its best intercept, which takes some passes more.

        Parameters
        ----------
        shards : Shards
        engine : None, distributed.Client, "torch" or Engine
            What runs the pass, as in `fit`.

        Raises
        ------
        ArgumentError
            Shards of another number of rows or columns, or with other labels; or the primal value is below the dual one
            by more than rounding: then the data are others, or the network is none of those that the bound is for.
        """
        owner = "ShardCertificate.verify"
        if not isinstance(shards, Shards) or shards.n_features != self.claim.d:
            raise fail("shards", owner, f"the training shards, of {self.claim.d} columns", describe(f"{shards!r}"))
        with as_engine(engine, shards, owner) as runs:
            return self.judged(runs, owner)

    def judged(self, runs: Engine, owner: str) -> "ShardCertificate":
        """Verify by an engine that has the shards. The intercept of the network is subtracted from real targets."""
        if isinstance(self.claim, KernelClaim):
            primal, dual, zero, rows = self._judged_span(self.claim.network, runs)
        else:
            primal, dual, zero, rows = self._judged_gates(self.claim, runs)
        if round(rows) != self.n:
            raise fail("shards", owner, f"the training shards, of {self.n} rows", describe(f"a weight of {rows:.0f}"))
        # weak duality: a dual value above the primal one belongs to other data
        slack = rounding(primal, dual, zero, EQUALITY_TOL)
        if dual - primal > slack:
            rule = f"the data of its training: no network is below the bound {dual:.8g} by more than {slack:.1e}"
            raise fail("shards", owner, rule, describe(f"an objective of {primal:.8g}"))
        return replace(self, objective=primal, lower_bound=dual, relative_gap=stated_gap(primal, dual))

    def _judged_span(self, network: KernelNetwork, runs: Engine) -> Values:
        r"""Recompute the objective of a network and a bound of the least one in the span of its rows, in one pass.

        Of squares the dual point is :math:`\theta_i=s\,\omega_i(y_i-f(x_i)-\bar r)` with the mean of the residuals, so
        that it sums to 0 whatever the rows are; the objective is that of the network's own intercept.
        """
        targets, units = self.targets, Units(0, self.targets.exponent)
        if targets.classes is None:
            targets = replace(targets, offset=network.intercept)
            network = replace(network, intercept=0 * network.intercept)
        network = units.inverse().back(network)  # in whose units sums are made
        assert isinstance(network.standard, Standardization)
        rows = LandmarkRows(network.kernel, network.rows, network.standard)
        span = LandmarkSpan(network.kernel, network.rows)
        problem = SpanProblem(rows, span, targets, float(self.n), network.intercept)
        square, scale = 2 * network.penalty(), np.asarray(self.scale)
        judged = judge(problem, runs, network.alpha, network.intercept, square, self.beta, scale)
        primal = judged.primal + 0.5 * float((judged.shift**2).sum())
        return units.square(primal), units.square(judged.dual), units.square(judged.zero), judged.weight

    def _judged_gates(self, claim: GatedClaim, runs: Engine) -> Values:
        assert isinstance(self.scale, float)
        network, targets = network_of(claim), self.targets
        if targets.classes is None:
            network, targets = network._replace(t=0 * network.t), replace(targets, offset=network.t)
        terms = targets, claim.feature
        *sums, zero, rows = runs.sum(Verify(network, *terms, self.scale, claim.gates))
        judged = Judged(*sums).mean(self.n)
        value = float(judged.loss)
        if self.fit_intercept and imbalance(judged.balance, judged.size) > EQUALITY_TOL:
            # the stored intercept is rounded: that with Σθ = 0 has the better bound
            t = balanced(lambda t: runs.sum(Balance(network, *terms, t).deciding(claim.gates)), network.t)
            best = Judge(network._replace(t=t), *terms, np.array([self.scale]), np.float64)
            judged = Judged(*runs.sum(best.deciding(claim.gates))).mean(self.n)
        # the penalty: group norms |U_i|, or half their squares
        norms = np.linalg.norm(network.U, axis=(0, 2))
        primal = value + self.beta * float(0.5 * norms @ norms if claim.squared else norms.sum())
        value, free = float(judged.duals[0]), self.fit_intercept
        dual = judged.bound(self.n, self.scale, value, self.beta, claim.squared, free)
        return primal, dual, float(zero) / self.n, float(rows)


def network_of(claim: GatedClaim) -> Network:
    """Return the network of a claim in the columns of [X c]."""
    coef, gate_intercept, intercept = claim.coefficients
    U = coef.transpose(2, 1, 0)
    if claim.feature is not None:
        U = np.concatenate([U, (gate_intercept / claim.feature).T[None]])
    return Network(np.ascontiguousarray(U), intercept)
