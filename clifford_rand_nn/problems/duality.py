"""Training problems: lower bounds, from a residual made feasible for the dual, and the gap it leaves."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple, TypedDict

import numpy as np

from clifford_rand._checks import check_bool, check_positive
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_registry import make_datafit
from clifford_rand_nn.rounding import rounding_of_norm

_DOUBLE = np.finfo(np.float64)
EQUALITY_TOL = 1e-9  # of |theta|_1: sums that must vanish in exact arithmetic, where they are checked again
_FAR = 16.0  # largest target over the range of targets, beyond which they are centered: log2 of it is the digits lost
_FINER = 3  # factors of two from the range of the targets down to the grid of offsets
_ABSORBED = 8  # times that the rounding of a sum is taken from one of its terms, each time 2^20 times less; or zero
_KEPT_SHARE = 1e-10  # share by which a term changes; certificates clip what exceeds the domain of a loss by 1e-9
_MET = 1e-6  # share to which solvers meet cones and equalities, at worst in double precision


def shrinkage(size: Array, limit: Array | float) -> Array:
    """Return min(1, limit / size), the factors that bring sizes within limits; 1 where a size is zero."""
    limits = np.broadcast_to(limit, size.shape)
    return np.asarray(np.divide(limits, size, out=np.ones_like(size), where=size > limits))


class DualBound(NamedTuple):
    """A lower bound of the optimum and the dual point (n, C) that proves it."""

    value: float
    theta: Array


def dual_bound(
    datafit: Datafit, theta: Array, Q: Array, size: Callable[[Array], float], radius: float, reach: Any
) -> DualBound:
    r"""Move and scale a residual ``theta`` (n, C) into the dual feasible set.

    .. math:: \max_\theta\ \frac1n\sum_i-\ell^*(-\theta_i)\quad\text{s.t.}\quad
              Q^T\theta = 0,\ \ \mathrm{size}(\theta)\le\mathrm{radius},

    where size is a seminorm: the largest correlation with anything the penalty charges one unit for. The bound holds
    wherever ``theta`` comes from, and equals the optimum if it is the residual there.

    ``Q`` (n, q): orthonormal basis of the predictions that no penalty touches. ``radius``: :math:`n\beta`. ``reach``
    (n,): the largest entries of what the penalty charges one unit for, by which sums over rows lose digits: see
    `rounding_of_norm`.
    """
    theta = datafit.dual_point(theta, Q)
    norm = size(theta) + rounding_of_norm(reach, theta)
    largest = radius / norm if norm > 0 else np.inf
    theta = datafit.scale(theta, largest) * theta
    return DualBound(datafit.dual_value(theta), theta)


def bound_with_square(datafit: Datafit, theta: Array, square: float) -> DualBound:
    r"""Return the dual value :math:`D(s\theta)-s^2q` of a point on the ray of theta, D the terms of the loss.

    As D is concave, :math:`D(s\theta)\ge(1-s)D(0)+sD(\theta)`, and s in [0, 1] maximizes that less :math:`s^2q`. At the
    optimum s is 1; where rounding of a large residual makes the square dominate, the bound stays at D(0) or above.

    ``theta`` (n, C): meets the equalities. ``square``: q.
    """
    value, least = datafit.dual_value(theta), datafit.dual_value(np.zeros_like(theta))
    s = (value - least) / (2 * square) if square > 0 else 1.0
    if s < 1:  # not if it is NaN
        s = max(s, 0.0)
        theta = s * theta
        value = datafit.dual_value(theta)
        square *= s**2
    return DualBound(value - square, theta)


def imbalance(sums: Array, sizes: Array) -> float:
    r"""Return the share :math:`|e|/S` by which entries of one sign, of sum S, are lessened so that sums e vanish."""
    off = np.abs(sums)
    return float(np.divide(2 * off, off + sizes, out=np.zeros_like(off), where=off > 0).max(initial=0.0))


def balanced_bound(dual: float, sums: Array, sizes: Array) -> float:
    r"""Return a dual value as a lower bound: that of 0, at most 0 and always feasible, where an equality is missed.

    ``dual``: dual value of :math:`\theta`, of a loss that is nowhere below 0. ``sums`` (C,): :math:`1^T\theta`, which
    is to be 0. ``sizes`` (C,): :math:`\sum|\theta|`.
    """
    return dual if float(np.abs(sums).max(initial=0.0)) <= EQUALITY_TOL * float(sizes.sum()) else min(dual, 0.0)


class TargetOptions(TypedDict, total=False):
    """Loss, intercept and weights of a training problem."""

    loss: str | Loss  # a name in `LOSSES` or a record, "squared" unless given
    fit_intercept: bool  # whether the output has a free constant, True unless given
    huber_delta: float | None  # of "huber" and "log_cosh" alone: where they turn from square to line, 1 unless given
    sample_weight: ArrayLike | None  # (n,), only ratios matter


class TrainingProblem:
    """Base of the convex training problems: a loss with its targets, and the gap of two values."""

    datafit: Datafit
    fit_intercept: bool

    def _set_targets(
        self,
        n: int,
        y: ArrayLike,
        beta: float,
        loss: str | Loss = "squared",
        fit_intercept: bool = True,
        huber_delta: float | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Keep the loss with the targets and weights of n rows, and whether there is an intercept; return beta."""
        owner = type(self).__name__
        beta = float(check_positive(beta, "beta", owner))
        self.datafit = make_datafit(loss, y, n, owner, huber_delta, sample_weight)
        self.fit_intercept = check_bool(fit_intercept, "fit_intercept", owner)
        return beta

    @property
    def loss(self) -> str:
        """Name of the loss."""
        return self.datafit.loss.name

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.datafit.y.shape[0])

    @property
    def outputs(self) -> int:
        """Number of outputs C."""
        return int(self.datafit.y.shape[1])

    def relative_gap(self, primal: float, dual: float) -> float:
        """(primal - dual) / primal, where a primal value below rounding of the zero network's loss counts as that."""
        return relative_gap(self.datafit, primal, dual)


def constant_columns(n: int, fit_intercept: bool) -> Array:
    """Orthonormal basis (n, q) of what an intercept adds: the constant vector, or nothing."""
    return np.full((n, 1), n**-0.5) if fit_intercept else np.zeros((n, 0))


def relative_gap(datafit: Datafit, primal: float, dual: float) -> float:
    """(primal - dual) / primal, where a primal value below rounding of the loss of a constant counts as that.

    The constant is 0, or the middle of the targets where that is less: an offset of the targets is no part of the gap.
    """
    y = datafit.y
    zero, middle = datafit.value(np.zeros_like(y)), 0.5 * (y.max(axis=0) + y.min(axis=0))
    return gap_above(primal, dual, zero) / gap_unit(primal, min(zero, datafit.value(np.zeros_like(y) + middle)))


def gap_share(primal: float, dual: float, zero: float) -> float:
    """Return `relative_gap` in double precision, given the loss ``zero`` of the zero network."""
    return gap_above(primal, dual, zero) / gap_unit(primal, zero)


def gap_unit(primal: float, zero: float) -> float:
    """Return what a gap is a share of: the primal value, or rounding of ``zero`` where that is more."""
    return max(primal, float(_DOUBLE.eps) * max(zero, float(_DOUBLE.smallest_normal)))


def rounding(primal: float, dual: float, zero: float, share: float = _MET) -> float:
    r"""Return by how much rounding may put a primal value below a dual one.

    .. math:: s\sqrt{PL_0} + 10^{-5}sL_0

    with s the ``share`` to which cones, columns and equalities are met, P the larger value and :math:`L_0` the loss of
    the zero network, ``zero``: a miss of s in the dual point :math:`\theta` costs :math:`s||\theta||` times the size of
    the predictions, of the order of :math:`s\sqrt{PL_0}`; the second term is the rounding of the sums.
    """
    return share * (float(np.sqrt(max(primal, dual, 0.0)) * np.sqrt(zero)) + 1e-5 * zero)


def gap_above(primal: float, dual: float, zero: float) -> float:
    """Return primal - dual, or 0 where only `rounding` puts the dual value above.

    Raises ArithmeticError: the dual value is above by more: then it bounds nothing, or the point is not feasible.
    """
    if dual - primal > rounding(primal, dual, zero):
        raise ArithmeticError(
            f"a lower bound of {dual:.8g} is above the objective {primal:.8g} by more than rounding: the data lie too "
            "far apart for double precision, or this is an error of the library"
        )
    return max(primal - dual, 0.0)


def stated_gap(primal: float, dual: float) -> float:
    """Return (primal - dual) / primal, without an allowance for rounding; 0 where the bound is not below."""
    return float(1 - dual / primal) if primal > dual else 0.0


class Centered(NamedTuple):
    """A datafit of targets less their offsets (C,), which are () where they are not needed or no intercept is free."""

    datafit: Datafit
    offset: tuple[float, ...]

    @classmethod
    def of(cls, datafit: Datafit, fit_intercept: bool) -> "Centered":
        """Center the targets of a loss of residuals; other losses are returned as they are."""
        real = datafit.loss.is_quadratic or datafit.loss.even
        offset = exact_offsets(datafit.y) if fit_intercept and real else ()
        if not offset:
            return cls(datafit, ())
        return cls(Datafit(datafit.loss, datafit.y - np.array(offset), datafit.sample_weight), offset)

    def back(self, intercept: Array, fitted: Array) -> tuple[Array, float]:
        """Return the intercept (C,) for the original targets, and what its rounding adds to the objective."""
        if not self.offset:
            return intercept, 0.0
        raised = intercept + self.offset
        moved = fitted + ((raised - self.offset) - intercept)
        return raised, self.datafit.value(moved) - self.datafit.value(fitted)


def zero_sums(theta: Array) -> Array:
    r"""Return a dual point (n, C) whose columns sum to 0 exactly, by a change of the order of rounding.

    A constant added to the targets then has no part in the dual value: :math:`\theta^T(y+o) = \theta^Ty`. The smallest
    entry that changes by a share of 1e-10 at most takes what is missing, and one with finer digits what that leaves: an
    entry at the end of its domain, however small the weight of its row is, stays there to rounding.
    """
    theta = theta.copy()
    for column in theta.T:
        for _ in range(_ABSORBED):
            total = math.fsum(column)
            if total == 0:
                break
            sizes = np.abs(column)
            fine = np.spacing(sizes) <= abs(total)  # entries that it changes
            near = fine & (sizes * _KEPT_SHARE >= abs(total))
            if near.any():
                place = np.where(near, sizes, np.inf).argmin()
            else:
                place = np.where(fine, sizes, -1.0).argmax() if fine.any() else sizes.argmin()
            column[place] -= total
    return theta


def exact_offsets(targets: Array) -> tuple[float, ...]:
    r"""Return for each output of targets (n, C) an offset near the middle of their range, or () if none is needed.

    It is 0 for an output whose largest target is at most 16 times the range r. Else it is a multiple of a grid g, r/16
    < g ≤ r/8, or of the spacing of the numbers there if that is more, so that these differences are exact: y - o by
    Sterbenz' lemma, as y/2 ≤ o ≤ 2y; and (t + o) - o for every intercept t rounded to a sum, as o has few digits.
    """
    low, high = targets.min(axis=0), targets.max(axis=0)
    span = high - low
    grid = np.ldexp(1.0, np.frexp(span)[1] - 1 - _FINER)
    with np.errstate(all="ignore"):  # a grid below the spacing of the numbers, or 0, leaves them as they are
        middle = low + 0.5 * span
        rounded = np.where(span > 0, grid * np.round(middle / grid), low)
    rounded = np.where(np.isfinite(rounded), rounded, middle)
    offset = np.where(np.maximum(np.abs(low), np.abs(high)) > _FAR * span, rounded, 0.0)
    return tuple(map(float, offset)) if offset.any() else ()
