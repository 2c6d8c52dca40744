"""The command ``clifford-rand``: demo, fit, predict, embed."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from clifford_rand import __version__
from clifford_rand_nn.cli.console import one_line_errors, say


class _Group(TyperGroup):
    """Commands whose known errors are one line on stderr."""

    def invoke(self, ctx: Any) -> Any:
        with one_line_errors():
            return super().invoke(ctx)


app = typer.Typer(
    cls=_Group,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Train two-layer ReLU networks to the optimum of a convex program, with a certificate.",
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


# What an option may say; which solvers there are depends on the model.
Task = StrEnum("Task", "auto classification regression")
ModelKind = StrEnum("ModelKind", "network gated relu lasso")
GateKind = StrEnum("GateKind", "cross gaussian leverage volume simplex polished opposite exhaustive infinite")
Solver = StrEnum(
    "Solver",
    "auto kernel gram fista column_generation interior_point augmented_lagrangian working_set homotopy cvxpy",
)
Penalty = StrEnum("Penalty", "l1 l2 ridge")
Biases = StrEnum("Biases", "penalised free none")

_FINITE = "Options of --model gated, relu and lasso"
_GATES, _COLUMNS = "Options of --model gated and relu", "Options of --model lasso"

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
    ctx: typer.Context,
    train: Annotated[Path, typer.Argument(help="Table to train on: .csv, .parquet or .npz (X and the target).")],
    target: Annotated[
        str | None,
        typer.Option(
            metavar="<column>",
            help="Column to predict; all others are features.",
            show_default="the last column; y of an .npz",
        ),
    ] = None,
    test: Annotated[Path | None, typer.Option(help="Table to score on, with the same columns.")] = None,
    weights: Annotated[
        str | None,
        typer.Option(
            metavar="<column>",
            help="Column with weights of the rows, numbers ≥ 0; no feature. A test table may do without.",
            show_default="all equal",
        ),
    ] = None,
    groups: Annotated[
        str | None,
        typer.Option(
            metavar="<column>",
            help="Column that says which rows belong together (one patient, one author), no feature: they are left out "
            "together, so that choices and promise are for new groups (--model network only).",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Where to write the model, a .npz file.")] = None,
    task: Annotated[Task, typer.Option(help="What the target is; auto says what it chose.")] = Task.auto,
    model: Annotated[
        ModelKind,
        typer.Option(
            help="Infinitely many gates, everything chosen by leave-one-out; or few neurons: gated ReLU, for many "
            "features; ReLU over activation patterns; ReLU of cross products."
        ),
    ] = ModelKind.network,
    neurons: Annotated[
        int | None,
        typer.Option(
            min=1,
            metavar="<number>",
            help="Most neurons of a plain ReLU network, chosen as everything is (--model network only).",
            show_default="infinitely many gates",
        ),
    ] = None,
    beta: Annotated[
        str | None,
        typer.Option(
            metavar="<number>",
            help="Weight of the penalty; means the same for every number of rows. auto chooses it, where a model can.",
            show_default="the model's own",
        ),
    ] = None,
    max_time: Annotated[
        float | None,
        typer.Option(
            metavar="<seconds>",
            help="Seconds after which the best network found so far is taken, if there is one; so it is at Ctrl-C.",
            show_default="no limit",
        ),
    ] = None,
    loss: Annotated[
        str | None,
        typer.Option(
            metavar="<name>",
            help="squared or, for classes, logistic; of models with few neurons huber or log_cosh for regression, "
            "squared_hinge for classes, too. auto takes the better one, where a model can.",
            show_default="the model's own",
        ),
    ] = None,
    huber_delta: Annotated[
        float, typer.Option(help="Where huber and log_cosh turn from square to line.", rich_help_panel=_FINITE)
    ] = 1.0,
    penalty: Annotated[
        Penalty | None,
        typer.Option(
            help="Norm of a neuron's weights; ridge is half the squared l2 norm, for --model gated.",
            show_default="l1 for lasso, else l2",
            rich_help_panel=_FINITE,
        ),
    ] = None,
    bias: Annotated[
        Biases,
        typer.Option(
            help="Of gates and neurons: inside the norm of a neuron's weights; free of charge; none.",
            rich_help_panel=_FINITE,
        ),
    ] = Biases.penalised,
    no_bias: Annotated[bool, typer.Option("--no-bias", help="Short for --bias none.", rich_help_panel=_FINITE)] = False,
    tol: Annotated[float, typer.Option(help="Relative duality gap to reach.", rich_help_panel=_FINITE)] = 1e-6,
    max_iter: Annotated[
        int | None,
        typer.Option(
            min=1, help="Iterations at most.", show_default="as many as the solver takes", rich_help_panel=_FINITE
        ),
    ] = None,
    solver: Annotated[
        Solver,
        typer.Option(
            metavar="<name>",
            rich_help_panel=_FINITE,
            help="auto chooses, and the report says why; kernel, gram or fista for gated; column_generation, "
            "interior_point or augmented_lagrangian for relu; working_set, interior_point or homotopy for lasso; "
            "cvxpy, a reference.",
        ),
    ] = Solver.auto,
    seed: Annotated[int, typer.Option(min=0, help="Seed of everything random.", rich_help_panel=_FINITE)] = 0,
    gates: Annotated[
        GateKind,
        typer.Option(
            help="Hyperplanes through sampled rows (cross, or chosen by leverage, volume, simplex, polished), random "
            "ones, between rows of opposite classes, or all patterns; infinite: all random ones at once, with "
            "--model gated --penalty ridge.",
            rich_help_panel=_GATES,
        ),
    ] = GateKind.cross,
    n_gates: Annotated[int, typer.Option(min=1, help="Gates to sample.", rich_help_panel=_GATES)] = 50,
    sketch_dim: Annotated[
        str, typer.Option(help="Sketch for cross products: auto, exact or its number of rows.", rich_help_panel=_GATES)
    ] = "auto",
    refine: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="<rounds>",
            help="Rounds that exchange gates for better ones (--model gated only).",
            rich_help_panel=_GATES,
        ),
    ] = 0,
    subsample: Annotated[
        str,
        typer.Option(
            metavar="<number>",
            help="Cross products to draw, each with both signs, or all; auto draws as many as take some seconds.",
            rich_help_panel=_COLUMNS,
        ),
    ] = "auto",
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
) -> None:
    """Train a network on a table.

    Without options it has infinitely many gates, features are standardised, and everything is chosen by leave-one-out;
    the report says what was compared, what is promised for new rows, and what the rows of --test gave. The other models
    have few neurons, and use features as they come: nothing is rescaled. With them, Ctrl-C takes the best network found
    so far, if any: reported with its gap, written to --out, with exit code 130.
    """
    from clifford_rand_nn.cli.fit import run_fit

    options = {
        "model": model.value,
        "neurons": neurons,
        "gates": gates.value,
        "n_gates": n_gates,
        "sketch_dim": _sketch_dim(sketch_dim),
        "max_iter": max_iter,
        "refine": refine,
        "subsample": _subsample(subsample),
        "beta": _beta(beta),
        "loss": loss or ("auto" if model.value in ("network", "gated", "relu") else "squared"),
        "huber_delta": huber_delta,
        "penalty": None if penalty is None else penalty.value,
        "bias": False if no_bias or bias is Biases.none else bias is Biases.free or bias.value,
        "tol": tol,
        "max_time": max_time,
        "solver": solver.value,
        "random_state": seed,
    }
    run_fit(train, target, weights, groups, test, out, task.value, options, _given(ctx), quiet)


@app.command()
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


@app.command()
def embed(
    table: Annotated[Path, typer.Argument(help="Table with texts: .csv, .parquet, or .npz with arrays of text.")],
    text: Annotated[
        list[str],
        typer.Option(metavar="<column>", help="Column of text; several are set side by side, two may be a --pair."),
    ],
    encoder: Annotated[
        str,
        typer.Option(
            metavar="<name>",
            help="sentence-transformers model, a folder or a name on the Hugging Face hub; openai:<model>, with the "
            "key in OPENAI_API_KEY; or hashing:<features>, counts of words and word pairs, without a model.",
        ),
    ],
    out: Annotated[Path, typer.Option(help="Where to write the features, a .npz file for fit --target y.")],
    target: Annotated[str | None, typer.Option(metavar="<column>", help="Column to write as y.")] = None,
    split: Annotated[
        str | None,
        typer.Option(metavar="<column>", help="Column to write as split: true, 1 or train, else false, 0 or test."),
    ] = None,
    pair: Annotated[bool, typer.Option("--pair", help="Features |e1 - e2| and e1·e2 of two columns of text.")] = False,
    cache: Annotated[
        Path | None, typer.Option(help="Folder that keeps every vector.", show_default="embedding-cache beside --out")
    ] = None,
    batch_size: Annotated[int, typer.Option(min=1, help="Texts encoded, and then stored, at once.")] = 64,
) -> None:
    """Turn texts into features to train on. What was encoded once is kept: a run that stopped goes on where it was."""
    from clifford_rand_nn.cli.embed import run_embed

    run_embed(table, text, encoder, out, target, split, pair, cache, batch_size)


def _given(ctx: typer.Context) -> dict[str, Any]:
    """Return the parameters that were given, as they were, without those left to their defaults."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    given = {name: ctx.params[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in given.items()}


def _beta(text: str | None) -> float | str | None:
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise typer.BadParameter(f"{text!r} is neither auto nor a number.", param_hint="--beta") from None


def _subsample(text: str) -> int | str | None:
    if text in ("auto", "all"):
        return None if text == "all" else text
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither auto, all nor a positive integer.", param_hint="--subsample")


def _sketch_dim(text: str) -> int | str | None:
    if text == "auto":
        return text
    if text in ("exact", "none"):
        return None
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise typer.BadParameter(f"{text!r} is neither auto, exact nor a positive integer.", param_hint="--sketch-dim")
