"""``clifford-rand fit``: a table in, a trained and certified network out."""

from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from clifford_rand_nn.cli.choices import (
    AsJson,
    Biases,
    Checkpoint,
    Decimal,
    Encoding,
    Force,
    GateKind,
    MaxMemory,
    ModelKind,
    NoHeader,
    Penalty,
    Separator,
    ShardFolder,
    Solver,
    Task,
    as_bytes,
    one_source,
)

_FINITE = "Options of --model gated, relu and lasso"
_TABLE = "How the table is read"
_GATES, _COLUMNS = "Options of --model gated and relu", "Options of --model lasso"

EXAMPLE = "clifford-rand fit train.csv --target price --test test.csv --out model.npz"


def fit(
    ctx: typer.Context,
    train: Annotated[
        Path | None,
        typer.Argument(
            help="Table to train on: .csv, .tsv, .txt (.gz, .zip), .xlsx, .parquet, .arff, or .npz (X and the target).",
            show_default="--shards",
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option(
            metavar="<column>",
            help="Column to predict; all others are features.",
            show_default="the last column; y of an .npz",
        ),
    ] = None,
    test: Annotated[
        Path | None, typer.Option(help="Table to score on, with the same columns; with --shards a folder of shards.")
    ] = None,
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
    report: Annotated[
        Path | None, typer.Option(help="Where to write a page for people, a .html file; some seconds more.")
    ] = None,
    force: Force = False,
    categorical: Annotated[
        list[str] | None,
        typer.Option(metavar="<column>", help="Take it for categories, such as a zip code.", rich_help_panel=_TABLE),
    ] = None,
    numeric: Annotated[
        list[str] | None, typer.Option(metavar="<column>", help="Take it for numbers.", rich_help_panel=_TABLE)
    ] = None,
    date: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<column>",
            help="Take it for dates; column=%d/%m/%Y says how they are written, then for every one of them.",
            rich_help_panel=_TABLE,
        ),
    ] = None,
    text: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<column>",
            help="Use the words of its texts; else texts are left out. The command embed makes better features.",
            rich_help_panel=_TABLE,
        ),
    ] = None,
    drop: Annotated[
        list[str] | None,
        typer.Option(metavar="<column>", help="Leave it out, such as an identifier.", rich_help_panel=_TABLE),
    ] = None,
    missing: Annotated[
        list[str] | None,
        typer.Option(
            metavar="<mark>", help="Take cells such as n.d. or -999 as missing (repeatable).", rich_help_panel=_TABLE
        ),
    ] = None,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
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
    max_memory: MaxMemory = None,
    shards: ShardFolder = None,
    checkpoint: Checkpoint = None,
    plan: Annotated[
        bool,
        typer.Option(
            "--plan",
            help="Say what a fit to --shards would take, by a trial on some rows: memory, passes, seconds; and end.",
            rich_help_panel="Rows beyond memory",
        ),
    ] = False,
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
    ] = Biases.penalized,
    no_bias: Annotated[bool, typer.Option("--no-bias", help="Short for --bias none.", rich_help_panel=_FINITE)] = False,
    tol: Annotated[
        float | None,
        typer.Option(
            help="Relative duality gap to reach.", show_default="1e-6, of --shards 1e-3", rich_help_panel=_FINITE
        ),
    ] = None,
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
    compare: Annotated[
        bool,
        typer.Option(
            help="Whether rows are left out, and the majority (mean) and logistic (ridge) regression are fitted to the "
            "same columns, to say what the model is worth. For models with few neurons it takes up to five more fits."
        ),
    ] = True,
    as_json: AsJson = False,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print warnings and errors only.")] = False,
) -> None:
    """Train a network on a table.

    Columns of numbers, categories, truth values and dates are encoded, missing cells filled; what each was taken for
    is shown. Without options the network has infinitely many gates, columns are standardized, and everything is chosen
    by leave-one-out. The report has the score of rows left out beside those of the majority and logistic regression,
    and what the rows of --test gave. The other models have few neurons, and take encoded columns as they come: nothing
    is rescaled. With them, Ctrl-C takes the best network found so far, if any: reported with its gap, written to --out,
    with exit code 130.

    Rows beyond memory come as --shards, numbers as they are: for --model network and gated, by passes over the files.
    """
    one_source(train, shards, "train")
    from clifford_rand_nn.cli.fit import Asked, run_fit
    from clifford_rand_nn.cli.fit_shards import AskedShards, run_fit_shards

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
        "max_memory": None if max_memory is None else as_bytes(max_memory, "--max-memory"),
        "solver": solver.value,
        "random_state": seed,
    }
    given = _given(ctx)
    if shards is not None:
        files = AskedShards(
            shards=shards,
            target=target,
            weights=weights,
            test=test,
            checkpoint=checkpoint,
            plan=plan,
            out=out,
            force=force,
            task=task.value,
            as_json=as_json,
            quiet=quiet,
        )
        run_fit_shards(files, options, given)
        return
    assert train is not None
    for option in ("checkpoint", "plan"):
        if option in given:
            raise typer.BadParameter("It is for a fit to --shards.", param_hint=f"--{option}")
    kinds: dict[str, Any] = {"categorical": categorical, "numeric": numeric, "textual": text, "leave_out": drop}
    kinds["missing"] = missing
    kinds["dates"] = _dates(date)
    asked = Asked(
        train=train,
        target=target,
        weights=weights,
        groups=groups,
        test=test,
        out=out,
        report=report,
        force=force,
        task=task.value,
        compare=compare,
        as_json=as_json,
        quiet=quiet,
        dialect={"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding},
        kinds={name: columns for name, columns in kinds.items() if columns},
    )
    run_fit(asked, options, given)


def _given(ctx: typer.Context) -> dict[str, Any]:
    """Return the parameters that were given, as they were, without those left to their defaults."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    given = {name: ctx.params[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in given.items()}


def _dates(given: list[str] | None) -> list[str] | dict[str, str]:
    """Return names of columns, or for each its format, which begins after the first ``=%``."""
    if not given or not any("=%" in one for one in given):
        return given or []
    if not all("=%" in one for one in given):
        odd = next(one for one in given if "=%" not in one)
        raise typer.BadParameter(f"{odd!r} has no format, such as {odd}=%d/%m/%Y.", param_hint="--date")
    parts = [one.partition("=%") for one in given]
    return {name: "%" + form for name, _, form in parts}


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
