"""Patterns from gates as users give them: a word, hyperplanes, or None."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.arrangements.every import exhaustive_gates
from clifford_rand_nn.gates.hyperplanes import Gates, as_gates
from clifford_rand_nn.gates.sampling import METHODS
from clifford_rand_nn.patterns import ActivationPatterns, activation_patterns

Draw = Callable[[str], Gates]


def chosen_patterns(
    X: NDArray[Any], gates: Any, bias: bool, owner: str, draw: Draw | None = None
) -> ActivationPatterns:
    """Return the distinct patterns on X, none all off, and a gate of each, as a user's ``gates`` say.

    Parameters
    ----------
    X : (n, d) array
    gates : Gates, (directions (d, m), offsets (m,)), "exhaustive", or a method of `sample_gates` if there is ``draw``
    bias : bool
        Whether the gates of "exhaustive" have an offset.
    owner : str
        Whose parameter it is, for the errors.
    draw : callable, optional
        Samples the gates of a method.

    Raises
    ------
    ArgumentError
        Something else is given, or hyperplanes that do not fit X.
    """
    if isinstance(gates, str) and gates == "exhaustive":
        every = exhaustive_gates(X, bias)
        some = np.flatnonzero(every.patterns.any(axis=0))  # the all-off pattern has no neuron
        return ActivationPatterns(np.ascontiguousarray(every.patterns[:, some]), every.gates.take(some))
    if draw is not None and isinstance(gates, str) and gates in METHODS:
        return activation_patterns(X, draw(gates))
    words = ("exhaustive", *(() if draw is None else METHODS))
    return activation_patterns(X, as_gates(gates, X.shape[1], owner, f", {', '.join(map(repr, words))},"))
