"""TableEncoder: a data frame of any columns in, numbers out, learned by scikit-learn's own imputers and encoders."""

import copy
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from clifford_rand_nn.export.preprocessing import table_program
from clifford_rand_nn.export.program import Value
from clifford_rand_nn.tables.encoded_rows import encode, learn
from clifford_rand_nn.tables.encodings import Learned, unique_names
from clifford_rand_nn.tables.notes import Notes, TableWarning


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

    def _set(self, learned: Learned) -> None:
        self.columns_, self.readers_, self.encodings_, self.complete_columns_, is_named = learned
        self.n_features_in_ = len(self.columns_)
        if is_named:
            self.feature_names_in_ = np.array([kind.name for kind in self.columns_], dtype=object)
        elif hasattr(self, "feature_names_in_"):
            del self.feature_names_in_
        self.source_columns_ = np.array([part.column for part in self.encodings_ for _ in part.names], dtype=object)

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
    fitted._set(learned)
    return fitted


@table_program.register
def _(encoder: TableEncoder) -> tuple[Value, tuple[Value, ...]]:
    from clifford_rand_nn.tables.cell_programs import encoder_program

    check_is_fitted(encoder, "encodings_")
    return encoder_program(encoder)
