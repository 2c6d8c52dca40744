"""``clifford-rand demo``: a spiral and handwritten digits."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import Force

_OWN = Path("clifford-rand-demo")
EXAMPLE = "clifford-rand demo --out clifford-rand-demo"


def demo(
    out: Annotated[
        Path,
        typer.Option(help="Folder for the picture and the tables; those of an earlier demo in its own are renewed."),
    ] = _OWN,
    force: Force = False,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.")] = 0,
) -> None:
    """Train on a spiral and on handwritten digits, about a minute; needs no data and no network."""
    from clifford_rand_nn.cli.demo import run_demo

    run_demo(out, seed, force=force or out == _OWN)
