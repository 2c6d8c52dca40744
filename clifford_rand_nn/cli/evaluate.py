"""``clifford-rand evaluate``: scores of a model on a table with its target, beside the majority or the mean."""

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_number
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import print_json, refused_data, say, show_pairs, show_table
from clifford_rand_nn.cli.models import Answers, LoadedModel, answer, read_model
from clifford_rand_nn.cli.rows import Reading, read_other
from clifford_rand_nn.reporting.baselines import simplest
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.scores import Scores, confusion, score_classes, score_numbers
from clifford_rand_nn.tables import default_target

_MOST_CLASSES = 30  # of a confusion matrix that is printed
_NAMED = 5  # labels in a sentence


def run_evaluate(
    path: Path,
    table: Path,
    target: str | None,
    weights: str | None,
    coverage: float,
    dialect: Mapping[str, Any],
    as_json: bool,
) -> None:
    """Read, predict, score and say."""
    check_number(coverage, "--coverage", "clifford-rand evaluate", "between 0 and 1", lambda c: 0 < c < 1)
    loaded = read_model(path)
    if target is None:
        target = default_target(table, **dialect)
        if not as_json:
            say(f"target: {target}; else give --target")
    rows = read_other(table, Reading(target, weights, dialect=dialect), loaded.encoder, loaded.names)
    _check_target(loaded, rows)
    with refused_data(str(table)):
        X = rows.X if loaded.front is None else loaded.front.transform(rows.X)
        found = answer(loaded.model, X, coverage)
    if loaded.is_classifier:
        labels = _labels_like(rows.y, loaded.model.classes_)
        rows = dataclasses.replace(rows, y=labels)
        _check_classes(rows, loaded.model.classes_)
        model = score_classes(rows.y, found.predicted, loaded.model.classes_, found.probabilities, rows.weights)
    else:
        model = score_numbers(rows.y.astype(np.float64), found.predicted, rows.weights, found.interval)
    least = _least(rows, loaded.is_classifier)
    if as_json:
        _print_json(path, rows, loaded, model, least, found, coverage)
    else:
        _print_words(rows, loaded, model, least, found, coverage)


def _least(rows: Rows, classes: bool) -> Scores:
    given = {} if rows.weights is None else {"sample_weight": rows.weights}
    fitted = simplest(classes).fit(rows.X, rows.y, **given)
    guess = fitted.predict(rows.X)
    if not classes:
        return score_numbers(rows.y.astype(np.float64), guess, rows.weights)
    return score_classes(rows.y, guess, fitted.classes_, fitted.predict_proba(rows.X), rows.weights)


def _check_target(loaded: LoadedModel, rows: Rows) -> None:
    if not loaded.is_classifier and rows.y.dtype.kind not in "biuf":
        raise ArgumentError(f"{rows.path}: the target {rows.target!r} holds text, the model predicts numbers.")


def _check_classes(rows: Rows, classes: NDArray[Any]) -> None:
    """Refuse a target without any class of the model: it is another column, or written otherwise."""
    if not np.isin(rows.y, classes).any():
        there = [str(label) for label in np.unique(rows.y)]
        known = some_of([str(label) for label in classes], _NAMED)
        raise ArgumentError(
            f"{rows.path}: the target {rows.target!r} has no class of the model, which knows {known}; it has "
            f"{some_of(there, _NAMED)}. Name the column with the truth by --target."
        )


def _labels_like(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as those of the model: 1.0 is 1 where a column was read in another way."""
    if y.dtype.kind == classes.dtype.kind or {y.dtype.kind, classes.dtype.kind} <= set("biuf"):
        return y
    return y.astype(str) if classes.dtype.kind == "U" else y


def _confused(rows: Rows, found: Answers, classes: NDArray[Any]) -> tuple[list[str], NDArray[np.intp]]:
    labels = classes if np.isin(rows.y, classes).all() else np.array(sorted({*classes.tolist(), *rows.y.tolist()}))
    return [str(label) for label in labels], confusion(rows.y, found.predicted, labels)


def _print_words(
    rows: Rows, loaded: LoadedModel, model: Scores, least: Scores, found: Answers, coverage: float
) -> None:
    weighted = "" if rows.weights is None else ", weighted"
    left = "".join(f"; {count} left out: {reason}" for count, reason in rows.reasons)
    show_pairs([("rows", f"{len(rows.y)}{weighted}{left}")])
    say()
    names = {
        "accuracy": "accuracy",
        "balanced_accuracy": "balanced accuracy",
        "log_loss": "log-loss",
        "brier": "Brier score",
        "calibration_error": "calibration error",
        "r2": "R²",
        "rmse": "RMSE",
        "mae": "mean absolute error",
        "coverage": f"in {coverage:.0%} intervals",
    }
    guess = "majority of this table" if loaded.is_classifier else "mean of this table"
    lines = []
    for key, words in names.items():
        value = getattr(model, key)
        if value is not None:
            other = getattr(least, key)
            lines.append((words, f"{value:.5g}", "" if other is None else f"{other:.5g}"))
    show_table(f"scores on {rows.path}", ("", "this model", guess), lines)
    if not loaded.is_classifier:
        return
    labels, counts = _confused(rows, found, loaded.model.classes_)
    unknown = sorted(set(rows.y.tolist()) - set(loaded.model.classes_.tolist()))
    if unknown:
        say(
            f"classes that the model does not know count as wrong: {some_of([str(label) for label in unknown], _NAMED)}"
        )
    say()
    if len(labels) > _MOST_CLASSES:
        say(f"confusion matrix: {len(labels)} classes, see --json")
        return
    table = [(label, *(str(count) for count in row)) for label, row in zip(labels, counts, strict=True)]
    show_table("rows of a class (down) that were predicted as (across)", ("", *labels), table)


def _print_json(
    path: Path, rows: Rows, loaded: LoadedModel, model: Scores, least: Scores, found: Answers, coverage: float
) -> None:
    said: dict[str, Any] = {
        "model_file": str(path),
        "path": rows.path,
        "target": rows.target,
        "rows": len(rows.y),
        "rows_left_out": [list(one) for one in rows.reasons],
        "model": dataclasses.asdict(model),
        "simplest": dataclasses.asdict(least),
    }
    if loaded.is_classifier:
        labels, counts = _confused(rows, found, loaded.model.classes_)
        said |= {"classes": labels, "confusion": counts.tolist()}
    else:
        said["interval_coverage"] = coverage
    print_json(said)
