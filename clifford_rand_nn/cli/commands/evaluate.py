"""``clifford-rand evaluate``: a model file and a table with its target in, scores out."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import AsJson, Decimal, Encoding, NoHeader, Separator, ShardFolder, one_source

EXAMPLE = "clifford-rand evaluate model.npz test.csv --target price"


def evaluate(
    model: Annotated[Path, typer.Argument(help="Model file that fit wrote.")],
    table: Annotated[
        Path | None,
        typer.Argument(help="Table with the columns of the model and the target.", show_default="--shards"),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(metavar="<column>", help="Column with the truth.", show_default="the last column; y of an .npz"),
    ] = None,
    weights: Annotated[
        str | None, typer.Option(metavar="<column>", help="Column with weights of the rows.", show_default="all equal")
    ] = None,
    coverage: Annotated[float, typer.Option(help="Share of values that intervals are to hold.")] = 0.9,
    shards: ShardFolder = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
    as_json: AsJson = False,
) -> None:
    """Say how good a model is on a table that it was not trained on.

    Accuracy, log-loss, Brier score, calibration and the confusion matrix; of numbers R², root mean square and mean
    absolute error and how many lie in their intervals; beside what the table's own majority (mean) would get. Of
    --shards, in one pass, all but calibration and intervals.
    """
    one_source(table, shards, "table")
    if shards is not None:
        from clifford_rand_nn.cli.evaluate_shards import run_evaluate_shards

        useless = {"--separator": separator, "--decimal": decimal, "--encoding": encoding}
        for option, value in (useless | {"--no-header": no_header or None}).items():
            if value is not None:
                raise typer.BadParameter("It is for tables, not for --shards.", param_hint=option)
        run_evaluate_shards(model, shards, target, weights, as_json)
        return
    assert table is not None
    from clifford_rand_nn.cli.evaluate import run_evaluate

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    run_evaluate(model, table, target, weights, coverage, dialect, as_json)
