"""Entry point of the program ``clifford-rand``, and Ctrl-C where Python does not raise it."""

import _thread
import os
import signal
import sys
import threading
from contextlib import suppress
from typing import Any


def main() -> None:
    """Run the command line.

    A KeyboardInterrupt that Python cannot raise, in a finaliser for instance, comes again. Once the command has ended,
    Ctrl-C ends the process at once. A MemoryError that Python cannot raise, as where C code reads a font, is a warning.
    What a reader of a pipe no longer wants is not written.
    """
    sys.unraisablehook = Unraised()
    record_signals()
    try:
        from clifford_rand_nn.cli.app import app

        app()
    except MemoryError:
        os.write(2, b"error: there is not enough memory.\n")
        sys.exit(2)
    except (KeyboardInterrupt, Exception) as error:  # while modules are loaded, or options read; commands say more
        if not (isinstance(error, KeyboardInterrupt) or was_interrupted()):
            raise
        os.write(2, b"interrupted: the command was not finished.\n")
        sys.exit(128 + signal.SIGINT)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        _flush()


def _flush() -> None:
    """Write what is left; where the reader has left, write it nowhere, so that Python does not complain at its end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)


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
