"""Outer parts of the rows: those that a candidate is judged on, chosen by nothing but the rows themselves."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array

FOLDS = 5
_ENOUGH = 400  # rows held out: parts beyond are not


def outer_parts(
    X: Array, targets: Array, groups: NDArray[np.intp] | None, max_rows: int
) -> tuple[NDArray[np.intp], NDArray[np.intp], NDArray[np.intp]]:
    """Return at most max_rows rows (m,), what each of all rows belongs to (n,), and the part (m,) of each of the m.

    Rows belong to their group, or else to the copies of one row; parts count from 0 to 4 or less.
    """
    rng = np.random.default_rng(0)  # fixed: nothing but the rows says what is in which part
    key = X @ rng.standard_normal(X.shape[1])
    order = np.lexsort((key, targets @ rng.standard_normal(targets.shape[1])))
    size = float(np.abs(key).max()) or 1.0
    change = (np.abs(np.diff(key[order])) > 1e-10 * size) | (np.diff(targets[order], axis=0) != 0).any(axis=1)
    ranks = np.concatenate([[0], np.cumsum(change)])
    belongs = np.empty(len(order), dtype=np.intp)
    belongs[order] = ranks
    if groups is not None:
        belongs = np.unique(groups, return_inverse=True)[1].astype(np.intp)
    if len(order) > max_rows:
        order = order[np.linspace(0, len(order) - 1, max_rows).round().astype(np.intp)]
    units = np.unique(belongs[order], return_inverse=True)[1]
    n_units = int(units.max()) + 1
    parts = np.empty(n_units, dtype=np.intp)
    n_parts = min(FOLDS, n_units)
    if groups is None:
        for start in range(0, n_units, n_parts):
            block = parts[start : start + n_parts]
            block[:] = rng.permutation(n_parts)[: len(block)]
    else:  # the largest first, each to the smallest part
        sizes, filled = np.bincount(units), np.zeros(n_parts, dtype=np.intp)
        for unit in np.argsort(-sizes, kind="stable"):
            parts[unit] = int(np.argmin(filled))
            filled[parts[unit]] += sizes[unit]
    return order, belongs, parts[units]


def held_parts(parts: NDArray[np.intp]) -> Iterator[NDArray[np.intp]]:
    """Yield the rows of a part after the other until enough have been held out."""
    total = 0
    for part in range(int(parts.max()) + 1):
        rows = np.flatnonzero(parts == part)
        yield rows
        total += len(rows)
        if total >= _ENOUGH:
            return
