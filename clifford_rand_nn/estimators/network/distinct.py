"""Rows that differ: what a problem is solved on, so that copies of a row are as good as its weight."""

from dataclasses import dataclass
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse

from clifford_rand._typing import Array
from clifford_rand_nn.certificates import Certificate, proved
from clifford_rand_nn.estimators.network.copies import merged_weights, shared_out
from clifford_rand_nn.estimators.network.few import Proved
from clifford_rand_nn.gates.sampling import merged_rows
from clifford_rand_nn.infinite.choice import Compared, Problem
from clifford_rand_nn.infinite.targets import level
from clifford_rand_nn.problems.duality import DualBound


class Data(NamedTuple):
    """Checked rows that count (n, d), CSR or dense, targets (n, C), weights with mean 1 and groups from 0, or None."""

    X: Any
    targets: Array
    weights: Array | None
    groups: NDArray[np.intp] | None


class LeftOut(NamedTuple):
    """What was said of rows by fits without them.

    Attributes
    ----------
    place : (n,) int
        Of each row among the distinct ones.
    outputs : (m, C)
        Of the distinct rows.
    variance : (m,) or None
        Of the network at them.
    honest : (m,) bool
        For which of them the final choice was judged. With learned gates these are rows that were held out of all; the
        outputs of the others are those of leave-one-out before gates were learned.
    compared : Compared or None
        The best before gates were learned, on these rows; None for many rows.
    message : str
        Why the fit did not reach its tolerance, if it did not.
    """

    place: NDArray[np.intp]
    outputs: Array
    variance: Array | None
    honest: NDArray[np.bool_]
    compared: Compared | None = None
    message: str = ""


@dataclass(frozen=True, eq=False)
class Distinct:
    """Rows with everything that is the same for their copies, in which only targets differ.

    Attributes
    ----------
    data : Data
    problem : Problem
        Of m distinct rows with the mean targets of their copies.
    first : (m,) int
        A row of the data for each.
    place : (n,) int
        The distinct row of each row.
    mass : (m,)
        Sum of the weights of the copies.
    """

    data: Data
    problem: Problem
    first: NDArray[np.intp]
    place: NDArray[np.intp]
    mass: Array

    @classmethod
    def of(cls, data: Data) -> Self:
        """Return the distinct rows of data; rows of different groups are not copies."""
        rows = data.X
        if data.groups is not None:
            rows = (hstack if issparse(rows) else np.column_stack)([rows, data.groups[:, None]])
        first, place = merged_rows(rows.tocsr() if issparse(rows) else rows)
        own = np.ones(len(data.targets)) if data.weights is None else data.weights
        mass = np.bincount(place, own).astype(np.float64)
        targets = np.stack([np.bincount(place, own * column) for column in data.targets.T], axis=1) / mass[:, None]
        targets = level(data.targets, targets)  # where a mean would be off by its rounding
        groups = None if data.groups is None else data.groups[first]
        return cls(data, Problem(data.X[first], targets, merged_weights(mass), groups), first, place, mass)

    def __len__(self) -> int:
        return len(self.first)

    def certificate(self, found: Proved, classes: NDArray[Any] | None, sample_weight: Array | None) -> Certificate:
        r"""Return the certificate for all rows: what was proved of the distinct ones, with the spread of copies added.

        With :math:`\bar y` the mean target of the copies of a row, both values rise by the mean of
        :math:`\tfrac12\omega||y-\bar y||^2`, and the dual point of a copy is its share of that of its row plus
        :math:`\omega(y-\bar y)`.
        """
        data = self.data
        off = data.targets - self.problem.targets[self.place]
        apart = off if data.weights is None else data.weights[:, None] * off
        spread = 0.5 * float((apart * off).sum()) / len(off)
        theta = apart + shared_out(found.dual_point * (found.dual > 0), self.place, self.mass, data.weights)
        bound = DualBound(max(found.dual, 0.0) + spread, theta)
        return Certificate(
            **proved(found.primal + spread, bound, classes is None),
            n_patterns=found.n_patterns,
            scope=found.scope,
            loss="squared",
            beta=found.beta,
            bias=False,
            fit_intercept=True,
            claim=found.claim,
            classes=classes,
            sample_weight=sample_weight,
        )
