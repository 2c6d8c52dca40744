"""Splits of a Hugging Face dataset through the library `datasets`, from the hub or a clone of a repository."""

from collections.abc import Sequence
from pathlib import Path

from clifford_rand.errors import ArgumentError, require
from examples.paper.datasets.assembly import Source
from examples.paper.datasets.parquet import check_names, raw_texts

__all__ = ["read_hub"]


def read_hub(
    source: str,
    config: str,
    revision: str | None,
    splits: Sequence[str],
    columns: Sequence[str],
    class_names: Sequence[str],
    cache_dir: str | Path | None,
) -> Source:
    """Load splits with ``datasets.load_dataset``, which downloads once, keeps a cache and retries by itself."""
    library = require("datasets", extra="paper", purpose=f"downloading {source}")
    if Path(source).is_dir():
        revision = None  # a clone has the commit that is checked out
    place = source if revision is None else f"{source}@{revision[:7]}"
    found = {}
    for split in splits:
        try:
            data = library.load_dataset(
                source, config, split=split, revision=revision, cache_dir=None if cache_dir is None else str(cache_dir)
            )
        except (library.exceptions.DatasetsError, ValueError) as error:
            if isinstance(error, OSError):  # not found or not reachable: its own message says which
                raise
            raise ArgumentError(f"{place}: `datasets` could not load it: {' '.join(str(error).split())}") from error
        missing = [name for name in (*columns, "label") if name not in data.column_names]
        if missing:
            there = ", ".join(data.column_names)
            raise ArgumentError(f"{place}: there is no column {missing[0]!r}; the columns are {there}.")
        check_names(place, getattr(data.features["label"], "names", None), class_names)
        table = data.select_columns([*columns, "label"]).with_format("arrow")[:]
        found[split] = raw_texts(f"{place}, split {split!r}", table, columns)
    return Source(place, found)
