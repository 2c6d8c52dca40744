"""``clifford-rand fit --shards``: data beyond memory in, a trained and certified network out."""

import copy
import time
import warnings
from dataclasses import asdict
from typing import Any

import typer
from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import fail, quantity
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import check_out, complain, print_json, refused_data, say, show_pairs
from clifford_rand_nn.cli.estimators import check_options, make_estimator
from clifford_rand_nn.cli.evaluate import evaluation_dict, show_evaluation
from clifford_rand_nn.cli.fit import report_end
from clifford_rand_nn.cli.fit_options import FiniteModel, FitData, FitOutput, ModelChoice, given_options
from clifford_rand_nn.cli.shards import ShownEngine, new_shards, some_targets, training_shards
from clifford_rand_nn.estimators.network.base import BaseConvexNetwork
from clifford_rand_nn.model_file import save_model
from clifford_rand_nn.reporting.selection import describe_model, loo_line, proof_dict, prove, solver_text
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.streaming.evaluate import evaluate_shards
from clifford_rand_nn.tables import choose_task

_OWNER = "clifford-rand fit --shards"
_FOR_TABLES = (  # options of tables and of models that need all rows at once
    *("groups", "report", "categorical", "numeric", "date", "text", "drop", "separator", "decimal"),
    *("missing", "encoding", "no_header", "compare", "neurons", "refine", "subsample"),
)
_CLASSES = 8  # that are named


def run_fit_shards(
    ctx: typer.Context, data: FitData, output: FitOutput, choice: ModelChoice, finite: FiniteModel
) -> None:
    """Open, fit, save, score and report.

    An interrupt ends the fit: the best network so far is saved, and the exit code is 130.
    """
    assert data.shards is not None
    _check(choice, finite, given_options(ctx))
    if output.out is not None:  # before the work, not after it
        check_out(output.out, output.force, (".npz",), "the model")
    if data.checkpoint is not None and not data.checkpoint.absolute().parent.is_dir():
        raise ArgumentError(f"{data.checkpoint}: there is no folder {data.checkpoint.absolute().parent}.")
    shards = training_shards(data.shards, data.target, data.weights)
    test = None if data.test is None else new_shards(data.test, data.target, shards)  # wrong ones before the work
    task, why = (choice.task.value, "as asked") if choice.task.value != "auto" else choose_task(some_targets(shards))
    if output.prints_text:
        say(f"{task}: {why}")
        size = shards.n * shards.d * shards.dtype.itemsize
        stored = f"{len(shards.shards)} shards, {quantity(size)} of {shards.dtype}"
        say(f"{shards.n:,} rows × {shards.d:,} columns in {stored}")
    model = make_estimator(task, choice, finite, int(output.prints_text and choice.model.value == "gated"))
    if data.plan:
        plan = model.set_params(verbose=0).plan(shards)
        print_json(asdict(plan)) if output.as_json else say(str(plan))
        return
    began = time.perf_counter()
    with refused_data(str(data.shards)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # reported below
        _fit(model, shards, data, output.prints_text)
    seconds = time.perf_counter() - began
    if output.out is not None:
        save_model(output.out, copy.copy(model).set_params(verbose=0))
    if output.prints_text:
        show_pairs(_pairs(model, seconds))
    evaluation = None if test is None else evaluate_shards(model, test)
    if output.as_json:
        record = {"shards": str(data.shards), "task": task, "why": why, "seconds": seconds}
        record |= _record(shards, model) | {"model_file": None if output.out is None else str(output.out)}
        record["test"] = None if evaluation is None else {"path": str(data.test), **evaluation_dict(evaluation)}
        print_json(record)
    elif output.prints_text and evaluation is not None:
        say()
        show_evaluation(evaluation, f"scores on the test set, {evaluation.scores.n:,} rows of {data.test}")
    elif output.prints_text and not hasattr(model, "loo_score_"):
        complain("note", "there is no estimate for new rows; --test FOLDER scores other shards, as evaluate does")
    report_end(model, seconds, output)


def _check(choice: ModelChoice, finite: FiniteModel, explicit: dict[str, Any]) -> None:
    if choice.model.value not in ("network", "gated"):
        raise fail("--model", _OWNER, "network or gated", choice.model.value, "Others need all rows in memory.")
    for name in _FOR_TABLES:
        if name in explicit:
            option = "--no-compare" if name == "compare" else "--" + name.replace("_", "-")
            raise fail(option, _OWNER, "left out", explicit[name], "It is for tables in memory.")
    check_options(choice, finite, explicit)


def _fit(model: Any, shards: Shards, data: FitData, shows_passes: bool) -> None:
    try:
        engine = ShownEngine(shards) if shows_passes and isinstance(model, BaseConvexNetwork) else None
        model.fit(shards, engine=engine, checkpoint=data.checkpoint)
    except KeyboardInterrupt as interrupt:
        resumed = f" The same command resumes from {data.checkpoint}, if it is there." if data.checkpoint else ""
        raise KeyboardInterrupt(f"there is no network yet, so nothing was written.{resumed}") from interrupt


def _pairs(model: Any, seconds: float) -> list[tuple[str, str]]:
    rows = [("model", describe_model(model))]
    if hasattr(model, "classes_"):
        labels = [str(label) for label in model.classes_]
        rows.append(("classes", f"{len(labels)}: {some_of(labels, _CLASSES)}"))
    rows += [*loo_line(model), ("beta", f"{model.beta_:.3g}"), ("certificate", prove(model))]
    return [*rows, ("solver", solver_text(model)), ("seconds", f"{seconds:.2f}")]


def _record(shards: Shards, model: Any) -> dict[str, Any]:
    return {
        "rows": shards.n,
        "n_features": shards.d,
        "dtype": str(shards.dtype),
        "model": describe_model(model),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "left_out_score": getattr(model, "loo_score_", None),
        "proof": proof_dict(model),
        "solver": solver_text(model),
    }
