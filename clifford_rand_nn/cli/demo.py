"""``clifford-rand demo``: a spiral and handwritten digits, with tables and a picture, from data that is at hand.

Its second part compares the default network, which is tuning-free, with a gated network of 100 gates and three usual
classifiers on scikit-learn's bundled digits; each of these selects one parameter on a validation set (`GridSearchCV`).
"""

import csv
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.neural_network import MLPClassifier
from sklearn.svm import SVC

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._files import replaced
from clifford_rand._optional import available, install_command
from clifford_rand_nn.cli.console import check_out, say, show_table
from clifford_rand_nn.cli.demo_spiral import SPIRAL_COLUMNS, draw_spiral, fit_spiral, spiral_notes, spiral_row
from clifford_rand_nn.datasets import spiral
from clifford_rand_nn.estimators.gated import GatedReLUClassifier
from clifford_rand_nn.estimators.network.classifier import ConvexNetworkClassifier
from clifford_rand_nn.solvers.interrupts import raise_if_interrupted

DIGITS_COLUMNS = ("method", "selected", "test accuracy", "certified gap", "seconds")

_NEURONS = 100  # gates of one network, hidden neurons of another: its default
_FEW = 50  # rows of a first fit, so that nothing is compiled later
_BRIGHTEST = 16  # pixel values are 0 to 16
_SWALLOWED = "Training interrupted by user"  # the warning of MLPClassifier in place of Ctrl-C


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
            *_leave_one_out_note(scores, sizes.test),
            f"Its peers select one parameter from three values on a validation set of {sizes.validation} rows, and are",
            "refitted to the training set; the seconds include both. The certified gap is about training alone.",
        ],
    )
    for path in written:
        say(f"wrote {path}")
    if not drawn:
        say(f"The picture was left out, it needs matplotlib: {install_command('matplotlib', 'app')}")


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
    """A method: the parameter that was selected, its accuracy on the test set, its certificate."""

    method: str
    selected: str
    test: float
    gap: float | None
    seconds: float
    leave_one_out: float | None = None

    def row(self) -> list[str]:
        """Return the cells of one row of the table."""
        gap = "–" if self.gap is None else f"{self.gap:.0e}"
        return [self.method, self.selected, f"{self.test:.3f}", gap, f"{self.seconds:.1f}"]


class Sizes(NamedTuple):
    """Numbers of rows; the validation set is a part of the training set."""

    train: int
    test: int
    validation: int


class _Gated(GatedReLUClassifier):
    """A network whose fit ends at Ctrl-C also inside a search."""

    def fit(self, *data: Any, **keywords: Any) -> Self:
        raise_if_interrupted(super().fit(*data, **keywords))
        return self


_Search = tuple[Any, str, tuple[float, ...]]  # an estimator, the parameter that is selected, its values


def compare_digits(seed: int, rows: int | None, tell: Callable[[str], object]) -> tuple[list[Score], Sizes]:
    """Fit and score the default network, then its peers, selected on a validation set; ``rows`` limits the data."""
    pixels, labels = load_digits(return_X_y=True)
    X, y = pixels[:rows] / _BRIGHTEST, labels[:rows]
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=y, random_state=seed)
    places = np.arange(len(train))
    split = train_test_split(places, test_size=0.25, stratify=y_train, random_state=seed)
    scores = []
    with ONE_BLAS_THREAD:  # threads gain nothing on products this small; on a busy machine they wait for each other
        tell("digits: ConvexNetworkClassifier(), everything by leave-one-out")
        _fit(ConvexNetworkClassifier(), train[:_FEW], y_train[:_FEW])
        began = time.perf_counter()
        model = _fit(ConvexNetworkClassifier(), train, y_train)
        seconds, gap = time.perf_counter() - began, model.certificate_.relative_gap
        accuracy = float(model.score(test, y_test))
        scores.append(
            Score("ConvexNetworkClassifier()", "by leave-one-out", accuracy, gap, seconds, float(model.loo_score_))
        )
        for name, (estimator, parameter, values) in _peers(seed).items():
            tell(f"digits: {name}, {parameter} of {len(values)} values")
            began = time.perf_counter()
            search = GridSearchCV(estimator, {parameter: list(values)}, cv=[tuple(split)], error_score="raise")
            best = _fit(search, train, y_train).best_estimator_
            seconds = time.perf_counter() - began
            proof = getattr(best, "certificate_", None)
            selected = f"{parameter} {search.best_params_[parameter]:g}"
            gap = None if proof is None else proof.relative_gap
            scores.append(Score(name, selected, float(best.score(test, y_test)), gap, seconds))
    return scores, Sizes(len(train), len(test), len(split[1]))


def _leave_one_out_note(scores: Sequence[Score], tested: int) -> list[str]:
    """Return the leave-one-out accuracy of the default network, and that on the test set, as a line."""
    return [
        f"{score.method}: leave-one-out accuracy {score.leave_one_out:.3f}, on {tested} test rows {score.test:.3f} "
        f"± {np.sqrt(score.test * (1 - score.test) / tested):.3f}."
        for score in scores
        if score.leave_one_out is not None
    ]


def _fit(model: Any, X: NDArray[np.float64], y: NDArray[Any]) -> Any:
    """Return a fitted model; Ctrl-C ends the demo, also where a model returns the best so far."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # the gap is in the table
        warnings.filterwarnings("error", _SWALLOWED)
        try:
            return raise_if_interrupted(model.fit(X, y))
        except UserWarning as warning:
            if str(warning).startswith(_SWALLOWED):
                raise KeyboardInterrupt from warning
            raise


def _peers(seed: int) -> dict[str, _Search]:
    """Return the methods that the default network is compared with."""
    # Squared loss: on three validation splits it was never behind "logistic".
    gated = _Gated(n_gates=_NEURONS, tol=1e-3, max_iter=4000, random_state=seed)
    perceptron = MLPClassifier((_NEURONS,), solver="adam", max_iter=1000, random_state=seed)
    return {
        "100 gates": (gated, "beta", (1e-3, 3e-3, 1e-2)),
        "MLPClassifier (adam)": (perceptron, "alpha", (1e-4, 1e-2, 1.0)),
        "SVC (rbf)": (SVC(), "C", (1.0, 10.0, 100.0)),
        "LogisticRegression": (LogisticRegression(max_iter=5000), "C", (0.1, 1.0, 10.0)),
    }
