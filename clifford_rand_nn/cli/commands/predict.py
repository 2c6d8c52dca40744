"""``clifford-rand predict``: a model file and a table in, predictions out."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import Decimal, Encoding, Force, NoHeader, Separator

EXAMPLE = "clifford-rand predict model.npz new.csv --id customer --out predictions.csv"


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that fit wrote.")],
    new: Annotated[
        Path, typer.Argument(help="Table with the feature columns: .csv, .tsv (.gz too), .parquet, .arff or .npz.")
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Where to write the predictions: .csv, .parquet or .npz.", show_default="CSV to stdout"),
    ] = None,
    identifier: Annotated[
        str | None, typer.Option("--id", metavar="<column>", help="Column to write beside the predictions.")
    ] = None,
    coverage: Annotated[
        float,
        typer.Option(help="Share of new values between low and high, for a network without knobs."),
    ] = 0.9,
    force: Force = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
) -> None:
    """Predict for every row of a table. Columns are found by name; others are ignored.

    Written are predictions; for classes their probabilities, or scores where the model has none; for numbers the ends
    low and high of intervals, where it has them. Tables are read and written in blocks, so they may be larger than
    memory.
    """
    from clifford_rand_nn.cli.predict import run_predict

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    run_predict(model, new, out, identifier, coverage, force, dialect)
