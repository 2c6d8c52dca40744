"""Packages whose functions Numba would compile for seconds, run as plain Python: for a few products."""

import sys
from contextlib import contextmanager

import numba
import pytest


@contextmanager
def interpreted(name, *others):
    """Import a package and ``others`` that it needs, or skip the test; inside nothing of them is compiled.

    They are imported anew: what Numba has taken in hand before fails where it may compile nothing.
    """
    ours = {key: module for key, module in sys.modules.items() if key.partition(".")[0] in (name, *others)}
    before = numba.config.DISABLE_JIT
    for key in ours:
        del sys.modules[key]
    numba.config.DISABLE_JIT = True
    try:
        yield pytest.importorskip(name)
    finally:
        numba.config.DISABLE_JIT = before
        for key in [key for key in sys.modules if key.partition(".")[0] in (name, *others)]:
            del sys.modules[key]
        sys.modules.update(ours)
