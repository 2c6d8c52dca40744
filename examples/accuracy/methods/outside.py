"""A peer from PyPI, compared if it is installed: xRFM, kernel machines whose metric is learned from gradients."""

import io
from contextlib import redirect_stderr, redirect_stdout
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from examples.accuracy.methods.base import Method

__all__ = ["OUTSIDE"]

_PARTS = 5  # models, each validated on its fifth, averaged


class XRFM:
    """xRFM with pytabkit's defaults and its preprocessing, on one thread, without its lines on the terminal.

    Parameters
    ----------
    kind : {"XRFM_D_Classifier", "XRFM_D_Regressor"}
    seed : int
    """

    def __init__(self, kind: str, seed: int) -> None:
        self.kind, self.seed = kind, seed

    def fit(self, X: NDArray[np.float64], y: NDArray[Any]) -> Self:
        """Fit five models."""
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            from pytabkit.models.sklearn import sklearn_interfaces

            make = getattr(sklearn_interfaces, self.kind)
            self.model_ = make(device="cpu", random_state=self.seed, n_threads=1, n_cv=_PARTS).fit(X, y)
        return self

    def predict(self, X: NDArray[np.float64]) -> NDArray[Any]:
        """Predict by their mean."""
        with redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            return np.asarray(self.model_.predict(X))

    def __getattr__(self, name: str) -> Any:
        if name == "predict_proba" and self.kind == "XRFM_D_Classifier":
            return self.model_.predict_proba
        raise AttributeError(name)


OUTSIDE = (
    Method(
        "xrfm",
        "classification",
        lambda seed: XRFM("XRFM_D_Classifier", seed),
        "xRFM, pytabkit's XRFM_D_Classifier(n_cv=5)",
        library="pytabkit",
    ),
    Method(
        "xrfm",
        "regression",
        lambda seed: XRFM("XRFM_D_Regressor", seed),
        "xRFM, pytabkit's XRFM_D_Regressor(n_cv=5)",
        library="pytabkit",
    ),
)
