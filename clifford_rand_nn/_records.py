"""Plain values that JSON holds, checked as they are read, and records made of them."""

import math
from dataclasses import asdict, is_dataclass
from typing import Any, TypeVar, get_type_hints

import numpy as np

Record = TypeVar("Record")


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


_CHECKS: dict[Any, Any] = {str: text, bool: truth, int: whole, float: number, tuple[str, ...]: texts}


def values_of(record: Any, *without: str) -> dict[str, Any]:
    """Return the fields of a dataclass or a named tuple as JSON can hold them, but those named."""
    fields = asdict(record) if is_dataclass(record) and not isinstance(record, type) else record._asdict()
    return {
        name: list(value) if isinstance(value, tuple) else plain(value)
        for name, value in fields.items()
        if name not in without
    }


def record_of(kind: type[Record], values: dict[str, Any], **others: Any) -> Record:
    """Return the record of such fields, each checked by its type, and of others; the rest have their defaults."""
    types = get_type_hints(kind)
    return kind(**{name: _CHECKS[types[name]](value) for name, value in values.items()}, **others)
