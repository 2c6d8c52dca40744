"""Task of a target: classification or regression, and the target as columns of numbers."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError

MOST_CLASSES = 20  # more distinct whole numbers than this are counts or codes rather than classes


def choose_task(target: NDArray[Any]) -> tuple[str, str]:
    """Return the task for a target, and why; refuse texts most of which occur once, which are not classes."""
    values = np.unique(target)
    if target.dtype.kind in "US":
        if len(values) > max(MOST_CLASSES, len(target) // 2):
            raise ArgumentError(
                f"the target is text, {len(values)} different ones in {len(target)} rows, such as {str(values[0])!r}: "
                "neither classes nor numbers; name another column, or write its numbers as 1234.5 or $1,234.50."
            )
        return "classification", f"the target is text, {len(values)} classes"
    if target.dtype.kind == "b":
        return "classification", "the target is boolean"
    from sklearn.utils.multiclass import type_of_target

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "more classes than half the samples": that is decided here
        continuous = type_of_target(target).startswith("continuous")
    if continuous:
        return "regression", "the target has fractions"
    few = f"{len(values)} distinct whole numbers in {len(target)} rows"
    if len(values) <= min(MOST_CLASSES, max(2, len(target) // 2)):
        return "classification", f"the target has {few}; else give --task regression"
    return "regression", f"the target has {few}; else give --task classification"


def indicators(y: Any, n: int) -> tuple[tuple[str, ...], NDArray[np.float64]] | None:
    """Return a target of n rows as columns: itself, or 0 and 1 for each class, of two classes for the second only.

    None where cells of it are missing, it has several columns, or too many classes.
    """
    target = np.asarray(y)
    target = target[:, 0] if target.shape == (n, 1) else target
    if target.shape != (n,) or (target.dtype.kind == "f" and not np.isfinite(target).all()):
        return None
    target = target.astype(str) if target.dtype.kind == "O" else target
    try:
        task, _ = choose_task(target)
    except ArgumentError:
        return None
    if task == "regression":
        return ("",), target.astype(np.float64)[:, None]
    classes = np.unique(target)
    if not 2 <= len(classes) <= MOST_CLASSES:
        return None
    classes = classes[-1:] if len(classes) == 2 else classes
    return tuple(map(str, classes)), (target[:, None] == classes).astype(np.float64)
