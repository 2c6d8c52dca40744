"""``clifford-rand embed``: texts in, features out."""

from pathlib import Path
from typing import Annotated

import typer

from clifford_rand_nn.cli.choices import Decimal, Encoding, Force, NoHeader, Separator

EXAMPLE = "clifford-rand embed reviews.csv --text review --target stars --encoder hashing:4096 --out reviews.npz"


def embed(
    table: Annotated[
        Path, typer.Argument(help="Table with texts, of any kind that fit reads; an .npz has arrays of text.")
    ],
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
    force: Force = False,
    batch_size: Annotated[int, typer.Option(min=1, help="Texts encoded, and then stored, at once.")] = 64,
    separator: Separator = None,
    decimal: Decimal = None,
    encoding: Encoding = None,
    no_header: NoHeader = False,
) -> None:
    """Turn texts into features to train on. What was encoded once is kept: a run that stopped goes on where it was."""
    from clifford_rand_nn.cli.embed import run_embed

    dialect = {"separator": separator, "decimal": decimal, "header": not no_header, "encoding": encoding}
    run_embed(table, text, encoder, out, target, split, pair, cache, batch_size, force, dialect)
