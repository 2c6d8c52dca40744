"""Scores of predictions: one record of the usual measures, for classes and for numbers."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import ClassifierMixin, RegressorMixin
from sklearn.metrics import (
    accuracy_score,
    confusion_matrix,
    d2_pinball_score,
    d2_tweedie_score,
    mean_absolute_error,
    mean_squared_error,
    r2_score,
    roc_auc_score,
)
from sklearn.utils import check_array

from clifford_rand._checks import check_length
from clifford_rand._typing import Array
from clifford_rand_nn.sparse_rows import group_means

_BINS = 10
LEAST_PROBABILITY = 1e-15  # a probability of zero would cost infinitely much


@dataclass(frozen=True)
class Scores:
    """Measures of predictions for rows that the predictor has not seen, or for those it was trained on.

    Attributes
    ----------
    n_rows : int
    accuracy, balanced_accuracy : float or None
        Share of the rows that are right; the mean of these shares over the classes. None for numbers.
    log_loss, brier, calibration_error : float or None
        Of probabilities, where there are any: mean negative log-likelihood (nats); mean squared distance of the
        probabilities from 0 and 1, summed over the classes; mean distance between the probability of the predicted
        class and the share of rows that were right, over ten bins with as many rows each.
    r2, rmse, mae : float or None
        Of numbers: 1 - squared error over the variance; root of the mean squared error and mean absolute error, in
        units of the target.
    coverage : float or None
        Share of the rows whose target lies in its interval.
    roc_auc : float or None
        Of the probabilities of two classes, area under the curve of true over false positive rates.
    """

    n_rows: int
    accuracy: float | None = None
    balanced_accuracy: float | None = None
    log_loss: float | None = None
    brier: float | None = None
    calibration_error: float | None = None
    r2: float | None = None
    rmse: float | None = None
    mae: float | None = None
    coverage: float | None = None
    roc_auc: float | None = None

    @property
    def main(self) -> float:
        """Accuracy, or R² for numbers."""
        value = self.r2 if self.accuracy is None else self.accuracy
        assert value is not None
        return value


def score_classes(
    y: NDArray[Any],
    predicted: NDArray[Any],
    classes: NDArray[Any] | None = None,
    probabilities: Array | None = None,
    weights: Array | None = None,
) -> Scores:
    """Return the scores of labels, with those of probabilities (n, C) in the order of ``classes`` if there are any.

    A row whose label is none of the classes counts as wrong, with a probability of 1e-15.
    """
    accuracy = float(accuracy_score(y, predicted, sample_weight=weights))
    share = [float(np.average(predicted[y == c] == c, weights=_of(weights, y == c))) for c in np.unique(y)]
    balanced = float(np.mean(share))
    if probabilities is None or classes is None:
        return Scores(len(y), accuracy, balanced)
    known, loss = np.isin(y, classes), log_loss(y, classes, probabilities, weights)
    hit = (classes[None, :] == y[:, None]).astype(np.float64)
    brier = float(np.average(((probabilities - hit) ** 2).sum(axis=1) + ~known, weights=weights))
    error, area = calibration_error(y, classes, probabilities, weights), None
    if len(classes) == 2 and len(np.unique(y[known])) == 2:
        own = None if weights is None else weights[known]
        area = float(roc_auc_score(y[known] == classes[1], probabilities[known, 1], sample_weight=own))
    return Scores(len(y), accuracy, balanced, loss, brier, error, roc_auc=area)


def log_loss(y: NDArray[Any], classes: NDArray[Any], probabilities: Array, weights: Array | None = None) -> float:
    """Return the mean of -log of the probability (n, C) of each label y (n,), 1e-15 at least: of none of the classes.

    >>> log_loss(np.array(["a", "b"]), np.array(["a", "b"]), np.array([[1.0, 0.0], [0.0, 1.0]]))
    0.0
    """
    known = np.isin(y, classes)
    place = np.searchsorted(classes, np.where(known, y, classes[0]))
    of_label = np.where(known, probabilities[np.arange(len(y)), place], 0.0)
    return float(np.average(-np.log(np.maximum(of_label, LEAST_PROBABILITY)), weights=weights))


def calibration_error(
    y: NDArray[Any], classes: NDArray[Any], probabilities: Array, weights: Array | None = None
) -> float:
    """Return the mean distance of confidence and share right over ten bins of as many rows.

    The confidence is the probability of the most probable class.
    """
    sure = probabilities.max(axis=1)
    right = classes[probabilities.argmax(axis=1)] == y
    weights = np.ones(len(y)) if weights is None else weights
    total = 0.0
    for rows in np.array_split(np.argsort(sure, kind="stable"), min(_BINS, len(y))):
        mass = weights[rows].sum()
        if mass > 0:
            total += abs(float(weights[rows] @ (sure[rows] - right[rows])))
    return total / float(weights.sum())


def score_numbers(
    y: Array, predicted: Array, weights: Array | None = None, interval: tuple[Array, Array] | None = None
) -> Scores:
    """Return the scores of predicted numbers, with the coverage of intervals if there are any."""
    inside = None
    if interval is not None:
        inside = float(np.average((interval[0] <= y) & (y <= interval[1]), weights=weights))
    r2 = float("nan") if len(y) < 2 else r_squared(y, predicted, weights)
    rmse = float(np.sqrt(mean_squared_error(y, predicted, sample_weight=weights)))
    mae = float(mean_absolute_error(y, predicted, sample_weight=weights))
    return Scores(len(y), r2=r2, rmse=rmse, mae=mae, coverage=inside)


def confusion(y: NDArray[Any], predicted: NDArray[Any], labels: NDArray[Any]) -> NDArray[np.intp]:
    """Return the counts (C, C) of rows: which class they are of (row), which one was predicted (column)."""
    counts: NDArray[np.intp] = confusion_matrix(y, predicted, labels=labels)
    return counts


def _of(weights: Array | None, rows: NDArray[np.bool_]) -> Array | None:
    return None if weights is None or not weights[rows].any() else weights[rows]


_LARGEST = 1e300  # bound of predictions in units of the targets: R² is -inf from 1e154 on


def r_squared(targets: Array, predicted: Array, weights: Array | None = None) -> float:
    r"""Return the coefficient of determination, the mean over the outputs of R² (1 is perfect, 0 is the best constant).

    .. math:: R^2 = 1 - \frac{\sum_i\omega_i(y_i-f_i)^2}{\sum_i\omega_i(y_i-\bar y)^2},\qquad
              \bar y = \sum_i\omega_iy_i\Big/\sum_i\omega_i

    Targets that are all one number have no variance: 1 if predicted to the last bit, else 0. The rounding of their mean
    would be a variance, and R² could be anything; less the first, they have none.

    >>> w = np.array([3.0, 1.0, 3.0])
    >>> r_squared(np.full(3, 0.1), np.array([0.1, 0.1, 0.1 + 1e-16]), w)
    0.0
    >>> r_squared(np.full(3, 0.1), np.full(3, 0.1), w)
    1.0
    """
    # a power of two for each output: squares of 1e155 overflow, and those of 1e-170 vanish
    unit = np.ldexp(1.0, np.maximum(np.frexp(np.abs(targets).max(axis=0, initial=0.0))[1] - 2, -1022))
    with np.errstate(over="ignore"):
        targets, predicted = targets / unit, np.clip(predicted / unit, -_LARGEST, _LARGEST)
        return float(r2_score(targets - targets[0], predicted - targets[0], sample_weight=weights))


def about_means(
    targets: Array, predicted: Array, weights: Array | None = None, blocks: NDArray[Any] | None = None
) -> tuple[Array, Array]:
    """Return targets and predictions less the mean target of their block, so that R² is that within blocks.

    Later rows are scored about their own mean: R² of all blocks about one mean would be that of the drift of the mean.
    Without ``blocks`` they are returned as they are.

    >>> about_means(np.array([1.0, 3.0, 7.0]), np.array([2.0, 2.0, 6.0]), blocks=np.array([0, 0, 1]))
    (array([-1.,  1.,  0.]), array([ 0.,  0., -1.]))
    """
    if blocks is None:
        return targets, predicted
    places = np.unique(blocks, return_inverse=True)[1]
    means = group_means(targets.reshape(len(targets), -1), places, weights)[places].reshape(targets.shape)
    return targets - means, predicted - means


def d_squared(targets: Array, predicted: Array, weights: Array | None = None, quantile: float | None = None) -> float:
    r"""Return D², the share of the deviance that is explained, the mean over the outputs.

    .. math:: D^2 = 1 - \frac{\sum_i\omega_i\,\mathrm{dev}(y_i, f_i)}{\sum_i\omega_i\,\mathrm{dev}(y_i, c)}

    The deviance is Poisson's, with c the mean target; or, of a ``quantile`` between 0 and 1, the pinball loss, with c
    that quantile of the targets. Targets that are all one number have none: 1 if predicted to the last bit, else 0.

    >>> round(d_squared(np.array([0.0, 1.0, 5.0]), np.array([0.5, 1.0, 4.0])), 3)
    0.842
    """
    scores = []
    for y, f in zip(targets.reshape(len(targets), -1).T, predicted.reshape(len(targets), -1).T, strict=True):
        f = np.clip(f, -_LARGEST, _LARGEST)
        if (y == y[0]).all():
            scores.append(float((f == y).all()))
        elif quantile is None:
            f = np.maximum(f, np.finfo(np.float64).tiny)
            scores.append(float(d2_tweedie_score(y, f, sample_weight=weights, power=1)))
        else:
            scores.append(float(d2_pinball_score(y, f, sample_weight=weights, alpha=quantile)))
    return float(np.mean(scores))


class R2ScoreMixin(RegressorMixin):
    """A regressor of one or several outputs, whose score is `r_squared`, or `d_squared` of its loss."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return R² of the predictions for rows X with targets y (n,) or (n, outputs); 1 is perfect.

        With ``loss="poisson"`` or "quantile" it is D², the share of that deviance that is explained.
        """
        model: Any = self
        predicted = model.predict(X)
        targets = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        _check_counts(model, predicted, targets, sample_weight)
        if model.loss in ("poisson", "quantile"):
            level = model.quantile if model.loss == "quantile" else None
            return d_squared(targets, predicted, sample_weight, level)
        return r_squared(targets, predicted, sample_weight)


class AccuracyMixin(ClassifierMixin):
    """A classifier whose score is its accuracy."""

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Return the accuracy on rows X with labels y (n,), or the share of rows with all labels right of (n, L)."""
        model: Any = self
        predicted = model.predict(X)
        _check_counts(model, predicted, y if hasattr(y, "shape") else np.asarray(y), sample_weight)
        return float(accuracy_score(y, predicted, sample_weight=sample_weight))


def _check_counts(model: object, predicted: Any, y: Any, sample_weight: Any) -> None:
    owner = type(model).__name__
    check_length(y.shape, len(predicted), "y", owner, "target")
    if sample_weight is not None:
        check_length(np.shape(sample_weight), len(predicted), "sample_weight", owner, "weight")
