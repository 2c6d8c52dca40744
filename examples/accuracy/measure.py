"""One row: a method fitted to a trial, judged on its test rows, with the seconds of both."""

import warnings
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from examples.accuracy.clock import Clock
from examples.accuracy.methods.base import Method
from examples.accuracy.methods.ours import interval, promised
from examples.accuracy.problems import Problem, Trial
from examples.accuracy.scores import calibration_error, coverage, negative_log_likelihood, r2

__all__ = ["COLUMNS", "KEY", "measure", "warm_up"]

KEY = ("set", "trial", "method")
COLUMNS = (
    "task", *KEY, "n", "d", "classes", "n_test", "score", "nll", "ece", "cpu_seconds", "seconds",
    "test_cpu_seconds", "promised", "coverage", "width", "chosen",
)  # fmt: skip


def measure(method: Method, problem: Problem, number: int) -> dict[str, Any]:
    """Fit a method to a trial; return the cells of its row.

    The seconds are those of all choices and the fit; those of the test are of every prediction on the test rows.
    """
    trial = problem.trial(number)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # a limit on steps is part of the method here
        clock = Clock()
        model = method.make(number).fit(trial.X, trial.y)
        cpu, wall = clock.cpu_seconds(), clock.seconds()
        clock = Clock()
        judged = _judged(model, problem, trial)
        test_cpu = clock.cpu_seconds()
    best = getattr(model, "best_params_", {})
    estimate = promised(model)
    return {
        "task": problem.task,
        "set": problem.name,
        "trial": number,
        "method": method.name,
        "n": len(trial.y),
        "d": trial.X.shape[1],
        "classes": problem.n_classes,
        "n_test": len(trial.y_test),
        "cpu_seconds": f"{cpu:.5f}",
        "seconds": f"{wall:.5f}",
        "test_cpu_seconds": f"{test_cpu:.5f}",
        "promised": None if estimate is None else f"{estimate:.6f}",
        "chosen": " ".join(f"{name}={value}" for name, value in best.items()),
        **{name: None if value is None else f"{value:.6f}" for name, value in judged.items()},
    }


def _judged(model: Any, problem: Problem, trial: Trial) -> dict[str, float | None]:
    """Return score, log-likelihood, calibration, coverage and the intervals' mean width in deviations of the target."""
    found: dict[str, float | None] = dict.fromkeys(("score", "nll", "ece", "coverage", "width"))
    f = np.asarray(model.predict(trial.X_test))
    if problem.task == "regression":
        found["score"] = r2(f, trial.y_test)
        ends = interval(model, trial.X_test)
        if ends is not None:
            low, high = ends
            found["coverage"] = coverage(low, high, trial.y_test)
            found["width"] = float(np.mean(high - low) / np.std(trial.y))
        return found
    found["score"] = float(np.mean(f == trial.y_test))
    if hasattr(model, "predict_proba"):
        P = np.asarray(model.predict_proba(trial.X_test), dtype=np.float64)
        found["nll"], found["ece"] = negative_log_likelihood(P, trial.y_test), calibration_error(P, trial.y_test)
    return found


def warm_up(method: Method) -> None:
    """Fit and test a small made table, so that compiling and importing are not measured."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((60, 4))
    y = X[:, 0] if method.task == "regression" else np.arange(60) % 3
    rows = ((np.arange(45), np.arange(45, 60)),)
    measure(method, Problem("made", method.task, X, y, rows, ""), 0)
