"""The classifiers that the network is compared with: scikit-learn's, tuned as a careful user would."""

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from examples.accuracy.methods.base import Method, folds
from examples.accuracy.methods.tuned import OneScale, Tuned, error_rate, log_loss

__all__ = ["CLASSIFIERS"]

_SCALERS = {"columns": StandardScaler, "one": OneScale}
_LOGISTIC_C = tuple(float(C) for C in 10.0 ** np.arange(-4, 3))
_ALPHAS = np.logspace(-3, 5, 17)
_SVC_GRID = [
    {"C": C, "gamma": gamma} for C in (0.1, 1.0, 10.0, 100.0, 1000.0) for gamma in (0.0625, 0.25, 1.0, 4.0)
]  # gamma in units of 1/d, which is the inverse of a row's squared length
_SVC_START = {"C": 10.0, "gamma": 1.0}  # where the scaler is chosen
BOOSTING_GRID = [
    {"max_leaf_nodes": leaves, **rest}
    for leaves in (4, 12, 31)
    for rest in ({"min_samples_leaf": 20}, {"min_samples_leaf": 5, "max_features": 0.3})
]
BOOSTING_MOST = 400  # trees (of each class)
MLP_GRID = [
    {"alpha": alpha, "hidden_layer_sizes": hidden}
    for hidden in ((100,), (100, 100))
    for alpha in (10.0, 1.0, 0.1, 1e-4)
]


class TunedLogistic:
    """Logistic regression over C, and over columns of unit deviation or one scale for all, by log-loss on 3 folds.

    Along C each fit starts from the last one's weights.

    Examples
    --------
    >>> X = np.repeat([[-1.0], [1.0]], 30, axis=0) + np.linspace(-0.5, 0.5, 60)[:, None]
    >>> model = TunedLogistic(0).fit(X, np.repeat([0, 1], 30))
    >>> sorted(model.best_params_), model.predict(np.array([[-1.0], [1.0]])).tolist()
    (['C', 'scale'], [0, 1])
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Choose and fit."""
        parts = folds(X, y, self.seed, classes=True)
        losses = {
            (scale, C): loss / len(parts)
            for scale in _SCALERS
            for C, loss in zip(
                _LOGISTIC_C, np.sum([self._path(scale, X, y, *part) for part in parts], axis=0), strict=True
            )
        }
        scale, C = min(losses, key=losses.__getitem__)
        self.best_params_ = {"scale": scale, "C": C}
        self.model_ = make_pipeline(_SCALERS[scale](), LogisticRegression(C=C, max_iter=2000)).fit(X, y)
        return self

    def _path(self, scale: str, X: Any, y: Any, fitted: Any, held: Any) -> NDArray[np.float64]:
        scaler = _SCALERS[scale]()
        Z, Z_held = scaler.fit_transform(X[fitted]), scaler.transform(X[held])
        model = LogisticRegression(max_iter=1000, warm_start=True)
        return np.array([log_loss(model.set_params(C=C).fit(Z, y[fitted]), Z_held, y[held]) for C in _LOGISTIC_C])

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Predict by the final model."""
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return its probabilities."""
        return np.asarray(self.model_.predict_proba(X))


class _SVC(SVC):
    """SVC whose gamma is in units of 1/d, and whose parameter ``probability`` is used though it will go."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        given: float = self.gamma  # type: ignore[has-type]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            try:
                self.gamma = given / X.shape[1]
                super().fit(X, y, sample_weight)
            finally:
                self.gamma = given
        return self


class TunedSVC:
    """SVC with a Gaussian kernel: the scaler at one point, then 20 points of C and gamma, by accuracy on 3 folds.

    Its probabilities are its own: Platt's, by five folds, coupled over pairs of classes.
    """

    def __init__(self, seed: int) -> None:
        self.seed = seed

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Choose and fit."""
        parts = folds(X, y, self.seed, classes=True)
        first = Tuned(
            lambda scale: self._made(scale, _SVC_START), [{"scale": s} for s in _SCALERS], error_rate, lambda *_: parts
        ).fit(X, y)
        scale = first.best_params_["scale"]
        search = Tuned(
            lambda **point: self._made(scale, point),
            _SVC_GRID,
            error_rate,
            lambda *_: parts,
            lambda **point: self._made(scale, point, probability=True),
        ).fit(X, y)
        self.best_params_ = {"scale": scale, **search.best_params_}
        self.model_ = search.model_
        return self

    def _made(self, scale: str, point: dict[str, float], probability: bool = False) -> Pipeline:
        svc = _SVC(**point, cache_size=500, probability=probability, random_state=self.seed if probability else None)
        return make_pipeline(_SCALERS[scale](), svc)

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Predict by the final model, which decides without its probabilities."""
        return np.asarray(self.model_.predict(X))

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return its probabilities."""
        return np.asarray(self.model_.predict_proba(X))


class TunedBoosting:
    """Boosting over leaves and rows a leaf, its number of trees by the held-out loss: all by folds.

    Parameters
    ----------
    kind : class
        ``HistGradientBoostingClassifier`` or ``HistGradientBoostingRegressor``.
    seed : int
    """

    def __init__(self, kind: Callable[..., Any], seed: int) -> None:
        self.kind, self.seed = kind, seed

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Choose and fit."""
        parts = folds(X, y, self.seed, classes=self.kind is HistGradientBoostingClassifier, whole=False)
        tried = [np.mean([self._try(point, X, y, *part) for part in parts], axis=0) for point in BOOSTING_GRID]
        best = int(np.argmin([loss for loss, _ in tried]))
        self.best_params_ = {**BOOSTING_GRID[best], "max_iter": round(float(tried[best][1]))}
        self.model_ = self.kind(**self.best_params_, early_stopping=False, random_state=self.seed).fit(X, y)
        return self

    def _try(self, point: dict[str, Any], X: Any, y: Any, fitted: Any, held: Any) -> tuple[float, int]:
        """Return the least loss on the validation set, and the number of trees it is reached with."""
        model = self.kind(**point, max_iter=BOOSTING_MOST, early_stopping=True, random_state=self.seed)
        model.fit(X[fitted], y[fitted], X_val=X[held], y_val=y[held])
        best = int(np.argmax(model.validation_score_))
        return -float(model.validation_score_[best]), max(best, 1)

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Predict by the final model."""
        return np.asarray(self.model_.predict(X))

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba":  # only a classifier has it
            return self.model_.predict_proba
        raise AttributeError(name)


def _mlp(seed: int) -> Tuned:
    return Tuned(
        lambda **point: make_pipeline(StandardScaler(), MLPClassifier(**point, random_state=seed)),
        MLP_GRID,
        log_loss,
        partial(folds, seed=seed, classes=True, whole=False),
    )


CLASSIFIERS = (
    Method(
        "logistic",
        "classification",
        TunedLogistic,
        "LogisticRegression, C in 1e-4, 1e-3, …, 100, columns of unit deviation or one scale, by log-loss on 3 folds",
        every=True,
    ),
    Method(
        "ridge",
        "classification",
        lambda seed: make_pipeline(StandardScaler(), RidgeClassifierCV(alphas=_ALPHAS)),
        "RidgeClassifierCV, 17 alpha from 1e-3 to 1e5 by its leave-one-out, columns of unit deviation",
        every=True,
    ),
    Method(
        "svc",
        "classification",
        TunedSVC,
        "SVC, columns of unit deviation or one scale; C in 0.1, 1, …, 1000 times gamma d in 1/16, 1/4, 1, 4, by "
        "accuracy on 3 folds; its own probabilities",
    ),
    Method(
        "boosting",
        "classification",
        lambda seed: HistGradientBoostingClassifier(random_state=seed),
        "HistGradientBoostingClassifier as it is",
    ),
    Method(
        "boosting-tuned",
        "classification",
        lambda seed: TunedBoosting(HistGradientBoostingClassifier, seed),
        "HistGradientBoostingClassifier, 4, 12 or 31 leaves, of 20 rows, or of 5 with 0.3 of the columns, up to 400 "
        "iterations, by log-loss on 3 folds (1 of them above 500 rows)",
    ),
    Method(
        "mlp",
        "classification",
        _mlp,
        "MLPClassifier, one or two layers of 100, alpha in 1e-4, 0.1, 1, 10, columns of unit deviation, by log-loss on "
        "3 folds (1 of them above 500 rows)",
    ),
)
