"""Ctrl-C at a chosen line of the library, whatever the time: the signal is raised by a trace function."""

import linecache
import signal
import sys
from contextlib import contextmanager
from pathlib import Path

import clifford_rand_nn
from clifford_rand_nn.solvers.stopping import Interrupts, Watch

_HERE = str(Path(clifford_rand_nn.__file__).parent)


class Lines:
    """Lines that a call of the library went through until it handed over what it found, and the points it judged."""

    def __init__(self, press=0):
        self.count = 0
        self.press = press
        self.judged = 0  # points before the press, or of the whole call
        self.first = self.last = None  # lines at which a point was judged, the first and the last
        self.where = None
        self.guarded = False  # once the call's own handler was there

    @property
    def pressed(self):
        return self.where is not None

    def check(self, check):
        def counted(watch, *arguments, **named):
            check(watch, *arguments, **named)
            if not self.pressed:
                self.judged += 1
                self.first, self.last = self.first or self.count + 1, self.count

        return counted

    def trace(self, frame, event, _):
        code = frame.f_code
        if not code.co_filename.startswith(_HERE):
            return None
        guarded = isinstance(signal.getsignal(signal.SIGINT), Interrupts)
        handed_over, self.guarded = self.guarded and not guarded, self.guarded or guarded
        if event == "line" and not (self.pressed or handed_over or _with(frame)):
            self.count += 1
            if self.count == self.press:
                self.where = f"{code.co_qualname}, line {frame.f_lineno}"
                signal.raise_signal(signal.SIGINT)
        return self.trace


def _with(frame):
    """Whether it is a line `with`; at the end of such a block Python looks for signals in `__exit__` only."""
    return linecache.getline(frame.f_code.co_filename, frame.f_lineno).lstrip().startswith("with ")


@contextmanager
def traced(press=0):
    """Yield the `Lines` that the block goes through; Ctrl-C comes before the given one, counted from 1."""
    lines, check = Lines(press), Watch.check
    before, handler = sys.gettrace(), signal.signal(signal.SIGINT, signal.default_int_handler)
    Watch.check = lines.check(check)
    sys.settrace(lines.trace)
    try:
        yield lines
    finally:
        sys.settrace(before)
        signal.signal(signal.SIGINT, handler)
        Watch.check = check
