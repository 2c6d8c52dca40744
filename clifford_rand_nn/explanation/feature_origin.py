"""Input column of each column that a scikit-learn transformer makes, and its slope."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

Places = NDArray[np.intp]


class Made(NamedTuple):
    """What each column that comes out is made of: ``rate`` times the entry of an input column, plus ``level``.

    Attributes
    ----------
    places : (k,) int
        Of the input columns.
    rate, level : (k,)
        NaN where a column is made otherwise, as those of categories and quantiles are.
    """

    places: Places
    rate: Array
    level: Array

    @classmethod
    def same(cls, places: Places) -> "Made":
        """Return columns that are as they were."""
        return cls(places, np.ones(len(places)), np.zeros(len(places)))

    @classmethod
    def otherwise(cls, places: Places) -> "Made":
        """Return columns that are made in another way."""
        return cls(places, np.full(len(places), np.nan), np.full(len(places), np.nan))

    def then(self, step: "Made") -> "Made":
        """Return what a further step makes of these columns."""
        rate, level = self.rate[step.places], self.level[step.places]
        return Made(self.places[step.places], step.rate * rate, step.rate * level + step.level)


def made_of(step: Any, names: Sequence[str]) -> Made | None:
    """Return what each column is made of that comes out of a fitted transformer.

    None where a column is made of several, as a principal component is, or where that cannot be told.
    A transformer says it itself by ``origin_``, names of input columns, and columns that bear the name of one are as
    that is; others of scikit-learn are known by what they are.

    Examples
    --------
    >>> from sklearn.preprocessing import MinMaxScaler
    >>> made_of(MinMaxScaler().fit([[1.0], [5.0]]), ["x"])
    Made(places=array([0]), rate=array([0.25]), level=array([-0.25]))
    """
    from sklearn.base import OneToOneFeatureMixin
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_selection import SelectorMixin
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder

    place = {name: i for i, name in enumerate(names)}
    if hasattr(step, "origin_"):
        found = [place.get(str(name)) for name in step.origin_]
        if None in found:
            return None
        own = np.asarray(step.get_feature_names_out()) == np.asarray(step.origin_)
        places = np.array(found, dtype=np.intp)
        return Made(places, np.where(own, 1.0, np.nan), np.where(own, 0.0, np.nan))
    if hasattr(step, "output_to_input_"):  # skrub's TableVectorizer
        return Made.otherwise(np.array([place[str(name)] for name in step.output_to_input_.values()], dtype=np.intp))
    if isinstance(step, str):
        return Made.same(np.arange(len(names)) if step == "passthrough" else np.zeros(0, dtype=np.intp))
    match step:
        case Pipeline():
            return _in_turn([part for _, part in step.steps], names)
        case ColumnTransformer():
            return _side_by_side(step, names)
        case OneHotEncoder():
            return Made.otherwise(_of_one_hot(step))
        case SelectorMixin():
            return Made.same(np.flatnonzero(step.get_support()))
        case SimpleImputer():
            return _of_imputer(step)
        case FunctionTransformer():
            if step.func is None:
                return Made.same(np.arange(len(names)))
            plain = isinstance(step.func, np.ufunc) or step.feature_names_out == "one-to-one"
            return Made.otherwise(np.arange(len(names))) if plain else None
        case Normalizer():  # one name for one name, but every column has a share in the length of the row
            return None
        case OneToOneFeatureMixin():
            return _scaled(step, len(names))
    return None


def _scaled(step: Any, count: int) -> Made:
    """Return what a transformer makes of columns one by one: of scalers the rates are known."""
    from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

    match step:
        case StandardScaler():
            scale, centre = step.scale_, step.mean_ if step.with_mean else None
        case RobustScaler():
            scale, centre = step.scale_, step.center_
        case MaxAbsScaler() if not getattr(step, "clip", False):
            scale, centre = step.scale_, None
        case MinMaxScaler() if not step.clip:
            return Made(np.arange(count), np.asarray(step.scale_), np.asarray(step.min_))
        case _:
            return Made.otherwise(np.arange(count))
    rate = 1 / np.asarray(np.ones(count) if scale is None else scale, dtype=np.float64)
    return Made(np.arange(count), rate, np.zeros(count) if centre is None else -np.asarray(centre) * rate)


def _in_turn(steps: Sequence[Any], names: Sequence[str]) -> Made | None:
    """Return what steps make, one after the other."""
    found = Made.same(np.arange(len(names)))
    for step in steps:
        own = made_of(step, [names[int(i)] for i in found.places])
        if own is None:
            return None
        found = found.then(own)
    return found


def _side_by_side(step: Any, names: Sequence[str]) -> Made | None:
    """Return what the parts of a ColumnTransformer make; all of what is made of one column comes from it."""
    total = max((part.stop for part in step.output_indices_.values()), default=0)
    found = Made.otherwise(np.full(total, -1))
    for name, made, columns in step.transformers_:
        out = step.output_indices_.get(name)
        if out is None or out.start == out.stop:
            continue
        places = _places(columns, names)
        own = made_of(made, [names[i] for i in places])
        if own is None or len(own.places) != out.stop - out.start:
            if len(places) != 1:
                return None
            own = Made.otherwise(np.zeros(out.stop - out.start, dtype=np.intp))
        found.places[out], found.rate[out], found.level[out] = places[own.places], own.rate, own.level
    return None if (found.places < 0).any() else found


def _places(columns: Any, names: Sequence[str]) -> Places:
    """Return the places of the columns that a part of a ColumnTransformer takes: names, places, a slice or a mask."""
    if isinstance(columns, str):
        return np.array([list(names).index(columns)])
    if isinstance(columns, slice):
        ends = [list(names).index(end) if isinstance(end, str) else end for end in (columns.start, columns.stop)]
        if isinstance(columns.stop, str):
            ends[1] += 1  # as in pandas, the last name is in it
        return np.arange(len(names))[slice(ends[0], ends[1], columns.step)]
    listed = [columns] if np.ndim(columns) == 0 else list(columns)
    if listed and all(isinstance(name, str) for name in listed):
        return np.array([list(names).index(name) for name in listed], dtype=np.intp)
    mask = bool(listed) and all(isinstance(one, bool | np.bool_) for one in listed)
    return np.asarray(np.arange(len(names))[np.asarray(listed, dtype=bool if mask else np.intp)])


def _of_one_hot(step: Any) -> Places:
    """Return the origins of a OneHotEncoder: categories, less the one that is dropped and all but one of rare ones."""
    asked = step.min_frequency is not None or step.max_categories is not None
    rare = step.infrequent_categories_ if asked else None
    counts = []
    for i, categories in enumerate(step.categories_):
        few = None if rare is None else rare[i]
        dropped = step.drop_idx_ is not None and step.drop_idx_[i] is not None
        counts.append(len(categories) - (0 if few is None else len(few) - 1) - dropped)
    return np.repeat(np.arange(len(counts)), counts)


def _of_imputer(step: Any) -> Made:
    """Return what a SimpleImputer makes: columns that are not empty, then those that say what was missing."""
    empty = np.array([isinstance(value, float) and np.isnan(value) for value in step.statistics_])
    kept = np.arange(len(empty)) if step.keep_empty_features else np.flatnonzero(~empty)
    if step.indicator_ is None:
        return Made.same(kept)
    parts = Made.same(kept), Made.otherwise(np.asarray(step.indicator_.features_, dtype=np.intp))
    return Made(*(np.concatenate(pair) for pair in zip(*parts, strict=True)))
