"""scikit-learn's methods for the same task: linear models, kernels, trees and a network."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, lasso_path
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from examples.paper.methods.base import Array, Labels, Method, Model

__all__ = ["Lasso", "Peer", "gradient_boosting", "logistic", "mlp", "svc_rbf"]


class _Estimator(Model):
    """A fitted classifier of scikit-learn."""

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def decision(self, X: Array) -> Array:
        """Return its decision values, or the log-odds of its probabilities where it has none."""
        if hasattr(self.estimator, "decision_function"):
            return np.asarray(self.estimator.decision_function(X), dtype=np.float64)
        tiny = np.finfo(np.float64).tiny  # a probability that rounded to 0 has finite log-odds so
        low, high = np.log(np.maximum(np.asarray(self.estimator.predict_proba(X), dtype=np.float64), tiny)).T
        return np.asarray(high - low)


class Peer(Method):
    """A classifier of scikit-learn; a point of the grid is a set of its parameters.

    Parameters
    ----------
    name : str
    make : callable
        ``make(seed, d, **point)`` returns an estimator for d features.
    grid : sequence of dict
    margin_loss : str or None

    Examples
    --------
    >>> X = np.array([[-1.0], [-2.0], [1.0], [2.0]])
    >>> logistic().fit(X, np.array([0, 0, 1, 1]), {"C": 1.0}, 0).decision(X).round(1).tolist()
    [-1.0, -2.0, 1.0, 2.0]
    """

    def __init__(
        self,
        name: str,
        make: Callable[..., Any],
        grid: Sequence[dict[str, Any]],
        *,
        margin_loss: str | None = "logistic",
    ) -> None:
        self.name, self._make, self.grid, self.margin_loss = name, make, tuple(grid), margin_loss

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> Model:
        """Fit the estimator with these parameters."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # a limit on steps is part of the method here
            return _Estimator(self._make(seed, X.shape[1], **value).fit(X, y))

    def describe(self) -> str:
        """Return the grid and the estimator."""
        return " ".join(f"{super().describe()} of {self._make(0, 1, **self.grid[0])!r}".split())


def logistic() -> Peer:
    """Logistic regression with a ridge penalty: a linear classifier."""

    def make(seed: int, d: int, C: float) -> Any:
        return LogisticRegression(C=C, max_iter=1000)

    # C is the inverse penalty of a sum over rows with features of unit size. Below 1e-5 the classes' means decide;
    # at 10 some hundred separable rows are fitted to the last.
    return Peer("logistic", make, [{"C": float(C)} for C in np.geomspace(1e-5, 10.0, 10)])


class _Linear(Model):
    def __init__(self, weights: Array, intercept: float) -> None:
        self.weights, self.intercept = weights, intercept

    def decision(self, X: Array) -> Array:
        return np.asarray(X @ self.weights + self.intercept)


class Lasso(Method):
    """The Lasso on labels of -1 and 1: a sparse linear classifier; the grid is alpha, as shares of alpha_max."""

    name = "lasso"
    margin_loss = "squared"
    # From a few features down to more than the rows determine.
    grid = tuple(float(share) for share in np.geomspace(0.5, 2e-3, 10))

    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> Model:
        """Fit at one share of alpha_max."""
        return next(self.fit_grid(X, y, [value], seed))

    def fit_grid(self, X: Array, y: Labels, values: Sequence[Any], seed: int) -> Iterator[Model]:
        """Fit share after share, each from the last one's solution."""
        target = np.where(y == 1, 1.0, -1.0)
        mean, middle = X.mean(axis=0), target.mean()
        centered, target = np.asfortranarray(X - mean), target - middle
        top = float(np.abs(centered.T @ target).max()) / len(X)
        weights = np.zeros(X.shape[1])
        for share in values:
            if top > 0:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore", ConvergenceWarning)
                    _, path, _ = lasso_path(centered, target, alphas=[share * top], coef_init=weights, max_iter=2000)
                weights = np.array(path[:, 0])
            yield _Linear(weights, float(middle - mean @ weights))


def svc_rbf() -> Peer:
    """Support-vector machine with a Gaussian kernel; gamma in units of 1/d: 1 is "scale" for features of unit size."""

    def make(seed: int, d: int, C: float, gamma: float) -> Any:
        return SVC(C=C, gamma=gamma / d)

    grid = [{"C": C, "gamma": gamma} for C in (0.1, 1.0, 10.0) for gamma in (0.2, 1.0, 5.0)]
    return Peer("svc-rbf", make, grid, margin_loss=None)


def gradient_boosting() -> Peer:
    """Boosting with a hundred trees, by their learning rate."""

    def make(seed: int, d: int, learning_rate: float) -> Any:
        return HistGradientBoostingClassifier(
            learning_rate=learning_rate, max_leaf_nodes=15, early_stopping=False, random_state=seed
        )

    return Peer("gradient-boosting", make, [{"learning_rate": rate} for rate in (0.03, 0.1, 0.2, 0.5)])


def mlp() -> Peer:
    """Fifty ReLU neurons by Adam, by their ridge penalty."""

    def make(seed: int, d: int, alpha: float) -> Any:
        return MLPClassifier((50,), alpha=alpha, max_iter=50, random_state=seed)

    return Peer("mlp", make, [{"alpha": alpha} for alpha in (100.0, 10.0, 1.0, 0.1, 1e-2, 1e-4)])
