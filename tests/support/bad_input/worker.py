"""Rows are tried in another process: one that hangs is killed, one that crashes is told, and memory is bounded."""

import multiprocessing
import os
import resource
import sys
import tempfile
import time
import traceback

from support.running import process_state

LIMIT = 10.0  # seconds of CPU time a row
_MOST = 60.0  # seconds of CPU time until it is given up: the first row imports, and something may be compiled
_ASLEEP = 60  # seconds of waiting for something that does not come
_MEMORY = 2 * 2**30  # bytes that the machine is said to have
# Bytes of address space beyond what the worker has when it starts, where each thread may have an arena of 64 MiB.
_BEYOND = 3 * 2**30 + (os.cpu_count() or 1) * 2**27

DONE, FAULT, NONE = "done", "fault", "does not apply"


def try_rows(make, rows, seconds=None):
    """Yield (row, verdict, text) for rows of the table ``make()``, which is made in the process that tries them.

    ``seconds`` of CPU time of that process end it: the rows after that are left out.
    """
    with tempfile.TemporaryDirectory(prefix="bad-input-", ignore_cleanup_errors=True) as folder:
        yield from _try_rows(make, list(rows), seconds, folder)


def _try_rows(make, rows, seconds, folder):
    worker = _Worker(make, folder)
    used, at = 0.0, 0
    again = False
    try:
        while at < len(rows) and (seconds is None or used + worker.used < seconds):
            row = rows[at]
            answer = worker.ask(row)
            slow = answer is not None and answer[2] > LIMIT and row.place is not None
            if slow and not again:
                again = True  # something had to be compiled
                continue
            if answer is None and worker.ended_by_itself:
                yield row, FAULT, f"the process ended: {worker.code()}"
            elif answer is None:
                yield row, FAULT, f"did not end within {_MOST:g} s"
            elif slow:
                yield row, FAULT, f"took {answer[2]:.0f} s of CPU time"
            else:
                yield row, answer[0], answer[1]
            if answer is None:
                used += worker.used
                worker.kill()
                worker = _Worker(make, folder)
            again = False
            at += 1
    finally:
        worker.kill()


class _Worker:
    def __init__(self, make, folder):
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=_work, args=(other, make, folder), daemon=True)
        self._process.start()
        other.close()
        self.used = 0.0
        self.ended_by_itself = False

    def ask(self, row):
        """Return (verdict, text, seconds of CPU time) of a row; None if there is no answer in time."""
        try:
            self._pipe.send(row)
            if not self._answers():
                return None
            verdict, text, seconds, self.used = self._pipe.recv()
        except (EOFError, OSError):
            self._process.join(5)
            self.ended_by_itself = True
            return None
        return verdict, text, seconds

    def _answers(self):
        """Wait by what the worker takes, as the clock goes on where it is stopped or has no processor."""
        _, began = process_state(self._process.pid)
        asleep = 0
        while not self._pipe.poll(1):
            state, used = process_state(self._process.pid)
            asleep += state in "SD"
            if asleep > _ASLEEP or used - began > _MOST:
                return False
        return True

    def code(self):
        return f"exit code {self._process.exitcode}"

    def kill(self):
        self._process.kill()
        self._process.join()
        self._pipe.close()


def _work(pipe, make, folder):
    tempfile.tempdir = folder
    os.chdir(tempfile.mkdtemp())  # for the files that rows name
    os.environ["HF_HUB_OFFLINE"] = "1"  # whoever names an encoder that nobody has must not wait for the network
    sys.stdout = sys.stderr = open(os.devnull, "w")  # noqa: SIM115
    real = os.sysconf
    os.sysconf = lambda name: _MEMORY // real("SC_PAGE_SIZE") if name == "SC_PHYS_PAGES" else real(name)
    table = make()
    bounded = False
    while True:
        row = pipe.recv()
        if not bounded:
            _bound_memory()
            bounded = True
        began, used = time.process_time(), _peak()
        try:
            text = table.fault(row)
        except Exception:
            text = f"the trial itself failed: {traceback.format_exc()[-600:]}"
        if text is None and _peak() - used > _MEMORY:
            text = f"took {(_peak() - used) / 2**30:.1f} GiB"
        verdict = DONE if text is None else NONE if text == NONE else FAULT
        pipe.send((verdict, text, time.process_time() - began, time.process_time()))


def _bound_memory():
    with open("/proc/self/statm") as stream:
        now = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (now + _BEYOND, resource.RLIM_INFINITY))


def _peak():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
