"""PTB-XL: reports of 12-lead electrocardiograms, normal or abnormal, from a PhysioNet folder."""

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from examples.paper.datasets.assembly import finish_texts
from examples.paper.datasets.labelled import LabelledTexts
from examples.paper.datasets.ptbxl_records import CLASS_NAMES, checked_folds, in_folds, read_records

__all__ = ["load_ptbxl_reports"]


def load_ptbxl_reports(
    folder: str | Path,
    *,
    train_folds: Iterable[int] = (1, 2, 3, 4, 5, 6),
    test_folds: Iterable[int] = (7, 8, 9, 10),
    partial: bool = False,
) -> LabelledTexts:
    r"""Load the reports of PTB-XL with the paper's two classes, normal and abnormal.

    A record's superclasses are those of its diagnostic statements, as in PhysioNet's ``example_physionet.py``, of
    whatever likelihood. It is normal if they are NORM alone, and abnormal if they are any of MI, STTC, CD, HYP without
    NORM. Records with NORM and another, and records without any, are left out and counted in the notes.

    Parameters
    ----------
    folder : path
        Unpacked from https://physionet.org/content/ptb-xl: ``ptbxl_database.csv`` and ``scp_statements.csv``. If
        ``SHA256SUMS.txt`` is there, both are checked against it.
    train_folds, test_folds : iterable of int
        Values of ``strat_fold``, 1 to 10; no patient is in two folds. By default about 60 and 40 in 100, and no row is
        lost; the benchmarks of PTB-XL train on 1 to 8 and test on 10.
    partial : bool
        Accept a copy with other counts than the published ones, with a warning and a note.

    Returns
    -------
    LabelledTexts
        y = 1 for normal; ids are the column ``ecg_id``. Reports are German for the most part.

    Raises
    ------
    ArgumentError
        The files are missing, damaged or incomplete, or the folds overlap or hold no row.

    References
    ----------
    Wagner et al., "PTB-XL, a large publicly available electrocardiography dataset", Scientific Data, 2020.

    Examples
    --------
    >>> import tempfile, warnings
    >>> home = Path(tempfile.mkdtemp())
    >>> _ = (home / "scp_statements.csv").write_text(",diagnostic,diagnostic_class\nNORM,1,NORM\nIMI,1,MI\n")
    >>> head, files = "ecg_id,report,scp_codes,strat_fold,filename_lr,filename_hr\n", "records100/a,records500/a"
    >>> rows = [f"1,normales ekg,{{'NORM': 100.0}},1,{files}", f"2,infarkt,{{'IMI': 50.0}},9,{files}"]
    >>> _ = (home / "ptbxl_database.csv").write_text(head + "\n".join(rows))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # this is not all of PTB-XL
    ...     data = load_ptbxl_reports(home, partial=True)
    >>> data.texts, data.y.tolist(), data.split.tolist()
    (['normales ekg', 'infarkt'], [1, 0], [True, False])
    """
    sides = checked_folds(train_folds, test_folds, "load_ptbxl_reports")
    records, notes = read_records(Path(folder), partial)
    kept = in_folds(records, sides, str(folder))
    data = LabelledTexts(
        texts=[record.report for record in kept],
        y=np.array([record.normal for record in kept], dtype=np.int64),
        split=np.array([record.fold in sides[0] for record in kept]),
        name="PTB-XL reports",
        notes=notes,
        class_names=CLASS_NAMES,
        ids=np.array([record.ecg_id for record in kept], dtype=np.int64),
    )
    return finish_texts(data, str(folder))
