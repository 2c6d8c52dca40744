"""Tables of a fit, the same in text and on the page: scores and selected parameters; cells and shares."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from clifford_rand_nn._words import shortened
from clifford_rand_nn.scores import Scores

_LONG = 400  # characters of a cell
_SENTENCE = 24  # characters of a cell that is a sentence
_SPACE = "\N{NO-BREAK SPACE}"
SELECTED = ("parameter", "selected", "among", "by")  # columns of the table of selected parameters
_SCORES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "calibration_error": "calibration error",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "mean absolute error",
}


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

    Examples
    --------
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


def _score(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}" if abs(value) < 100 else f"{value:.5g}"


def cell(value: Any, most: int = _LONG) -> str:
    """Return a value as a table shows it: numbers with four digits, missing ones as a dash, long text cut.

    Examples
    --------
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

    Examples
    --------
    >>> share(0.9234), share(1.0), share(0.99996)
    ('92.3\xa0%', '100\xa0%', '99.996\xa0%')
    """
    if value != value:
        return "–"
    if value in (0.0, 1.0):
        return f"{100 * value:.0f}{_SPACE}%"
    digits = 1 if value < 0.9995 else 3
    return f"{100 * value:.{digits}f}{_SPACE}%"
