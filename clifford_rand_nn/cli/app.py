"""The command ``clifford-rand``: its group of commands, whose known errors are one line on stderr."""

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clifford_rand import __version__
from clifford_rand_nn.cli.commands import COMMANDS, EXAMPLES
from clifford_rand_nn.cli.console import one_line_errors, say


class _Group(TyperGroup):
    """Commands in the order of their list, and errors in one line."""

    def list_commands(self, ctx: Any) -> list[str]:
        return list(EXAMPLES)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with one_line_errors():  # typer ends without a message
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train two-layer ReLU networks to the optimum of a convex program, with a certificate.",
)
for command in COMMANDS:
    app.command(epilog=f"Example: {EXAMPLES[command.__name__]}")(command)


def _version(wanted: bool) -> None:
    if wanted:
        say(f"clifford-rand {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass
