"""``clifford-rand demo``: a session of geometric algebra, networks on a spiral, models of tables; with pictures.

Its last part compares the default model, which is tuning-free, with three usual ones, each of which selects one
parameter on a validation set (`GridSearchCV`).
"""

import csv
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_diabetes, load_digits, make_friedman1
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import SVC, SVR

import clifford_rand as cr
from clifford_rand._files import replaced
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand.errors import available, install_command
from clifford_rand.presets import pga
from clifford_rand_nn.cli.console import check_out, say, show_table
from clifford_rand_nn.cli.demo_spiral import SPIRAL_COLUMNS, draw_spiral, fit_spiral, fitted, spiral_notes, spiral_row
from clifford_rand_nn.datasets import spiral
from clifford_rand_nn.displays import save_figure
from clifford_rand_nn.displays.collect import paired
from clifford_rand_nn.displays.facts import exceeds_noise
from clifford_rand_nn.estimators.network_classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network_regressor import ConvexNetworkRegressor
from clifford_rand_nn.scores import score_classes, score_numbers

DEFAULT = "default model"
FILES = ("algebra.png", "spiral.csv", "spiral.png", "tables.csv")

_SESSION = """\
import numpy as np
import clifford_rand as cr
from clifford_rand.presets import pga

# a rotor: a quarter turn from e1 to e2 moves the vector (1, 0, 5)
alg = cr.Algebra(3)
rotor = (-np.pi / 4 * alg.e12).exp()
(rotor >> alg.vector([1.0, 0.0, 5.0])).values.round(6)

# a motor: half a turn about an upright axis through (1, 0, 0), and a shift by 2
# along it, move the point (0, 0, 0)
space = cr.Algebra.pga(3)
motor = pga.motor(space, pga.line(space, [1, 0, 0], [1, 0, 1]), np.pi, 2.0)
pga.coordinates(motor >> pga.point(space, [0.0, 0.0, 0.0])).round(6) + 0.0

# the cross product of 999 vectors in 1,000 dimensions: it is orthogonal to all,
# and its length is the volume that they span, the root of det(A A'): as logarithms
A = np.random.default_rng(0).standard_normal((999, 1000))
direction, log_length = cr.cross_log(A)
float(np.abs(A @ direction).max().round(9))
float(log_length.round(6)), float((np.linalg.slogdet(A @ A.T)[1] / 2).round(6))
"""


def show_session() -> dict[str, Any]:
    """Run `_SESSION` as in an interactive session of Python, print lines and values, and return the variables."""
    variables: dict[str, Any] = {}
    for line in _SESSION.splitlines():
        if not line or line.startswith("#"):
            say(line)
            continue
        say(f">>> {line}")
        try:
            code = compile(line, "demo", "eval")
        except SyntaxError:
            exec(line, variables)  # an assignment, or an import
        else:
            say(str(eval(code, variables)))
    return variables


def draw_motion(path: Path) -> None:
    """Write the picture: a square, carried along a screw by powers of a motor."""
    from matplotlib.figure import Figure

    alg = cr.Algebra.pga(3)
    motor = pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 0, 1]), 1.5 * np.pi, 2.0)
    logarithms: Any = np.linspace(0, 1, 21) * motor.log()
    poses = logarithms.exp()
    square = pga.point(alg, np.array([[0, -0.3, 0], [0, 0.3, 0], [0.6, 0.3, 0], [0.6, -0.3, 0], [0, -0.3, 0]]))
    figure = Figure((5, 5), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d")
    for share, corners in zip(np.linspace(0, 1, 21), pga.coordinates(poses[:, None] >> square), strict=True):
        axes.plot(*corners.T, color=(0.0, 0.3 + 0.4 * share, 0.7 * (1 - share)))
    axes.plot([1, 1], [0, 0], [0, 2], "k--", linewidth=0.8)
    axes.set(title="Powers of one motor: three quarters of a turn, and a shift", xlabel="x", ylabel="y", zlabel="z")
    save_figure(figure, path)


def run_demo(
    out: Path, seed: int, *, force: bool = False, n_gates: int = 200, rows: int | None = None, resolution: int = 700
) -> None:
    """Run the three parts and write tables and pictures into a folder, over files that are there only by ``force``.

    The last three arguments make a small version of it: gates (and pairs) of the spiral, rows of the tables, grid of
    the picture.
    """
    out.mkdir(parents=True, exist_ok=True)
    for name in FILES:
        check_out(out / name, force, (".csv", ".png"), "the demo")
    written: list[Path] = []

    def table(
        name: str, title: str, columns: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]
    ) -> None:
        show_table(title, columns, rows)
        for note in notes:
            say(note, style="dim")
        say()
        written.append(out / f"{name}.csv")
        with replaced(written[-1]) as new, open(new, "w", newline="", encoding="utf-8") as stream:
            csv.writer(stream, lineterminator="\n").writerows([columns, *rows])

    drawn = available("matplotlib")
    say("1. Geometric algebra, as in an interactive session of Python", style="bold")
    say()
    show_session()
    say()
    if drawn:
        written.append(out / "algebra.png")
        draw_motion(written[-1])
    X, y = spiral()
    with _status("spiral") as tell:
        fits = fit_spiral(X, y, seed, n_gates, tell)
    table(
        "spiral",
        f"2. Neural networks trained to a proven optimum: a spiral of {len(X)} points of two classes",
        SPIRAL_COLUMNS,
        [spiral_row(name, fits, X, y) for name in fits],
        spiral_notes(len(X)),
    )
    if drawn:
        with _status("spiral: drawing"):
            written.append(out / "spiral.png")
            draw_spiral(written[-1], fits, X, y, resolution)
    with _status("tables") as tell:
        compared = list(compare_tables(seed, rows, tell))
    methods = compared[0].predicted
    table(
        "tables",
        f"3. Prediction: the {DEFAULT}, tuning-free, beside usual models, on test sets",
        ("table", "to train", "to test", "columns", "score", *methods),
        [comparison.row() for comparison in compared],
        [
            *(comparison.verdict() for comparison in compared),
            "Scores are better when larger: accuracy is the share of correct predictions, R² that of the variance",
            "explained. The default model selects everything by leave-one-out; the others select one parameter among",
            f"three. Its fits took {sum(c.seconds for c in compared):.1f} s, and are within "
            f"{max(c.gap for c in compared):.0e} (relative) of the optimum of their training.",
        ],
    )
    for path in written:
        say(f"wrote {path}")
    if not drawn:
        say(f"The pictures were left out, they need matplotlib: {install_command('matplotlib', 'app')}")


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


_Search = tuple[Any, str, tuple[float, ...]]  # an estimator, the parameter that is selected, its values


class Compared(NamedTuple):
    """Predictions of several methods, the default model first, for the test set of a table."""

    table: str
    shape: tuple[int, int, int]  # rows to train, rows to test, columns
    truth: NDArray[Any]
    predicted: dict[str, NDArray[Any]]
    gap: float  # relative duality gap of the default model
    seconds: float  # of its fit

    @property
    def _by_classes(self) -> bool:
        return self.truth.dtype.kind == "i"

    def scores(self) -> dict[str, float]:
        """Return the accuracy of each method, or R² for numbers."""
        score = score_classes if self._by_classes else score_numbers
        return {name: score(self.truth, predicted).main for name, predicted in self.predicted.items()}

    def row(self) -> list[str]:
        """Return the cells of one row of the table."""
        measure = "accuracy" if self._by_classes else "R²"
        sizes = [str(size) for size in self.shape]
        return [self.table, *sizes, measure, *(f"{score:.3f}" for score in self.scores().values())]

    def verdict(self) -> str:
        """Return a sentence: which method is best, by how much, and whether that is more than noise.

        The default model is compared with the best of the others.
        """
        scores = self.scores()
        peer = max([name for name in scores if name != DEFAULT], key=scores.__getitem__)
        mine, theirs = self.predicted[DEFAULT], self.predicted[peer]
        difference, error = paired(self.truth, mine, theirs, None, self._by_classes)
        best, second = (DEFAULT, peer) if difference >= 0 else (peer, DEFAULT)
        noise = "" if exceeds_noise(difference, error) else ", which is within noise"
        size = f"{abs(difference):.3f} ± {error:.3f}"
        return f"{self.table}: the {best} is best, ahead of the {second} by {size}{noise}."


def compare_tables(seed: int, rows: int | None, tell: Callable[[str], object]) -> Iterator[Compared]:
    """Fit the default model and its peers to each table, and predict its test set; ``rows`` limits the data."""
    for table, (X, y) in _tables(seed).items():
        X, y = X[:rows], y[:rows]
        classes = y if y.dtype.kind == "i" else None
        train, test, y_train, y_test = train_test_split(X, y, test_size=0.5, stratify=classes, random_state=seed)
        held = y_train if classes is not None else None
        split = train_test_split(np.arange(len(train)), test_size=0.25, stratify=held, random_state=seed)
        with ONE_BLAS_THREAD:  # threads gain nothing on products this small; on a busy machine they wait for each other
            tell(f"{table}: {DEFAULT}")
            model: Any = ConvexNetworkRegressor() if classes is None else ConvexNetworkClassifier()
            began = time.perf_counter()
            fitted(model, train, y_train)
            seconds = time.perf_counter() - began
            predicted = {DEFAULT: model.predict(test)}
            for name, (estimator, parameter, values) in _peers(classes is not None, seed).items():
                tell(f"{table}: {name}, {parameter.rpartition('__')[2]} of {len(values)} values")
                search = GridSearchCV(estimator, {parameter: list(values)}, cv=[tuple(split)], error_score="raise")
                predicted[name] = fitted(search, train, y_train).predict(test)
        shape = (len(train), len(test), X.shape[1])
        yield Compared(table, shape, y_test, predicted, model.certificate_.relative_gap, seconds)


def _tables(seed: int) -> dict[str, tuple[NDArray[np.float64], NDArray[Any]]]:
    """Return features and targets of the tables: two that scikit-learn ships, and one that it makes."""
    return {
        "Friedman's function": make_friedman1(400, noise=1.0, random_state=seed),
        "handwritten digits": load_digits(return_X_y=True),
        "diabetes": load_diabetes(return_X_y=True),
    }


def _peers(classes: bool, seed: int) -> dict[str, _Search]:
    """Return the methods that the default model is compared with."""
    linear, svm = (LogisticRegression(max_iter=5000), SVC()) if classes else (Ridge(), SVR())
    penalty, strengths = ("C", (0.1, 1.0, 10.0)) if classes else ("alpha", (0.1, 1.0, 10.0))
    forest = (RandomForestClassifier if classes else RandomForestRegressor)(random_state=seed)
    return {
        "linear model": (Pipeline([("scale", MinMaxScaler()), ("fit", linear)]), f"fit__{penalty}", strengths),
        "random forest": (forest, "min_samples_leaf", (1, 3, 10)),
        "SVM": (Pipeline([("scale", MinMaxScaler()), ("fit", svm)]), "fit__C", (1.0, 10.0, 100.0)),
    }
