"""Families of neurons that a solution is compared with, as values that can be stored and priced again."""

from dataclasses import dataclass
from types import NoneType

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_choice, check_positive, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.gates.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.gates.enumeration import count_patterns, enumerate_gates
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.gates.subsets import about
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import BlockPricer, Pricer
from clifford_rand_nn.pricing.cones import ConePricer
from clifford_rand_nn.pricing.moments import MomentPricer, Multipliers
from clifford_rand_nn.pricing.simplices import MAX_D, SimplexPricer
from clifford_rand_nn.pricing.sweep import SweepPricer
from clifford_rand_nn.rounding import gamma
from clifford_rand_nn.sparse_rows import with_feature

_MOST_COLUMNS = 10**9  # half an hour a pricing at some 10⁶ columns a second: beyond, a wait without end
_FEW_PATTERNS = 2_000  # listed and priced one by one in a second; then branch and bound is faster (bench_bound.py)
SWEEP_D = 2  # dimensions in which every neuron is priced by turning a line


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

    def dual_norm(self, X: Array, theta: Array) -> float:
        """Return the largest correlation of ``theta`` (n, C) with a unit neuron of the family, no less by rounding."""
        pricer = self.pricer(X)
        norms = 1 + gamma(2 * X.shape[1] + theta.shape[1] + 16)  # of a neuron, and of its outputs
        return norms * pricer.price(theta, 1).size + pricer.rounding_error(theta)

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
