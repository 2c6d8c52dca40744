"""Fitted models and pipelines for other libraries: as an ONNX file, or as NumPy source."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.base import MetaEstimatorMixin
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import check_choice, check_dtype, check_path, describe, fail
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.export.methods import Exported, check_coverage, program_of
from clifford_rand_nn.export.numpy_source import write_source
from clifford_rand_nn.export.onnx_file import OPSET, onnx_model, save_onnx
from clifford_rand_nn.export.preprocessing import column_effect, table_program
from clifford_rand_nn.export.program import Program, Value, beside, column, ordered, rows

_ML_OPSET = 3  # of the operators that skl2onnx writes


def export_onnx(
    model: Any,
    path: str | os.PathLike[str],
    *,
    dtype: Any = "float32",
    coverage: float | None = 0.9,
    example: Any = None,
) -> Path:
    """Write a fitted model, or a pipeline that ends with one, as an ONNX file.

    Of an estimator or a network the file is that of its method `to_onnx`. Of a pipeline that `table_model` made, or of
    any other of `TableEncoder` and an estimator, the inputs are the columns of the table, each (n, 1) under its name:

    * numbers, and booleans and categories that were numbers in the table: float64, NaN where they are missing;
    * categories, and booleans such as yes and no, that were texts: text, empty where they are missing;
    * dates: float64, days since 1970-01-01 with their fractions on the clock of the column's time zone, NaN where they
      are missing; times such as 08:30 are fractions of a day.

    Categories that were not there in training are as in the pipeline. Scalers, SimpleImputer, selectors, PCA and
    TruncatedSVD on columns of numbers are inside, too, and X is what the first of them takes. Pipelines with other
    steps of scikit-learn (ColumnTransformer, OneHotEncoder, …) are converted by skl2onnx, in single precision.

    Parameters
    ----------
    model : estimator, network, `BetaCV` or Pipeline
        Fitted.
    path, dtype, coverage
        As in the method `to_onnx`.
    example : data frame, optional
        Some rows of the table, for pipelines whose first step is fitted to named columns: the inputs are then these,
        each (n, 1), and columns of other kinds than numbers are texts.

    Returns
    -------
    Path
        That was written; the file appears complete or not at all.

    Raises
    ------
    ArgumentError
        The path ends otherwise, or a step has no form in ONNX: words of texts that are hashed, a step of another
        library.
    MissingDependencyError
        onnx, or for other pipelines skl2onnx, is not installed.

    Examples
    --------
    >>> import tempfile
    >>> import numpy as np, onnxruntime, pandas as pd
    >>> from clifford_rand_nn import table_model
    >>> cities, ages = ["Oslo", "Bergen"] * 20, [30, 40, None, 50, 60] * 8
    >>> frame = pd.DataFrame({"city": cities, "age": ages, "buys": ["no", "yes"] * 20})
    >>> path = export_onnx(table_model(frame, "buys"), Path(tempfile.mkdtemp()) / "model.onnx")
    >>> session = onnxruntime.InferenceSession(path)
    >>> [(one.name, one.type, one.shape) for one in session.get_inputs()]
    [('city', 'tensor(string)', ['rows', 1]), ('age', 'tensor(double)', ['rows', 1])]
    >>> session.run(["label"], {"city": [["Oslo"], ["Bergen"]], "age": np.array([[44.0], [np.nan]])})[0].tolist()
    ['no', 'yes']
    """
    word = dtype if isinstance(dtype, str | None) else check_dtype(dtype, "dtype", "export_onnx", "f").name
    dtype = check_choice(word, "dtype", "export_onnx", ("float32", "float64"))
    program = model_program(model, check_coverage(coverage, "export_onnx"))
    if program is not None:
        in_pipeline = isinstance(getattr(model, "estimator_", model), Pipeline) and not program.table
        is_named = in_pipeline and tuple(map(str, getattr(example, "columns", ()))) == program.columns
        return save_onnx(onnx_model(_on_columns(program) if is_named else program, dtype), path)
    if dtype != "float32":
        hint = "Steps of scikit-learn other than scalers, SimpleImputer, selectors and PCA are float32 in skl2onnx."
        raise fail("dtype", "export_onnx", "'float32' for this pipeline", dtype, hint)
    *before, (_, last) = _steps(model)
    return save_onnx(_skl2onnx(Pipeline(before), onnx_model(program_of(last, coverage), "float32"), example), path)


def export_source(model: Any, path: str | os.PathLike[str] | None = None, *, coverage: float | None = 0.9) -> str:
    """Return a fitted model, or a pipeline that ends with one, as a Python module that needs NumPy alone.

    It is the text of the method `to_source`, with the steps that `export_onnx` has without skl2onnx. Behind
    `TableEncoder` X is a table: a dict of columns, or a data frame; dates are those of `datetime` or NumPy, or texts
    such as 2020-01-31.

    Parameters
    ----------
    model, path, coverage
        As in `export_onnx`; the path ends in .py, and may be left out.

    Raises
    ------
    ArgumentError
        The pipeline has other steps; the path ends otherwise, or there is none and the text would be too long.

    Examples
    --------
    >>> import pandas as pd
    >>> from clifford_rand_nn import table_model
    >>> frame = pd.DataFrame({"city": ["Oslo", "Bergen"] * 20, "buys": ["no", "yes"] * 20})
    >>> module = {}
    >>> exec(export_source(table_model(frame, "buys")), module)
    >>> module["predict"]({"city": ["Bergen", "Oslo"]}).tolist()
    ['yes', 'no']
    """
    program = model_program(model, check_coverage(coverage, "export_source"))
    if program is None:
        received = describe("a pipeline of " + ", ".join(type(step).__name__ for _, step in _steps(model)))
        hint = "Export its last step with to_source, or the whole with export_onnx."
        rule = "an estimator, or one after a TableEncoder or after scalers, SimpleImputer, selectors and PCA"
        raise fail("model", "export_source", rule, received, hint)
    return write_source(program, path)


def export_torch(model: Any, path: str | os.PathLike[str], *, coverage: float | None = 0.9) -> dict[str, str]:
    """Write a fitted model as a program of PyTorch (`torch.export`), which needs this library no more.

    It takes rows (n, d) of float64 and gives a dict: ``label``, the place of the label in ``classes_``, and
    ``probabilities``, or ``scores`` where the model has none; else ``variable``, with ``low`` and ``high`` where the
    model has intervals. Of a pipeline it is the program of the estimator that it ends with: encoding stays outside, and
    the program takes what ``pipeline[:-1].transform`` makes of a table. To train on, take the method `to_torch` of the
    estimator.

    Parameters
    ----------
    model : estimator, network, `BetaCV` or Pipeline
        Fitted.
    path : path that ends in .pt2
    coverage : float between 0 and 1, or None, default 0.9
        As in `export_onnx`.

    Returns
    -------
    dict of str to str
        What comes out, under which name.

    Raises
    ------
    ArgumentError
        The path ends otherwise, or the model is none of these.
    MissingDependencyError
        PyTorch is not installed.
    """
    if check_path(path, "path", "export_torch").suffix.lower() != ".pt2":
        raise fail("path", "export_torch", "a file name that ends in .pt2", str(path))
    *_, (_, last) = _steps(model)
    from clifford_rand_nn.export.torch_module import save_program

    return save_program(program_of(last, check_coverage(coverage, "export_torch")), path)


def model_program(model: Any, coverage: float | None = 0.9) -> Program | None:
    """Return the program of a model or a pipeline; None for pipelines with steps that have no program."""
    *before, last = [step for _, step in _steps(model)]
    program = program_of(last, coverage)
    if not before:
        return program
    encoding = table_program(before[0])
    if encoding is None:
        return _with_steps(program, before)
    if len(before) > 1:
        return None
    encoded, table = encoding
    return replace(program, rows=encoded, table=table, columns=tuple(map(str, before[0].get_feature_names_out())))


def _steps(model: Any) -> list[tuple[str, Any]]:
    """Return the steps of a fitted pipeline but those that pass all on, or a model alone; a search has its estimator's.

    The last one is of this library.
    """
    if isinstance(model, Exported) and isinstance(model, MetaEstimatorMixin):
        check_is_fitted(model, "estimator_")
        model = vars(model)["estimator_"]
    steps = [("model", model)]
    if isinstance(model, Pipeline):
        check_is_fitted(model)
        steps = [(name, step) for name, step in model.steps if step not in ("passthrough", None)]
    if not isinstance(steps[-1][1], Exported):
        rule = "a fitted estimator or network of clifford_rand_nn, or a pipeline that ends with one"
        raise fail("model", "export", rule, describe(type(steps[-1][1]).__name__))
    return steps


def _with_steps(program: Program, steps: list[Any]) -> Program | None:
    """Return the program of a model on rows as they are before fitted steps; None if a step has no program.

    It computes in double precision, as the model does, where skl2onnx has single precision for its steps.
    """
    X, d = rows(), int(getattr(steps[0], "n_features_in_", 0))
    for i, step in enumerate(steps):
        unnamed = [f"x{j}" for j in range(getattr(step, "n_features_in_", 0))]
        effect = column_effect(step, list(getattr(step, "feature_names_in_", unnamed)))
        may_be_missing = any(isinstance(later, SimpleImputer) for later in steps[i + 1 :])
        if not d or effect.program is None or (may_be_missing and effect.spreads_missing):
            return None
        X = effect.program(X, f"step{i}")
    names = getattr(steps[0], "feature_names_in_", None)
    columns = None if names is None else tuple(map(str, names))
    missing = any(isinstance(step, SimpleImputer) for step in steps)
    return replace(_on(program, X), d=d, columns=columns, width=max(program.width, d), missing=missing)


def _on(program: Program, X: Value) -> Program:
    """Return a program with its rows replaced by what ``X`` computes of other rows."""
    ends = [*program.results.values(), *([] if program.penalty is None else [program.penalty])]
    new: dict[int, Value] = {}
    for value in ordered(ends):
        operands = tuple(new[id(operand)] if isinstance(operand, Value) else operand for operand in value.operands)
        new[id(value)] = X if value.op == "rows" else replace(value, operands=operands) if value.values else value
    penalty = None if program.penalty is None else new[id(program.penalty)]
    return replace(program, results={name: new[id(end)] for name, end in program.results.items()}, penalty=penalty)


def _on_columns(program: Program) -> Program:
    """Return a program on rows as one on a table of their columns, each by its name."""
    table = tuple(column("numbers", name) for name in program.columns or ())
    return replace(program, rows=beside(table).named("X"), table=table)


def _skl2onnx(steps: Pipeline, model: Any, example: Any = None) -> Any:
    """Return one `onnx.ModelProto` of a fitted pipeline of scikit-learn's steps and the model after it.

    Numbers are float32, as skl2onnx has all its steps for them; those that the model takes are the steps' own.
    """
    onnx = require("onnx", extra="onnx", purpose="export_onnx")
    skl2onnx = require("skl2onnx", extra="onnx", purpose="export_onnx of scikit-learn's steps")
    types = require("skl2onnx.common.data_types", extra="onnx", purpose="export_onnx of scikit-learn's steps")
    inputs, opsets = _skl2onnx_inputs(steps, types, example), {"": OPSET, "ai.onnx.ml": _ML_OPSET}
    try:
        before = skl2onnx.convert_sklearn(steps, "steps", inputs, target_opset=opsets)
    except (RuntimeError, NotImplementedError, ValueError, TypeError) as error:
        message = " ".join(str(error).split())[:300]
        raise ArgumentError(f"skl2onnx has no form of these steps in ONNX: {message}") from error
    for part in (before, model):
        del part.opset_import[:]
        part.opset_import.extend(onnx.helper.make_opsetid(*opset) for opset in opsets.items())
        part.ir_version = model.ir_version
    before = onnx.compose.add_prefix(before, "steps.")
    # skl2onnx makes identifiers of the names of columns
    new = {value.name: name for value, (name, _) in zip(before.graph.input, inputs, strict=True)}
    for value in before.graph.input:
        value.name = new[value.name]
    for node in before.graph.node:
        node.input[:] = [new.get(name, name) for name in node.input]
    joined = onnx.compose.merge_models(before, model, io_map=[(before.graph.output[0].name, "X")])
    joined.producer_name, joined.producer_version = model.producer_name, model.producer_version
    onnx.helper.set_model_props(joined, {entry.key: entry.value for entry in model.metadata_props})
    return joined


def _skl2onnx_inputs(steps: Pipeline, types: Any, example: Any) -> list[tuple[str, Any]]:
    """Return names and types: X, or a column each where the first step was fitted to named ones."""
    if example is not None and hasattr(example, "dtypes"):
        numeric = [getattr(dtype, "kind", "O") in "iufb" for dtype in example.dtypes]
        kinds = [types.FloatTensorType if is_number else types.StringTensorType for is_number in numeric]
        return [(str(name), kind([None, 1])) for name, kind in zip(example.columns, kinds, strict=True)]
    takes_names = any(hasattr(step, "transformers_") for _, step in steps.steps)
    if takes_names and getattr(steps, "feature_names_in_", None) is not None:
        hint = "A few rows of the table tell which columns are texts."
        raise fail("example", "export_onnx", "given for steps that take columns by name", describe("nothing"), hint)
    if getattr(steps[0], "n_features_in_", None) is None:
        hint = "Export its last step with to_onnx; the file then takes what pipeline[:-1].transform makes of texts."
        received = describe(f"a {type(steps[0]).__name__}")
        raise fail("model", "export_onnx", "without steps that take texts", received, hint)
    return [("X", types.FloatTensorType([None, int(steps.n_features_in_)]))]
