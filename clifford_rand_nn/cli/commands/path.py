"""``clifford-rand path``: what the weight of the penalty does, as a table and a picture."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import Decimal, Encoding, Force, NoHeader, Separator

EXAMPLE = "clifford-rand path train.csv --target price --out path.csv --picture path.png"

PathKind = StrEnum("PathKind", "network gated relu lasso")


def path(
    train: Annotated[Path, typer.Argument(help="Table to train on.")],
    target: Annotated[
        str | None,
        typer.Option(metavar="<column>", help="Column to predict.", show_default="the last column; y of an .npz"),
    ] = None,
    test: Annotated[
        Path | None,
        typer.Option(help="Table to judge every beta on.", show_default="a fifth of the rows, held out"),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="<column>", help="Column with weights of the rows.", show_default="all equal")
    ] = None,
    groups: Annotated[
        str | None, typer.Option(metavar="<column>", help="Column of rows that are left out together.")
    ] = None,
    model: Annotated[
        PathKind,
        typer.Option(help="Infinitely many gates, by leave-one-out; or the path of a convex program of few neurons."),
    ] = PathKind.network,
    n_gates: Annotated[int, typer.Option(min=1, help="Gates to sample, of gated and relu.")] = 50,
    subsample: Annotated[int, typer.Option(min=1, help="Cross products to draw, of lasso.")] = 500,
    n_betas: Annotated[int, typer.Option(min=2, help="Values of beta, of models of few neurons.")] = 30,
    max_time: Annotated[
        float, typer.Option(metavar="<seconds>", help="After which a path of few neurons ends where it is.")
    ] = 60.0,
    seed: Annotated[int, typer.Option(min=0, help="Seed of gates and cross products.")] = 0,
    out: Annotated[Path | None, typer.Option(help="Where to write the table, a .csv file.")] = None,
    picture: Annotated[Path | None, typer.Option(help="Where to draw the curves: .png, .svg or .pdf.")] = None,
    force: Force = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
) -> None:
    """Show what the weight of the penalty does: for every beta the loss of rows left out, and the number of neurons."""
    from clifford_rand_nn.cli.path import PathAsked, run_path

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    kind = model.value
    tables = (train, target, test, weights, groups)
    run_path(PathAsked(*tables, kind, n_gates, subsample, n_betas, max_time, seed, out, picture, force, dialect))
