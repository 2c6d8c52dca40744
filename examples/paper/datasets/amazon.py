"""Amazon polarity: 4,000,000 product reviews, positive or negative, from Hugging Face."""

from pathlib import Path

import numpy as np

from clifford_rand._checks import as_generator, check_choice, check_integer
from examples.paper.datasets.assembly import Known, assemble, finish_texts
from examples.paper.datasets.hub import read_hub
from examples.paper.datasets.labelled import LabelledTexts
from examples.paper.datasets.parquet import read_parquet_folder

__all__ = ["load_amazon_polarity"]

_KNOWN = Known(
    "Amazon polarity", ("negative", "positive"), {"train": (1_800_000, 1_800_000), "test": (200_000, 200_000)}
)
_REVISION = "9d9c45c18f8c3cf1b23a3c27917b60cbf28f3289"  # the Parquet files of January 2024
_FIELDS = {"content": ("content",), "title": ("title",), "both": ("title", "content")}


def load_amazon_polarity(
    folder: str | Path | None = None,
    *,
    n_train: int | None = 30_000,
    n_test: int | None = 30_000,
    rng: np.random.Generator | int | None = 0,
    field: str = "content",
    source: str = "fancyzhx/amazon_polarity",
    revision: str | None = _REVISION,
    cache_dir: str | Path | None = None,
    partial: bool = False,
) -> LabelledTexts:
    """Load a stratified sample of the Amazon reviews; labels and counts are checked on all of them.

    The paper draws 30,000 of the 3,600,000 training reviews and divides them; here training rows come from the
    training split and test rows from the test split. Four million texts are about 3 GB as Python strings, so the
    sample is drawn before texts are decoded.

    Parameters
    ----------
    folder : path or None
        A copy of the dataset repository (``amazon_polarity/train-00000-of-00004.parquet``, …). If None, the library
        `datasets` downloads it (about 1 GB).
    n_train, n_test : int or None
        Rows to draw of each split, with equal shares of the classes; all if None.
    rng : numpy.random.Generator, int or None
    field : {"content", "title", "both"}
        The review's text, as in the paper; its title; or the title, a line break and the text.
    source, revision, cache_dir, partial
        As in `load_imdb`.

    Returns
    -------
    LabelledTexts
        y = 1 for positive, 4 or 5 stars; 1 or 2 stars are negative, 3 are not in the set.

    Raises
    ------
    ArgumentError
        The files are missing, damaged, incomplete or of another dataset, or have fewer rows than asked for.
    MissingDependencyError
        Parquet needs pyarrow (extra ``app``), the hub needs `datasets` (extra ``paper``).

    References
    ----------
    Zhang, Zhao and LeCun, "Character-level convolutional networks for text classification", 2015.

    Examples
    --------
    >>> load_amazon_polarity("no/such/folder")
    Traceback (most recent call last):
    ...
    clifford_rand.errors.ArgumentError: no/such/folder: there is no such folder; give the folder of the downloaded ...
    """
    check_choice(field, "field", "load_amazon_polarity", tuple(_FIELDS))
    draw = {"train": n_train, "test": n_test}
    for split, n in draw.items():
        if n is not None:
            check_integer(n, f"n_{split}", "load_amazon_polarity")
    generator = as_generator(rng, "load_amazon_polarity")
    splits, columns = tuple(_KNOWN.counts), _FIELDS[field]
    if folder is None:
        read = read_hub(source, "amazon_polarity", revision, splits, columns, _KNOWN.class_names, cache_dir)
    else:
        read = read_parquet_folder(Path(folder), "amazon_polarity", splits, columns, _KNOWN.class_names, partial)
    data = assemble(read, _KNOWN, partial, draw, generator)
    if len(columns) == 2:
        data = data.joined("{}\n{}")
    return finish_texts(data, read.place).sample(rng=generator)
