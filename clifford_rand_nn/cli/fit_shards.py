"""``clifford-rand fit --shards``: rows beyond memory in, a trained and certified network out."""

import copy
import time
import warnings
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from sklearn.exceptions import ConvergenceWarning

from clifford_rand._checks import fail, quantity
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import some_of
from clifford_rand_nn.cli.console import complain, print_json, refused_data, say, show_pairs
from clifford_rand_nn.cli.evaluate_shards import plain_evaluation, show_evaluation
from clifford_rand_nn.cli.fit import tell_end
from clifford_rand_nn.cli.options import check_options, make_model
from clifford_rand_nn.cli.outputs import check_out
from clifford_rand_nn.cli.progress import ShownEngine
from clifford_rand_nn.cli.shards import new_shards, some_targets, training_shards
from clifford_rand_nn.estimators.network.base import BaseConvexNetwork
from clifford_rand_nn.model_file import save_model
from clifford_rand_nn.reporting.selection import describe_model, prove
from clifford_rand_nn.shards.source import Shards
from clifford_rand_nn.streaming.evaluate import evaluate_shards
from clifford_rand_nn.tables import choose_task

_OWNER = "clifford-rand fit --shards"
_USELESS = (  # options of tables and of models that need all rows at once
    *("groups", "report", "categorical", "numeric", "date", "text", "drop", "separator", "decimal"),
    *("missing", "encoding", "no_header", "compare", "neurons", "refine", "subsample"),
)
_CLASSES = 8  # that are named


@dataclass(frozen=True, kw_only=True)
class AskedShards:
    """What a fit to shards was asked for beside the model."""

    shards: Path
    target: str | None
    weights: str | None
    test: Path | None
    checkpoint: Path | None
    plan: bool
    out: Path | None
    force: bool
    task: str
    as_json: bool
    quiet: bool

    @property
    def talks(self) -> bool:
        """Whether words are printed on stdout."""
        return not (self.quiet or self.as_json)


def run_fit_shards(asked: AskedShards, options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Open, fit, save, score and report.

    An interrupt ends the fit: the best network so far is saved, and the exit code is 130.
    """
    _check(options, given)
    if asked.out is not None:  # before the work, not after it
        check_out(asked.out, asked.force, (".npz",), "the model")
    if asked.checkpoint is not None and not asked.checkpoint.absolute().parent.is_dir():
        raise ArgumentError(f"{asked.checkpoint}: there is no folder {asked.checkpoint.absolute().parent}.")
    shards = training_shards(asked.shards, asked.target, asked.weights)
    test = None if asked.test is None else new_shards(asked.test, asked.target, shards)  # wrong ones before the work
    task, why = (asked.task, "as asked") if asked.task != "auto" else choose_task(some_targets(shards))
    if asked.talks:
        say(f"{task}: {why}")
        size = shards.n * shards.d * shards.dtype.itemsize
        stored = f"{len(shards.shards)} shards, {quantity(size)} of {shards.dtype}"
        say(f"{shards.n:,} rows × {shards.d:,} columns in {stored}")
    model = make_model(task, options, verbose=int(asked.talks and options["model"] == "gated"))
    if asked.plan:
        plan = model.set_params(verbose=0).plan(shards)
        print_json(asdict(plan)) if asked.as_json else say(str(plan))
        return
    began = time.perf_counter()
    with refused_data(str(asked.shards)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told below
        _fit(model, shards, asked)
    seconds = time.perf_counter() - began
    if asked.out is not None:
        save_model(asked.out, copy.copy(model).set_params(verbose=0))
    if asked.talks:
        show_pairs(_pairs(model, seconds))
    found = None if test is None else evaluate_shards(model, test)
    if asked.as_json:
        said = _plain(asked, shards, model, (task, why), seconds)
        said["test"] = None if found is None else {"path": str(asked.test), **plain_evaluation(found)}
        print_json(said)
    elif asked.talks:
        if found is not None:
            say()
            show_evaluation(found, f"on {found.scores.n:,} rows of {asked.test}, which no fit has seen")
        elif not hasattr(model, "loo_score_"):
            complain("note", "nothing is known of new rows; --test FOLDER scores other shards, as evaluate does")
    written = "model not written; give --out" if asked.out is None else f"model written to {asked.out}"
    tell_end(model, seconds, written)
    if asked.talks:
        say(written)


def _check(options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    if options["model"] not in ("network", "gated"):
        raise fail("--model", _OWNER, "network or gated", options["model"], "Others need all rows in memory.")
    for name in _USELESS:
        if name in given:
            option = "--no-compare" if name == "compare" else "--" + name.replace("_", "-")
            raise fail(option, _OWNER, "left out", given[name], "It is for tables in memory.")
    check_options(options, given)


def _fit(model: Any, shards: Shards, asked: AskedShards) -> None:
    try:
        engine = ShownEngine(shards) if asked.talks and isinstance(model, BaseConvexNetwork) else None
        model.fit(shards, engine=engine, checkpoint=asked.checkpoint)
    except KeyboardInterrupt as interrupt:
        kept = "" if asked.checkpoint is None else f" The same command goes on from {asked.checkpoint}, if it is there."
        raise KeyboardInterrupt(f"there is no network yet, so nothing was written.{kept}") from interrupt


def _pairs(model: Any, seconds: float) -> list[tuple[str, str]]:
    rows = [("model", describe_model(model))]
    if hasattr(model, "classes_"):
        labels = [str(label) for label in model.classes_]
        rows.append(("classes", f"{len(labels)}: {some_of(labels, _CLASSES)}"))
    if hasattr(model, "loo_score_"):
        score = "accuracy" if hasattr(model, "classes_") else "R²"
        rows.append((f"left-out {score}", f"{model.loo_score_:.4f}, on rows that were held out"))
    rows.append(("beta", f"{model.beta_:.3g}"))
    rows.append(("certificate", prove(model)))
    rows.append(("solver", _reason(model)))
    return [*rows, ("seconds", f"{seconds:.2f}")]


def _reason(model: Any) -> str:
    result = getattr(model, "result_", None)
    return str(model.reason_ if result is None else f"{result.n_iter} steps, {result.reason}")


def _plain(asked: AskedShards, shards: Shards, model: Any, task: tuple[str, str], seconds: float) -> dict[str, Any]:
    proof = model.certificate_
    return {
        "shards": str(asked.shards),
        "rows": shards.n,
        "n_features": shards.d,
        "dtype": str(shards.dtype),
        "task": task[0],
        "why": task[1],
        "model": describe_model(model),
        "classes": model.classes_.tolist() if hasattr(model, "classes_") else None,
        "left_out_score": getattr(model, "loo_score_", None),
        "proof": {
            "sentence": prove(model),
            "objective": proof.primal,
            "bound": proof.dual,
            "relative_gap": proof.relative_gap,
            "scope": proof.scope,
            "loss": model.loss_,
            "beta": model.beta_,
        },
        "solver": _reason(model),
        "seconds": seconds,
        "model_file": None if asked.out is None else str(asked.out),
    }
