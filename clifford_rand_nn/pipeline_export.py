"""Fitted models and pipelines for other libraries: as an ONNX file, or as NumPy source."""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from clifford_rand._checks import check_choice, check_dtype, check_path, describe, fail
from clifford_rand_nn.estimators.cv import BetaCV
from clifford_rand_nn.export.methods import Exported, check_coverage
from clifford_rand_nn.export.numpy_source import write_source
from clifford_rand_nn.export.onnx_file import onnx_model, save_onnx
from clifford_rand_nn.export.program import Program
from clifford_rand_nn.pipeline_steps import of_columns, with_steps
from clifford_rand_nn.tables.encoder import TableEncoder
from clifford_rand_nn.tables.encoder_program import stated_table


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
    path : path that ends in .onnx
    dtype : "float32" or "float64", default "float32"
        Of the input X, and of the outputs that are numbers.
    coverage : float between 0 and 1, or None, default 0.9
        That of the intervals of a regressor; None leaves them out.
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
    return save_onnx(exported_onnx(model, dtype, coverage, example), path)


def export_source(model: Any, path: str | os.PathLike[str] | None = None, *, coverage: float | None = 0.9) -> str:
    """Return a fitted model, or a pipeline that ends with one, as a Python module that needs NumPy alone.

    It is the text of the method `to_source`. Behind `TableEncoder` X is a table: a dict of columns, or a data frame;
    dates are those of `datetime` or NumPy, or texts such as 2020-01-31. Scalers, SimpleImputer, selectors, PCA and
    TruncatedSVD on columns of numbers are inside.

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
    program = stated_model(model, check_coverage(coverage, "export_source"))
    if program is None:
        steps = [step for _, step in _pipeline(model).steps if step is not None and not isinstance(step, str)]
        found = describe("a pipeline of " + ", ".join(type(step).__name__ for step in steps))
        hint = "Export its last step with to_source, or the whole with export_onnx."
        rule = "an estimator, or one after a TableEncoder or after scalers, SimpleImputer, selectors and PCA"
        raise fail("model", "export_source", rule, found, hint)
    return write_source(program, path)


def export_torch(model: Any, path: str | os.PathLike[str]) -> dict[str, str]:
    """Write a fitted model as a program of PyTorch (`torch.export`), which needs this library no more.

    It takes rows (n, d) of float64 and gives a dict: ``label``, the place of the label in ``classes_``, and
    ``probabilities``, or ``scores`` where the model has none; else ``variable``. Of a pipeline it is the program of
    the estimator that it ends with: encoding stays outside, and the program takes what ``pipeline[:-1].transform``
    makes of a table. To train on, take the method `to_torch` of the estimator.

    Parameters
    ----------
    model : estimator, network, `BetaCV` or Pipeline
        Fitted.
    path : path that ends in .pt2

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
    last = model if isinstance(model, Exported) and not isinstance(model, BetaCV) else _last(model)
    from clifford_rand_nn.export.torch_module import save_program

    return save_program(last._program(0.9), path)


def stated_model(model: Any, coverage: float | None = 0.9) -> Program | None:
    """Return what a model or a pipeline computes; None for pipelines whose steps do not state themselves."""
    inner = getattr(model, "estimator_", None) if isinstance(model, BetaCV) else None
    if isinstance(inner, Pipeline):
        return stated_model(inner, coverage)
    if isinstance(model, Exported):
        return model._program(coverage)
    pipeline = _pipeline(model)
    check_is_fitted(pipeline)
    steps = [step for _, step in pipeline.steps if step is not None and not isinstance(step, str)]
    if not isinstance(steps[-1], Exported):
        raise _refused(steps[-1])
    if len(steps) == 1:
        return stated_model(steps[0], coverage)
    program, encoder = stated_model(steps[-1], coverage), steps[0]
    assert program is not None
    if not isinstance(encoder, TableEncoder):
        return with_steps(program, steps[:-1])
    if len(steps) > 2:
        return None
    rows, table = stated_table(encoder)
    return replace(program, rows=rows, table=table, columns=tuple(map(str, encoder.get_feature_names_out())))


def exported_onnx(model: Any, dtype: Any = "float32", coverage: float | None = 0.9, example: Any = None) -> Any:
    """Return the model of `export_onnx` as an `onnx.ModelProto`."""
    word = dtype if isinstance(dtype, str | None) else check_dtype(dtype, "dtype", "export_onnx", "f").name
    dtype = check_choice(word, "dtype", "export_onnx", ("float32", "float64"))
    program = stated_model(model, check_coverage(coverage, "export_onnx"))
    if program is not None:
        piped = isinstance(getattr(model, "estimator_", model), Pipeline) and not program.table
        named = piped and tuple(map(str, getattr(example, "columns", ()))) == program.columns
        return onnx_model(of_columns(program) if named else program, dtype)
    if dtype != "float32":
        hint = "Steps of scikit-learn other than scalers, SimpleImputer, selectors and PCA are float32 in skl2onnx."
        raise fail("dtype", "export_onnx", "'float32' for this pipeline", dtype, hint)
    from clifford_rand_nn.pipeline_skl2onnx import converted

    pipeline = _pipeline(model)
    last = stated_model(pipeline.steps[-1][1], coverage)
    assert last is not None
    passed = ("passthrough", None)
    before = [(name, step) for name, step in pipeline.steps[:-1] if step not in passed]
    return converted(Pipeline(before), onnx_model(last, "float32"), example)


def _pipeline(model: Any) -> Any:
    inner = getattr(model, "estimator_", model) if isinstance(model, BetaCV) else model
    if not isinstance(inner, Pipeline):
        raise _refused(inner)
    return inner


def _last(model: Any) -> Any:
    """Return the estimator of a search, or the one that a pipeline ends with."""
    if isinstance(model, BetaCV):
        check_is_fitted(model, "estimator_")
        model = model.estimator_
    last = model.steps[-1][1] if isinstance(model, Pipeline) else model
    if not isinstance(last, Exported):
        raise _refused(last)
    return last


def _refused(model: Any) -> Exception:
    rule = "a fitted estimator or network of clifford_rand_nn, or a pipeline that ends with one"
    return fail("model", "export", rule, describe(type(model).__name__))
