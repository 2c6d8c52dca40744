"""Detection of Ctrl-C where C code replaced the KeyboardInterrupt by another error."""

import os
import signal
from contextlib import suppress

_pipe: list[int] = []


def watch() -> None:
    """Have the system note every signal, whatever Python does about it; in the main thread of a program of our own."""
    if not _pipe:
        _pipe[:] = os.pipe()
        for end in _pipe:
            os.set_blocking(end, False)
    signal.set_wakeup_fd(_pipe[1], warn_on_full_buffer=False)


def pressed() -> bool:
    """Tell whether Ctrl-C was pressed since the last time that this was asked."""
    with suppress(BlockingIOError):  # there is nothing to read
        return bool(_pipe) and signal.SIGINT in os.read(_pipe[0], 2**16)
    return False
