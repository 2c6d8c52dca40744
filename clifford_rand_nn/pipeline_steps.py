"""Steps of scikit-learn on columns of numbers as operations of a program: imputing, scaling, selecting, projecting."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.feature_selection import SelectorMixin
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler

from clifford_rand._typing import Array
from clifford_rand_nn.export.program import (
    Program,
    Value,
    apply,
    beside,
    column,
    constant,
    maximum,
    ordered,
    rows,
    where,
)

_UFUNCS = {
    np.abs: "abs",
    np.sqrt: "sqrt",
    np.exp: "exp",
    np.log: "log",
    np.log1p: "log1p",
    np.sin: "sin",
    np.cos: "cos",
}


def with_steps(program: Program, steps: Sequence[Any]) -> Program | None:
    """Return the program of a model on rows as they are before fitted steps; None if one of these states nothing.

    It computes in double precision, as the model does, where skl2onnx has single precision for its steps.
    """
    found = rows()
    for i, step in enumerate(steps):
        filled = any(isinstance(one, SimpleImputer) for one in steps[i + 1 :])  # and until then there may be NaN
        next_ = _stated(step, found, filled, f"step{i}")
        if next_ is None:
            return None
        found = next_
    d = getattr(steps[0], "n_features_in_", None)
    if d is None:
        return None
    names = getattr(steps[0], "feature_names_in_", None)
    return replace(
        _on(program, found),
        d=int(d),
        columns=None if names is None else tuple(map(str, names)),
        width=max(program.width, int(d)),
        missing=any(isinstance(step, SimpleImputer) for step in steps),
    )


def of_columns(program: Program) -> Program:
    """Return a program on rows as one on a table of their columns, each by its name."""
    table = tuple(column("numbers", name) for name in program.columns or ())
    return replace(program, rows=beside(table).named("X"), table=table)


def _stated(step: Any, X: Value, missing: bool, name: str) -> Value | None:
    """Return what a step makes of rows; ``missing``: entries may be NaN, which a product would spread."""
    match step:
        case StandardScaler():
            return _scaled(X, step.mean_ if step.with_mean else None, step.scale_, name)
        case RobustScaler():
            return _scaled(X, step.center_, step.scale_, name)
        case MaxAbsScaler():
            return _clipped(_scaled(X, None, step.scale_, name), (-1.0, 1.0) if getattr(step, "clip", False) else None)
        case MinMaxScaler():
            scaled = X * constant(step.scale_, f"{name}_scale") + constant(step.min_, f"{name}_min")
            return _clipped(scaled, step.feature_range if step.clip else None)
        case SimpleImputer():
            return _imputed(step, X, name)
        case PCA() if not missing:
            size = np.sqrt(step.explained_variance_)[:, None] if step.whiten else 1.0
            if step.whiten and step.explained_variance_.min() < np.finfo(np.float64).eps:
                return None  # scikit-learn has a rule of its own for these
            return (X - constant(step.mean_, f"{name}_mean")) @ constant((step.components_ / size).T, name)
        case TruncatedSVD() if not missing:
            return X @ constant(step.components_.T, name)
        case SelectorMixin() if not missing:
            return X @ constant(np.eye(step.n_features_in_)[:, step.get_support()], name)
        case FunctionTransformer():
            if step.func is None:
                return X
            plain = not step.kw_args and isinstance(step.func, np.ufunc)
            return apply(_UFUNCS[step.func], X) if plain and step.func in _UFUNCS else None
    return None


def _scaled(X: Value, centre: Array | None, scale: Array | None, name: str) -> Value:
    X = X if centre is None else X - constant(centre, f"{name}_centre")
    return X if scale is None else X / constant(scale, f"{name}_scale")


def _clipped(X: Value, ends: tuple[float, float] | None) -> Value:
    return X if ends is None else 0.0 - maximum(0.0 - maximum(X, float(ends[0])), -float(ends[1]))


def _imputed(step: Any, X: Value, name: str) -> Value | None:
    """Return rows whose missing entries are filled, then columns that say what was missing."""
    fill = np.asarray(step.statistics_)
    if (
        fill.dtype.kind not in "fiu" or not np.isfinite(fill.astype(np.float64)).all()
    ):  # texts, or columns without entries
        return None
    if not (isinstance(step.missing_values, float) and np.isnan(step.missing_values)):
        return None
    there = apply("abs", X) < np.inf
    filled = where(there, X, constant(fill, f"{name}_fill"))
    if step.indicator_ is None:
        return filled
    marks = np.eye(len(fill))[:, step.indicator_.features_]
    return beside([filled, where(there, 0.0, 1.0) @ constant(marks, f"{name}_marked")])


def _on(program: Program, found: Value) -> Program:
    """Return a program on what ``found`` makes of rows."""
    ends = [*program.results.values(), *([] if program.penalty is None else [program.penalty])]
    new: dict[int, Value] = {}
    for value in ordered(ends):
        if value.op == "rows":
            new[id(value)] = found
        elif value.values:
            operands = tuple(new[id(one)] if isinstance(one, Value) else one for one in value.operands)
            new[id(value)] = Value(value.op, operands, value.data, value.name, value.trained)
        else:
            new[id(value)] = value
    penalty = None if program.penalty is None else new[id(program.penalty)]
    return replace(program, results={name: new[id(one)] for name, one in program.results.items()}, penalty=penalty)
