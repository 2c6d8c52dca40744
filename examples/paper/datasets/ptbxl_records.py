"""The records of PTB-XL: labels by superclass, folds of patients, checksums and known counts."""

import ast
import csv
import hashlib
import warnings
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand.errors import ArgumentError

__all__ = ["CLASS_NAMES", "Record", "check_sums", "checked_folds", "in_folds", "read_records"]

CLASS_NAMES = ("abnormal", "normal")
SUPERCLASSES = ("NORM", "MI", "STTC", "CD", "HYP")
_COLUMNS = ("ecg_id", "report", "scp_codes", "strat_fold", "filename_lr", "filename_hr")
_FOLDS = range(1, 11)
# records of the published versions and, where we know them, how many are normal, abnormal, mixed, unlabelled
_VERSIONS: dict[int, tuple[str, tuple[int, int, int, int] | None]] = {
    21_799: ("1.0.3", (9_069, 11_874, 445, 411)),
    21_837: ("1.0.1", None),  # and 1.0.2
}
_KINDS = ("normal", "abnormal", "mixed", "unlabelled")


@dataclass(frozen=True)
class Record:
    """One electrocardiogram with a label: its id, report, fold of patients and the stems of its two signal files."""

    ecg_id: int
    report: str
    normal: bool
    fold: int
    low_rate: str
    high_rate: str


def read_records(folder: Path, partial: bool) -> tuple[list[Record], tuple[str, ...]]:
    """Return the records with one of the two labels, in the file's order, and notes on the others."""
    notes = check_sums(folder, ("ptbxl_database.csv", "scp_statements.csv"), partial)
    superclass = _superclasses(folder / "scp_statements.csv")
    file = folder / "ptbxl_database.csv"
    kinds: Counter[str] = Counter()
    records: list[Record] = []
    ids: set[int] = set()
    for number, row in enumerate(_table(file, _COLUMNS), start=2):
        try:
            codes = ast.literal_eval(row["scp_codes"])
            ecg_id, fold = int(float(row["ecg_id"])), int(float(row["strat_fold"]))
            if not isinstance(codes, dict) or fold not in _FOLDS:
                raise ValueError(f"scp_codes {row['scp_codes']!r}, strat_fold {row['strat_fold']!r}")
        except (ValueError, SyntaxError, TypeError) as error:
            raise ArgumentError(
                f"{file}: record {number - 1} is malformed: {error}; download the file again."
            ) from error
        if ecg_id in ids:
            raise ArgumentError(f"{file}: ecg_id {ecg_id} occurs twice; download the file again.")
        ids.add(ecg_id)
        found = {superclass[code] for code in codes if code in superclass}
        kind = _kind(found)
        kinds[kind] += 1
        if kind in CLASS_NAMES:
            normal = kind == "normal"
            records.append(Record(ecg_id, row["report"], normal, fold, row["filename_lr"], row["filename_hr"]))
    notes += _check_population(file, [kinds[kind] for kind in _KINDS], partial)
    left_out = f"{kinds['mixed']:,} records with NORM and another superclass and {kinds['unlabelled']:,} without any"
    return records, (*notes, f"{left_out} are left out")


def checked_folds(train: object, test: object, owner: str) -> tuple[frozenset[int], frozenset[int]]:
    """Return both sets of folds, neither empty, disjoint, from 1 to 10."""
    sides = []
    for name, folds in (("train_folds", train), ("test_folds", test)):
        chosen = list(folds) if isinstance(folds, Iterable) and not isinstance(folds, str) else []
        if not chosen or not all(isinstance(fold, int | np.integer) and fold in _FOLDS for fold in chosen):
            raise fail(name, owner, "one or more integers from 1 to 10", describe(str(folds)))
        sides.append(frozenset(int(fold) for fold in chosen))
    if sides[0] & sides[1]:
        rule = "folds that are not in train_folds, so that no patient is on both sides"
        raise fail("test_folds", owner, rule, describe(str(sorted(sides[1]))))
    return sides[0], sides[1]


def in_folds(records: Sequence[Record], sides: tuple[frozenset[int], frozenset[int]], place: str) -> list[Record]:
    """Return the records of the folds of either side; each side must have some."""
    for side, folds in zip(("train", "test"), sides, strict=True):
        if not any(record.fold in folds for record in records):
            raise ArgumentError(f"{place}: no labelled record is in the {side} folds {sorted(folds)}; give others.")
    return [record for record in records if record.fold in sides[0] | sides[1]]


def check_sums(folder: Path, names: Sequence[str], partial: bool) -> tuple[str, ...]:
    """Compare files with ``SHA256SUMS.txt``, where PhysioNet's list is there; tell in notes what was not compared."""
    listing = folder / "SHA256SUMS.txt"
    if not folder.is_dir():
        raise ArgumentError(f"{folder}: there is no such folder; give the unpacked folder of PTB-XL.")
    if not listing.is_file():
        return (f"no checksum was compared: there is no {listing.name}",)
    lines = (line.split(maxsplit=1) for line in listing.read_text(encoding="utf-8").splitlines())
    sums = {line[1].strip().removeprefix("*"): line[0].lower() for line in lines if len(line) == 2}
    wrong = []
    for name in names:
        file = folder / name
        if name in sums and file.is_file():
            with open(file, "rb") as stream:
                if hashlib.file_digest(stream, "sha256").hexdigest() != sums[name]:
                    wrong.append(name)
    if wrong and not partial:
        what = f"{len(wrong)} of {len(names)} files differ from {listing.name}, such as {wrong[0]}"
        raise ArgumentError(f"{folder}: {what}; download them again, or pass partial=True to use an altered copy.")
    return (f"{len(wrong)} of {len(names)} files differ from {listing.name}",) if wrong else ()


def _kind(superclasses: set[str]) -> str:
    if not superclasses:
        return "unlabelled"
    if "NORM" not in superclasses:
        return "abnormal"
    return "normal" if len(superclasses) == 1 else "mixed"


def _superclasses(file: Path) -> dict[str, str]:
    """Return the superclass of each diagnostic statement; the file's first column, which has no name, is the code."""
    found = {}
    for row in _table(file, ("diagnostic", "diagnostic_class")):
        if row["diagnostic"] and float(row["diagnostic"]) == 1:
            if row["diagnostic_class"] not in SUPERCLASSES:
                known = ", ".join(SUPERCLASSES)
                raise ArgumentError(f"{file}: {row['diagnostic_class']!r} is not a superclass of PTB-XL ({known}).")
            found[next(iter(row.values()))] = row["diagnostic_class"]
    return found


def _table(file: Path, columns: Sequence[str]) -> list[dict[str, str]]:
    if not file.is_file():
        raise ArgumentError(f"{file}: there is no such file; give the unpacked folder of PTB-XL.")
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            reader = csv.DictReader(stream, restval="")
            missing = [name for name in columns if name not in (reader.fieldnames or ())]
            if missing:
                raise ArgumentError(f"{file}: there is no column {missing[0]!r}; download the file again.")
            return list(reader)
    except (UnicodeDecodeError, csv.Error) as error:
        raise ArgumentError(f"{file}: this is not a CSV table in UTF-8: {error}; download it again.") from error


def _check_population(file: Path, found: Sequence[int], partial: bool) -> tuple[str, ...]:
    version, known = _VERSIONS.get(sum(found), ("", None))
    if version and (known is None or tuple(found) == known):
        return ()
    has = f"{sum(found):,} records: " + ", ".join(f"{n:,} {kind}" for n, kind in zip(found, _KINDS, strict=True))
    _, published = _VERSIONS[21_799]
    should = ", ".join(f"{n:,} {kind}" for n, kind in zip(published or (), _KINDS, strict=True))
    if not partial:
        raise ArgumentError(
            f"{file}: this is not the complete PTB-XL: {has}. Version 1.0.3 has 21,799: {should}. "
            "Download it again, or pass partial=True to use what is there."
        )
    note = f"a partial copy of PTB-XL: {has}"
    warnings.warn(f"{file}: {note}. Version 1.0.3 has 21,799: {should}.", UserWarning, stacklevel=4)
    return (note,)
