"""A fit keeps to max_time and max_memory: it ends in time with a useful model, and takes that memory or is refused.

Each fit runs in a process of its own, after a small one that compiles what is needed; one with a limit of memory runs
twice. Time is that of the process's clock on an idle machine, CPU seconds where other work runs beside it; memory is
by how much the largest resident set exceeds that at the start of the fit.
Limits of time are of the clock, so a model is judged only where the process had half of the clock's time.
A fit may take `max_time` for its work, and what one step, the bound and the network take beyond it.
"""

import time
import warnings
from pathlib import Path

import numpy as np
from sklearn.datasets import make_friedman1

from clifford_rand.errors import ArgumentError
from reliability.promise import Outcome
from support.running import answered

_SLACK = 1.0  # seconds beyond max_time, with as much again as max_time
_LEAST_R2 = 0.3  # of regressors on new rows, where always the mean has 0
_FEW = 1000  # training rows below which no score is expected of these targets
_BASE = 250e6  # bytes beyond max_memory: choices on 2,000 rows, copies of the rows, and buffers of BLAS
_RUN = 240  # seconds after which a fit hangs


def run(budget):
    cases = [name for name in _FITS if not budget.short or name in _SHORT]
    faults, lines = [], []
    for name in budget.named(cases):
        line, fault = _judged(name, *_FITS[name])
        lines.append(line)
        faults += fault
        if not budget.short:
            print(line, flush=True)
    return Outcome(f"{len(lines)} fits with a limit", faults)


_ALL = {"gates": "exhaustive", "beta": 1e-3}
_FIFTY, _HUNDRED = ({"n_gates": n, "random_state": 0} for n in (50, 100))
_SECOND = {"max_time": 1.0}
_FITS = {  # class, parameters, rows, columns, limit
    "exhaustive relu": ("ConvexReLURegressor", _ALL, 60, 3, _SECOND),
    "network": ("ConvexNetworkRegressor", {}, 7000, 30, _SECOND),
    "network 0.5": ("ConvexNetworkRegressor", {}, 20_000, 30, {"max_time": 0.5}),
    "network 2.0": ("ConvexNetworkRegressor", {}, 20_000, 30, {"max_time": 2.0}),
    "classes": ("ConvexNetworkClassifier", {}, 5000, 20, _SECOND),
    "few neurons": ("ConvexNetworkRegressor", {"gates": "row_spanned"}, 1000, 10, {"max_time": 2.0}),
    "gated": ("GatedReLURegressor", {"n_gates": 200, "random_state": 0}, 8000, 30, _SECOND),
    "gated classes": ("GatedReLUClassifier", _HUNDRED, 4000, 20, _SECOND),
    "gated logistic": ("GatedReLUClassifier", {"loss": "logistic", "random_state": 0}, 4000, 20, _SECOND),
    "relu": ("ConvexReLURegressor", _FIFTY, 2000, 10, _SECOND),
    "exhaustive relu, 4 columns": ("ConvexReLURegressor", _ALL, 60, 4, _SECOND),
    "exhaustive gated": ("GatedReLURegressor", _ALL, 100, 3, _SECOND),
    "full dictionary": ("CrossProductLassoRegressor", {"beta": 1e-3}, 120, 3, _SECOND),
    "subsampled dictionary": ("CrossProductLassoRegressor", {"subsample": 20_000}, 2000, 10, _SECOND),
    "network in 50 MB": ("ConvexNetworkRegressor", {}, 4000, 20, {"max_memory": 50e6}),
    "network in 500 MB": ("ConvexNetworkRegressor", {}, 20_000, 20, {"max_memory": 500e6}),
    "gated in 20 MB": ("GatedReLURegressor", _HUNDRED, 8000, 30, {"max_memory": 20e6}),
    "gated in 300 MB": ("GatedReLURegressor", _HUNDRED, 8000, 30, {"max_memory": 300e6}),
    "dictionary in 30 MB": ("CrossProductLassoRegressor", {"beta": 1e-3}, 120, 3, {"max_memory": 30e6}),
    "relu in 30 MB": ("ConvexReLURegressor", _HUNDRED, 2000, 20, {"max_memory": 30e6}),
}
_SHORT = ("exhaustive relu", "network", "network in 50 MB")


def _judged(name, estimator, parameters, n, d, limit):
    record = answered(_RUN, _fit, estimator, parameters, n, d, limit)
    if record is None:  # a fit that hangs, or a process that died
        return f"{name}: no answer", [f"{name}: no answer after {_RUN} s"]
    if "refused" in record:
        line = f"{name}: refused: {record['refused']}"
        return line, [] if "max_memory" in limit else [line]
    seconds, cpu, peak, score = record["seconds"], record["cpu"], record["peak"], record["score"]
    line = f"{name}, {limit}: {seconds:.1f} s, {cpu:.1f} of CPU, {peak / 1e6:.0f} MB, score {score:.3f}"
    faults = []
    if "max_time" in limit and min(seconds, cpu) > 2 * limit["max_time"] + _SLACK:
        faults.append(f"{line}: too long")
    if "max_memory" in limit and peak > limit["max_memory"] + _BASE:
        faults.append(f"{line}: too much memory")
    if "max_time" in limit and cpu < seconds / 2:
        line += ", not judged: the time went to other processes"
    elif n >= _FEW and score < (0.5 if "Classifier" in estimator else _LEAST_R2):
        faults.append(f"{line}: no useful model")
    return line, faults


def _fit(answers, estimator, parameters, n, d, limit):
    import clifford_rand_nn

    warnings.simplefilter("ignore")
    X, y = make_friedman1(n + 1000, n_features=max(d, 5), random_state=0)
    X = X[:, :d] if d < 5 else X
    if "Classifier" in estimator:
        y = (y > np.median(y)).astype(int)
    kind = getattr(clifford_rand_nn, estimator)
    kind(**parameters | {"max_time": 30.0}).fit(X[:20], y[:20])
    try:
        if "max_memory" in limit:
            kind(**parameters, **limit).fit(X[:n], y[:n])
        Path("/proc/self/clear_refs").write_text("5")  # the largest resident set is that of now
        before = _resident("VmRSS")
        began, cpu = time.perf_counter(), time.process_time()
        model = kind(**parameters, **limit).fit(X[:n], y[:n])
    except ArgumentError as error:
        answers.put({"refused": str(error)})
        return
    record = {"seconds": time.perf_counter() - began, "cpu": time.process_time() - cpu}
    record["peak"] = _resident("VmHWM") - before
    answers.put(record | {"score": model.score(X[n:], y[n:])})


def _resident(name):
    """Return the bytes that Linux states: of the resident set (VmRSS), or of the largest since it was reset (VmHWM)."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:"))
