"""Inequalities of an interior-point method with their multipliers, and the smooth part of a dual, the conjugates.

Each kind keeps its slacks s > 0 and multipliers p > 0, linearizes s·p = target, and bounds the step along a direction.
The unknown that moves them is U = K^T theta (N, C), or theta itself for the box. ``curvature`` and
``right_hand_side`` (for a target) are the terms of the inequality in the normal matrix and its right-hand side.
"""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit, unpenalized_fit

_IDLE = 1e-6  # of the largest target: the slope at the null fit of a constant target; n rows have slopes of 1/n
BOUNDARY = 0.99  # share of the way to the boundary
# Entries this near to an open bound, as a share of their range times the gap, are spare, and shorten no step: one that
# is off by so little costs next to nothing, and a mass of 1e-18 that has to shrink a hundred times would hold all back.
# Steps on 24 logistic and softmax problems: 630 without, 567 with 1e-3, 594 with 1e-6; at 1e-2 some problems jam.
SPARE = 1e-3
_GRAIN = 4  # roundings between a dual point and a bound that it must not reach
_INSIDE = 0.9  # the starting point keeps this share of its way from 0 to the boundary of the domain


class Linear:
    """Linear inequalities with their slacks s and multipliers z, and the direction of both."""

    def __init__(self, s: Array, mu: float) -> None:
        self.s, self.z = s, mu / s
        self.count = self.z.size
        self.ds = self.dz = self.rc = np.zeros_like(self.z)

    def residual(self, target: float, second_order: bool) -> Array:
        """Set and return r = sz + ds dz - target."""
        self.rc = self.s * self.z - target
        if second_order:
            self.rc = self.rc + self.ds * self.dz
        return self.rc

    def move(self, ds: Array) -> None:
        """Set ds, and dz = -(r + z ds)/s."""
        self.ds = ds
        self.dz = -(self.rc + self.z * self.ds) / self.s

    def limit(self) -> float:
        """Largest step along the direction that keeps slacks and multipliers positive; inf if all do."""
        return min(longest_step(self.s, self.ds), longest_step(self.z, self.dz))

    def product(self, step: float = 0.0) -> float:
        """Sum of slack times multiplier after a step along the direction."""
        return float(np.vdot(self.s + step * self.ds, self.z + step * self.dz))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.s = self.s + step * self.ds
        self.z = self.z + step * self.dz


class TwoSided(Linear):
    r""":math:`|U_j| \le \lambda` as two linear inequalities, C = 1: the weight is :math:`z^+-z^-`."""

    def __init__(self, U: Array, radius: float, mu: float) -> None:
        self.signs = np.array([[1.0], [-1.0]])
        super().__init__(radius - self.signs * U[:, 0], mu)

    def weights(self) -> Array:
        """Return the multipliers as weights Z (N, C): z+ - z-."""
        return np.asarray((self.z[0] - self.z[1])[:, None])

    def curvature(self) -> Array:
        """Blocks (N, C, C) that K couples into the normal matrix: z+/s+ + z-/s-."""
        return np.asarray((self.z / self.s).sum(axis=0)[:, None, None])

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Set the target; return r+/s+ - r-/s- (N, C), with ``second_order`` corrected by the previous direction."""
        sides = self.residual(target, second_order) / self.s
        return np.asarray((sides[0] - sides[1])[:, None])

    def set_direction(self, dU: Array) -> None:
        """Set the direction that follows from dU: ds = -+dU."""
        self.move(-self.signs * dU[:, 0])


class Discs:
    r""":math:`||U_j||_2\le\lambda` as :math:`s_j = (\lambda^2-||U_j||^2)/2\ge0`, any C: the weight is :math:`p_jU_j`.

    On the central path :math:`p_js_j = \mu` this is the path of the second-order cones, for C = 1 that of `TwoSided`:
    :math:`\mu U/s = \mu\,[1/(\lambda-U)-1/(\lambda+U)]`.
    """

    def __init__(self, U: Array, radius: float, mu: float) -> None:
        self.radius = radius
        self.U = U
        self.s = self._slack(U)
        self.p = mu / self.s
        self.count = self.p.size
        self.dU, self.dp, self.rc = np.zeros_like(U), np.zeros_like(self.p), np.zeros_like(self.p)
        self.bend = np.zeros_like(U)  # the second-order part of the weights

    def _slack(self, U: Array) -> Array:
        size = np.linalg.norm(U, axis=1)
        return np.asarray(0.5 * (self.radius - size) * (self.radius + size))

    def weights(self) -> Array:
        """Return p U."""
        return np.asarray(self.p[:, None] * self.U)

    def curvature(self) -> Array:
        """Return p (I + U Uᵀ / s)."""
        blocks = self.U[:, :, None] * (self.U * (self.p / self.s)[:, None])[:, None, :]
        diagonal = np.arange(self.U.shape[1])
        blocks[:, diagonal, diagonal] += self.p[:, None]
        return np.asarray(blocks)

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Return U r/s - bend with the residual r = sp + dp ds - p|dU|²/2 - target and the bend dp dU."""
        self.rc = self.s * self.p - target
        self.bend = np.zeros_like(self.U)
        if second_order:
            ds = -np.einsum("jc,jc->j", self.U, self.dU)
            self.rc = self.rc + self.dp * ds - 0.5 * self.p * np.einsum("jc,jc->j", self.dU, self.dU)
            self.bend = self.dp[:, None] * self.dU
        return np.asarray(self.U * (self.rc / self.s)[:, None] - self.bend)

    def set_direction(self, dU: Array) -> None:
        """Set dp = (p U·dU - r)/s."""
        self.dU = dU
        self.dp = (self.p * np.einsum("jc,jc->j", self.U, dU) - self.rc) / self.s

    def limit(self) -> float:
        """Ratio test of p, and the step at which |U + step dU| reaches the radius."""
        a = np.einsum("jc,jc->j", self.dU, self.dU)
        b = np.einsum("jc,jc->j", self.U, self.dU)
        root = b + np.sqrt(b * b + 2 * a * self.s)  # a t² + 2 b t - 2 s = 0 has the root 2 s / (b + sqrt(...))
        back = (b < 0) & (a > 0)
        with np.errstate(divide="ignore", invalid="ignore"):
            step = np.where(back, (root - 2 * b) / np.where(back, a, 1.0), 2 * self.s / root)
        step = step[(a > 0) & (step > 0)]
        return min(float(step.min(initial=np.inf)), longest_step(self.p, self.dp))

    def product(self, step: float = 0.0) -> float:
        """Sum of slack times multiplier after a step."""
        s = self._slack(self.U + step * self.dU) if step else self.s
        return float(np.vdot(s, self.p + step * self.dp))

    def advance(self, step: float) -> None:
        """Take the step."""
        self.U = self.U + step * self.dU
        self.s = self._slack(self.U)
        self.p = self.p + step * self.dp


class Box(Linear):
    """Finite bounds of theta (n, C), where the conjugate of the loss ends with a finite slope."""

    def __init__(self, theta: Array, low: Array, high: Array, mu: float) -> None:
        bounds, sides = np.stack([low, high]), np.array([1.0, -1.0])[:, None, None]
        self.side, *self.where = np.nonzero(np.isfinite(bounds))
        self.sign = sides[self.side, 0, 0]
        self.shape = theta.shape
        super().__init__(self.sign * (theta[tuple(self.where)] - bounds[(self.side, *self.where)]), mu)

    def _spread(self, values: Array) -> Array:
        out = np.zeros(self.shape)
        np.add.at(out, tuple(self.where), values)
        return out

    def force(self) -> Array:
        """Multipliers in the stationarity of theta: those of the upper bounds less those of the lower, (n, C)."""
        return self._spread(-self.sign * self.z)

    def resist(self, push: Array, least: float) -> None:
        """Set the multipliers that hold against a push (n, C) at the bounds it points to, and ``least`` elsewhere."""
        self.z = np.maximum(-self.sign * push[tuple(self.where)], least)

    def curvature(self) -> Array:
        """Return the sum of z/s, (n, C)."""
        return self._spread(self.z / self.s)

    def right_hand_side(self, target: float, second_order: bool) -> Array:
        """Set the target; return minus the sum of r/s, signed, (n, C)."""
        return self._spread(-self.sign * self.residual(target, second_order) / self.s)

    def set_direction(self, dtheta: Array) -> None:
        """Set the direction that follows from dtheta: ds = ±dtheta."""
        self.move(self.sign * dtheta[tuple(self.where)])

    def shorten(self, length: float) -> None:
        """Scale the direction."""
        self.ds, self.dz = length * self.ds, length * self.dz


def longest_step(value: Array, change: Array) -> float:
    """Return the largest step that keeps value + step * change ≥ 0."""
    falls = change < 0
    return float(np.min(value[falls] / -change[falls], initial=np.inf))


class DualTerms:
    r"""The sum g of the conjugates of the rows at -theta: gradient, curvature, domain, and an interior point.

    For every loss g is a sum over the entries of theta (n, C); where the entries of a row mix (softmax), on rows of
    theta that sum to zero. So theta is :math:`\varphi E^T` with ``mix`` E (C, C'): the identity, or
    :math:`[I; -1^T]`.

    A loss whose conjugate has an infinite slope at the ends of its domain is its own barrier (``open`` bounds); where
    the slope is finite the bounds are inequalities (``closed``).

    ``predictions``, ``curvature``: minus the gradient of g at theta, for the softmax up to a shift of each row; and its
    second derivatives (n, C).
    """

    def __init__(self, datafit: Datafit, Q: Array) -> None:
        self.datafit = datafit
        y = datafit.y
        C = y.shape[1]
        self.mix = np.eye(C) if datafit.loss.separable else np.concatenate([np.eye(C - 1), -np.ones((1, C - 1))])
        self.open = self.closed = np.full_like(y, -np.inf), np.full_like(y, np.inf)
        if datafit.loss.barrier and not datafit.loss.even:
            self.open = datafit.dual_domain()
        else:
            self.closed = datafit.dual_domain()
        self.predictions, self.curvature = datafit.predictions_at, datafit.dual_curvature
        self.null = unpenalized_fit(datafit, Q)
        self.null_theta = datafit.residual(self.null)

    def start(self) -> Array:
        """Return the residual of the null fit, drawn into the domain; strictly inside unless a label is absent."""
        bounded = any(np.isfinite(bound).any() for bound in self.closed)
        return np.asarray(_INSIDE * self.null_theta if bounded else self.null_theta)

    def idle(self) -> NDArray[np.bool_]:
        """Tell which outputs (C,) the null fit meets in every row: a bounded dual is 0 there and has no interior."""
        y = self.datafit.y
        bounded = bool(np.isfinite(np.stack([*self.open, *self.closed])).any())
        slope = np.abs(self.null_theta / self.datafit.weights).max(axis=0)
        return np.asarray((y == y[:1]).all(axis=0) & bounded & (slope <= _IDLE * np.abs(y).max(initial=0.0)))

    def _room(self, theta: Array, direction: Array) -> Array:
        """Distance (n, C) of every entry to the open bound that the direction leads to."""
        low, high = self.open
        return np.asarray(np.where(direction > 0, high - theta, theta - low))

    def limit(self, theta: Array, direction: Array, spare: Array | float = 0.0) -> float:
        """Largest step along ``direction`` within the open bounds, of the entries further from them than ``spare``."""
        room, speed = self._room(theta, direction), np.abs(direction)
        counts = (speed > 0) & (room > spare)
        with np.errstate(divide="ignore", invalid="ignore"):
            return float(np.min(room / speed, initial=np.inf, where=counts))

    def held(self, theta: Array, move: Array, spare: Array | float) -> Array:
        """Return ``move`` where spare entries that would pass an open bound keep a share of their way to it."""
        room, speed = self._room(theta, move), np.abs(move)
        low, high = self.open
        least = _GRAIN * np.spacing(np.abs(np.where(move > 0, high, low)))  # nearer, and the bound itself comes out
        most = np.maximum(np.minimum(BOUNDARY * room, room - least), 0.0)
        passing = (speed > most) & (room <= spare)
        if not passing.any():
            return move
        move = np.where(passing, np.sign(move) * most, move)
        if not self.datafit.loss.separable:  # what a row lacks goes to its largest mass
            move[self._heaviest(theta)] -= move.sum(axis=1)
        return move

    def curvature_towards(self, theta: Array, away: Array, spare: Array | float) -> Array:
        """Return `curvature`, and for spare entries so much that ``away`` over it ends at the bound, not beyond.

        A direction then counts on no more than `held` leaves of it; else what it asks of the other entries misleads.
        """
        h = self.curvature(theta)
        if not self.datafit.loss.separable:  # predictions are known up to a shift of each row
            away = away - away[self._heaviest(theta)][:, None]
        room = self._room(theta, away)
        return np.asarray(np.where(room <= spare, np.maximum(h, np.abs(away) / room), h))

    def _heaviest(self, theta: Array) -> tuple[NDArray[np.intp], NDArray[np.intp]]:
        return np.arange(len(theta)), np.argmax(self.datafit.weights * self.datafit.y - theta, axis=1)
