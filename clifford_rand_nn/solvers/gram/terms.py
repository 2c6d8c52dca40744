"""What a penalty adds to Newton's system in the coefficients: half squares, or norms along their central path."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.duality import shrinkage
from clifford_rand_nn.solvers.gram.design import GatedDesign

# The mean product of weight and slack falls to this share after a good step, stays after one to where a slope is more
# than so many times its bound, and rises after one below this length: 13 % fewer steps than where it always falls.
# Exact steps bear more: a path of 20 beta takes 95 of them instead of 106.
_FALL = 0.1
_EXACT_FALL = 0.03
_NEAR = 2.0
_RISE = 4.0
_HOLD = 0.5
_FIRST_SQUARES = 1e-3  # first radius of squared norms of a softmax, as a share of the curvature along the slope
_FIRST = 0.3  # the first radius, as a share of the largest useful one, where it is followed down;
_EASY = 0.5  # share of λ below which slopes of squared norms end these: 11 steps for 15 at 0.2, 17 at 2
_FOLLOW = 0.1  # it falls to this share after a good step: 15 to 20 steps where 18 to 30 were needed from the last one
_WARM = 0.01  # least slack and least weight, as shares of the largest and the mean, where another solution is the start
_ROUNDING = 1e-13
_FELT = 1e-100  # of the residual's square: a slope with a smaller square moves no prediction, rounding is 1e-32 of it


class Linearized(NamedTuple):
    r"""A penalty in Newton's system, :math:`\mathrm{diag}(d_i) - v_iv_i^T` in every gate, and the right-hand side."""

    diagonal: Array  # d, (P,)
    directions: Array | None  # v, (P, r, C)
    right: Array  # (N + q, C)


class Squares:
    r"""Half the squared norms, :math:`\frac\lambda2||U||^2`; λ is followed down if there is a first slope."""

    def __init__(self, design: GatedDesign, radius: float, slope: Array | None) -> None:
        self._design, self._target, self.radius = design, radius, radius
        if slope is not None and (size := float(np.linalg.norm(slope[: design.N]))) > 0:
            ahead = design.forward(np.pad(slope[: design.N] / size, ((0, design.q), (0, 0))))
            self.radius = max(radius, _FIRST_SQUARES * float(np.vdot(ahead, ahead)))

    @property
    def arrived(self) -> bool:
        """Whether λ is that of the problem."""
        return self.radius == self._target

    def linearize(self, x: Array, slope: Array) -> Linearized:
        """Return the system at x, for a loss with that downhill slope."""
        right = slope.copy()
        right[: self._design.N] -= self.radius * x[: self._design.N]
        return Linearized(np.full(self._design.P, self.radius), None, right)

    def value(self, x: Array) -> float:
        """Return the penalty."""
        return 0.5 * self.radius * float(self._design.squares(x).sum())

    def advance(self, x: Array, slope: Array, length: float, floor: float) -> None:
        """Let λ fall after a good step."""
        if length >= _HOLD:
            self.radius = max(self._target, _FOLLOW * self.radius)


def equal_weight(theta: Array, squares: Array, radius: float) -> float:
    """Return the weight of all gates that would bring the slopes of a residual, of these squared norms, to a radius.

    Gates without a slope, as those whose rows a bias spans, are served by any: 1.
    """
    top, whole, own = float(np.sqrt(squares.max(initial=0.0))), float(squares.sum()), float(np.vdot(theta, theta))
    return max(top / radius, 1.0) * own / whole if whole > _FELT * own else 1.0


class Norms:
    r"""The norms :math:`\lambda\sum_i||U_i||` as :math:`\min_{a\ge0}\frac12\sum_i(||U_i||^2/a_i+\lambda^2a_i)`.

    With a barrier :math:`-\mu\log a_i` the best weight is
    :math:`a_i = (\mu+\sqrt{\mu^2+\lambda^2||U_i||^2})/\lambda^2`, and what is left is a smooth norm, of slope
    :math:`U_i/a_i`. On its central path that is the downhill slope :math:`V_i` of the loss, shorter than λ, with the
    slack :math:`z_i = \frac12(\lambda^2-||V_i||^2) = \mu/a_i`, and the Hessian of a gate is
    :math:`\frac1{a_i}\big(I-W_iW_i^T/(z_i+||W_i||^2)\big)` with either slope for W. As in interior-point methods it is
    the dual one: :math:`V_i`, shortened to λ, with its own slack. So a gate that is idle, or far from its place, is
    held by :math:`1/a_i` in all directions, where the smooth norm itself is straight and Newton's steps overshoot. The
    matrix is positive everywhere, so each step lowers loss and smooth norm if it is short enough, while μ falls by
    tenths.

    Where the loss has infimum 0, λ is followed down from where the problem is easy: far from the optimum of a small λ a
    loss that is nearly 0 has no curvature to go by. Of a softmax squared norms come first, until `takes_over`.

    References
    ----------
    Chan, Golub, Mulet, "A nonlinear primal-dual method for total variation-based image restoration", SIAM J. Sci.
    Comput. 20 (1999), for the dual variable in the Hessian of a smooth norm.
    """

    def __init__(self, design: GatedDesign, radius: float, theta: Array, slope: Array, exact: bool) -> None:
        """Begin without gates, at a residual and its correlations: weights that would bring these to λ if equal.

        ``exact`` says that the loss is quadratic, so that its steps are exact and λ need not be followed.
        """
        self._design, self._target = design, radius
        self._fall = _EXACT_FALL if exact else _FALL
        squares = design.squares(slope)
        self.radius = max(radius, _FIRST * float(np.sqrt(squares.max(initial=0.0)))) if not exact else radius
        self._mu = 0.5 * self._square * equal_weight(theta, squares, self.radius)

    def restart(self, radius: float, x: Array, slope: Array, least: float = _WARM, first: float = 0.0) -> None:
        """Go on from the solution x of another radius or with fewer gates, unless it has none.

        ``least`` is that of slacks and weights, as shares of the largest and of the mean; λ falls from ``first``.
        """
        size = np.sqrt(self._design.squares(x))
        if not size.any():
            return
        self._target, self.radius = radius, max(radius, first)
        a = np.maximum(size, least * float(size.sum()) / max(size.size, 1)) / self.radius
        slack = np.maximum(0.5 * (self._square - self._design.squares(slope)), 0.5 * least * self._square)
        self._mu = max(float(np.sum(a * slack)) / max(size.size, 1), _TINY)

    def takes_over(self, squared: float, x: Array) -> bool:
        """Tell whether slopes of squared norms with that radius, about U times it, are within a share of λ."""
        return squared * float(np.sqrt(self._design.squares(x).max(initial=0.0))) <= _EASY * self._target

    @property
    def arrived(self) -> bool:
        """Whether λ is that of the problem."""
        return self.radius == self._target

    @property
    def _square(self) -> float:
        """The square of λ; inf where it overflows, for which the power of a float raises."""
        return self.radius * self.radius

    def _weights(self, x: Array) -> Array:
        sizes = np.sqrt(self._design.squares(x))
        return np.asarray((self._mu + np.hypot(self._mu, self.radius * sizes)) / self._square)

    def _slacks(self, a: Array, slope: Array) -> Array:
        """Return the slack of every slope that is within λ, and that of the central path where it is not."""
        half = 0.5 * self._square
        return np.maximum(half - 0.5 * self._design.squares(slope), np.minimum(self._mu / a, half))

    def linearize(self, x: Array, slope: Array) -> Linearized:
        """Return the system at x, for a loss with that downhill slope."""
        design, a = self._design, self._weights(x)
        sizes = np.sqrt(design.squares(slope))
        share = shrinkage(sizes, self.radius)
        whole = self._slacks(a, slope) + (share * sizes) ** 2
        right = slope.copy()
        right[: design.N] -= (design.blocks(x) / a[:, None, None]).reshape(design.N, x.shape[1])
        return Linearized(1 / a, design.blocks(slope) * (share / np.sqrt(a * whole))[:, None, None], right)

    def value(self, x: Array) -> float:
        """Return the smooth norms."""
        a = self._weights(x)
        squares = self._design.squares(x) / a + self._square * a
        return float(np.sum(0.5 * squares - self._mu * np.log(a)))

    def advance(self, x: Array, slope: Array, length: float, floor: float) -> None:
        """Let λ and μ fall after a step of that length to x; products are not aimed below a floor."""
        a = self._weights(x)
        slack = self._slacks(a, slope)
        if not self.arrived and length >= _HOLD:
            fall = max(_FOLLOW, self._target / self.radius)
            nearly = self.radius * fall <= self._target * (1 + _ROUNDING)
            self.radius = self._target if nearly else self.radius * fall
            slack, a = slack * fall**2, a / fall
        near = float(self._design.squares(slope).max(initial=0.0)) < _NEAR * _NEAR * self._square
        change = _RISE if length < _HOLD else self._fall if near else 1.0
        self._mu = max(float(np.sum(a * slack)) / max(self._design.P, 1) * change, floor)

    def active(self, x: Array, slope: Array) -> Any:
        """Tell which gates are active, (P,): those whose weight, as a share of the largest, exceeds their slack's."""
        a = self._weights(x)
        return a * self._square > 2 * self._slacks(a, slope) * a.max(initial=0.0)


_TINY = float(np.finfo(np.float64).tiny)
