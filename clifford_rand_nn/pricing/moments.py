r"""Bounds of all neurons in any number of columns, by the first two moments of their directions.

For a row x of length r, a direction u with :math:`||u||\le1`, and :math:`t = x\cdot u/r`, which is between -1 and 1,

.. math:: \nu t + \kappa t^2 \le |t| \le \tfrac12(wt^2 + 1/w)

for every :math:`w>0`, and all :math:`\nu` and :math:`\kappa\ge0` with :math:`|\nu|+\kappa\le1`. So a sum of activations
:math:`(x\cdot u)_+ = \tfrac r2(t+|t|)`, with positive and negative factors, is at most a quadratic function
:math:`k + l\cdot u + u^TQu`, and for every :math:`\lambda\ge0` above the eigenvalues of Q

.. math:: \max_{||u||\le1} k + l\cdot u + u^TQu \le k + \lambda + \tfrac14l^T(\lambda-Q)^{-1}l.

Any multipliers (w, ν, κ) give a bound, so it holds whoever chose them. The best ones are those of a semidefinite
relaxation, see `clifford_rand_nn.estimators.any_width_bound`.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from clifford_rand._checks import as_rows, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.pricing.base import Priced, Pricer, check_price, nothing

_ROUNDING = 1e-13  # of Σ|θ|r: what sums of products and eigenvalues lose
_EDGE = 1e-12  # of the size of Q, by which λ is above its eigenvalues


class Multipliers(NamedTuple):
    """Multipliers of n rows, for θ and -θ of each of C outputs: those of output c are 2c and 2c + 1."""

    rates: Array  # (2C, n): w > 0
    slopes: Array  # (2C, n): ν
    squares: Array  # (2C, n): κ


class Quadratic(NamedTuple):
    r"""A bound :math:`k + l\cdot u + u^TQu` of a sum of activations."""

    constant: float
    linear: Array  # (D,)
    matrix: Array  # (D, D)

    def largest(self) -> tuple[float, float]:
        r"""Return the bound of its maximum over :math:`||u||\le1`, and λ.

        >>> Quadratic(1.0, np.array([0.0, 2.0]), np.diag([3.0, 0.0])).largest()[0].__round__(6)
        4.333333
        """
        values, vectors = np.linalg.eigh(self.matrix)
        squares = (vectors.T @ self.linear) ** 2 / 4
        scale = float(np.abs(values).max() + np.sqrt(squares.sum())) or 1.0
        low = max(float(values[-1]), 0.0) + _EDGE * scale

        def slope(level: float) -> float:
            return 1 - float((squares / (level - values) ** 2).sum())

        high = low + 2 * scale
        level = low if slope(low) >= 0 else float(brentq(slope, low, high, xtol=_EDGE * scale))
        return self.constant + level + float((squares / (level - values)).sum()), level


def enclosing_ball(X: Array) -> tuple[Array, float]:
    """Return a center of rows (n, d) and the largest distance from it, or 1 if they are one point."""
    center = (X.max(axis=0) + X.min(axis=0)) / 2
    return center, float(np.linalg.norm(X - center, axis=1).max()) or 1.0


def lifted_rows(X: Array, bias: bool) -> Array:
    r"""Return rows (n, D) on which neurons without biases are all neurons on X, or more, with directions in the ball.

    With free biases they are :math:`\sqrt2(x-m,\rho)` with the center m and the largest distance :math:`\rho` from it.
    A neuron whose plane meets the rows is :math:`(v, b+v\cdot m)`, where the second part is at most :math:`\rho`. A
    dual point sums to zero, so planes that miss the rows are no better than those that touch them.
    """
    if not bias:
        return X
    center, radius = enclosing_ball(X)
    return np.column_stack([X - center, np.full(len(X), radius)]) * 2**0.5


class MomentPricer(Pricer):
    r"""Upper bounds of :math:`||\Theta^T(Xu)_+||_2` over all neurons of rows X (n, d), from given multipliers.

    For several outputs the bounds of each are squared and added up. For p = 1 the ball holds the neurons.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 1.0]])
    >>> known = Multipliers(np.full((2, 2), np.sqrt(2)), np.zeros((2, 2)), np.ones((2, 2)))
    >>> round(MomentPricer(X, known).price(np.array([1.0, 1.0]), 1).size, 6)  # √2 is the largest value
    1.414214
    """

    scope = "global: all neurons, bounded by their second moments"

    def __init__(self, X: ArrayLike, multipliers: Multipliers, bias: bool = False) -> None:
        self.X, self.bias = as_rows(X, "MomentPricer"), bias
        self.rows = lifted_rows(self.X, bias)
        if multipliers.rates.shape[1] != len(self.X):
            value = describe(f"those of {multipliers.rates.shape[1]}")
            raise fail("multipliers", "MomentPricer", f"of {len(self.X)} rows", value)
        rates, slopes, squares = multipliers
        sizes = np.maximum(np.abs(slopes) + squares, 1.0)  # rounding may be above 1
        self.multipliers = Multipliers(rates, slopes / sizes, squares / sizes)

    @cached_property
    def reach(self) -> Array:
        """Sizes (n,) of what is added up for a neuron on each row."""
        return np.asarray(np.linalg.norm(self.rows, axis=1))

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        """Return the bound, and no neurons; ``late`` and ``enough`` are ignored."""
        point = check_price(theta, most, len(self.X), "MomentPricer.price")
        sizes = [max(self.quadratic(point, 2 * c + k).largest()[0] for k in (0, 1)) for c in range(point.shape[1])]
        lost = _ROUNDING * float(self.reach @ np.linalg.norm(point, axis=1))
        return Priced(float(np.linalg.norm(np.maximum(sizes, 0.0))) + lost, nothing(self.X.shape[1]))

    def quadratic(self, theta: Array, k: int) -> Quadratic:
        """Return the bound of output k // 2 for theta (n, C), negative for odd k."""
        w, slopes, squares = (part[k] for part in self.multipliers)
        own = theta[:, k // 2] * (-1) ** k
        unit = self.rows / np.maximum(self.reach, np.finfo(np.float64).tiny)[:, None]
        sizes, on = np.abs(own) * self.reach, own > 0
        up, down = np.where(on, sizes, 0.0), np.where(on, 0.0, sizes)
        matrix = unit.T @ ((up * w / 4 - down * squares / 2)[:, None] * unit)
        return Quadratic(float((up / w).sum()) / 4, (self.rows.T @ own - unit.T @ (down * slopes)) / 2, matrix)
