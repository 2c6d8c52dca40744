"""Tables and figures of a report."""

import base64
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import quantity
from clifford_rand.errors import require
from clifford_rand_nn._words import literal, shortened
from clifford_rand_nn.displays.baselines import Influence
from clifford_rand_nn.displays.facts import Comparison, Distribution
from clifford_rand_nn.displays.style import FIRST, GREY, SECOND
from clifford_rand_nn.scores import Scores

_NAMES = 28  # characters of a name in a picture
_NUMBERED = 12  # classes whose confusion matrix has a number in every cell
_NAMED = 30  # classes that are named beside it
MOST_POINTS = 2000  # of a scatter plot
_INK = "#123457"  # stands for the color of text, which the reader's screen decides
# Colors by light and dark ground: text 12 : 1 and more, lines and words in their color 4.5 : 1.
_COLORS = {
    _INK: ("ink", "#1d2129", "#e4e6eb"),
    "#000000": ("ink", "#1d2129", "#e4e6eb"),
    FIRST.lower(): ("first", "#0072b2", "#56a9dc"),
    SECOND.lower(): ("second", "#c25500", "#f0893f"),
}
_KNOWN = re.compile("|".join(_COLORS))
_RC = {
    "font.size": 10,
    "legend.frameon": False,
    "legend.fontsize": 9,
    "svg.fonttype": "path",
    "axes.spines.top": False,
    "axes.spines.right": False,
}
_OF_TEXT = ("text.color", "axes.edgecolor", "axes.labelcolor", "axes.titlecolor", "xtick.color", "ytick.color")
_WIDTH, _HEIGHT, _GAP = 192, 40, 12  # of a histogram, and between its bins and the bars of outliers
_LONG = 400  # characters of a cell
_SENTENCE = 24  # characters of a cell that is a sentence
_BESIDE = 4  # columns of a table that a screen of 400 pixels has room for
_SPACE = "\N{NO-BREAK SPACE}"
SELECTED = ("parameter", "selected", "among", "by")  # columns of the table of selected parameters
_SCORES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "roc_auc": "ROC-AUC",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "mean absolute error",
}


class Picture(NamedTuple):
    """A picture as a data URI, its alternative text, its size in pixels."""

    uri: str
    alt: str
    width: int
    height: int


def picture(draw: Callable[[Any], object], alt: str, width: float = 5.6, height: float = 3.6) -> Picture:
    """Return the picture that ``draw`` makes on axes of so many inches, a transparent SVG.

    >>> drawn = picture(lambda ax: ax.plot([0, 1]), "a line")
    >>> drawn.alt, drawn.width, drawn.uri[:26]
    ('a line', 538, 'data:image/svg+xml;base64,')
    """
    matplotlib = require("matplotlib", extra="app", purpose="a report")
    from io import StringIO

    from matplotlib.figure import Figure

    with matplotlib.rc_context({**_RC, **dict.fromkeys(_OF_TEXT, _INK), "svg.hashsalt": alt}):
        figure = Figure(figsize=(width, height), layout="constrained")
        draw(figure.subplots())
        text = StringIO()
        figure.savefig(text, format="svg", transparent=True, metadata={"Date": None, "Creator": None})
    svg = _KNOWN.sub(lambda match: f"var(--{_COLORS[match[0]][0]})", text.getvalue())
    svg = svg[svg.index("<svg") :].replace("<defs>", f"<style>{_style()}</style><defs>", 1)
    coded = base64.b64encode(svg.encode()).decode()
    return Picture(f"data:image/svg+xml;base64,{coded}", alt, round(96 * width), round(96 * height))


def _style() -> str:
    """Return the colors as rules for light and for dark screens."""
    light, dark = ("".join(f"--{of[0]}:{of[k]};" for of in _COLORS.values()) for k in (1, 2))
    return f":root{{{light}}}@media(prefers-color-scheme:dark){{:root{{{dark}}}}}"


def scatter_picture(shown: Comparison, name: str) -> Picture:
    """Return predicted against true values of at most `MOST_POINTS` rows; of several targets the first."""
    some = np.random.default_rng(0).permutation(len(shown.truth))[:MOST_POINTS]
    truth, predicted = (np.asarray(v, dtype=np.float64) for v in (shown.truth, shown.predicted))
    if truth.ndim > 1:
        truth, predicted = truth[:, 0], predicted[:, 0]

    def draw(ax: Any) -> None:
        from matplotlib.ticker import MaxNLocator, ScalarFormatter
        from sklearn.metrics import PredictionErrorDisplay

        look = {"color": FIRST, "alpha": 0.5 if len(some) > 300 else 0.75, "s": 14, "linewidths": 0}
        line = {"linestyle": ":"}
        PredictionErrorDisplay.from_predictions(
            truth[some], predicted[some], kind="actual_vs_predicted", ax=ax, scatter_kwargs=look, line_kwargs=line
        )
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_locator(MaxNLocator(6))
            axis.set_major_formatter(ScalarFormatter())
        of = literal(shortened(name, _NAMES))
        ax.set(xlabel=f"predicted {of}", ylabel=f"true {of}")

    alt = f"Predicted against true {name} of {len(shown.truth)} rows; R² {shown.scores.main:.3f}."
    return picture(draw, alt, 4.6, 4.4)


def confusion_picture(counts: NDArray[np.intp], names: Sequence[str]) -> Picture:
    """Return the confusion matrix (C, C) of classes."""
    k = len(names)

    def draw(ax: Any) -> None:
        from sklearn.metrics import ConfusionMatrixDisplay

        shown = ConfusionMatrixDisplay(counts, display_labels=[literal(shortened(name, 16)) for name in names])
        shown.plot(ax=ax, cmap="Blues", include_values=k <= _NUMBERED, colorbar=False, values_format="d")
        ax.tick_params(axis="x", rotation=90 if max(map(len, names)) > 6 and k > 3 else 0)
        if k > _NAMED:
            ax.set(xticks=[], yticks=[])
        ax.set(xlabel="predicted", ylabel="true")
        ax.spines[:].set_visible(True)

    alt = f"Confusion matrix of {k} classes: {int(np.trace(counts))} of {int(counts.sum())} rows are on the diagonal."
    side = min(8.0, 2.6 + 0.45 * k)
    return picture(draw, alt, side, side)


def influence_bars(influence: Influence, most: int) -> Callable[[Any], None]:
    """Return a function that draws the largest influences of columns."""

    def draw(ax: Any) -> None:
        count = min(most, len(influence.names))
        mean, error = influence.losses[:count].mean(axis=1), influence.losses[:count].std(axis=1)
        names = [literal(shortened(name, _NAMES)) for name in influence.names[:count]]
        ax.barh(range(count), mean, xerr=error, color=FIRST, ecolor=GREY, height=0.65)
        ax.set_yticks(range(count), names)
        ax.invert_yaxis()
        ax.axvline(0, color=GREY, linewidth=0.8)
        change = "increase of the log-loss" if influence.measure == "log loss" else f"decrease of {influence.measure}"
        ax.set_xlabel(f"{change}\nwhen the column is shuffled")  # long names leave little room

    return draw


class Card(NamedTuple):
    """The distribution of a column as texts and paths of an SVG; all texts are plain."""

    name: str
    about: str  # kind, values and missing cells
    alt: str
    bins: str  # path of the bars of a histogram; empty without one
    far: str  # path of the bars of cells beyond its bins
    ends: tuple[str, str] | None  # the smallest and the largest number
    beyond: str  # how many cells are beyond the bins
    bars: tuple[tuple[str, str, float], ...]  # categories, their shares as text and in percent
    association: str  # with the target; empty where there is none
    measure: str
    value: float


def card(column: Distribution) -> Card:
    r"""Return the picture of a distribution.

    >>> column = Distribution("age", "numeric", 0.25, 3, edges=(0.0, 2.0, 4.0), counts=(1, 2), extent=(0.0, 4.0))
    >>> shown = card(column)
    >>> shown.about, shown.ends, shown.bins
    ('numeric, 3 values, 25.0\xa0% missing', ('0', '4'), 'M0 40V20H95V40ZM96 40V0H191V40Z')
    """
    parts = [column.kind]
    if column.edges or column.bars:
        parts.append("1 value" if column.unique == 1 else f"{column.unique} values")
    if column.missing:
        parts.append(f"{share(column.missing)} missing")
    bins = far = beyond = ""
    ends, alt = None, ""
    if column.edges and column.extent is not None:
        ends = _number(column, column.extent[0]), _number(column, column.extent[1])
        alt = f"Histogram from {ends[0]} to {ends[1]}"
        bins, far = _histogram(column)
        sides = ((column.below, column.edges[0], "below"), (column.above, column.edges[-1], "above"))
        texts = [f"{quantity(count, 'rows')} {side} {_number(column, edge)}" for count, edge, side in sides if count]
        beyond = ", ".join(texts)
    of = [*column.bars, *([("all others", column.rest)] if column.rest else [])]
    bars = tuple((label, share(part), round(100 * part, 1)) for label, part in of)
    found = column.association
    held = ("", "", 0.0) if found is None else (f"{found.value:.2f}", found.measure, found.value)
    return Card(column.name, ", ".join(parts), alt, bins, far, ends, beyond, bars, *held)


def _number(column: Distribution, value: float) -> str:
    return str(np.datetime64(int(value // 1), "D")) if column.kind == "date" else cell(value)


def _histogram(column: Distribution) -> tuple[str, str]:
    """Return the paths of bins and, apart from them, of a bar for cells below and one for cells above."""
    left, right = (_GAP if count else 0 for count in (column.below, column.above))
    tallest = max(*column.counts, column.below, column.above)
    width = (_WIDTH - left - right) / len(column.counts)

    def bar(x: float, wide: float, count: int) -> str:
        high = max(1.0, _HEIGHT * count / tallest)  # a cell can be seen
        return f"M{x:.5g} {_HEIGHT}V{_HEIGHT - high:.3g}H{x + wide - 1:.5g}V{_HEIGHT}Z" if count else ""

    bins = "".join(bar(left + k * width, width, count) for k, count in enumerate(column.counts))
    return bins, bar(0, _GAP - 4, column.below) + bar(_WIDTH - _GAP + 4, _GAP - 4, column.above)


class Table(NamedTuple):
    """A table: a caption, its header, rows of text, and which columns are numbers and stand to the right."""

    caption: str
    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    right: tuple[bool, ...]

    @property
    def wide(self) -> tuple[bool, ...]:
        """Which columns hold sentences."""
        return tuple(any(len(row[j]) > _SENTENCE for row in self.rows) for j in range(len(self.header)))

    @property
    def stacks(self) -> bool:
        """Whether a narrow screen shows each row as a list of its cells: many columns, or sentences."""
        return len(self.header) > _BESIDE or any(self.wide)

    @classmethod
    def of(
        cls, caption: str, header: Sequence[str], rows: Sequence[Sequence[Any]], right: Sequence[bool] = ()
    ) -> "Table":
        """Return the table of values; unless ``right`` is given a column of numbers stands to the right."""
        numbers = tuple(
            all(isinstance(row[j], int | float | np.number) and not isinstance(row[j], bool | np.bool_) for row in rows)
            for j in range(len(header))
        )
        return cls(caption, tuple(header), tuple(tuple(map(cell, row)) for row in rows), tuple(right) or numbers)


def score_table(
    models: Mapping[str, Scores | None], coverage: float = 0.9
) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the rows of a table of scores: a column for each model that has any.

    >>> score_table({"this model": Scores(9, 0.75), "majority": Scores(9, 0.5)})
    (('', 'this model', 'majority'), [('accuracy', '0.7500', '0.5000')])
    """
    there = {name: scores for name, scores in models.items() if scores is not None}
    lines = []
    for key, name in (_SCORES | {"coverage": f"{coverage:.0%} interval coverage"}).items():
        values = [getattr(scores, key) for scores in there.values()]
        if values[0] is not None:
            lines.append((name, *map(_score, values)))
    return ("", *there), lines


def leaderboard_table(comparison: Comparison, measure: str) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the columns and the rows of a leaderboard."""
    header = ("model", measure, "this model higher by", "standard error", "rows", "left out by")
    lines: list[tuple[str, ...]] = [
        (row.name, _score(row.score), _score(row.difference), _score(row.std_error), str(row.n_rows), row.method)
        for row in comparison.leaderboard
    ]
    return header, lines


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if abs(value) < 100 else f"{value:.5g}"


def cell(value: Any, most: int = _LONG) -> str:
    """Return a value as a table shows it: numbers with four digits, missing ones as a dash, long text cut.

    >>> [cell(value) for value in (3, 1234567, 0.123456, 12345.678, -1e-7, float("nan"), None, True, "x" * 500)][:8]
    ['3', '1234567', '0.1235', '12346', '-1e-07', '–', '–', 'True']
    """
    if value is None or value != value or str(value) in ("NaT", "<NA>"):
        return "–"
    if isinstance(value, float | np.floating):
        size = abs(float(value))
        return f"{value:.0f}" if 1e4 <= size < 1e15 else f"{value:.4g}"
    return shortened(str(value), most)


def share(value: float) -> str:
    r"""Return a share as a percentage with as many digits as are significant, in one piece; a dash for NaN.

    >>> share(0.9234), share(1.0), share(0.99996)
    ('92.3\xa0%', '100\xa0%', '99.996\xa0%')
    """
    if value != value:
        return "–"
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}{_SPACE}%"
    digits = 1 if value < 0.9995 else 3
    return f"{100 * value:.{digits}f}{_SPACE}%"
