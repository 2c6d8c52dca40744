"""Data of a proof by reference: the columns of a CSV file and its SHA-256."""

import csv
import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from clifford_rand._checks import describe, fail
from clifford_rand_nn.proof_checker.check import read_csv
from clifford_rand_nn.proofs.rationals import Stated


@dataclass(frozen=True)
class CsvTable:
    """A CSV file whose cells are the numbers of a training problem: the names of its columns and of its targets.

    Labels of classes are cells of one target column.
    """

    path: str | Path
    columns: Sequence[str]
    targets: Sequence[str]


def csv_reference(table: CsvTable, folder: Path, data: Stated, labels: bool) -> Stated:
    """Return the reference, relative to the folder of the proof, that stands for the data of a proof.

    Raises ArgumentError: the numbers of the file, read as doubles, are not those of the data.
    """
    content = Path(table.path).read_bytes()
    reference: dict[str, Any] = {
        "file": os.path.relpath(table.path, folder),
        "sha256": hashlib.sha256(content).hexdigest(),
        "columns": list(table.columns),
        "targets": list(table.targets),
        "labels": None,
    }
    try:
        if labels:
            cells = [line[table.targets[0]] for line in csv.DictReader(content.decode().splitlines())]
            reference["labels"] = dict(zip(cells, data["y"]["numerators"], strict=True))
        equal = read_csv(reference, folder) == [data["X"], data["y"]]
    except (KeyError, ValueError) as error:
        hint = "Leave the reference out: the proof then holds the numbers."
        raise fail("table", "Certificate.export", "a CSV file of numbers", describe(str(error)), hint) from error
    if not equal:
        hint = "Encoded columns and transformed targets cannot be referred to; leave the reference out."
        raise fail("table", "Certificate.export", "the rows X and the targets y", describe("other numbers"), hint)
    return reference
