"""Unique rows with weights, targets and classes: duplicates of a row count as its weight."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse

from clifford_rand._typing import Array
from clifford_rand_nn.certificates import Certificate
from clifford_rand_nn.certified_values import proved
from clifford_rand_nn.estimators.network.sparse_network import Proved
from clifford_rand_nn.export.program import Value, beside, constant
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration
from clifford_rand_nn.kernel_network.candidates import Compared, Problem, level
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.sparse_rows import merged_rows


class Data(NamedTuple):
    """Checked rows that count (n, d), CSR or dense, targets (n, C), weights with mean 1 and groups from 0, or None."""

    X: Any
    targets: Array
    weights: Array | None
    groups: NDArray[np.intp] | None


class LeftOut(NamedTuple):
    """Out-of-sample outputs (m, C) of the unique rows, with ``place`` (n,) of each row among them, and their variance.

    ``out_of_sample`` (m,) marks the rows that the final choice was judged on. With a learned metric these are held-out
    rows, and the outputs of the others are those of leave-one-out before. ``compared`` is the best candidate before,
    None for many rows; ``message`` says why the fit did not reach its tolerance, if it did not. ``problem`` is that of
    the unique rows, and ``rows`` (k,) the ones that the rows of the network are; None for finite networks.
    """

    place: NDArray[np.intp]
    outputs: Array
    variance: Array | None
    out_of_sample: NDArray[np.bool_]
    compared: Compared | None = None
    message: str = ""
    problem: Problem | None = None
    rows: NDArray[np.intp] | None = None


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The unique rows of data as a problem with the mean targets of their duplicates.

    ``first`` (m,) is a row of the data for each, ``place`` (n,) the unique row of each row, ``mass`` (m,) sums of
    weights.
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

    def certificate(self, proof: Proved, classes: NDArray[Any] | None, sample_weight: Array | None) -> Certificate:
        r"""Return the certificate for all rows: that of the unique ones, with the spread of duplicates added.

        With :math:`\bar y` the mean target of duplicates, both values rise by the mean of
        :math:`\tfrac12\omega||y-\bar y||^2`, and the dual point of each is its share of that of its row plus
        :math:`\omega(y-\bar y)`.
        """
        data = self.data
        off = data.targets - self.problem.targets[self.place]
        apart = off if data.weights is None else data.weights[:, None] * off
        spread = 0.5 * float((apart * off).sum()) / len(off)
        theta = apart + shared_out(proof.dual_point * (proof.dual > 0), self.place, self.mass, data.weights)
        bound = DualBound(max(proof.dual, 0.0) + spread, theta)
        return Certificate(
            **proved(proof.primal + spread, bound, classes is None),
            n_patterns=proof.n_patterns,
            scope=proof.scope,
            loss="squared",
            beta=proof.beta,
            bias=False,
            fit_intercept=True,
            claim=proof.claim,
            classes=classes,
            sample_weight=sample_weight,
        )


class LabeledRows(NamedTuple):
    """Pairs of a unique row and a class of it: a row with it, its place, label and mass; the pair ``of`` each row."""

    first: NDArray[np.intp]
    place: NDArray[np.intp]
    label: NDArray[np.intp]
    mass: Array
    of: NDArray[np.intp]

    @classmethod
    def make(cls, place: NDArray[np.intp], index: NDArray[np.intp], n_classes: int, weights: Array | None) -> Self:
        """Return the pairs of rows (n,) that have a place among the distinct ones, a class and perhaps a weight."""
        pairs, first, of = np.unique(place * n_classes + index, return_index=True, return_inverse=True)
        return cls(first, pairs // n_classes, pairs % n_classes, np.bincount(of, weights).astype(np.float64), of)

    @property
    def weights(self) -> Array | None:
        """Their weights with mean 1, or None if they are equal."""
        return merged_weights(self.mass)

    @property
    def ambiguous(self) -> bool:
        """Whether a row has more than one class."""
        return bool((np.diff(self.place) == 0).any())

    def spread(self, theta: Array, weights: Array | None) -> Array:
        """Return what is each row's share (n, C) of a dual point (p, C) of the pairs, by weights of the rows."""
        return shared_out(theta, self.of, self.mass, weights)


def merged_weights(mass: Array) -> Array | None:
    """Return the weights, with mean 1, of merged rows with these sums of weights; None if they are equal."""
    return None if (mass == mass[0]).all() else np.asarray(mass / mass.mean())


def shared_out(theta: Array, place: NDArray[np.intp], mass: Array, weights: Array | None) -> Array:
    r"""Return the dual point (n, C) of rows from that of the merged ones (m, C), with the same means of correlations.

    .. math:: \theta'_i = \frac nm\frac{\omega_i}{\mathrm{mass}_{p(i)}}\theta_{p(i)}

    Row i with the weight :math:`\omega_i`, of mean 1, or 1, is merged into p(i) = ``place[i]``.
    """
    own = np.ones(len(place)) if weights is None else weights
    return np.asarray((own / mass[place] * (len(place) / len(mass)))[:, None] * theta[place])


@dataclass(frozen=True, eq=False)
class MultilabelCalibration:
    """Probabilities of L labels, each from one output by a `Calibration` of its own, as of two classes."""

    calibrations: tuple[Calibration, ...]

    @property
    def share(self) -> float:
        """Not 0 if some probability needs the variance."""
        return max(calibration.share for calibration in self.calibrations)

    @property
    def loss(self) -> float:
        """Mean over the labels of the negative log-likelihood of the leave-one-out outputs."""
        return float(np.mean([calibration.loss for calibration in self.calibrations]))

    def ordered(self) -> "MultilabelCalibration":
        """Return `Calibration.ordered` of each."""
        return replace(self, calibrations=tuple(calibration.ordered() for calibration in self.calibrations))

    def log_probabilities(self, F: Array, variance: Array | None = None) -> Array:
        """Return the logarithms (n, L) of the probabilities that labels are there, of outputs F (n, L)."""
        return self._logs(F, variance)[:, :, 1]

    def log_odds(self, F: Array, variance: Array | None = None) -> Array:
        """Return the log-odds (n, L) of the labels."""
        logs = self._logs(F, variance)
        return np.asarray(logs[:, :, 1] - logs[:, :, 0])

    def stated(self, outputs: Value, variance: Value | None) -> Value:
        """Return the log-odds (n, L) as operations of a program."""
        odds = []
        for k, calibration in enumerate(self.calibrations):
            own = outputs @ constant(np.eye(len(self.calibrations))[:, k : k + 1], f"label_{k}")
            scores = calibration.stated(own, variance if calibration.share else None, f"_{k}")
            odds.append(scores @ constant([[-1.0], [1.0]], f"odds_{k}"))
        return beside(odds).named("odds")

    def _logs(self, F: Array, variance: Array | None) -> Array:
        pairs = zip(self.calibrations, F.T, strict=True)
        each = [
            calibration.log_probabilities(f[:, None], variance if calibration.share else None)
            for calibration, f in pairs
        ]
        return np.stack(each, axis=1)


def calibration_of(left: LeftOut, labeled: LabeledRows, n_classes: int) -> Calibration:
    """Return probabilities of classes by leave-one-out outputs."""
    judged = left.out_of_sample[labeled.place]
    place, index, mass = labeled.place[judged], labeled.label[judged], labeled.mass[judged]
    variance = None if left.variance is None else left.variance[place]
    return fit_calibration(left.outputs[place], index, n_classes, mass, variance)


def calibration_of_each(left: LeftOut, marks: NDArray[Any], weights: Array | None) -> MultilabelCalibration:
    """Return the same of each label, from which rows have it, (n, L) of 0 and 1."""
    calibrations = []
    for k, index in enumerate(marks.T):
        labeled = LabeledRows.make(left.place, index.astype(np.intp), 2, weights)
        calibrations.append(calibration_of(left._replace(outputs=left.outputs[:, k : k + 1]), labeled, 2))
    return MultilabelCalibration(tuple(calibrations))
