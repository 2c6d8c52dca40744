"""The command ``clifford-rand``: demo, fit, predict."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clifford_rand import __version__
from clifford_rand_nn.cli.console import KNOWN_ERRORS, complain, one_line, plain_warnings, say

__all__ = ["app", "main"]


class _Group(TyperGroup):
    """Commands whose known errors are one line on stderr and exit code 2; an unknown error keeps its traceback."""

    def invoke(self, ctx: Any) -> Any:
        try:
            with plain_warnings():
                return super().invoke(ctx)
        except BrokenPipeError:  # the reader of a pipe left: typer ends quietly
            raise
        except KNOWN_ERRORS as error:
            complain("error", one_line(error))
            raise typer.Exit(2) from error


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train two-layer gated ReLU networks to the optimum of a convex program, with a certificate.",
)


def main() -> None:
    """Run the command line."""
    app()


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


class Task(StrEnum):
    """What a target is."""

    auto = "auto"
    classification = "classification"
    regression = "regression"


class GateKind(StrEnum):
    """How gates are chosen."""

    cross = "cross"
    gaussian = "gaussian"


class Loss(StrEnum):
    """What is minimised."""

    squared = "squared"
    logistic = "logistic"


Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]


@app.command()
def demo(
    out: Annotated[Path, typer.Option(help="Folder for the picture and the tables.")] = Path("clifford-rand-demo"),
    seed: Seed = 0,
) -> None:
    """Train on a spiral and on handwritten digits, about a minute; needs no data and no network."""
    from clifford_rand_nn.cli.demo import run_demo

    run_demo(out, seed)


@app.command()
def fit(
    train: Annotated[Path, typer.Argument(help="Table to train on: .csv, .parquet or .npz (X and the target).")],
    target: Annotated[str, typer.Option(help="Column to predict; all others are features.")],
    test: Annotated[Path | None, typer.Option(help="Table to score on, with the same columns.")] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the model, a .npz file.")] = None,
    task: Annotated[
        Task,
        typer.Option(help="What the target is; auto says what it chose."),
    ] = Task.auto,
    gates: Annotated[GateKind, typer.Option(help="Hyperplanes through sampled rows, or random ones.")] = GateKind.cross,
    n_gates: Annotated[int, typer.Option(min=1, help="Number of gates, the width of the network.")] = 50,
    beta: Annotated[float, typer.Option(help="Weight of the penalty; means the same for every number of rows.")] = 1e-3,
    loss: Annotated[Loss, typer.Option(help="logistic gives probabilities; classes only.")] = Loss.squared,
    sketch_dim: Annotated[
        str, typer.Option(help="Rows of the sketch for cross products: auto, exact or an integer.")
    ] = "auto",
    tol: Annotated[float, typer.Option(help="Relative duality gap to reach.")] = 1e-6,
    max_iter: Annotated[int, typer.Option(min=1, help="Iterations at most.")] = 20_000,
    no_bias: Annotated[bool, typer.Option("--no-bias", help="Gates and neurons without a bias.")] = False,
    seed: Seed = 0,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
) -> None:
    """Train a network on a table. Features are used as they come: nothing is rescaled."""
    from clifford_rand_nn.cli.fit import run_fit

    params = {
        "n_gates": n_gates,
        "gates": gates.value,
        "sketch_dim": _sketch_dim(sketch_dim),
        "beta": beta,
        "loss": loss.value,
        "bias": not no_bias,
        "tol": tol,
        "max_iter": max_iter,
        "random_state": seed,
    }
    run_fit(train, target, test, out, task.value, params, quiet)


@app.command()
def predict(
    model: Annotated[Path, typer.Argument(help="Model file that fit wrote.")],
    new: Annotated[Path, typer.Argument(help="Table with the feature columns: .csv, .parquet or .npz.")],
    out: Annotated[Path, typer.Option(help="Where to write the predictions: .csv, .parquet or .npz.")],
) -> None:
    """Predict for every row of a table. Columns are found by name; others are ignored."""
    from clifford_rand_nn.cli.predict import run_predict

    run_predict(model, new, out)


def _sketch_dim(text: str) -> int | str | None:
    if text == "auto":
        return text
    if text in ("exact", "none"):
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither auto, exact nor a positive integer.", param_hint="--sketch-dim")
