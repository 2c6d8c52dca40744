"""Summary of a fitted table encoder: every column with its type, encoding and missing cells, and why it is left out."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from clifford_rand_nn._display import TextShown
from clifford_rand_nn._words import aligned, shortened
from clifford_rand_nn.tables.column_types import ColumnKind
from clifford_rand_nn.tables.encodings import Encoding, Filled, HashedWords, MissingMark, OneHot, TargetMeans

_NAME, _ENCODING, _WHY = 24, 48, 60  # characters of a cell of the table


class ColumnSummary(NamedTuple):
    """A column of a table, as a fitted encoder takes it."""

    name: str
    kind: str  # as of `ColumnKind`; "dropped" of columns that are not used
    features: int  # columns of numbers that it becomes
    n_missing: int  # cells without a value in the training set
    encoding: str  # in words, empty of columns that are left out
    reason: str  # the reason for its kind


@dataclass(frozen=True, repr=False)
class TableSummary(TextShown):
    """The columns of a table, in its order, and those of them that are left out; shown as a table, these last."""

    columns: tuple[ColumnSummary, ...]

    @property
    def left_out(self) -> tuple[ColumnSummary, ...]:
        """Columns that the model does not use, with the reason in ``why``."""
        return tuple(column for column in self.columns if not column.features)

    def __str__(self) -> str:
        rows: list[tuple[str, ...]] = [("column", "type", "features", "missing", "encoding", "why")]
        rows += [_cells(column) for column in sorted(self.columns, key=lambda column: not column.features)]
        used, features = len(self.columns) - len(self.left_out), sum(column.features for column in self.columns)
        head = f"{used} of {len(self.columns)} columns used, {features} features"
        return "\n".join([head, *aligned(rows, right=(), indent="")])


def _cells(column: ColumnSummary) -> tuple[str, ...]:
    texts = [(column.name, _NAME), (column.encoding, _ENCODING), (column.reason, _WHY)]
    name, encoding, why = (shortened(text, most) for text, most in texts)
    return name, column.kind, f"{column.features or ''}", f"{column.n_missing or ''}", encoding, why


def summarize(encoder: Any) -> TableSummary:
    """Return the summary of a fitted `TableEncoder`."""
    columns = []
    for kind in encoder.columns_:
        own = [encoding for encoding in encoder.encodings_ if encoding.column == kind.name]
        words = ", ".join(dict.fromkeys(_words(part, kind) for part in own))
        features = sum(len(part.names) for part in own)
        columns.append(ColumnSummary(kind.name, kind.kind, features, kind.n_missing, words, kind.reason))
    return TableSummary(tuple(columns))


def _words(part: Encoding, kind: ColumnKind) -> str:
    """Return an encoding in words."""
    match part:
        case Filled() if kind.kind == "date":
            name = part.cells.removeprefix(part.column).strip(" ()")
            return name.removesuffix(" sin").removesuffix(" cos")
        case Filled():
            fill = f", {part.fill:.4g} where missing" if kind.n_missing else ""
            return f"{'0 and 1' if part.is_truth else 'number'}{fill}"
        case MissingMark():
            return "mark of missing cells"
        case OneHot():
            rare = f", {sum(part.rare)} of them rare" if any(part.rare) else ""
            return "weekday" if kind.kind == "date" else f"{len(part.known_words)} categories one-hot{rare}"
        case TargetMeans():
            return f"target means of {len(part.known_words)} categories"
        case HashedWords():
            return f"words hashed to {part.features} columns"
    return type(part).__name__
