"""What an option may say, and options that several commands have; which solvers there are depends on the model."""

import re
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

Task = StrEnum("Task", "auto classification regression")
ModelKind = StrEnum("ModelKind", "network gated relu lasso")
GateKind = StrEnum("GateKind", "cross gaussian leverage volume simplex polished opposite exhaustive infinite")
Solver = StrEnum(
    "Solver",
    "auto kernel gram fista column_generation interior_point augmented_lagrangian working_set homotopy cvxpy",
)
Penalty = StrEnum("Penalty", "l1 l2 ridge")
Method = StrEnum("Method", "predict predict_proba decision_function")
FileKind = StrEnum("FileKind", "npy parquet csv")
Biases = StrEnum("Biases", "penalized free none")

_TABLE = "How the table is read"

Separator = Annotated[
    str | None,
    typer.Option(
        metavar="<mark>", help="Between the cells of a text table.", show_default="found out", rich_help_panel=_TABLE
    ),
]
Decimal = Annotated[
    str | None,
    typer.Option(metavar="<mark>", help="In decimals: . or ,", show_default="found out", rich_help_panel=_TABLE),
]
Encoding = Annotated[
    str | None,
    typer.Option(
        metavar="<name>",
        help="Of a text table that is not UTF-8, such as cp1252 (Windows, Excel) or latin-1.",
        show_default="UTF-8, or UTF-16 or UTF-32 by its mark",
        rich_help_panel=_TABLE,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The first line of a text table is a row; columns are c1, c2, …", rich_help_panel=_TABLE
    ),
]

_SHARDS = "Rows beyond memory"

ShardFolder = Annotated[
    Path | None,
    typer.Option(
        "--shards",
        metavar="<folder>",
        help="Instead of a table: X-00000.npy, y-00000.npy, …, or Parquet files with one --target, or Zarr.",
        rich_help_panel=_SHARDS,
    ),
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        metavar="<size>", help="Of a process at most, such as 1GB or 512MiB.", show_default="the method's own limit"
    ),
]
Checkpoint = Annotated[
    Path | None,
    typer.Option(
        metavar="<file>",
        help="Where a fit to --shards keeps its state; the same command goes on from it.",
        rich_help_panel=_SHARDS,
    ),
]

Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of words.")]


_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}


def as_bytes(text: str, option: str) -> float:
    """Return a size such as 1.5GB, 512 MiB or 1000000 in bytes.

    Raises
    ------
    typer.BadParameter
        It is none.

    Examples
    --------
    >>> as_bytes("1.5GB", "--max-memory"), as_bytes("2 KiB", "--max-memory")
    (1500000000.0, 2048.0)
    """
    match = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kmgt]?i?)b?\s*", text.lower())
    if match is None or match.group(2) not in _UNITS or float(match.group(1)) == 0:
        raise typer.BadParameter(f"{text!r} is no size such as 1GB, 512MiB or 1000000.", param_hint=option)
    return float(match.group(1)) * _UNITS[match.group(2)]


def one_source(table: Path | None, shards: Path | None, argument: str) -> None:
    """Refuse a command with neither a table nor shards, or with both.

    Raises
    ------
    typer.BadParameter
    """
    if (table is None) == (shards is None):
        told = "Give a table, or --shards." if table is None else "Give a table or --shards, not both."
        raise typer.BadParameter(told, param_hint=argument)
