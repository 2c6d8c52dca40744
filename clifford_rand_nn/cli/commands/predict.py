"""``clifford-rand predict``: a model file and a table in, predictions out."""

from pathlib import Path
from typing import Annotated

import typer

EXAMPLE = "clifford-rand predict model.npz new.csv --out predictions.csv"


def predict(
    model: Annotated[Path, typer.Argument(help="Model file that fit wrote.")],
    new: Annotated[Path, typer.Argument(help="Table with the feature columns: .csv, .parquet or .npz.")],
    out: Annotated[Path, typer.Option(help="Where to write the predictions: .csv, .parquet or .npz.")],
    coverage: Annotated[
        float,
        typer.Option(help="Share of new values between low and high, for a network without knobs."),
    ] = 0.9,
) -> None:
    """Predict for every row of a table. Columns are found by name; others are ignored.

    Written are predictions; for classes their probabilities, or scores where the model has none; for numbers the ends
    low and high of intervals, where it has them.
    """
    from clifford_rand_nn.cli.predict import run_predict

    run_predict(model, new, out, coverage)
