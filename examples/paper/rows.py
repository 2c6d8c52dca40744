"""A CSV of measurements that outlives a stopped run: keyed rows, each on the disk at once."""

import csv
import io
import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from clifford_rand.errors import ArgumentError

__all__ = ["ResultRows"]


class ResultRows:
    """Rows of a CSV file, appended one by one and found again by their key; one process at a time.

    Beside ``NAME.csv`` lies ``NAME.json`` with the facts under which its rows were measured. A second run must agree
    in every fact that is there; facts that are new, such as one more data set, are added. A last line that a crash
    tore is dropped.

    Parameters
    ----------
    path : path that ends in .csv
    columns : sequence of str
    key : sequence of str
        The columns that tell rows apart.
    facts : mapping
        Of text, numbers and mappings of the same.

    Raises
    ------
    ArgumentError
        The file has other columns or broken lines, or its facts differ.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "made.csv"
    >>> rows = ResultRows(path, ("n", "seconds"), ("n",), {"version": 1})
    >>> rows.append(n=200, seconds=0.5)
    >>> again = ResultRows(path, ("n", "seconds"), ("n",), {"version": 1})
    >>> again.has(n=200), again.has(n=400), again.rows
    (True, False, [{'n': '200', 'seconds': '0.5'}])
    """

    def __init__(self, path: str | Path, columns: Sequence[str], key: Sequence[str], facts: Mapping[str, Any]) -> None:
        self.path, self.columns, self.key = Path(path), tuple(columns), tuple(key)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self.rows: list[dict[str, str]] = self._read()
        self._agree(json.loads(json.dumps(facts)))
        if not self.path.exists() or self.path.stat().st_size == 0:
            self._write(self.columns)
        self._keys = {tuple(row[name] for name in self.key) for row in self.rows}

    def has(self, **key: Any) -> bool:
        """Tell whether the row of this key is there."""
        return tuple(_cell(key[name]) for name in self.key) in self._keys

    def append(self, **values: Any) -> None:
        """Add a row; when this returns it is on the disk."""
        row = {name: _cell(values.pop(name)) for name in self.columns}
        if values:
            raise KeyError(f"no such columns: {', '.join(values)}")
        self._write(tuple(row.values()))
        self.rows.append(row)
        self._keys.add(tuple(row[name] for name in self.key))

    def _write(self, cells: Sequence[str]) -> None:
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerow(cells)
        with open(self.path, "ab") as stream:
            stream.write(text.getvalue().encode())
            stream.flush()
            os.fsync(stream.fileno())

    def _read(self) -> list[dict[str, str]]:
        if not self.path.exists():
            return []
        whole = self.path.read_bytes()
        kept = whole[: whole.rfind(b"\n") + 1]  # a line is written at once with its end: without it, it is torn
        if len(kept) < len(whole):
            os.truncate(self.path, len(kept))
        if not kept:
            return []
        header, *lines = csv.reader(io.StringIO(kept.decode()))
        if tuple(header) != self.columns:
            raise ArgumentError(
                f"{self.path}: its columns are {', '.join(header)}, not {', '.join(self.columns)}; "
                "it is from another version. Give another --out."
            )
        for i, line in enumerate(lines):
            if len(line) != len(self.columns):
                what = f"line {i + 2} has {len(line)} cells for {len(self.columns)} columns"
                raise ArgumentError(f"{self.path}: {what}; delete the line, or give another --out.")
        return [dict(zip(self.columns, line, strict=True)) for line in lines]

    def _agree(self, facts: dict[str, Any]) -> None:
        side = self.path.with_suffix(".json")
        if not side.exists():
            if self.rows:
                raise ArgumentError(
                    f"{self.path}: there is no {side.name} that says how it was made; use another --out."
                )
            merged = facts
        else:
            try:
                merged = _merged(str(side), json.loads(side.read_text(encoding="utf-8")), facts, "")
            except json.JSONDecodeError as error:
                raise ArgumentError(f"{side}: this is not JSON: {error}. Give another --out.") from error
        part = side.with_suffix(".json.partial")
        part.write_text(json.dumps(merged, indent=2) + "\n", encoding="utf-8")
        os.replace(part, side)


def _cell(value: Any) -> str:
    return "" if value is None else str(value)


def _merged(where: str, old: Any, new: Any, name: str) -> Any:
    """Return what both say, or raise where they contradict each other."""
    if isinstance(old, dict) and isinstance(new, dict):
        both = {**old, **new}
        for key in old.keys() & new.keys():
            both[key] = _merged(where, old[key], new[key], f"{name}.{key}".lstrip("."))
        return both
    if old != new:
        raise ArgumentError(
            f"{where}: the results there were made with {name} = {old}, now it is {new}; they do not belong in one "
            "table. Give another --out, or the old setting."
        )
    return old
