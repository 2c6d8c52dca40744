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


class NetworkClassifier(ClassifierMixin, ConvexNetwork):
    """Labels of any kind: two classes are one output of -1 and 1, more are one output each."""

    _losses = ("squared", "logistic", "squared_hinge")

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the rows X (n, d) with labels y (n,)."""
        self._train(*self._encoded(X, y))
        return self

    def beta_max(self, X: Any, y: Any) -> float:
        """Least beta with which `fit` finds a network without neurons."""
        data, targets, loss, _ = clone(self)._encoded(X, y)
        return self._least_empty_beta(data, targets, loss)

    def _encoded(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], str, Any]:
        """Check everything; return rows, targets (n, C), the loss of that many classes, and the classes."""
        self._check_parameters()
        data, labels = validate_data(self, X, y, dtype=np.float64)
        check_classification_targets(labels)
        self.classes_, index = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            rule = "labels of at least two classes"
            raise fail("y", type(self).__name__, rule, describe(f"one class, {self.classes_.tolist()[0]!r}"))
        targets, loss = encode_labels(index, len(self.classes_), self.loss)
        return data, targets, loss, self.classes_

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

    def fit(self, X: Any, y: Any) -> Self:
        """Train on the rows X (n, d) with targets y (n,) or (n, outputs)."""
        self._train(*self._encoded(X, y))
        return self

    def beta_max(self, X: Any, y: Any) -> float:
        """Least beta with which `fit` finds a network without neurons."""
        data, targets, loss, _ = clone(self)._encoded(X, y)
        return self._least_empty_beta(data, targets, loss)

    def _encoded(self, X: Any, y: Any) -> tuple[NDArray[np.float64], NDArray[np.float64], str, Any]:
        """Check everything; return rows, targets (n, C), the loss, and no classes."""
        self._check_parameters()
        data, targets = validate_data(self, X, y, dtype=np.float64, multi_output=True, y_numeric=True)
        self._target_ndim = targets.ndim
        return data, np.asarray(targets, dtype=np.float64).reshape(len(data), -1), self.loss, None

    def predict(self, X: Any) -> NDArray[np.float64]:
        """Predicted targets, (n,) or (n, outputs) as in `fit`."""
        out = self._outputs(X)
        return out[:, 0] if self._target_ndim == 1 else out

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags
