"""Seconds by the clock and of all processors: of threads, and of child processes that have ended."""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager

from threadpoolctl import threadpool_limits

__all__ = ["Clock", "one_thread"]


class Clock:
    """Seconds since it was made.

    Examples
    --------
    >>> clock = Clock()
    >>> clock.seconds() >= 0 and clock.cpu_seconds() >= 0
    True
    """

    def __init__(self) -> None:
        self._wall, self._cpu = time.perf_counter(), _cpu()

    def seconds(self) -> float:
        """Return the seconds by the clock."""
        return time.perf_counter() - self._wall

    def cpu_seconds(self) -> float:
        """Return the seconds that processors worked, in all threads and in children that have ended."""
        return _cpu() - self._cpu


def _cpu() -> float:
    used = os.times()
    return time.process_time() + used.children_user + used.children_system  # the clock of the latter has steps of 10 ms


@contextmanager
def one_thread() -> Iterator[None]:
    """Limit BLAS and OpenMP to one thread, and on Linux the process to one processor, so that all methods have one."""
    allowed = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else None
    try:
        if allowed:
            os.sched_setaffinity(0, {max(allowed)})
        with threadpool_limits(1):
            yield
    finally:
        if allowed:
            os.sched_setaffinity(0, allowed)
