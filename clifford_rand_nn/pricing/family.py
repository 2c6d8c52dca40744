r"""Families of neurons that a solution is compared with, as values that can be stored and priced again.

All neurons in any number of columns are bounded by the first two moments of their directions.

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
from dataclasses import dataclass
from types import NoneType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq

from clifford_rand._checks import as_rows, check_bool, check_choice, check_positive, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.gates.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.gates.enumeration import count_patterns, enumerate_gates
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.gates.subsets import about
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import BlockPricer, Priced, Pricer, check_price, nothing
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.pricing.simplices import MAX_D, SimplexPricer
from clifford_rand_nn.pricing.sweep import SweepPricer
from clifford_rand_nn.sparse_rows import with_feature

_ROUNDING = 1e-13  # of Σ|θ|r: what sums of products and eigenvalues lose
_EDGE = 1e-12  # of the size of Q, by which λ is above its eigenvalues
_MOST_COLUMNS = 10**9  # half an hour a pricing at some 10⁶ columns a second: beyond, a wait without end
_FEW_PATTERNS = 2_000  # listed and priced one by one in a second; then branch and bound is faster (bench_bound.py)
SWEEP_D = 2  # dimensions in which every neuron is priced by turning a line


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


# the members of each kind of family
_MEMBERS = {"all": NoneType, "cross": NoneType, "neurons": Neurons, "gates": Gates, "moments": Multipliers}


@dataclass(frozen=True, eq=False)
class Family:
    """A family of neurons :math:`(x^Tv+b)_+` with :math:`||v||_p = 1`, p = 1 or 2, b there and free with ``bias``.

    Its kind is "all" neurons there are; "cross", the cross products of the rows (the paper's dictionary); given
    "neurons" on the rows that the family prices; those whose pattern on the training rows is that of one of given
    "gates" on the rows as they are; or "moments", all neurons, bounded by given multipliers. With a ``feature`` c,
    where b is inside the norm, :math:`||(v, b/c)||_p = 1`: the family is that of the rows [X c] without biases.
    """

    kind: str
    p: int
    bias: bool
    members: Neurons | Gates | Multipliers | None = None
    feature: float | None = None

    def __post_init__(self) -> None:
        check_choice(self.kind, "kind", "Family", tuple(_MEMBERS))
        check_choice(self.p, "p", "Family", (1, 2))
        object.__setattr__(self, "bias", check_bool(self.bias, "bias", "Family"))
        if self.feature is not None:
            check_positive(self.feature, "feature", "Family")
            if self.bias:
                raise fail("bias", "Family", "False with a feature", self.bias, "It is inside the norm, or free.")
        wanted = _MEMBERS[self.kind]
        if not isinstance(self.members, wanted):
            name = "None" if wanted is NoneType else wanted.__name__
            raise fail("members", "Family", f"{name} for kind={self.kind!r}", describe(type(self.members).__name__))

    @classmethod
    def of(
        cls, dictionary: CrossProductDictionary, feature: float | None = None, also: Neurons | None = None
    ) -> "Family":
        """Family of a dictionary: of the exact one, every neuron there is, for their optima are the same.

        With a ``feature`` c the dictionary is that of the rows [X c]. Neurons ``also`` stand beside columns that were
        drawn.
        """
        if dictionary.is_exact:
            return cls("all", 1, dictionary.bias, feature=feature)
        if dictionary.subsample is None and dictionary.family == "rows":
            return cls("cross", dictionary.p, dictionary.bias, feature=feature)
        members = dictionary.neurons()
        if also is not None and len(also):
            members = Neurons.joined([members, also]) if len(members) else also
        return cls("neurons", dictionary.p, dictionary.bias, members, feature)

    @property
    def d_of_members(self) -> int | None:
        """Number of columns of the rows X, from the members; None if they do not say."""
        if self.members is None or isinstance(self.members, Multipliers):
            return None
        return self.members.d - (self.feature is not None and isinstance(self.members, Neurons))

    def listed(self, X: NDArray[np.float64]) -> "Family":
        """Return the family of the cross products of rows X (n, d) as they are in double precision, one by one."""
        dictionary = cross_product_dictionary(with_feature(X, self.feature), f"l{self.p}", bias=self.bias)
        return Family("neurons", self.p, self.bias, dictionary.neurons(), self.feature)

    def pricer(self, X: NDArray[np.float64]) -> Pricer:
        """Return the pricer of the family on the rows X (n, d); with a feature its neurons are of [X c], d + 1.

        All neurons are priced by a sweep in the plane; for p = 1 by the exact dictionary; else by a list of all
        patterns, where there are few, or free biases, and by branch and bound.

        Raises ArgumentError: there are too many columns or patterns to go through.
        """
        rows, X = X, with_feature(X, self.feature)
        if isinstance(self.members, Gates):
            return ConePricer(X, self.members.activations(rows), self.p, self.bias, gate_scope(self.members))
        if isinstance(self.members, Neurons):
            return BlockPricer(X, self.members, _column_scope(self.members))
        if isinstance(self.members, Multipliers):
            return MomentPricer(X, self.members, self.bias)
        if self.kind == "cross":
            return BlockPricer(X, _counted(cross_product_dictionary(X, "l1" if self.p == 1 else "l2", bias=self.bias)))
        if X.shape[1] <= SWEEP_D:
            return SweepPricer(X, self.p, self.bias)
        if self.p == 1:
            every = cross_product_dictionary(X, "l1", bias=self.bias)
            if every.n_columns > _MOST_COLUMNS and not self.bias and X.shape[1] <= MAX_D:
                return SimplexPricer(X, 1)
            every = _counted(every)
            return BlockPricer(X, every, f"global: all {every.n_columns:,} columns of the exact dictionary")
        if not lists_patterns(X.shape, self.p, self.bias):
            return SimplexPricer(X, self.p)
        patterns, gates = enumerate_gates(X, self.bias)
        return ConePricer(X, patterns, self.p, self.bias, gate_scope(gates))


def lists_patterns(shape: tuple[int, ...], p: int, bias: bool) -> bool:
    """Whether all neurons on rows of this shape (n, d), their feature included, are priced by a list of patterns."""
    n, d = shape
    if p == 1 or d <= SWEEP_D:
        return False
    return bias or d > MAX_D or count_patterns(n, d, bias=False) <= _FEW_PATTERNS


def _counted(dictionary: CrossProductDictionary) -> CrossProductDictionary:
    """Return the dictionary if its columns can be gone through, which a solve does some ten to twenty times."""
    if dictionary.n_columns > _MOST_COLUMNS:
        n, d = dictionary.X.shape
        raise fail(
            "X",
            "the full dictionary",
            f"such that it has at most {_MOST_COLUMNS:,} columns",
            describe(f"{n} rows in {d} dimensions, {about(dictionary.n_columns)} columns"),
            f"They would take {about(dictionary.n_columns // 10**6)} s a round. "
            "Draw some of them with subsample=…, or train gated networks, whose gates are sketched.",
        )
    return dictionary


def _column_scope(members: Neurons) -> str:
    """Words for what a bound over listed neurons covers; those that no rows span are of linear models."""
    linear = int(np.count_nonzero((members.rows < 0).all(axis=1))) if members.rows.shape[1] else 0
    also = f" and {linear:,} of linear models" if linear else ""
    return f"over {len(members) - linear:,} columns of the dictionary{also}"


def gate_scope(gates: Gates) -> str:
    """Words for what a bound over the patterns of these gates covers."""
    linear = int(np.count_nonzero(~gates.directions.any(axis=0) & (gates.offsets > 0)))
    count, also = f"{len(gates) - linear:,}", " and the linear model" if linear else ""
    if gates.method == "exhaustive":
        return f"global: all {count} patterns enumerated{also}"
    if gates.method == "fitted":
        return f"over the {count} patterns, those of linear models among them{also}"
    if gates.method == "network":
        return f"over {count} activation patterns"
    how = gates.method if gates.method in ("given", "enumerated") else "sampled"
    return f"over the {count} {how} patterns{also}"
