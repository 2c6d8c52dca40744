"""The program ``clifford-rand``, from its first import to its last line: Ctrl-C ends it quietly at any moment."""

import _thread
import os
import signal
import sys
import threading
from typing import Any

from clifford_rand_nn.cli.sigint import pressed, watch

_SOON = 0.01  # seconds


def main() -> None:
    """Run the command line.

    A KeyboardInterrupt that Python cannot raise, in a finaliser for instance, comes again. Once the command has ended,
    Ctrl-C ends the process at once. A MemoryError that Python cannot raise, as where C code reads a font, is a warning.
    What a reader of a pipe no longer wants is not written.
    """
    sys.unraisablehook = _Unraised()
    watch()
    try:
        from clifford_rand_nn.cli.app import app

        app()
    except MemoryError:
        os.write(2, b"error: there is not enough memory.\n")
        sys.exit(2)
    except (KeyboardInterrupt, Exception) as error:  # while modules are loaded, or options read; commands say more
        if not (isinstance(error, KeyboardInterrupt) or pressed()):
            raise
        os.write(2, b"interrupted: the command was not finished.\n")
        sys.exit(128 + signal.SIGINT)
    finally:
        if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # a shell's background job ignores it
            signal.signal(signal.SIGINT, signal.SIG_DFL)
        _flush()


class _Unraised:
    """What is done about exceptions that Python cannot raise."""

    warned = False

    def __call__(self, told: Any) -> None:
        if issubclass(told.exc_type, KeyboardInterrupt):  # soon, from another thread: at once it would be raised here
            later = threading.Timer(_SOON, _thread.interrupt_main)
            later.daemon = True
            later.start()
        elif not issubclass(told.exc_type, MemoryError):
            sys.__unraisablehook__(told)
        elif not self.warned:
            self.warned = True
            os.write(2, b"warning: memory ended in a step of a library that goes on without it.\n")


def _flush() -> None:
    """Write what is left; where the reader has left, write it nowhere, so that Python does not complain at its end."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
