"""``clifford-rand export``: a file for other libraries, compared with the model, and its inputs and outputs."""

import runpy
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline

from clifford_rand._checks import check_number
from clifford_rand._files import read_npz
from clifford_rand.errors import ArgumentError, available, install_command, require
from clifford_rand_nn._words import some_of
from clifford_rand_nn.certificates.claims import KernelClaim, NetworkClaim
from clifford_rand_nn.cli.console import check_out, complain, refused_data, say, show_pairs
from clifford_rand_nn.cli.tables import LoadedModel, named_errors, read_noted, take_apart
from clifford_rand_nn.export.numpy_source import arrays_beside
from clifford_rand_nn.export.pipelines import export_onnx, export_source, export_torch, model_program
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.tables import TableEncoder
from clifford_rand_nn.tables.cells import numbers, words
from clifford_rand_nn.tables.column_readers import BooleanReader, CategoryReader, DateReader, NumberReader, TextReader
from clifford_rand_nn.tables.encodings import fills_of, words_of

_ROWS = 200
_GONE = 0.05  # share of cells that are missing, and of categories that are new
_SHOWN = 12  # inputs that have a line
_NEAR = 1e-5  # of the largest number: more is a rounding that matters
_IN_ROW = 40  # columns of the row in an example
_NAMED = 3  # columns of dates in its comment
_DAYS, _DATE = 20000.0, "2024-10-04"  # the same day
_Result = tuple[Any, Any]  # labels or None, and numbers


@dataclass(frozen=True)
class Exported:
    """A file that was written."""

    files: list[Path]  # the file, and one that is beside it
    inputs: list[str]  # what it takes and gives, a line each
    outputs: list[str]
    usage: list[str]  # lines of Python that use it
    run: Callable[[Any], _Result] | None = None  # returns labels, or None, and numbers for a table or rows
    why_not: str = ""  # why there is none
    notes: list[str] = field(default_factory=list)


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


# ---- formats


def to_onnx(model: Any, to: Path, table: Any, dtype: str, coverage: float) -> Exported:
    """Write an ONNX file."""
    onnx = require("onnx", extra="onnx", purpose="export to .onnx")
    export_onnx(model, to, dtype=dtype, coverage=coverage, example=table if hasattr(table, "dtypes") else None)
    graph = onnx.load(to).graph
    kinds = {onnx.TensorProto.STRING: "text", onnx.TensorProto.FLOAT: "float32", onnx.TensorProto.DOUBLE: "float64"}
    kinds |= {onnx.TensorProto.INT64: "int64", onnx.TensorProto.BOOL: "bool"}
    hints = _cells(model)

    def line(value: Any) -> str:
        sizes = [str(size.dim_value or size.dim_param or "n") for size in value.type.tensor_type.shape.dim]
        kind = kinds.get(value.type.tensor_type.elem_type, "other")
        return f"{value.name}: {kind} ({', '.join(sizes)}){hints.get(value.name, '')}"

    inputs = {column.name: kinds.get(column.type.tensor_type.elem_type, "other") for column in graph.input}
    usage = ["import numpy as np, onnxruntime", f"session = onnxruntime.InferenceSession({to.name!r})"]
    if hasattr(table, "columns"):
        cell = "np.array([[row[i.name]]], dtype=object if 'string' in i.type else float)"
        usage.append(f"row = {{{_example_row(model, list(inputs))}}}{_dates_in(model)}")
        usage.append(f"session.run(None, {{i.name: {cell} for i in session.get_inputs()}})")
    else:
        (first,) = graph.input
        X = f"np.zeros((1, {first.type.tensor_type.shape.dim[1].dim_value}), dtype=np.{inputs['X']})"
        usage.append(f"session.run(None, {{'X': {X}}})")
    exported = Exported([to], list(map(line, graph.input)), list(map(line, graph.output)), usage)
    if not available("onnxruntime"):
        return replace(exported, why_not=f"not, it needs onnxruntime: {install_command('onnxruntime', 'onnx')}")
    runtime = require("onnxruntime", extra="onnx", purpose="comparing")

    def run(rows: Any) -> _Result:
        session = runtime.InferenceSession(to, providers=["CPUExecutionProvider"])
        names = [column.name for column in session.get_outputs()]
        columns = _columns(model, rows)
        fed = {name: _fed(columns, name, kind) for name, kind in inputs.items()}
        out = dict(zip(names, session.run(None, fed), strict=True))
        if "label" not in out:
            return None, out["variable"]
        return out["label"], out.get("probabilities", out.get("scores"))

    return replace(exported, run=run)


def to_source(model: Any, to: Path, table: Any, dtype: str, coverage: float) -> Exported:
    """Write a module of NumPy."""
    text = export_source(model, to, coverage=coverage)
    program = model_program(model, coverage)
    assert program is not None
    every = ("predict", "predict_proba", "decision_function", "predict_interval")
    functions = [name for name in every if f"\ndef {name}(X):" in text]
    beside = arrays_beside(to)
    files = [to, beside] if f"with_name({beside.name!r})" in text else [to]
    if program.rows is None:
        inputs = [f"X: an array (n, {program.d})"]
        called = f"[[0.0] * {program.d}]"
    else:
        kinds = {"numbers": "numbers", "words": "texts", "days": "dates"}
        hints = _cells(model, ", as datetime, of NumPy or written 2024-10-04, NaT where missing")
        inputs = [f"X[{column.name!r}]: {kinds[column.op]}{hints.get(column.name, '')}" for column in program.table]
        called = f"{{{_example_row(model, [column.name for column in program.table], '[{}]')}}}"
    usage = [f"from {to.stem} import {', '.join(functions[:2])}", f"X = {called}", f"{functions[0]}(X)"]

    def run(rows: Any) -> _Result:
        module, columns = runpy.run_path(str(to)), _columns(model, rows)
        if "decision_function" not in module:
            return None, module["predict"](columns)
        return module["predict"](columns), module.get("predict_proba", module["decision_function"])(columns)

    return Exported(files, inputs, [f"{name}(X)" for name in functions], usage, run)


def to_torch(model: Any, to: Path, table: Any, dtype: str, coverage: float) -> Exported:
    """Write a program of PyTorch, of the model that a pipeline ends with."""
    torch = require("torch", extra="torch", purpose="export to .pt2")
    lines = [f"{name}: {kind}" for name, kind in export_torch(model, to, coverage=coverage).items()]
    last, before, notes = model, None, []
    if isinstance(model, Pipeline) and len(model.steps) > 1:
        last, before = model.steps[-1][1], model[:-1]
        notes = ["the steps before the model are not in the program: it takes their output"]
    d = int(last.n_features_in_)
    usage = ["import torch", f"program = torch.export.load({to.name!r}).module()"]
    usage.append(f"program(torch.zeros(1, {d}, dtype=torch.float64))")

    def run(rows: Any) -> _Result:
        X = rows if before is None else before.transform(rows)
        program = torch.export.load(to).module()
        with torch.no_grad():
            out = program(torch.tensor(np.asarray(X, dtype=np.float64)))
        if "label" not in out:
            return None, out["variable"].numpy()
        labels, scores = out["label"].numpy(), out.get("probabilities", out.get("scores"))
        return labels if labels.ndim == 2 else last.classes_[labels], scores.numpy()

    return Exported([to], [f"X: float64 (rows, {d})"], lines, usage, run, notes=notes)


Exporter = Callable[[Any, Path, Any, str, float], Exported]
EXPORTERS: dict[str, Exporter] = {".onnx": to_onnx, ".py": to_source, ".pt2": to_torch}


def _kinds(model: Any) -> dict[str, str]:
    """Return what the columns of a table are, "numbers", "words" or "days"; nothing for a model that takes rows."""
    program = model_program(model)
    return {} if program is None else {column.name: column.op for column in program.table}


def _dates_in(model: Any) -> str:
    """Return a comment on columns of an example that are dates, if there are any."""
    names = [name for name, kind in _kinds(model).items() if kind == "days"]
    return f"  # {some_of(names, _NAMED)}: days since 1970-01-01, {_DAYS:.0f} is {_DATE}" if names else ""


def _cells(model: Any, days: str = ", days since 1970-01-01, NaN where missing") -> dict[str, str]:
    """Return what cells of the columns of a table may be, by their names; ``days`` is what dates are."""
    kinds = _kinds(model)
    words = words_of(model.steps[0][1].encodings_) if kinds else {}
    missing = {"numbers": ", NaN where missing", "words": ", empty where missing", "days": days}
    such = {name: f", such as {', '.join(some[:3])}" for name, some in words.items() if some}
    return {name: missing[kind] + such.get(name, "") for name, kind in kinds.items()}


def _example_row(model: Any, names: list[str], form: str = "{}") -> str:
    """Return a row as the entries of a dict: medians, and first categories."""
    kinds = _kinds(model)
    encodings = model.steps[0][1].encodings_ if kinds else ()
    words_of_column, fills = words_of(encodings), fills_of(encodings)
    shown = []
    for name in names[:_IN_ROW]:
        words, kind = words_of_column.get(name, []), kinds.get(name)
        cell: Any = fills.get(name, 0.0)
        if kind == "words":
            cell = words[0] if words else "yes"
        elif words:
            cell = float(words[0])
        elif kind == "days":
            cell = _DAYS if form == "{}" else _DATE
        shown.append(f"{name!r}: {form.format(repr(cell))}")
    return ", ".join(shown) + (", …" if len(names) > _IN_ROW else "")


def _columns(model: Any, table: Any) -> Any:
    """Return the columns of a table as numbers, texts or None, and moments, as the encoder of a pipeline reads them."""
    if not hasattr(table, "columns") or not isinstance(model.steps[0][1], TableEncoder):
        return table
    kinds = _kinds(model)
    columns: dict[str, Any] = {}
    for reader in model.steps[0][1].readers_:
        column = table[reader.name]
        if isinstance(reader, DateReader):
            columns[reader.name] = reader.moments(column, {})
        elif kinds.get(reader.name) == "words":
            columns[reader.name] = words(column)
        else:
            own = isinstance(reader, NumberReader)
            columns[reader.name] = reader.read(column, {})[reader.name] if own else numbers(column)[0]
    return columns


def _fed(columns: Any, name: str, kind: str) -> Any:
    """Return the array of one input of an ONNX file."""
    if isinstance(columns, np.ndarray):
        return columns.astype(kind)
    cells = np.asarray(columns[name])
    if kind == "text":
        return np.array([["" if cell is None or cell != cell else cell] for cell in cells], dtype=object)
    if cells.dtype.kind == "M":
        cells = np.where(np.isnat(cells), np.nan, cells.astype(np.int64) / 86_400e6)
    return cells.reshape(-1, 1).astype(kind)
