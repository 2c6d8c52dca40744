"""``clifford-rand path``: regularization paths, by leave-one-out or of a convex program."""

import warnings
from typing import Any

import numpy as np
import typer
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import check_positive, fail
from clifford_rand._typing import Array
from clifford_rand.errors import require
from clifford_rand_nn.cli.console import INTERRUPTED, PICTURES, check_out, complain, refused_data, say, show_table
from clifford_rand_nn.cli.options import PathOptions, TableFormat
from clifford_rand_nn.cli.tables import Reading, choose_target, read_other, read_training
from clifford_rand_nn.displays.baselines import make_folds
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.estimators.network_classifier import ConvexNetworkClassifier
from clifford_rand_nn.estimators.network_regressor import ConvexNetworkRegressor
from clifford_rand_nn.gates.sampling import sample_gates
from clifford_rand_nn.problems.loss_registry import encode_labels
from clifford_rand_nn.regularization_path import RegularizationPath, gated_path
from clifford_rand_nn.relu_paths import lasso_path, relu_path
from clifford_rand_nn.solvers.base import Status
from clifford_rand_nn.solvers.stopping import raise_if_interrupted
from clifford_rand_nn.tables import choose_task
from clifford_rand_nn.tables.writers import written_columns

_SHOWN = 30  # betas of the table that is printed


def run_path(data: PathOptions, table_format: TableFormat) -> None:
    """Read, compute the path, and show it."""
    model = data.model.value
    for file, endings, what in ((data.out, (".csv",), "the path"), (data.picture, PICTURES, "the picture")):
        if file is not None:
            check_out(file, data.force, endings, what)
    if model == "network" and data.test is not None:
        hint = "Its curve is the leave-one-out error of all training rows; evaluate scores a model on another table."
        raise fail("--test", "clifford-rand path", "left out with --model network", str(data.test), hint)
    if model != "network" and data.groups is not None:
        raise fail("--groups", "clifford-rand path", f"left out with --model {model}", data.groups)
    target = choose_target(data.train, data.target, table_format, True)
    reading = Reading(target, data.weights, data.groups, table_format.keywords)
    rows, encoder = read_training(data.train, reading)
    task, why = choose_task(rows.y)
    say(f"{task}: {why}")
    require("matplotlib", extra="app", purpose="drawing a path")
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), layout="constrained")
    with refused_data(str(data.train)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        if model == "network":
            reached, columns = None, _leave_one_out(rows, task, figure.subplots())
        else:
            test = None if data.test is None else read_other(data.test, reading, encoder, rows.names)
            reached, columns = _held_out(data, rows, test, task, figure.subplots())
    _show(columns)
    if data.out is not None:
        with written_columns(data.out) as write:
            write(columns)
        say(f"path written to {data.out}")
    if data.picture is not None:
        from clifford_rand_nn.displays.style import save_figure

        save_figure(figure, data.picture)
        say(f"picture written to {data.picture}")
    if reached is not None:
        complain("interrupted", f"this is the path so far, {reached} of {data.n_betas} values of beta.")
        raise typer.Exit(INTERRUPTED)


def _leave_one_out(rows: Rows, task: str, axes: Any) -> dict[str, Array]:
    """Return the leave-one-out squared error over the variance, for every beta, without a learned metric."""
    from clifford_rand_nn.displays.path import RegularizationPathDisplay

    kind = ConvexNetworkClassifier if task == "classification" else ConvexNetworkRegressor
    options: dict[str, Any] = {"loss": "squared"} if task == "classification" else {}
    model = raise_if_interrupted(kind(max_metric_iter=0, **options).fit(rows.X, rows.y, rows.weights, rows.groups))
    drawn = RegularizationPathDisplay.from_estimator(model, rows.X, rows.y, rows.weights, rows.groups, ax=axes)
    assert drawn.scores is not None
    say(f"selected: beta {model.beta_:.4g}, for the squared loss without a learned metric; fit may select another")
    say("loo error: leave-one-out squared error over the variance of the target; that of the mean is 1")
    return {"beta": drawn.betas, "loo_error": drawn.scores}


def _held_out(
    choice: PathOptions, rows: Rows, test: Rows | None, task: str, axes: Any
) -> tuple[int | None, dict[str, Array]]:
    """Return the path of a convex program, with the mean squared loss of held-out rows or of the test set.

    The first value is the number of its betas if Ctrl-C ended it, else None.
    """
    from clifford_rand_nn.displays.path import RegularizationPathDisplay

    X, y, weights = rows.X, rows.y, rows.weights
    if test is None:
        held = make_folds(Rows(X, y), classes=task == "classification", count=5, only=1).held[0]
        fitted = np.setdiff1d(np.arange(len(y)), held)
        X_test, y_test = X[held], y[held]
        X, y, weights = X[fitted], y[fitted], None if weights is None else weights[fitted]
        say(f"scored on a validation set of {len(held)} rows")
    else:
        X_test, y_test = test.X, test.y
    if weights is not None:
        X, y, weights = X[weights > 0], y[weights > 0], weights[weights > 0]
    targets, test_targets = _targets(y, y_test, task)
    path = _path(choice, X, targets, weights)
    drawn = RegularizationPathDisplay.from_path(path, X_test, test_targets, ax=axes)
    assert drawn.scores is not None
    interrupted = path.status is Status.INTERRUPTED
    if path.message and not interrupted:
        complain("warning", f"{path.message}.")
    columns: dict[str, Array] = {
        "beta": path.betas,
        "neurons": path.n_neurons.astype(np.float64),
        "objective": path.objectives,
        "lower_bound": path.lower_bounds,
        "relative_gap": path.relative_gaps,
        "held_out_loss": drawn.scores,
    }
    if task == "classification":
        out = path.predict(X_test)
        labels = np.unique(y)
        guess = labels[(out > 0).astype(int)] if out.ndim == 2 else labels[out.argmax(axis=2)]
        columns["held_out_accuracy"] = np.mean(guess == y_test, axis=1)
    return len(path) if interrupted else None, columns


def _targets(y: NDArray[Any], y_test: NDArray[Any], task: str) -> tuple[Array, Array]:
    """Return numbers as they are, classes as -1 and 1, a column each if there are several."""
    if task == "regression":
        return y.astype(np.float64), y_test.astype(np.float64)
    labels = np.unique(y)
    if not np.isin(y_test, labels).all():
        unknown = sorted(set(y_test.tolist()) - set(labels.tolist()))
        raise fail("--test", "clifford-rand path", "of the classes that were trained on", unknown)
    train, test = (encode_labels(np.searchsorted(labels, c), len(labels), "squared")[0] for c in (y, y_test))
    return train, test


def _path(choice: PathOptions, X: Array, targets: Array, weights: Array | None) -> RegularizationPath:
    shared: dict[str, Any] = {"n_betas": choice.n_betas, "sample_weight": weights, "tol": 1e-4}
    shared["max_time"] = check_positive(choice.max_time, "--max-time", "clifford-rand path", "These are seconds.")
    y = targets[:, 0] if targets.ndim == 2 and targets.shape[1] == 1 else targets
    if choice.model.value == "lasso":
        return lasso_path(X, y, subsample=choice.subsample, random_state=choice.seed, **shared)
    gates = sample_gates(X, choice.n_gates, random_state=choice.seed)
    if choice.model.value == "relu":
        return relu_path(X, y, gates, **shared)
    return gated_path(X, y, gates, **shared)


def _show(columns: dict[str, Array]) -> None:
    n = len(columns["beta"])
    some = np.unique(np.linspace(0, n - 1, min(n, _SHOWN)).astype(int))
    rows = [tuple(f"{values[i]:.4g}" for values in columns.values()) for i in some]
    show_table(f"path of {n} values of beta", [name.replace("_", " ") for name in columns], rows)
