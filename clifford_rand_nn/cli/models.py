"""Model files of the command line: what reads a table for the model, and what then predicts."""

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand._typing import Array
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.tables import TableEncoder, listed


@dataclass(frozen=True, eq=False)
class LoadedModel:
    """A model file, taken apart.

    Attributes
    ----------
    path : Path
    encoder : TableEncoder or None
        What makes numbers of a table; None if the model takes numbers as they are.
    front : Pipeline or None
        Other steps before the model.
    model : estimator
    """

    path: Path
    encoder: TableEncoder | None
    front: Any
    model: Any

    @property
    def names(self) -> tuple[str, ...] | None:
        """Columns of a table that the model was trained on, or None if they had no names."""
        first = self.encoder or self.front or self.model
        names = getattr(first, "feature_names_in_", None)
        return None if names is None else tuple(map(str, names))

    @property
    def needed(self) -> tuple[str, ...] | None:
        """Those of them that a table must have."""
        if self.encoder is None:
            return self.names
        return tuple(column.name for column in self.encoder.columns_ if column.kind != "left out")

    @property
    def n_columns(self) -> int:
        """Columns of a table."""
        first = self.encoder or self.front or self.model
        return int(first.n_features_in_)

    def encode(self, rows: Any) -> Any:
        """Return a table, or an array, as the model takes it."""
        if self.encoder is not None:
            rows = self.encoder.transform(rows)
        return rows if self.front is None else self.front.transform(rows)

    def columns_of(self, path: Path, frame: Any) -> Any:
        """Return the columns of a table that the model wants: those with its names, or the first if it has none.

        Raises
        ------
        ArgumentError
            One is missing.
        """
        if self.names is None:
            if frame.shape[1] < self.n_columns:
                raise ArgumentError(f"{path}: there are {frame.shape[1]} columns, the model wants {self.n_columns}.")
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
    """Read a model file.

    Raises
    ------
    ArgumentError
        It is no model file, or is damaged.
    """
    if path.suffix.lower() != ".npz" and path.is_file():
        raise ArgumentError(f"{path}: this is no model file, which ends in .npz; the model is given first.")
    return take_apart(path, load_model(path))


def take_apart(path: Path, loaded: Any) -> LoadedModel:
    """Return the parts of what a model file holds."""
    loaded = getattr(loaded, "estimator_", loaded)  # the best of a search
    if not isinstance(loaded, Pipeline):
        return LoadedModel(path, None, None, loaded)
    *before, (_, model) = loaded.steps
    encoder = None
    if before and isinstance(before[0][1], TableEncoder):
        encoder, before = before[0][1], before[1:]
    if any(isinstance(step, TableEncoder) for _, step in before):
        raise ArgumentError(f"{path}: a TableEncoder is not the first step of the pipeline, so no table can be read.")
    return LoadedModel(path, encoder, Pipeline(before) if before else None, model)


@dataclass(frozen=True, eq=False)
class Answers:
    """Predictions of rows: labels or numbers, and what goes with them.

    Attributes
    ----------
    predicted : (n,)
    probabilities : (n, C) or None
    outputs : (n,) or (n, C), or None
        Of a classifier without probabilities.
    interval : pair of (n,), or None
    """

    predicted: NDArray[Any]
    probabilities: Array | None = None
    outputs: Array | None = None
    interval: tuple[Array, Array] | None = None


def answer(model: Any, X: Any, coverage: float) -> Answers:
    """Return what a model says of encoded rows, in the order of its columns; the network is evaluated once.

    Outputs are log-odds of the second of two classes, else logarithms of probabilities up to a constant, wherever there
    are probabilities.
    """
    with warnings.catch_warnings():  # columns were matched by name before
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        return _answer(model, X, coverage)


def _answer(model: Any, X: Any, coverage: float) -> Answers:
    if not hasattr(model, "classes_"):
        if not hasattr(model, "predict_with_interval"):
            return Answers(model.predict(X))
        predicted, low, high = model.predict_with_interval(X, coverage)
        return Answers(predicted, interval=(low, high) if predicted.ndim == 1 else None)
    if hasattr(model, "predict_log_proba"):
        logs = model.predict_log_proba(X)
        return Answers(model.classes_[logs.argmax(axis=1)], np.exp(logs))
    outputs = model.decision_function(X)
    labels = model.classes_[(outputs > 0).astype(int) if outputs.ndim == 1 else outputs.argmax(axis=1)]
    if not hasattr(model, "predict_proba"):
        return Answers(labels, outputs=outputs)
    return Answers(labels, model.predict_proba(X))
