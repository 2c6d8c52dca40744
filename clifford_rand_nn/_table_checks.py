"""What can be wrong with the cells and names of a table; every fault is named with its file, column and remedy."""

import difflib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError

__all__ = [
    "checked_target",
    "checked_weights",
    "listed",
    "refuse_duplicates",
    "refuse_missing",
    "refuse_not_finite",
    "refuse_not_numeric",
]

_SHOWN = 8  # names listed in one error line


def refuse_not_numeric(file: Path, frame: Any, remedy: str = "encode it as numbers or leave it out") -> None:
    """Refuse a data frame with columns that hold no real numbers, and show a cell."""
    pandas = require("pandas", extra="app", purpose="reading a table")
    bad = [
        name
        for name in frame.columns
        if not pandas.api.types.is_numeric_dtype(frame[name]) or frame[name].dtype.kind == "c"
    ]
    bad = [name for name in bad if frame[name].notna().any() or frame[name].dtype.kind == "c"]  # empty: NaN, told later
    if not bad:
        return
    column = frame[bad[0]]
    text = column.map(lambda value: isinstance(value, str))
    wrong = column.notna() & (pandas.to_numeric(column.where(text), errors="coerce").isna() | ~text)
    example = column[wrong].iloc[0] if wrong.any() else column.dropna().iloc[0]
    others = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
    raise ArgumentError(
        f"{file}: column {bad[0]!r}{others} is not numeric: {int(wrong.sum()) or len(column)} of {len(column)} cells, "
        f"such as {example if not isinstance(example, str) else repr(example)}; {remedy}."
    )


def checked_target(file: Path, name: str, y: NDArray[Any]) -> NDArray[Any]:
    """Return a target of bool, int, float or text; refuse other kinds, NaN and infinity."""
    if y.dtype.kind not in "biufU":
        raise ArgumentError(f"{file}: the target {name!r} must be numbers, text or booleans, not {y.dtype}.")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        bad = int(np.count_nonzero(~np.isfinite(y)))
        raise ArgumentError(
            f"{file}: the target {name!r} has {bad} NaN or infinite cells of {len(y)}; drop those rows."
        )
    return y


def refuse_not_finite(file: Path, X: NDArray[np.float64], names: Sequence[str] | None) -> None:
    """Refuse features with empty or infinite cells."""
    bad = np.count_nonzero(~np.isfinite(X), axis=0)
    if bad.any():
        first = int(np.argmax(bad > 0))
        others = int(np.count_nonzero(bad)) - 1
        shown = f"column {first} of 'X'" if names is None else f"column {names[first]!r}"
        raise ArgumentError(
            f"{file}: {shown}{f' (and {others} more)' if others else ''} has {bad[first]} empty or infinite cells of "
            f"{len(X)}; fill them or drop those rows."
        )


def refuse_duplicates(file: Path, names: Sequence[str]) -> None:
    """Refuse a name that appears twice."""
    twice = [name for i, name in enumerate(names) if name in names[:i]]
    if twice:
        raise ArgumentError(f"{file}: the column name {twice[0]!r} appears more than once; rename or drop one.")


def refuse_missing(file: Path, wanted: Sequence[str], there: Sequence[str]) -> None:
    """Refuse wanted names that are not there."""
    missing = [name for name in wanted if name not in set(there)]
    if missing:
        n = f"{len(missing)} of the {len(wanted)} columns of the model are" if len(missing) > 1 else "a column is"
        close = difflib.get_close_matches(missing[0], list(there), 1)
        hint = f" (is {close[0]!r} meant?)" if close else ""
        raise ArgumentError(f"{file}: {n} missing: {listed(missing)}{hint}.")


def listed(names: Sequence[str] | Mapping[str, object], wanted: str | None = None) -> str:
    """List names for one error line, with the closest to ``wanted``."""
    every = list(names)
    text = ", ".join(repr(name) for name in every[:_SHOWN]) or "none"
    if len(every) > _SHOWN:
        text += f", … ({len(every)} in all)"
    if wanted is not None:
        folded = {name.lower(): name for name in every}
        close = difflib.get_close_matches(wanted.lower(), list(folded), 1)
        text += f" (is {folded[close[0]]!r} meant?)" if close else ""
    return text


def checked_weights(file: Path, name: str, weights: NDArray[Any]) -> NDArray[np.float64]:
    """Return weights of rows as float64; refuse what is no finite number ≥ 0, and nothing but zeros."""
    if weights.dtype.kind not in "biuf":
        raise ArgumentError(f"{file}: the weights {name!r} must be numbers, not {weights.dtype}.")
    w = weights.astype(np.float64)
    bad = int(np.count_nonzero(~np.isfinite(w)))
    if bad:
        what = f"{bad} empty or infinite cells of {len(w)}; fill them, 0 leaves a row out"
        raise ArgumentError(f"{file}: the weights {name!r} have {what}.")
    negative = np.flatnonzero(w < 0)
    if negative.size:
        what = f"{negative.size} of {len(w)} are negative, such as {w[negative[0]]:g}; 0 leaves a row out"
        raise ArgumentError(f"{file}: the weights {name!r} must be numbers ≥ 0: {what}.")
    if not w.any():
        raise ArgumentError(f"{file}: the weights {name!r} are all zero, which leaves no row; give some row a weight.")
    return w
