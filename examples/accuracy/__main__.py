"""``python -m examples.accuracy``: the default network beside its peers on real tables, from files to a page."""

import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.console import one_line_errors, say

__all__ = ["main"]


def main(
    out: Annotated[Path, typer.Option(help="Folder of the results; a second run goes on from what is there.")],
    data: Annotated[
        list[Path] | None,
        typer.Option(
            help="Folder of .npz files with X, y and split; repeatable. Without one only tables that packages ship.",
            show_default=False,
        ),
    ] = None,
    sets: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="<name>", help="Table; repeatable.", show_default="all"),
    ] = None,
    methods: Annotated[
        list[str] | None,
        typer.Option("--method", metavar="<name>", help="Method to run; repeatable.", show_default="all"),
    ] = None,
    peer_seconds: Annotated[
        float,
        typer.Option(metavar="<seconds>", help="A peer that has spent more on a table gets three of its trials only."),
    ] = 60.0,
    page: Annotated[
        Path | None,
        typer.Option(help="Page of the docs whose places take the tables; the picture goes to images/ beside it."),
    ] = None,
) -> None:
    """Compare the default network with tuned peers: tables, a picture, and the command that makes them again."""
    with one_line_errors():
        from examples.accuracy.run import Plan, run

        plan = Plan(
            out=out,
            data=tuple(data or ()),
            sets=tuple(sets or ()),
            methods=tuple(methods or ()),
            peer_seconds=peer_seconds,
            page=page,
            command=shlex.join(["python", "-m", "examples.accuracy", *sys.argv[1:]]),
            say=say,
        )
        for path in run(plan):
            say(f"wrote {path}")


if __name__ == "__main__":
    typer.run(main)
