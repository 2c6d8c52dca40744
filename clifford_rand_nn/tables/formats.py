"""Tables from disk as data frames, whole or in blocks whose memory does not grow with the file, in any format.

To add a format, write a class like these and name its endings in `FORMATS`.
"""

# ruff: noqa: D102  # methods are described by TableFile

import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from clifford_rand._checks import check_bool, check_instance, check_integer, fail
from clifford_rand._files import FAULTS, damaged, npz_rows, read_npz, reading_parquet
from clifford_rand.errors import ArgumentError, require
from clifford_rand_nn.tables.delimited import DelimitedFile, TableFile
from clifford_rand_nn.tables.dialect import not_text, open_text, unnamed_columns
from clifford_rand_nn.tables.encoded_rows import column_names
from clifford_rand_nn.tables.writers import existing_table, listed, read_ending, refuse_duplicates

Columns = Sequence[str] | Callable[[list[str]], Sequence[str]] | None

_BUFFER = 2**16  # bytes of a column of Parquet read at once; without, all of a row group is
# What liac-arff raises beside its own errors, and pandas of categories that are named twice.
_ARFF_FAULTS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_ARFF_DATE = re.compile(r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)date\b.*$""", re.IGNORECASE)


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
    by pandas' reader of chunks. The index counts the rows of the file. ArgumentError is raised as by `read_frame`; a
    block may come before the fault is met.

    ``columns`` are those to read, None for all; a function gets the names that are there, and returns those to read.
    Of a CSV the cells of ``string_columns`` are texts in every frame, even if those of one are all numbers
    (`columns_as_text` of a `TableEncoder`), and among ``as_number`` no codes such as 007 are looked for
    (`columns_as_number`). ``dialect`` has ``separator``, ``decimal``, ``header`` and ``encoding`` as for `read_frame`.

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


class ParquetFile(TableFile):
    """Parquet, in blocks by row groups, without Arrow's read-ahead, which would hold the whole file."""

    @property
    def names(self) -> list[str]:
        parquet = require("pyarrow.parquet", extra="app", purpose="reading a Parquet table")
        with reading_parquet(self.file):
            return [str(name) for name in parquet.read_schema(self.file).names]

    def read(self, verbatim: Sequence[str] = (), string_columns: Sequence[str] = ()) -> Any:
        pandas = require("pandas", extra="app", purpose="reading a Parquet table")
        with reading_parquet(self.file):
            frame = pandas.read_parquet(self.file)
        return _with_names(self.file, frame, list(frame.columns))

    def blocks(
        self, rows: int, wanted: Sequence[str] | None, string_columns: Sequence[str], as_number: Sequence[str]
    ) -> Iterator[Any]:
        parquet = require("pyarrow.parquet", extra="app", purpose="reading a Parquet table")
        require("pandas", extra="app", purpose="reading a Parquet table")
        with (
            reading_parquet(self.file),
            parquet.ParquetFile(self.file, pre_buffer=False, buffer_size=_BUFFER) as source,
        ):
            for batch in source.iter_batches(rows, columns=wanted):
                frame = batch.to_pandas(split_blocks=True)
                frame.columns = [str(name) for name in frame.columns]
                yield frame if wanted is None else frame[wanted]


class NpzFile(TableFile):
    """Features X (n, d) under ``feature_names`` or x0, x1, …, and other columns as arrays (n,); in blocks of X."""

    def read(self, verbatim: Sequence[str] = (), string_columns: Sequence[str] = ()) -> Any:
        frame = next(self.blocks(sys.maxsize, None, (), ()))
        frame.attrs["notes"] = []
        return frame

    def blocks(
        self, rows: int, wanted: Sequence[str] | None, string_columns: Sequence[str], as_number: Sequence[str]
    ) -> Iterator[Any]:
        pandas = require("pandas", extra="app", purpose="reading an NPZ as a data frame")
        _, stored = read_npz(self.file, ())
        if "X" not in stored:
            what = "there is no array 'X' (n, d) with the features"
            raise ArgumentError(f"{self.file}: {what}; the arrays are {listed(stored)}.")
        arrays, _ = read_npz(self.file, [name for name in stored if name != "X"])
        try:
            with npz_rows(self.file, "X", rows) as (shape, blocks):
                if len(shape) != 2:
                    raise ArgumentError(f"{self.file}: 'X' must be an (n, d) array; it has shape {shape}.")
                names, columns = self._columns(shape, arrays)
                begin = 0
                for X in blocks:
                    part = {name: column[begin : begin + len(X)] for name, column in columns.items()}
                    begin += len(X)
                    frame = pandas.concat([pandas.DataFrame(X, columns=names), pandas.DataFrame(part)], axis=1)
                    yield frame if wanted is None else frame[wanted]
                if not shape[0]:
                    yield pandas.DataFrame(columns=[*names, *columns])
        except ArgumentError:
            raise
        except FAULTS as error:
            raise damaged(self.file, "this NPZ file", error) from error

    def _columns(
        self, shape: tuple[int, ...], arrays: Mapping[str, NDArray[Any]]
    ) -> tuple[list[str], dict[str, NDArray[Any]]]:
        """Return the names of the columns of X, and the arrays that are columns beside them."""
        names = [str(name) for name in arrays.get("feature_names", [f"x{i}" for i in range(shape[1])])]
        if len(names) != shape[1]:
            what = f"'feature_names' has {len(names)} names for {shape[1]} columns of 'X'"
            raise ArgumentError(f"{self.file}: {what}.")
        columns = {
            name: array.reshape(-1)
            for name, array in arrays.items()
            if name != "feature_names" and array.shape in ((shape[0],), (shape[0], 1))
        }
        refuse_duplicates(self.file, [*names, *columns])
        return names, columns


class ArffFile(TableFile):
    """Weka's format, by liac-arff: nominal attributes become categories, dates stay text, ? is missing."""

    def read(self, verbatim: Sequence[str] = (), string_columns: Sequence[str] = ()) -> Any:
        pandas = require("pandas", extra="app", purpose="reading an ARFF table")
        arff = require("arff", extra="app", purpose="reading an ARFF table")
        encoding = self.dialect.get("encoding")
        try:
            with open_text(self.file, encoding or "utf-8-sig") as stream:
                # liac-arff does not know dates; they are found out as in every table
                content = arff.load(_ARFF_DATE.sub(r"\1string", line.rstrip("\r\n")) for line in stream)
            names = [name for name, _ in content["attributes"]]
            cells = list(zip(*content["data"], strict=True)) or [()] * len(names)
            columns = []
            for (_, kind), column in zip(content["attributes"], cells, strict=True):
                if isinstance(kind, list):
                    columns.append(pandas.Categorical(column, categories=kind))
                else:
                    dtype = None if kind.upper() == "STRING" else float
                    columns.append(pandas.Series(list(column), dtype=dtype))
            frame = pandas.DataFrame(dict(enumerate(columns)))
        except UnicodeError as error:
            raise not_text(self.file, encoding) from error
        except (arff.ArffException, *_ARFF_FAULTS) as error:
            raise ArgumentError(f"{self.file}: malformed ARFF: {_arff_message(error)}") from error
        return _with_names(self.file, frame, names)


class ExcelFile(TableFile):
    """The first sheet of an Excel file; texts such as 007 stay texts."""

    def read(self, verbatim: Sequence[str] = (), string_columns: Sequence[str] = ()) -> Any:
        pandas = require("pandas", extra="app", purpose="reading an Excel table")
        require("openpyxl", extra="app", purpose="reading an Excel table")
        try:
            frame = pandas.read_excel(self.file, header=None, dtype=object, engine="openpyxl").dropna(how="all")
        except Exception as error:  # openpyxl raises whatever the parsers of XML and zip do
            raise ArgumentError(f"{self.file}: this is not a readable Excel file: {error}.") from error
        names, notes = [f"c{i + 1}" for i in range(frame.shape[1])], ["the first sheet is read"]
        if self.dialect.get("header", True) and len(frame):
            names = ["" if pandas.isna(name) else str(name) for name in frame.iloc[0]]
            frame = frame.iloc[1:]
            cells = frame.fillna("").astype(str).to_numpy().tolist()
            left_out, left_out_notes = unnamed_columns(self.file, names, cells)
            notes += left_out_notes
            used = [i for i in range(len(names)) if i not in left_out]
            frame, names = frame.iloc[:, used], [names[i] for i in used]
        frame = frame.reset_index(drop=True).infer_objects()
        return _with_names(self.file, frame, names, notes)


FORMATS: dict[str, type[TableFile]] = {".parquet": ParquetFile, ".npz": NpzFile, ".arff": ArffFile, ".xlsx": ExcelFile}


def open_table(path: str | Path, **dialect: Any) -> TableFile:
    """Return the table of a file by its ending; those not in `FORMATS` are separated values."""
    file = existing_table(path)
    return FORMATS.get(read_ending(file), DelimitedFile)(file, dialect)


def _with_names(file: Path, frame: Any, names: Sequence[Any], notes: Sequence[str] = ()) -> Any:
    """Return a frame with texts as names, each once, and notes on how it was read."""
    frame.columns = [str(name) for name in names]
    refuse_duplicates(file, list(frame.columns))
    frame.attrs["notes"] = list(notes)
    return frame


def _arff_message(error: Any) -> str:
    """Return the text of an error; liac-arff formats the line into its own, where a % of the file's would be a code."""
    if not isinstance(getattr(error, "message", None), str):
        return str(error)
    before, code, after = error.message.rpartition("%d")
    return f"{before}{error.line}{after}" if code else error.message
