"""``clifford-rand fit``: a table in, a trained and certified network out."""

import copy
import re
import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import typer
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.certificates import KernelClaim
from clifford_rand_nn.cli.console import INTERRUPTED, complain, note_ignored, refused_data, say, show_pairs
from clifford_rand_nn.cli.infinite import chosen, promises, scaling, show_compared
from clifford_rand_nn.cli.options import check_options, make_model
from clifford_rand_nn.dictionaries.subsets import count_subsets
from clifford_rand_nn.estimators.lasso import CrossProductLasso
from clifford_rand_nn.estimators.network.base import NetworkWithoutKnobs
from clifford_rand_nn.model_file import save_model
from clifford_rand_nn.solvers.base import Result
from clifford_rand_nn.tables import Table, choose_task, default_target, read_table

_SHOWN_CLASSES = 10
_MANY_COLUMNS = 10**7  # a core prices some 10^6 columns of 100 rows a second, and a fit prices them tens of times


def run_fit(
    train: Path,
    target: str | None,
    weights: str | None,
    groups: str | None,
    test: Path | None,
    out: Path | None,
    task: str,
    options: Mapping[str, Any],
    given: Mapping[str, Any],
    quiet: bool,
) -> None:
    """Read, fit, save, score and report. ``options`` choose the model; ``given`` holds those that were given.

    An interrupt of the fit ends it: what was found is saved and reported as ever, and the exit code is 130.
    """
    check_options(options, given)
    if out is not None:
        _check_out(out)  # before the work, not after it
    if target is None:
        target = default_target(train)
        if target in (weights, groups):
            raise ArgumentError(f"{train}: the last column, {target!r}, is no target here; give --target.")
        if not quiet:
            say(f"target: {target}; else give --target")
    table = read_table(train, target=target, weights=weights, groups=groups)
    held_out = None
    if test is not None:
        held_out = read_table(test, target=target, columns=table.names, weights=weights, need_weights=False)
    assert table.target is not None
    if held_out is not None:
        note_ignored(str(held_out.path), held_out.ignored)
    task, why = (task, "as asked") if task != "auto" else choose_task(table.target)
    if task == "regression" and table.target.dtype.kind not in "biuf":
        raise ArgumentError(f"{train}: the target {target!r} holds text, not numbers; leave out --task regression.")
    if not quiet:
        say(f"{task}: {why}")
    model = make_model(task, options, verbose=int(sys.stderr.isatty() and not quiet))
    _note_many_columns(model, *table.X.shape)
    began = time.perf_counter()
    with refused_data(str(train)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told below
        _fit(model, table)
    seconds = time.perf_counter() - began
    if out is not None:
        _save(out, model, table)  # before anything else can go wrong
    if not quiet:
        show_pairs(_report(model, table, held_out, seconds))
    written = "model not written; give --out" if out is None else f"model written to {out}"
    if isinstance(model, NetworkWithoutKnobs):
        if not quiet:
            show_compared(model)
    else:
        _tell_end(model, seconds, written)
    if not quiet:
        say(written)


def _tell_end(model: Any, seconds: float, written: str) -> None:
    """Say so if the solver did not end with the optimum."""
    result = model.result_
    if result.interrupted:
        reached = f"relative gap {result.relative_gap:.1e}, --tol is {model.tol:.1e}"
        complain("interrupted", f"this is the best network after {seconds:.1f} s ({reached}); {written}")
        raise typer.Exit(INTERRUPTED)
    if not result.converged:
        complain("warning", f"not converged: {_as_options(result.message)}.")


def _as_options(message: str) -> str:
    """Name the options where a message advises on parameters and solvers."""
    message = re.sub(r"\b(max_time|max_iter|tol)\b", lambda name: "--" + name[0].replace("_", "-"), message)
    return re.sub(r"\bFista\b", "--solver fista", message)


def _fit(model: Any, table: Table) -> None:
    try:
        groups = {} if table.groups is None else {"groups": table.groups}
        model.fit(table.X, table.target, sample_weight=table.weights, **groups)
    except KeyboardInterrupt as interrupt:  # solvers return the best point so far: there was none
        raise KeyboardInterrupt("there is no network yet, so nothing was written.") from interrupt


def _save(out: Path, model: Any, table: Table) -> None:
    saved = copy.copy(model).set_params(verbose=0)
    if table.names is not None:
        saved.feature_names_in_ = np.array(table.names, dtype=object)
    save_model(out, saved)


def _note_many_columns(model: Any, n: int, d: int) -> None:
    """Say beforehand that a dictionary is so large that the fit may take minutes or years."""
    if isinstance(model, CrossProductLasso) and model.subsample is None:
        kind = "rows" if model.penalty == "l2" else "mixed"
        columns = 2 * count_subsets(n, d + (model._bias == "penalised"), kind, model._free_bias)
        if columns > _MANY_COLUMNS:
            size = f"{float(columns):.1e}" if columns < sys.float_info.max else "more than 1e308"
            complain("note", f"the dictionary has {size} columns; --subsample draws some of them, and is faster")


def _check_out(out: Path) -> None:
    if out.suffix.lower() != ".npz":
        raise ArgumentError(f"{out}: the model is an NPZ file; give --out a name that ends in .npz.")
    if not out.absolute().parent.is_dir():
        raise ArgumentError(f"{out}: there is no folder {out.absolute().parent}.")


def _report(model: Any, table: Table, held_out: Table | None, seconds: float) -> list[tuple[str, str]]:
    classes, infinite = hasattr(model, "classes_"), isinstance(model, NetworkWithoutKnobs)
    score = "accuracy" if classes else "R²"
    proof = model.certificate_
    rows = [("rows", str(len(table.X)) + _weights(table) + _groups(table))]
    use = scaling(model) if infinite else "used as they come: nothing is rescaled"
    rows.append(("features", f"{table.X.shape[1]}, {use}"))
    if classes:
        shown = ", ".join(str(label) for label in model.classes_[:_SHOWN_CLASSES])
        more = ", …" if len(model.classes_) > _SHOWN_CLASSES else ""
        rows.append(("classes", f"{len(model.classes_)}: {shown}{more}"))
    if infinite:
        rows += chosen(model)
    else:
        rows.append(("model", f"{type(model).__name__}, {model.loss_} loss, {_penalty(model)} penalty"))
        rows += [*_candidates(model), ("beta", f"{model.beta_:.3g}{_compared(model)}")]
    rows += [
        ("objective", f"{proof.primal:.8g}"),
        ("certified gap", f"{proof.relative_gap:.1e} relative, {proof.scope}"),
        (f"train {score}", _score(model, table)),
    ]
    if infinite:
        rows += promises(
            model, score, "rows of new groups" if table.groups is not None else "new rows of the same kind"
        )
    if held_out is not None:
        with refused_data(str(held_out.path)):
            rows.append((f"test {score}", f"{_score(model, held_out)} on {len(held_out.X)} rows"))
    return [*rows, ("solver", model.reason_ if infinite else _solver(model.result_)), ("seconds", f"{seconds:.2f}")]


def _penalty(model: Any) -> str:
    return str(getattr(model, "penalty_", model.penalty))


def _compared(model: Any) -> str:
    """Say where a beta that was chosen comes from."""
    if not model.candidates_:
        return ""
    betas = [score.beta for score in model.candidates_]
    best = next(score for score in model.candidates_ if score.beta == model.beta_)
    held = f"by the mean loss of held-out rows, {best.loss:.3g}"
    if best.wrong is not None:
        held += f", with {best.wrong:.1%} wrong labels"
    return f", chosen of {len(betas)} from {max(betas):.2g} to {min(betas):.2g} {held}"


def _weights(table: Table) -> str:
    if table.weights is None:
        return ""
    zeros = int(np.count_nonzero(table.weights == 0))
    weights = table.weights[table.weights > 0]
    left_out = f"; {zeros} of weight zero left out" if zeros else ""
    return f", with weights from {weights.min():g} to {weights.max():g}{left_out}"


def _groups(table: Table) -> str:
    return "" if table.groups is None else f", in {len(np.unique(table.groups))} groups"


def _score(model: Any, table: Table) -> str:
    value = model.score(table.X, table.target, sample_weight=table.weights)
    return f"{value:.4f}" + ("" if table.weights is None else ", weighted")


def _solver(result: Result[Any]) -> str:
    steps = "1 step" if result.n_iter == 1 else f"{result.n_iter} steps"
    return f"{result.solver}, {steps}" + (f"; {result.reason}" if result.reason else "")


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
