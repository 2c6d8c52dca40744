"""``clifford-rand fit``: a table in, a trained and certified network out."""

import sys
import time
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import complain, note_ignored, refused_data, say, show_pairs
from clifford_rand_nn.cli.options import check_options, make_model
from clifford_rand_nn.dictionaries.subsets import count_subsets
from clifford_rand_nn.estimators.lasso import CrossProductLasso
from clifford_rand_nn.estimators.targets import NetworkClassifier
from clifford_rand_nn.model_file import save_model
from clifford_rand_nn.tables import Table, read_table

__all__ = ["choose_task", "run_fit"]

_MOST_CLASSES = 20  # more distinct whole numbers than this are counts or codes rather than classes
_SHOWN_CLASSES = 10
_MANY_COLUMNS = 10**7  # a core prices some 10^6 columns of 100 rows a second, and a fit prices them tens of times


def run_fit(
    train: Path,
    target: str,
    test: Path | None,
    out: Path | None,
    task: str,
    options: Mapping[str, Any],
    given: Mapping[str, Any],
    quiet: bool,
) -> None:
    """Read, fit, score, save and report. ``options`` choose the model; ``given`` holds those that were given."""
    check_options(options, given)
    if out is not None:
        _check_out(out)  # before the work, not after it
    table = read_table(train, target=target)
    held_out = None if test is None else read_table(test, target=target, columns=table.names)
    assert table.target is not None
    if held_out is not None:
        note_ignored(str(held_out.path), held_out.ignored)
    task, why = (task, "as asked") if task != "auto" else choose_task(table.target)
    if not quiet:
        say(f"{task}: {why}")
    model = make_model(task, options, verbose=int(sys.stderr.isatty() and not quiet))
    _note_many_columns(model, *table.X.shape)
    began = time.perf_counter()
    with refused_data(str(train)), warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)  # told below
        model.fit(table.X, table.target)
    seconds = time.perf_counter() - began
    if not quiet:
        show_pairs(_report(model, table, held_out, seconds))
    if not model.result_.converged:
        complain("warning", f"not converged: {model.result_.status}.")
    if out is not None:
        model.set_params(verbose=0)
        if table.names is not None:
            model.feature_names_in_ = np.array(table.names, dtype=object)
        save_model(out, model)
    if not quiet:
        say("model not written; give --out" if out is None else f"model written to {out}")


def choose_task(target: NDArray[Any]) -> tuple[str, str]:
    """Return the task for a target, and why.

    Examples
    --------
    >>> import numpy as np
    >>> choose_task(np.array(["a", "b", "a", "b"]))
    ('classification', 'the target is text, 2 classes')
    >>> choose_task(np.array([0.5, 1.0, 2.25]))
    ('regression', 'the target has fractions')
    """
    values = np.unique(target)
    if target.dtype.kind in "US":
        return "classification", f"the target is text, {len(values)} classes"
    if target.dtype.kind == "b":
        return "classification", "the target is boolean"
    from sklearn.utils.multiclass import type_of_target

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # "more classes than half the samples": that is decided here
        continuous = type_of_target(target).startswith("continuous")
    if continuous:
        return "regression", "the target has fractions"
    few = f"{len(values)} distinct whole numbers in {len(target)} rows"
    if len(values) <= min(_MOST_CLASSES, max(2, len(target) // 2)):
        return "classification", f"the target has {few}; else give --task regression"
    return "regression", f"the target has {few}; else give --task classification"


def _note_many_columns(model: Any, n: int, d: int) -> None:
    """Say beforehand that a dictionary is so large that the fit may take minutes or years."""
    if isinstance(model, CrossProductLasso) and model.subsample is None:
        columns = 2 * count_subsets(n, d, "mixed" if model.penalty == "l1" else "rows", model.bias)
        if columns > _MANY_COLUMNS:
            size = f"{float(columns):.1e}" if columns < sys.float_info.max else "more than 1e308"
            complain("note", f"the dictionary has {size} columns; --subsample draws some of them, and is faster")


def _check_out(out: Path) -> None:
    if out.suffix.lower() != ".npz":
        raise ArgumentError(f"{out}: the model is an NPZ file; give --out a name that ends in .npz.")
    if not out.absolute().parent.is_dir():
        raise ArgumentError(f"{out}: there is no folder {out.absolute().parent}.")


def _report(model: Any, table: Table, held_out: Table | None, seconds: float) -> list[tuple[str, str]]:
    classes = isinstance(model, NetworkClassifier)
    score = "accuracy" if classes else "R²"
    proof = model.certificate_
    rows = [("rows", str(len(table.X))), ("features", f"{table.X.shape[1]}, used as they come: nothing is rescaled")]
    if classes:
        shown = ", ".join(str(label) for label in model.classes_[:_SHOWN_CLASSES])
        more = ", …" if len(model.classes_) > _SHOWN_CLASSES else ""
        rows.append(("classes", f"{len(model.classes_)}: {shown}{more}"))
    rows.append(("model", f"{type(model).__name__}, {model.loss} loss, {model.penalty} penalty"))
    rows += _candidates(model)
    rows += [
        ("neurons", str(model.network_.n_neurons)),
        ("objective", f"{proof.primal:.8g}"),
        ("certified gap", f"{proof.relative_gap:.1e} relative, {proof.scope}"),
        (f"train {score}", f"{model.score(table.X, table.target):.4f}"),
    ]
    if held_out is not None:
        with refused_data(str(held_out.path)):
            rows.append((f"test {score}", f"{model.score(held_out.X, held_out.target):.4f} on {len(held_out.X)} rows"))
    return [*rows, ("seconds", f"{seconds:.2f}")]


def _candidates(model: Any) -> list[tuple[str, str]]:
    """Say what the network could be made of: gates, columns, or everything."""
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
    return [("gates", words), *(("note", note) for note in gates.notes)]
