"""Labels that a caller gives beside a fitted classifier or probabilities."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_array, describe, fail


def places_of(y: Any, classes: NDArray[Any], n: int, owner: str) -> NDArray[np.intp]:
    """Return the places (n,) of labels among the classes.

    Raises
    ------
    ArgumentError
        They are not n, or not all of them are classes.

    Examples
    --------
    >>> places_of(["b", "a"], np.array(["a", "b"]), 2, "f")
    array([1, 0])
    """
    labels = as_array(y, "y", owner)
    if labels.shape != (n,):
        raise fail("y", owner, f"the {n} labels of the training", describe(f"shape {labels.shape}"))
    place = {label: i for i, label in enumerate(classes.tolist())}
    try:
        return np.array([place[label] for label in labels.tolist()], dtype=np.intp)
    except (KeyError, TypeError) as error:  # another label, or a list, which is none
        told = describe(f"{error}" if isinstance(error, KeyError) else "what is no label")
        raise fail("y", owner, f"labels among the {len(place)} classes", told) from None
