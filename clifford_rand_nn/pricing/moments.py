r"""Bounds of all neurons in any number of columns, by the first two moments of their directions.

For a row x of length r, a direction u with :math:`||u||\le1`, and :math:`t = x\cdot u/r`, which is between -1 and 1,

.. math:: \nu t + \kappa t^2 \le |t| \le \tfrac12(wt^2 + 1/w)

for every :math:`w>0`, and all :math:`\nu` and :math:`\kappa\ge0` with :math:`|\nu|+\kappa\le1`. So a sum of activations
:math:`(x\cdot u)_+ = \tfrac r2(t+|t|)`, with positive and negative factors, is at most a quadratic function
:math:`k + l\cdot u + u^TQu`, and for every :math:`\lambda\ge0` above the eigenvalues of Q

.. math:: \max_{||u||\le1} k + l\cdot u + u^TQu \le k + \lambda + \tfrac14l^T(\lambda-Q)^{-1}l.

Any multipliers (w, ν, κ) give a bound, so it holds whoever chose them. The best ones are those of a semidefinite
relaxation, see `clifford_rand_nn.estimators.any_width_bound`.

Directions are split into cells by the sides of rows: where :math:`\sigma t\ge0` for a row, its activation is linear.
There :math:`\sigma t(\zeta+z\cdot u)\ge0` for all :math:`\zeta\ge||z||`, so that it may be added to the bound of the
cell (a cut). The cells are the leaves of a tree, so that they cover all directions, and the bound is the largest one.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.optimize import brentq

from clifford_rand._checks import as_rows, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.pricing.base import Priced, Pricer, check_price, nothing
from clifford_rand_nn.rounding import additions, block_products, gamma, rounding_of_norm

_EDGE = 1e-12  # of the size of Q, by which λ is above its eigenvalues


class Multipliers(NamedTuple):
    """Multipliers of n rows in T cells of directions: the leaves of trees, for θ and -θ of each of C outputs."""

    rates: Array  # (T, n): w > 0
    slopes: Array  # (T, n): ν
    squares: Array  # (T, n): κ
    trees: NDArray[np.intp]  # (T,): 2c for θ of output c, 2c + 1 for -θ
    paths: NDArray[np.intp]  # (T, K): σ(i + 1) for the side σ of row i, from the root; then 0
    cuts: Array  # (T, K, 1 + D): ζ and z of each, over Σ|θ|r

    def path(self, cell: int) -> list[int]:
        """Return the path of a cell."""
        return [step for step in self.paths[cell].tolist() if step]


def paths_cover(paths: list[list[int]]) -> bool:
    """Tell whether the cells at the end of these paths are all directions.

    >>> paths_cover([[1], [-1, 3], [-1, -3]]), paths_cover([[1], [-1, 3]]), paths_cover([[]])
    (True, False, True)
    """
    if not paths or not all(paths):
        return bool(paths)
    row = abs(paths[0][0])
    return all(paths_cover([path[1:] for path in paths if path[0] == step]) for step in (row, -row))


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
    >>> whole = np.arange(2), np.zeros((2, 0), dtype=int), np.zeros((2, 0, 3))  # one cell for each sign
    >>> known = Multipliers(np.full((2, 2), np.sqrt(2)), np.zeros((2, 2)), np.ones((2, 2)), *whole)
    >>> round(MomentPricer(X, known).price(np.array([1.0, 1.0]), 1).size, 6)  # √2 is the largest value
    1.414214
    """

    centers = True
    scope = "global: all neurons, bounded by their second moments"

    def __init__(self, X: ArrayLike, multipliers: Multipliers, bias: bool = False) -> None:
        self.X, self.bias = as_rows(X, "MomentPricer"), bias
        self.rows = lifted_rows(self.X, bias)
        if multipliers.rates.shape[1] != len(self.X):
            value = describe(f"those of {multipliers.rates.shape[1]}")
            raise fail("multipliers", "MomentPricer", f"of {len(self.X)} rows", value)
        sizes = np.maximum(np.abs(multipliers.slopes) + multipliers.squares, 1.0)  # rounding may be above 1
        cuts = multipliers.cuts.copy()
        cuts[:, :, 0] = np.maximum(cuts[:, :, 0], np.linalg.norm(cuts[:, :, 1:], axis=2))
        self.multipliers = multipliers._replace(
            slopes=multipliers.slopes / sizes, squares=multipliers.squares / sizes, cuts=cuts
        )
        self.cells = [np.flatnonzero(multipliers.trees == k) for k in range(multipliers.trees.max() + 1)]
        if not all(paths_cover([multipliers.path(t) for t in cells.tolist()]) for cells in self.cells):
            raise fail("multipliers", "MomentPricer", "of trees", describe("cells that leave directions out"))

    @cached_property
    def reach(self) -> Array:
        """Sizes (n,) of what is added up for a neuron on each row."""
        return np.asarray(np.linalg.norm(self.rows, axis=1))

    @property
    def rounding_of_functions(self) -> float:
        """Share by which proofs raise quadratic functions, so that they are above activations in exact arithmetic."""
        return gamma(2 * self.rows.shape[1] + 16)

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        """Return the bound, and no neurons; ``late`` and ``enough`` are ignored."""
        point = check_price(theta, most, len(self.X), "MomentPricer.price")
        most_cut = 1 + float(self.multipliers.cuts[:, :, 0].sum(axis=1).max(initial=0.0))
        bounds = [max(self.quadratic(point, t).largest()[0] for t in cells.tolist()) for cells in self.cells]
        sizes = np.maximum(np.reshape(bounds, (-1, 2)).max(axis=1), 0.0)
        rates, (n, D) = self.multipliers.rates, self.rows.shape
        terms = self.reach * (2 + (rates + 1 / rates).max(axis=0) / 4)
        lost = rounding_of_norm(terms, point, additions(n) + D + self.multipliers.paths.shape[1] + 8)
        lost += 4 * self.rounding_of_functions * float(terms @ np.linalg.norm(point, axis=1))
        return Priced(float(np.linalg.norm(sizes)) + most_cut * lost, nothing(self.X.shape[1]))

    def quadratic(self, theta: Array, cell: int) -> Quadratic:
        """Return the bound of a cell for theta (n, C)."""
        w, slopes, squares = (part[cell] for part in self.multipliers[:3])
        tree, steps = int(self.multipliers.trees[cell]), np.array(self.multipliers.path(cell), dtype=np.intp)
        own, fixed = theta[:, tree // 2] * (-1) ** tree, np.abs(steps) - 1
        unit = self.rows / np.maximum(self.reach, np.finfo(np.float64).tiny)[:, None]
        sizes, sides = np.abs(own) * self.reach, np.zeros(len(own))
        cuts = self.multipliers.cuts[cell, : len(steps)] * sizes.sum()
        sides[fixed] = np.sign(steps)
        up, down = np.where((sides == 0) & (own > 0), sizes, 0.0), np.where((sides == 0) & (own <= 0), sizes, 0.0)
        normals = sides[fixed, None] * unit[fixed]
        product = normals.T @ cuts[:, 1:] / 2
        matrix = block_products(unit, (up * w / 4 - down * squares / 2)[:, None] * unit) + product + product.T
        linear = block_products(self.rows, own * (1 + sides)) - block_products(unit, down * slopes)
        return Quadratic(float((up / w).sum()) / 4, linear / 2 + normals.T @ cuts[:, 0], matrix)
