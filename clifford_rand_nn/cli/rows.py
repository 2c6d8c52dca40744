"""Tables of the command line as rows for a model: target, weights and groups taken out, the rest encoded."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import OPTIONS, complain, note_ignored
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.tables import TableEncoder, existing_table, read_frame, read_table, training_rows
from clifford_rand_nn.tables.cells import without_marks
from clifford_rand_nn.tables.notes import column_names

KINDS = ("numeric", "categorical", "dates", "textual", "leave_out", "missing")  # parameters of `TableEncoder`


@dataclass(frozen=True)
class Reading:
    """How a table is read, and which of its columns are what.

    Attributes
    ----------
    target : str
    weights, groups : str or None
    dialect : mapping
        Of `read_frame`: separator, decimal, header.
    kinds : mapping
        Of `TableEncoder`: columns that are asked to be of a kind, and what is done with text.
    """

    target: str
    weights: str | None = None
    groups: str | None = None
    dialect: Mapping[str, Any] = field(default_factory=dict)
    kinds: Mapping[str, Any] = field(default_factory=dict)


def read_training(path: Path, reading: Reading) -> tuple[Rows, TableEncoder | None]:
    """Read and encode a table; return its rows, and the encoder: None for an NPZ, which holds numbers.

    Rows without a target are left out.
    """
    if existing_table(path).suffix.lower() == ".npz":
        _refuse_kinds(path, reading)
        table = read_table(path, target=reading.target, weights=reading.weights, groups=reading.groups)
        assert table.target is not None
        named = table.names or ()
        return Rows(
            table.X, table.target, table.weights, table.groups, named, named, path=str(path), target=reading.target
        ), None
    parts = training_rows(
        _read(path, reading), reading.target, weights=reading.weights, groups=reading.groups, what=str(path)
    )
    encoder = TableEncoder(**reading.kinds)
    with told_of(path):
        X, notes = encoder.fit_encode(parts.features, parts.target)
    for line in replace(notes, left_out=()).lines():  # the facts of a fit have the columns
        complain("note", f"{path}: {line}")
    return _rows(path, X, parts, encoder, reading), encoder


def read_other(path: Path, reading: Reading, encoder: TableEncoder | None, names: Any) -> Rows:
    """Read another table with the columns of training; weights may be missing.

    ``names`` are those of the features where there is no encoder, or None.
    """
    if encoder is None:
        columns = None if names is None or len(names) == 0 else list(names)
        table = read_table(path, target=reading.target, columns=columns, weights=reading.weights, need_weights=False)
        assert table.target is not None
        note_ignored(str(path), table.ignored)
        return Rows(table.X, table.target, table.weights, path=str(path), target=reading.target)
    frame = without_marks(
        _read(path, reading), column_names(encoder.missing, "missing", "TableEncoder"), reading.target
    )
    there = set(map(str, frame.columns))
    weights = reading.weights if reading.weights in there else None
    apart = [reading.groups] if reading.groups in there else []
    parts = training_rows(frame, reading.target, weights=weights, apart=apart, what=str(path))
    with told_of(path):
        X, notes = encoder.encode(parts.features)
    for line in notes.lines():
        complain("note", f"{path}: {line}")
    return _rows(path, X, parts, encoder, reading)


@contextmanager
def told_of(path: Path) -> Iterator[None]:
    """Name the file in errors of what it holds."""
    try:
        yield
    except ArgumentError as error:
        text = str(error)
        raise ArgumentError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def _read(path: Path, reading: Reading) -> Any:
    frame = without_marks(read_frame(path, **reading.dialect), reading.kinds.get("missing", ()), reading.target)
    for note in frame.attrs.get("notes", ()):
        complain("note", f"{path}: {note}")
    if len(frame) == 0:
        raise ArgumentError(f"{path}: the table has columns but no rows.")
    return frame


def _refuse_kinds(path: Path, reading: Reading) -> None:
    for name in KINDS:
        if reading.kinds.get(name):
            option = OPTIONS.get(name, f"--{name}")
            given = ", ".join(reading.kinds[name])
            hint = "An NPZ holds numbers; write the table as CSV or Parquet for columns of other kinds."
            raise fail(option, "clifford-rand", f"left out for the NPZ {path}", given, hint)


def _rows(path: Path, X: Any, parts: Any, encoder: TableEncoder, reading: Reading) -> Rows:
    return Rows(
        X=np.ascontiguousarray(X, dtype=np.float64),
        y=parts.target,
        weights=parts.weights,
        groups=parts.groups,
        names=tuple(map(str, encoder.get_feature_names_out())),
        origin=tuple(map(str, encoder.origin_)),
        frame=parts.features,
        columns=encoder.columns_,
        path=str(path),
        target=reading.target,
        read=len(parts.target) + parts.left_out,
        reasons=((parts.left_out, "the target is empty"),) if parts.left_out else (),
    )
