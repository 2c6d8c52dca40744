"""A solver in a process of its own: the parent starts it, asks, waits no longer than a cap, and ends it.

The child (``python -m peers.process NAME`` in the folder above) reads one request a line, times the call, writes the
reply, says "done". The clock runs from the arrays to the coefficients; imports are outside, and before the first call
of each kind the same call with a beta near its maximum runs unmeasured, so that compilation is outside too.
"""

import importlib.metadata
import json
import os
import queue
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np

from peers import solvers

_START = 300  # s for imports, and for the first call's compilation


class PeerError(Exception):
    """The peer raised; the text is the end of what it wrote."""


class Peer:
    """One solver of `peers.solvers` with so many threads of BLAS, OpenMP and Numba, run by an interpreter.

    Requests, replies and the log are in ``folder``.
    """

    def __init__(self, name, folder, threads, python=sys.executable):
        self.name, self.threads, self.python = name, threads, python
        self.log, self.reply = Path(folder) / f"{name}.log", Path(folder) / f"{name}.npz"
        self._process = None
        self.version = self._start()

    def _start(self):
        counts = ("OPENBLAS", "OMP", "MKL", "NUMBA")
        environment = {**os.environ, **{f"{name}_NUM_THREADS": str(self.threads) for name in counts}}
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        command, here = [self.python, "-m", "peers.process", self.name], Path(__file__).resolve().parent.parent
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(command, cwd=here, env=environment, stderr=log, **pipes)
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
            return dict(stored)

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


def _work(name):
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer prints is no answer
    solve = getattr(solvers, f"solve_{name}")
    problems, warm, package = {}, set(), solvers.PACKAGES[name]
    print(f"{package} {importlib.metadata.version(package)}, NumPy {np.__version__}", file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        path, options = request["problem"], request["options"]
        if path not in problems:
            with np.load(path) as stored:
                problems = {path: (stored["X"], stored["y"], stored["D"])}
        X, y, D = problems[path]
        kind = (path, json.dumps(options, sort_keys=True))
        if kind not in warm and request["warm"]:
            largest = np.linalg.norm(X.T @ (D * y[:, None]), axis=0).max() / len(y)
            solve(X, y, D, (0.4 if options.get("loss") == "logistic" else 0.8) * largest, 1e-2, **options)
            warm.add(kind)
            print("warm", file=answers, flush=True)
        began = time.perf_counter()
        arrays = solve(X, y, D, request["beta"], request["tol"], **options)
        seconds = time.perf_counter() - began
        np.savez(request["reply"], **{"seconds": seconds, **arrays})
        print("done", file=answers, flush=True)


if __name__ == "__main__":
    _work(sys.argv[1])
