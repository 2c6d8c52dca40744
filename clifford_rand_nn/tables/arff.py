"""ARFF files, Weka's, as data frames, by liac-arff."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from clifford_rand._optional import require
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.tables.dialect import not_text, open_text
from clifford_rand_nn.tables.files import refuse_duplicates

# What liac-arff raises beside its own errors, and pandas of categories that are named twice.
_FAULTS = (ValueError, LookupError, TypeError, AttributeError, ArithmeticError)
_DATE = re.compile(r"""^(\s*@attribute\s+(?:'[^']*'|"[^"]*"|\S+)\s+)date\b.*$""", re.IGNORECASE)


def read_arff(file: Path, encoding: str | None = None) -> Any:
    """Read an ARFF file: nominal attributes become categories, dates stay text, ? is missing.

    Raises
    ------
    ArgumentError
        The file is malformed, or no text.
    MissingDependencyError
        liac-arff is missing.
    """
    pandas = require("pandas", extra="app", purpose="reading an ARFF table")
    arff = require("arff", extra="app", purpose="reading an ARFF table")
    try:
        with open_text(file, encoding or "utf-8-sig") as stream:
            frame = _frame(pandas, arff.load(_without_dates(stream)))
    except UnicodeError as error:
        raise not_text(file, encoding) from error
    except (arff.ArffException, *_FAULTS) as error:
        raise ArgumentError(f"{file}: malformed ARFF: {_said(error)}") from error
    refuse_duplicates(file, list(frame.columns))
    frame.attrs["notes"] = []
    return frame


def _said(error: Any) -> str:
    """Return the text of an error; liac-arff formats the line into its own, where a % of the file's would be a code."""
    if not isinstance(getattr(error, "message", None), str):
        return str(error)
    before, code, after = error.message.rpartition("%d")
    return f"{before}{error.line}{after}" if code else error.message


def _frame(pandas: Any, content: Any) -> Any:
    """Return what liac-arff made of a file as a data frame."""
    names = [name for name, _ in content["attributes"]]
    cells = list(zip(*content["data"], strict=True)) or [()] * len(names)
    columns = []
    for (_, values), column in zip(content["attributes"], cells, strict=True):
        if isinstance(values, list):
            columns.append(pandas.Categorical(column, categories=values))
        else:
            text = values.upper() == "STRING"
            columns.append(pandas.Series(list(column), dtype=None if text else float))
    frame = pandas.DataFrame(dict(enumerate(columns)))
    frame.columns = names
    return frame


def _without_dates(lines: Iterator[str]) -> Iterator[str]:
    """Declare attributes of dates as text, which liac-arff knows; what they are is found out as in every table."""
    for line in lines:
        yield _DATE.sub(r"\1string", line.rstrip("\r\n"))
