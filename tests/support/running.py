"""Modules and commands of the library in processes of their own: started, watched and waited for."""

import faulthandler
import json
import multiprocessing
import os
import queue
import signal
import subprocess
import sys
import time
import traceback
from pathlib import Path

TESTS = Path(__file__).parents[1]
_STEP = 0.1  # seconds that a look at a process stands for at most


def environment(**more):
    """Return the environment of a process that finds packages and tests, with as many threads as it likes."""
    own = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    return own | {"PYTHONPATH": os.pathsep.join([str(TESTS.parent), str(TESTS)])} | more


def begin(module, *arguments, python=sys.executable, by=(), cwd=None, stderr=subprocess.PIPE, **more):
    """Begin a module, called by the command ``by``, with ``more`` in its environment."""
    return subprocess.Popen(
        [*by, python, "-m", module, *map(str, arguments)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=stderr,
        text=True, cwd=cwd, env=environment(**more),
    )  # fmt: skip


def answer(process, question=None):
    """Return what a process says in its last line, JSON; where it fails a RuntimeError has the end of its words."""
    said, error = process.communicate(question, timeout=3600)
    if process.returncode:
        raise RuntimeError(f"status {process.returncode} {(error or '')[-2000:]}".strip())
    return json.loads(said.splitlines()[-1])


def answered(seconds, function, *arguments):
    """Return what a function puts into its first argument, a queue, in a process of its own; None if it puts nothing.

    The process is gone afterwards, whether it answered within so many seconds or not.
    """
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["clifford_rand_nn.model_file", "sklearn.datasets", "pandas"])  # imported once
    answers = context.Queue()
    process = context.Process(target=function, args=(answers, *arguments), daemon=True)
    process.start()
    try:
        return answers.get(timeout=seconds)
    except queue.Empty:
        return None
    finally:
        process.kill()
        process.join()


class Run:
    """A command in a forked process, in a folder. ``before`` and ``after`` it are called there."""

    def __init__(self, command, folder, before=lambda: None, after=lambda: None, stdout=None):
        self.command, self.folder, self.code = command, folder, None
        self._said = None
        self._read, self._write = os.pipe()  # no file: its size may be limited
        sys.stdout.flush()
        self.pid = os.fork()
        if self.pid == 0:
            self._work(before, after, os.open(os.devnull, os.O_WRONLY) if stdout is None else stdout)
        os.close(self._write)

    def _work(self, before, after, stdout):
        code = 70
        try:
            os.setpgid(0, 0)
            faulthandler.enable()
            os.chdir(self.folder)
            os.dup2(stdout, 1)
            os.dup2(self._write, 2)
            sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115
            sys.stderr = open(2, "w", buffering=1, closefd=False)  # noqa: SIM115
            from clifford_rand_nn import __main__ as entry

            sys.argv = ["clifford-rand", *self.command.args.split()]
            before()
            try:
                entry.main()
            finally:
                after()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        except BaseException:
            after()
            traceback.print_exc()
        finally:
            os._exit(code)

    def poll(self):
        """Look whether it has ended; then its exit code is there, negative for a signal."""
        if self.code is None:
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                self.code = os.waitstatus_to_exitcode(status)
        return self.code

    def wait(self, seconds=180.0):
        """Wait for its end; return the exit code, None where it hangs."""
        if self.code is None:
            self.code = ended(self.pid, seconds)
        return self.code

    def said(self):
        """Return what it printed on stderr, once it has ended."""
        if self._said is None:
            os.set_blocking(self._read, False)
            with open(self._read, "rb") as stream:
                self._said = (stream.read() or b"").decode(errors="replace")
        return self._said


def ended(pid, seconds):
    """Wait for a child; return its exit code, None where it hangs: it works, or sleeps, for so many seconds.

    On a busy machine it may wait for a processor as long as it takes.
    """
    asleep, before = 0.0, time.monotonic()
    while True:
        found, status = os.waitpid(pid, os.WNOHANG)
        if found:
            return os.waitstatus_to_exitcode(status)
        state, worked = process_state(pid)
        now = time.monotonic()
        # "R" waits for a processor and "T" is frozen; this process, too, may wait for one
        asleep += 0.0 if state in "RT" else min(now - before, _STEP)
        before = now
        if max(worked, asleep) > seconds:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            return None
        time.sleep(0.005)


def process_state(pid):
    """Return the state of a process, a letter, and the seconds for which it had a processor.

    "X" where there is none, or another system than Linux.
    """
    try:
        with open(f"/proc/{pid}/stat") as stream:
            fields = stream.read().rpartition(")")[2].split()
    except OSError:
        return "X", 0.0
    return fields[0], (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
