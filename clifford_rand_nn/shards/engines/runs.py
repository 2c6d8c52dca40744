"""Runs of parts: what a worker is given at a time, so that few tasks and few sums travel and no bit changes."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from clifford_rand_nn.shards.rows import Part


class Run(NamedTuple):
    """Neighbouring parts that one worker adds up: a whole branch of the tree of `pairwise`.

    Attributes
    ----------
    number : int
        Among all runs.
    parts : tuple of Part
    owner : int
        The worker that has its rows.
    """

    number: int
    parts: tuple[Part, ...]
    owner: int


_MOST = 1024  # runs, if each thread has one: each costs a scheduler of Dask about a millisecond a pass


def runs(parts: Sequence[Part], threads: Sequence[int], least: int = 4) -> list[Run]:
    """Share parts among workers: neighbours stay together, 2^k of them a run, at least ``least`` runs a thread.

    The sums of 2^k parts that begin at a multiple of 2^k are a branch of the tree of all parts; so `pairwise` over
    runs of sums by `pairwise` is `pairwise` over parts, addition by addition.

    Parameters
    ----------
    parts : sequence of Part
    threads : sequence of int
        Threads of each worker, which is given as large a share of the rows.
    least : int
        Runs a thread, if there are as many parts and not too many threads: when one worker is late, others can take
        some of its own.

    Examples
    --------
    >>> parts = [Part(0, 8 * i, 8 * i + 8, 8 * i) for i in range(10)]
    >>> [(len(run.parts), run.owner) for run in runs(parts, [1, 1], least=2)]
    [(2, 0), (2, 0), (2, 1), (2, 1), (2, 1)]
    """
    least, size = max(1, min(least, _MOST // sum(threads))), 1
    while len(parts) >= 2 * size * least * sum(threads):
        size *= 2
    pieces = [tuple(parts[i : i + size]) for i in range(0, len(parts), size)]
    rows = np.array([sum(part.size for part in piece) for piece in pieces])
    middles = np.cumsum(rows) - rows / 2
    owners = np.searchsorted(np.cumsum(threads) / sum(threads), middles / rows.sum(), side="right")
    return [Run(number, *pair) for number, pair in enumerate(zip(pieces, owners.tolist(), strict=True))]
