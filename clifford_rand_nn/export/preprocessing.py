"""Effect of fitted preprocessing steps on columns, stated once per step: as a program for export, as slopes to explain.

To add a step, add its class to `_effect`.
"""

from collections.abc import Callable, Sequence
from functools import singledispatch
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import OneToOneFeatureMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    RobustScaler,
    StandardScaler,
)

from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.export.program import Value, apply, beside, constant, maximum, where

Places = NDArray[np.intp]
Step = Callable[[Value, str], Value]
_UFUNCS = {getattr(np, name): name for name in ("abs", "sqrt", "exp", "log", "log1p", "sin", "cos")}


class ColumnMap(NamedTuple):
    """Columns each made of one input column: output column j is ``rate[j]`` times ``places[j]`` plus ``offset[j]``.

    Rate and offset are NaN where the map is not affine, as for categories and quantiles.
    """

    places: Places  # (k,)
    rate: Array  # (k,)
    offset: Array  # (k,)

    @classmethod
    def affine(cls, places: ArrayLike, rate: ArrayLike = 1.0, offset: ArrayLike = 0.0) -> "ColumnMap":
        """Return the map to columns that stay numbers in some unit."""
        index = np.asarray(places, dtype=np.intp)
        rates, offsets = (np.broadcast_to(np.asarray(part, dtype=np.float64), index.shape) for part in (rate, offset))
        return cls(index, rates.copy(), offsets.copy())

    @classmethod
    def nonlinear(cls, places: ArrayLike) -> "ColumnMap":
        """Return the map to columns each of which is another function of one input column."""
        return cls.affine(places, np.nan, np.nan)

    def then(self, step: "ColumnMap") -> "ColumnMap":
        """Return this map followed by that of a further step."""
        rate, offset = self.rate[step.places], self.offset[step.places]
        return ColumnMap(self.places[step.places], step.rate * rate, step.rate * offset + step.offset)


class ColumnEffect(NamedTuple):
    """Effect of a step on columns."""

    columns: ColumnMap | None = None  # None where a column is made of several, as a principal component, or unknown
    program: Step | None = None  # from the input columns, and a prefix for names of constants, to the output columns
    spreads_missing: bool = False  # whether a NaN in one column of the program would spread to others


def column_effect(step: Any, names: Sequence[str]) -> ColumnEffect:
    """Return the effect of a fitted transformer on columns of these names.

    A transformer states its input columns by ``source_columns_`` (names; output columns of the same name are
    unchanged) or ``output_to_input_`` (of skrub); the effect of scikit-learn's transformers is known by their class.

    >>> column_effect(MinMaxScaler().fit([[1.0], [5.0]]), ["x"]).columns
    ColumnMap(places=array([0]), rate=array([0.25]), offset=array([-0.25]))
    """
    place = {name: i for i, name in enumerate(names)}
    if hasattr(step, "source_columns_"):
        if not set(map(str, step.source_columns_)) <= place.keys():
            return ColumnEffect()
        unchanged = np.asarray(step.get_feature_names_out()) == np.asarray(step.source_columns_)
        places = [place[str(name)] for name in step.source_columns_]
        rate = np.where(unchanged, 1.0, np.nan)
        return ColumnEffect(ColumnMap.affine(places, rate, 0.0 * rate))
    if hasattr(step, "output_to_input_"):
        return ColumnEffect(ColumnMap.nonlinear([place[str(name)] for name in step.output_to_input_.values()]))
    return _effect(step, names)


@singledispatch
def table_program(step: Any) -> tuple[Value, tuple[Value, ...]] | None:
    """Return the columns that a step makes of a table, and those that it takes, as programs; None for all but encoders.

    Encoders of tables register themselves.
    """
    return None


def _effect(step: Any, names: Sequence[str]) -> ColumnEffect:
    every = np.arange(len(names))
    match step:
        case str():
            return ColumnEffect(ColumnMap.affine(every if step == "passthrough" else []))
        case StandardScaler():
            return _scaler(step, step.mean_ if step.with_mean else None)
        case RobustScaler():
            return _scaler(step, step.center_)
        case MaxAbsScaler():
            return _clipped(_scaler(step, None), (-1.0, 1.0) if getattr(step, "clip", False) else None)
        case MinMaxScaler():
            return _clipped(_min_max(step), step.feature_range if step.clip else None)
        case SelectorMixin():
            return _selector(step.get_support())
        case PCA():
            return _components(step)
        case TruncatedSVD():
            return ColumnEffect(program=lambda X, name: X @ constant(step.components_.T, name), spreads_missing=True)
        case FunctionTransformer():
            return _function(step, every)
        case SimpleImputer():
            return _imputer(step)
        case OneHotEncoder():
            return _one_hot(step)
        case Pipeline():
            return _steps(step, names)
        case ColumnTransformer():
            return _side_by_side(step, names)
        case OneToOneFeatureMixin() if not isinstance(step, Normalizer):  # in its norm every column has a share
            return ColumnEffect(ColumnMap.nonlinear(every))
    return ColumnEffect()


def _min_max(step: MinMaxScaler) -> ColumnEffect:
    def program(X: Value, name: str) -> Value:
        return X * constant(step.scale_, f"{name}_scale") + constant(step.min_, f"{name}_min")

    return ColumnEffect(ColumnMap.affine(np.arange(step.n_features_in_), step.scale_, step.min_), program)


def _scaler(step: Any, center: Array | None) -> ColumnEffect:
    """Return (x - center) / scale."""
    count, scale = step.n_features_in_, step.scale_

    def program(X: Value, name: str) -> Value:
        X = X if center is None else X - constant(center, f"{name}_center")
        return X if scale is None else X / constant(scale, f"{name}_scale")

    rate = 1 / np.asarray(np.ones(count) if scale is None else scale, dtype=np.float64)
    offset = 0.0 if center is None else -np.asarray(center) * rate
    return ColumnEffect(ColumnMap.affine(np.arange(count), rate, offset), program)


def _clipped(effect: ColumnEffect, ends: tuple[float, float] | None) -> ColumnEffect:
    """Return the effect with outputs clipped between two ends, if there are any."""
    if ends is None:
        return effect
    unclipped, (low, high) = effect.program, ends
    assert unclipped is not None
    assert effect.columns is not None

    def program(X: Value, name: str) -> Value:
        return 0.0 - maximum(0.0 - maximum(unclipped(X, name), float(low)), -float(high))

    return ColumnEffect(ColumnMap.nonlinear(effect.columns.places), program)


def _selector(support: NDArray[np.bool_]) -> ColumnEffect:
    def program(X: Value, name: str) -> Value:
        return X @ constant(np.eye(len(support))[:, support], name)

    return ColumnEffect(ColumnMap.affine(np.flatnonzero(support)), program, spreads_missing=True)


def _components(step: PCA) -> ColumnEffect:
    if step.whiten and step.explained_variance_.min() < np.finfo(np.float64).eps:
        return ColumnEffect()  # scikit-learn has a rule of its own for these

    def program(X: Value, name: str) -> Value:
        size = np.sqrt(step.explained_variance_)[:, None] if step.whiten else 1.0
        return (X - constant(step.mean_, f"{name}_mean")) @ constant((step.components_ / size).T, name)

    return ColumnEffect(program=program, spreads_missing=True)


def _function(step: FunctionTransformer, every: Places) -> ColumnEffect:
    if step.func is None:
        return ColumnEffect(ColumnMap.affine(every), lambda X, name: X)
    is_ufunc = isinstance(step.func, np.ufunc)
    columns = ColumnMap.nonlinear(every) if is_ufunc or step.feature_names_out == "one-to-one" else None
    if is_ufunc and not step.kw_args and step.func in _UFUNCS:
        return ColumnEffect(columns, lambda X, name: apply(_UFUNCS[step.func], X))
    return ColumnEffect(columns)


def _imputer(step: SimpleImputer) -> ColumnEffect:
    """Return the effect: columns with an entry stay, then come the indicators of missing entries."""
    empty = np.array([isinstance(value, float) and np.isnan(value) for value in step.statistics_])
    places = np.arange(len(empty)) if step.keep_empty_features else np.flatnonzero(~empty)
    marked = [] if step.indicator_ is None else step.indicator_.features_
    rate = np.r_[np.ones(len(places)), np.full(len(marked), np.nan)]
    columns = ColumnMap.affine(np.r_[places, np.asarray(marked, dtype=np.intp)], rate, 0.0 * rate)
    fill = np.asarray(step.statistics_)
    by_nan = isinstance(step.missing_values, float) and np.isnan(step.missing_values)
    if not by_nan or fill.dtype.kind not in "fiu" or not np.isfinite(fill.astype(np.float64)).all():
        return ColumnEffect(columns)  # no program of texts, and of columns without entries

    def program(X: Value, name: str) -> Value:
        is_known = apply("abs", X) < np.inf
        filled = where(is_known, X, constant(fill, f"{name}_fill"))
        if step.indicator_ is None:
            return filled
        marks = np.eye(len(fill))[:, step.indicator_.features_]
        return beside([filled, where(is_known, 0.0, 1.0) @ constant(marks, f"{name}_marked")])

    return ColumnEffect(columns, program)


def _one_hot(step: OneHotEncoder) -> ColumnEffect:
    """Return the effect: a column per category, less the dropped one and all but one of the infrequent ones."""
    limited = step.min_frequency is not None or step.max_categories is not None
    infrequent = step.infrequent_categories_ if limited else [None] * len(step.categories_)
    dropped = [None] * len(step.categories_) if step.drop_idx_ is None else step.drop_idx_
    counts = [
        len(categories) - (0 if rare is None else len(rare) - 1) - (drop is not None)
        for categories, rare, drop in zip(step.categories_, infrequent, dropped, strict=True)
    ]
    return ColumnEffect(ColumnMap.nonlinear(np.repeat(np.arange(len(counts)), counts)))


def _steps(step: Pipeline, names: Sequence[str]) -> ColumnEffect:
    columns = ColumnMap.affine(np.arange(len(names)))
    for _, part in step.steps:
        own = column_effect(part, [names[int(i)] for i in columns.places]).columns
        if own is None:
            return ColumnEffect()
        columns = columns.then(own)
    return ColumnEffect(columns)


def _side_by_side(step: ColumnTransformer, names: Sequence[str]) -> ColumnEffect:
    """Return the effect: parts stand side by side; whatever a part makes of a single column comes from that one."""
    total = max((part.stop for part in step.output_indices_.values()), default=0)
    columns = ColumnMap.nonlinear(np.full(total, -1))
    for name, part, selected in step.transformers_:
        out = step.output_indices_.get(name)
        if out is None or out.start == out.stop:
            continue
        places = _places(selected, names)
        own = column_effect(part, [names[i] for i in places]).columns
        if own is None or len(own.places) != out.stop - out.start:
            if len(places) != 1:
                return ColumnEffect()
            own = ColumnMap.nonlinear(np.zeros(out.stop - out.start))
        columns.places[out], columns.rate[out], columns.offset[out] = places[own.places], own.rate, own.offset
    return ColumnEffect() if (columns.places < 0).any() else ColumnEffect(columns)


def _places(columns: Any, names: Sequence[str]) -> Places:
    """Return the places of the columns that a part of a ColumnTransformer takes: names, places, a slice or a mask."""
    index = {name: i for i, name in enumerate(names)}
    if isinstance(columns, slice):
        start, stop = (index[end] if isinstance(end, str) else end for end in (columns.start, columns.stop))
        inclusive = isinstance(columns.stop, str)  # as in pandas
        return np.arange(len(names))[slice(start, stop + 1 if inclusive else stop, columns.step)]
    listed = [columns] if np.ndim(columns) == 0 else list(columns)
    if listed and all(isinstance(name, str) for name in listed):
        return np.array([index[name] for name in listed], dtype=np.intp)
    is_mask = bool(listed) and all(isinstance(entry, bool | np.bool_) for entry in listed)
    return np.asarray(np.arange(len(names))[np.asarray(listed, dtype=bool if is_mask else np.intp)])
