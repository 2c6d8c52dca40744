"""Tables from disk as data frames: one function for every kind of file."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_instance, fail
from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import read_npz, reading_parquet
from clifford_rand_nn.tables.delimited import read_delimited
from clifford_rand_nn.tables.dialect import find_dialect, without_a_name
from clifford_rand_nn.tables.files import existing_table, listed, read_ending, refuse_duplicates
from clifford_rand_nn.tables.notes import column_names


def read_frame(
    path: str | Path,
    *,
    text: Sequence[str] = (),
    as_text: Sequence[str] = (),
    separator: str | None = None,
    decimal: str | None = None,
    header: bool = True,
    encoding: str | None = None,
) -> Any:
    r"""Read a table as a pandas data frame.

    Parameters
    ----------
    path : path
        .csv, .tsv, .txt, .dat or .data, also compressed (.csv.gz, .zip with one file), .parquet, .npz, .arff, or .xlsx,
        of which the first sheet is read. An NPZ holds features ``X`` (n, d),
        the columns of which are called as its ``feature_names`` say, or x0, x1, …, and other columns as arrays (n,).
    text : sequence of str
        Columns of a CSV whose cells stay as they are written: "007" and "NA" are texts, and an empty cell is one.
    as_text : sequence of str
        Likewise, but "NA" and empty cells are missing: codes such as "007" that are categories.
    separator : str or None
        Of cells; None finds out which one of ``, ; tab |`` it is, or any number of spaces (" ").
    decimal : {".", ","} or None
        None finds out.
    header : bool
        Whether the first line holds the names of the columns; if not, they are c1, c2, ….
    encoding : str or None
        None is UTF-8, or UTF-16 or UTF-32 where the file begins with its byte order mark.

    Returns
    -------
    pandas.DataFrame
        What was found out is in ``frame.attrs["notes"]``, a list of sentences.

    Raises
    ------
    ArgumentError
        The file is missing, empty, malformed or of another kind; a column that is named is not there.
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
    owner = "read_frame"
    columns = {"text": column_names(text, "text", owner), "as_text": column_names(as_text, "as_text", owner)}
    header = check_bool(header, "header", owner)
    if encoding is not None:
        check_instance(encoding, str, "encoding", owner, "the name of an encoding, or None")
    dialect: dict[str, Any] = {"separator": separator, "decimal": decimal, "header": header, "encoding": encoding}
    frame = read_known(path, **columns, **dialect)
    there = [str(name) for name in frame.columns]
    for parameter, names in columns.items():
        for name in names:
            if name not in there:
                hint = f"The columns are {listed(there, name)}."
                raise fail(parameter, owner, "names of columns of the table", name, hint)
    return frame


def read_known(path: str | Path, *, text: Sequence[str] = (), as_text: Sequence[str] = (), **dialect: Any) -> Any:
    """Read as `read_frame`, but columns that are not there are the caller's to refuse."""
    file = existing_table(path)
    ending = read_ending(file)
    if ending == ".parquet":
        return _read_parquet(file)
    if ending == ".npz":
        return _read_arrays(file)
    if ending == ".arff":
        from clifford_rand_nn.tables.arff import read_arff

        return read_arff(file, dialect.get("encoding"))
    if ending == ".xlsx":
        return _read_excel(file, dialect.get("header", True))
    return read_delimited(file, find_dialect(file, **dialect), text, as_text)


def last_column(path: str | Path, **dialect: Any) -> str:
    """Return the name of the last column of a table, without reading all of a CSV; ``dialect`` as for `read_frame`."""
    file = existing_table(path)
    if read_ending(file) in (".parquet", ".npz", ".arff", ".xlsx"):
        return str(read_frame(file, **dialect).columns[-1])
    found = find_dialect(file, **dialect)
    return found.names[found.kept[-1]]


def _read_parquet(file: Path) -> Any:
    """Read a Parquet file, its columns under their names as text."""
    pandas = require("pandas", extra="app", purpose="reading a Parquet table")
    with reading_parquet(file):
        frame = pandas.read_parquet(file)
    frame.columns = [str(name) for name in frame.columns]
    refuse_duplicates(file, list(frame.columns))
    frame.attrs["notes"] = []
    return frame


def _read_excel(file: Path, header: bool) -> Any:
    """Read the first sheet of an Excel file; texts such as 007 stay texts."""
    pandas = require("pandas", extra="app", purpose="reading an Excel table")
    require("openpyxl", extra="app", purpose="reading an Excel table")
    try:
        frame = pandas.read_excel(file, header=None, dtype=object, engine="openpyxl").dropna(how="all")
    except Exception as error:  # openpyxl raises whatever the parsers of XML and zip do
        raise ArgumentError(f"{file}: this is not a readable Excel file: {error}.") from error
    names = [f"c{i + 1}" for i in range(frame.shape[1])]
    notes, kept = ["the first sheet is read"], names
    if header and len(frame):
        names = ["" if pandas.isna(name) else str(name) for name in frame.iloc[0]]
        frame = frame.iloc[1:]
        left_out, said = without_a_name(file, names, frame.fillna("").astype(str).to_numpy().tolist())
        notes += said
        kept = [name for i, name in enumerate(names) if i not in left_out]
        frame = frame[[column for i, column in enumerate(frame.columns) if i not in left_out]]
    refuse_duplicates(file, kept)
    frame = frame.set_axis(kept, axis=1).reset_index(drop=True).infer_objects()
    frame.attrs["notes"] = notes
    return frame


def _read_arrays(file: Path) -> Any:
    """Read the features and other columns of an NPZ file."""
    pandas = require("pandas", extra="app", purpose="reading an NPZ as a data frame")
    arrays, there = read_npz(file, None)
    if "X" not in arrays or arrays["X"].ndim != 2:
        raise ArgumentError(f"{file}: there is no array 'X' (n, d) with the features; the arrays are {listed(there)}.")
    X = arrays.pop("X")
    names, beside = named_columns(file, X.shape, arrays)
    frame = pandas.concat([pandas.DataFrame(X, columns=names), pandas.DataFrame(beside)], axis=1)
    frame.attrs["notes"] = []
    return frame


def named_columns(
    file: Path, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]
) -> tuple[list[str], dict[str, NDArray[Any]]]:
    """Return the names of the columns of X, and the arrays that are columns beside them."""
    given = arrays.get("feature_names")
    names = [f"x{i}" for i in range(shape[1])] if given is None else [str(name) for name in given.ravel()]
    if len(names) != shape[1]:
        raise ArgumentError(f"{file}: 'feature_names' has {len(names)} names for {shape[1]} columns of 'X'.")
    columns = {
        name: array.reshape(-1)
        for name, array in arrays.items()
        if name not in ("X", "feature_names") and array.shape in ((shape[0],), (shape[0], 1))
    }
    refuse_duplicates(file, [*names, *columns])
    return names, columns
