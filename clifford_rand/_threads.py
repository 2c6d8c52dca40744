"""Threads: slices of arrays, values that are computed once, one thread in Python's parser; limits on those of BLAS.

Python 3.11 counts the depth of trees that `ast.parse` makes in one number for all threads: where another thread has its
turn in the middle of one (when garbage is collected), both raise SystemError. NumPy parses the headers of files by it.
"""

import functools
import itertools
import math
import os
import sys
import threading
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ContextDecorator
from functools import cache, wraps
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


class _Library:
    """One BLAS of this process: who holds it at one thread, and how many it had before the first of them."""

    def __init__(self, controller: Any) -> None:
        self.path: str = controller.filepath
        self._controller = controller
        self._before = 0
        self._holders: Counter[int] = Counter()  # by thread

    def hold(self) -> None:
        if not self._holders:
            self._before = self._controller.get_num_threads()
            self._set(1)
        self._holders[threading.get_ident()] += 1

    def release(self) -> None:
        me = threading.get_ident()
        if self._holders[me] > 1:
            self._holders[me] -= 1
        elif me in self._holders:  # a library that was loaded since is not held
            self._drop(me)

    def keep_only(self, thread: int) -> None:
        """Drop all holders but one thread: after a fork the others are the parent's."""
        for holder in set(self._holders) - {thread}:
            self._drop(holder)

    def _drop(self, thread: int) -> None:
        del self._holders[thread]
        if not self._holders:  # the last one brings the old number of threads back
            self._set(self._before)

    def _set(self, threads: int) -> None:
        # From version 3.8 on threadpoolctl lets the thread that was first set OpenBLAS's number, and ignores others
        # without a word until this one is done. Here the lock below keeps them apart.
        done = getattr(self._controller, "clear_controlling_thread", lambda force: None)
        done(force=True)
        self._controller.set_num_threads(threads)
        done(force=True)


@cache
def _libraries() -> list[_Library]:
    from threadpoolctl import ThreadpoolController

    libraries = ThreadpoolController().select(user_api="blas")  # 3 ms: it looks through the loaded libraries
    return [_Library(library) for library in libraries.lib_controllers]


@cache
def _add_scipy() -> None:
    """Add the BLAS library of SciPy, which may be loaded after that of NumPy, once."""
    known = {library.path for library in _libraries()}
    _libraries().extend(library for library in _libraries.__wrapped__() if library.path not in known)


class _OneBlasThread(ContextDecorator):
    """Context or decorator with which BLAS, or the libraries with ``part`` in their path, runs in the calling thread.

    The number of BLAS threads is global: the first to enter sets it and the last to leave restores it, library by
    library, so that calls from several threads, and of both contexts below, may overlap.
    """

    def __init__(self, part: str = "") -> None:
        self._part = part

    def __enter__(self) -> None:
        self._each(_Library.hold)

    def __exit__(self, *error: object) -> None:
        self._each(_Library.release)

    def _each(self, act: Any) -> None:
        with _lock:
            if "scipy.linalg" in sys.modules:
                _add_scipy()
            for library in _libraries():
                if self._part in library.path:
                    act(library)


_lock = threading.Lock()


def _after_fork() -> None:
    try:
        for library in _libraries() if _libraries.cache_info().currsize else ():
            library.keep_only(threading.get_ident())
    finally:
        _lock.release()


if hasattr(os, "register_at_fork"):  # a process is forked when no thread is in the middle of a change
    os.register_at_fork(before=_lock.acquire, after_in_parent=_lock.release, after_in_child=_after_fork)

ONE_BLAS_THREAD = _OneBlasThread()

# Up to this order a factorization takes some milliseconds and a decomposition a seventh of a second, with one thread as
# with two; with several BLAS adds in another order, and the last bits depend on how many there are.
_ALONE = 1000


# The wheels of NumPy and SciPy carry a BLAS each, with threads of its own that go on spinning for a while after a call.
# Where calls alternate, each library waits for cores that the other holds: the kernel method (n = 2000) took 0.8 to
# 1.05 s, and 0.49 s with one thread for NumPy's. Where both share one library nothing is limited.
ONE_NUMPY_THREAD = _OneBlasThread("numpy")


def blas_threads(order: int) -> _OneBlasThread:
    """Return the context for dense matrices of an order: one thread up to 1000, SciPy's own beyond."""
    return ONE_BLAS_THREAD if order <= _ALONE else ONE_NUMPY_THREAD


# NumPy calls BLAS once for each matrix of a stack, and OpenBLAS shares each, from orders between 24 and 100 on, among
# threads that spin in between: 50 products in Cl(10) took 5 to 30 times the CPU time of one thread.
_STACKED_FROM = 24


def stacked(function: Callable[..., Any]) -> Any:
    """Return a function with one BLAS thread where its first argument or its ``factors`` are a stack (..., k, d)."""

    @wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        first = getattr(args[0], "factors", args[0])
        if first.ndim > 2 and max(first.shape[-2:]) >= _STACKED_FROM and math.prod(first.shape[-2:]) <= _ALONE**2:
            with ONE_BLAS_THREAD:
                return function(*args, **kwargs)
        return function(*args, **kwargs)

    return call
