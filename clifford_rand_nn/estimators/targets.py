"""Classification and regression: what `fit`, `predict` and the losses need of the targets."""

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import ClassifierMixin, RegressorMixin, clone
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from clifford_rand._checks import describe, fail
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.problems.targets import encode_labels

__all__ = ["NetworkClassifier", "NetworkRegressor"]

_Encoded = tuple[NDArray[np.float64], NDArray[np.float64], str, Any, NDArray[np.float64] | None]


class NetworkClassifier(ClassifierMixin, ConvexNetwork):
    """Labels of any kind: two classes are one output of -1 and 1, more are one output each."""

    _losses = ("squared", "logistic", "squared_hinge")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows X (n, d) with labels y (n,) and, if given, weights (n,) ≥ 0 of the rows.

        Loss and objective are means with these weights, of which only the ratios matter: ``beta`` means what it means
        without weights, and a whole number is as good as so many copies of a row, as far as the patterns are the same.
        Rows of weight zero are left out before anything else, so ``patterns_``, ``result_`` and indices of rows are
        those of the others.
        """
        self._train(*self._encoded(X, y, sample_weight))
        return self

    def beta_max(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Least beta with which `fit` finds a network without neurons."""
        data, targets, loss, _, weights = clone(self)._encoded(X, y, sample_weight)
        return self._least_empty_beta(data, targets, loss, weights)

    def _encoded(self, X: Any, y: Any, sample_weight: Any = None) -> _Encoded:
        """Check everything; return rows, targets (n, C), the loss of that many classes, the classes, and weights."""
        self._check_parameters()
        data, labels = validate_data(self, X, y, dtype=self._dtypes)
        check_classification_targets(labels)
        data, labels, weights = self._weighted_rows(data, labels, sample_weight)
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            rule = "labels of at least two classes"
            where = "" if self._sample_weight is None else " where the weight is not zero"
            raise fail("y", type(self).__name__, rule, describe(f"one class, {self.classes_.tolist()[0]!r}{where}"))
        targets, loss = encode_labels(index, len(self.classes_), self.loss)
        return data, targets, loss, self.classes_, weights

    def decision_function(self, X: Any) -> NDArray[np.float64]:
        """Network outputs: (n,) for two classes, where > 0 means ``classes_[1]``, else (n, n_classes)."""
        out = self._outputs(X)
        return out[:, 0] if out.shape[1] == 1 else out

    def predict(self, X: Any) -> NDArray[Any]:
        """Class labels (n,)."""
        out = self.decision_function(X)
        return np.asarray(self.classes_[(out > 0).astype(int) if out.ndim == 1 else out.argmax(axis=1)])

    @available_if(lambda self: self.loss == "logistic")
    def predict_proba(self, X: Any) -> NDArray[np.float64]:
        """Class probabilities (n, n_classes); only for loss="logistic"."""
        out = self.decision_function(X)
        if out.ndim == 1:
            return np.stack([expit(-out), expit(out)], axis=1)
        return np.asarray(softmax(out, axis=1))


class NetworkRegressor(RegressorMixin, ConvexNetwork):
    """Real targets, one or several; several share their neurons."""

    _losses = ("squared", "huber")

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Train on the rows X (n, d) with targets y (n,) or (n, outputs) and, if given, weights (n,) ≥ 0 of the rows.

        Loss and objective are means with these weights, of which only the ratios matter: ``beta`` means what it means
        without weights, and a whole number is as good as so many copies of a row, as far as the patterns are the same.
        Rows of weight zero are left out before anything else, so ``patterns_``, ``result_`` and indices of rows are
        those of the others.
        """
        self._train(*self._encoded(X, y, sample_weight))
        return self

    def beta_max(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Least beta with which `fit` finds a network without neurons."""
        data, targets, loss, _, weights = clone(self)._encoded(X, y, sample_weight)
        return self._least_empty_beta(data, targets, loss, weights)

    def _encoded(self, X: Any, y: Any, sample_weight: Any = None) -> _Encoded:
        """Check everything; return rows, targets (n, C), the loss, no classes, and weights."""
        self._check_parameters()
        data, targets = validate_data(self, X, y, dtype=self._dtypes, multi_output=True, y_numeric=True)
        self._target_ndim = targets.ndim
        data, targets, weights = self._weighted_rows(data, targets, sample_weight)
        return data, np.asarray(targets, dtype=np.float64).reshape(len(data), -1), self.loss, None, weights

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted targets, (n,) or (n, outputs) as in `fit`."""
        out = self._outputs(X)
        return out[:, 0] if self._target_ndim == 1 else out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
