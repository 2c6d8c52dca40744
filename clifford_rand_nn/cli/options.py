"""Options that commands share, in records, and the decorator that makes a command take records of options.

Nothing here imports NumPy: help and completion of a shell must be quick. Names of losses, gates, penalties, solvers and
formats are therefore words here, and are checked against their registries when a command runs.
"""

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

ModelKind = StrEnum("ModelKind", "network gated relu lasso")
Precision = StrEnum("Precision", "float32 float64")

table_option = functools.partial(typer.Option, rich_help_panel="How the table is read")
shards_option = functools.partial(typer.Option, rich_help_panel="Data beyond memory")


def takes_records(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for typer in which each parameter annotated by a dataclass became the fields of it."""
    parameters = inspect.signature(command, eval_str=True).parameters
    records: dict[str, Any] = {
        name: parameter.annotation for name, parameter in parameters.items() if is_dataclass(parameter.annotation)
    }
    flat: list[inspect.Parameter] = []
    for name, parameter in parameters.items():
        if name not in records:
            flat.append(parameter.replace(kind=inspect.Parameter.KEYWORD_ONLY))
            continue
        hints = get_type_hints(records[name], include_extras=True)
        for field in fields(records[name]):
            default = inspect.Parameter.empty if field.default is MISSING else field.default
            kind = inspect.Parameter.KEYWORD_ONLY
            flat.append(inspect.Parameter(field.name, kind, default=default, annotation=hints[field.name]))

    @functools.wraps(command)
    def run(**values: Any) -> None:
        arguments = {name: values[name] for name in parameters if name not in records}
        for name, record in records.items():
            arguments[name] = record(**{field.name: values[field.name] for field in fields(record)})
        command(**arguments)

    run.__signature__ = inspect.Signature(flat)  # type: ignore[attr-defined]
    run.__annotations__ = {parameter.name: parameter.annotation for parameter in flat}
    return run


ModelFile = Annotated[Path, typer.Argument(help="Model file that fit or save_model wrote.")]
Target = Annotated[
    str | None,
    typer.Option(metavar="<column>", help="Column with the target.", show_default="the last column; y of an .npz"),
]
Weights = Annotated[
    str | None, typer.Option(metavar="<column>", help="Column with weights of the rows.", show_default="all equal")
]
Shards = Annotated[
    Path | None,
    shards_option(
        metavar="<folder>",
        help="Instead of a table: X-00000.npy, y-00000.npy, …, or Parquet files with one --target, or Zarr.",
    ),
]
Coverage = Annotated[float, typer.Option(help="Share of new values between low and high, the ends of intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@dataclass(frozen=True)
class TableFormat:
    """The format of a text table."""

    separator: Annotated[
        str | None, table_option(metavar="<mark>", help="Between the cells of a text table.", show_default="detected")
    ] = None
    decimal: Annotated[
        str | None, table_option(metavar="<mark>", help="In decimals: . or ,", show_default="detected")
    ] = None
    encoding: Annotated[
        str | None,
        table_option(
            metavar="<name>",
            help="Of a text table that is not UTF-8, such as cp1252 (Windows, Excel) or latin-1.",
            show_default="UTF-8, or UTF-16 or UTF-32 by its mark",
        ),
    ] = None
    no_header: Annotated[
        bool, table_option("--no-header", help="The first line of a text table is a row; columns are c1, c2, …")
    ] = False

    @property
    def keywords(self) -> dict[str, Any]:
        """Arguments of `read_frame`."""
        header = not self.no_header
        return {"separator": self.separator, "decimal": self.decimal, "header": header, "encoding": self.encoding}

    def refuse(self) -> None:
        """Refuse these options for shards.

        Raises
        ------
        typer.BadParameter
        """
        for field in fields(self):
            if getattr(self, field.name):
                raise option_error(field.name, "It is for tables, not for --shards.")


@dataclass(frozen=True)
class PredictionOutput:
    """Output of predict."""

    out: Annotated[
        Path | None,
        typer.Option(
            help="Where to write the predictions: .csv, .parquet or .npz; with --shards a folder.",
            show_default="CSV to stdout",
        ),
    ] = None
    identifier: Annotated[
        str | None, typer.Option("--id", metavar="<column>", help="Column to write beside the predictions.")
    ] = None
    coverage: Coverage = 0.9
    force: Force = False


@dataclass(frozen=True)
class ShardPrediction:
    """Shards to predict, and the files of their predictions."""

    shards: Shards = None
    method: Annotated[
        str, shards_option(metavar="<name>", help="Written for --shards: predict, predict_proba or decision_function.")
    ] = "predict"
    kind: Annotated[
        str, shards_option(metavar="<name>", help="Of the files that are written for --shards: npy, parquet or csv.")
    ] = "npy"
    resume: Annotated[bool, shards_option("--resume", help="Keep existing files for --shards; write the others.")] = (
        False
    )


@dataclass(frozen=True)
class Scoring:
    """Columns of a table that a model is scored on."""

    target: Target = None
    weights: Weights = None
    coverage: Coverage = 0.9


@dataclass(frozen=True)
class PathData:
    """Tables of a regularization path, and their columns."""

    train: Annotated[Path, typer.Argument(help="Table to train on.")]
    target: Target = None
    test: Annotated[
        Path | None, typer.Option(help="Table to score every beta on.", show_default="a fifth of the rows, held out")
    ] = None
    weights: Weights = None
    groups: Annotated[
        str | None, typer.Option(metavar="<column>", help="Column of rows that are left out together.")
    ] = None


@dataclass(frozen=True)
class PathModel:
    """The model of a regularization path, and its values of beta."""

    model: Annotated[
        ModelKind,
        typer.Option(help="network: the leave-one-out curve; else the path of a convex program of finitely many."),
    ] = ModelKind.network
    n_gates: Annotated[int, typer.Option(min=1, help="Gates to sample, of gated and relu.")] = 50
    subsample: Annotated[int, typer.Option(min=1, help="Cross products to sample, of lasso.")] = 500
    n_betas: Annotated[int, typer.Option(min=2, help="Values of beta, of gated, relu and lasso.")] = 30
    max_time: Annotated[
        float, typer.Option(metavar="<seconds>", help="After which a path of gated, relu or lasso ends.")
    ] = 60.0
    seed: Annotated[int, typer.Option(min=0, help="Seed of gates and cross products.")] = 0


@dataclass(frozen=True)
class PathOutput:
    """Files of a regularization path."""

    out: Annotated[Path | None, typer.Option(help="Where to write the table, a .csv file.")] = None
    picture: Annotated[Path | None, typer.Option(help="Where to draw the curves: .png, .svg or .pdf.")] = None
    force: Force = False


@dataclass(frozen=True)
class TrainingTable:
    """The table that a model was trained on, for its explanation."""

    train: Annotated[
        Path | None,
        typer.Option(
            metavar="<table>",
            help="Table that the model was trained on: its rows are shown, and the importance of columns is measured "
            "on them. Another table with the same columns serves for the latter.",
        ),
    ] = None
    target: Annotated[
        str | None,
        typer.Option(metavar="<column>", help="Column with the target in --train.", show_default="the last column"),
    ] = None


@dataclass(frozen=True)
class ExplanationOutput:
    """The picture of an explanation, or its values."""

    out: Annotated[Path | None, typer.Option(metavar="<picture>", help="Picture to draw: .png, .svg or .pdf.")] = None
    force: Force = False
    as_json: AsJson = False


@dataclass(frozen=True)
class TextColumns:
    """Columns of a table of texts."""

    text: Annotated[
        list[str],
        typer.Option(metavar="<column>", help="Column of text; several are concatenated, two may be a --pair."),
    ]
    target: Annotated[str | None, typer.Option(metavar="<column>", help="Column to write as y.")] = None
    split: Annotated[
        str | None,
        typer.Option(metavar="<column>", help="Column to write as split: true, 1 or train, else false, 0 or test."),
    ] = None
    pair: Annotated[bool, typer.Option("--pair", help="Features |e1 - e2| and e1·e2 of two columns of text.")] = False


@dataclass(frozen=True)
class TextEncoding:
    """The encoder of texts, and its cache."""

    encoder: Annotated[
        str,
        typer.Option(
            metavar="<name>",
            help="sentence-transformers model, a folder or a name on the Hugging Face hub; openai:<model>, with the "
            "key in OPENAI_API_KEY; or hashing:<features>, counts of words and word pairs, without a model.",
        ),
    ]
    cache: Annotated[
        Path | None,
        typer.Option(help="Folder with the vectors of all texts.", show_default="embedding-cache beside --out"),
    ] = None
    batch_size: Annotated[int, typer.Option(min=1, help="Texts encoded, and then stored, at once.")] = 64


def option_error(name: str, why: str) -> typer.BadParameter:
    """Return the error to raise about the value of an option, which is called as its parameter is."""
    return typer.BadParameter(why, param_hint="--" + name.replace("_", "-"))


def check_source(table: Path | None, shards: Path | None, argument: str) -> None:
    """Refuse a command with neither a table nor shards, or with both.

    Raises
    ------
    typer.BadParameter
    """
    if (table is None) == (shards is None):
        message = "Give a table, or --shards." if table is None else "Give a table or --shards, not both."
        raise typer.BadParameter(message, param_hint=argument)
