"""``clifford-rand predict``: a model file and a table in, predictions out."""

import csv
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_number
from clifford_rand._files import replaced
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import complain, note_ignored, refused_data, say
from clifford_rand_nn.model_file import load_model
from clifford_rand_nn.tables import check_ending, read_table


def run_predict(model_path: Path, new: Path, out: Path, coverage: float = 0.9) -> None:
    """Load, read, predict and write; a share ``coverage`` of new values is to be inside the intervals, if there are."""
    check_number(coverage, "--coverage", "clifford-rand predict", "between 0 and 1", lambda c: 0 < c < 1)
    check_ending(out)
    if not out.absolute().parent.is_dir():
        raise ArgumentError(f"{out}: there is no folder {out.absolute().parent}.")
    model = load_model(model_path)
    names = getattr(model, "feature_names_in_", None)
    table = read_table(new, columns=None if names is None else list(names))
    if table.X.shape[1] != model.n_features_in_:
        raise ArgumentError(
            f"{new}: there are {table.X.shape[1]} feature columns, the model wants {model.n_features_in_}; it was "
            "trained without names, so give exactly its features in its order."
        )
    if names is not None and table.names is None:
        complain("note", f"{new} has no feature_names; its columns are taken in the order of the model.")
    note_ignored(str(new), table.ignored)
    with refused_data(str(new)):
        columns = prediction_columns(model, table.X, coverage)
    write_columns(out, columns)
    say(f"{len(table.X)} predictions written to {out}")


def prediction_columns(model: Any, X: NDArray[np.float64], coverage: float = 0.9) -> dict[str, NDArray[Any]]:
    """Return ``prediction``; for classes ``probability_<class>``, or where there is none ``score[_<class>]``.

    For numbers ``low`` and ``high``, the ends of the intervals, where the model has them.
    """
    with warnings.catch_warnings():  # the columns were matched by name already
        warnings.filterwarnings("ignore", message="X does not have valid feature names")
        columns: dict[str, NDArray[Any]] = {"prediction": model.predict(X)}
        if not hasattr(model, "classes_"):
            if hasattr(model, "predict_interval") and columns["prediction"].ndim == 1:
                columns["low"], columns["high"] = model.predict_interval(X, coverage)
            return columns
        if hasattr(model, "predict_proba"):
            values, prefix = model.predict_proba(X), "probability"
        else:
            values, prefix = model.decision_function(X), "score"
    if values.ndim == 1:
        return columns | {prefix: values}
    return columns | {f"{prefix}_{label}": values[:, i] for i, label in enumerate(model.classes_)}


def write_columns(path: str | Path, columns: Mapping[str, NDArray[Any]]) -> None:
    """Write columns of one length to a CSV, Parquet or NPZ file, by its ending. Only Parquet needs pandas.

    The file appears complete or not at all.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "out.csv"
    >>> write_columns(path, {"prediction": np.array(["a", "b"]), "score": np.array([0.1, -2.0])})
    >>> path.read_text().splitlines()
    ['prediction,score', 'a,0.1', 'b,-2.0']
    """
    ending = check_ending(path)
    with replaced(path) as new:
        if ending == ".csv":
            with open(new, "w", newline="", encoding="utf-8") as text:
                writer = csv.writer(text, lineterminator="\n")
                writer.writerow(columns)
                writer.writerows(zip(*(values.tolist() for values in columns.values()), strict=True))
        elif ending == ".npz":
            plain = {name: values.astype(str) if values.dtype == object else values for name, values in columns.items()}
            with open(new, "wb") as stream:
                np.savez(stream, **cast("Any", plain))
        else:
            pandas = require("pandas", extra="app", purpose="Parquet")
            require("pyarrow", extra="app", purpose="Parquet")
            pandas.DataFrame(dict(columns)).to_parquet(new, index=False)
