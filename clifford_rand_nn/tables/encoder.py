"""TableEncoder: a data frame of any columns in, numbers out, by scikit-learn's own imputers and encoders."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.impute import MissingIndicator, SimpleImputer
from sklearn.preprocessing import OneHotEncoder
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import check_choice
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.cells import moments, numbers, truths, words
from clifford_rand_nn.tables.files import closest, listed
from clifford_rand_nn.tables.kinds import ColumnKind, find_kinds, given_kinds

_OWNER = "TableEncoder"


class TableEncoder(TransformerMixin, BaseEstimator):
    """Encoder of data frames: numbers, truth values, categories and dates become columns of float64.

    Parameters
    ----------
    numeric, categorical, boolean, dates, leave_out : sequences of str
        Columns that are to be taken for numbers, …, whatever they look like.
    text : {"leave out"}
        What is done with columns of text.
    min_frequency : int
        Categories with fewer rows share one column.
    max_categories : int
        Most columns that a column of categories becomes.

    Attributes
    ----------
    columns_ : tuple of ColumnKind
        What each column is taken for, and why, in the order of the table.
    transformer_ : ColumnTransformer
    origin_ : (d,) array of str
        For each column that comes out, the one that it was made of.
    feature_names_in_ : array of str
        Columns of the table, those that are left out too.
    n_features_in_ : int
    """

    def __init__(
        self,
        *,
        numeric: Sequence[str] = (),
        categorical: Sequence[str] = (),
        boolean: Sequence[str] = (),
        dates: Sequence[str] = (),
        leave_out: Sequence[str] = (),
        text: str = "leave out",
        min_frequency: int = 5,
        max_categories: int = 100,
    ) -> None:
        self.numeric = numeric
        self.categorical = categorical
        self.boolean = boolean
        self.dates = dates
        self.leave_out = leave_out
        self.text = text
        self.min_frequency = min_frequency
        self.max_categories = max_categories

    def fit(self, X: Any, y: Any = None) -> "TableEncoder":
        """Find out what the columns are, and learn medians and categories; ``y`` is ignored."""
        check_choice(self.text, "text", _OWNER, ("leave out",))
        frame = as_frame(X)
        asked = given_kinds(
            number=self.numeric, category=self.categorical, boolean=self.boolean, date=self.dates
        ) | dict.fromkeys(self.leave_out, "left out")
        there = [str(name) for name in frame.columns]
        unknown = [name for name in asked if name not in there]
        if unknown:
            raise ArgumentError(f"there is no column {unknown[0]!r}; the columns are {listed(there, unknown[0])}.")
        self.columns_: tuple[ColumnKind, ...] = find_kinds(frame, asked, self.text)
        self.feature_names_in_ = np.array(there, dtype=object)
        self.n_features_in_ = len(there)
        self._starts = {
            kind.name: self._moments(frame[kind.name], kind.name).min() for kind in self.columns_ if kind.kind == "date"
        }
        cells = self._cells(frame)
        if cells.shape[1] == 0:
            reasons = "; ".join(f"{kind.name!r}: {kind.why}" for kind in self.columns_[:3])
            raise ArgumentError(f"no column of the table can be used: {reasons}.")
        by_kind = {kind.name: kind.kind for kind in self.columns_}
        of = {name: by_kind[name.removesuffix(" (days)")] for name in cells.columns}
        some = [name for name in cells.columns if of[name] != "category" and cells[name].isna().any()]
        self.transformer_ = ColumnTransformer(
            [
                ("numbers", SimpleImputer(strategy="median"), [n for n in of if of[n] in ("number", "date")]),
                ("booleans", SimpleImputer(strategy="most_frequent"), [n for n in of if of[n] == "boolean"]),
                ("missing", _Missing(features="all"), some),
                (
                    "categories",
                    OneHotEncoder(
                        min_frequency=self.min_frequency,
                        max_categories=self.max_categories,
                        handle_unknown="infrequent_if_exist",
                        sparse_output=False,
                        feature_name_combiner=_category_name,
                    ),
                    [n for n in of if of[n] == "category"],
                ),
            ],
            verbose_feature_names_out=False,
        ).fit(cells)
        self.origin_ = self._origins()
        return self

    def transform(self, X: Any) -> NDArray[np.float64]:
        """Return the rows as numbers (n, d)."""
        check_is_fitted(self, "transformer_")
        cells = self._cells(as_frame(X))
        return np.asarray(self.transformer_.transform(cells), dtype=np.float64)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that come out, such as "age", "city=Oslo", "city (rare)", "age (missing)"."""
        check_is_fitted(self, "transformer_")
        return np.asarray(self.transformer_.get_feature_names_out(), dtype=object)

    def _origins(self) -> NDArray[np.str_]:
        origins: list[str] = []
        for step, made, names in self.transformer_.transformers_:
            if step == "categories" and len(names):
                for name, categories in zip(names, made.categories_, strict=True):
                    infrequent = made.infrequent_categories_[list(names).index(name)]
                    origins += [name] * (len(categories) - (0 if infrequent is None else len(infrequent) - 1))
            elif step != "remainder":
                origins += [name.removesuffix(" (days)") for name in names]
        return np.array(origins)

    def _cells(self, frame: Any) -> Any:
        """Return the columns that are used as numbers and texts."""
        pandas = require("pandas", extra="app", purpose="encoding a table")
        there = {str(name): name for name in frame.columns}
        used = [kind for kind in self.columns_ if kind.kind != "left out"]
        missing = [kind.name for kind in used if kind.name not in there]
        if missing:
            hint = closest(missing[0], list(there))
            raise ArgumentError(f"a column of the model is missing from the table: {listed(missing)}{hint}.")
        columns = {}
        for kind in used:
            column, name = frame[there[kind.name]], kind.name
            if kind.kind == "date":
                gone = self._moments(column, name) - self._starts[name]
                columns[f"{name} (days)"] = (gone / pandas.Timedelta(days=1)).to_numpy(dtype=np.float64)
            elif kind.kind == "category":
                columns[name] = words(column)
            else:
                found = numbers(column) if kind.kind == "number" else truths(column)
                if found is None:
                    raise ArgumentError(f"column {name!r} must hold {kind.kind}s, as where the encoder was fitted.")
                columns[name] = found
        return pandas.DataFrame(columns, index=frame.index)

    def _moments(self, column: Any, name: str) -> Any:
        found = moments(column)
        if found is None:
            raise ArgumentError(f"column {name!r} must hold dates.")
        return found


def as_frame(X: Any) -> Any:
    """Return a data frame; columns of an array are called x0, x1, …."""
    pandas = require("pandas", extra="app", purpose="encoding a table")
    if isinstance(X, pandas.DataFrame):
        return X
    if hasattr(X, "to_pandas"):
        return X.to_pandas()
    array = np.asarray(X)
    return pandas.DataFrame(array, columns=[f"x{i}" for i in range(array.shape[1])])


class _Missing(MissingIndicator):
    """MissingIndicator that calls its columns "age (missing)"."""

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        return np.array([f"{name} (missing)" for name in self.feature_names_in_], dtype=object)


def _category_name(name: str, category: object) -> str:
    if category is None:
        return f"{name} (missing)"
    return f"{name} (rare)" if category == "infrequent_sklearn" else f"{name}={category}"
