"""Options that commands share, in records, and the decorator that makes a command take records of options.

Nothing here imports NumPy: help and completion of a shell must be quick. Names of losses, gates, penalties, solvers and
formats are therefore words here, and are checked against their registries when a command runs.
"""

# ruff: noqa: RUF009  # option() returns a field

import functools
import inspect
from collections.abc import Callable
from dataclasses import MISSING, dataclass, field, fields, is_dataclass
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

ModelKind = StrEnum("ModelKind", "network gated relu lasso")
Precision = StrEnum("Precision", "float32 float64")
_OPTION = "option"  # in the metadata of a field


def option(default: Any, text: str, *names: str, panel: str | None = None, **settings: Any) -> Any:
    """Return a field of a record with the option that `takes_records` makes of it: its help text, names and metavar."""
    return field(
        default=default, metadata={_OPTION: typer.Option(*names, help=text, rich_help_panel=panel, **settings)}
    )


column_option = functools.partial(option, None, metavar="<column>")
table_option = functools.partial(option, panel="How the table is read")
shards_option = functools.partial(option, panel="Data beyond memory")


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
        for entry in fields(records[name]):
            default = inspect.Parameter.empty if entry.default is MISSING else entry.default
            hint = hints[entry.name]
            hint = Annotated[hint, entry.metadata[_OPTION]] if _OPTION in entry.metadata else hint
            flat.append(inspect.Parameter(entry.name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint))

    @functools.wraps(command)
    def run(**values: Any) -> None:
        arguments = {name: values[name] for name in parameters if name not in records}
        for name, record in records.items():
            arguments[name] = record(**{entry.name: values[entry.name] for entry in fields(record)})
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
    str | None,
    typer.Option(
        "--sample-weight", metavar="<column>", help="Column with weights of the rows.", show_default="all equal"
    ),
]
Shards = Annotated[
    Path | None,
    typer.Option(
        metavar="<folder>",
        help="Instead of a table: X-00000.npy, y-00000.npy, …, or Parquet files with one --target, or Zarr.",
        rich_help_panel="Data beyond memory",
    ),
]
Coverage = Annotated[float, typer.Option(help="Share of new values between low and high, the ends of intervals.")]
Seed = Annotated[int, typer.Option(min=0, help="Seed of everything random.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite existing files.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document instead of text.")]


@dataclass(frozen=True)
class TableFormat:
    """The format of a text table."""

    separator: str | None = table_option(
        None, "Between the cells of a text table.", metavar="<mark>", show_default="detected"
    )
    decimal: str | None = table_option(None, "In decimals: . or ,", metavar="<mark>", show_default="detected")
    encoding: str | None = table_option(
        None,
        "Of a text table that is not UTF-8, such as cp1252 (Windows, Excel) or latin-1.",
        metavar="<name>",
        show_default="UTF-8, or UTF-16 or UTF-32 by its mark",
    )
    no_header: bool = table_option(
        False, "The first line of a text table is a row; columns are c1, c2, …", "--no-header"
    )

    @property
    def keywords(self) -> dict[str, Any]:
        """Arguments of `read_frame`."""
        header = not self.no_header
        return {"separator": self.separator, "decimal": self.decimal, "header": header, "encoding": self.encoding}

    def refuse(self) -> None:
        """Refuse these options for shards."""
        for entry in fields(self):
            if getattr(self, entry.name):
                raise option_error(entry.name, "It is for tables, not for --shards.")


@dataclass(frozen=True)
class PredictOptions:
    """Files that predict writes, and shards that it reads."""

    out: Path | None = option(
        None,
        "Where to write the predictions: .csv, .parquet or .npz; with --shards a folder.",
        show_default="CSV to stdout",
    )
    identifier: str | None = column_option("Column to write beside the predictions.", "--id")
    coverage: Coverage = 0.9
    force: Force = False
    shards: Shards = None
    method: str = shards_option(
        "predict", "Written for --shards: predict, predict_proba or decision_function.", metavar="<name>"
    )
    file_format: str = shards_option(
        "npy", "Of the files that are written for --shards: npy, parquet or csv.", "--format", metavar="<name>"
    )
    resume: bool = shards_option(False, "Keep existing files for --shards; write the others.", "--resume")


@dataclass(frozen=True)
class Scoring:
    """Columns of a table that a model is scored on."""

    target: Target = None
    weights: Weights = None
    coverage: Coverage = 0.9


@dataclass(frozen=True)
class PathOptions:
    """Tables, model and files of a regularization path."""

    train: Annotated[Path, typer.Argument(help="Table to train on.")]
    target: Target = None
    test: Path | None = option(None, "Table to score every beta on.", show_default="a fifth of the rows, held out")
    weights: Weights = None
    groups: str | None = column_option("Column of rows that are left out together.")
    model: ModelKind = option(
        ModelKind.network, "network: the leave-one-out curve; else the path of a convex program of finitely many."
    )
    n_gates: int = option(50, "Gates to sample, of gated and relu.", min=1)
    subsample: int = option(500, "Cross products to sample, of lasso.", min=1)
    n_betas: int = option(30, "Values of beta, of gated, relu and lasso.", min=2)
    max_time: float = option(60.0, "After which a path of gated, relu or lasso ends.", metavar="<seconds>")
    seed: int = option(0, "Seed of gates and cross products.", min=0)
    out: Path | None = option(None, "Where to write the table, a .csv file.")
    picture: Path | None = option(None, "Where to draw the curves: .png, .svg or .pdf.")
    force: Force = False


@dataclass(frozen=True)
class ProofOutput:
    """Output of prove."""

    out: Annotated[Path, typer.Option(metavar="<file>", help="Proof to write, a .json file.")]
    by_reference: bool = option(
        False,
        "Name the table and its SHA-256 in the proof instead of its numbers, if columns are not encoded.",
        "--by-reference",
    )
    max_operations: float = option(3e8, "Multiplications that an enumeration of hyperplanes may take.", min=1.0)
    force: Force = False


@dataclass(frozen=True)
class ExplainOptions:
    """The table that a model was trained on, for its explanation, and what is made of that."""

    train: Path | None = option(
        None,
        "Table that the model was trained on: its rows are shown, and the importance of columns is measured on "
        "them. Another table with the same columns serves for the latter.",
        metavar="<table>",
    )
    target: str | None = column_option("Column with the target in --train.", show_default="the last column")
    picture: Path | None = option(None, "Picture to draw: .png, .svg or .pdf.", metavar="<picture>")
    force: Force = False
    as_json: AsJson = False


@dataclass(frozen=True)
class EmbedOptions:
    """Columns of a table of texts, their encoder, and its cache."""

    text: Annotated[
        list[str],
        typer.Option(metavar="<column>", help="Column of text; several are concatenated, two may be a --pair."),
    ]
    encoder: Annotated[
        str,
        typer.Option(
            metavar="<name>",
            help="sentence-transformers model, a folder or a name on the Hugging Face hub; openai:<model>, with the "
            "key in OPENAI_API_KEY; or hashing:<features>, counts of words and word pairs, without a model.",
        ),
    ]
    target: str | None = column_option("Column to write as y.")
    split: str | None = column_option("Column to write as split: true, 1 or train, else false, 0 or test.")
    pair: bool = option(False, "Features |e1 - e2| and e1·e2 of two columns of text.", "--pair")
    cache: Path | None = option(
        None, "Folder with the vectors of all texts.", show_default="embedding-cache beside --out"
    )
    batch_size: int = option(64, "Texts encoded, and then stored, at once.", min=1)


def option_error(name: str, why: str) -> typer.BadParameter:
    """Return the error to raise about the value of an option, which is called as its parameter is."""
    return typer.BadParameter(why, param_hint="--" + name.replace("_", "-"))


def check_source(table: Path | None, shards: Path | None, argument: str) -> None:
    """Refuse a command with neither a table nor shards, or with both."""
    if (table is None) == (shards is None):
        message = "Give a table, or --shards." if table is None else "Give a table or --shards, not both."
        raise typer.BadParameter(message, param_hint=argument)
