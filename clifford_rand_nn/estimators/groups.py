"""Groups of rows that belong together, as a caller names them."""

import numbers
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, describe, fail


def group_numbers(groups: Any, n: int, owner: str) -> NDArray[np.intp]:
    """Return the groups of n rows as integers from 0, in the order of their names.

    Raises
    ------
    ArgumentError
        If they are not n, some are missing (None, NaN), or they are not all words, numbers or dates.

    Examples
    --------
    >>> group_numbers(["b", "a", "b"], 3, "f").tolist()
    [1, 0, 1]
    """
    labels = as_array(groups, "groups", owner)
    if labels.shape != (n,):
        raise fail("groups", owner, f"of shape ({n},), one label per row", describe(f"shape {labels.shape}"))
    rule = "labels that are all words, all numbers or all dates, none missing"
    if labels.dtype.kind in "cV":
        raise fail("groups", owner, rule, describe(f"dtype {labels.dtype}"))
    if labels.dtype.kind == "O":
        kinds = {_kind(label) for label in labels.tolist()}
        if len(kinds) != 1 or None in kinds:
            raise fail("groups", owner, rule, groups)
    elif labels.dtype.kind in "fMm" and not np.isfinite(labels).all():  # NaT is not
        raise fail("groups", owner, rule, describe("NaN or infinite labels"))
    return np.unique(labels, return_inverse=True)[1].astype(np.intp)


def _kind(label: Any) -> type | None:
    """Return what a label is, of which others can be sorted with it; None for what is no name of a group."""
    if isinstance(label, str):
        return str
    if isinstance(label, numbers.Real):
        return float if label - label == 0 else None
    return type(label) if hasattr(type(label), "__lt__") and type(label).__hash__ is not None else None
