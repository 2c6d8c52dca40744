"""Calibrated probabilities of multilabel targets, one calibration for each label."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.estimators.network.unique_rows import LabeledRows, LeftOut
from clifford_rand_nn.export.program import Value, beside, constant
from clifford_rand_nn.kernel_network.calibration import Calibration, fit_calibration


@dataclass(frozen=True, eq=False)
class MultilabelCalibration:
    """Probabilities of L labels, each from one output by a `Calibration` of its own, as of two classes.

    Attributes
    ----------
    calibrations : tuple of Calibration
    """

    calibrations: tuple[Calibration, ...]

    @property
    def share(self) -> float:
        """Not 0 if some probability needs the variance."""
        return max(one.share for one in self.calibrations)

    @property
    def loss(self) -> float:
        """Mean over the labels of the negative log-likelihood of the leave-one-out outputs."""
        return float(np.mean([one.loss for one in self.calibrations]))

    def ordered(self) -> "MultilabelCalibration":
        """Return `Calibration.ordered` of each."""
        return replace(self, calibrations=tuple(one.ordered() for one in self.calibrations))

    def log_probabilities(self, F: Array, variance: Array | None = None) -> Array:
        """Return the logarithms (n, L) of the probabilities that labels are there, of outputs F (n, L)."""
        return self._logs(F, variance)[:, :, 1]

    def log_odds(self, F: Array, variance: Array | None = None) -> Array:
        """Return the log-odds (n, L) of the labels."""
        logs = self._logs(F, variance)
        return np.asarray(logs[:, :, 1] - logs[:, :, 0])

    def stated(self, outputs: Value, variance: Value | None) -> Value:
        """Return the log-odds (n, L) as operations of a program."""
        found = []
        for k, one in enumerate(self.calibrations):
            own = outputs @ constant(np.eye(len(self.calibrations))[:, k : k + 1], f"label_{k}")
            scores = one.stated(own, variance if one.share else None, f"_{k}")
            found.append(scores @ constant([[-1.0], [1.0]], f"odds_{k}"))
        return beside(found).named("odds")

    def _logs(self, F: Array, variance: Array | None) -> Array:
        pairs = zip(self.calibrations, F.T, strict=True)
        each = [one.log_probabilities(f[:, None], variance if one.share else None) for one, f in pairs]
        return np.stack(each, axis=1)


def calibration_of(left: LeftOut, labelled: LabeledRows, n_classes: int) -> Calibration:
    """Return probabilities of classes by what was said of rows left out."""
    told = left.out_of_sample[labelled.place]
    place, index, mass = labelled.place[told], labelled.label[told], labelled.mass[told]
    variance = None if left.variance is None else left.variance[place]
    return fit_calibration(left.outputs[place], index, n_classes, mass, variance)


def calibration_of_each(left: LeftOut, marks: NDArray[Any], weights: Array | None) -> MultilabelCalibration:
    """Return the same of each label, from which rows have it, (n, L) of 0 and 1."""
    found = []
    for k, index in enumerate(marks.T):
        labelled = LabeledRows.make(left.place, index.astype(np.intp), 2, weights)
        found.append(calibration_of(left._replace(outputs=left.outputs[:, k : k + 1]), labelled, 2))
    return MultilabelCalibration(tuple(found))
