"""``clifford-rand fit``: a table in, a trained and certified network out."""

import copy
import re
import sys
import time
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning
from sklearn.pipeline import Pipeline

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.claims import KernelClaim
from clifford_rand_nn.cli.console import INTERRUPTED, complain, print_json, refused_data, say
from clifford_rand_nn.cli.facts import show_cautions, show_facts
from clifford_rand_nn.cli.infinite import promises
from clifford_rand_nn.cli.options import check_options, make_model
from clifford_rand_nn.cli.outputs import check_out
from clifford_rand_nn.cli.rows import Reading, read_other, read_training
from clifford_rand_nn.dictionaries.subsets import count_subsets
from clifford_rand_nn.estimators.lasso import CrossProductLasso
from clifford_rand_nn.estimators.network.base import BaseConvexNetwork
from clifford_rand_nn.model_file import save_model
from clifford_rand_nn.reporting.collect import collect_facts
from clifford_rand_nn.reporting.facts import Rows
from clifford_rand_nn.reporting.page import check_libraries, write_report
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.solvers.base import Status, explain
from clifford_rand_nn.tables import TableEncoder, choose_task, default_target

_MANY_COLUMNS = 10**7  # a core prices some 10^6 columns of 100 rows a second, and a fit prices them tens of times


@dataclass(frozen=True, kw_only=True)
class Asked:
    """What a fit was asked for beside the model: tables and their columns, outputs, what is said."""

    train: Path
    target: str | None
    weights: str | None
    groups: str | None
    test: Path | None
    out: Path | None
    report: Path | None
    force: bool
    task: str
    compare: bool
    as_json: bool
    quiet: bool
    dialect: Mapping[str, Any]
    kinds: Mapping[str, Any]

    @property
    def talks(self) -> bool:
        """Whether words are printed on stdout."""
        return not (self.quiet or self.as_json)


def run_fit(asked: Asked, options: Mapping[str, Any], given: Mapping[str, Any]) -> None:
    """Read, fit, save, score and report. ``options`` choose the model; ``given`` holds those that were given.

    An interrupt of the fit ends it: what was found is saved and reported as ever, and the exit code is 130.
    """
    check_options(options, given)
    if asked.out is not None:  # before the work, not after it
        check_out(asked.out, asked.force, (".npz",), "the model")
    if asked.report is not None:
        check_out(asked.report, asked.force, (".html", ".htm"), "the report")
        check_libraries()
    target = asked.target
    if target is None:
        target = default_target(asked.train, **asked.dialect)
        if target in (asked.weights, asked.groups):
            raise ArgumentError(f"{asked.train}: the last column, {target!r}, is no target here; give --target.")
        if asked.talks:
            say(f"target: {target}; else give --target")
    reading = Reading(target, asked.weights, asked.groups, asked.dialect, asked.kinds)
    rows, encoder = read_training(asked.train, reading)
    test = None if asked.test is None else read_other(asked.test, reading, encoder, rows.names)
    task, why = (asked.task, "as asked") if asked.task != "auto" else choose_task(rows.y)
    if task == "regression" and rows.y.dtype.kind not in "biuf":
        raise ArgumentError(
            f"{asked.train}: the target {target!r} holds text, not numbers; leave out --task regression."
        )
    if asked.talks:
        say(f"{task}: {why}")
    model = make_model(
        task, options, verbose=int(sys.stderr.isatty() and asked.talks and options["model"] != "network")
    )
    _note_many_columns(model, *rows.X.shape)
    began = time.perf_counter()
    with refused_data(str(asked.train)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told below
        _fit(model, rows)
    seconds = time.perf_counter() - began
    if asked.out is not None:
        _save(asked.out, model, encoder, rows)  # before anything else can go wrong
    compare = asked.compare and not (asked.quiet and asked.report is None) and not _interrupted(model)
    silent = copy.copy(model).set_params(verbose=0)
    with refused_data(str(asked.test or asked.train)):
        facts = collect_facts(silent, rows, why=why, test=test, seconds=seconds, compare=compare)
    if asked.as_json:
        more = {"details": dict(_problem(model)), "model_file": _name(asked.out), "report_file": _name(asked.report)}
        print_json(facts.as_dict() | more)
    elif asked.talks:
        groups = "rows of new groups" if asked.groups is not None else "new rows of the same kind"
        show_facts(facts, _problem(model), promises(model, groups))
    show_cautions(facts)
    if asked.report is not None:
        drawn = write_report(asked.report, facts, silent, rows)
        if asked.talks:
            say(f"report written to {asked.report}, in {drawn:.1f} s")
    written = "model not written; give --out" if asked.out is None else f"model written to {asked.out}"
    tell_end(model, seconds, written)
    if asked.talks:
        say(written)


def _name(path: Path | None) -> str | None:
    return None if path is None else str(path)


def _interrupted(model: Any) -> bool:
    result = getattr(model, "result_", None)
    return bool((model.status_ if result is None else result.status) is Status.INTERRUPTED)


def tell_end(model: Any, seconds: float, written: str) -> None:
    """Say so if the solver did not end with the optimum."""
    gap, by_shards = model.certificate_.relative_gap, isinstance(model.certificate_, ShardCertificate)
    if isinstance(model, BaseConvexNetwork):
        status, asked = model.status_, ""
        assert status is not None  # of a fit
        ended = status.ends_all or (by_shards and status is not Status.OPTIMAL)
        steps = max((row.n_iter for row in model.history_), default=0)
        message = explain(status, steps, seconds, gap, "" if status.ends_all else "a larger --beta is solved sooner")
    else:
        status, ended, message = model.result_.status, not model.result_.converged, model.result_.message
        asked = f", --tol is {model._tolerance(by_shards):.1e}"
    if status is Status.INTERRUPTED:
        reached = f"relative gap {gap:.1e}{asked}"
        complain("interrupted", f"this is the best network after {seconds:.1f} s ({reached}); {written}")
        raise typer.Exit(INTERRUPTED)
    if ended:
        complain("warning", f"not converged: {_as_options(message)}.")


def _as_options(message: str) -> str:
    """Name the options where a message advises on parameters and solvers."""
    message = re.sub(r"\b(max_time|max_iter|tol)\b", lambda name: "--" + name[0].replace("_", "-"), message)
    return re.sub(r"\bFista\b", "--solver fista", message)


def _fit(model: Any, rows: Rows) -> None:
    try:
        groups = {} if rows.groups is None else {"groups": rows.groups}
        model.fit(rows.X, rows.y, sample_weight=rows.weights, **groups)
    except KeyboardInterrupt as interrupt:  # solvers return the best point so far: there was none
        raise KeyboardInterrupt("there is no network yet, so nothing was written.") from interrupt


def _save(out: Path, model: Any, encoder: TableEncoder | None, rows: Rows) -> None:
    saved = copy.copy(model).set_params(verbose=0)
    if encoder is not None:
        save_model(out, Pipeline([("table", encoder), ("model", saved)]))
        return
    if rows.names:
        saved.feature_names_in_ = np.array(rows.names, dtype=object)
    save_model(out, saved)


def _note_many_columns(model: Any, n: int, d: int) -> None:
    """Say beforehand that a dictionary is so large that the fit may take minutes or years."""
    if isinstance(model, CrossProductLasso) and model.subsample is None:
        kind = "rows" if model.penalty == "l2" else "mixed"
        columns = 2 * count_subsets(n, d + (model._bias == "penalized"), kind, model._free_bias)
        if columns > _MANY_COLUMNS:
            size = f"{float(columns):.1e}" if columns < sys.float_info.max else "more than 1e308"
            complain("note", f"the dictionary has {size} columns; --subsample draws some of them, and is faster")


def _problem(model: Any) -> list[tuple[str, str]]:
    """Say which problem was solved, where that was asked for rather than chosen, and what the network is made of."""
    if isinstance(model, BaseConvexNetwork):
        return []
    penalty = getattr(model, "penalty_", model.penalty)
    return [("problem", f"{model.loss_} loss, {penalty} penalty, beta {model.beta_:.3g}"), *_candidates(model)]


def _candidates(model: Any) -> list[tuple[str, str]]:
    """Say what the network could be made of, gates, columns, or everything, and how many neurons it has."""
    if isinstance(model.certificate_.claim, KernelClaim):
        return [("gates", "infinitely many Gaussian ones, by their kernel")]
    return [*_made_of(model), ("neurons", str(model.network_.n_neurons))]


def _made_of(model: Any) -> list[tuple[str, str]]:
    if isinstance(model, CrossProductLasso):
        dictionary = model.dictionary_
        words = "all" if dictionary.subsample is None else f"{dictionary.subsample:,} sampled"
        columns = f"{words} cross products of rows, both signs: {dictionary.n_columns:,} columns"
        return [("dictionary", columns), *(("note", note) for note in dictionary.notes)]
    gates = getattr(model, "candidate_gates_", model.gates_)  # of a gated network, those of the neurons are all
    if gates is None or gates.method == "exhaustive":
        return [("gates", f"every activation pattern: {model.certificate_.n_patterns:,}")]
    sketch = "" if gates.sketch_dim is None else f", sketched to {gates.sketch_dim} dimensions"
    words = f"{model.n_gates} {gates.method}{sketch}; {len(gates)} distinct patterns"
    if gates.method == "refined":
        words = (
            f"{model.n_gates} {model.gates}, then refined up to {model.refine} times; {len(gates)} distinct patterns"
        )
    return [("gates", words), *(("note", note) for note in gates.notes)]
