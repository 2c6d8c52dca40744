"""``clifford-rand explain``: what a model is made of, and why it says what it says of rows of a table."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import AsJson, Decimal, Encoding, Force, NoHeader, Separator

EXAMPLE = "clifford-rand explain model.npz new.csv --row 3 --train train.csv"


def explain(
    model: Annotated[Path, typer.Argument(help="Model file that fit wrote.")],
    table: Annotated[
        Path | None, typer.Argument(help="Table with rows to explain; without one the model itself is explained.")
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(metavar="<number>", min=0, help="Row of the table, from 0; again for more.", show_default="0"),
    ] = None,
    train: Annotated[
        Path | None,
        typer.Option(
            metavar="<table>",
            help="Table that the model was trained on: its rows are shown, and which columns matter is judged on them. "
            "Another table with the same columns serves for the latter.",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="<column>", help="Column with the truth in --train.", show_default="the last column"),
    ] = None,
    out: Annotated[Path | None, typer.Option(metavar="<picture>", help="Picture to draw: .png, .svg or .pdf.")] = None,
    force: Force = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    as_json: AsJson = False,
) -> None:
    """Explain a model, or what it says of rows: which columns, neurons and training rows speak for it and against it.

    What a row's columns, its neurons, and the rows of training add to the output is exact: it adds up.
    """
    from clifford_rand_nn.cli.explain import run_explain

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    run_explain(model, table, row, train, target, out, force, dialect, as_json)
