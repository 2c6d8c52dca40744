"""TableEncoder: a data frame of any columns in, numbers out; and its state, as a model file holds it."""

import copy
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clifford_rand.errors import require
from clifford_rand_nn._records import agree, record_of, texts, truth, values_of, whole
from clifford_rand_nn.export.preprocessing import table_program
from clifford_rand_nn.export.program import Value
from clifford_rand_nn.tables.column_readers import NUMBER, READERS, TEXT, TRUTH, WORD, DateReader, Reader
from clifford_rand_nn.tables.column_types import KINDS, ColumnKind
from clifford_rand_nn.tables.dates import PARTS, moments
from clifford_rand_nn.tables.encoded_rows import Notes, TableWarning, check_parameters, column_names, encode, learn
from clifford_rand_nn.tables.encodings import (
    Encoding,
    Filled,
    HashedWords,
    Learned,
    MissingMark,
    OneHot,
    TargetMeans,
    families,
    unique_names,
)

_VERSION = 2
_FAULT = "parts of the table's encoder do not fit each other"
_LISTS = ("numeric", "categorical", "boolean", "text", "drop", "missing_values")
_MOST_FEATURES = 2**20  # of hashed words: more columns than any model of a table has


@dataclass(eq=False, repr=False, kw_only=True)
class TableEncoder(TransformerMixin, BaseEstimator):
    """Encoder of data frames: numbers, truth values, categories, dates and texts become columns of float64.

    The type of each column is found out from its cells (`ColumnKind`), and can be overruled by name. Medians,
    categories and target means are learned by scikit-learn's own encoders:

    * numbers: the median stands for missing ones. "?", "NA", "n/a", "-" and the like are missing, and infinity is. So
      are cells of other kinds, such as "#DIV/0!", where at most a tenth are such; a warning quotes one.
    * booleans (yes and no, true and false, t and f, 1 and 0): 1 and 0, the more frequent one for missing ones.
    * categories: a column of 0 and 1 for each, one of them for missing cells, and one for all that are rare. A category
      that was not there in training counts as a rare one, or as none if there is no rare one. Where there is a target
      and most rows have rare categories, of more than 20: the mean of the targets of its category, or the share of each
      class, by scikit-learn's TargetEncoder. In `fit_transform` it is that of the rows of other folds.
    * dates: days since the first one; if they span more than a year, sine and cosine of the place in the year; the day
      of the week as categories; sine and cosine of the time of day. The year by itself, and the month, say nothing
      that these do not. All are on the clock of the column's time zone, to which new tables are converted; texts with
      several offsets from UTC, and cells without one, are taken as they are written.
    * texts: counts of their words, hashed, if that is asked for.
    * Where at least ``min_frequency`` cells of a number, boolean or date are missing, a column of 0 and 1 says so.

    Columns are dropped, with the reason in ``columns_``, where all cells are equal or missing, and where every cell is
    another whole number or word, as identifiers are.

    Parameters
    ----------
    numeric, categorical, boolean, drop : names of columns
        What these are to be taken for, whatever they look like.
    date : names of columns, or dict of name to format
        A format is one of `datetime.strptime`, such as "%d/%m/%Y".
    text : names of columns
        Texts of which the words are used.
    missing_values : texts
        Marks of missing cells in this table, such as "n.d." or "-999", beside those that are known.
    other_text : {"drop", "hash"}
        What is done with other columns of texts; `embed` makes better features of them than hashed words are.
    min_frequency : int
        Categories with fewer rows share one column; fewer missing cells are not marked.
    max_categories : int
        Most columns that a column of categories becomes.
    n_text_features : int
        Columns that a text becomes.

    Attributes
    ----------
    columns_ : tuple of ColumnKind
        What each column is taken for, and why, in the order of the table.
    encodings_ : tuple of Encoding
        How cells become columns, in the order of these.
    readers_ : tuple of Reader
        How the cells of the columns that are used are read.
    complete_columns_ : tuple of str
        Numbers and booleans of which no cell was missing.
    source_columns_ : (d,) array of str
        For each column that comes out, the one that it was made of.
    feature_names_in_ : array of str
        Columns of the table, those that are dropped too.
    n_features_in_ : int

    Raises
    ------
    ArgumentError
        A column is missing, or holds something else than in training; no column can be used; a parameter is wrong.
    MissingDependencyError
        pandas is missing.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"age": [20, 30, None, 50] * 5, "city": ["Oslo", "Bergen", "Oslo", None] * 5})
    >>> encoder = TableEncoder().fit(frame)
    >>> encoder.transform(frame.iloc[2:4])
    array([[30.,  1.,  0.,  1.,  0.],
           [50.,  0.,  0.,  0.,  1.]])
    >>> encoder.get_feature_names_out().tolist()
    ['age', 'age (missing)', 'city=Bergen', 'city=Oslo', 'city (missing)']
    """

    numeric: Iterable[str] = ()
    categorical: Iterable[str] = ()
    boolean: Iterable[str] = ()
    date: Iterable[str] | Mapping[str, str] = ()
    text: Iterable[str] = ()
    drop: Iterable[str] = ()
    missing_values: Iterable[str] = ()
    other_text: str = "drop"
    min_frequency: int = 5
    max_categories: int = 100
    n_text_features: int = 256

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Determine the kinds of the columns of a data frame, and learn medians, categories and target means.

        A `TableWarning` warns of columns that are dropped, and of cells that could not be read.
        """
        self._warned_fit(X, y)
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the rows of the same frame as numbers (n, d); warn as `fit` does."""
        return self._warned_fit(X, y)

    def _warned_fit(self, X: Any, y: Any) -> NDArray[np.float64]:
        fitted, rows, notes = fitted_encoder(self, X, y)
        self.__dict__ = dict(vars(fitted))
        if notes.lines():
            warnings.warn("; ".join(notes.lines()), TableWarning, stacklevel=3)
        return rows

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the rows of a data frame as numbers (n, d); warn by `TableWarning` of what is new in them.

        Columns are found by name; those that the encoder does not know are ignored.
        """
        rows, notes = encode(self, X)
        for line in notes.lines():
            warnings.warn(line, TableWarning, stacklevel=3)
        return rows

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that come out, such as "age", "age (missing)", "city=Oslo" and "city (rare)"."""
        check_is_fitted(self, "encodings_")
        return np.array(unique_names(self.encodings_), dtype=object)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def fitted_encoder(encoder: TableEncoder, X: Any, y: Any = None) -> tuple[TableEncoder, NDArray[np.float64], Notes]:
    """Return a fitted copy of an encoder, the rows of the same frame as numbers (n, d), and notes on it."""
    learned, out_of_fold = learn(encoder, X, y)
    fitted = with_learned(encoder, learned)
    rows, notes = encode(fitted, X, out_of_fold)
    dropped = (c for c in fitted.columns_ if c.kind == "dropped" and not c.is_user_specified)
    left_out = tuple(f"{c.name!r} ({c.reason})" for c in dropped)
    return fitted, rows, replace(notes, left_out=left_out, ignored=())


def with_learned(encoder: TableEncoder, learned: Learned) -> TableEncoder:
    """Return a copy of an encoder that has learned this, in a fit or from a file."""
    fitted = copy.copy(encoder)
    fitted.columns_, fitted.readers_, fitted.encodings_, fitted.complete_columns_, is_named = learned
    fitted.n_features_in_ = len(learned.columns)
    if is_named:
        fitted.feature_names_in_ = np.array([kind.name for kind in learned.columns], dtype=object)
    elif hasattr(fitted, "feature_names_in_"):
        del fitted.feature_names_in_
    fitted.source_columns_ = np.array([part.column for part in learned.encodings for _ in part.names], dtype=object)
    return fitted


@table_program.register
def _(encoder: TableEncoder) -> tuple[Value, tuple[Value, ...]]:
    from clifford_rand_nn.tables.cell_programs import encoder_program

    check_is_fitted(encoder, "encodings_")
    return encoder_program(encoder)


def encoder_to_plain(encoder: TableEncoder) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Return what a fitted `TableEncoder` learned: numbers as arrays, the rest as JSON can hold it."""
    check_is_fitted(encoder, "encodings_")
    params = encoder.get_params(deep=False)
    dates = params["date"]
    params |= {name: column_names(params[name], name, "TableEncoder") for name in _LISTS}
    params["date"] = dict(dates) if isinstance(dates, Mapping) else column_names(dates, "date", "TableEncoder")
    kinds = (Filled, MissingMark, OneHot, TargetMeans)
    of: dict[type, list[Any]] = {kind: [e for e in encoder.encodings_ if type(e) is kind] for kind in kinds}
    fills = [[entry.fill for entry in of[Filled] if entry.is_truth == is_truth] for is_truth in (False, True)]
    arrays = {name: np.array(values, dtype=np.float64) for name, values in zip(("fill", "truths"), fills, strict=True)}
    meta = {
        "version": _VERSION,
        "params": params,
        "named": hasattr(encoder, "feature_names_in_"),
        "columns": [values_of(kind) for kind in encoder.columns_],
        "readers": [reader.plain() for reader in encoder.readers_],
        "marked": [entry.cells for entry in of[MissingMark]],
        "whole": list(encoder.complete_columns_),
        "categories": {entry.cells: {"words": list(entry.words), "rare": list(entry.rare)} for entry in of[OneHot]},
        "n_text_features": encoder.n_text_features,
    }
    if of[TargetMeans]:
        arrays["means"] = np.concatenate([np.ravel(entry.values) for entry in of[TargetMeans]])
        means = {entry.cells: {"words": list(entry.words), "labels": list(entry.labels)} for entry in of[TargetMeans]}
        meta["means"] = means
    return arrays, meta


def encoder_from_plain(arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> TableEncoder:
    """Return the encoder that `encoder_to_plain` described; it encodes every table bit for bit as that one.

    Raises ValueError, LookupError or TypeError if parts do not fit each other.
    """
    agree(meta["version"] == _VERSION, "the table's encoder is of a later version")
    encoder = TableEncoder(**_read_parameters(meta["params"]))
    check_parameters(encoder)
    kinds = tuple(record_of(ColumnKind, kind) for kind in meta["columns"])
    readers = tuple(_read_reader(reader) for reader in meta["readers"])
    names = [kind.name for kind in kinds]
    agree(len(set(names)) == len(names) and all(kind.kind in KINDS for kind in kinds), _FAULT)
    used = [(kind.name, kind.kind) for kind in kinds if kind.kind != "dropped"]
    agree(used == [(reader.name, reader.kind) for reader in readers], _FAULT)
    family, origin = families(readers)
    agree(len(family) == sum(len(reader.families) for reader in readers), _FAULT)
    of = {kind: [name for name, its in family.items() if its == kind] for kind in (NUMBER, TRUTH, WORD, TEXT)}
    encodings: list[Encoding] = []
    for name, kind in (("fill", NUMBER), ("truths", TRUTH)):
        fill = np.asarray(arrays[name], dtype=np.float64)
        agree(fill.ndim == 1 and bool(np.isfinite(fill).all()), _FAULT)
        pairs = zip(of[kind], fill.tolist(), strict=True)
        encodings += [Filled(cells, origin[cells], value, kind == TRUTH) for cells, value in pairs]
    marked, complete = texts(meta["marked"]), texts(meta["whole"])
    agree(set(marked) | set(complete) <= {*of[NUMBER], *of[TRUTH]}, _FAULT)
    encodings += [MissingMark(cells, origin[cells]) for cells in marked]
    means = _read_means(arrays.get("means", np.zeros(0)), meta.get("means", {}), origin)
    agree({entry.cells for entry in means} <= set(of[WORD]), _FAULT)
    for cells in [name for name in of[WORD] if name not in {entry.cells for entry in means}]:
        values = meta["categories"][cells]
        words, rare = _read_words(values["words"]), tuple(map(truth, values["rare"]))
        agree(bool(words) and len(words) == len(rare), _FAULT)
        encodings.append(OneHot(cells, origin[cells], words, rare))
    features = whole(meta["n_text_features"], 1)
    agree(features < _MOST_FEATURES, _FAULT)
    encodings += [HashedWords(cells, origin[cells], features) for cells in of[TEXT]]
    return with_learned(encoder, Learned(kinds, readers, (*encodings, *means), complete, bool(meta["named"])))


def _read_means(values: NDArray[Any], stored: Mapping[str, Any], origin: Mapping[str, str]) -> list[TargetMeans]:
    """Return the target means of columns from one array."""
    means = []
    agree(values.ndim == 1 and bool(np.isfinite(values).all()), _FAULT)
    for cells, entry in stored.items():
        words, labels = _read_words(entry["words"]), texts(entry["labels"])
        size = (len(words) + 1) * len(labels)
        agree(len(labels) > 0 and len(values) >= size, _FAULT)
        rows = values[:size].astype(np.float64).reshape(len(labels), -1).tolist()
        means.append(TargetMeans(cells, origin[cells], words, labels, tuple(map(tuple, rows))))
        values = values[size:]
    agree(len(values) == 0, _FAULT)
    return means


def _read_words(values: list[Any]) -> tuple[str | None, ...]:
    words = tuple(values)
    agree(len(words) == len(set(words)) and all(word is None or isinstance(word, str) for word in words), _FAULT)
    return words


def _read_parameters(params: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the parameters if those that name columns do; the others are checked as those of a fit."""
    dates = params["date"]
    texts([*dates, *dates.values()] if isinstance(dates, dict) else dates)
    for name in _LISTS:
        texts(params[name])
    return params


def _read_reader(values: Mapping[str, Any]) -> Reader:
    """Return the reader that `Reader.plain` described."""
    fields = {name: value for name, value in values.items() if name not in ("kind", "start")}
    start: dict[str, Any] = {"start": whole(values["start"], low=None)} if "start" in values else {}
    reader = record_of(READERS[values["kind"]], fields, **start)
    if isinstance(reader, DateReader):
        agree(bool(reader.parts) and len(set(reader.parts)) == len(reader.parts) and set(reader.parts) <= set(PARTS))
        agree(abs(reader.start) < 2**63, _FAULT)
        cell = require("pandas", extra="app", purpose="encoding a table").Series(["2020-01-31T00:00Z"], dtype=object)
        moments(cell, reader.format, reader.zone)  # raises ValueError of a format or a zone that does not exist
    return reader
