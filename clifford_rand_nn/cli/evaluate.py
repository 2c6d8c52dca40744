"""``clifford-rand evaluate``: scores of a model on a table or on shards, beside those of the majority or the mean."""

from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_number
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import print_json, refused_data, say, show_pairs, show_table
from clifford_rand_nn.cli.options import Scoring, TableFormat, check_source
from clifford_rand_nn.cli.tables import (
    LoadedModel,
    Reading,
    choose_target,
    model_shards,
    predictions,
    read_model,
    read_other,
)
from clifford_rand_nn.displays.baselines import fit_weighted, simplest
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.displays.figures import score_table
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.scores import confusion, score_classes, score_numbers
from clifford_rand_nn.shard_scores import Evaluation, evaluate_shards

_MOST_CLASSES = 30  # of a confusion matrix that is printed
_MOST_LABELS = 5  # labels in a sentence


def run_evaluate(
    path: Path, table: Path | None, shards: Path | None, scoring: Scoring, table_format: TableFormat, as_json: bool
) -> None:
    """Read, predict, score and report."""
    check_source(table, shards, "table")
    if shards is not None:
        table_format.refuse()
        model = load_model(path)
        evaluation = evaluate_shards(model, model_shards(model, shards, scoring.target, scoring.weights))
        if as_json:
            files = {"model_file": str(path), "shards": str(shards), "target": scoring.target}
            print_json(files | evaluation_dict(evaluation))
        else:
            show_evaluation(evaluation, f"scores on {evaluation.scores.n_rows:,} rows of {shards}")
        return
    assert table is not None
    check_number(scoring.coverage, "--coverage", "clifford-rand evaluate", "between 0 and 1", lambda c: 0 < c < 1)
    loaded = read_model(path)
    target = choose_target(table, scoring.target, table_format, not as_json)
    reading = Reading(target, scoring.weights, dialect=table_format.keywords)
    rows = read_other(table, reading, loaded.encoder, loaded.names)
    evaluation = _evaluate(loaded, rows, scoring.coverage)
    if as_json:
        record = {"model_file": str(path), "table": rows.path, "target": target, **evaluation_dict(evaluation)}
        record["rows_left_out"] = [list(reason) for reason in rows.reasons]
        record |= {} if loaded.is_classifier else {"interval_coverage": scoring.coverage}
        print_json(record)
        return
    weighted = "" if rows.weights is None else ", weighted"
    left_out = "".join(f"; {count} left out: {reason}" for count, reason in rows.reasons)
    show_pairs([("rows", f"{len(rows.y)}{weighted}{left_out}")])
    say()
    show_evaluation(evaluation, f"scores on {rows.path}", scoring.coverage)
    say("other models need the training set: clifford-rand fit TRAIN --test TABLE has a leaderboard of both tables")


def _evaluate(loaded: LoadedModel, rows: Rows, coverage: float) -> Evaluation:
    """Return the scores of a model on a table, and those of the majority class or the mean of the table."""
    if not loaded.is_classifier and rows.y.dtype.kind not in "biuf":
        raise ArgumentError(f"{rows.path}: the target {rows.target!r} holds text, the model predicts numbers.")
    with refused_data(rows.path):
        X = loaded.as_taken(rows.X)
        predicted = predictions(loaded.model, X, coverage)
    if not loaded.is_classifier:
        y = rows.y.astype(np.float64)
        guess = fit_weighted(simplest(False), replace(rows, y=y)).predict(rows.X)
        scores = score_numbers(y, predicted.labels, rows.weights, predicted.interval)
        return Evaluation(scores, score_numbers(y, guess, rows.weights))
    classes = loaded.model.classes_
    y = _labels_like(rows.y, classes)
    known = np.isin(y, classes)
    if not known.any():
        there, wanted = (some_of([str(label) for label in labels], _MOST_LABELS) for labels in (np.unique(y), classes))
        what = f"the target {rows.target!r} has no class of the model, which has {wanted}; it has {there}"
        raise ArgumentError(f"{rows.path}: {what}. Give the column by --target.")
    least = fit_weighted(simplest(True), replace(rows, y=y))
    labels = classes if known.all() else np.array(sorted({*classes.tolist(), *y.tolist()}))
    return Evaluation(
        score_classes(y, predicted.labels, classes, predicted.probabilities, rows.weights),
        score_classes(y, least.predict(rows.X), least.classes_, least.predict_proba(rows.X), rows.weights),
        classes=labels,
        confusion=confusion(y, predicted.labels, labels),
        n_unknown_labels=int(np.count_nonzero(~known)),
    )


def _labels_like(y: NDArray[Any], classes: NDArray[Any]) -> NDArray[Any]:
    """Return labels as those of the model: 1.0 is 1 where a column was read in another way."""
    if y.dtype.kind == classes.dtype.kind or {y.dtype.kind, classes.dtype.kind} <= set("biuf"):
        return y
    return y.astype(str) if classes.dtype.kind == "U" else y


def evaluation_dict(evaluation: Evaluation) -> dict[str, Any]:
    """Return scores as plain values."""
    record: dict[str, Any] = {
        "n_rows": evaluation.scores.n_rows,
        "scores": asdict(evaluation.scores),
        "baseline_scores": asdict(evaluation.baseline),
        "mse": evaluation.mse,
    }
    if evaluation.classes is None or evaluation.confusion is None:
        return record
    labels = [str(label) for label in evaluation.classes]
    counts = {"confusion": evaluation.confusion.tolist(), "n_unknown_labels": evaluation.n_unknown_labels}
    return record | {"classes": labels} | counts


def show_evaluation(evaluation: Evaluation, title: str, coverage: float = 0.9) -> None:
    """Print scores as tables."""
    guess = "mean of this data" if evaluation.classes is None else "majority of this data"
    models = {"this model": evaluation.scores, guess: evaluation.baseline}
    show_table(title, *score_table(models, coverage))
    if evaluation.classes is None or evaluation.confusion is None:
        return
    if evaluation.n_unknown_labels:
        say(f"{evaluation.n_unknown_labels:,} rows of classes that the model does not have count as wrong")
    say()
    labels = [str(label) for label in evaluation.classes]
    if len(labels) > _MOST_CLASSES:
        say(f"confusion matrix: {len(labels)} classes, see --json")
        return
    counts = [(label, *map(str, row)) for label, row in zip(labels, evaluation.confusion, strict=True)]
    show_table("confusion matrix: true class (rows), predicted class (columns)", ("", *labels), counts)
