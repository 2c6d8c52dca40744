"""``clifford-rand export``: a file for other libraries, compared with the model, and its inputs and outputs."""

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand._checks import check_number
from clifford_rand._files import read_npz
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.certificates.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.cli.console import check_out, complain, refused_data, say, show_pairs
from clifford_rand_nn.cli.exported import EXPORTERS, Exported
from clifford_rand_nn.cli.tables import LoadedModel, named_errors, read_noted, take_apart
from clifford_rand_nn.export.numpy_source import arrays_beside
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.tables import TableEncoder
from clifford_rand_nn.tables.column_readers import BooleanReader, CategoryReader, DateReader, NumberReader, TextReader
from clifford_rand_nn.tables.encodings import words_of

_ROWS = 200
_GONE = 0.05  # share of cells that are missing, and of categories that are new
_SHOWN = 12  # inputs that have a line
_NEAR = 1e-5  # of the largest number: more is a rounding that matters


def run_export(
    path: Path, out: Path, compare_on: Path | None, dtype: str, coverage: float, force: bool, dialect: Mapping[str, Any]
) -> None:
    """Load, write, compare and report."""
    check_number(coverage, "--coverage", "clifford-rand export", "between 0 and 1", lambda c: 0 < c < 1)
    check_out(out, force, tuple(EXPORTERS), "a model for other libraries")
    if out.suffix.lower() == ".py":
        check_out(arrays_beside(out), force, (".npz",), "large arrays of a module")
    loaded: Any = load_model(path)
    model = getattr(loaded, "estimator_", loaded)
    if compare_on is None:
        table, which = sample_rows(model, dtype), "sampled around the training rows"
    else:
        table, which = _read_rows(compare_on, dialect, take_apart(path, loaded)), f"of {compare_on}"
    exported = EXPORTERS[out.suffix.lower()](model, out, table, dtype, coverage)
    say(f"{out} written, {_size(exported)}")
    pairs = [("input", line) for line in exported.inputs[:_SHOWN]]
    if len(exported.inputs) > _SHOWN:
        pairs.append(("", f"… {len(exported.inputs)} inputs in all"))
    pairs += [("output", line) for line in exported.outputs]
    pairs.append(("compared", _compared(model, exported, table, which)))
    show_pairs(pairs)
    for note in exported.notes:
        complain("note", note)
    say()
    for line in exported.usage:
        say(line)


def _read_rows(path: Path, dialect: Mapping[str, Any], loaded: LoadedModel) -> Any:
    """Return rows that the model can predict, before anything is written."""
    is_array = path.suffix.lower() == ".npz"
    table = read_npz(path, ("X",), what="this table")[0]["X"] if is_array else read_noted(path, dialect)
    with named_errors(path), refused_data(str(path)), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table = table if is_array else loaded.columns_of(path, table)
        loaded.whole.predict(table)
    return table


def _size(exported: Exported) -> str:
    size = sum(file.stat().st_size for file in exported.files) / 1e6
    beside = "".join(f", with {file.name} beside it" for file in exported.files[1:])
    return f"{size:.3g} MB{beside}"


def _compared(model: Any, exported: Exported, table: Any, which: str) -> str:
    """Return in words how far the new file is from the model."""
    if exported.run is None:
        return exported.why_not
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        labels, numbers = exported.run(table)
        predicted = model.predict(table)
        if not hasattr(model, "classes_"):
            expected = predicted
        else:
            expected = model.predict_proba(table) if hasattr(model, "predict_proba") else model.decision_function(table)
    expected = np.asarray(expected, dtype=np.float64).reshape(len(predicted), -1)
    off = float(np.abs(np.asarray(numbers, dtype=np.float64).reshape(expected.shape) - expected).max(initial=0.0))
    what, text = "predictions", f"on {len(predicted):,} rows {which}: "
    if labels is not None:
        wrong = int((np.asarray(labels) != predicted).sum())
        text += f"{wrong} labels differ from the model's, " if wrong else "all labels agree, "
        what = "probabilities" if hasattr(model, "predict_proba") else "scores"
    if off > _NEAR * max(1.0, float(np.abs(expected).max(initial=0.0))):
        complain("warning", f"{what} of the new file differ from the model's by up to {off:.1e}.")
    return f"{text}{what} differ by at most {off:.1e}"


def sample_rows(model: Any, dtype: str) -> Any:
    """Return rows (n, d), of numbers that ``dtype`` holds, or a table as the encoder of a pipeline takes it."""
    rng = np.random.default_rng(0)
    if not isinstance(model, Pipeline):
        return _around(model, rng).astype(dtype)
    first = model.steps[0][1]
    if isinstance(first, TableEncoder):
        return _table(first, _around(model.steps[-1][1], rng), rng)
    return rng.standard_normal((_ROWS, first.n_features_in_)).astype(np.float32)


def _around(model: Any, rng: np.random.Generator) -> NDArray[np.float64]:
    """Return rows with the mean and the deviation of those of training, as far as the model knows them."""
    claim = model.certificate_.claim
    standard = claim.network.standard if isinstance(claim, KernelClaim) else None
    if isinstance(claim, NetworkClaim):
        standard = claim.standard
    drawn = rng.standard_normal((_ROWS, model.n_features_in_))
    if not isinstance(standard, Standardization):
        return drawn
    size = np.divide(1.0, standard.rate, out=np.zeros_like(standard.rate), where=standard.rate > 0)
    return np.asarray(standard.mean + size * drawn)


def _table(encoder: TableEncoder, rows: NDArray[np.float64], rng: np.random.Generator) -> Any:
    """Return a table whose numbers are those of encoded rows; categories are drawn, and some cells are missing."""
    pandas = require("pandas", extra="app", purpose="tables")
    encoded = dict(zip(encoder.get_feature_names_out(), rows.T, strict=True))
    columns, words = {}, words_of(encoder.encodings_)
    for reader in encoder.readers_:
        name, gone = reader.name, rng.random(len(rows)) < _GONE
        if isinstance(reader, CategoryReader):
            cells = rng.choice(np.array([*words[name], "new"], dtype=object), len(rows))
            if reader.numeric:
                cells = np.array([-1.0 if cell == "new" else float(cell) for cell in cells], dtype=object)
        elif isinstance(reader, BooleanReader):
            cells = rng.choice(np.array(["yes", "no"] if reader.words else [1.0, 0.0], dtype=object), len(rows))
        elif isinstance(reader, DateReader):
            ticks = reader.start + encoded[reader.part("days")] * 86_400e6
            column = pandas.Series(ticks.astype("int64").astype("datetime64[us]"))
            columns[name] = column.mask(gone)
            continue
        elif isinstance(reader, TextReader):
            cells = rng.choice(np.array(["a few words", "some others", "few others"], dtype=object), len(rows))
        elif isinstance(reader, NumberReader):
            cells = np.array([reader.written(value) for value in encoded[name].tolist()], dtype=object)
        else:
            advice = "give a table with --compare-on, on which the new file is compared with the model."
            raise ArgumentError(f"column {name}: cells of the kind {reader.kind!r} cannot be sampled; {advice}")
        cells[gone] = None
        texts = any(isinstance(cell, str) for cell in cells)
        columns[name] = pandas.Series(cells, dtype=object if texts else np.float64)
    return pandas.DataFrame(columns)
