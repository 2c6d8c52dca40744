"""PTB-XL: signals of 12-lead electrocardiograms, normal or abnormal, from a PhysioNet folder with wfdb."""

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand.errors import ArgumentError, require
from examples.paper.datasets.labelled import LabelledArrays
from examples.paper.datasets.ptbxl_records import (
    CLASS_NAMES,
    Record,
    check_sums,
    checked_folds,
    in_folds,
    read_records,
)

__all__ = ["LEADS", "load_ptbxl_signals"]

LEADS = ("I", "II", "III", "AVR", "AVL", "AVF", "V1", "V2", "V3", "V4", "V5", "V6")
_SECONDS = 10


def load_ptbxl_signals(
    folder: str | Path,
    *,
    rate: int = 100,
    ids: ArrayLike | None = None,
    train_folds: Iterable[int] = (1, 2, 3, 4, 5, 6),
    test_folds: Iterable[int] = (7, 8, 9, 10),
    partial: bool = False,
) -> LabelledArrays:
    """Load ten seconds of twelve leads for each record of PTB-XL, in millivolts, with labels as `load_ptbxl_reports`.

    All 20,943 labelled records at 100 Hz are 1 GB; ``ids`` of a sample of the reports takes those only.

    Parameters
    ----------
    folder : path
        As for `load_ptbxl_reports`, with ``records100`` (or ``records500``). If ``SHA256SUMS.txt`` is there, every
        file that is read is checked against it.
    rate : {100, 500}
        Samples per second; the paper has 100.
    ids : (n,) integers or None
        Values of ``ecg_id`` to read, in this order; all in the folds if None.
    train_folds, test_folds, partial
        As for `load_ptbxl_reports`.

    Returns
    -------
    LabelledArrays
        X (n, 10·rate, 12) float32 with the leads I, II, III, aVR, aVL, aVF, V1 to V6.

    Raises
    ------
    ArgumentError
        As for `load_ptbxl_reports`; or an id is unknown, or a signal is missing or has other leads, length or rate.
    MissingDependencyError
        wfdb is not installed (extra ``ecg``).

    References
    ----------
    Wagner et al., "PTB-XL, a large publicly available electrocardiography dataset", Scientific Data, 2020.

    Examples
    --------
    >>> load_ptbxl_signals("no/such/folder", rate=250)
    Traceback (most recent call last):
    ...
    clifford_rand.errors.ArgumentError: The 'rate' parameter of load_ptbxl_signals must be one of 100, 500. Got 250 ...
    """
    check_choice(rate, "rate", "load_ptbxl_signals", (100, 500))
    sides = checked_folds(train_folds, test_folds, "load_ptbxl_signals")
    wfdb = require("wfdb", extra="ecg", purpose="reading the signals of PTB-XL")
    home = Path(folder)
    records, notes = read_records(home, partial)
    kept = in_folds(records, sides, str(folder))
    if ids is not None:
        kept = _chosen(kept, ids)
    stems = [record.low_rate if rate == 100 else record.high_rate for record in kept]
    files = [f"{stem}{ending}" for stem in stems for ending in (".hea", ".dat")]
    notes += tuple(note for note in check_sums(home, files, partial) if note not in notes)
    X = np.empty((len(kept), _SECONDS * rate, len(LEADS)), dtype=np.float32)
    for row, stem in zip(X, stems, strict=True):
        row[:] = _read_signal(wfdb, home / stem, rate)
    return LabelledArrays(
        X=X,
        y=np.array([record.normal for record in kept], dtype=np.int64),
        split=np.array([record.fold in sides[0] for record in kept]),
        name=f"PTB-XL signals, {rate} Hz",
        notes=notes,
        class_names=CLASS_NAMES,
        ids=np.array([record.ecg_id for record in kept], dtype=np.int64),
    )


def _chosen(records: list[Record], ids: ArrayLike) -> list[Record]:
    wanted = np.asarray(ids)
    if wanted.ndim != 1 or wanted.size == 0 or wanted.dtype.kind not in "iu" or len(np.unique(wanted)) < len(wanted):
        shown = describe(f"shape {wanted.shape} and dtype {wanted.dtype}")
        raise fail("ids", "load_ptbxl_signals", "a list of different integers, values of ecg_id", shown)
    there = {record.ecg_id: record for record in records}
    unknown = [ecg_id for ecg_id in wanted.tolist() if ecg_id not in there]
    if unknown:
        hint = "Take ids of load_ptbxl_reports with the same folds."
        shown = describe(f"{len(unknown)} others, such as {unknown[0]}")
        raise fail("ids", "load_ptbxl_signals", "ids of labelled records in the folds", shown, hint)
    return [there[ecg_id] for ecg_id in wanted.tolist()]


def _read_signal(wfdb: Any, stem: Path, rate: int) -> NDArray[np.float64]:
    """Return one record (10·rate, 12) in millivolts after all checks."""
    for ending in (".hea", ".dat"):
        if not Path(f"{stem}{ending}").is_file():
            raise ArgumentError(f"{stem}{ending}: there is no such file; download the folder records{rate} of PTB-XL.")
    try:
        signal, fields = wfdb.rdsamp(str(stem))
    except (ValueError, IndexError, KeyError, OSError, TypeError) as error:  # what wfdb raises on damaged files
        raise ArgumentError(f"{stem}: wfdb could not read it: {error}; download it again.") from error
    leads = tuple(name.upper() for name in fields["sig_name"])
    if signal.shape != (_SECONDS * rate, len(LEADS)) or fields["fs"] != rate or leads != LEADS:
        raise ArgumentError(
            f"{stem}: the signal must be {_SECONDS} s of the 12 leads at {rate} Hz; it has shape {signal.shape}, "
            f"{fields['fs']} Hz and the leads {', '.join(fields['sig_name'])}."
        )
    if set(fields["units"]) != {"mV"}:
        raise ArgumentError(f"{stem}: the signal must be in mV; it is in {', '.join(sorted(set(fields['units'])))}.")
    if not np.isfinite(signal).all():
        raise ArgumentError(f"{stem}: the signal has {int((~np.isfinite(signal)).sum())} missing samples.")
    return np.asarray(signal)
