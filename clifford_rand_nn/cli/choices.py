"""What an option may say, and options that several commands have; which solvers there are depends on the model."""

from enum import StrEnum
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
Biases = StrEnum("Biases", "penalised free none")

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
        show_default="UTF-8, or UTF-16 by its mark",
        rich_help_panel=_TABLE,
    ),
]
NoHeader = Annotated[
    bool,
    typer.Option(
        "--no-header", help="The first line of a text table is a row; columns are c1, c2, …", rich_help_panel=_TABLE
    ),
]

Force = Annotated[bool, typer.Option("--force", help="Overwrite files that are there already.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of words.")]
