"""Tables from disk as data frames, whole or in blocks: one function each for every format of file."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from clifford_rand._checks import check_bool, check_instance, check_integer, fail
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.encoded_rows import column_names
from clifford_rand_nn.tables.formats import NpzFile, open_table
from clifford_rand_nn.tables.writers import listed

Columns = Sequence[str] | Callable[[list[str]], Sequence[str]] | None


def read_frame(
    path: str | Path,
    *,
    verbatim: Sequence[str] = (),
    string_columns: Sequence[str] = (),
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
    verbatim : sequence of str
        Columns of a CSV whose cells stay as they are written: "007" and "NA" are texts, and an empty cell is one.
    string_columns : sequence of str
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
        The file is empty, malformed or of another kind; a column that is named is not there.
    FileNotFoundError
        There is no such file.
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
    given = {"verbatim": verbatim, "string_columns": string_columns}
    columns = {name: column_names(value, name, owner) for name, value in given.items()}
    header = check_bool(header, "header", owner)
    if encoding is not None:
        check_instance(encoding, str, "encoding", owner, "the name of an encoding, or None")
    table = open_table(path, separator=separator, decimal=decimal, header=header, encoding=encoding)
    frame = table.read(**columns)
    present = [str(name) for name in frame.columns]
    for parameter, names in columns.items():
        for name in names:
            if name not in present:
                hint = f"The columns are {listed(present, name)}."
                raise fail(parameter, owner, "names of columns of the table", name, hint)
    return frame


def read_blocks(
    path: str | Path,
    *,
    rows: int = 2**14,
    columns: Columns = None,
    string_columns: Sequence[str] = (),
    as_number: Sequence[str] = (),
    **dialect: Any,
) -> Iterator[Any]:
    r"""Read a table as data frames of about ``rows`` rows, in their order, so that memory does not grow with the file.

    Parquet is read by its row groups, an NPZ by the rows of X (an X in Fortran's order, ARFF and Excel, at once), CSV
    by pandas' reader of chunks.

    Parameters
    ----------
    path : path
        As for `read_frame`.
    rows : int
        About as many in a frame.
    columns : sequence of str, function or None
        Those to read; None for all. A function gets the names that are there, and returns those to read.
    string_columns : sequence of str
        Columns of a CSV whose cells are texts in every frame, even if those of one are all numbers; the
        `columns_as_text` of a `TableEncoder`.
    as_number : sequence of str
        Columns of a CSV that hold numbers, among which no codes such as 007 are looked for; the
        `columns_as_number` of a `TableEncoder`.
    dialect
        ``separator``, ``decimal``, ``header`` and ``encoding`` as for `read_frame`.

    Yields
    ------
    pandas.DataFrame
        The index counts the rows of the file.

    Raises
    ------
    ArgumentError
        As `read_frame` does; a block may come before the fault is met.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "new.csv"
    >>> _ = path.write_text("a,b\n" + "1,x\n" * 5)
    >>> [frame.shape for frame in read_blocks(path, columns=["a"])]
    [(5, 1)]
    """
    rows = check_integer(rows, "rows", "read_blocks")
    table = open_table(path, **dialect)
    wanted = None
    if columns is not None:
        names = table.names
        wanted = list(columns(names) if callable(columns) else columns)
        for name in wanted:
            if name not in names:
                message = f"there is no column {name!r}; the columns are {listed(names, name)}"
                raise ArgumentError(f"{table.file}: {message}.")
    return _counted(table.file, table.blocks(rows, wanted, string_columns, as_number))


def _counted(file: Path, blocks: Iterator[Any]) -> Iterator[Any]:
    """Count the rows through."""
    n = 0
    for frame in blocks:
        frame = frame.reset_index(drop=True)
        frame.index += n
        n += len(frame)
        yield frame
    if n == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")


def default_target(path: str | Path, **dialect: Any) -> str:
    """Return the target of a table for which none is named: the last column, or ``y`` of an NPZ.

    ``dialect`` has the options of `read_frame` for a file: separator, decimal, header, encoding.
    """
    table = open_table(path, **dialect)
    return "y" if isinstance(table, NpzFile) else table.names[-1]
