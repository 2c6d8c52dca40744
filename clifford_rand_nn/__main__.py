"""Entry point of ``clifford-rand``, and of ``python -m clifford_rand_nn``: Ctrl-C ends it quietly at any moment."""

import os
import signal
import sys

from clifford_rand.errors import MissingDependencyError, require
from clifford_rand_nn.cli import Unraised, record_signals, was_interrupted


def main() -> None:
    """Run the command line.

    A KeyboardInterrupt that Python cannot raise, in a finaliser for instance, comes again. Once the command has ended,
    Ctrl-C ends the process at once. A MemoryError that Python cannot raise, as where C code reads a font, is a warning.
    What a reader of a pipe no longer wants is not written.
    """
    sys.unraisablehook = Unraised()
    record_signals()
    try:
        require("typer", extra="app", purpose="clifford-rand")
        from clifford_rand_nn.cli.app import app

        app()
    except MissingDependencyError as error:
        os.write(2, f"error: {error}.\n".encode())
        sys.exit(2)
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


if __name__ == "__main__":
    main()
