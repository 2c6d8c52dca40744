"""Predictions of fitted models on shards, written to files beside them, each complete or not at all."""

import os
import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from clifford_rand._checks import check_choice, check_path, describe, fail
from clifford_rand._files import replaced
from clifford_rand.errors import ArgumentError, available, require
from clifford_rand_nn._words import some_of
from clifford_rand_nn.row_sums import Block, Engine, Part, PartWork
from clifford_rand_nn.shards.engines import as_engine
from clifford_rand_nn.shards.source import Shards, shard_blocks, whole_shards
from clifford_rand_nn.tables.writers import written_columns

_BLOCK_BYTES, _MOST_ROWS, _LEAST_ROWS = 2**23, 2**14, 256  # of rows in float64; models hold some copies of them
_OWNER = "predict_shards"
METHODS = {"predict": "prediction", "predict_proba": "probability", "decision_function": "score"}
FILE_FORMATS = ("npy", "parquet", "csv")
_Write = Callable[[NDArray[Any]], None]


class ModelRows:
    """Calls methods of a model on blocks of rows; columns are found by name where both sides have names.

    ``owner``: whose errors these are. Raises ArgumentError: there are no shards, or they have other columns.
    """

    def __init__(self, model: Any, shards: Shards, owner: str) -> None:
        if not isinstance(shards, Shards):
            raise fail(
                "shards", owner, "Shards", describe(f"a {type(shards).__name__}"), "Shards(X) has those of arrays."
            )
        self.model, self.owner = model, owner
        names = getattr(model, "feature_names_in_", None)
        self._names = None if names is None else list(map(str, names))
        self._order: list[int] | None = None
        wanted = getattr(model, "n_features_in_", None)
        if self._names is not None and shards.feature_names is not None:
            place = {name: j for j, name in enumerate(shards.feature_names)}
            missing = [name for name in self._names if name not in place]
            if missing:
                received = describe(f"some without {some_of(missing, 5)}")
                raise fail("shards", owner, "shards with the columns of the model", received)
            order = [place[name] for name in self._names]
            self._order = None if order == list(range(shards.n_features)) else order
        elif wanted is not None and shards.n_features != wanted:
            received = describe(f"{shards.n_features}")
            raise fail("shards", owner, f"shards with the {wanted} columns of the model", received)

    @property
    def rows(self) -> int:
        """Rows of a block."""
        width = max(1, getattr(self.model, "n_features_in_", 1))
        return int(np.clip(_BLOCK_BYTES // (8 * width), _LEAST_ROWS, _MOST_ROWS))

    def method(self, name: str) -> Callable[[Any], Any]:
        """Return a method of the model.

        Raises ArgumentError: it has none of this name.
        """
        method: Callable[[Any], Any] | None = getattr(self.model, name, None)
        if method is None:
            rule = f"one that {type(self.model).__name__} has"
            raise fail("method", self.owner, rule, name)
        return method

    def ask(self, name: str, block: Block) -> NDArray[Any]:
        """Return what a method says of a block; an error names its rows.

        Raises ArgumentError: the model refuses the rows.
        """
        try:
            return np.asarray(self.method(name)(self._taken(block.X)))
        except ArgumentError as error:
            raise self.refused(block, str(error)) from error
        except ValueError as error:  # of scikit-learn
            raise self.refused(block, " ".join(str(error).split())) from error

    def refused(self, block: Block, why: str) -> ArgumentError:
        """Return the error of rows that a model does not take."""
        return ArgumentError(f"{self.owner}: rows {block.first} to {block.first + len(block.X)} of all shards: {why}")

    def _taken(self, X: NDArray[Any]) -> Any:
        if self._order is not None:
            X = X[:, self._order]
        if X.dtype == np.float16:  # no model computes in it
            X = X.astype(np.float32)
        if self._names is None or not available("pandas"):
            return X
        return require("pandas", extra="app", purpose="columns with names").DataFrame(X, columns=self._names)


def predict_shards(
    estimator: Any,
    shards: Shards,
    folder: str | os.PathLike[str],
    *,
    method: str = "predict",
    file_format: str = "npy",
    if_exists: str = "error",
    engine: Any = None,
) -> list[Path]:
    r"""Write what a fitted estimator or pipeline says of the rows of shards, a file for each shard.

    A block of rows is in memory at a time, for each worker. A file appears when it is complete, so that one that is
    there can be trusted after whatever ended an earlier run; ``if_exists="skip"`` goes on with the others.

    Parameters
    ----------
    estimator : fitted estimator or pipeline
        Any with the methods of scikit-learn.
    shards : Shards
        Targets may be there; they are not read.
    folder : path
        Folder for the files, made if there is none: ``prediction-00000.npy``, … (``probability-``, ``score-``), with
        the number that ``X-00000.npy`` has, else counted from 0.
    method : {"predict", "predict_proba", "decision_function"}
    file_format : {"npy", "parquet", "csv"}
        Arrays (n_i,) or (n_i, C); or tables with columns ``prediction``, ``probability_<class>`` or ``score``.
    if_exists : {"error", "replace", "skip"}
        What is done with files that are there already.
    engine : None, distributed.Client, "torch" or Engine
        Who predicts and writes. Workers must see the folder. Parts of an `Engine` must be whole shards.

    Returns
    -------
    list of Path
        One for each shard.

    Raises
    ------
    ArgumentError
        Shards of other columns or that cannot be read, rows that the model refuses, a method that it has not, files
        that are there.

    Examples
    --------
    >>> import tempfile
    >>> from sklearn.linear_model import LinearRegression
    >>> rows = [np.arange(3.0)[:, None], np.arange(3.0, 5.0)[:, None]]
    >>> model = LinearRegression().fit(rows[0], 2 * rows[0].ravel())
    >>> files = predict_shards(model, Shards(rows), tempfile.mkdtemp())
    >>> [file.name for file in files], np.load(files[1]).round(6).tolist()
    (['prediction-00000.npy', 'prediction-00001.npy'], [6.0, 8.0])
    """
    check_choice(method, "method", _OWNER, tuple(METHODS))
    check_choice(file_format, "file_format", _OWNER, FILE_FORMATS)
    check_choice(if_exists, "if_exists", _OWNER, ("error", "replace", "skip"))
    rows_of = ModelRows(estimator, shards, _OWNER)
    rows_of.method(method)
    place = check_path(folder, "folder", _OWNER)
    place.mkdir(parents=True, exist_ok=True)
    files = [place / f"{METHODS[method]}-{number}.{file_format}" for number in shard_numbers(shards)]
    whole = whole_shards(shards)
    if isinstance(engine, Engine) and engine.shards.parts != whole.parts:
        received = describe(f"one of {len(engine.shards.parts)} parts of {len(shards.shards)} shards")
        hint = "Give a Client or 'torch', or no engine: one whose parts are whole shards is made."
        raise fail("engine", _OWNER, "an engine whose parts are whole shards", received, hint)
    with as_engine(engine, whole, _OWNER) as chosen:
        exist = chosen.agreed([file.exists() for file in files])  # before any process writes
        if any(exist) and if_exists == "error":
            hint = "if_exists='replace' writes them anew, 'skip' writes the others only."
            received = describe(f"{files[exist.index(True)]}, {sum(exist)} of them")
            raise fail("folder", _OWNER, "a folder without such files", received, hint)
        todo = [not (if_exists == "skip" and is_there) for is_there in exist]
        for _ in chosen.each(_Predicting(rows_of, method, file_format, files, todo)):
            pass

        def of_no_rows() -> None:  # no worker was asked for these
            for index, (file, wanted) in enumerate(zip(files, todo, strict=True)):
                if wanted and whole.shards[index].X.shape[0] == 0:
                    # a row that stands for none: what is said of it has the type and the width of the file
                    row = Block(np.zeros((1, whole.n_features), whole.shards[index].X.dtype), None, None, 0)
                    _write(rows_of, method, file_format, file, 0, iter([row]))

        chosen.of_first(of_no_rows)
    return files


class _Predicting(PartWork):
    """Writes the file of a shard."""

    def __init__(self, rows_of: ModelRows, method: str, kind: str, files: list[Path], todo: list[bool]) -> None:
        self.asked, self.method, self.kind, self.files, self.todo = rows_of, method, kind, files, todo

    def of(self, shards: Shards, part: Part) -> None:
        if self.todo[part.shard]:
            blocks = shard_blocks(shards, part, self.asked.rows, targets=False)
            _write(self.asked, self.method, self.kind, self.files[part.shard], part.size, blocks)


def _write(rows_of: ModelRows, method: str, kind: str, file: Path, n: int, blocks: Iterator[Block]) -> None:
    with _arrays(file, n) if kind == "npy" else _table(file, rows_of.model, method) as write:
        for block in blocks:
            values = rows_of.ask(method, block)
            write(_sized(values, rows_of.model) if n else _sized(values, rows_of.model)[:0])


def _sized(values: NDArray[Any], model: Any) -> NDArray[Any]:
    """Return labels that are Python's texts as texts of one size, that of the longest class."""
    if values.dtype.kind != "O":
        return values
    return values.astype(np.asarray(getattr(model, "classes_", values)).astype(str).dtype)


@contextmanager
def _arrays(file: Path, n: int) -> Iterator[_Write]:
    """Yield a function that appends rows to an ``.npy`` file of n rows."""
    with replaced(file) as new, open(new, "wb") as stream:
        first: list[np.dtype[Any]] = []

        def write(values: NDArray[Any]) -> None:
            if not first:
                first.append(values.dtype)
                about = {"descr": npy.dtype_to_descr(values.dtype), "fortran_order": False}
                npy.write_array_header_1_0(stream, about | {"shape": (n, *values.shape[1:])})
            stream.write(np.ascontiguousarray(values, dtype=first[0]).data)

        yield write


@contextmanager
def _table(file: Path, model: Any, method: str) -> Iterator[_Write]:
    """Yield a function that appends rows to a table."""
    stem = METHODS[method]
    with written_columns(file) as write_columns:

        def write(values: NDArray[Any]) -> None:
            if values.ndim == 1:
                write_columns({stem: values})
                return
            classes = getattr(model, "classes_", None)
            known = method != "predict" and classes is not None and len(classes) == values.shape[1]
            labels = classes if known else range(values.shape[1])
            assert labels is not None
            write_columns({f"{stem}_{label}": values[:, j] for j, label in enumerate(labels)})

        yield write


def shard_numbers(shards: Shards) -> list[str]:
    """Return what names the shards: the numbers of ``X-….npy``, where all have one of their own, else 00000, …."""
    matches = [re.fullmatch(r"X-(.+)\.npy", os.path.basename(shard.X.name)) for shard in shards.shards]
    numbers = [match.group(1) for match in matches if match]
    if len(set(numbers)) == len(shards.shards):
        return numbers
    return [f"{index:05d}" for index in range(len(shards.shards))]
