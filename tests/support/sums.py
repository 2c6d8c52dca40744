"""Sums over rows that tests of engines run; a module that worker processes can import."""

import os
import time

import numpy as np

from clifford_rand_nn.problems.loss_functions import library
from clifford_rand_nn.row_sums import PartWork, RowMap, RowSum
from clifford_rand_nn.shards.source import shard_blocks


class Moments(RowSum):
    """Column sums and the Gram matrix of the rows where a kept sign is positive, in blocks of few rows."""

    rows = 7

    def __init__(self, shift, pause=0.0):
        self.shift, self.pause = shift, pause

    def of(self, block, kept):
        time.sleep(self.pause)
        X = block.X.astype(np.float64) - self.shift
        for mask in kept:
            X = X * mask[:, None]
        w = np.ones(len(X)) if block.weights is None else block.weights
        return w @ X, (X * w[:, None]).T @ X, np.array([float(block.first)])


class Late(RowSum):
    """The number of rows; the first ones take their time."""

    def of(self, block, kept):
        time.sleep(0.0 if block.first else 0.6)
        return (np.array([float(len(block.X))]),)


class Deadly(RowSum):
    """Ends the process that has the first rows."""

    def of(self, block, kept):
        if block.first == 0:
            os._exit(1)
        return (np.array([float(len(block.X))]),)


class Positive(RowMap):
    """Whether the first column is positive."""

    rows = 5

    def of(self, block):
        return block.X[:, 0] > 0


class Where(PartWork):
    """The part, its rows' sum and the process that worked on it."""

    def of(self, shards, part):
        return part, sum(float(block.X.sum()) for block in shard_blocks(shards, part, 6)), os.getpid()


class Broken(PartWork):
    """A disk that is full where the last rows are."""

    def of(self, shards, part):
        if part.first + part.size == shards.n_rows:
            raise OSError(28, "No space left on device")


class Columns(Moments):
    """The same on arrays of any library, in double precision."""

    tensors = True

    def of(self, block, kept):
        xp = library(block.X)
        X = xp.astype(block.X, xp.float64) - self.shift
        for mask in kept:
            X = X * xp.astype(mask, xp.float64)[:, None]
        w = xp.ones(len(X), dtype=xp.float64) if block.weights is None else block.weights
        return w @ X, (X * w[:, None]).T @ X, xp.asarray([float(block.first)], dtype=xp.float64)


class Blocks(RowSum):
    """The number of blocks."""

    def of(self, block, kept):
        return (np.ones(1),)
