"""Records: short representations of results as text and tables, and the plain values that JSON holds, checked."""

import math
from collections.abc import Mapping
from dataclasses import fields
from inspect import Parameter, cleandoc, signature
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import printable
from clifford_rand.print_options import html_table, text_html
from clifford_rand_nn._words import shortened

Kind = TypeVar("Kind", bound=type)
_ENTRIES = 6  # of an array, a list or a tuple, that are shown themselves
_RECORDS = 8  # of a table, as text: ten lines with its headings
_HTML_RECORDS = 60  # of a table in a notebook
_LINES = 30  # of a text
_LONGEST = 80  # characters of a text in a cell
Record = TypeVar("Record")
Arrays = dict[str, NDArray[Any]]


def short_repr(kind: Kind) -> Kind:
    """Let the repr of a dataclass or named tuple name the shape of an array and the length of a list (a decorator).

    >>> from typing import NamedTuple
    >>> @short_repr
    ... class Fit(NamedTuple):
    ...     rows: np.ndarray
    ...     loss: float
    >>> Fit(np.ones((100, 3)), 0.1 + 0.2)
    Fit(rows=array of (100, 3), loss=0.3)
    """
    setattr(kind, "__repr__", _fields_text)  # noqa: B010
    return kind


def _fields_text(record: Any) -> str:
    names = getattr(record, "_fields", ()) or [field.name for field in fields(record) if field.repr]
    return f"{type(record).__name__}({', '.join(f'{name}={_brief(getattr(record, name))}' for name in names)})"


def _brief(value: Any) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    if isinstance(value, str):
        return repr(shortened(value, _LONGEST))
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple) and shape and (len(shape) > 1 or shape[0] > _ENTRIES):
        return f"{'array' if isinstance(value, np.ndarray) else 'matrix'} of {shape}"
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        if len(value) > _ENTRIES or (len(value) > 1 and hasattr(value[0], "_fields")):
            return f"<{len(value)} of {type(value[0]).__name__}>"
        left, right = "[]" if isinstance(value, list) else "()"
        return left + ", ".join(map(_brief, value)) + right
    return repr(value)


def _cell(value: Any) -> str:
    return printable(value if isinstance(value, str) else "" if value is None else _brief(value))


class _Table:
    """Records (named tuples of one kind) that are shown as a table, the first ones if there are many."""

    def _cells(self: Any, most: int) -> list[list[str]]:
        return [list(self[0]._fields), *([_cell(value) for value in record] for record in self[:most])]

    def __repr__(self: Any) -> str:
        if not self:
            return "[]" if isinstance(self, list) else "()"
        cells = self._cells(_RECORDS)
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = ["  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)) for row in cells]
        return "\n".join([*lines, *_more(len(self) - _RECORDS, type(self[0]).__name__)])

    def _repr_html_(self: Any) -> str:
        head, *rows = self._cells(_HTML_RECORDS) if self else [[]]
        return html_table(rows, head, *_more(len(self) - _HTML_RECORDS, "records"))


class RecordList(_Table, list[Any]):
    """A list of named tuples that is shown as a table."""


class RecordTuple(_Table, tuple[Any, ...]):
    """A tuple of named tuples that is shown as a table."""


def as_table(records: Any) -> Any:
    """Return a list or a tuple of named tuples as one that is shown as a table; None as it is."""
    return None if records is None else (RecordTuple if isinstance(records, tuple) else RecordList)(records)


def _more(count: int, what: str) -> list[str]:
    return [f"… and {count:,} more {what}"] if count > 0 else []


class TextShown:
    """A value whose text is what is shown, in a notebook too; its first lines if there are many."""

    def __repr__(self) -> str:
        lines = str(self).split("\n")
        more = len(lines) - _LINES
        return "\n".join(lines if more <= 0 else [*lines[:_LINES], f"… {more} more lines: print it"])

    def _repr_html_(self) -> str:
        return text_html(str(self))


def number(value: Any) -> float:
    """Return a finite number; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is not a finite number")
    return float(value)


def whole(value: Any, low: int | None = 0) -> int:
    """Return an integer from ``low`` on, or any integer; refuse anything else."""
    if isinstance(value, bool) or not isinstance(value, int) or (low is not None and value < low):
        raise ValueError(f"{value!r} is not an integer" + ("" if low is None else f" ≥ {low}"))
    return value


def truth(value: Any) -> bool:
    """Return a truth value; refuse anything else."""
    if not isinstance(value, bool):
        raise ValueError(f"{value!r} is neither true nor false")
    return value


def text(value: Any) -> str:
    """Return a text; refuse anything else."""
    if not isinstance(value, str):
        raise ValueError(f"{value!r} is not a text")
    return value


def texts(value: Any) -> tuple[str, ...]:
    """Return a tuple of texts from a list; refuse anything else."""
    if not isinstance(value, list | tuple):
        raise ValueError(f"{value!r} is not a list")
    return tuple(map(text, value))


def agree(fits: bool, what: str = "the arrays do not fit each other") -> None:
    """Refuse parts of a file that contradict each other."""
    if not fits:
        raise ValueError(what)


def plain(value: Any) -> Any:
    """Return a value as JSON can hold it; None for anything that it cannot, such as arrays and generators."""
    if isinstance(value, np.generic):
        value = value.item()
    return value if isinstance(value, bool | int | float | str) else None


_CHECKS: dict[Any, Any] = {str: text, bool: truth, int: whole, float: number}


def values_of(record: Any, *without: str, arrays: Arrays | None = None, prefix: str = "") -> dict[str, Any]:
    """Return the fields of a dataclass or a named tuple as JSON can hold them, but those named.

    Fields that are arrays go to ``arrays``, under their names after a prefix.
    """
    values: dict[str, Any] = {}
    for name, hint in _fields(type(record)).items():
        value = getattr(record, name)
        if name in without or (value is None and _is_array(hint)):
            continue
        if isinstance(value, np.ndarray):
            assert arrays is not None
            arrays[prefix + name] = value
        else:
            values[name] = _as_json(value)
    return values


def _as_json(value: Any) -> Any:
    if hasattr(value, "_fields"):
        return values_of(value)
    return [_as_json(entry) for entry in value] if isinstance(value, tuple | list) else plain(value)


def record_of(
    kind: type[Record], values: Mapping[str, Any], *, arrays: Arrays | None = None, prefix: str = "", **fields: Any
) -> Record:
    """Return the record of such fields, each checked by its type, and of further ``fields``; the rest have defaults.

    Fields that are arrays are those in ``arrays`` under their names after a prefix; optional ones may be missing.
    """
    types, arrays = _fields(kind), arrays or {}
    fields |= {name: checked(types[name], value) for name, value in values.items()}
    for name, hint in types.items():
        if _is_array(hint) and name not in fields and (prefix + name in arrays or not _is_optional(hint)):
            fields[name] = arrays[prefix + name]
    return kind(**fields)


def checked(hint: Any, value: Any) -> Any:
    """Return a value of JSON as one of a type: a plain one, a tuple, a record, or None where that is allowed."""
    if hint in _CHECKS:
        return _CHECKS[hint](value)
    if _is_optional(hint):
        return None if value is None else checked(next(part for part in get_args(hint) if part is not NoneType), value)
    if get_origin(hint) is tuple:
        agree(isinstance(value, list | tuple), f"{value!r} is not a list")
        return tuple(checked(get_args(hint)[0], entry) for entry in value)
    return record_of(hint, value)


def show_options(function: Any, record: type, text: str = "") -> None:
    """Put the fields of a record in the place of ``**options`` in a signature, and a text for {shared} in the page."""
    shown = signature(function)
    own = [parameter for parameter in shown.parameters.values() if parameter.kind is not Parameter.VAR_KEYWORD]
    options = [option.replace(kind=Parameter.KEYWORD_ONLY) for option in signature(record).parameters.values()]
    function.__signature__ = shown.replace(parameters=own + options)
    function.__doc__ = cleandoc(function.__doc__ or "").replace("{shared}", cleandoc(text))


def _fields(kind: type) -> dict[str, Any]:
    return {name: hint for name, hint in get_type_hints(kind).items() if get_origin(hint) is not ClassVar}


def _is_optional(hint: Any) -> bool:
    return NoneType in get_args(hint)


def _is_array(hint: Any) -> bool:
    kinds = (np.ndarray, get_origin(NDArray[Any]))  # the latter is an alias of its own since NumPy 2.5
    return any(get_origin(part) in kinds for part in (hint, *get_args(hint)))
