"""Ctrl-C at any moment leaves the best network found so far, whole files, exit code 130 and no traceback.

In this process: every solver, path and refinement, and estimators, interrupted at a random moment of the time that they
take undisturbed. Where a point was judged, they return with the status "interrupted" and a finite gap,
and a certificate that holds; before that the KeyboardInterrupt is the caller's. In processes: every command that
writes. It ends with 130 and one line that begins with "interrupted:"; its files are the old ones, the new ones, or the
best so far, whole.
"""

import math
import os
import random
import signal
import time
import warnings
from contextlib import contextmanager
from functools import partial

import numpy as np

from clifford_rand_nn.cli.demo import FILES
from reliability.promise import Outcome
from support.commands import OLD, Command, bench, chosen

_WHOLE, _SHORT = (20, 8), (2, 2)  # interrupts of each solver, and of each command
_TRIES = 4  # a fit may be faster than the one that was timed
_BRIEF = ("few", "embed")  # commands of the short form, and what it interrupts in this process
_QUICK = ("fista", "kernel", "newton", "gram", "interior point", "path, gated", "estimator, gated")
_DEMO = Command("demo", "demo --force --out shown", tuple(f"shown/{name}" for name in FILES))
_PARTIAL = ("few", "few path", "shards", "network of shards")  # commands whose files say how far they came


def run(budget):
    rng = random.Random(budget.seed)
    each, commands = _SHORT if budget.short else _WHOLE
    tried, others = chosen(budget, _BRIEF, ("solvers", "demo"))
    if "demo" in others and not budget.short:
        tried.append(_DEMO)
    with bench(tried) as place, _small_demo():
        solvers = _solvers(rng, each if "solvers" in others else 0, budget.short, place)
        ended = _commands(rng, commands, tried, place)
    return Outcome(f"{solvers}; {ended}: {len(place.faults)} faults", place.faults)


def _work():
    """Name what is interrupted: functions that return something with a status."""
    from clifford_rand_nn import (
        ConvexReLURegressor,
        CrossProductLassoRegressor,
        GatedReLUClassifier,
        GatedReLURegressor,
        refine_gates,
    )
    from clifford_rand_nn.problems.lasso import LassoProblem
    from clifford_rand_nn.solvers.lasso_path import homotopy
    from support.limited import GATES, OURS, PATHS, SIGNS, SOLVERS, K, X, Y

    work = {name: partial(SOLVERS[name][1], tol=1e-12, max_iter=3000) for name in OURS}
    work |= {f"path, {name}": path for name, path in PATHS.items()}
    work["homotopy"] = lambda: homotopy(LassoProblem(K, Y, 1.0), 1e-4)
    work["refinement"] = lambda: refine_gates(X, Y, GATES.take(np.arange(5)), beta=1e-3, bias=False, random_state=0)
    few = {"beta": 1e-3, "tol": 1e-9, "random_state": 0}
    models = {
        "gated": (GatedReLUClassifier(30, loss="logistic", **few), SIGNS),
        "ridge": (GatedReLURegressor(30, penalty="ridge", **few), Y),
        "relu": (ConvexReLURegressor(20, **few), Y),
        "lasso": (CrossProductLassoRegressor(subsample=200, **few), Y),
        "refined": (GatedReLURegressor(8, n_refinements=2, **few), Y),
    }

    def fit(model, y):
        return model.fit(X, y)

    return work | {f"estimator, {name}": partial(fit, *pair) for name, pair in models.items()}


def _solvers(rng, each, short, place):
    from clifford_rand_nn.solvers.stopping import Watch

    held = early = 0
    for name, work in _work().items():
        if not each or (short and name not in _QUICK):
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            work()
            began = time.monotonic()
            work()
            seconds, done = time.monotonic() - began, held + early
            for _ in range(_TRIES * each):
                if held + early - done == each:
                    break
                moment = rng.uniform(0, seconds)
                when = f"{name}, after {moment:.4f} of {seconds:.4f} s"
                try:
                    with _counted(Watch) as points, _interrupt(moment) as fired:
                        found = work()
                except KeyboardInterrupt:
                    early += 1
                    if points:
                        place.note(when, [f"{len(points)} points were judged, and are lost"])
                    continue
                if not fired:
                    continue
                held += 1
                place.note(when, _wrong(found))
    return f"{held + early} interrupts of solvers ({held} left their best point, {early} came before one)"


def _wrong(found):
    """Return what is wrong with what an interrupt left."""
    from support.limited import SIGNS, X, Y

    result = getattr(found, "result_", found)
    if result.status != "interrupted":
        return [f"its status is {result.status}"]
    if hasattr(found, "certificate_"):
        proof = found.certificate_.verify(X, SIGNS if hasattr(found, "classes_") else Y)
        if not proof.lower_bound <= proof.objective * (1 + 1e-9):
            return [f"a bound {proof.lower_bound} above the objective {proof.objective}"]
        if not np.isfinite(found.predict(X[:3]).astype(float)).all():
            return ["predictions that are no numbers"]
    gap = getattr(result, "relative_gap", 0.0)
    return [] if np.max(gap) >= 0 and not math.isnan(np.max(gap)) else [f"a relative gap of {gap}"]


@contextmanager
def _counted(watch):
    """Yield a list that grows with every point that is judged."""
    points, check = [], watch.check

    def counted(self, *arguments, **named):
        check(self, *arguments, **named)
        points.append(1)

    watch.check = counted
    try:
        yield points
    finally:
        watch.check = check


@contextmanager
def _interrupt(seconds):
    """Press Ctrl-C after so many seconds; yield a list that is empty as long as this has not been."""
    fired = []

    def press(*_):
        fired.append(1)
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, press), signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, max(seconds, 1e-6))
    try:
        yield fired
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before[0])
        signal.signal(signal.SIGINT, before[1])


# ---- commands


def _commands(rng, each, commands, place):
    count = stopped = 0
    for command in commands:
        place.prepare(command)
        seconds = place.seconds[command][1]
        for _ in range(each):
            moment = rng.uniform(0, seconds)
            with place.trial(command, partial(_alarm, moment)) as run:
                wrong = place.judge(run, partial=command.name in _PARTIAL, other=command is _DEMO)
                wrong += _cut_short(run.folder, place.content[command]) if command is _DEMO else []
                if run.code == 130 and run.said().count("interrupted: ") != 1:
                    wrong.append(f"it said {run.said()!r}")
                if run.code == 2:
                    wrong.append(f"an error: {run.said()!r}")
                wrong += place.again(run) if command.keeps else []
            count, stopped = count + 1, stopped + (run.code == 130)
            place.note(f"{command.name}, after {moment:.3f} of {seconds:.3f} s", wrong)
    return f"{count} of commands ({stopped} stopped by them)"


@contextmanager
def _small_demo():
    """Let the demo of this process and of those forked from it be one of seconds."""
    from clifford_rand_nn.cli import demo

    before = demo.run_demo, demo.spiral
    demo.run_demo = partial(demo.run_demo, n_gates=20, rows=120, resolution=40)
    demo.spiral = partial(demo.spiral, 20)
    try:
        yield
    finally:
        demo.run_demo, demo.spiral = before


def _cut_short(folder, clean):
    """Return which tables of the demo, whose seconds differ, are neither the old ones nor have all their lines."""
    wrong = []
    for name in [name for name in _DEMO.files if name.endswith(".csv") and (folder / name).exists()]:
        found = (folder / name).read_bytes()
        if found != OLD and found.count(b"\n") != clean[name].count(b"\n"):
            wrong.append(f"{name} is not whole")
    return wrong


def _alarm(seconds):
    """Send this process SIGINT once it has worked for so long."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGPROF, lambda *_: os.kill(os.getpid(), signal.SIGINT))
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-6))
