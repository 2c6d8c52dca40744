"""Shards of the command line: folders opened for a model or for its training."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.shards.formats.readers import has_names
from clifford_rand_nn.shards.source import Shards, shard_blocks

_PIECES, _PIECE = 16, 1000  # places whose targets say what the task is, and rows of each


def training_shards(folder: Path, target: str | None, weights: str | None) -> Shards:
    """Return shards with their targets.

    Raises ArgumentError if there are no targets, or columns are named where files have none.
    """
    if has_names(folder):
        if target is None:
            raise ArgumentError(f"{folder}: Parquet needs --target, the column to predict.")
        return Shards(folder, target=target, sample_weight=weights)
    for option, value in (("--target", target), ("--sample-weight", weights)):
        if value is not None:
            raise ArgumentError(f"{folder}: {option} {value} names a column, as Parquet has; targets are y-….npy here.")
    shards = Shards(folder)
    if not shards.has_targets:
        raise ArgumentError(f"{folder}: there are no targets, y-00000.npy, … beside X-00000.npy, ….")
    return shards


def new_shards(folder: Path, target: str | None, train: Shards) -> Shards:
    """Return shards with targets to score on, with the columns of those of training: by name where both have names.

    Raises ArgumentError if there are no targets, or other columns.
    """
    if has_names(folder) and train.feature_names is not None:
        return Shards(folder, target=target, columns=train.feature_names)
    shards = training_shards(folder, target if has_names(folder) else None, None)
    if shards.n_features != train.n_features:
        raise ArgumentError(
            f"{folder}: these shards have {shards.n_features} columns, and those of training {train.n_features}."
        )
    return shards


def model_shards(model: Any, folder: Path, target: str | None = None, weights: str | None = None) -> Shards:
    """Return shards with the columns of a model, by name where both have names; targets where these are asked for."""
    names = getattr(model, "feature_names_in_", None)
    if not has_names(folder):
        return Shards(folder) if target is None and weights is None else training_shards(folder, target, weights)
    columns = None if names is None else [str(name) for name in names]
    return Shards(folder, target=target, sample_weight=weights, columns=columns)


def some_targets(shards: Shards) -> NDArray[Any]:
    """Return targets from many places, by which a task is chosen."""
    parts = shards.parts
    pieces = []
    for index in sorted({i * len(parts) // _PIECES for i in range(_PIECES)}):
        y = next(shard_blocks(shards, parts[index], _PIECE, columns=False)).y  # which names a file that cannot be read
        assert y is not None
        pieces.append(y)
    return np.concatenate(pieces)
