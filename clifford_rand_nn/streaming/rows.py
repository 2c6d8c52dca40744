"""Rows of shards as a fitted estimator or pipeline takes them: in its columns, in a type that it computes with."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._optional import available, require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import some_of
from clifford_rand_nn.row_sums.sums import Block
from clifford_rand_nn.shards.source import Shards

_BLOCK_BYTES, _MOST_ROWS, _LEAST_ROWS = 2**23, 2**14, 256  # of rows in float64; models hold some copies of them


class ModelRows:
    """Calls methods of a model on blocks of rows; columns are found by name where both sides have names.

    ``owner``: whose errors these are.

    Raises
    ------
    ArgumentError
        There are no shards, or they have other columns.
    """

    def __init__(self, model: Any, shards: Shards, owner: str) -> None:
        if not isinstance(shards, Shards):
            raise fail(
                "shards", owner, "Shards", describe(f"a {type(shards).__name__}"), "Shards(X) has those of arrays."
            )
        self.model, self.owner = model, owner
        names = getattr(model, "feature_names_in_", None)
        self._names = None if names is None else list(map(str, names))
        self._order: list[int] | None = None
        wanted = getattr(model, "n_features_in_", None)
        if self._names is not None and shards.names is not None:
            place = {name: j for j, name in enumerate(shards.names)}
            missing = [name for name in self._names if name not in place]
            if missing:
                received = describe(f"some without {some_of(missing, 5)}")
                raise fail("shards", owner, "shards with the columns of the model", received)
            order = [place[name] for name in self._names]
            self._order = None if order == list(range(shards.d)) else order
        elif wanted is not None and shards.d != wanted:
            received = describe(f"{shards.d}")
            raise fail("shards", owner, f"shards with the {wanted} columns of the model", received)

    @property
    def rows(self) -> int:
        """Rows of a block."""
        width = max(1, getattr(self.model, "n_features_in_", 1))
        return int(np.clip(_BLOCK_BYTES // (8 * width), _LEAST_ROWS, _MOST_ROWS))

    def method(self, name: str) -> Callable[[Any], Any]:
        """Return a method of the model.

        Raises
        ------
        ArgumentError
            It has none of this name.
        """
        method: Callable[[Any], Any] | None = getattr(self.model, name, None)
        if method is None:
            rule = f"one that {type(self.model).__name__} has"
            raise fail("method", self.owner, rule, name)
        return method

    def ask(self, name: str, block: Block) -> NDArray[Any]:
        """Return what a method says of a block; an error names its rows.

        Raises
        ------
        ArgumentError
            The model refuses the rows.
        """
        try:
            return np.asarray(self.method(name)(self._taken(block.X)))
        except ArgumentError as error:
            raise self.refused(block, str(error)) from error
        except ValueError as error:  # of scikit-learn
            raise self.refused(block, " ".join(str(error).split())) from error

    def refused(self, block: Block, why: str) -> ArgumentError:
        """Return the error of rows that a model does not take."""
        return ArgumentError(f"{self.owner}: rows {block.first} to {block.first + len(block.X)} of all shards: {why}")

    def _taken(self, X: NDArray[Any]) -> Any:
        if self._order is not None:
            X = X[:, self._order]
        if X.dtype == np.float16:  # no model computes in it
            X = X.astype(np.float32)
        if self._names is None or not available("pandas"):
            return X
        return require("pandas", extra="app", purpose="columns with names").DataFrame(X, columns=self._names)
