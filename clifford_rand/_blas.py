"""Limits on BLAS threads: for stacks of small matrices, for batches shared among threads, for NumPy beside SciPy."""

import math
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import cache, wraps
from typing import Any


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
