"""``clifford-rand fit``: a table or shards in, a trained and certified network out."""

import copy
import re
import sys
import time
import warnings
from dataclasses import asdict, fields
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from clifford_rand._checks import fail, quantity
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._progress import phase, reporting
from clifford_rand_nn.cli.console import INTERRUPTED, check_out, complain, print_json, refused_data, say, show_pairs
from clifford_rand_nn.cli.estimators import check_options, make_estimator
from clifford_rand_nn.cli.evaluate import evaluation_dict, show_evaluation
from clifford_rand_nn.cli.fit_options import ColumnKinds, FiniteModel, FitData, FitOutput, ModelChoice, given_options
from clifford_rand_nn.cli.info import model_pairs, show_facts
from clifford_rand_nn.cli.options import TableFormat, option_error
from clifford_rand_nn.cli.tables import (
    Reading,
    choose_target,
    new_shards,
    read_other,
    read_training,
    some_targets,
    training_shards,
)
from clifford_rand_nn.displays.collect import collect_facts
from clifford_rand_nn.displays.facts import Rows
from clifford_rand_nn.displays.page import check_libraries, write_report
from clifford_rand_nn.displays.selection import describe_model, proof_dict, solver_text
from clifford_rand_nn.estimators.lasso import CrossProductLasso
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.gates.subsets import count_subsets
from clifford_rand_nn.model_file import save_model
from clifford_rand_nn.shard_scores import evaluate_shards
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.tables import TableEncoder, choose_task

_MANY_COLUMNS = 10**7  # a core prices some 10^6 columns of 100 rows a second, and a fit prices them tens of times


def run_fit(
    ctx: typer.Context,
    data: FitData,
    output: FitOutput,
    kinds: ColumnKinds,
    table_format: TableFormat,
    choice: ModelChoice,
    finite: FiniteModel,
) -> None:
    """Read, fit, save, score and report.

    An interrupt ends the fit: the best network so far is saved and reported as ever, and the exit code is 130.
    """
    assert data.train is not None
    explicit = given_options(ctx)
    for option in ("checkpoint", "plan"):
        if option in explicit:
            raise option_error(option, "It is for a fit to --shards.")
    check_options(choice, finite, explicit)
    if output.out is not None:  # before the work, not after it
        check_out(output.out, output.force, (".npz",), "the model")
    if output.report is not None:
        check_out(output.report, output.force, (".html", ".htm"), "the report")
        check_libraries()
    target = choose_target(data.train, data.target, table_format, output.prints_text)
    if data.target is None and target in (data.weights, data.groups, data.order):
        raise ArgumentError(f"{data.train}: the last column, {target!r}, is not a target here; give --target.")
    reading = Reading(target, data.weights, data.groups, table_format.keywords, kinds.keywords, data.order)
    with reporting(output.prints_text, brief=True):
        phase(f"reading {data.train}")
        rows, encoder = read_training(data.train, reading)
        test = None if data.test is None else read_other(data.test, reading, encoder, rows.names)
    task, why = (choice.task.value, "as asked") if choice.task.value != "auto" else choose_task(rows.y)
    if task == "regression" and rows.y.dtype.kind not in "biuf":
        fault = f"the target {target!r} holds text, not numbers; leave out --task regression"
        raise ArgumentError(f"{data.train}: {fault}.")
    if output.prints_text:
        say(f"{task}: {why}")
    model = make_estimator(task, choice, finite, verbose=int(output.prints_text))
    _note_many_columns(model, *rows.X.shape)
    beside = {name: value for name in ("groups", "order") if (value := getattr(rows, name)) is not None}
    shown = reporting(output.prints_text, choice.max_time, brief=True)
    with refused_data(str(data.train)), shown:
        seconds = _fit(model, rows.X, rows.y, sample_weight=rows.weights, **beside)
    if output.out is not None:
        _save(output.out, model, encoder, rows)  # before anything else can go wrong
    compare = output.compare and not (output.quiet and output.report is None) and not _interrupted(model)
    silent = copy.copy(model).set_params(verbose=0)
    with refused_data(str(data.test or data.train)), reporting(output.prints_text, brief=True):
        phase("scoring and comparing" if compare else "scoring")
        described = output.as_json or output.report is not None
        facts = collect_facts(silent, rows, why=why, test=test, seconds=seconds, compare=compare, describe=described)
    if output.as_json:
        files = {"model_file": output.out, "report_file": output.report}
        names = {key: None if file is None else str(file) for key, file in files.items()}
        print_json(facts.as_dict() | names)
    elif output.prints_text:
        show_facts(facts)
    for warning in facts.warnings:
        complain("warning", warning.text)
    if output.report is not None:
        drawing = write_report(output.report, facts, silent, rows)
        if output.prints_text:
            say(f"report written to {output.report}, in {drawing:.1f} s")
    report_end(model, seconds, output)


def _interrupted(model: Any) -> bool:
    return bool(model.result_.interrupted)


def report_end(model: Any, seconds: float, output: FitOutput) -> None:
    """Print where the model was written, and whether the solver ended before the optimum."""
    written = "model not written; give --out" if output.out is None else f"model written to {output.out}"
    gap, by_shards = model.certificate_.relative_gap, isinstance(model.certificate_, ShardCertificate)
    result, tolerance = model.result_, ""
    is_early = not result.converged
    if isinstance(model, BaseConvexNetwork):
        is_early = result.status.ends_all or (by_shards and is_early)
    else:
        tolerance = f", --tol is {model._tolerance(by_shards):.1e}"
    if result.interrupted:
        reached = f"relative gap {gap:.1e}{tolerance}"
        complain("interrupted", f"this is the best network after {seconds:.1f} s ({reached}); {written}")
        raise typer.Exit(INTERRUPTED)
    if is_early:
        complain("warning", f"not converged: {_as_options(result.message)}.")
    if output.prints_text:
        say(written)


def _as_options(message: str) -> str:
    """Name the options where a message advises on parameters and solvers."""
    message = re.sub(r"\b(beta|max_time|max_iter|tol)\b", lambda name: "--" + name[0].replace("_", "-"), message)
    return re.sub(r"\bFista\b", "--solver fista", message)


def _fit(model: Any, *rows: Any, checkpoint: Path | None = None, **beside: Any) -> float:
    """Fit, and return the seconds that it took."""
    began = time.perf_counter()
    beside |= {} if checkpoint is None else {"checkpoint": checkpoint}
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # `report_end` reports it
            model.fit(*rows, **beside)
    except KeyboardInterrupt as interrupt:  # solvers return the best point so far: there was none
        resumed = f" The same command resumes from {checkpoint}, if it is there." if checkpoint else ""
        raise KeyboardInterrupt(f"there is no network yet, so nothing was written.{resumed}") from interrupt
    return time.perf_counter() - began


def _save(out: Any, model: Any, encoder: TableEncoder | None, rows: Rows) -> None:
    saved = copy.copy(model).set_params(verbose=0)
    if encoder is not None:
        save_model(Pipeline([("table", encoder), ("model", saved)]), out)
        return
    if rows.names:
        saved.feature_names_in_ = np.array(rows.names, dtype=object)
    save_model(saved, out)


def _note_many_columns(model: Any, n: int, d: int) -> None:
    """Print before the fit that a dictionary is so large that it may take minutes or years."""
    if isinstance(model, CrossProductLasso) and model.subsample is None:
        kind = "rows" if model.penalty == "l2" else "mixed"
        columns = 2 * count_subsets(n, d + (model._bias == "penalized"), kind, model._free_bias)
        if columns > _MANY_COLUMNS:
            size = f"{float(columns):.1e}" if columns < sys.float_info.max else "more than 1e308"
            complain("note", f"the dictionary has {size} columns; --subsample draws some of them, and is faster")


_OWNER = "clifford-rand fit --shards"
_FOR_TABLES = (  # options of tables and of models that need all rows at once
    *("groups", "order", "report", "compare", "n_neurons", "n_refinements", "subsample"),
    *(entry.name for record in (ColumnKinds, TableFormat) for entry in fields(record)),
)
_CLASSES = 8  # that are named


def run_fit_shards(
    ctx: typer.Context, data: FitData, output: FitOutput, choice: ModelChoice, finite: FiniteModel
) -> None:
    """Open, fit, save, score and report.

    An interrupt ends the fit: the best network so far is saved, and the exit code is 130.
    """
    assert data.shards is not None
    _check_shards(choice, finite, given_options(ctx))
    if output.out is not None:  # before the work, not after it
        check_out(output.out, output.force, (".npz",), "the model")
    if data.checkpoint is not None and not data.checkpoint.absolute().parent.is_dir():
        raise ArgumentError(f"{data.checkpoint}: there is no folder {data.checkpoint.absolute().parent}.")
    shards = training_shards(data.shards, data.target, data.weights)
    test = None if data.test is None else new_shards(data.test, data.target, shards)  # wrong ones before the work
    task, why = (choice.task.value, "as asked") if choice.task.value != "auto" else choose_task(some_targets(shards))
    if output.prints_text:
        say(f"{task}: {why}")
        size = shards.n_rows * shards.n_features * shards.dtype.itemsize
        stored = f"{len(shards.shards)} shards, {quantity(size)} of {shards.dtype}"
        say(f"{shards.n_rows:,} rows × {shards.n_features:,} columns in {stored}")
    model = make_estimator(task, choice, finite, int(output.prints_text))
    if data.plan:
        plan = model.set_params(verbose=0).plan(shards)
        print_json(asdict(plan)) if output.as_json else say(str(plan))
        return
    with refused_data(str(data.shards)), reporting(output.prints_text, choice.max_time, brief=True):
        seconds = _fit(model, shards, checkpoint=data.checkpoint)
    if output.out is not None:
        save_model(copy.copy(model).set_params(verbose=0), output.out)
    if output.prints_text:
        pairs = [("model", describe_model(model)), *model_pairs(model, _CLASSES)]
        show_pairs([*pairs, ("solver", solver_text(model)), ("seconds", f"{seconds:.2f}")])
    evaluation = None if test is None else evaluate_shards(model, test)
    if output.as_json:
        record = {"shards": str(data.shards), "task": task, "reason": why, "seconds": seconds}
        record |= _shards_record(shards, model) | {"model_file": None if output.out is None else str(output.out)}
        record["test"] = None if evaluation is None else {"shards": str(data.test), **evaluation_dict(evaluation)}
        print_json(record)
    elif output.prints_text and evaluation is not None:
        say()
        show_evaluation(evaluation, f"scores on the test set, {evaluation.scores.n_rows:,} rows of {data.test}")
    elif output.prints_text and not hasattr(model, "loo_score_"):
        complain("note", "there is no estimate for new rows; --test FOLDER scores other shards, as evaluate does")
    report_end(model, seconds, output)


def _check_shards(choice: ModelChoice, finite: FiniteModel, explicit: dict[str, Any]) -> None:
    if choice.model.value not in ("network", "gated"):
        raise fail("--model", _OWNER, "network or gated", choice.model.value, "Others need all rows in memory.")
    for name in _FOR_TABLES:
        if name in explicit:
            option = "--no-compare" if name == "compare" else "--" + name.replace("_", "-")
            raise fail(option, _OWNER, "left out", explicit[name], "It is for tables in memory.")
    check_options(choice, finite, explicit)


def _shards_record(shards: Shards, model: Any) -> dict[str, Any]:
    return {
        "n_rows": shards.n_rows,
        "n_features": shards.n_features,
        "dtype": str(shards.dtype),
        "description": describe_model(model),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "loo_score": getattr(model, "loo_score_", None),
        "proof": proof_dict(model),
        "solver": solver_text(model),
    }
