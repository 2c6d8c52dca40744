"""TableEncoder: a data frame of any columns in, numbers out, learned by scikit-learn's own imputers and encoders."""

import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import check_choice, check_integer, describe, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.export.preprocessing import table_program
from clifford_rand_nn.export.program import Value
from clifford_rand_nn.tables.cells import as_frame, without_marks
from clifford_rand_nn.tables.column_readers import READERS, DateReader, Reader, Unread
from clifford_rand_nn.tables.column_types import KINDS, find_kinds
from clifford_rand_nn.tables.encodings import Learned, OneHot, families, fills_of, learn_encodings, unique_names
from clifford_rand_nn.tables.notes import Notes, TableWarning, column_names
from clifford_rand_nn.tables.writers import closest, listed

_OWNER = "TableEncoder"
_OTHER_TEXT = ("drop", "hash")


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
        _warn(self.fit_encode(X, y)[1])
        return self

    def fit_transform(self, X: Any, y: Any = None, **fit_params: Any) -> Any:
        """Fit, and return the rows of the same frame as numbers (n, d); warn as `fit` does."""
        rows, notes = self.fit_encode(X, y)
        _warn(notes)
        return rows

    def fit_encode(self, X: Any, y: Any = None) -> tuple[NDArray[np.float64], Notes]:
        """Fit, and return the rows of the same frame as numbers (n, d), and notes on it."""
        out_of_fold = self._fit(X, y)
        rows, notes = self.encode(X, out_of_fold)
        dropped = (c for c in self.columns_ if c.kind == "dropped" and not c.is_user_specified)
        left_out = tuple(f"{c.name!r} ({c.reason})" for c in dropped)
        return rows, replace(notes, left_out=left_out, ignored=())

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the rows of a data frame as numbers (n, d); warn by `TableWarning` of what is new in them.

        Columns are found by name; those that the encoder does not know are ignored.
        """
        rows, notes = self.encode(X)
        for line in notes.lines():
            warnings.warn(line, TableWarning, stacklevel=3)
        return rows

    def encode(
        self, X: Any, out_of_fold: Mapping[str, NDArray[np.float64]] | None = None
    ) -> tuple[NDArray[np.float64], Notes]:
        """Return the rows of a data frame as numbers (n, d), and notes on it; for tables in blocks.

        ``out_of_fold`` are the target means of rows of training, by `fit_encode`.
        """
        check_is_fitted(self, "encodings_")
        frame = self._matching(X)
        unread: Unread = {}
        cells = read_cells(self.readers_, frame, unread)
        known = set(self._names)
        ignored = tuple(name for name in frame.columns if name not in known)
        unknown = {
            encoding.column: new
            for encoding in self.encodings_
            if isinstance(encoding, OneHot) and (new := encoding.new_words(cells[encoding.cells]))
        }
        gaps = {name: int(np.count_nonzero(np.isnan(cells[name]))) for name in self.complete_columns_}
        filled = {self._origin[name]: count for name, count in gaps.items() if count}
        means = out_of_fold or {}
        parts = [means[part.cells] if part.cells in means else part(cells[part.cells]) for part in self.encodings_]
        return np.hstack(parts), Notes(len(frame), ignored, unknown, filled, unread)

    @property
    def text_columns(self) -> tuple[str, ...]:
        """Columns of the table that are read as texts: ``as_text`` of `read_frame` and `read_blocks`."""
        check_is_fitted(self, "encodings_")
        return tuple(reader.name for reader in self.readers_ if reader.in_files == "text")

    @property
    def number_columns(self) -> tuple[str, ...]:
        """Columns of the table that are read as numbers: ``as_number`` of `read_blocks`."""
        check_is_fitted(self, "encodings_")
        return tuple(reader.name for reader in self.readers_ if reader.in_files == "number")

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that come out, such as "age", "age (missing)", "city=Oslo" and "city (rare)"."""
        check_is_fitted(self, "encodings_")
        return np.array(unique_names(self.encodings_), dtype=object)

    def to_plain(self) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
        """Return all that was learned as arrays of numbers and values that JSON can hold; see `from_plain`."""
        from clifford_rand_nn.tables.encoder_state import encoder_to_plain

        check_is_fitted(self, "encodings_")
        return encoder_to_plain(self)

    @classmethod
    def from_plain(cls, arrays: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> "TableEncoder":
        """Return the encoder that `to_plain` described; it encodes every table bit for bit as that one.

        Raises ValueError, LookupError or TypeError if they describe no encoder.
        """
        from clifford_rand_nn.tables.encoder_state import encoder_from_plain

        params, learned = encoder_from_plain(arrays, meta)
        encoder = cls(**params)
        encoder._check_parameters()
        encoder._set(learned)
        return encoder

    def _fit(self, X: Any, y: Any) -> dict[str, NDArray[np.float64]]:
        self._check_parameters()
        frame, named = as_frame(X)
        frame = without_marks(
            frame, column_names(self.missing_values, "missing_values", _OWNER, "marks of missing cells")
        )
        there = [str(name) for name in frame.columns]
        if len(frame) < 2:
            raise fail("X", _OWNER, "of two rows or more, so that columns can differ", describe("one sample"))
        kinds = find_kinds(frame, self._asked(there), self.other_text, self.min_frequency, y is not None)
        formats = self.date if isinstance(self.date, Mapping) else {}
        readers = tuple(
            READERS[kind.kind].of(kind.name, frame[name], formats.get(kind.name))
            for kind, name in zip(kinds, frame.columns, strict=True)
            if kind.kind != "dropped"
        )
        if not readers:
            reasons = "; ".join(f"{kind.name!r}: {kind.reason}" for kind in kinds[:3])
            raise fail("X", _OWNER, "a table with a column that can be used", describe(reasons))
        columns = {reader.name for reader in readers}
        readers = tuple(r.apart_from(columns) if isinstance(r, DateReader) else r for r in readers)
        cells = read_cells(readers, frame, {})
        encodings, out_of_fold = learn_encodings(readers, cells, self, y)
        complete = tuple(name for name in fills_of(encodings) if not np.isnan(cells[name]).any())
        self._set(Learned(kinds, readers, encodings, complete, named))
        return out_of_fold

    def _check_parameters(self) -> None:
        check_choice(self.other_text, "other_text", _OWNER, _OTHER_TEXT)
        for name in ("min_frequency", "max_categories", "n_text_features"):
            check_integer(getattr(self, name), name, _OWNER, low=2 if name == "max_categories" else 1)

    def _set(self, learned: Learned) -> None:
        """Set the fitted attributes, after a fit or from a file."""
        self.columns_, self.readers_, self.encodings_, self.complete_columns_, is_named = learned
        self._names = tuple(kind.name for kind in self.columns_)
        self._origin = families(self.readers_)[1]
        self.n_features_in_ = len(self._names)
        if is_named:
            self.feature_names_in_ = np.array(self._names, dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.source_columns_ = np.array([part.column for part in self.encodings_ for _ in part.names], dtype=object)

    def _asked(self, there: list[str]) -> dict[str, str]:
        """Return the kinds that were given, by name."""
        asked: dict[str, str] = {}
        for name, kind in (
            *((kind, kind) for kind in KINDS[:-1]),
            ("drop", KINDS[-1]),
        ):
            for column in column_names(getattr(self, name), name, _OWNER):
                if column not in there:
                    hint = f"The columns are {listed(there, column)}."
                    raise fail(name, _OWNER, "names of columns of the table", column, hint)
                if column in asked:
                    rule = f"apart from the {asked[column]} columns"
                    raise fail(name, _OWNER, rule, column, "Name a column once.")
                asked[column] = kind
        return asked

    def _matching(self, X: Any) -> Any:
        """Return a frame that has all columns that are read."""
        frame, named = as_frame(X)
        if not named:
            if frame.shape[1] != self.n_features_in_:
                width, wanted = frame.shape[1], self.n_features_in_
                hint = f"X has {width} features, but {_OWNER} is expecting {wanted} features as input."
                raise fail("X", _OWNER, f"of {wanted} columns, as in training", describe(f"{width}"), hint)
            frame.columns = list(self._names)
        frame = without_marks(
            frame, column_names(self.missing_values, "missing_values", _OWNER, "marks of missing cells")
        )
        there = set(frame.columns)
        missing = [reader.name for reader in self.readers_ if reader.name not in there]
        if missing:
            n = "a column" if len(missing) == 1 else f"{len(missing)} of the {len(self.readers_)} columns"
            what = f"{n} of the model {'is' if len(missing) == 1 else 'are'} missing from the table"
            raise ArgumentError(f"{what}: {listed(missing)}{closest(missing[0], list(frame.columns))}.")
        return frame

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.string = True
        tags.input_tags.categorical = True
        return tags


def read_cells(readers: Iterable[Reader], frame: Any, unread: Unread) -> dict[str, NDArray[Any]]:
    """Return the cells of all columns that are used, by their names; ``unread`` gets those that could not be read."""
    cells: dict[str, NDArray[Any]] = {}
    for reader in readers:
        cells |= reader.read(frame[reader.name], unread)
    return cells


def _warn(notes: Notes) -> None:
    """Warn once of the notes of a fit."""
    if notes.lines():
        warnings.warn("; ".join(notes.lines()), TableWarning, stacklevel=3)


@table_program.register
def _(encoder: TableEncoder) -> tuple[Value, tuple[Value, ...]]:
    from clifford_rand_nn.tables.cell_programs import encoder_program

    check_is_fitted(encoder, "encodings_")
    return encoder_program(encoder)
