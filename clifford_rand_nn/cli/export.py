"""``clifford-rand export``: write, compare with the model, and say what the new file takes and gives."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import check_number
from clifford_rand_nn._archives import read_npz
from clifford_rand_nn.cli.console import complain, refused_data, say, show_pairs
from clifford_rand_nn.cli.exported import EXPORTERS, Exported
from clifford_rand_nn.cli.models import LoadedModel, take_apart
from clifford_rand_nn.cli.outputs import check_out
from clifford_rand_nn.cli.rows import told_of
from clifford_rand_nn.cli.sample_rows import sample_rows
from clifford_rand_nn.export.numpy_source import arrays_beside
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.tables import read_frame

_SHOWN = 12  # inputs that have a line
_NEAR = 1e-5  # of the largest number: more is a rounding that matters


def run_export(
    path: Path, to: Path, rows: Path | None, dtype: str, coverage: float, force: bool, dialect: Mapping[str, Any]
) -> None:
    """Load, write, compare and say."""
    check_number(coverage, "--coverage", "clifford-rand export", "between 0 and 1", lambda c: 0 < c < 1)
    check_out(to, force, tuple(EXPORTERS), "a model for other libraries")
    if to.suffix.lower() == ".py":
        check_out(arrays_beside(to), force, (".npz",), "large arrays of a module")
    loaded: Any = load_model(path)
    model = getattr(loaded, "estimator_", loaded)
    drawn = rows is None
    table = sample_rows(model, dtype) if rows is None else _read_rows(rows, dialect, take_apart(path, loaded), model)
    made = EXPORTERS[to.suffix.lower()](model, to, table, dtype, coverage)
    say(f"{to} written, {_size(made)}")
    pairs = [("takes", line) for line in made.inputs[:_SHOWN]]
    if len(made.inputs) > _SHOWN:
        pairs.append(("", f"… {len(made.inputs)} inputs in all"))
    pairs += [("gives", line) for line in made.outputs]
    which = "drawn at random around those of training" if drawn else f"of {rows}"
    pairs.append(("compared", _compared(model, made, table, which)))
    show_pairs(pairs)
    for note in made.notes:
        complain("note", note)
    say()
    for line in made.usage:
        say(line)


def _read_rows(path: Path, dialect: Mapping[str, Any], parts: LoadedModel, model: Any) -> Any:
    """Return rows that the model can predict, before anything is written."""
    table = _read_table(path, dialect)
    with told_of(path), refused_data(str(path)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if hasattr(table, "columns"):
            table = parts.columns_of(path, table)
        model.predict(table)
    return table


def _read_table(path: Path, dialect: Mapping[str, Any]) -> Any:
    if path.suffix.lower() == ".npz":
        return read_npz(path, ("X",), what="this table")[0]["X"]
    frame = read_frame(path, **dialect)
    for note in frame.attrs.get("notes", ()):
        complain("note", f"{path}: {note}")
    return frame


def _size(made: Exported) -> str:
    size = sum(file.stat().st_size for file in made.files) / 1e6
    beside = "".join(f", with {file.name} beside it" for file in made.files[1:])
    return f"{size:.3g} MB{beside}"


def _compared(model: Any, made: Exported, table: Any, which: str) -> str:
    """Return in words how far the new file is from the model."""
    if made.run is None:
        return made.why_not
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        said, found = made.run(table)
        predicted = model.predict(table)
        if not hasattr(model, "classes_"):
            wanted = predicted
        else:
            wanted = model.predict_proba(table) if hasattr(model, "predict_proba") else model.decision_function(table)
    wanted = np.asarray(wanted, dtype=np.float64).reshape(len(predicted), -1)
    off = float(np.abs(np.asarray(found, dtype=np.float64).reshape(wanted.shape) - wanted).max(initial=0.0))
    what = "predictions"
    text = f"on {len(predicted):,} rows {which}: "
    if said is not None:
        wrong = int((np.asarray(said) != predicted).sum())
        text += "all labels are the model's" if not wrong else f"{wrong} labels are others than the model's"
        what = "probabilities" if hasattr(model, "predict_proba") else "scores"
        text += ", "
    if off > _NEAR * max(1.0, float(np.abs(wanted).max(initial=0.0))):
        complain("warning", f"{what} of the new file differ from the model's by up to {off:.1e}.")
    return f"{text}{what} differ by at most {off:.1e}"
