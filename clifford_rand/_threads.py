"""Threads: slices of arrays, values that are computed once, one thread in Python's parser.

Python 3.11 counts the depth of trees that `ast.parse` makes in one number for all threads: where another thread has its
turn in the middle of one (when garbage is collected), both raise SystemError. NumPy parses the headers of files by it.
"""

import functools
import itertools
import os
import sys
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import Any, Self, TypeVar, overload

_Value = TypeVar("_Value")
_Item = TypeVar("_Item")
_Sum = TypeVar("_Sum")

_PARTS, _MOST_PARTS = 16, 64
_PROCESS = os.getpid()
_HAS_THREADS = sys.platform != "emscripten"  # a browser has one


def is_fork() -> bool:
    """Tell whether this process was forked after this module was loaded: what its parent waits for never comes here."""
    return os.getpid() != _PROCESS


def cpu_count() -> int:
    """Return the number of processors that this process may use.

    Those of its affinity, and no more than the environment's NUMBA_NUM_THREADS: joblib gives each of its processes its
    share of the machine by that name, as it does to the libraries' own threads. One, where no thread can be started.
    """
    if not _HAS_THREADS:
        return 1
    try:
        count = len(os.sched_getaffinity(0))
    except AttributeError:  # macOS, Windows
        count = os.cpu_count() or 1
    return max(1, min(count, _most_threads()))


@cache
def _most_threads() -> int:
    """Return what the environment allows; as Numba does, it is read once."""
    said = os.environ.get("NUMBA_NUM_THREADS", "")
    return int(said) if said.isdecimal() else sys.maxsize


def for_each_slice(work: Callable[[slice], object], size: int, *, least: int = 1) -> None:
    """Call ``work`` on contiguous slices that cover ``range(size)``, one thread each.

    Fewer than ``2 * least`` items run in the calling thread, and so do the first slice and those that no thread has
    begun by then: calls may nest and meet. When it returns or raises, no slice is being worked on.
    """
    n_slices = min(cpu_count(), max(1, size // max(1, least)))
    bounds = [size * i // n_slices for i in range(n_slices + 1)]
    first, *rest = (slice(a, b) for a, b in itertools.pairwise(bounds))
    if not rest:
        work(first)
        return
    begun: list[Future[object]] = []
    try:
        begun += [_pool().submit(work, part) for part in rest]
        work(first)
        for part in [part for part, future in zip(rest, begun, strict=True) if future.cancel()]:
            work(part)
        for future in begun:
            if not future.cancelled():
                future.result()
    finally:
        wait([future for future in begun if not future.cancel()])


def fixed_parts(size: int, *, least: int = 1, step: int = 1) -> list[slice]:
    """Return slices that cover ``range(size)`` by the size alone, whatever the number of threads, each worth a thread.

    There are 16 of them, fewer where each would have less than ``least`` items, up to 64 while each has 8 times as
    many. Bounds are multiples of ``step``.
    """
    worth = max(1, size // max(1, least))
    steps = -(-size // step)
    count = min(max(min(_PARTS, worth), min(_MOST_PARTS, worth // 8)), max(1, steps))
    bounds = [min(size, step * (steps * i // count)) for i in range(count + 1)]
    return [slice(a, b) for a, b in itertools.pairwise(bounds)]


def for_each_part(work: Callable[[slice], object], size: int, *, least: int = 1, step: int = 1) -> None:
    """Call ``work`` on each of `fixed_parts`, on a few threads: for what rounds otherwise where rows are cut otherwise.

    A row of a matrix product has other last bits where it stands in another place of the matrix.
    """
    parts = fixed_parts(size, least=least, step=step)

    def several(some: slice) -> None:
        for part in parts[some]:
            work(part)

    for_each_slice(several, len(parts))


def sum_of_parts(term: Callable[[slice], _Sum], size: int, *, least: int = 1, step: int = 1) -> _Sum:
    """Return the sum of ``term(part)``, new arrays each, over `fixed_parts` in their order, whichever is ready first.

    It is the same bits for any number of threads. Hardly more terms are there at a time than threads.
    """
    parts = fixed_parts(size, least=least, step=step)
    ready: dict[int, _Sum] = {}
    total: list[_Sum] = []
    begun, following = itertools.count(), 0
    lock = threading.Lock()

    def several(_: slice) -> None:
        nonlocal following
        while (k := next(begun)) < len(parts):
            value = term(parts[k])
            with lock:
                ready[k] = value
                while following in ready:
                    value = ready.pop(following)
                    following += 1
                    if total:
                        total[0] += value  # type: ignore[operator]
                    else:
                        total.append(value)

    for_each_slice(several, len(parts))
    return total[0]


def map_ahead(work: Callable[[_Item], _Value], items: Iterable[_Item], threads: int) -> Iterator[_Value]:
    """Yield ``work(item)`` in the order of the items; ``threads`` of them are being worked on while one is used.

    Items are drawn in the calling thread, one more than threads ahead of what is yielded. What ``work`` raises is
    raised in its place. When the generator ends or is closed, nothing is being worked on.
    """
    if not _HAS_THREADS:
        yield from map(work, items)
        return
    ahead: deque[Future[_Value]] = deque()
    with ThreadPoolExecutor(threads, thread_name_prefix="clifford_rand") as pool:
        try:
            for item in items:
                ahead.append(pool.submit(work, item))
                if len(ahead) > threads:
                    yield ahead.popleft().result()
            while ahead:
                yield ahead.popleft().result()
        finally:
            for future in ahead:
                future.cancel()


@cache
def _pool() -> ThreadPoolExecutor:
    """Return threads that wait for the next call: to start one takes as long as many a slice."""
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="clifford_rand")


class _CachedProperty(functools.cached_property[_Value]):  # noqa: TID251
    """`functools.cached_property` without the lock that it has on Python 3.11.

    That lock is one for all instances, and it is held while a value is computed: threads wait for each other, and a
    process that is forked meanwhile has it locked for good. Here two threads may compute one value, and both get the
    one that is there first.
    """

    @overload
    def __get__(self, instance: None, owner: type[Any] | None = None) -> Self: ...
    @overload
    def __get__(self, instance: object, owner: type[Any] | None = None) -> _Value: ...
    def __get__(self, instance: object | None, owner: type[Any] | None = None) -> Self | _Value:
        if instance is None:
            return self
        kept: dict[Any, _Value] = instance.__dict__
        return kept.setdefault(self.attrname, self.func(instance))


cached_property = _CachedProperty


if hasattr(os, "register_at_fork"):  # a forked process has no thread of its parent's
    os.register_at_fork(after_in_child=_pool.cache_clear)


ONE_PARSER = threading.RLock()  # of one thread again: what garbage collection or a signal calls may parse, too

if hasattr(os, "register_at_fork"):  # a process is forked when no thread is in the middle of a text
    os.register_at_fork(
        before=ONE_PARSER.acquire, after_in_parent=ONE_PARSER.release, after_in_child=ONE_PARSER.release
    )
