"""``clifford-rand demo``: a spiral and handwritten digits, with tables and a picture, from data that is at hand.

Its second part compares the default network, which has nothing to tune, with three usual classifiers on scikit-learn's
bundled digits, and with a gated network of 100 gates. Beside the pixels of the latter stands a column of ones and its
gates have no bias of their own, so that a bias is penalized like any weight.
"""

import csv
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
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
from sklearn.svm import SVC

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._files import replaced
from clifford_rand._optional import available
from clifford_rand_nn.cli.console import check_out, say, show_table
from clifford_rand_nn.cli.demo_spiral import SPIRAL_COLUMNS, draw_spiral, fit_spiral, spiral_notes, spiral_row
from clifford_rand_nn.datasets import spiral
from clifford_rand_nn.estimators.gated import GatedReLUClassifier
from clifford_rand_nn.estimators.network.classifier import ConvexNetworkClassifier
from clifford_rand_nn.solvers.interrupts import raise_if_interrupted

DIGITS_COLUMNS = ("method", "picked", "test accuracy", "objective", "certified gap", "seconds")

_DEFAULT = "ConvexNetworkClassifier()"
_NEURONS = 100  # gates of one network, hidden neurons of the other: its default
_FEW = 50  # rows
_BRIGHTEST = 16  # pixel values are 0 to 16
_SWALLOWED = "Training interrupted by user"  # what MLPClassifier warns of in place of Ctrl-C


def run_demo(
    out: Path, seed: int, *, force: bool = False, n_gates: int = 200, digits: int | None = None, resolution: int = 700
) -> None:
    """Run both parts and write tables and picture into the folder ``out``, over files that are there only by ``force``.

    The last three arguments make a small version of it: gates (and pairs) of the spiral, rows of digits, grid of the
    picture.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in ("spiral.csv", "spiral.png", "digits.csv"):
        check_out(out / name, force, (".csv", ".png"), "the demo")
    written: list[Path] = []

    def table(
        name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
    ) -> None:
        show_table(title, columns, rows, text=("over",))
        for note in notes:
            say(note, style="dim")
        say()
        written.append(out / f"{name}.csv")
        with replaced(written[-1]) as new, open(new, "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows([columns, *rows])

    X, y = spiral()
    with _status("spiral") as tell:
        fits = fit_spiral(X, y, seed, n_gates, tell)
    table(
        "spiral",
        f"Spiral: {len(X)} points in the plane, five networks",
        SPIRAL_COLUMNS,
        [spiral_row(name, fits, X, y) for name in fits],
        spiral_notes(len(X)),
    )
    drawn = available("matplotlib")
    if drawn:
        with _status("spiral: drawing"):
            written.append(out / "spiral.png")
            draw_spiral(written[-1], fits, X, y, resolution)
    with _status("digits") as tell:
        scores, sizes = compare_digits(seed, digits, tell)
    table(
        "digits",
        f"Digits: {sizes.train} rows to train, {sizes.test} to test, 64 pixels, 10 classes",
        DIGITS_COLUMNS,
        [score.row() for score in scores],
        [
            *_estimate(scores, sizes.test),
            f"Its peers pick one parameter from three values on {sizes.validation} of the training rows, and are",
            "fitted to all of them then. The seconds include both.",
            "Each objective is the method's own: compare none of them. Those with a gap have a proof.",
        ],
    )
    for path in written:
        say(f"wrote {path}")
    if not drawn:
        say('The picture was left out, it needs matplotlib: pip install "clifford-rand[app]"')


@contextmanager
def _status(text: str) -> Iterator[Callable[[str], object]]:
    """Show what is being done on a terminal; nothing in a pipe."""
    from rich.console import Console

    console = Console(stderr=True)
    if not console.is_terminal:
        yield lambda _: None
        return
    with console.status(text) as status:
        yield lambda now: status.update(now)


class Score(NamedTuple):
    """One method: what was picked on the validation rows or by leave-one-out, and what came of it."""

    method: str
    picked: str
    validation: float  # of the default network by leave-one-out
    test: float
    objective: float | None
    gap: float | None
    seconds: float

    def row(self) -> list[str]:
        """Return the cells of one row of the table."""
        objective = "–" if self.objective is None else f"{self.objective:.4f}"
        gap = "–" if self.gap is None else f"{self.gap:.0e}"
        return [self.method, self.picked, f"{self.test:.3f}", objective, gap, f"{self.seconds:.1f}"]


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
    """Fit and test the default network, then its peers, picked on validation rows; ``rows`` limits the data."""
    pixels, labels = load_digits(return_X_y=True)
    X, y = pixels[:rows] / _BRIGHTEST, labels[:rows]
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    part, held, y_part, y_held = train_test_split(train, y_train, test_size=0.25, stratify=y_train, random_state=seed)
    with ONE_BLAS_THREAD:  # threads gain nothing on products this small; on a busy machine they wait for each other
        scores = [_default((train, y_train), (test, y_test), tell)]
        scores += [
            _score(method, (part, y_part), (held, y_held), (train, y_train), (test, y_test), tell)
            for method in _methods(seed)
        ]
    return scores, Sizes(len(train), len(test), len(held))


def with_ones(X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Append the column of ones that makes a bias a weight like the others."""
    return np.column_stack([X, np.ones(len(X))])


def _default(train: _Rows, test: _Rows, tell: Callable[[str], object]) -> Score:
    """Fit the default network, without a parameter, to ``train``, score it on ``test``."""
    tell(f"digits: {_DEFAULT}, everything by leave-one-out")
    _fitted(ConvexNetworkClassifier(), (train[0][:_FEW], train[1][:_FEW]))  # so that nothing is compiled later
    began = time.perf_counter()
    model = _fitted(ConvexNetworkClassifier(), train)
    seconds = time.perf_counter() - began
    proof = model.certificate_
    tested = float(model.score(*test))
    return Score(_DEFAULT, "by leave-one-out", model.loo_score_, tested, proof.primal, proof.relative_gap, seconds)


def _estimate(scores: Sequence[Score], tested: int) -> list[str]:
    """Return the leave-one-out accuracy of the default network, and that on the test set, as a line."""
    return [
        f"{score.method}: leave-one-out accuracy {score.validation:.3f}, on {tested} test rows {score.test:.3f} "
        f"± {np.sqrt(score.test * (1 - score.test) / tested):.3f}."
        for score in scores
        if score.method == _DEFAULT
    ]


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
            validation.append(_fitted(method.make(value), part).score(*held))
        best = method.grid[int(np.argmax(validation))]
        tell(f"digits: {method.name}, all training rows")
        model = _fitted(method.make_last(best), train)
    seconds = time.perf_counter() - began
    objective, gap = _objective(model, *train)
    picked = f"{method.parameter} {best:g}"
    return Score(method.name, picked, max(validation), model.score(*test), objective, gap, seconds)


def _fitted(model: Any, rows: _Rows) -> Any:
    """Return a model fitted to rows; Ctrl-C ends the demo, also where a model keeps what it has by then."""
    with warnings.catch_warnings():
        warnings.filterwarnings("error", _SWALLOWED)
        try:
            return raise_if_interrupted(model.fit(*rows))
        except UserWarning as warning:
            if str(warning).startswith(_SWALLOWED):
                raise KeyboardInterrupt from warning
            raise


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

    def support(C: float) -> Any:
        return SVC(C=C)

    return [
        _Method("100 gates", "beta", (1e-3, 3e-3, 1e-2), convex, lambda beta: convex(beta, 1e-3)),
        _Method("MLPClassifier (adam)", "alpha", (1e-4, 1e-2, 1.0), perceptron, perceptron),
        _Method("SVC (rbf)", "C", (1.0, 10.0, 100.0), support, support),
        _Method("LogisticRegression", "C", (0.1, 1.0, 10.0), linear, linear),
    ]


def _objective(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> tuple[float | None, float | None]:
    """Return the training objective of each method in the 1/n scale, and the gap if it has one; SVC tells neither."""
    if isinstance(model, SVC):
        return None, None
    if isinstance(model, LogisticRegression):
        ridge = np.sum(model.coef_**2) / (2 * model.C * len(X))
        return float(log_loss(y, model.predict_proba(X)) + ridge), None
    if isinstance(model, MLPClassifier):
        return float(model.loss_), None
    proof = model[-1].certificate_
    return proof.primal, proof.relative_gap
