"""``clifford-rand export``: a model file in, a file for another library out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import Decimal, Encoding, Force, NoHeader, Separator

EXAMPLE = "clifford-rand export model.npz --to model.onnx"
Precision = StrEnum("Precision", "float32 float64")


def export(
    model: Annotated[Path, typer.Argument(help="Model file that fit or save_model wrote.")],
    to: Annotated[
        Path,
        typer.Option(
            metavar="<file>", help="File to write: .onnx; .py, which needs NumPy alone; .pt2, a program of PyTorch."
        ),
    ],
    rows: Annotated[
        Path | None,
        typer.Option(
            metavar="<table>",
            help="Table on whose rows the new file is compared with the model.",
            show_default="200 rows drawn at random",
        ),
    ] = None,
    dtype: Annotated[
        Precision, typer.Option(help="Of numbers in an .onnx file: its outputs, and its input X.")
    ] = Precision.float32,
    coverage: Annotated[float, typer.Option(help="Share of values between low and high, of numbers.")] = 0.9,
    force: Force = False,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
) -> None:
    """Write a model for other libraries and languages: ONNX, a module of plain NumPy, or a program of PyTorch.

    Scaling, categories, missing cells and probabilities are inside. What the new file takes and gives is printed, with
    how far it is from the model, and three lines that use it.
    """
    from clifford_rand_nn.cli.export import run_export

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    run_export(model, to, rows, dtype.value, coverage, force, dialect)
