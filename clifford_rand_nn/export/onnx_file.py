"""A program as an ONNX file."""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand import __version__
from clifford_rand._checks import check_choice, check_dtype, check_path, describe, fail, quantity
from clifford_rand._files import replaced
from clifford_rand.errors import require
from clifford_rand_nn.export.program import ARCSINE, COLUMNS, Program, Value, ordered

OPSET, _IR = 19, 9  # of 2023, the first that compares texts
_MOST = 2**31 - 1  # bytes of a protocol buffer
_BINARY = {"add": "Add", "subtract": "Sub", "multiply": "Mul", "divide": "Div", "maximum": "Max"}
_NAMES = _BINARY | {"less": "Less", "equals": "Equal", "where": "Where"}
_NAMES |= {op: op.capitalize() for op in ("abs", "sign", "floor", "sin", "sqrt", "exp", "log")}
_OUTPUTS = {"index": "label", "predict_proba": "probabilities", "predict": "variable", "low": "low", "high": "high"}


def save_onnx(model: Any, path: str | os.PathLike[str]) -> Path:
    """Write an `onnx.ModelProto` to a file and return its path."""
    if check_path(path, "path", "to_onnx").suffix.lower() != ".onnx":
        raise fail("path", "to_onnx", "a file name that ends in .onnx", str(path))
    size = model.ByteSize()
    if size > _MOST:
        rule = f"of a model that takes at most {quantity(_MOST)}, as ONNX files do"
        raise fail("path", "to_onnx", rule, describe(quantity(size)), "Train with fewer rows, or with n_neurons.")
    with replaced(path) as new:
        new.write_bytes(model.SerializeToString())
    return Path(path)


def onnx_model(program: Program, dtype: Any = "float32") -> Any:
    """Return a program as an `onnx.ModelProto` with the input X of float32 or float64."""
    onnx = require("onnx", extra="onnx", purpose="to_onnx")
    named = dtype if isinstance(dtype, str | None) else check_dtype(dtype, "dtype", "to_onnx", "f").name
    name = check_choice(named, "dtype", "to_onnx", ("float32", "float64"))
    helper, types = onnx.helper, onnx.TensorProto
    number = types.FLOAT if name == "float32" else types.DOUBLE
    results = _results(program)
    labels = None if program.classes is None else _labels(program.classes)
    columns = [value.name for value in program.table]
    for column in columns:
        if column in ("", *(_OUTPUTS.get(result, result) for result in results)):
            hint = "Rename the column, and fit the model again."
            raise fail("model", "to_onnx", "a model whose columns have other names than its outputs", column, hint)
    writer = _Writer(onnx, taken=columns)
    if program.rows is None:
        inputs = [helper.make_tensor_value_info("X", number, ["rows", program.d])]
        rows = writer.node("Cast", ["X"], to=types.DOUBLE) if number != types.DOUBLE else "X"
    else:
        kinds = [types.STRING if value.op == "words" else types.DOUBLE for value in program.table]
        inputs = [
            helper.make_tensor_value_info(value.name, kind, ["rows", 1])
            for value, kind in zip(program.table, kinds, strict=True)
        ]
        (rows,) = writer.expressed("", [program.rows])
    block = program.block()
    if block is None:
        values = writer.expressed(rows, list(results.values()))
    else:
        values = writer.in_blocks(rows, list(results.values()), block, program.d)
    outputs = []
    for result, value in zip(results, values, strict=True):
        named = _OUTPUTS.get(result, result)
        if result == "index" and labels is None:
            writer.node("Identity", [value], named)
            outputs.append(helper.make_tensor_value_info(named, types.INT64, ["rows", "outputs"]))
            continue
        if result == "index":
            assert labels is not None
            kind = onnx.helper.np_dtype_to_tensor_dtype(labels.dtype) if labels.dtype.kind != "O" else types.STRING
            writer.node("Gather", [writer.array(labels), value], named, axis=0)
            outputs.append(helper.make_tensor_value_info(named, kind, ["rows"]))
            continue
        writer.node("Cast", [value], named, to=number)
        width = len(program.classes) if named == "probabilities" and program.classes is not None else "outputs"
        outputs.append(helper.make_tensor_value_info(named, number, ["rows", width]))
    graph = helper.make_graph(writer.nodes, program.model, inputs, outputs, initializer=writer.initializers)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", OPSET)])
    model.ir_version, model.producer_name, model.producer_version = _IR, "clifford-rand", __version__
    notes = {"model": program.model, "opset": str(OPSET), "clifford-rand": __version__} | program.notes
    if program.columns is not None:
        notes["columns"] = "\n".join(program.columns)
    helper.set_model_props(model, notes)
    return model


def _results(program: Program) -> dict[str, Value]:
    """Return what an ONNX file has as outputs, numbers as (n, C) also where there is one column."""
    names = [name for name in _OUTPUTS if name in program.results]
    results = {name: program.results[name] for name in names}
    if "index" in names and "predict_proba" not in names:
        results["scores"] = program.results["decision_function"]
    return {name: value.values[0] if value.op == "first" else value for name, value in results.items()}


def _labels(classes: NDArray[Any]) -> NDArray[Any]:
    """Return classes as an array of text, integers, floats or truth values, as ONNX has them."""
    if classes.dtype.kind == "O":
        kinds = {type(label) for label in classes.tolist()}
        if kinds != {str}:
            received = describe("labels of " + " and ".join(sorted(kind.__name__ for kind in kinds)))
            raise fail("y", "to_onnx", "of labels that are text, integers, floats or truth values", received)
    wanted = {"U": object, "O": object, "i": np.int64, "u": np.int64, "f": np.float64, "b": np.bool_}
    return classes.astype(wanted[classes.dtype.kind])


class _Writer:
    """Nodes and arrays of a graph, to which operations are added."""

    def __init__(self, onnx: Any, outer: "_Writer | None" = None, taken: Iterable[str] = ()) -> None:
        self._onnx = onnx
        self.top: _Writer = self if outer is None else outer.top
        self.nodes: list[Any] = []
        self.initializers: list[Any] = []
        self.arrays: dict[Any, str] = {}
        self.taken = set(taken)
        self.count = 0

    def fresh(self, name: str) -> str:
        """Return a name that no other value of the file has."""
        top = self.top
        top.count += 1
        while f"{name}_{top.count}" in top.taken:
            top.count += 1
        return f"{name}_{top.count}"

    def node(self, op: str, inputs: list[str], output: str | None = None, **attributes: Any) -> str:
        """Add a node with one output and return the output's name."""
        output = output or self.fresh(op.lower())
        self.nodes.append(self._onnx.helper.make_node(op, inputs, [output], **attributes))
        return output

    def array(self, data: NDArray[Any], name: str = "array") -> str:
        """Return the name of an array of the file; equal numbers are there once."""
        top = self.top
        key = (data.dtype.str, data.item()) if data.ndim == 0 else id(data)
        if key not in top.arrays:
            label = top.arrays[key] = self.fresh(name)
            top.initializers.append(self._onnx.numpy_helper.from_array(data, label))
        return top.arrays[key]

    def number(self, value: float) -> str:
        """Return the name of a number."""
        return self.array(np.array(float(value)), "number")

    def whole(self, *values: int) -> str:
        """Return the name of integers."""
        return self.node("Constant", [], value_ints=list(values))

    def expressed(self, rows: str, ends: list[Value]) -> list[str]:
        """Add the operations that ends are made of, and return the ends' names."""
        names: dict[Value, str] = {}
        for value in ordered(ends):
            if value.op == "rows":
                names[value] = rows
            elif value.op in COLUMNS:
                names[value] = value.name
            elif value.op == "constant":
                assert value.data is not None
                names[value] = self.array(value.data, value.name)
            else:
                operands = [names[part] if isinstance(part, Value) else self.number(part) for part in value.operands]
                names[value] = self._operation(value.op, operands)
        return [names[end] for end in ends]

    def in_blocks(self, rows: str, ends: list[Value], block: int, d: int) -> list[str]:
        """Do the same for so many rows at a time, in a loop, so that no array is larger than their block.

        The last block is filled up with copies of the last row; those are cut off in the end.
        """
        helper, types = self._onnx.helper, self._onnx.TensorProto
        n = self.node("Slice", [self.node("Shape", [rows]), self.whole(0), self.whole(1)])
        last = self.node("Sub", [n, self.whole(1)])
        size = self.node("Max", [self.node("Min", [n, self.whole(block)]), self.whole(1)])
        up = self.node("Sub", [self.node("Add", [n, size]), self.whole(1)])
        trips = self.node("Squeeze", [self.node("Div", [up, size])])
        first, step = self.array(np.array(0, dtype=np.int64), "start"), self.array(np.array(1, dtype=np.int64), "step")
        places = self.node("Range", [first, self.node("Squeeze", [size]), step])
        inner = _Writer(self._onnx, self)
        start = inner.node("Mul", ["trip", size])
        place = inner.node("Min", [inner.node("Add", [places, start]), last])
        values = inner.expressed(inner.node("Gather", [rows, place], axis=0), ends)
        values = [inner.node("Identity", [value]) for value in values]
        ongoing = inner.node("Identity", ["going_on"])
        scalar = [helper.make_tensor_value_info("trip", types.INT64, [])]
        going = helper.make_tensor_value_info("going_on", types.BOOL, [])
        kinds = [types.INT64 if end.op in ("argmax", "whole") else types.DOUBLE for end in ends]
        shapes = [["block"] if end.op == "argmax" else ["block", None] for end in ends]
        infos = [helper.make_tensor_value_info(*info) for info in zip(values, kinds, shapes, strict=True)]
        states = [helper.make_tensor_value_info(ongoing, types.BOOL, []), *infos]
        body = helper.make_graph(inner.nodes, "block", [*scalar, going], states)
        blocks = [self.fresh("blocks") for _ in ends]
        self.nodes.append(helper.make_node("Loop", [trips, ""], blocks, body=body))
        out = []
        for end, value in zip(ends, blocks, strict=True):
            flat = self.whole(-1) if end.op == "argmax" else self._shape_of_columns(value)
            joined = self.node("Reshape", [value, flat])
            out.append(self.node("Slice", [joined, self.whole(0), n]))
        return out

    def _shape_of_columns(self, blocks: str) -> str:
        """Return the shape (-1, C) of blocks (trips, block, C)."""
        columns = self.node("Slice", [self.node("Shape", [blocks]), self.whole(2), self.whole(3)])
        return self.node("Concat", [self.whole(-1), columns], axis=0)

    def _operation(self, op: str, operands: list[str]) -> str:
        match op:
            case "matmul" | "matmul_t":  # onnxruntime fuses a scale into MatMul, as a number of single precision
                return self.node("Gemm", operands, transB=int(op == "matmul_t"))
            case "row_sums":
                return self.node("ReduceSum", [*operands, self.whole(1)], keepdims=1)
            case "layers":
                return self.node("Unsqueeze", [self.node("Transpose", operands, perm=[1, 0]), self.whole(2)])
            case "layer_sums":
                return self.node("ReduceSum", [*operands, self.whole(0)], keepdims=0)
            case "row_largest":
                return self.node("ReduceMax", [*operands, self.whole(1)], keepdims=1)
            case "beside":
                return self.node("Concat", operands, axis=1)
            case "first":
                return self.node("Squeeze", [*operands, self.whole(1)])
            case "whole":
                return self.node("Cast", operands, to=self._onnx.TensorProto.INT64)
            case "argmax":
                return self.node("ArgMax", operands, axis=1, keepdims=0)
            case "cos":  # onnxruntime 1.23 has it in single precision only
                return self.node("Sin", [self.node("Add", [*operands, self.number(np.pi / 2)])])
            case "arcsin":
                return self._arcsin(*operands)
            case "log1p":
                return self._log1p(*operands)
            case _:
                return self.node(_NAMES[op], operands)

    def _log1p(self, a: str) -> str:
        """Add log(1 + a) for a ≥ 0, by Kahan's correction of the rounding of 1 + a: ONNX has none of its own."""
        unit = self.number(1.0)
        above = self.node("Add", [a, unit])
        by = self.node("Sub", [above, unit])
        is_one = self.node("Equal", [above, unit])
        safe = self.node("Where", [is_one, unit, by])
        ratio = self.node("Div", [self.node("Mul", [self.node("Log", [above]), a]), safe])
        return self.node("Where", [is_one, a, ratio])

    def _arcsin(self, a: str) -> str:
        """Add the arcsine by a polynomial: onnxruntime has it in single precision only."""
        half = self.number(0.5)
        size = self.node("Abs", [a])
        near = self.node("Less", [half, size])
        outer = self.node("Mul", [half, self.node("Sub", [self.number(1.0), size])])
        z = self.node("Where", [near, outer, self.node("Mul", [size, size])])
        s = self.node("Where", [near, self.node("Sqrt", [z]), size])
        *lower, p = map(self.number, ARCSINE)
        for coefficient in reversed(lower):
            p = self.node("Add", [self.node("Mul", [p, z]), coefficient])
        p = self.node("Mul", [p, s])
        far = self.node("Sub", [self.number(np.pi / 2), self.node("Add", [p, p])])
        return self.node("Mul", [self.node("Where", [near, far, p]), self.node("Sign", [a])])
