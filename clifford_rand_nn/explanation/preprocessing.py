"""Preprocessing between the rows of a user and the columns of a network, and back for explanations."""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.base import OneToOneFeatureMixin
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import as_array, describe, fail
from clifford_rand._typing import Array
from clifford_rand.errors import require
from clifford_rand_nn.estimators.base import ConvexNetwork
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.estimators.rows import new_rows, refused_by_scikit_learn
from clifford_rand_nn.export.preprocessing import ColumnMap, column_effect

_LINEAR = 1e-9  # of the largest entry: what steps that are linear may be off by
_MIXING = ("components_", "scalings_")  # what linear maps of scikit-learn have: PCA, random projections, LDA, …


class Rows(NamedTuple):
    """Rows on their way."""

    table: Any  # data frame or (m, t) array
    encoded: Array  # (m, k), columns that are explained, each made of one of the given ones
    seen: Array  # (m, d), columns that the network sees


class Route:
    """The steps before an ``estimator``, as far as they can be followed back; the ``last`` one may be a `BetaCV`.

    Of the table ``given_names`` are the columns, ``names`` those that are explained, ``places`` (t,) where they stand.
    ``encoded_names`` are the columns that these become, ``origin`` (k,) the explained column of each: it is ``rate``
    times the entry of the table plus ``level`` (k,), NaN where it is made otherwise. ``matrix`` (k, d) is that of steps
    which are linear in all encoded columns, as principal components are, or None. ``note`` says what could not be
    followed; then columns are those that the network sees.
    """

    def __init__(self, model: Any, table: Any = None) -> None:
        self.model = model
        self.steps, self.last, self.estimator = taken_apart(model)
        steps = self.steps
        first = steps[0] if steps else self.estimator
        self.given_names = _names(first, table)
        columns, count, names = ColumnMap.affine(np.arange(len(self.given_names))), 0, self.given_names
        for step in steps:
            own = column_effect(step, names).columns
            if own is None:
                break
            columns, count = columns.then(own), count + 1
            names = _names_out(step, names, len(own.places))
        self._before, self._after = steps[:count], steps[count:]
        self.encoded_names = names
        self.matrix: Array | None = None
        self._offset = np.zeros(0)
        self.note = ""
        self.followed = not self._after or self._follow()
        if not self.followed:
            mixing = type(self._after[0]).__name__
            self.note = (
                f"Columns are those that the network sees: {mixing} cannot be traced back to columns of the table."
            )
            self._before, self._after = steps, []
            for step in self._before[count:]:
                names = _names_out(step, names, self.estimator.n_features_in_)
            self.encoded_names, columns = names, ColumnMap.affine(np.arange(len(names)))
        shown = self.given_names if self.followed else self.encoded_names
        self.places = np.unique(columns.places)  # columns that are left out by a step are none
        self.names = [shown[i] for i in self.places]
        self.origin = np.searchsorted(self.places, columns.places)
        self.rate, self.level = columns.rate, columns.offset

    def rows(self, x: Any, name: str = "X") -> tuple[Rows, bool]:
        """Return rows on their way, and whether one row was given that is not in a table.

        Raises ArgumentError if there are no rows, or they are none that the steps or the estimator take; it calls
        them ``name``.
        """
        table, single = as_table(x, self.given_names, name)
        if len(table) == 0:
            raise fail(name, "explain", "one row or more", describe("none"))
        with refused_by_scikit_learn("explain", table, called=name):
            encoded = self._through(self._before, table)
            seen = self._through(self._after, encoded) if self._after else encoded
        with _names_known():
            data = np.ascontiguousarray(new_rows(self.estimator, seen, name=name, owner="explain"))
        numbers = data if not self._after else np.asarray(encoded, dtype=np.float64)
        shown = self.followed and (self.steps or hasattr(table, "columns"))  # else what is given are these numbers
        return Rows(table if shown else data, np.ascontiguousarray(numbers), data), single

    def back(self, slopes: Array) -> Array:
        """Return slopes by encoded columns (…, k) from those by the columns that the network sees (…, d)."""
        return slopes if self.matrix is None else np.asarray(slopes @ self.matrix.T)

    def forth(self, encoded: Array) -> Array:
        """Return rows as the network sees them from encoded ones."""
        return encoded if self.matrix is None else np.asarray(encoded @ self.matrix + self._offset)

    def summed(self, parts: Array) -> Array:
        """Return sums over the encoded columns (…, k) of each table column, (…, t)."""
        sums = np.zeros((*parts.shape[:-1], len(self.names)))
        for k, j in enumerate(self.origin):
            sums[..., j] += parts[..., k]
        return sums

    def in_table_units(self, weights: Array) -> tuple[list[tuple[str, float, NDArray[np.intp]]], float]:
        """Return a weighted sum of encoded columns (k,) in the units of the table.

        That is a list of terms, each a name, its weight and the encoded columns that are in it, and a constant: one
        term for a table column of numbers, one for each encoded column that is made otherwise.
        """
        plain = np.isfinite(self.rate)
        terms = []
        for j, name in enumerate(self.names):
            own = np.flatnonzero(plain & (self.origin == j) & (weights != 0))
            if len(own):
                terms.append((name, float(weights[own] @ self.rate[own]), own))
        for k in np.flatnonzero(~plain & (weights != 0)):
            name = self.encoded_names[k]
            known = name == self.names[self.origin[k]]
            terms.append((f"{name} (transformed)" if known else name, float(weights[k]), np.array([k])))
        return terms, float(weights[plain] @ self.level[plain])

    def reference(self, seen: Array | None, rows: Rows | None) -> tuple[Array, Array]:
        """Return the row that columns are measured from, encoded and as it is seen.

        It is the mean of ``rows``, or one that is seen as the mean that the network knows, or else 0.
        """
        if rows is not None:
            encoded = rows.encoded.mean(axis=0)
            return encoded, self.forth(encoded)
        if seen is None:
            encoded = np.zeros(len(self.origin))
            return encoded, self.forth(encoded)
        if self.matrix is None:
            return seen, seen
        encoded = np.asarray(np.linalg.lstsq(self.matrix.T, seen - self._offset, rcond=None)[0], dtype=np.float64)
        return encoded, self.forth(encoded)

    def column(self, table: Any, j: int) -> NDArray[Any]:
        """Return the explained column j of rows as they were given."""
        if not hasattr(table, "columns"):
            return np.asarray(table[:, self.places[j]])
        own = {str(name): i for i, name in enumerate(table.columns)}
        return np.asarray(table.iloc[:, own.get(self.names[j], self.places[j])].to_numpy())

    def _follow(self) -> bool:
        """Find the matrix of steps that mix columns, by what they make of unit rows; say whether they are linear."""
        if not all(isinstance(s, OneToOneFeatureMixin) or any(hasattr(s, n) for n in _MIXING) for s in self._after):
            return False
        k = len(self.encoded_names)
        zero = np.asarray(self._through(self._after, np.zeros((1, k))))[0]
        matrix = np.asarray(self._through(self._after, np.eye(k))) - zero
        some = np.random.default_rng(0).uniform(0, 10, (4, k))  # none negative: not all steps take such
        seen = np.asarray(self._through(self._after, some))
        size = max(1.0, float(np.abs(seen).max()))
        if not np.allclose(some @ matrix + zero, seen, rtol=0, atol=_LINEAR * size):
            return False
        self.matrix, self._offset = matrix, zero
        return True

    @staticmethod
    def _through(steps: Sequence[Any], rows: Any) -> Any:
        with _names_known():
            for step in steps:
                rows = step.transform(rows)
                rows = rows.toarray() if hasattr(rows, "toarray") else rows
        return rows if not hasattr(rows, "to_numpy") or not steps else rows.to_numpy()


def named(model: Any, seen: Array) -> Any:
    """Return rows as a model wants them: with its names, if it was fitted to a frame."""
    names = getattr(model, "feature_names_in_", None)
    if names is None:
        return seen
    return require("pandas", extra="app", purpose="rows with names").DataFrame(seen, columns=names)


def taken_apart(model: Any) -> tuple[list[Any], Any, Any]:
    """Return the steps before a fitted estimator of this library, the last step, and the estimator in it.

    Raises ArgumentError if the model is none of these, nor a `BetaCV` or a Pipeline around one.
    """
    steps: list[Any] = []
    inner = last = model
    while isinstance(inner, Pipeline | BetaCV):
        if isinstance(inner, BetaCV):
            check_is_fitted(inner, "estimator_")
            inner = inner.estimator_
        else:
            steps += [step for _, step in inner.steps[:-1] if step is not None and not isinstance(step, str)]
            inner = last = inner.steps[-1][1]
    if not isinstance(inner, ConvexNetwork | BaseConvexNetwork):
        rule = "an estimator of this library, a BetaCV, or a Pipeline that ends with one"
        hint = "Of a search of scikit-learn give best_estimator_." if hasattr(inner, "best_estimator_") else ""
        raise fail("estimator", "explain", rule, describe(f"a {type(inner).__name__}"), hint)
    check_is_fitted(inner, "network_")
    return steps, last, inner


def as_table(x: Any, names: Sequence[str], name: str = "X") -> tuple[Any, bool]:
    """Return rows as a table, a data frame or a two-dimensional array, and whether x was one row by itself."""
    if isinstance(x, Mapping):
        pandas = require("pandas", extra="app", purpose="a row with names")
        return pandas.DataFrame([dict(x)]), True
    if hasattr(x, "to_frame") and not hasattr(x, "columns"):  # a Series: one row of a frame
        return x.to_frame().T.infer_objects(), True
    if hasattr(x, "columns"):
        return x, False
    array = x.toarray() if hasattr(x, "toarray") else as_array(x, name, "explain")
    if array.dtype.kind in "UO" and array.ndim < 2 and len(names) == 1:
        return np.atleast_1d(array).tolist(), array.ndim == 0  # texts
    if array.ndim == 1 and len(array) == len(names):
        return array[None], True
    if array.ndim != 2:
        raise fail(name, "explain", f"rows of {len(names)} columns", describe(f"shape {array.shape}"))
    return array, False


def _names(first: Any, table: Any) -> list[str]:
    known = getattr(first, "feature_names_in_", None)
    if known is None and hasattr(table, "columns"):
        known = table.columns
    if known is not None:
        return [str(name) for name in known]
    return [f"x{j}" for j in range(getattr(first, "n_features_in_", 1))]  # of a vectorizer one, of texts


def _names_out(step: Any, names: Sequence[str], count: int) -> list[str]:
    """Return the names of the columns that a step makes."""
    if not hasattr(step, "get_feature_names_out"):
        return [f"x{j}" for j in range(count)]
    given = () if getattr(step, "feature_names_in_", None) is not None else (np.array(names, dtype=object),)
    return [str(name) for name in step.get_feature_names_out(*given)]


@contextmanager
def _names_known() -> Iterator[None]:
    """Take arrays for frames, in whose order they are."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        warnings.filterwarnings("ignore", message="X has feature names")
        yield
