"""The regressors that the network is compared with: scikit-learn's, tuned as a careful user would."""

from functools import partial
from typing import Any

import numpy as np
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import RidgeCV
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from examples.accuracy.methods.base import Method, folds
from examples.accuracy.methods.classifiers import MLP_GRID, TunedBoosting
from examples.accuracy.methods.tuned import Tuned, squared_error

__all__ = ["REGRESSORS"]

_ALPHAS = np.logspace(-3, 5, 17)
_SVR_GRID = [
    {"C": C, "gamma": gamma, "epsilon": epsilon}
    for C in (1.0, 10.0, 100.0, 1000.0)
    for gamma in (0.0625, 0.25, 1.0)
    for epsilon in (0.03, 0.3)
]  # targets of unit deviation, gamma in units of 1/d


class _SVR(SVR):
    """SVR whose gamma is in units of 1/d."""

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Any:
        given: float = self.gamma  # type: ignore[has-type]
        try:
            self.gamma = given / X.shape[1]
            return super().fit(X, y, sample_weight)
        finally:
            self.gamma = given


def _scaled(model: Any) -> Any:
    """Return the regressor on columns and targets of mean 0 and unit deviation."""
    return TransformedTargetRegressor(make_pipeline(StandardScaler(), model), transformer=StandardScaler())


def _svr(seed: int) -> Tuned:
    return Tuned(
        lambda **point: _scaled(_SVR(**point, cache_size=500)),
        _SVR_GRID,
        squared_error,
        partial(folds, seed=seed, classes=False),
    )


def _mlp(seed: int) -> Tuned:
    return Tuned(
        lambda **point: _scaled(MLPRegressor(**point, max_iter=500, random_state=seed)),
        MLP_GRID,
        squared_error,
        partial(folds, seed=seed, classes=False, whole=False),
    )


REGRESSORS = (
    Method(
        "ridge",
        "regression",
        lambda seed: make_pipeline(StandardScaler(), RidgeCV(alphas=_ALPHAS)),
        "RidgeCV, 17 alpha from 1e-3 to 1e5 by its leave-one-out, columns of unit deviation",
        every=True,
    ),
    Method(
        "svr",
        "regression",
        _svr,
        "SVR, columns and target of unit deviation; C in 1, 10, 100, 1000 times gamma d in 1/16, 1/4, 1 times epsilon "
        "in 0.03, 0.3, by squared error on 3 folds",
        every=True,
    ),
    Method(
        "boosting",
        "regression",
        lambda seed: HistGradientBoostingRegressor(random_state=seed),
        "HistGradientBoostingRegressor as it is",
        every=True,
    ),
    Method(
        "boosting-tuned",
        "regression",
        lambda seed: TunedBoosting(HistGradientBoostingRegressor, seed),
        "HistGradientBoostingRegressor, 4, 12 or 31 leaves, of 20 rows, or of 5 with 0.3 of the columns, up to 400 "
        "trees, by squared error on 3 folds (1 of them above 500 rows)",
        every=True,
    ),
    Method(
        "mlp",
        "regression",
        _mlp,
        "MLPRegressor, one or two layers of 100, alpha in 1e-4, 0.1, 1, 10, up to 500 epochs, columns and target of "
        "unit deviation, by squared error on 3 folds (1 of them above 500 rows)",
        every=True,
    ),
)
