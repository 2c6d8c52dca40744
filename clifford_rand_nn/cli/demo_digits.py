"""Second part of the demo: scikit-learn's bundled digits, a convex network beside two usual classifiers.

A column of ones stands beside the pixels and the gates have no bias of their own, so that a bias is penalised like any
weight. Free ones would make the problem degenerate: with 100 gates and ten outputs, biases alone fit almost every label
at a penalty of zero.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand_nn.estimators.gated import GatedReLUClassifier

DIGITS_COLUMNS = ("method", "picked", "test accuracy", "objective", "certified gap", "seconds")

_NEURONS = 100  # gates of the convex network, hidden neurons of the other: its default
_BRIGHTEST = 16  # pixel values are 0 to 16


class Score(NamedTuple):
    """One method: what was picked on the validation rows, and what came of it."""

    method: str
    picked: str
    validation: float
    test: float
    objective: float
    gap: float | None
    seconds: float

    def row(self) -> list[str]:
        """Return the cells of one row of the table."""
        gap = "–" if self.gap is None else f"{self.gap:.0e}"
        return [self.method, self.picked, f"{self.test:.3f}", f"{self.objective:.4f}", gap, f"{self.seconds:.1f}"]


class Sizes(NamedTuple):
    """Numbers of rows; the validation rows are part of the training rows."""

    train: int
    test: int
    validation: int


_Rows = tuple[NDArray[np.float64], NDArray[Any]]


class _Method(NamedTuple):
    name: str
    parameter: str
    grid: tuple[float, float, float]
    make: Callable[[float], Any]
    make_last: Callable[[float], Any]


def compare_digits(seed: int, rows: int | None, tell: Callable[[str], object]) -> tuple[list[Score], Sizes]:
    """Pick on validation rows, fit again and test three classifiers; ``rows`` limits the data."""
    pixels, labels = load_digits(return_X_y=True)
    X, y = pixels[:rows] / _BRIGHTEST, labels[:rows]
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    part, held, y_part, y_held = train_test_split(train, y_train, test_size=0.25, stratify=y_train, random_state=seed)
    with ONE_BLAS_THREAD:  # threads gain nothing on products this small; on a busy machine they wait for each other
        scores = [
            _score(method, (part, y_part), (held, y_held), (train, y_train), (test, y_test), tell)
            for method in _methods(seed)
        ]
    return scores, Sizes(len(train), len(test), len(held))


def with_ones(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the column of ones that makes a bias a weight like the others."""
    return np.column_stack([X, np.ones(len(X))])


def _score(
    method: _Method, part: _Rows, held: _Rows, train: _Rows, test: _Rows, tell: Callable[[str], object]
) -> Score:
    """Pick the parameter with ``part`` and ``held``, fit it to ``train``, score it on ``test``."""
    began = time.perf_counter()
    validation = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the table
        for value in method.grid:
            tell(f"digits: {method.name}, {method.parameter} {value:g}")
            validation.append(method.make(value).fit(*part).score(*held))
        best = method.grid[int(np.argmax(validation))]
        tell(f"digits: {method.name}, all training rows")
        model = method.make_last(best).fit(*train)
    seconds = time.perf_counter() - began
    objective, gap = _objective(model, *train)
    picked = f"{method.parameter} {best:g}"
    return Score(method.name, picked, max(validation), model.score(*test), objective, gap, seconds)


def _methods(seed: int) -> list[_Method]:
    def convex(beta: float, tol: float = 1e-2) -> Any:
        # Squared loss: on three validation splits it was never behind "logistic".
        network = GatedReLUClassifier(
            n_gates=_NEURONS, beta=beta, bias=False, tol=tol, max_iter=4000, random_state=seed
        )
        return make_pipeline(FunctionTransformer(with_ones), network)

    def perceptron(alpha: float) -> Any:
        return MLPClassifier((_NEURONS,), alpha=alpha, solver="adam", max_iter=1000, random_state=seed)

    def linear(C: float) -> Any:
        return LogisticRegression(C=C, max_iter=5000)

    return [
        _Method("convex network", "beta", (1e-3, 3e-3, 1e-2), convex, lambda beta: convex(beta, 1e-3)),
        _Method("MLPClassifier (adam)", "alpha", (1e-4, 1e-2, 1.0), perceptron, perceptron),
        _Method("LogisticRegression", "C", (0.1, 1.0, 10.0), linear, linear),
    ]


def _objective(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> tuple[float, float | None]:
    """Return the training objective of each method in the 1/n scale, and the gap if it has one."""
    if isinstance(model, LogisticRegression):
        ridge = np.sum(model.coef_**2) / (2 * model.C * len(X))
        return float(log_loss(y, model.predict_proba(X)) + ridge), None
    if isinstance(model, MLPClassifier):
        return float(model.loss_), None
    proof = model[-1].certificate_
    return proof.primal, proof.relative_gap
