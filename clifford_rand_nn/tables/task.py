"""Which task a target asks for: classes or numbers."""

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError

MOST_CLASSES = 20  # more distinct whole numbers than this are counts or codes rather than classes


def choose_task(target: NDArray[Any]) -> tuple[str, str]:
    """Return the task for a target, and why; refuse texts most of which are there once, which are no classes.

    Examples
    --------
    >>> import numpy as np
    >>> choose_task(np.array(["a", "b", "a", "b"]))
    ('classification', 'the target is text, 2 classes')
    >>> choose_task(np.array([0.5, 1.0, 2.25]))
    ('regression', 'the target has fractions')
    """
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
