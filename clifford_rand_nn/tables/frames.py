"""Tables from disk as data frames: one function for every kind of file."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import read_npz, reading_parquet
from clifford_rand_nn.tables.delimited import read_delimited
from clifford_rand_nn.tables.dialect import find_dialect
from clifford_rand_nn.tables.files import existing_table, read_ending, refuse_duplicates


def read_frame(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    encoding: str | None = None,
) -> Any:
    r"""Read a table as a pandas data frame.

    Parameters
    ----------
    path : path
        .csv, .tsv, also compressed (.csv.gz, .tsv.gz), .parquet, .npz or .arff. An NPZ holds features ``X`` (n, d),
        the columns of which are called as its ``feature_names`` say, or x0, x1, …, and other columns as arrays (n,).
    text : sequence of str
        Columns of a CSV whose cells stay as they are written: "007" and "NA" are texts.
    separator : str or None
        Of cells; None finds out which one of ``, ; tab |`` it is.
    decimal : {".", ","} or None
        None finds out.
    header : bool
        Whether the first line holds the names of the columns; if not, they are c1, c2, ….
    encoding : str or None
        None is UTF-8, or UTF-16 where the file begins with its mark.

    Returns
    -------
    pandas.DataFrame
        What was found out is in ``frame.attrs["notes"]``, a list of sentences.

    Raises
    ------
    ArgumentError
        The file is missing, empty, malformed or of another kind.
    MissingDependencyError
        pandas (for Parquet pyarrow, too) is missing.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "train.csv"
    >>> _ = path.write_text("price;city\n1,5;Oslo\n2,25;Bergen\n")
    >>> frame = read_frame(path)
    >>> frame["price"].tolist(), frame.attrs["notes"]
    ([1.5, 2.25], ['the cells are separated by semicolons', 'decimals are written with a comma'])
    """
    file = existing_table(path)
    ending = read_ending(file)
    if ending == ".parquet":
        return _read_parquet(file)
    if ending == ".npz":
        return _read_arrays(file)
    if ending == ".arff":
        from clifford_rand_nn.tables.arff import read_arff

        return read_arff(file, encoding)
    dialect = find_dialect(file, separator=separator, decimal=decimal, header=header, encoding=encoding)
    return read_delimited(file, dialect, text)


def last_column(path: str | Path) -> str:
    """Return the name of the last column of a table, without reading all of a CSV."""
    file = existing_table(path)
    if read_ending(file) in (".parquet", ".npz", ".arff"):
        return str(read_frame(file).columns[-1])
    dialect = find_dialect(file)
    return [name for i, name in enumerate(dialect.names) if i not in dialect.left_out][-1]


def _read_parquet(file: Path) -> Any:
    """Read a Parquet file, its columns under their names as text."""
    pandas = require("pandas", extra="app", purpose="reading a Parquet table")
    with reading_parquet(file):
        frame = pandas.read_parquet(file)
    frame.columns = [str(name) for name in frame.columns]
    refuse_duplicates(file, list(frame.columns))
    frame.attrs["notes"] = []
    return frame


def _read_arrays(file: Path) -> Any:
    """Read the features and other columns of an NPZ file."""
    pandas = require("pandas", extra="app", purpose="reading an NPZ as a data frame")
    arrays, there = read_npz(file, None)
    if "X" not in arrays or arrays["X"].ndim != 2:
        raise ArgumentError(f"{file}: there is no array 'X' (n, d) with the features; the arrays are {there}.")
    X = arrays.pop("X")
    names = arrays.pop("feature_names", np.array([f"x{i}" for i in range(X.shape[1])])).ravel().tolist()
    if len(names) != X.shape[1]:
        raise ArgumentError(f"{file}: 'feature_names' has {len(names)} names for {X.shape[1]} columns of 'X'.")
    frame = pandas.DataFrame(X, columns=[str(name) for name in names])
    for name, column in arrays.items():
        if column.shape in ((len(X),), (len(X), 1)):
            frame[name] = column.reshape(-1)
    refuse_duplicates(file, list(frame.columns))
    frame.attrs["notes"] = []
    return frame
