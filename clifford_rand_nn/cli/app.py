"""The command ``clifford-rand``: its commands are in `commands`, a file each, loaded when one is asked for."""

import importlib
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clifford_rand import __version__
from clifford_rand_nn.cli.console import one_line_errors, say

COMMANDS = ("fit", "predict", "evaluate", "path", "explain", "export", "info", "demo", "embed")  # as in the help
_SETTINGS = {"help_option_names": ["-h", "--help"]}


class Commands(Mapping[str, Any]):
    """The commands by name: each is the function of its name in ``clifford_rand_nn.cli.commands.<name>``.

    The constant ``EXAMPLE`` beside it ends its help: a command line that a reader can copy.
    """

    def __getitem__(self, name: str) -> Any:
        if name not in COMMANDS:
            raise KeyError(name)
        module = importlib.import_module(f"clifford_rand_nn.cli.commands.{name}")
        alone = typer.Typer(add_completion=False, context_settings=_SETTINGS)
        alone.command(name, epilog=f"Example: {module.EXAMPLE}")(getattr(module, name))
        return typer.main.get_command(alone)

    def __iter__(self) -> Iterator[str]:
        return iter(COMMANDS)

    def __len__(self) -> int:
        return len(COMMANDS)


class _Group(TyperGroup):
    """Commands that are loaded when asked for, and whose known errors are one line on stderr."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self.commands: Any = Commands()

    def list_commands(self, ctx: Any) -> list[str]:
        return list(COMMANDS)

    def make_context(self, *arguments: Any, **settings: Any) -> Any:
        with one_line_errors():  # what typer ends without a word, it ends with one
            return super().make_context(*arguments, **settings)

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings=_SETTINGS,
    help="Train two-layer ReLU networks to the optimum of a convex program, with a certificate.",
)


def main() -> None:
    """Run the command line, as scripts do that were installed before `entry` was there."""
    from clifford_rand_nn.cli import entry

    entry.main()


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
