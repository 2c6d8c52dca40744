"""Plain values that JSON holds, checked as they are read, and records made of them."""

import math
from collections.abc import Mapping
from inspect import Parameter, cleandoc, signature
from types import NoneType
from typing import Any, ClassVar, TypeVar, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray

Record = TypeVar("Record")
Arrays = dict[str, NDArray[Any]]


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
