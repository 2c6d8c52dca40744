"""``clifford-rand check``: a proof, checked by the independent checker."""

from pathlib import Path

import typer

from clifford_rand_nn.proof_checker.__main__ import main


def run_check(proof: Path) -> None:
    """Check a proof and print what it proves; exit with 1 if it is not valid."""
    raise typer.Exit(main([str(proof)]))
