"""``clifford-rand predict``: a model file and a table in, predictions out."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import (
    Decimal,
    Encoding,
    FileKind,
    Force,
    Method,
    NoHeader,
    Separator,
    ShardFolder,
    one_source,
)

EXAMPLE = "clifford-rand predict model.npz new.csv --id customer --out predictions.csv"


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that fit wrote.")],
    new: Annotated[
        Path | None,
        typer.Argument(
            help="Table with the feature columns: .csv, .tsv, .txt (.gz, .zip too), .xlsx, .parquet, .arff or .npz.",
            show_default="--shards",
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the predictions: .csv, .parquet or .npz; with --shards a folder.",
            show_default="CSV to stdout",
        ),
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", metavar="<column>", help="Column to write beside the predictions.")
    ] = None,
    coverage: Annotated[
        float,
        typer.Option(help="Share of new values between low and high, for a tuning-free network."),
    ] = 0.9,
    shards: ShardFolder = None,
    method: Annotated[
        Method, typer.Option(help="What is written for --shards.", rich_help_panel="Rows beyond memory")
    ] = Method.predict,
    kind: Annotated[
        FileKind, typer.Option(help="Files that are written for --shards.", rich_help_panel="Rows beyond memory")
    ] = FileKind.npy,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="Keep the files of --shards that are there; write the others.",
            rich_help_panel="Rows beyond memory",
        ),
    ] = False,
    force: Force = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
) -> None:
    """Predict for every row of a table. Columns are found by name; others are ignored.

    Written are predictions; for classes their probabilities, or scores where the model has none; for numbers the ends
    low and high of intervals, where it has them. Tables are read and written in blocks, so they may be larger than
    memory. For each file of --shards a file of the same number is written into the folder --out.
    """
    one_source(new, shards, "new")
    if shards is not None:
        from clifford_rand_nn.cli.predict_shards import run_predict_shards

        useless = {"--id": identifier, "--separator": separator, "--decimal": decimal, "--encoding": encoding}
        for option, value in (useless | {"--no-header": no_header or None}).items():
            if value is not None:
                raise typer.BadParameter("It is for tables, not for --shards.", param_hint=option)
        run_predict_shards(model, shards, out, method.value, kind.value, force, resume)
        return
    assert new is not None
    if resume:
        raise typer.BadParameter("It is for --shards.", param_hint="--resume")
    from clifford_rand_nn.cli.predict import run_predict

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    run_predict(model, new, out, identifier, coverage, force, dialect)
