"""``clifford-rand predict``: a model file and a table in, predictions out, block by block."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_number
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import complain, note_ignored, refused_data, say
from clifford_rand_nn.cli.models import LoadedModel, answer, read_model
from clifford_rand_nn.cli.outputs import check_out
from clifford_rand_nn.cli.rows import told_of
from clifford_rand_nn.tables import Notes, existing_table, listed, numeric_features, read_blocks, read_table
from clifford_rand_nn.tables.writers import ENDINGS, written_columns

_ROWS = 2**14  # of 50 numbers a block is 6 MB: its calls cost little, and some ten copies of it are held


def run_predict(
    path: Path,
    new: Path,
    out: Path | None,
    identifier: str | None,
    coverage: float,
    force: bool,
    dialect: Mapping[str, Any],
) -> None:
    """Load, read, predict and write; a share ``coverage`` of new values is to be inside the intervals, if there are."""
    check_number(coverage, "--coverage", "clifford-rand predict", "between 0 and 1", lambda c: 0 < c < 1)
    if out is not None:
        check_out(out, force, ENDINGS, "a table of predictions")
    loaded = read_model(path)
    existing_table(new)
    with written_columns(out) as write:
        n = 0
        for X, ids in _encoded(loaded, new, identifier, dialect):
            with refused_data(str(new)):
                columns = prediction_columns(loaded.model, X, coverage)
            if identifier is not None:
                if identifier in columns:
                    raise ArgumentError(f"{new}: the column {identifier!r} of --id is called as a prediction is.")
                columns = {identifier: ids} | columns
            write(columns)
            n += len(columns["prediction"])
    if out is not None:
        say(f"{n} predictions written to {out}")


def _encoded(
    loaded: LoadedModel, new: Path, identifier: str | None, dialect: Mapping[str, Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield rows as the model takes them, and the cells of the column ``identifier``; say what there is to note."""
    notes = Notes()
    first = True
    for frame, ids in _frames(loaded, new, identifier, dialect):
        with told_of(new):
            if loaded.encoder is None:
                rows = _features(loaded, new, frame, first)
            else:
                rows, noted = loaded.encoder.encode(frame)
                notes += noted
        with refused_data(str(new)):
            yield (rows if loaded.front is None else loaded.front.transform(rows)), ids
        first = False
    for line in notes.lines():
        complain("note", f"{new}: {line}")


def _frames(
    loaded: LoadedModel, new: Path, identifier: str | None, dialect: Mapping[str, Any]
) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of a table, or the array of an NPZ, and the cells of the column ``identifier``."""
    if new.suffix.lower() == ".npz":
        yield from _arrays(loaded, new, identifier)
        return
    as_text = [] if loaded.encoder is None else list(loaded.encoder.text_columns)
    if identifier is not None and identifier not in (loaded.needed or ()):
        as_text.append(identifier)
    for frame in read_blocks(new, rows=_ROWS, as_text=as_text, **dialect):
        if identifier is None:
            yield frame, None
            continue
        if identifier not in frame.columns:
            there = listed(list(frame.columns), identifier)
            raise ArgumentError(f"{new}: there is no column {identifier!r} of --id; the columns are {there}.")
        ids = frame[identifier]
        yield (frame if identifier in (loaded.needed or ()) else frame.drop(columns=identifier)), ids


def _arrays(loaded: LoadedModel, new: Path, identifier: str | None) -> Iterator[tuple[Any, Any]]:
    """Yield the rows of an NPZ in blocks; without names they are in the order of the model."""
    names = loaded.names
    table = read_table(new, columns=None if names is None else list(names), target=identifier)
    if names is not None and table.names is None:
        complain("note", f"{new} has no feature_names; its columns are taken in the order of the model.")
    note_ignored(str(new), table.ignored)
    for start in range(0, len(table.X), _ROWS):
        part = slice(start, start + _ROWS)
        rows: Any = table.X[part]
        if loaded.encoder is not None:
            rows = require("pandas", extra="app", purpose="encoding a table").DataFrame(rows, columns=list(names or ()))
        yield rows, None if table.target is None else table.target[part]


def _features(loaded: LoadedModel, new: Path, frame: Any, first: bool) -> NDArray[np.float64]:
    """Return the features of a model that takes numbers: by name, or in their order where it knows no names."""
    names = loaded.names
    columns = getattr(frame, "columns", None)
    if names is not None and columns is not None:
        there = set(map(str, columns))
        if first:
            note_ignored(str(new), [name for name in map(str, columns) if name not in set(names)])
        missing = [name for name in names if name not in there]
        if missing:
            raise ArgumentError(f"{new}: a column of the model is missing: {listed(missing)}.")
        return numeric_features(new, frame, list(names))
    if frame.shape[1] != loaded.n_columns:
        raise ArgumentError(
            f"{new}: there are {frame.shape[1]} feature columns, the model wants {loaded.n_columns}; it was trained "
            "without names, so give exactly its features in its order."
        )
    return frame if columns is None else numeric_features(new, frame, list(columns))


def prediction_columns(model: Any, X: Any, coverage: float = 0.9) -> dict[str, Any]:
    """Return ``prediction``; for classes ``probability_<class>``, or where there is none ``score[_<class>]``.

    For numbers ``low`` and ``high``, the ends of the intervals, where the model has them.
    """
    found = answer(model, X, coverage)
    columns: dict[str, Any] = {"prediction": found.predicted}
    if found.predicted.ndim > 1:
        columns = {f"prediction_{i}": found.predicted[:, i] for i in range(found.predicted.shape[1])}
    if found.interval is not None:
        columns["low"], columns["high"] = found.interval
    values, prefix = (found.outputs, "score") if found.probabilities is None else (found.probabilities, "probability")
    if values is None:
        return columns
    if values.ndim == 1:
        return columns | {prefix: values}
    return columns | {f"{prefix}_{label}": values[:, i] for i, label in enumerate(model.classes_)}
