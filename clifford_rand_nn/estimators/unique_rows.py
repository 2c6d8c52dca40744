"""Unique rows with weights, targets and classes: duplicates of a row count as its weight."""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import hstack, issparse

from clifford_rand._typing import Array
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.values import proved
from clifford_rand_nn.estimators.sparse_network import Proved
from clifford_rand_nn.export.program import Value, beside, constant
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration
from clifford_rand_nn.kernel_network.candidates import Compared, Problem, is_constant, level
from clifford_rand_nn.kernel_network.leave_one_out import Duplicates, cells, divisor
from clifford_rand_nn.problems.duality import DualBound
from clifford_rand_nn.sparse_rows import group_means, merged_rows


@dataclass(frozen=True, eq=False)
class Data:
    """Checked rows that count (n, d), CSR or dense, targets (n, C), weights with mean 1 and groups from 0, or None."""

    X: Any
    targets: Array
    weights: Array | None
    groups: NDArray[np.intp] | None


# Of the variance of the targets: duplicates that vary by less among themselves are one observation that was repeated.
_REPEATED = 0.02


def shares(targets: Array, weights: Array | None, place: NDArray[np.intp]) -> Array | None:
    """Return the share (n,) of each row in the weight of its unique row ``place``, or None if duplicates are repeated.

    They are repeated where their variance is next to nothing beside that of all targets (n, C), in the mean over
    outputs: rows that stand for counts, or that balance classes.

    >>> shares(np.array([[0.0], [1.0], [0.0]]), None, np.array([0, 0, 1])).tolist()
    [0.5, 0.5, 1.0]
    >>> shares(np.array([[1.0], [1.0], [0.0]]), None, np.array([0, 0, 1])) is None
    True
    """
    own = np.ones(len(place)) if weights is None else weights
    mass = np.bincount(place, own)
    share = own / mass[place]
    free = float(own @ (1.0 - share))  # degrees of freedom within duplicates
    varies = ~is_constant(targets)
    if free <= 0 or not varies.any():
        return None
    within = own @ (targets - group_means(targets, place, weights)[place]) ** 2 / free
    total = own @ (targets - np.average(targets, axis=0, weights=own)) ** 2 / own.sum()
    return share if float((within[varies] / total[varies]).mean()) > _REPEATED else None


@dataclass(frozen=True, eq=False)
class UniqueRows:
    """The unique rows of data as a problem with the mean targets of their duplicates.

    ``first`` (m,) is a row of the data for each, ``place`` (n,) the unique row of each row, ``mass`` (m,) sums of
    weights. ``share`` (n,) is that of each row in the weight of its unique row, if duplicates are observations of their
    own, see `shares`; None if they are left out together.
    """

    data: Data
    problem: Problem
    first: NDArray[np.intp]
    place: NDArray[np.intp]
    mass: Array
    share: Array | None = None

    @classmethod
    def of(cls, data: Data) -> Self:
        """Return the distinct rows of data; rows of different groups are not copies."""
        rows = data.X
        if data.groups is not None:
            rows = (hstack if issparse(rows) else np.column_stack)([rows, data.groups[:, None]])
        first, place = merged_rows(rows.tocsr() if issparse(rows) else rows)
        own = np.ones(len(data.targets)) if data.weights is None else data.weights
        mass = np.bincount(place, own).astype(np.float64)
        means = group_means(data.targets, place, data.weights)
        targets = level(data.targets, means)  # where a mean would be off by its rounding
        groups = None if data.groups is None else data.groups[first]
        share = None if groups is not None else shares(data.targets, data.weights, place)
        duplicates = None if share is None else Duplicates.of(place, share, data.targets - targets[place])
        problem = Problem(data.X[first], targets, merged_weights(mass), groups, duplicates)
        return cls(data, problem, first, place, mass, share)

    def __len__(self) -> int:
        return len(self.first)

    def left_out(self, outputs: Array, left: Array) -> Array:
        r"""Return outputs (n, C) of rows without themselves, from those (m, C) of unique rows without all duplicates.

        With :math:`\bar y-f=l(\bar y-f^{(-i)})` and :math:`l=(I-H)_{ii}`, ``left`` (m,), 1 where a row was held out,
        it is :math:`y_j-(y_j-f)/d_j`, see `Duplicates`.
        """
        place, targets, own = self.place, self.problem.targets, self.data.targets
        if self.share is None:
            return outputs[place]
        fitted = targets - (targets - outputs) * left[:, None]
        alone = own - (own - fitted[place]) / divisor(left[place], self.share)[:, None]
        return np.where((self.share < 1)[:, None], alone, outputs[place])

    def left_out_variance(self, variance: Array, left: Array) -> Array:
        r"""Return predictive variances (n,) of the same rows from those (m,), :math:`v_il_i/d_j`."""
        if self.share is None:
            return variance[self.place]
        return np.asarray((variance * left)[self.place] / divisor(left[self.place], self.share))

    def certificate(self, proof: Proved, classes: NDArray[Any] | None, sample_weight: Array | None) -> Certificate:
        r"""Return the certificate for all rows: that of the unique ones, with the spread of duplicates added.

        With :math:`\bar y` the mean target of duplicates, both values rise by the mean of
        :math:`\tfrac12\omega||y-\bar y||^2`, and the dual point of each is its share of that of its row plus
        :math:`\omega(y-\bar y)`. As :math:`\bar y` is rounded, it lies beside the mean of :math:`y-\bar y`, by which
        the value may be lower, times the dual point.
        """
        data, point = self.data, proof.dual_point * (proof.lower_bound > 0)
        off = data.targets - self.problem.targets[self.place]
        rounded = group_means(off, self.place, data.weights)
        lost, off = float(np.abs(point * rounded).mean(axis=0).sum()), off - rounded[self.place]
        apart = off if data.weights is None else data.weights[:, None] * off
        spread = 0.5 * float((apart * off).sum()) / len(off)
        theta = apart + shared_out(point, self.place, self.mass, data.weights)
        bound = DualBound(max(proof.lower_bound, 0.0) + spread - lost, theta)
        return Certificate(
            **proved(proof.objective + spread, bound, classes is None),
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


@dataclass(frozen=True, eq=False)
class LeftOut:
    """Out-of-sample outputs (n, C) of rows and their variance (n,).

    ``out_of_sample`` (n,) marks the rows that the final choice was judged on; with a learned metric these are held-out
    rows, and the outputs of the others are those of leave-one-out before. Other names are those of `Trained`.
    """

    unique: UniqueRows
    outputs: Array
    variance: Array | None
    out_of_sample: NDArray[np.bool_]
    compared: Compared | None = None
    message: str = ""
    rows: NDArray[np.intp] | None = None


class LabeledRows(NamedTuple):
    """Pairs of a unique row and a class of it: a row with it, its place, label and mass; the pair ``of`` each row.

    ``share`` (p,) is that of each of its rows in the pair, if duplicates are observations of their own; these are then
    of one weight.
    """

    first: NDArray[np.intp]
    place: NDArray[np.intp]
    label: NDArray[np.intp]
    mass: Array
    of: NDArray[np.intp]
    share: Array | None

    @classmethod
    def make(cls, unique: UniqueRows, index: NDArray[np.intp], n_classes: int) -> Self:
        """Return the pairs of rows with the classes ``index`` (n,)."""
        cell = unique.place if unique.share is None else cells(unique.place, unique.share)[0]
        pairs, first, of = np.unique(cell * n_classes + index, return_index=True, return_inverse=True)
        share = None if unique.share is None else 1 / np.bincount(of)
        mass = np.bincount(of, unique.data.weights).astype(np.float64)
        return cls(first, unique.place[first], pairs % n_classes, mass, of, share)

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
    def log_loss(self) -> float:
        """Mean over the labels of the negative log-likelihood of the leave-one-out outputs."""
        return float(np.mean([calibration.log_loss for calibration in self.calibrations]))

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
        each = (own.log_probabilities(f[:, None], variance if own.share else None) for own, f in pairs)
        return np.stack(list(each), axis=1)


def calibration_of(left: LeftOut, labeled: LabeledRows, n_classes: int) -> Calibration:
    """Return probabilities of classes by leave-one-out outputs."""
    judged = left.out_of_sample[labeled.first]
    rows, index, mass = labeled.first[judged], labeled.label[judged], labeled.mass[judged]
    variance = None if left.variance is None else left.variance[rows]
    share = None if labeled.share is None else labeled.share[judged]
    return fit_calibration(left.outputs[rows], index, n_classes, mass, variance, share=share)


def calibration_of_each(left: LeftOut, marks: NDArray[Any]) -> MultilabelCalibration:
    """Return the same of each label, from which rows have it, (n, L) of 0 and 1."""
    calibrations = []
    for k, index in enumerate(marks.T):
        labeled = LabeledRows.make(left.unique, index.astype(np.intp), 2)
        calibrations.append(calibration_of(replace(left, outputs=left.outputs[:, k : k + 1]), labeled, 2))
    return MultilabelCalibration(tuple(calibrations))
