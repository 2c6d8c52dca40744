"""An estimator that tries points of a grid by folds and fits the best to all rows; scalers and losses for it."""

from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from examples.accuracy.scores import negative_log_likelihood

__all__ = ["OneScale", "Tuned", "error_rate", "log_loss", "squared_error"]

Folds = Sequence[tuple[NDArray[np.int64], NDArray[np.int64]]]


class OneScale(TransformerMixin, BaseEstimator):
    """Columns minus their mean, all divided by one number: what pixels and embeddings want, whose unit is one.

    Examples
    --------
    >>> OneScale().fit_transform(np.array([[0.0, 1.0], [2.0, 1.0]])).round(3).tolist()
    [[-1.414, 0.0], [1.414, 0.0]]
    """

    def fit(self, X: NDArray[np.float64], y: object = None) -> Self:
        """Take means and the root mean square deviation of all entries."""
        self.mean_ = X.mean(axis=0)
        self.scale_ = float(np.sqrt(np.mean((X - self.mean_) ** 2))) or 1.0
        return self

    def transform(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Scale rows."""
        return np.asarray((X - self.mean_) / self.scale_)


def log_loss(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return the negative log-likelihood of a classifier whose classes are 0, 1, … ."""
    return negative_log_likelihood(model.predict_proba(X), y)


def error_rate(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return the share of rows that a classifier gets wrong."""
    return float(np.mean(model.predict(X) != y))


def squared_error(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> float:
    """Return the mean squared error of a regressor."""
    return float(np.mean((model.predict(X) - y) ** 2))


class Tuned:
    """Tries every point of the grid on each fold, then fits the one with the least mean loss to all rows.

    Parameters
    ----------
    make : callable
        ``make(**point)`` returns an estimator.
    grid : sequence of dict
        Of equal points the first wins.
    loss : callable
        ``loss(model, X, y)``.
    folds : callable
        ``folds(X, y)`` returns the rows fitted and held out.
    last : callable, optional
        Makes the final estimator, if not ``make``.

    Attributes
    ----------
    best_params_ : dict
    model_ : estimator

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> X = np.arange(8.0)[:, None]
    >>> one_fold = lambda X, y: [(np.arange(6), np.arange(6, 8))]
    >>> tuned = Tuned(Ridge, [{"alpha": 100.0}, {"alpha": 0.0}], squared_error, one_fold).fit(X, 2 * X[:, 0])
    >>> tuned.best_params_, tuned.predict(X[:2]).round(6).tolist()
    ({'alpha': 0.0}, [0.0, 2.0])
    """

    def __init__(
        self,
        make: Callable[..., Any],
        grid: Sequence[dict[str, Any]],
        loss: Callable[[Any, NDArray[np.float64], NDArray[Any]], float],
        folds: Callable[[NDArray[np.float64], NDArray[Any]], Folds],
        last: Callable[..., Any] | None = None,
    ) -> None:
        self._make, self._grid, self._loss, self._folds, self._last = make, tuple(grid), loss, folds, last or make

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Choose and fit."""
        parts = self._folds(X, y)
        losses = [np.mean([self._try(point, X, y, *part) for part in parts]) for point in self._grid]
        self.best_params_ = self._grid[int(np.argmin(losses))]
        self.model_ = self._last(**self.best_params_).fit(X, y)
        return self

    def _try(self, point: dict[str, Any], X: Any, y: Any, fitted: Any, held: Any) -> float:
        return self._loss(self._make(**point).fit(X[fitted], y[fitted]), X[held], y[held])

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Predict by the final model."""
        return np.asarray(self.model_.predict(X))

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba":  # only if the final model has it
            return self.model_.predict_proba
        raise AttributeError(name)
