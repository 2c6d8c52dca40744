"""Steps of scikit-learn before a model, as ONNX by skl2onnx."""

from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.export.onnx_file import OPSET

_ML_OPSET = 3


def converted(steps: Any, model: Any, example: Any = None) -> Any:
    """Return one `onnx.ModelProto` of a fitted pipeline of scikit-learn's steps and the model after it.

    Numbers are float32, as skl2onnx has all its steps for them; those that the model takes are the steps' own.
    """
    onnx = require("onnx", extra="onnx", purpose="export_onnx")
    skl2onnx = require("skl2onnx", extra="onnx", purpose="export_onnx of scikit-learn's steps")
    types = require("skl2onnx.common.data_types", extra="onnx", purpose="export_onnx of scikit-learn's steps")
    inputs, opsets = _inputs(steps, types, example), {"": OPSET, "ai.onnx.ml": _ML_OPSET}
    try:
        before = skl2onnx.convert_sklearn(steps, "steps", inputs, target_opset=opsets)
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        said = " ".join(str(error).split())[:300]
        raise ArgumentError(f"skl2onnx has no form of these steps in ONNX: {said}") from error
    for one in (before, model):
        del one.opset_import[:]
        one.opset_import.extend(
            [onnx.helper.make_opsetid("", OPSET), onnx.helper.make_opsetid("ai.onnx.ml", _ML_OPSET)]
        )
        one.ir_version = model.ir_version
    before = onnx.compose.add_prefix(before, "steps.")
    _rename_inputs(before.graph, [name for name, _ in inputs])
    both = onnx.compose.merge_models(before, model, io_map=[(before.graph.output[0].name, "X")])
    both.producer_name, both.producer_version = model.producer_name, model.producer_version
    onnx.helper.set_model_props(both, {one.key: one.value for one in model.metadata_props})
    return both


def _inputs(steps: Any, types: Any, example: Any) -> list[tuple[str, Any]]:
    """Return names and types: X, or columns of their own where the first step was fitted to some that have names."""
    names = getattr(steps, "feature_names_in_", None)
    if example is not None and hasattr(example, "dtypes"):
        words = [not _is_number(dtype) for dtype in example.dtypes]
        kinds = [types.StringTensorType if word else types.FloatTensorType for word in words]
        return [(str(name), kind([None, 1])) for name, kind in zip(example.columns, kinds, strict=True)]
    if names is not None and _takes_names(steps):
        hint = "A few rows of the table tell which columns are texts."
        raise fail("example", "export_onnx", "given for steps that take columns by name", describe("nothing"), hint)
    if getattr(steps[0], "n_features_in_", None) is None:
        hint = "Export its last step with to_onnx; the file then takes what pipeline[:-1].transform makes of texts."
        raise fail(
            "model", "export_onnx", "without steps that take texts", describe(f"a {type(steps[0]).__name__}"), hint
        )
    return [("X", types.FloatTensorType([None, int(steps.n_features_in_)]))]


def _rename_inputs(graph: Any, names: list[str]) -> None:
    """Give inputs the names of the columns, of which skl2onnx made names of programming languages, with a prefix."""
    new = {one.name: name for one, name in zip(graph.input, names, strict=True)}
    for one in graph.input:
        one.name = new[one.name]
    for node in graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]


def _takes_names(steps: Any) -> bool:
    return any(hasattr(step, "transformers_") for _, step in steps.steps)


def _is_number(dtype: Any) -> bool:
    return getattr(dtype, "kind", "O") in "iufb"
