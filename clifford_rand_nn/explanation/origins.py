"""Which input column each column that a transformer of scikit-learn makes comes from."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Places = NDArray[np.intp]


def origins_of(step: Any, names: Sequence[str]) -> Places | None:
    """Return for each column that comes out of a fitted transformer the place of the one it was made of.

    None where a column is made of several, as a principal component is, or where that cannot be told. A transformer
    says it itself by ``origin_``, names of input columns; others of scikit-learn are known by what they are.

    Examples
    --------
    >>> from sklearn.preprocessing import OneHotEncoder, StandardScaler
    >>> origins_of(OneHotEncoder().fit([["a", 1], ["b", 2], ["c", 1]]), ["x", "y"]).tolist()
    [0, 0, 0, 1, 1]
    >>> origins_of(StandardScaler().fit([[1.0, 2.0], [2.0, 5.0]]), ["x", "y"]).tolist()
    [0, 1]
    """
    from sklearn.base import OneToOneFeatureMixin
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_selection import SelectorMixin
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import Pipeline
    from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder

    if hasattr(step, "origin_"):
        place = {name: i for i, name in enumerate(names)}
        made_of = [place.get(str(name)) for name in step.origin_]
        return None if None in made_of else np.array(made_of, dtype=np.intp)
    if hasattr(step, "output_to_input_"):  # skrub's TableVectorizer
        place = {name: i for i, name in enumerate(names)}
        return np.array([place[str(name)] for name in step.output_to_input_.values()], dtype=np.intp)
    if isinstance(step, str):
        return np.arange(len(names)) if step == "passthrough" else np.zeros(0, dtype=np.intp)
    match step:
        case Pipeline():
            return _in_turn([part for _, part in step.steps], names)
        case ColumnTransformer():
            return _side_by_side(step, names)
        case OneHotEncoder():
            return _of_one_hot(step)
        case SelectorMixin():
            return np.flatnonzero(step.get_support())
        case SimpleImputer():
            return _of_imputer(step)
        case FunctionTransformer():
            plain = step.func is None or isinstance(step.func, np.ufunc) or step.feature_names_out == "one-to-one"
            return np.arange(len(names)) if plain else None
        case Normalizer():  # one name for one name, but every column has a share in the length of the row
            return None
        case OneToOneFeatureMixin():
            return np.arange(len(names))
    return None


def _in_turn(steps: Sequence[Any], names: Sequence[str]) -> Places | None:
    """Return the origins through steps, one after the other."""
    found = np.arange(len(names))
    for step in steps:
        own = origins_of(step, [names[int(i)] for i in found])
        if own is None:
            return None
        found = found[own]
    return found


def _side_by_side(step: Any, names: Sequence[str]) -> Places | None:
    """Return the origins of the parts of a ColumnTransformer; all of what is made of one column comes from it."""
    total = max((part.stop for part in step.output_indices_.values()), default=0)
    found = np.full(total, -1)
    for name, made, columns in step.transformers_:
        out = step.output_indices_.get(name)
        if out is None or out.start == out.stop:
            continue
        places = _places(columns, names)
        if len(places) == 1:
            found[out] = places[0]
            continue
        own = origins_of(made, [names[i] for i in places])
        if own is None or len(own) != out.stop - out.start:
            return None
        found[out] = places[own]
    return None if (found < 0).any() else found


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


def _of_imputer(step: Any) -> Places:
    """Return the origins of a SimpleImputer: columns that are not empty, then those that say what was missing."""
    empty = np.array([isinstance(value, float) and np.isnan(value) for value in step.statistics_])
    kept = np.arange(len(empty)) if step.keep_empty_features else np.flatnonzero(~empty)
    return kept if step.indicator_ is None else np.concatenate([kept, step.indicator_.features_]).astype(np.intp)
