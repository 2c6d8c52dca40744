"""The parent's side of a worker: start it, ask, wait no longer than a cap, end it."""

import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

__all__ = ["Peer", "PeerError"]

_START = 300  # s for imports, and for the first call's compilation


class PeerError(Exception):
    """The peer raised; the text is the end of what it wrote."""


class Peer:
    """One solver in a process of its own.

    Parameters
    ----------
    name : str
        File in this folder.
    folder : Path
        For requests, replies and the log.
    threads : int
        Of BLAS, OpenMP and Numba.
    python : str
        Interpreter.
    """

    def __init__(self, name, folder, threads, python=sys.executable):
        self.name, self.folder, self.threads, self.python = name, Path(folder), threads, python
        self.log = self.folder / f"{name}.log"
        self.reply = self.folder / f"{name}.npz"
        self._process = None
        self.version = self._start()

    def _start(self):
        here = Path(__file__).resolve().parent.parent
        counts = ("OPENBLAS", "OMP", "MKL", "NUMBA")
        environment = {**os.environ, **{f"{name}_NUM_THREADS": str(self.threads) for name in counts}}
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                [self.python, "-m", "peers.worker", self.name],
                cwd=here,
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                text=True,
            )
        answers = self._answers = queue.Queue()
        threading.Thread(target=_read, args=(self._process.stdout, answers), daemon=True).start()
        return self._next(_START)

    def _next(self, timeout):
        answer = self._answers.get(timeout=timeout)
        if answer is None:
            self.close()
            raise PeerError(f"{self.name}: {self.log.read_text(errors='replace')[-2000:]}")
        return answer

    def solve(self, problem, beta, tol, cap, warm=True, **options):
        """Return the reply, a dict of arrays with "seconds", or None if the call took longer than ``cap`` seconds."""
        if self._process is None:
            self._start()
        request = {"problem": str(problem), "reply": str(self.reply), "beta": beta, "tol": tol, "warm": warm}
        self._process.stdin.write(json.dumps({**request, "options": options}) + "\n")
        self._process.stdin.flush()
        end = time.perf_counter() + cap
        try:
            while (answer := self._next(max(end - time.perf_counter(), 0.0))) != "done":
                assert answer == "warm", answer
                end = time.perf_counter() + cap
        except queue.Empty:
            self.close()
            return None
        with np.load(self.reply) as stored:
            return {key: stored[key] for key in stored.files}

    def close(self):
        """End the process; the next call starts another."""
        if self._process is not None:
            self._process.kill()
            self._process.wait()
            for pipe in (self._process.stdin, self._process.stdout):
                pipe.close()
            self._process = None


def _read(stream, answers):
    try:
        for line in stream:
            answers.put(line.strip())
    except ValueError:  # closed by the other thread
        pass
    answers.put(None)
