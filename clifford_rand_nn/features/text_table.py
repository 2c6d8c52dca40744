"""Columns of text from CSV, Parquet and NPZ files, as they are written there, with the target and the split."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from clifford_rand_nn._archives import read_npz
from clifford_rand_nn.tables import checked_target, column_target, existing_table, listed
from clifford_rand_nn.tables.formats import open_table

_TRAIN, _TEST = ("train", "true", "1"), ("test", "false", "0")


@dataclass(frozen=True, eq=False)
class TextTable:
    """Texts of a file, with the target and the split of its rows."""

    path: Path
    texts: list[list[str]]  # n texts for each column that was asked for
    target: NDArray[Any] | None  # (n,) of bool, int, float or str
    split: NDArray[np.bool_] | None  # (n,), True for training


def read_text_table(
    path: str | Path, text: Sequence[str], *, target: str | None = None, split: str | None = None, **dialect: Any
) -> TextTable:
    """Read columns of text; "007", "NA" and "true" stay the texts they are.

    The file is any that `read_frame` reads, with its options as ``dialect``; an .npz has arrays (n,) under the names of
    the columns. ``split`` is a column of booleans, of 1 and 0, or of "train" and "test". Refuse columns that are
    missing, hold no text, or have empty cells.
    """
    file, asked = existing_table(path), [name for name in (*text, target, split) if name is not None]
    is_npz = file.suffix.lower() == ".npz"
    columns: Any
    if is_npz:
        columns, present = read_npz(file, asked)
    else:
        columns = open_table(file, **dialect).read(text=text)
        present = [str(name) for name in columns.columns]
    what, checked = ("array", checked_target) if is_npz else ("column", column_target)
    for name in asked:
        if name not in present:
            raise ArgumentError(f"{file}: there is no {what} {name!r}; the {what}s are {listed(present, name)}.")
    n = len(columns[text[0]])
    for name in asked:
        if columns[name].shape != (n,):
            raise ArgumentError(f"{file}: the array {name!r} must have shape ({n},), not {columns[name].shape}.")
    if n == 0:
        raise ArgumentError(f"{file}: the table has columns but no rows.")
    texts = [_checked_texts(file, name, columns[name].tolist()) for name in text]
    y = None if target is None else checked(file, target, columns[target])
    s = None if split is None else _checked_split(file, split, checked(file, split, columns[split]))
    return TextTable(file, texts, y, s)


def _checked_texts(file: Path, name: str, cells: list[Any]) -> list[str]:
    missing = sum(1 for cell in cells if not isinstance(cell, str) or not cell.strip())
    if not missing:
        return cells
    example = next((cell for cell in cells if not isinstance(cell, str | None) and cell == cell), None)  # NaN is empty
    if example is not None:
        raise ArgumentError(f"{file}: column {name!r} is not text: it has {example!r}.")
    raise ArgumentError(f"{file}: column {name!r} has {missing} empty cells of {len(cells)}; fill or drop those rows.")


def _checked_split(file: Path, name: str, values: NDArray[Any]) -> NDArray[np.bool_]:
    words = [str(int(value) if value in (0, 1) else value).lower() for value in values.tolist()]
    wrong = next((value for value, word in zip(values, words, strict=True) if word not in _TRAIN + _TEST), None)
    if wrong is not None:
        shown = f"column {name!r} must say True, 1 or 'train', else False, 0 or 'test'"
        raise ArgumentError(f"{file}: {shown}; it has {str(wrong)!r}.")
    return np.array([word in _TRAIN for word in words])
