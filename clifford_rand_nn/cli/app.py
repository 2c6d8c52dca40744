"""The program ``clifford-rand``: its commands, their options and help; known errors are one line on stderr.

The work of a command is in the file of its name, which is imported when it runs: help and completion of a shell are
quick.
"""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clifford_rand import __version__
from clifford_rand_nn.cli.console import one_line_errors, say
from clifford_rand_nn.cli.fit_options import ColumnKinds, FiniteModel, FitData, FitOutput, ModelChoice
from clifford_rand_nn.cli.options import (
    AsJson,
    Coverage,
    EmbedOptions,
    ExplainOptions,
    Force,
    ModelFile,
    PathOptions,
    Precision,
    PredictOptions,
    ProofOutput,
    Scoring,
    Seed,
    Shards,
    TableFormat,
    Target,
    Weights,
    check_source,
    takes_records,
)

_DEMO_FOLDER = Path("clifford-rand-demo")
EXAMPLES = {
    "fit": "clifford-rand fit train.csv --target price --test test.csv --out model.npz",
    "predict": "clifford-rand predict model.npz new.csv --id customer --out predictions.csv",
    "evaluate": "clifford-rand evaluate model.npz test.csv --target price",
    "path": "clifford-rand path train.csv --target price --out path.csv --picture path.png",
    "explain": "clifford-rand explain model.npz new.csv --row 3 --train train.csv",
    "export": "clifford-rand export model.npz --out model.onnx",
    "prove": "clifford-rand prove model.npz train.csv --target price --out proof.json",
    "check": "clifford-rand check proof.json",
    "info": "clifford-rand info model.npz",
    "demo": "clifford-rand demo --out clifford-rand-demo",
    "embed": "clifford-rand embed reviews.csv --text review --target stars --encoder hashing:4096 --out reviews.npz",
}


@takes_records
def fit(
    ctx: typer.Context,
    data: FitData,
    output: FitOutput,
    kinds: ColumnKinds,
    table_format: TableFormat,
    model: ModelChoice,
    finite: FiniteModel,
) -> None:
    """Train a network on a table.

    Columns of numbers, categories, truth values and dates are encoded, missing cells filled; the kind of each column is
    printed. By default the model is kernel ridge regression with the gated-ReLU kernel: features are standardized, and
    every parameter is selected by leave-one-out. The output compares its leave-one-out score with those of the majority
    class and of logistic regression, and has the scores on the --test set. The other models have finitely many gates
    or neurons and take unscaled features. With them, Ctrl-C returns the best network so far, if there is one: with its
    gap, written to --out, with exit code 130.

    Data beyond memory come as --shards, of numbers: for --model network and gated, by passes over the files.
    """
    check_source(data.train, data.shards, "train")
    from clifford_rand_nn.cli.fit import run_fit, run_fit_shards

    if data.shards is not None:
        run_fit_shards(ctx, data, output, model, finite)
    else:
        run_fit(ctx, data, output, kinds, table_format, model, finite)


@takes_records
def predict(
    model: ModelFile,
    options: PredictOptions,
    table_format: TableFormat,
    new: Annotated[
        Path | None,
        typer.Argument(
            help="Table with the feature columns: .csv, .tsv, .txt (.gz, .zip too), .xlsx, .parquet, .arff or .npz.",
            show_default="--shards",
        ),
    ] = None,
) -> None:
    """Predict every row of a table. Columns are matched by name; others are ignored.

    Written are predictions; for classes their probabilities, or scores where the model has none; for numbers low and
    high, the ends of intervals, where it has them. Tables are read and written in blocks, so they may be larger than
    memory. For each file of --shards a file of the same number is written into the folder --out.
    """
    from clifford_rand_nn.cli.predict import run_predict

    run_predict(model, new, options, table_format)


@takes_records
def evaluate(
    model: ModelFile,
    scoring: Scoring,
    table_format: TableFormat,
    table: Annotated[
        Path | None, typer.Argument(help="Table with the columns of the model and the target.", show_default="--shards")
    ] = None,
    shards: Shards = None,
    as_json: AsJson = False,
) -> None:
    """Score a model on a table that it was not trained on.

    Accuracy, log-loss, Brier score (a sum over the classes: of two, twice scikit-learn's), calibration error and the
    confusion matrix; of numbers R², root mean square and mean absolute error and the coverage of intervals; beside the
    scores of the majority class (mean) of the table. Of --shards, in one pass, all but calibration and intervals.
    """
    from clifford_rand_nn.cli.evaluate import run_evaluate

    run_evaluate(model, table, shards, scoring, table_format, as_json)


@takes_records
def path(options: PathOptions, table_format: TableFormat) -> None:
    """Show the effect of the regularization strength: for every beta the loss of held-out rows, and the neurons."""
    from clifford_rand_nn.cli.path import run_path

    run_path(options, table_format)


@takes_records
def explain(
    model: ModelFile,
    options: ExplainOptions,
    table_format: TableFormat,
    table: Annotated[
        Path | None, typer.Argument(help="Table with rows to explain; without one the model itself is explained.")
    ] = None,
    row: Annotated[
        list[int] | None,
        typer.Option(metavar="<number>", min=0, help="Row of the table, from 0; again for more.", show_default="0"),
    ] = None,
) -> None:
    """Explain a model, or its predictions for rows: the contributions of columns, neurons and training rows.

    The contributions of the columns of a row, of the neurons, and of the training rows add up to the output.
    """
    from clifford_rand_nn.cli.explain import run_explain

    run_explain(model, table, row, options, table_format)


@takes_records
def export(
    model: ModelFile,
    out: Annotated[
        Path,
        typer.Option(
            metavar="<file>", help="File to write: .onnx; .py, which needs NumPy alone; .pt2, a program of PyTorch."
        ),
    ],
    table_format: TableFormat,
    compare_on: Annotated[
        Path | None,
        typer.Option(
            metavar="<table>",
            help="Table on whose rows the new file is compared with the model.",
            show_default="200 random rows",
        ),
    ] = None,
    dtype: Annotated[
        Precision, typer.Option(help="Of numbers in an .onnx file: its outputs, and its input X.")
    ] = Precision.float32,
    coverage: Coverage = 0.9,
    force: Force = False,
) -> None:
    """Write a model for other libraries and languages: ONNX, a module of plain NumPy, or a program of PyTorch.

    Scaling, categories, missing cells and probabilities are inside. The inputs and outputs of the new file are printed,
    with its largest difference from the model, and three lines that use it.
    """
    from clifford_rand_nn.cli.export import run_export

    run_export(model, out, compare_on, dtype.value, coverage, force, table_format.keywords)


@takes_records
def prove(
    model: ModelFile,
    train: Annotated[Path, typer.Argument(help="Table that the model was trained on.")],
    output: ProofOutput,
    table_format: TableFormat,
    target: Target = None,
    weights: Weights = None,
) -> None:
    """Write an exact proof of how far the training objective is above its optimum, for everybody to check.

    The proof holds the problem, the rows, the network and a dual point, all as integers. Its bound is a rational number
    that no rounding makes false. It is about the training and says nothing about new rows.
    """
    from clifford_rand_nn.cli.prove import run_prove

    run_prove(model, train, target, weights, output, table_format)


def check(proof: Annotated[Path, typer.Argument(help="Proof that prove wrote.")]) -> None:
    """Check a proof in exact arithmetic; print what it proves, and by which theorem. Exit code 1 if it is not valid.

    The checker is a folder of short files that use Python's standard library alone and share no code with the rest.
    """
    from clifford_rand_nn.cli.check import run_check

    run_check(proof)


def info(model: ModelFile, as_json: AsJson = False) -> None:
    """Print the content of a model file: model, columns and their kinds, selected parameters, certificate, versions."""
    from clifford_rand_nn.cli.info import run_info

    run_info(model, as_json)


def demo(
    out: Annotated[
        Path,
        typer.Option(help="Folder for the picture and the tables; those of an earlier demo in its own are replaced."),
    ] = _DEMO_FOLDER,
    force: Force = False,
    seed: Seed = 0,
) -> None:
    """Show geometric algebra, networks on a spiral and predictions for tables, in about a minute, without internet."""
    from clifford_rand_nn.cli.demo import run_demo

    run_demo(out, seed, force=force or out == _DEMO_FOLDER)


@takes_records
def embed(
    table: Annotated[
        Path, typer.Argument(help="Table with texts, of any kind that fit reads; an .npz has arrays of text.")
    ],
    options: EmbedOptions,
    table_format: TableFormat,
    out: Annotated[Path, typer.Option(help="Where to write the features, a .npz file for fit --target y.")],
    force: Force = False,
) -> None:
    """Turn texts into features to train on. Encoded texts are stored, so a run that stopped can be resumed."""
    from clifford_rand_nn.cli.embed import run_embed

    run_embed(table, options, out, force, table_format.keywords)


COMMANDS = (fit, predict, evaluate, path, explain, export, prove, check, info, demo, embed)  # in the order of the help


class _Group(TyperGroup):
    """Errors in one line."""

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


for command in COMMANDS:  # each paragraph of help on one line, which is wrapped at the width of the terminal
    text = "\n\n".join(" ".join(paragraph.split()) for paragraph in (command.__doc__ or "").split("\n\n"))
    app.command(help=text, epilog=f"Example: {EXAMPLES[command.__name__]}")(command)


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
