"""Kernels that release the GIL, run on slices of a batch by a few threads."""

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

__all__ = ["cpu_count", "for_each_slice"]


def cpu_count() -> int:
    """Return the number of processors that this process may use."""
    try:
        return max(1, len(os.sched_getaffinity(0)))
    except AttributeError:  # macOS, Windows
        return max(1, os.cpu_count() or 1)


def for_each_slice(work: Callable[[slice], object], size: int, *, least: int = 1) -> None:
    """Call ``work`` on contiguous slices that cover ``range(size)``, one thread each.

    Fewer than ``2 * least`` items run in the calling thread. Threads, not a parallel Numba loop: they live for one
    call, so a process may fork afterwards, and two callers never meet in one pool.
    """
    n_slices = min(cpu_count(), max(1, size // max(1, least)))
    if n_slices == 1:
        work(slice(0, size))
        return
    bounds = [size * i // n_slices for i in range(n_slices + 1)]
    with ThreadPoolExecutor(n_slices) as pool:
        list(pool.map(work, [slice(a, b) for a, b in itertools.pairwise(bounds)]))
