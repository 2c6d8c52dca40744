"""``clifford-rand path``: curves against beta, by leave-one-out or along the path of a convex program."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import check_positive, fail
from clifford_rand._optional import require
from clifford_rand._typing import Array
from clifford_rand_nn.cli.console import INTERRUPTED, complain, refused_data, say, show_table
from clifford_rand_nn.cli.outputs import check_out
from clifford_rand_nn.cli.rows import Reading, read_other, read_training
from clifford_rand_nn.datafits.registry import encode_labels
from clifford_rand_nn.estimators.network.classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network.regressor import ConvexNetworkRegressor
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.paths.path import RegularizationPath, gated_path
from clifford_rand_nn.paths.relu import lasso_path, relu_path
from clifford_rand_nn.reporting.baselines import make_folds
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.interrupts import raise_if_interrupted
from clifford_rand_nn.tables import choose_task, default_target
from clifford_rand_nn.tables.writers import written_columns

_PICTURES = (".png", ".svg", ".pdf")
_SHOWN = 30  # betas of the table that is printed


class PathAsked(NamedTuple):
    """What ``clifford-rand path`` was asked for."""

    train: Path
    target: str | None
    test: Path | None
    weights: str | None
    groups: str | None
    model: str
    n_gates: int
    subsample: int
    n_betas: int
    max_time: float
    seed: int
    out: Path | None
    picture: Path | None
    force: bool
    dialect: Mapping[str, Any]


def run_path(asked: PathAsked) -> None:
    """Read, walk, and show."""
    for file, endings, what in ((asked.out, (".csv",), "the path"), (asked.picture, _PICTURES, "the picture")):
        if file is not None:
            check_out(file, asked.force, endings, what)
    if asked.model == "network" and asked.test is not None:
        hint = "Its curve is of training rows that are left out, every one; evaluate scores a model on another table."
        raise fail("--test", "clifford-rand path", "left out with --model network", str(asked.test), hint)
    if asked.model != "network" and asked.groups is not None:
        raise fail("--groups", "clifford-rand path", f"left out with --model {asked.model}", asked.groups)
    target = asked.target
    if target is None:
        target = default_target(asked.train, **asked.dialect)
        say(f"target: {target}; else give --target")
    reading = Reading(target, asked.weights, asked.groups, asked.dialect)
    rows, encoder = read_training(asked.train, reading)
    task, why = choose_task(rows.y)
    say(f"{task}: {why}")
    require("matplotlib", extra="app", purpose="drawing a path")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    with refused_data(str(asked.train)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if asked.model == "network":
            reached, columns = None, _left_out(rows, task, figure.subplots())
        else:
            test = None if asked.test is None else read_other(asked.test, reading, encoder, rows.names)
            reached, columns = _walked(asked, rows, test, task, figure.subplots())
    _show(columns)
    if asked.out is not None:
        with written_columns(asked.out) as write:
            write(columns)
        say(f"path written to {asked.out}")
    if asked.picture is not None:
        from clifford_rand_nn.displays.style import save_figure

        save_figure(figure, asked.picture)
        say(f"picture written to {asked.picture}")
    if reached is not None:
        complain("interrupted", f"this is the path so far, {reached} of {asked.n_betas} values of beta.")
        raise typer.Exit(INTERRUPTED)


def _left_out(rows: Rows, task: str, axes: Any) -> dict[str, Array]:
    """Return the squared error of rows left out over the variance, for every beta, before any gates are learned."""
    from clifford_rand_nn.displays.path import RegularizationPathDisplay

    kind = ConvexNetworkClassifier if task == "classification" else ConvexNetworkRegressor
    options: dict[str, Any] = {"loss": "squared"} if task == "classification" else {}
    model = raise_if_interrupted(kind(rounds=0, **options).fit(rows.X, rows.y, rows.weights, rows.groups))
    drawn = RegularizationPathDisplay.from_estimator(model, rows.X, rows.y, rows.weights, rows.groups, ax=axes)
    assert drawn.unseen is not None
    say(f"chosen: beta {model.beta_:.4g}, for the squared loss and before gates are learned; fit may choose another")
    say("left out error: squared error of rows left out, over the variance of the target; 1 is that of always the mean")
    return {"beta": drawn.betas, "left_out_error": drawn.unseen}


def _walked(
    asked: PathAsked, rows: Rows, test: Rows | None, task: str, axes: Any
) -> tuple[int | None, dict[str, Array]]:
    """Return the path of a convex program, and the mean squared loss of rows that it has not seen.

    Before it stands the number of its betas if Ctrl-C ended it, else None.
    """
    from clifford_rand_nn.displays.path import RegularizationPathDisplay

    X, y, weights = rows.X, rows.y, rows.weights
    if test is None:
        held = make_folds(X, y, None, classes=task == "classification", count=5, only=1).held[0]
        kept = np.setdiff1d(np.arange(len(y)), held)
        judged, truth = X[held], y[held]
        X, y, weights = X[kept], y[kept], None if weights is None else weights[kept]
        say(f"judged on {len(held)} rows that are held out")
    else:
        judged, truth = test.X, test.y
    if weights is not None:
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
    targets, others = _targets(y, truth, task)
    path = _path(asked, X, targets, weights)
    drawn = RegularizationPathDisplay.from_path(path, judged, others, ax=axes)
    assert drawn.unseen is not None
    interrupted = path.status is Status.INTERRUPTED
    if path.message and not interrupted:
        complain("warning", f"{path.message}.")
    columns: dict[str, Array] = {
        "beta": path.betas,
        "neurons": path.n_neurons.astype(np.float64),
        "objective": path.objectives,
        "bound": path.bounds,
        "relative_gap": path.relative_gaps,
        "unseen_loss": drawn.unseen,
    }
    if task == "classification":
        out = path.predict(judged)
        labels = np.unique(y)
        guess = labels[(out > 0).astype(int)] if out.ndim == 2 else labels[out.argmax(axis=2)]
        columns["unseen_accuracy"] = np.mean(guess == truth, axis=1)
    return len(path) if interrupted else None, columns


def _targets(y: NDArray[Any], other: NDArray[Any], task: str) -> tuple[Array, Array]:
    """Return numbers as they are, classes as -1 and 1, a column each if there are several."""
    if task == "regression":
        return y.astype(np.float64), other.astype(np.float64)
    labels = np.unique(y)
    if not np.isin(other, labels).all():
        unknown = sorted(set(other.tolist()) - set(labels.tolist()))
        raise fail("--test", "clifford-rand path", "of the classes that were trained on", unknown)
    found = [encode_labels(np.searchsorted(labels, one), len(labels), "squared")[0] for one in (y, other)]
    return found[0], found[1]


def _path(asked: PathAsked, X: Array, targets: Array, weights: Array | None) -> RegularizationPath:
    shared: dict[str, Any] = {"n_betas": asked.n_betas, "sample_weight": weights, "tol": 1e-4}
    shared["max_time"] = check_positive(asked.max_time, "--max-time", "clifford-rand path", "These are seconds.")
    y = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    if asked.model == "lasso":
        return lasso_path(X, y, subsample=asked.subsample, rng=asked.seed, **shared)
    gates = sample_gates(X, asked.n_gates, rng=asked.seed)
    if asked.model == "relu":
        return relu_path(X, y, gates, **shared)
    return gated_path(X, y, gates, **shared)


def _show(columns: dict[str, Array]) -> None:
    n = len(columns["beta"])
    some = np.unique(np.linspace(0, n - 1, min(n, _SHOWN)).astype(int))
    rows = [tuple(_cell(values[i]) for values in columns.values()) for i in some]
    names = [name.replace("_", " ") for name in columns]
    show_table(f"path of {n} values of beta", names, rows)


def _cell(value: Any) -> str:
    return f"{value:.4g}"
