"""Command line; and Ctrl-C in it, where C code or a finalizer replaced the KeyboardInterrupt by another error."""

import _thread
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any

_DELAY = 0.01  # seconds until an interrupt that Python could not raise comes again
_pipe: list[int] = []


def record_signals() -> None:
    """Have the system write every signal to a pipe, also where C code replaces KeyboardInterrupt by another error."""
    if not _pipe:
        _pipe[:] = os.pipe()
        for end in _pipe:
            os.set_blocking(end, False)
    signal.set_wakeup_fd(_pipe[1], warn_on_full_buffer=False)


def was_interrupted() -> bool:
    """Return whether Ctrl-C was pressed since the last call."""
    with suppress(BlockingIOError):  # there is nothing to read
        return bool(_pipe) and signal.SIGINT in os.read(_pipe[0], 2**16)
    return False


class Unraised:
    """Treatment of exceptions that Python cannot raise."""

    warned = False

    def __call__(self, unraised: Any) -> None:
        """Raise an interrupt again, warn of memory, and report other exceptions as Python does."""
        if issubclass(unraised.exc_type, KeyboardInterrupt):  # again, from another thread: here it cannot be raised
            later = threading.Timer(_DELAY, _thread.interrupt_main)
            later.daemon = True
            later.start()
        elif not issubclass(unraised.exc_type, MemoryError):
            sys.__unraisablehook__(unraised)
        elif not self.warned:
            self.warned = True
            os.write(2, b"warning: memory ended in a step of a library that goes on without it.\n")
