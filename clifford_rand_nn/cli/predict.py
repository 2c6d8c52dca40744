"""``clifford-rand predict``: a model file and a table in, predictions out, block by block."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, check_number
from clifford_rand._threads import ONE_BLAS_THREAD, cpu_count, map_ahead
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.cli.console import check_out, complain, note_ignored, refused_data, say
from clifford_rand_nn.cli.options import PredictOptions, TableFormat, check_source, option_error
from clifford_rand_nn.cli.tables import LoadedModel, model_shards, named_errors, predictions, read_model
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.shard_predictions import FILE_FORMATS, METHODS, predict_shards
from clifford_rand_nn.tables import numeric_features, read_table
from clifford_rand_nn.tables.encoded_rows import Notes, columns_as_number, columns_as_text, encode
from clifford_rand_nn.tables.formats import read_blocks
from clifford_rand_nn.tables.writers import WRITTEN, existing_table, listed, written_columns

_NUMBER = re.compile(r"[+-]?[\d.,]+(?:[eE][+-]?\d+)?")
_MOST_THREADS = 4
_ROWS = 2**14  # of 50 numbers a block is 6 MB: its calls cost little, and some ten copies of it are held
_FEWEST, _CELLS = 2**8, 2**20  # rows of a wide table, in blocks of 8 MB


def run_predict(path: Path, new: Path | None, output: PredictOptions, table_format: TableFormat) -> None:
    """Load, read, predict and write."""
    check_source(new, output.shards, "new")
    out = output.out
    if output.shards is not None:
        if output.identifier is not None:
            raise option_error("id", "It is for tables, not for --shards.")
        table_format.refuse()
        _predict_shards(path, output)
        return
    assert new is not None
    if output.resume:
        raise option_error("resume", "It is for --shards.")
    check_number(output.coverage, "--coverage", "clifford-rand predict", "between 0 and 1", lambda c: 0 < c < 1)
    if out is not None:
        check_out(out, output.force, WRITTEN, "a table of predictions")
    loaded = read_model(path)
    existing_table(new)
    with written_columns(out) as write, ONE_BLAS_THREAD:  # a thread a block: BLAS's own would wait for each other
        n = 0
        for columns in _predicted(loaded, new, output, table_format.keywords):
            write(columns)
            n += len(columns["prediction"])
    if out is not None:
        say(f"{n} predictions written to {out}")
    formulas = [str(label) for label in (loaded.model.classes_ if loaded.is_classifier else ()) if _is_formula(label)]
    if formulas and (out is None or out.suffix.lower() == ".csv"):
        complain("note", f"a spreadsheet may run the class {formulas[0]!r} as a formula; import such columns as text.")


def _predict_shards(path: Path, output: PredictOptions) -> None:
    out, file_format = output.out, output.file_format
    check_choice(file_format, "--format", "clifford-rand predict", FILE_FORMATS)
    check_choice(output.method, "--method", "clifford-rand predict", tuple(METHODS))
    if out is None:
        raise ArgumentError("predict --shards needs --out, the folder for its files.")
    if out.exists() and not out.is_dir():
        raise ArgumentError(f"{out}: this is a file, not a folder.")
    if output.force and output.resume:
        raise ArgumentError("Give --force or --resume, not both: one writes files anew, the other keeps them.")
    model = load_model(path)
    shards = model_shards(model, Path(str(output.shards)))
    there = sorted(out.glob(f"*.{file_format}")) if out.is_dir() else []
    if there and not (output.force or output.resume):
        raise ArgumentError(f"{there[0]}: this file is there already; --force overwrites such, --resume keeps them.")
    if_exists = "replace" if output.force else "skip" if output.resume else "error"
    files = predict_shards(model, shards, out, method=output.method, file_format=file_format, if_exists=if_exists)
    say(f"{shards.n_rows} predictions written to {out}, in {len(files)} files such as {files[0].name}")


def _is_formula(label: Any) -> bool:
    """Return whether a spreadsheet takes a class for a formula: by its first character, unless it is a number.

    Classes are written as they are, since other programs compare them with the training data.
    """
    return (
        isinstance(label, str) and label.startswith(("=", "+", "-", "@", "\t", "\r")) and not _NUMBER.fullmatch(label)
    )


def _predicted(
    loaded: LoadedModel, new: Path, output: PredictOptions, dialect: Mapping[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield columns to write, blocks in their order, a few of them at a time; print the notes of the table."""
    identifier = output.identifier

    def predict(block: tuple[Any, Any]) -> tuple[dict[str, Any], Notes]:
        rows, ids = block
        notes = Notes()
        with named_errors(new):
            if loaded.encoder is None:
                rows = _features(loaded, new, rows)
            else:
                rows, notes = encode(loaded.encoder, rows)
        with refused_data(str(new)):
            columns = prediction_columns(loaded.model, loaded.as_taken(rows), output.coverage)
        if identifier is None:
            return columns, notes
        if identifier in columns:
            raise ArgumentError(f"{new}: the column {identifier!r} of --id has the name of a prediction.")
        return {identifier: ids} | columns, notes

    ignored: list[str] = []
    notes = Notes()
    blocks = _frames(loaded, new, identifier, dialect, ignored)
    for columns, noted in map_ahead(predict, blocks, min(_MOST_THREADS, cpu_count())):
        notes += noted
        yield columns
    for line in (Notes(ignored=tuple(ignored)) + notes).lines():
        complain("note", f"{new}: {line}")


def _frames(
    loaded: LoadedModel, new: Path, identifier: str | None, dialect: Mapping[str, Any], ignored: list[str]
) -> Iterator[tuple[Any, Any]]:
    """Yield blocks of a table, or the array of an NPZ, and the cells of the column ``identifier``.

    Columns that the model does not know are not read. The names of those that an encoder does not know go to
    ``ignored``.
    """
    if new.suffix.lower() == ".npz":
        yield from _arrays(loaded, new, identifier)
        return
    encoder, needed = loaded.encoder, loaded.needed or ()
    string_columns = [] if encoder is None else list(columns_as_text(encoder))
    as_number = list(needed if encoder is None else columns_as_number(encoder))
    if identifier is not None:
        as_number = [name for name in as_number if name != identifier]  # 7 is to be written as 7
        string_columns += [] if identifier in needed else [identifier]

    def chosen(there: list[str]) -> list[str]:
        if identifier is not None and identifier not in there:
            hint = listed(there, identifier)
            raise ArgumentError(f"{new}: there is no column {identifier!r} of --id; the columns are {hint}.")
        if not needed or any(name not in there for name in needed):  # the encoder raises the error
            return there
        known = {identifier, *(needed if encoder is None else (column.name for column in encoder.columns_))}
        unknown = [name for name in there if name not in known]
        if encoder is None:
            note_ignored(str(new), unknown)
        ignored.extend(() if encoder is None else unknown)
        return [name for name in there if name == identifier or name in needed]

    rows = min(_ROWS, max(_FEWEST, _CELLS // loaded.n_columns))
    for frame in read_blocks(
        new, rows=rows, columns=chosen, string_columns=string_columns, as_number=as_number, **dialect
    ):
        if identifier is None:
            yield frame, None
            continue
        ids = frame[identifier]
        yield (frame if identifier in needed else frame.drop(columns=identifier)), ids


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


def _features(loaded: LoadedModel, new: Path, frame: Any) -> NDArray[np.float64]:
    """Return the features of a model that takes numbers: by name, or in their order where it knows no names."""
    columns = getattr(frame, "columns", None)
    if loaded.names is not None and columns is not None:
        return numeric_features(new, loaded.columns_of(new, frame), loaded.names)
    if frame.shape[1] != loaded.n_columns:
        counts = f"there are {frame.shape[1]} feature columns, the model needs {loaded.n_columns}"
        advice = "it was trained without names, so give exactly its features in its order"
        raise ArgumentError(f"{new}: {counts}; {advice}.")
    return frame if columns is None else numeric_features(new, frame, list(columns))


def prediction_columns(model: Any, X: Any, coverage: float = 0.9) -> dict[str, Any]:
    """Return ``prediction``; for classes ``probability_<class>``, or where there is none ``score[_<class>]``.

    For numbers ``low`` and ``high``, the ends of the intervals, where the model has them.
    """
    predicted = predictions(model, X, coverage)
    columns: dict[str, Any] = {"prediction": predicted.labels}
    if predicted.labels.ndim > 1:
        columns = {f"prediction_{i}": predicted.labels[:, i] for i in range(predicted.labels.shape[1])}
    if predicted.interval is not None:
        columns["low"], columns["high"] = predicted.interval
    values, prefix = (
        (predicted.outputs, "score") if predicted.probabilities is None else (predicted.probabilities, "probability")
    )
    if values is None:
        return columns
    if values.ndim == 1:
        return columns | {prefix: values}
    return columns | {f"{prefix}_{label}": values[:, i] for i, label in enumerate(model.classes_)}
