"""``clifford-rand evaluate --shards``: scores of a model on shards, beside the majority or the mean."""

import dataclasses
from pathlib import Path
from typing import Any

from clifford_rand_nn.cli.console import print_json, say, show_table
from clifford_rand_nn.cli.shards import model_shards
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.streaming.evaluate import Evaluation, evaluate_shards

_NAMES = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced accuracy",
    "log_loss": "log-loss",
    "brier": "Brier score",
    "r2": "R²",
    "rmse": "RMSE",
    "mae": "mean absolute error",
}
_MOST_CLASSES = 30  # of a confusion matrix that is printed


def run_evaluate_shards(path: Path, folder: Path, target: str | None, weights: str | None, as_json: bool) -> None:
    """Read, predict, score and say."""
    model = load_model(path)
    found = evaluate_shards(model, model_shards(model, folder, target, weights))
    if as_json:
        said = {"model_file": str(path), "path": str(folder), "target": target, **plain_evaluation(found)}
        print_json(said)
        return
    show_evaluation(found, f"on {found.scores.n:,} rows of {folder}")


def plain_evaluation(found: Evaluation) -> dict[str, Any]:
    """Return scores as plain values."""
    said: dict[str, Any] = {
        "rows": found.scores.n,
        "model": dataclasses.asdict(found.scores),
        "simplest": dataclasses.asdict(found.simplest),
        "mse": found.mse,
    }
    if found.classes is not None and found.confusion is not None:
        said |= {"classes": [str(label) for label in found.classes], "confusion": found.confusion.tolist()}
        said["unknown"] = found.unknown
    return said


def show_evaluation(found: Evaluation, where: str) -> None:
    """Print scores as tables."""
    guess = "mean of these rows" if found.classes is None else "majority of these rows"
    lines = []
    for key, words in _NAMES.items():
        value, other = getattr(found.scores, key), getattr(found.simplest, key)
        if value is not None:
            lines.append((words, f"{value:.5g}", "" if other is None else f"{other:.5g}"))
    show_table(f"scores {where}", ("", "this model", guess), lines)
    if found.classes is None or found.confusion is None:
        return
    if found.unknown:
        say(f"{found.unknown:,} rows of classes that the model does not know count as wrong")
    say()
    labels = [str(label) for label in found.classes]
    if len(labels) > _MOST_CLASSES:
        say(f"confusion matrix: {len(labels)} classes, see --json")
        return
    table = [(label, *(str(count) for count in row)) for label, row in zip(labels, found.confusion, strict=True)]
    show_table("rows of a class (down) that were predicted as (across)", ("", *labels), table)
