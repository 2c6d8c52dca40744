"""``clifford-rand explain``: a model, or its predictions for rows of a table, explained."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.cli.console import PICTURES, check_out, complain, print_json, refused_data, say
from clifford_rand_nn.cli.options import ExplainOptions, TableFormat
from clifford_rand_nn.cli.tables import LoadedModel, read_model
from clifford_rand_nn.tables import read_frame
from clifford_rand_nn.tables.cells import without_marks
from clifford_rand_nn.tables.model import training_rows

_TOP = 50  # rows of training and neurons in JSON
_WIDE, _LOW, _LINE = 7.5, 1.4, 0.42  # inches of a picture: width, height without bars, height of a bar


def run_explain(
    path: Path, table: Path | None, row: Sequence[int] | None, options: ExplainOptions, table_format: TableFormat
) -> None:
    """Read, explain, and print or draw."""
    picture, as_json, train, target = options.picture, options.as_json, options.train, options.target
    dialect = table_format.keywords
    if picture is not None:
        require("matplotlib", extra="app", purpose="drawing")
        check_out(picture, options.force, PICTURES, "the picture")
    if row and table is None:
        raise ArgumentError("--row needs a table: clifford-rand explain model.npz table.csv --row 3.")
    if target is not None and train is None:
        raise ArgumentError("--target names a column of --train, which was not given.")
    if picture is not None and row is not None and len(row) > 1:
        raise ArgumentError(f"--picture draws one row, and {len(row)} were given; draw each by itself.")
    from clifford_rand_nn.explanation.model_summary import explain

    loaded = read_model(path)
    model, rows, truth = loaded.whole, None, None
    if train is not None:
        rows, truth = _read_training(loaded, train, target, dialect)
    if table is None:
        with refused_data(str(train or path)):
            whole = explain(model, X_train=rows, y_train=truth)
        if as_json:
            print_json({"model_file": str(path), "explained": whole.to_dict(_TOP)})
        else:
            say(str(whole))
        _draw(whole, picture)
        return
    frame = loaded.columns_of(table, read_frame(table, **dialect))
    numbers = list(row) if row else [0]
    beyond = next((number for number in numbers if number >= len(frame)), None)
    if beyond is not None:
        raise ArgumentError(f"{table}: there is no row {beyond}; it has {len(frame)} rows, counted from 0.")
    if not row and len(frame) > 1 and not as_json:
        say(f"Row 0 of {len(frame)}; --row takes another.\n")
    with refused_data(str(table)):
        taken = frame.iloc[numbers] if hasattr(frame, "iloc") else frame[numbers]
        explanation = explain(model, taken, X_train=rows, y_train=truth)
    if as_json:
        explained = [{"row": i} | record for i, record in zip(numbers, explanation.to_dict(_TOP), strict=True)]
        print_json({"model_file": str(path), "table": str(table), "explained": explained})
    else:
        for i, number in enumerate(numbers):
            say(f"Row {number} of {table}")
            say(str(explanation[i]) + ("\n" if i + 1 < len(numbers) else ""))
    _draw(explanation, picture)


def _read_training(loaded: LoadedModel, train: Path, target: str | None, dialect: Mapping[str, Any]) -> tuple[Any, Any]:
    """Return the rows of a table and their targets, those left out that have none, as in a fit."""
    frame = read_frame(train, **dialect)
    last = str(frame.columns[-1])
    if target is None and last not in (loaded.names or ()):
        target = last
        complain("note", f"{train}: the target is the last column, {last!r}; else give --target")
    if target is None:
        complain("note", f"{train}: there is no column for the target, so no permutation importance")
        return loaded.columns_of(train, frame), None
    marks = loaded.encoder.missing_values if loaded.encoder else ()
    parts = training_rows(without_marks(frame, marks, target), target, what=str(train))
    if parts.left_out:
        complain("note", f"{train}: rows are counted without the {parts.left_out} that have no {target!r}, as in fit")
    return loaded.columns_of(train, parts.features), parts.target


def _draw(explanation: Any, picture: Path | None) -> None:
    if picture is None:
        return
    from matplotlib.figure import Figure

    from clifford_rand_nn.displays.style import save_figure

    columns = explanation.columns
    bars = min(len(columns) if isinstance(columns, list) else columns.shape[2] + 2, 12)
    figure = Figure(figsize=(_WIDE, _LOW + _LINE * bars), layout="constrained")
    explanation.plot(figure.subplots())
    save_figure(figure, picture)
