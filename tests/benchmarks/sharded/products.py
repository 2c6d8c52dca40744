"""An engine that notes its passes and, right after each, times the bare products of the same shapes.

What is timed are the BLAS calls alone, X @ U and X.T @ R, on blocks that are resident in memory, with as many threads
and rows a block, of a share of the rows; they are taken in turn with the passes: a busy machine slows both alike. The
pass that decides the patterns is one of them: X @ H in double precision, with all gates, is what it is for. The scan,
and all that is done on the sample, have no bare products.
"""

import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager

import numpy as np

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand_nn.row_sums import Engine

_SHARE = 8  # of the rows, one in so many is multiplied
_BLOCKS = 2  # resident ones a thread


class Counted(Engine):
    """An engine with a list of its passes; nothing is multiplied beside them where ``threads`` is 0.

    Attributes
    ----------
    passes : list of dict
        What each was, its seconds, and those of its bare products.
    bare, bare_cpu : float
        Seconds of wall and of CPU time spent on bare products.
    """

    def __init__(self, engine, threads):
        self._engine, self._threads = engine, threads
        self.shards, self.workers, self.first = engine.shards, engine.workers, engine.first
        self.passes, self.bare, self.bare_cpu = [], 0.0, 0.0
        self._blocks = {}

    def sum(self, term):
        with self._pass(type(term).__name__) as one:
            found = self._engine.sum(term)
        one["products"] = self._products(term)
        return found

    def keep(self, make):
        with self._pass(type(make).__name__) as one:
            self._engine.keep(make)
        one["products"] = self._timed(make.gates.directions, 0, make.rows)

    def keep_to(self, most, need, owner):
        self._engine.keep_to(most, need, owner)

    def each(self, work):
        with self._pass(type(work).__name__):
            yield from self._engine.each(work)

    def agreed(self, value):
        return self._engine.agreed(value)

    def close(self):
        self._engine.close()

    @contextmanager
    def _pass(self, name):
        one = {"name": name, "products": None}
        begin, cpu = time.perf_counter(), time.process_time()
        yield one
        one["seconds"], one["cpu"] = time.perf_counter() - begin, time.process_time() - cpu
        self.passes.append(one)

    def _products(self, term):
        forward = getattr(term, "_columns", None)
        if forward is None:
            return None
        return self._timed(forward, int(np.prod(term._shape[1:])) if hasattr(term, "scales") else 0, term.rows)

    def _timed(self, forward, backward, rows):
        if not self._threads or not (forward.shape[1] or backward):
            return 0.0, 0.0
        begin, cpu = time.perf_counter(), time.process_time()
        seconds = bare(self._resident(forward, rows), forward, backward, self.shards.n_rows, self._threads)
        self.bare += time.perf_counter() - begin
        self.bare_cpu += time.process_time() - cpu
        return seconds

    def _resident(self, forward, rows):
        key = (rows, len(forward), forward.dtype.str)
        if key not in self._blocks:
            rng = np.random.default_rng(0)
            shape = (rows, len(forward))
            self._blocks[key] = [rng.random(shape).astype(forward.dtype) for _ in range(self._threads * _BLOCKS)]
        return self._blocks[key]


def bare(blocks, forward, backward, n, threads):
    """Wall and CPU seconds of X @ U, and of X.T @ R with ``backward`` columns, over n rows."""
    rows = len(blocks[0])
    count = max(threads, n // rows // _SHARE // threads * threads)
    R = np.random.default_rng(1).random((rows, backward)).astype(forward.dtype)

    def work(thread):
        for i in range(count // threads):
            X = blocks[thread * _BLOCKS + i % _BLOCKS]
            if forward.shape[1]:
                X @ forward
            if backward:
                X.T @ R

    with ONE_BLAS_THREAD, ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
        begin, cpu = time.perf_counter(), time.process_time()
        list(pool.map(work, range(threads)))
        seconds = time.perf_counter() - begin, time.process_time() - cpu
    return [one * n / (count * rows) for one in seconds]
