"""Options of ``clifford-rand fit``, in records: data, columns, output, the model."""

# ruff: noqa: RUF009  # option() returns a field

import functools
import re
from dataclasses import dataclass, fields
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any

import typer

from clifford_rand_nn.cli.options import (
    AsJson,
    Force,
    ModelKind,
    Shards,
    Target,
    column_option,
    option,
    option_error,
    shards_option,
    table_option,
)

Task = StrEnum("Task", "auto classification regression")
Bias = StrEnum("Bias", "penalized free none")
Columns = list[str] | None
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12, "ki": 2**10, "mi": 2**20, "gi": 2**30, "ti": 2**40}

_kind_option = functools.partial(table_option, None, metavar="<column>")
_finite_option = functools.partial(option, panel="Options of --model gated, relu and lasso")
_gates_option = functools.partial(option, panel="Options of --model gated and relu")
_lasso_option = functools.partial(option, panel="Options of --model lasso")


@dataclass(frozen=True)
class ColumnKinds:
    """Columns whose kind is given: parameters of `TableEncoder`."""

    boolean: Columns = _kind_option("Take it for truth values.")
    categorical: Columns = _kind_option("Take it for categories, such as a zip code.")
    numeric: Columns = _kind_option("Take it for numbers.")
    date: Columns = _kind_option("Take it for dates; column=%d/%m/%Y gives their format, then for every one of them.")
    text: Columns = _kind_option(
        "Use the words of its texts, which are ignored otherwise. The command embed makes better features."
    )
    drop: Columns = _kind_option("Ignore it, such as an identifier.")
    missing_values: Columns = table_option(
        None, "Take cells such as n.d. or -999 as missing (repeatable).", metavar="<mark>"
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Arguments of `TableEncoder`.

        Raises typer.BadParameter if some dates have a format and some have none.
        """
        kinds: dict[str, Any] = {e.name: getattr(self, e.name) for e in fields(self)}
        if self.date and any("=%" in name for name in self.date):  # a format begins after the first =%
            for name in self.date:
                if "=%" not in name:
                    raise option_error("date", f"{name!r} has no format, such as {name}=%d/%m/%Y.")
            kinds["date"] = {name.partition("=%")[0]: "%" + name.partition("=%")[2] for name in self.date}
        return {name: columns for name, columns in kinds.items() if columns}


@dataclass(frozen=True)
class FitData:
    """Files and columns of a fit."""

    train: Annotated[
        Path | None,
        typer.Argument(
            help="Table to train on: .csv, .tsv, .txt (.gz, .zip), .xlsx, .parquet, .arff, or .npz (X and the target).",
            show_default="--shards",
        ),
    ] = None
    target: Target = None
    test: Path | None = option(None, "Test set, with the same columns; with --shards a folder of shards.")
    weights: str | None = column_option(
        "Column with weights of the rows, numbers ≥ 0; not a feature. A test table need not have it.",
        "--sample-weight",
        show_default="all equal",
    )
    groups: str | None = column_option(
        "Column of groups (one patient, one author), not a feature: a group is left out as a whole, so that scores "
        "are estimates for new groups (--model network only)."
    )
    order: str | None = column_option(
        "Column of times, numbers or dates: scores and intervals are those of later rows, each predicted by a fit to "
        "the rows before it. It is a feature too, without --drop (--model network only)."
    )
    shards: Shards = None
    checkpoint: Path | None = shards_option(
        None, "File for the state of a fit to --shards; the same command resumes from it.", metavar="<file>"
    )
    plan: bool = shards_option(
        False,
        "Print what a fit to --shards would take, by a trial on some rows: memory, passes, seconds; and end.",
        "--plan",
    )


@dataclass(frozen=True)
class FitOutput:
    """Files that a fit writes, and what it prints."""

    out: Path | None = option(None, "Where to write the model, a .npz file.")
    report: Path | None = option(None, "Where to write a report, a .html file; takes some seconds more.")
    force: Force = False
    compare: bool = option(
        True,
        "Whether the model is scored on left-out rows, beside the majority class (mean) and logistic (ridge) "
        "regression on the same columns. For --model gated, relu and lasso it takes up to five more fits.",
    )
    as_json: AsJson = False
    quiet: bool = option(False, "Print warnings and errors only.", "--quiet", "-q")

    @property
    def prints_text(self) -> bool:
        """Whether text is printed on stdout."""
        return not (self.quiet or self.as_json)


@dataclass(frozen=True)
class ModelChoice:
    """The model of a fit, and options of all models."""

    task: Task = option(
        Task.auto, "classification or regression; auto decides by the target and prints which.", metavar="<task>"
    )
    model: ModelKind = option(
        ModelKind.network,
        "network: kernel ridge regression with the gated-ReLU kernel (infinitely many gates), tuning-free; gated: "
        "sampled gates, for many features; relu: a ReLU network over activation patterns; lasso: a ReLU network of "
        "cross products.",
        metavar="<model>",
    )
    n_neurons: int | None = option(
        None,
        "Maximum number of neurons of a ReLU network, selected from the data (--model network only).",
        min=1,
        metavar="<number>",
        show_default="infinitely many gates",
    )
    beta: str | None = option(
        None,
        "Regularization strength, independent of the number of rows; auto selects it.",
        metavar="<number>",
        show_default="the model's own",
    )
    max_time: float | None = option(
        None,
        "Seconds after which the best network so far is returned, if there is one; Ctrl-C does the same.",
        metavar="<seconds>",
        show_default="no limit",
    )
    max_memory: str | None = option(
        None, "Of a process at most, such as 1GB or 512MiB.", metavar="<size>", show_default="the method's own limit"
    )
    loss: str | None = option(
        None,
        "squared or, for classes, logistic; of --model gated, relu and lasso also huber, log_cosh or "
        "poisson for regression, squared_hinge for classes. auto takes the better one, where a model can.",
        metavar="<name>",
        show_default="the model's own",
    )

    def __post_init__(self) -> None:
        as_beta(self.beta)
        as_bytes(self.max_memory)


@dataclass(frozen=True)
class FiniteModel:
    """Options of models with finitely many gates or neurons."""

    huber_delta: float = _finite_option(1.0, "Where huber and log_cosh become linear.")
    penalty: str | None = _finite_option(
        None,
        "Norm of a neuron's weights, l1 or l2; ridge is half the squared l2 norm, for --model gated.",
        metavar="<name>",
        show_default="l1 for lasso, else l2",
    )
    bias: Bias = _finite_option(
        Bias.penalized, "Of gates and neurons: penalized (inside the norm), free or none.", metavar="<name>"
    )
    tol: float | None = _finite_option(None, "Relative duality gap to reach.", show_default="1e-6, of --shards 1e-3")
    max_iter: int | None = _finite_option(None, "Iterations at most.", min=1, show_default="the solver's own")
    solver: str = _finite_option(
        "auto",
        "auto, and the output has the reason; kernel, gram or fista for gated; column_generation, interior_point "
        "or augmented_lagrangian for relu; working_set, interior_point or homotopy for lasso; cvxpy, a reference.",
        metavar="<name>",
    )
    seed: int = _finite_option(0, "Seed of everything random.", min=0)
    gates: str = _gates_option(
        "cross",
        "Hyperplanes through sampled rows: cross, or sampled by leverage, volume, simplex, polished; random ones: "
        "gaussian, or orthogonal; between rows of opposite classes: opposite; exhaustive: all patterns; infinite: "
        "all random ones at once, with --model gated --penalty ridge.",
        metavar="<name>",
    )
    n_gates: int = _gates_option(50, "Gates to sample.", min=1)
    sketch_dim: str = _gates_option("auto", "Sketch for cross products: auto, exact or its number of rows.")
    n_refinements: int = _gates_option(
        0, "Iterations that exchange gates for better ones (--model gated only).", min=0, metavar="<number>"
    )
    subsample: str = _lasso_option(
        "auto",
        "Cross products to sample, each with both signs, or all; auto samples as many as take some seconds.",
        metavar="<number>",
    )

    def __post_init__(self) -> None:
        as_count(self.subsample, "subsample", "all")
        as_count(self.sketch_dim, "sketch_dim", "exact")

    @property
    def bias_parameter(self) -> str | bool:
        """The parameter ``bias`` of an estimator."""
        if self.bias is Bias.none:
            return False
        return self.bias is Bias.free or self.bias.value


def as_count(text: str, option: str, none: str) -> int | str | None:
    """Return a positive integer, "auto" as it is, and None for the word ``none``.

    >>> as_count("12", "subsample", "all"), as_count("auto", "subsample", "all"), as_count("all", "subsample", "all")
    (12, 'auto', None)
    """
    if text in ("auto", none):
        return None if text == none else text
    if text.isdecimal() and int(text) > 0:
        return int(text)
    raise option_error(option, f"{text!r} is neither auto, {none} nor a positive integer.")


def as_bytes(text: str | None) -> float | None:
    """Return a size such as 1.5GB, 512 MiB or 1000000 in bytes.

    >>> as_bytes("1.5GB"), as_bytes("2 KiB")
    (1500000000.0, 2048.0)
    """
    if text is None:
        return None
    match = re.fullmatch(r"\s*(\d+\.?\d*)\s*([kmgt]?i?)b?\s*", text.lower())
    if match is None or match.group(2) not in _UNITS or float(match.group(1)) == 0:
        raise option_error("max_memory", f"{text!r} is not a size such as 1GB, 512MiB or 1000000.")
    return float(match.group(1)) * _UNITS[match.group(2)]


def as_beta(text: str | None) -> float | str | None:
    """Return a number, or auto and None as they are."""
    if text is None or text == "auto":
        return text
    try:
        return float(text)
    except ValueError:
        raise option_error("beta", f"{text!r} is neither auto nor a number.") from None


def given_options(ctx: typer.Context) -> dict[str, Any]:
    """Return the options of the command line with their values, without those left to their defaults."""
    sources = {name: ctx.get_parameter_source(name) for name in ctx.params}
    explicit = {name: ctx.params[name] for name, source in sources.items() if source and source.name == "COMMANDLINE"}
    return {name: value.value if isinstance(value, StrEnum) else value for name, value in explicit.items()}
