"""``clifford-rand info`` and ``evaluate``: a model file, the facts of a fit, and scores on a table or shards."""

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_number
from clifford_rand._files import read_npz
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
from clifford_rand_nn.displays.facts import Comparison, Facts, Rows
from clifford_rand_nn.displays.figures import leaderboard_table, score_table
from clifford_rand_nn.displays.selection import Choice, choices, describe_model, loo_line, proof_dict
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.model_file import damage_as_error, load_model
from clifford_rand_nn.scores import confusion, score_classes, score_numbers
from clifford_rand_nn.shard_scores import Evaluation, evaluate_shards
from clifford_rand_nn.tables.column_types import KINDS

_SHOWN = 12  # names in one line
_NAMED = 8  # columns of a kind, and classes, that are named
_MOST_CLASSES = 30  # of a confusion matrix that is printed
_MOST_LABELS = 5  # labels in a sentence


def run_info(path: Path, as_json: bool) -> None:
    """Read and print."""
    loaded = read_model(path)
    arrays, _ = read_npz(path, ("meta",), what="this model file", stored=True)
    meta = json.loads(arrays["meta"].tobytes().decode(), parse_constant=float)
    with damage_as_error(str(path)):  # numbers that no prediction needs may be damaged
        plain, pairs, chosen = _plain(path, loaded, meta), _pairs(path, loaded, meta), choices(loaded.model)
    if as_json:
        print_json(plain)
        return
    show_pairs(pairs)
    if loaded.encoder is not None:
        show_kinds(loaded.encoder.columns_)
    show_choices(chosen)


def _pairs(path: Path, loaded: LoadedModel, meta: dict[str, Any]) -> list[tuple[str, str]]:
    model = loaded.model
    size = path.stat().st_size
    rows = [
        ("file", f"{path}, {size / 1e6:.3g} MB, format {meta['version']}, written by clifford-rand {meta['library']}"),
        ("model", describe_model(model)),
    ]
    if "saved" in meta:  # older files do not have it
        versions = ", ".join(f"{name} {number}" for name, number in meta["libraries"].items())
        rows.append(("fitted to", f"{meta['n_rows']:,} rows; saved {meta['saved']}, with {versions}"))
    rows.append(("training rows", held_rows(model)))
    if loaded.prefix is not None:
        rows.append(("steps before it", ", ".join(type(step).__name__ for _, step in loaded.prefix.steps)))
    if loaded.encoder is None:
        names = loaded.names
        shown = "without names" if names is None else some_of(names, _SHOWN)
        rows.append(("columns", f"{loaded.n_columns} of numbers: {shown}"))
    else:
        rows.append(("columns", f"{len(loaded.needed or ())} used, encoded as {model.n_features_in_} numbers"))
    return rows + model_pairs(model, _SHOWN)


def model_pairs(model: Any, most_classes: int) -> list[tuple[str, str]]:
    """Return the classes of a model, its out-of-sample score, beta and certificate."""
    labels = [str(label) for label in getattr(model, "classes_", ())]
    classes = [("classes", f"{len(labels)}: {some_of(labels, most_classes)}")] if labels else []
    return [*classes, *loo_line(model), ("beta", f"{model.beta_:.3g}"), ("certificate", model.certificate_.sentence)]


def _plain(path: Path, loaded: LoadedModel, meta: dict[str, Any]) -> dict[str, Any]:
    model = loaded.model
    columns = [] if loaded.encoder is None else [dataclasses.asdict(column) for column in loaded.encoder.columns_]
    plain = bool | int | float | str | None
    parameters = {name: value for name, value in model.get_params().items() if isinstance(value, plain)}
    return {
        "model_file": str(path),
        "bytes": path.stat().st_size,
        "format": meta["version"],
        "library": f"clifford-rand {meta['library']}",
        "libraries": meta.get("libraries"),
        "saved": meta.get("saved"),
        "n_rows": meta.get("n_rows"),
        "holds_rows": isinstance(model.network_, KernelNetwork),
        "description": describe_model(model),
        "estimator": type(model).__name__,
        "parameters": parameters,
        "columns": columns,
        "feature_names": None if loaded.names is None else list(loaded.names),
        "n_features": int(model.n_features_in_),
        "classes": model.classes_.tolist() if loaded.is_classifier else None,
        "loo_score": getattr(model, "loo_score_", None),
        "selected": [dataclasses.asdict(choice) for choice in choices(model)],
        "proof": proof_dict(model),
    }


def held_rows(model: Any) -> str:
    """Return whether training rows are in a model file: a kernel network is a sum over them."""
    if not isinstance(model.network_, KernelNetwork):
        return "not in the file"
    return f"{len(model.network_.rows):,} unique ones are in the file, as encoded: they are part of the model"


def show_facts(facts: Facts) -> None:
    """Print the facts of a fit on stdout, without the warnings."""
    show_pairs([*_data(facts), ("model", facts.description), *facts.details])
    if facts.columns:
        show_kinds(facts.columns)
    if facts.left_out is not None:
        say()
        linear_how = facts.left_out.linear_method
        how = facts.left_out.method + (f"; {facts.linear}: {linear_how}" if linear_how else "")
        _show_comparison(facts.left_out, facts, f"out-of-sample scores on the training set: {how}")
        show_table("leaderboard", *leaderboard_table(facts.left_out, facts.measure))
        if facts.selected:
            say("these rows also selected the parameters below, so scores on new rows may be a little lower")
    if facts.intervals is not None:
        show_pairs([("intervals", facts.intervals)])
    if facts.test is not None:
        say()
        seen = ", some of them equal to training rows" if facts.test_was_seen else ""
        _show_comparison(facts.test, facts, f"scores on the test set, {facts.test.method}{seen}")
        if facts.test.leaderboard:
            show_table("leaderboard on the test set", *leaderboard_table(facts.test, facts.measure))
    show_choices(facts.selected)
    say()
    show_pairs(_training(facts))


def show_kinds(columns: Sequence[Any]) -> None:
    """Print the kinds of columns: a line a kind, and a line for each that is left out."""
    rows = []
    for kind in KINDS:
        of_kind = [column for column in columns if column.kind == kind]
        if kind == "dropped":
            rows += [(kind, "1", f"{column.name}: {column.reason}") for column in of_kind[:_NAMED]]
            rows += [(kind, str(len(of_kind) - _NAMED), "…")] if len(of_kind) > _NAMED else []
        elif of_kind:
            names = some_of(
                [column.name + (" (as asked)" if column.is_user_specified else "") for column in of_kind], _NAMED
            )
            empty = sum(column.n_missing for column in of_kind)
            rows.append((kind, str(len(of_kind)), names + (f"; {empty} empty cells" if empty else "")))
    say()
    show_table("kinds of columns", ("kind", "count", "columns"), rows, ("columns",))


def show_choices(choices: Sequence[Choice]) -> None:
    """Print the parameters that were selected from the data, if there are any."""
    if choices:
        say()
        say("selected from the data", "bold")
        show_pairs(
            [(choice.name, f"{choice.value}; among {choice.candidates}; by {choice.method}") for choice in choices]
        )


def _show_comparison(comparison: Comparison, facts: Facts, title: str) -> None:
    """Print the scores of the model beside those of the simplest model and the linear model."""
    show_table(title, *score_table(comparison.models(facts.linear)))
    if comparison.difference is not None and comparison.std_error is not None:
        side = "higher" if comparison.difference >= 0 else "lower"
        within = ", within noise" if comparison.verdict == "within noise" else ""
        size = f"{abs(comparison.difference):.4f} ± {comparison.std_error:.4f} (standard error){within}"
        say(f"{facts.measure} {side} than that of {facts.linear} by {size}")


def _data(facts: Facts) -> list[tuple[str, str]]:
    left_out = [f"{count} left out: {reason}" for count, reason in facts.rows_left_out]
    zero = facts.n_rows_read - sum(count for count, _ in facts.rows_left_out) - facts.n_rows
    left_out += [f"{zero} of weight zero left out"] if zero else []
    weights = [] if facts.weights is None else ["weights from {:g} to {:g}".format(*facts.weights)]
    groups = [] if facts.n_groups is None else [f"in {facts.n_groups} groups"]
    pairs = [("rows", "; ".join([f"{facts.n_rows} used", *weights, *groups, *left_out]))]
    if facts.columns:
        n_left_out = len(facts.columns) - facts.columns_used
        used = f"{facts.columns_used} used, encoded as {facts.n_features} numbers"
        pairs.append(("columns", used + (f"; {n_left_out} left out" if n_left_out else "")))
    else:
        pairs.append(("columns", f"{facts.n_features}, all numbers"))
    if facts.classes is not None:
        shown = ", ".join(f"{label} ({count} rows)" for label, count in facts.classes[:_NAMED])
        more = ", …" if len(facts.classes) > _NAMED else ""
        pairs.append(("classes", f"{len(facts.classes)}: {shown}{more}"))
    return pairs


def _training(facts: Facts) -> list[tuple[str, str]]:
    return [
        ("certificate", facts.proof.sentence),
        ("objective", f"{facts.proof.objective:.8g}, proved to be at least {facts.proof.lower_bound:.8g}"),
        ("training score", f"{facts.measure} {facts.train.main:.4f} on the training set: no measure of quality"),
        ("solver", facts.solver),
        ("seconds", f"{facts.seconds:.2f}"),
    ]


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
        there = some_of([str(label) for label in np.unique(y)], _MOST_LABELS)
        raise ArgumentError(
            f"{rows.path}: the target {rows.target!r} has no class of the model, which has "
            f"{some_of([str(label) for label in classes], _MOST_LABELS)}; it has {there}. Give the column by --target."
        )
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
