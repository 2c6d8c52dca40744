"""A process that solves with one peer: reads one request a line, times the call, writes the reply, says "done".

    python -m peers.worker NAME        (in the folder above)

A peer may need an environment of its own, so nothing but NumPy and the peer is imported here. The clock runs from the
arrays to the coefficients; imports are outside, and before the first call of each kind the same call with a beta near
its maximum runs unmeasured, so that compilation is outside too.
"""

import importlib
import json
import os
import sys
import time

import numpy as np


def warm_up(solve, X, y, D, options):
    largest = np.linalg.norm(X.T @ (D * y[:, None]), axis=0).max() / len(y)
    half = 0.5 if options.get("loss") == "logistic" else 1.0
    solve(X, y, D, 0.8 * half * largest, 1e-2, **options)


def main():
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what the peer prints is no answer
    module = importlib.import_module(f"peers.{sys.argv[1]}")
    problems, warm = {}, set()
    print(module.version(), file=answers, flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        path, options = request["problem"], request["options"]
        if path not in problems:
            with np.load(path) as stored:
                problems = {path: (stored["X"], stored["y"], stored["D"])}
        X, y, D = problems[path]
        kind = (path, json.dumps(options, sort_keys=True))
        if kind not in warm and request["warm"]:
            warm_up(module.solve, X, y, D, options)
            warm.add(kind)
            print("warm", file=answers, flush=True)
        began = time.perf_counter()
        arrays = module.solve(X, y, D, request["beta"], request["tol"], **options)
        seconds = time.perf_counter() - began
        np.savez(request["reply"], **{"seconds": seconds, **arrays})
        print("done", file=answers, flush=True)


if __name__ == "__main__":
    main()
