"""``clifford-rand info``: what a model file holds."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import AsJson

EXAMPLE = "clifford-rand info model.npz"


def info(
    model: Annotated[Path, typer.Argument(help="Model file that fit or save_model wrote.")],
    as_json: AsJson = False,
) -> None:
    """Say what is inside a model file: model, columns and what they were taken for, choices, certificate, versions."""
    from clifford_rand_nn.cli.info import run_info

    run_info(model, as_json)
