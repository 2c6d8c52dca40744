"""Tables, shards and model files of the command line: targets and weights taken out, other columns encoded."""

import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import complain, note_ignored, say
from clifford_rand_nn.cli.options import TableFormat
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.shards.readers import has_names
from clifford_rand_nn.shards.source import Shards, shard_blocks
from clifford_rand_nn.tables import TableEncoder, default_target, read_frame, read_table
from clifford_rand_nn.tables.cells import without_marks
from clifford_rand_nn.tables.encoded_rows import Notes, column_names, encode
from clifford_rand_nn.tables.encoder import fitted_encoder
from clifford_rand_nn.tables.model import training_rows
from clifford_rand_nn.tables.writers import existing_table, listed

_PIECES, _PIECE = 16, 1000  # places whose targets say what the task is, and rows of each


@dataclass(frozen=True)
class Reading:
    """The format of a table, and the roles of its columns."""

    target: str
    weights: str | None = None
    groups: str | None = None
    dialect: Mapping[str, Any] = field(default_factory=dict)  # of `read_frame`: separator, decimal, header
    kinds: Mapping[str, Any] = field(default_factory=dict)  # of `TableEncoder`: columns that are asked to be of a kind
    order: str | None = None


def choose_target(path: Path, target: str | None, table_format: TableFormat, prints_text: bool) -> str:
    """Return the target of the options, or the last column of a table, which is printed."""
    if target is None:
        target = default_target(path, **table_format.keywords)
        if prints_text:
            say(f"target: {target}; else give --target")
    return target


def read_training(path: Path, reading: Reading) -> tuple[Rows, TableEncoder | None]:
    """Read and encode a table; return its rows, and the encoder: None for an NPZ, which holds numbers.

    Rows without a target are left out.
    """
    if existing_table(path).suffix.lower() == ".npz":
        _refuse_kinds(path, reading)
        table = read_table(path, target=reading.target, weights=reading.weights, groups=reading.groups)
        times = None if reading.order is None else read_table(path, target=reading.order).target
        assert table.target is not None
        names = table.names or ()
        rows = Rows(
            X=table.X,
            y=table.target,
            weights=table.weights,
            groups=table.groups,
            order=times,
            names=names,
            origin=names,
            path=str(path),
            target=reading.target,
        )
        return rows, None
    roles: Any = {name: getattr(reading, name) for name in ("weights", "groups", "order")}
    frame, dates = _read(path, reading), reading.kinds.get("date")
    parts = training_rows(frame, reading.target, **roles, dates=dates, what=str(path))
    with named_errors(path):
        encoder, X, notes = fitted_encoder(TableEncoder(**reading.kinds), parts.features, parts.target)
    # the facts of a fit have the columns that are left out
    return _rows(path, X, parts, encoder, reading, replace(notes, left_out=())), encoder


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
        _read(path, reading), column_names(encoder.missing_values, "missing_values", "TableEncoder"), reading.target
    )
    if reading.groups not in (reading.target, reading.weights):  # they are not a feature
        frame = frame.drop(columns=[name for name in frame.columns if str(name) == reading.groups])
    weights = reading.weights if reading.weights in set(map(str, frame.columns)) else None
    parts = training_rows(frame, reading.target, weights=weights, what=str(path))
    with named_errors(path):
        X, notes = encode(encoder, parts.features)
    return _rows(path, X, parts, encoder, reading, notes)


@contextmanager
def named_errors(path: Path) -> Iterator[None]:
    """Name the file in errors of what it holds."""
    try:
        yield
    except ArgumentError as error:
        text = str(error)
        raise ArgumentError(text if text.startswith(str(path)) else f"{path}: {text}") from error


def read_noted(path: Path, dialect: Mapping[str, Any]) -> Any:
    """Read a table, and print how it is written."""
    frame = read_frame(path, **dialect)
    for note in frame.attrs.get("notes", ()):
        complain("note", f"{path}: {note}")
    return frame


def _read(path: Path, reading: Reading) -> Any:
    frame = without_marks(read_noted(path, reading.dialect), reading.kinds.get("missing_values", ()), reading.target)
    if len(frame) == 0:
        raise ArgumentError(f"{path}: the table has columns but no rows.")
    return frame


def _refuse_kinds(path: Path, reading: Reading) -> None:
    for name, columns in reading.kinds.items():
        hint = "An NPZ holds numbers; write the table as CSV or Parquet for columns of other kinds."
        option = "--" + name.replace("_", "-")
        raise fail(option, "clifford-rand", f"left out for the NPZ {path}", ", ".join(columns), hint)


def _rows(path: Path, X: Any, parts: Any, encoder: TableEncoder, reading: Reading, notes: Notes) -> Rows:
    for line in notes.lines():
        complain("note", f"{path}: {line}")
    return Rows(
        X=np.ascontiguousarray(X, dtype=np.float64),
        y=parts.target,
        weights=parts.weights,
        groups=parts.groups,
        order=parts.order,
        names=tuple(map(str, encoder.get_feature_names_out())),
        origin=tuple(map(str, encoder.source_columns_)),
        frame=parts.features,
        columns=encoder.columns_,
        path=str(path),
        target=reading.target,
        read=len(parts.target) + parts.left_out,
        reasons=((parts.left_out, "the target is empty"),) if parts.left_out else (),
    )


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model file, taken apart."""

    whole: Any  # the model with all its steps
    encoder: TableEncoder | None  # the encoder of tables; None if the model takes numbers
    prefix: Any  # other steps before the model
    model: Any

    @property
    def names(self) -> tuple[str, ...] | None:
        """Columns of a table that the model was trained on, or None if they had no names."""
        names = getattr(self.whole, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def needed(self) -> tuple[str, ...] | None:
        """Those of them that a table must have."""
        if self.encoder is None:
            return self.names
        return tuple(column.name for column in self.encoder.columns_ if column.kind != "dropped")

    @property
    def n_columns(self) -> int:
        """Columns of a table."""
        return int(self.whole.n_features_in_)

    def as_taken(self, rows: Any) -> Any:
        """Return encoded rows after the steps between the encoder and the model."""
        return rows if self.prefix is None else self.prefix.transform(rows)

    def columns_of(self, path: Path, frame: Any) -> Any:
        """Return the columns of a table that the model needs: those with its names, or the first if it has none.

        Raises ArgumentError if one is missing.
        """
        if self.names is None:
            if frame.shape[1] < self.n_columns:
                raise ArgumentError(f"{path}: there are {frame.shape[1]} columns, the model needs {self.n_columns}.")
            return frame.iloc[:, : self.n_columns].to_numpy()
        there = [str(name) for name in frame.columns]
        missing = [name for name in self.needed or () if name not in there]
        if missing:
            raise ArgumentError(f"{path}: a column of the model is missing: {listed(missing)}.")
        return frame[[name for name in self.names if name in there]]

    @property
    def is_classifier(self) -> bool:
        """Whether it predicts classes."""
        return hasattr(self.model, "classes_")


def read_model(path: Path) -> LoadedModel:
    """Read a model file; ArgumentError if it is not one, or is damaged."""
    if path.suffix.lower() != ".npz" and path.is_file():
        raise ArgumentError(f"{path}: this is not a model file, which ends in .npz; the model is given first.")
    return take_apart(path, load_model(path))


def take_apart(path: Path, loaded: Any) -> LoadedModel:
    """Return the parts of what a model file holds."""
    whole = getattr(loaded, "estimator_", loaded)  # the best of a search
    if not isinstance(whole, Pipeline):
        return LoadedModel(whole, None, None, whole)
    *before, (_, model) = whole.steps
    encoder = None
    if before and isinstance(before[0][1], TableEncoder):
        encoder, before = before[0][1], before[1:]
    if any(isinstance(step, TableEncoder) for _, step in before):
        raise ArgumentError(f"{path}: a TableEncoder is not the first step of the pipeline, so no table can be read.")
    return LoadedModel(whole, encoder, Pipeline(before) if before else None, model)


@dataclass(frozen=True, eq=False)
class Predictions:
    """Predictions of rows."""

    labels: NDArray[Any]  # (n,), classes, or numbers
    probabilities: Array | None = None  # (n, C)
    outputs: Array | None = None  # (n,) or (n, C), of a classifier without probabilities
    interval: tuple[Array, Array] | None = None  # pair of (n,)


def predictions(model: Any, X: Any, coverage: float) -> Predictions:
    """Return the predictions of a model for encoded rows, in the order of its columns; the network is evaluated once.

    Outputs are log-odds of the second of two classes, else logarithms of probabilities up to a constant, wherever there
    are probabilities.
    """
    with warnings.catch_warnings():  # columns were matched by name before
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        if not hasattr(model, "classes_"):
            if not hasattr(model, "_predict_with_interval"):
                return Predictions(model.predict(X))
            predicted, low, high = model._predict_with_interval(X, coverage)
            return Predictions(predicted, interval=(low, high) if predicted.ndim == 1 else None)
        if hasattr(model, "predict_log_proba"):
            logs = model.predict_log_proba(X)
            return Predictions(model.classes_[logs.argmax(axis=1)], np.exp(logs))
        outputs = model.decision_function(X)
        labels = model.classes_[(outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)]
        if not hasattr(model, "predict_proba"):
            return Predictions(labels, outputs=outputs)
        return Predictions(labels, model.predict_proba(X))


def training_shards(folder: Path, target: str | None, weights: str | None) -> Shards:
    """Return shards with their targets, which must be there; columns have names in Parquet alone."""
    if has_names(folder):
        if target is None:
            raise ArgumentError(f"{folder}: Parquet needs --target, the column to predict.")
        return Shards(folder, target=target, sample_weight=weights)
    for option, value in (("--target", target), ("--sample-weight", weights)):
        if value is not None:
            raise ArgumentError(f"{folder}: {option} {value} names a column, as Parquet has; targets are y-….npy here.")
    shards = Shards(folder)
    if not shards.has_targets:
        raise ArgumentError(f"{folder}: there are no targets, y-00000.npy, … beside X-00000.npy, ….")
    return shards


def new_shards(folder: Path, target: str | None, train: Shards) -> Shards:
    """Return shards with targets to score on, with the columns of those of training: by name where both have names."""
    if has_names(folder) and train.feature_names is not None:
        return Shards(folder, target=target, columns=train.feature_names)
    shards = training_shards(folder, target if has_names(folder) else None, None)
    if shards.n_features != train.n_features:
        raise ArgumentError(
            f"{folder}: these shards have {shards.n_features} columns, and those of training {train.n_features}."
        )
    return shards


def model_shards(model: Any, folder: Path, target: str | None = None, weights: str | None = None) -> Shards:
    """Return shards with the columns of a model, by name where both have names; targets where these are asked for."""
    names = getattr(model, "feature_names_in_", None)
    if not has_names(folder):
        return Shards(folder) if target is None and weights is None else training_shards(folder, target, weights)
    columns = None if names is None else [str(name) for name in names]
    return Shards(folder, target=target, sample_weight=weights, columns=columns)


def some_targets(shards: Shards) -> NDArray[Any]:
    """Return targets from many places, by which a task is chosen."""
    parts = shards.parts
    pieces = []
    for index in sorted({i * len(parts) // _PIECES for i in range(_PIECES)}):
        y = next(shard_blocks(shards, parts[index], _PIECE, columns=False)).y  # which names a file that cannot be read
        assert y is not None
        pieces.append(y)
    return np.concatenate(pieces)
