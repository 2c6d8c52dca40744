"""Pieces of a CSV by Arrow's parser, where it reads what pandas reads: columns of numbers, and of texts beside them."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._optional import available
from clifford_rand_nn.tables.dialect import Dialect

# What pandas takes for a missing cell (`na_values` of its `read_csv`); what Arrow does is another list.
MISSING_WORDS = ("", "#N/A", "#N/A N/A", "#NA", "<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null")
MISSING_NUMBERS = ("-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN")  # to look for them takes time
_BLOCK_BYTES = 2**20  # parsed at a time, within a cache


class ArrowPieces:
    """Reader of lines as data frames, which returns None where pandas has to say what the cells are.

    Both read decimals to the nearest double. Left to pandas are pieces with a cell that is no number in a column of
    numbers, with a NaN that is not one of pandas' marks, or with rows of other lengths than the header; and after more
    such pieces than others, all that come.

    Parameters
    ----------
    dialect : Dialect
    kept : sequence of int
        Places of the columns to read.
    numbers : sequence of str
        Columns that become float64; all others are texts.
    """

    def __init__(self, dialect: Dialect, kept: Sequence[int], numbers: Sequence[str]) -> None:
        from pyarrow import csv, float64, string

        self._names = [dialect.names[i] for i in kept]
        self._numbers = [i for i, name in enumerate(self._names) if name in numbers]
        texts = len(self._names) > len(self._numbers)
        types = {str(i): float64() if name in numbers else string() for i, name in zip(kept, self._names, strict=True)}
        self._whole = len(kept) == len(dialect.names)
        self._options = {
            "read_options": csv.ReadOptions(
                column_names=[str(i) for i in range(len(dialect.names))], use_threads=False, block_size=_BLOCK_BYTES
            ),
            "parse_options": csv.ParseOptions(delimiter=dialect.separator, quote_char=False),
            "convert_options": csv.ConvertOptions(
                column_types=types,
                include_columns=list(types),
                null_values=[*MISSING_WORDS, *(MISSING_NUMBERS if texts else ())],
                strings_can_be_null=True,
                decimal_point=dialect.decimal,
            ),
        }
        self._texts = texts
        self._balance = 0

    @classmethod
    def of(
        cls, dialect: Dialect, kept: Sequence[int], as_number: Sequence[str], as_text: Sequence[str]
    ) -> "ArrowPieces | None":
        """Return a reader, or None if a column is neither known as numbers nor as texts."""
        names = {dialect.names[i] for i in kept}
        texts = names & set(as_text)
        numbers = names & set(as_number) - texts
        if numbers | texts != names or not numbers or len(dialect.names) < 2 or (texts and dialect.spaces):
            return None
        if not dialect.separator.isascii() or not available("pyarrow"):
            return None
        return cls(dialect, kept, sorted(numbers))

    def __call__(self, piece: bytes) -> Any:
        """Return lines without quotation marks as a data frame, or None."""
        if self._balance < 0:
            return None
        frame = self._read(piece)
        self._balance += 1 if frame is not None else -1  # threads may lose a count: it decides of speed alone
        return frame

    def _read(self, piece: bytes) -> Any:
        from pyarrow import ArrowInvalid, BufferReader, compute, csv

        if not self._readable(piece):
            return None
        try:
            table = csv.read_csv(BufferReader(piece), **self._options)
        except ArrowInvalid:  # of the cell or the row that is at fault pandas tells
            return None
        for i in self._numbers:
            total = compute.sum(table.column(i)).as_py()  # NaN if a cell is one; a missing cell is not
            if total is not None and not np.isfinite(total):
                return None
        frame = table.to_pandas(split_blocks=True)
        frame.columns = self._names
        return frame

    def _readable(self, piece: bytes) -> bool:
        """Tell whether Arrow would see that it is no text, and where a cell ends."""
        if self._texts and b"\0" in piece:
            return False
        if self._whole or piece.isascii():  # all cells that are no numbers are texts, and are looked at
            return True
        try:
            piece.decode()
        except UnicodeDecodeError:
            return False
        return True
