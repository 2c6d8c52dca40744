"""The formats of ``clifford-rand export``: inputs and outputs of a file, how it is run, and an example."""

import runpy
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from clifford_rand.errors import available, install_command, require
from clifford_rand_nn._words import some_of
from clifford_rand_nn.export.numpy_source import arrays_beside
from clifford_rand_nn.export.pipelines import export_onnx, export_source, export_torch, model_program
from clifford_rand_nn.tables import TableEncoder
from clifford_rand_nn.tables.cells import numbers, words
from clifford_rand_nn.tables.column_readers import DateReader, NumberReader
from clifford_rand_nn.tables.encodings import fills_of, words_of

_SHOWN = 40  # columns of the row in an example
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
    for name in names[:_SHOWN]:
        words, kind = words_of_column.get(name, []), kinds.get(name)
        cell: Any = fills.get(name, 0.0)
        if kind == "words":
            cell = words[0] if words else "yes"
        elif words:
            cell = float(words[0])
        elif kind == "days":
            cell = _DAYS if form == "{}" else _DATE
        shown.append(f"{name!r}: {form.format(repr(cell))}")
    return ", ".join(shown) + (", …" if len(names) > _SHOWN else "")


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
