"""A method of the comparison: a name, a grid, and fits whose models give a decision value for each row."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import available

__all__ = ["Method", "Model", "Snapshot", "SteppedMethod"]

Array = NDArray[np.float64]
Labels = NDArray[np.int64]


class Model(ABC):
    """A fitted model; ``gap`` is its certified relative gap, or None if nothing is proved."""

    gap: float | None = None

    @abstractmethod
    def decision(self, X: Array) -> Array:
        """Return (m,) values, above 0 where a row of X (m, d) is of class 1."""


class Method(ABC):
    """A method with one grid, which runs from more to less regularized.

    Attributes
    ----------
    name : str
    grid : tuple
    margin_loss : {"logistic", "squared"} or None
        The loss that decision values are made for, on labels of -1 and 1; its validation mean breaks ties of accuracy.
    oracle : bool
        Whether every grid point is also fitted on all rows and scored on the test rows, for a column of its own.
    library, extra : str
        What must be installed, and the extra that brings it; empty if it is always there.
    """

    name: str
    grid: tuple[Any, ...]
    margin_loss: str | None = "logistic"
    oracle = False
    library = ""
    extra = ""

    @abstractmethod
    def fit(self, X: Array, y: Labels, value: Any, seed: int) -> Model:
        """Fit features X (n, d) and classes y (n,) of 0 and 1, at one point of the grid."""

    def fit_grid(self, X: Array, y: Labels, values: Sequence[Any], seed: int) -> Iterator[Model]:
        """Fit every point, in order, each when it is asked for; by default they share nothing."""
        for value in values:
            yield self.fit(X, y, value, seed)

    @property
    def available(self) -> bool:
        """Whether the library that it needs is installed."""
        return not self.library or available(self.library)

    def describe(self) -> str:
        """Return what decides the results beside data and protocol; results with another text do not mix."""
        return f"{self.name}: grid {', '.join(_shown(value) for value in self.grid)}"


class Snapshot(NamedTuple):
    """A model on its way: the seconds of training so far, what they were spent on, and the model as it is then."""

    seconds: float
    step: int
    model: Model


class SteppedMethod(Method):
    """A method that can be watched while it trains."""

    @abstractmethod
    def steps(self, X: Array, y: Labels, value: Any, seed: int) -> Iterator[Snapshot]:
        """Yield the model after each step; scoring it in between does not count."""


def _shown(value: Any) -> str:
    if isinstance(value, dict):
        return "(" + ", ".join(f"{name}={_shown(part)}" for name, part in value.items()) + ")"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
