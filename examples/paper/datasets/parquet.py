"""Splits of a Hugging Face dataset from the Parquet files of its repository, read with pyarrow."""

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._files import reading_parquet
from clifford_rand.errors import ArgumentError, require
from examples.paper.datasets.assembly import RawTexts, Source

__all__ = ["check_names", "raw_texts", "read_parquet_folder"]

_SHARD = re.compile(r"-(\d{5})-of-(\d{5})$")  # the names that the hub gives: train-00000-of-00004.parquet


def read_parquet_folder(
    folder: Path, config: str, splits: Sequence[str], columns: Sequence[str], class_names: Sequence[str], partial: bool
) -> Source:
    """Read ``{config}/{split}-*.parquet``, or ``{split}-*.parquet``, of a downloaded dataset repository."""
    home = folder / config if (folder / config).is_dir() else folder
    found = {split: _read_split(home, split, columns, class_names, partial) for split in splits}
    return Source(str(home), found)


def raw_texts(where: str, table: Any, columns: Sequence[str]) -> RawTexts:
    """Wrap an Arrow table: labels as an array, texts decoded when they are asked for."""
    arrow = require("pyarrow", extra="app", purpose="reading Parquet")
    label = table.column("label")
    if not arrow.types.is_integer(label.type):
        raise ArgumentError(f"{where}: column 'label' must be integers, it is {label.type}; this is another dataset.")
    if label.null_count:
        what = f"column 'label' has {label.null_count:,} missing values of {len(label):,}"
        raise ArgumentError(f"{where}: {what}; download it again.")

    def decode(rows: NDArray[np.int64] | None) -> list[Any]:
        chosen = table.select(list(columns))
        if rows is not None:
            keep = np.zeros(len(table), dtype=np.bool_)
            keep[rows] = True
            # a mask goes chunk by chunk; Table.take may join chunks and overflow 2 GiB of text
            chosen = chosen.filter(arrow.array(keep))
        texts = [chosen.column(name).to_pylist() for name in columns]
        return texts[0] if len(texts) == 1 else list(zip(*texts, strict=True))

    return RawTexts(label.to_numpy().astype(np.int64), decode)


def check_names(where: str, found: Sequence[str] | None, class_names: Sequence[str]) -> None:
    """Refuse a source whose classes have other names or another order."""
    if found is not None and list(found) != list(class_names):
        raise ArgumentError(
            f"{where}: the classes are {list(found)}, not {list(class_names)}; this is another dataset."
        )


def _read_split(home: Path, split: str, columns: Sequence[str], class_names: Sequence[str], partial: bool) -> RawTexts:
    arrow = require("pyarrow", extra="app", purpose="reading Parquet")
    parquet = require("pyarrow.parquet", extra="app", purpose="reading Parquet")
    files = sorted([*home.glob(f"{split}-*.parquet"), *home.glob(f"{split}.parquet")])
    if not files:
        what = f"there is no file {split}-*.parquet" if home.is_dir() else "there is no such folder"
        raise ArgumentError(f"{home}: {what}; give the folder of the downloaded dataset repository.")
    match = _SHARD.search(files[0].stem)
    if match and len(files) != int(match[2]) and not partial:
        what = f"there are {len(files)} of the {int(match[2])} files of split {split!r}"
        raise ArgumentError(f"{home}: {what}; download the others, or pass partial=True to use what is there.")
    wanted = [*columns, "label"]
    tables = []
    for file in files:
        with reading_parquet(file):
            names = parquet.read_schema(file).names
            missing = [name for name in wanted if name not in names]
            if missing:
                raise ArgumentError(f"{file}: there is no column {missing[0]!r}; the columns are {', '.join(names)}.")
            tables.append(parquet.read_table(file, columns=wanted))
            found = _class_names(tables[-1].schema)
        check_names(str(file), found, class_names)
    where = f"{home}, split {split!r}"
    try:
        whole = arrow.concat_tables([table.replace_schema_metadata(None) for table in tables])
    except arrow.lib.ArrowInvalid as error:
        raise ArgumentError(f"{where}: the files do not fit each other: {error}") from error
    return raw_texts(where, whole, columns)


def _class_names(schema: Any) -> list[str] | None:
    """Return the names of the label that the hub stores in a file's metadata, None if it stores none."""
    stored = (schema.metadata or {}).get(b"huggingface")
    if stored is None:
        return None
    names = json.loads(stored).get("info", {}).get("features", {}).get("label", {}).get("names")
    return None if names is None else [str(name) for name in names]
