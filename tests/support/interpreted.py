"""Packages whose functions Numba would compile for seconds, run as plain Python: for a few products."""

from contextlib import contextmanager

import numba
import pytest


@contextmanager
def interpreted(name):
    """Import a package, or skip the test; what it is asked inside is not compiled."""
    before = numba.config.DISABLE_JIT
    numba.config.DISABLE_JIT = True
    try:
        yield pytest.importorskip(name)
    finally:
        numba.config.DISABLE_JIT = before
