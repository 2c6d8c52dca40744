"""Two tasks of GLUE: CoLA (is a sentence acceptable?) and QQP (do two questions ask the same?)."""

import csv
from pathlib import Path

import numpy as np

from clifford_rand._checks import as_generator, check_choice
from clifford_rand.errors import ArgumentError
from examples.paper.datasets.assembly import Known, RawTexts, Source, assemble, finish_texts
from examples.paper.datasets.hub import read_hub
from examples.paper.datasets.labelled import LabelledTexts
from examples.paper.datasets.parquet import read_parquet_folder

__all__ = ["load_cola", "load_qqp"]

_HUB = "nyu-mll/glue"
_REVISION = "bcdcba79d07bc864c1c254ccfcedcce55bcc9a8c"  # the Parquet files of January 2024
_COLA = Known(
    "CoLA",
    ("unacceptable", "acceptable"),
    {"train": (2_528, 6_023), "validation": (322, 721)},
    also={"validation": (324, 719)},  # the corpus as its authors have it on GitHub: two labels differ from GLUE's
)
_QQP = Known("QQP", ("not_duplicate", "duplicate"), {"train": (229_468, 134_378), "validation": (25_545, 14_885)})
# GLUE's names first; then those of the corpus, whose two dev files are together GLUE's
_COLA_FILES = {
    "train": (("train.tsv",), ("in_domain_train.tsv",)),
    "validation": (("dev.tsv",), ("in_domain_dev.tsv", "out_of_domain_dev.tsv")),
}


def load_cola(
    folder: str | Path | None = None,
    *,
    split: str = "pooled",
    test_share: float = 0.5,
    rng: np.random.Generator | int | None = 0,
    source: str = _HUB,
    revision: str | None = _REVISION,
    cache_dir: str | Path | None = None,
    partial: bool = False,
) -> LabelledTexts:
    r"""Load CoLA: 9,594 sentences from books on linguistics, 70.3 % of them acceptable.

    GLUE hides the labels of its test split, so that the paper's authors put train (8,551) and validation (1,043)
    together and divide them at random.

    Parameters
    ----------
    folder : path or None
        A copy of the dataset repository (``cola/train-00000-of-00001.parquet``, …), GLUE's folder ``CoLA``
        (``train.tsv``, ``dev.tsv``) or the corpus' own ``raw`` (``in_domain_train.tsv``, ``in_domain_dev.tsv``,
        ``out_of_domain_dev.tsv``). If None, the library `datasets` downloads it.
    split : {"pooled", "official"}
        Pool both splits and draw the test rows, as in the paper; or train on the one and test on the other.
    test_share : float
        Share of each class that is for testing, if pooled. The authors' scripts use 0.5 or 0.1.
    rng : numpy.random.Generator, int or None
        Draws the test rows, if pooled.
    source, revision, cache_dir, partial
        As in `load_imdb`.

    Returns
    -------
    LabelledTexts
        y = 1 for acceptable.

    Raises
    ------
    ArgumentError
        The files are missing, damaged, incomplete or of another dataset.
    MissingDependencyError
        Parquet needs pyarrow (extra ``app``), the hub needs `datasets` (extra ``paper``).

    References
    ----------
    Warstadt, Singh and Bowman, "Neural network acceptability judgments", 2019. https://nyu-mll.github.io/CoLA

    Examples
    --------
    >>> import tempfile, warnings
    >>> home = Path(tempfile.mkdtemp())
    >>> for name in ("train.tsv", "dev.tsv"):
    ...     _ = (home / name).write_text("gj04\t1\t\tThe cat sat.\ngj04\t0\t*\tSat cat the.\n")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # this is not all of CoLA
    ...     data = load_cola(home, split="official", partial=True)
    >>> data.train.texts, data.train.y.tolist(), data.notes[1]
    (['The cat sat.', 'Sat cat the.'], [1, 0], '2 of 2 test texts are also among the train texts')
    """
    check_choice(split, "split", "load_cola", ("pooled", "official"))
    generator = as_generator(rng, "load_cola")
    splits = tuple(_COLA.counts)
    if folder is None:
        read = read_hub(source, "cola", revision, splits, ("sentence",), _COLA.class_names, cache_dir)
    else:
        home = Path(folder)
        files = {name: _first_there(home, choices) for name, choices in _COLA_FILES.items()}
        if all(files.values()):
            read = Source(str(home), {name: _read_cola(found) for name, found in files.items()})
        else:
            read = read_parquet_folder(home, "cola", splits, ("sentence",), _COLA.class_names, partial)
    data = assemble(read, _COLA, partial)
    return finish_texts(data.resplit(test_share, generator) if split == "pooled" else data, read.place)


def load_qqp(
    folder: str | Path | None = None,
    *,
    split: str = "pooled",
    test_share: float = 0.5,
    rng: np.random.Generator | int | None = 0,
    source: str = _HUB,
    revision: str | None = _REVISION,
    cache_dir: str | Path | None = None,
    partial: bool = False,
) -> LabelledTexts:
    r"""Load QQP: 404,276 pairs of questions from Quora, 36.9 % of them duplicates.

    Train (363,846) and validation (40,430) are pooled as in `load_cola`. The paper then uses 50,000 pairs:
    ``load_qqp().sample(25_000, 25_000, rng=0)``; its authors embed each pair as one text, `LabelledTexts.joined`.

    Parameters
    ----------
    folder : path or None
        A copy of the dataset repository (``qqp/train-00000-of-00001.parquet``, …) or GLUE's folder ``QQP``
        (``train.tsv``, ``dev.tsv``). If None, the library `datasets` downloads it.
    split, test_share, rng, source, revision, cache_dir, partial
        As in `load_cola`.

    Returns
    -------
    LabelledTexts
        Texts are pairs; y = 1 for a duplicate.

    Raises
    ------
    ArgumentError
        The files are missing, damaged, incomplete or of another dataset.
    MissingDependencyError
        Parquet needs pyarrow (extra ``app``), the hub needs `datasets` (extra ``paper``).

    References
    ----------
    Wang et al., "GLUE: A multi-task benchmark and analysis platform for natural language understanding", 2019.

    Examples
    --------
    >>> import tempfile, warnings
    >>> home = Path(tempfile.mkdtemp())
    >>> row = "\t".join(["id", "qid1", "qid2", "question1", "question2", "is_duplicate"]) + "\n"
    >>> for i, name in enumerate(["train.tsv", "dev.tsv"]):
    ...     _ = (home / name).write_text(row + f"0\t1\t2\tWho am I{i}?\tWhat am I?\t1\n1\t3\t4\tWhy{i}?\tWhen?\t0\n")
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # this is not all of QQP
    ...     data = load_qqp(home, split="official", partial=True)
    >>> data.train.joined().texts[0]
    'Question 1: Who am I0?\n Question 2: What am I?'
    """
    check_choice(split, "split", "load_qqp", ("pooled", "official"))
    generator = as_generator(rng, "load_qqp")
    splits, columns = tuple(_QQP.counts), ("question1", "question2")
    if folder is None:
        read = read_hub(source, "qqp", revision, splits, columns, _QQP.class_names, cache_dir)
    else:
        home = Path(folder)
        files = {"train": home / "train.tsv", "validation": home / "dev.tsv"}
        if all(file.is_file() for file in files.values()):
            read = Source(str(home), {name: _read_qqp(file) for name, file in files.items()})
        else:
            read = read_parquet_folder(home, "qqp", splits, columns, _QQP.class_names, partial)
    data = assemble(read, _QQP, partial)
    return finish_texts(data.resplit(test_share, generator) if split == "pooled" else data, read.place)


def _first_there(home: Path, choices: tuple[tuple[str, ...], ...]) -> list[Path]:
    """Return the first group of files that are all there, or no file."""
    groups = ([home / name for name in names] for names in choices)
    return next((group for group in groups if all(file.is_file() for file in group)), [])


def _read_cola(files: list[Path]) -> RawTexts:
    """Read lines of source, label, the author's mark and sentence, without a header and without quoting."""
    labels, texts = [], []
    for file in files:
        for number, row in enumerate(_lines(file), start=1):
            if len(row) != 4 or row[1] not in ("0", "1"):
                raise ArgumentError(
                    f"{file}: line {number} is not a source, 0 or 1, a mark and a sentence between tabs; "
                    "download the file again."
                )
            labels.append(int(row[1]))
            texts.append(row[3])
    return RawTexts.of(labels, texts)


def _read_qqp(file: Path) -> RawTexts:
    """Read GLUE's table; lines that a line break inside a question has cut are left out, as GLUE's readers do."""
    rows = _lines(file)
    header = rows[0] if rows else []
    missing = [name for name in ("question1", "question2", "is_duplicate") if name not in header]
    if missing:
        raise ArgumentError(f"{file}: there is no column {missing[0]!r} in the first line; this is not GLUE's QQP.")
    first, second, label = (header.index(name) for name in ("question1", "question2", "is_duplicate"))
    whole = [row for row in rows[1:] if len(row) > label and row[label] in ("0", "1")]
    cut = len(rows) - 1 - len(whole)
    notes = (f"{cut:,} of {len(rows) - 1:,} lines of {file.name} were cut by a line break and are left out",)
    pairs = [(row[first], row[second]) for row in whole]
    return RawTexts.of([int(row[label]) for row in whole], pairs, notes if cut else ())


def _lines(file: Path) -> list[list[str]]:
    try:
        with open(file, encoding="utf-8-sig", newline="") as stream:
            return list(csv.reader(stream, delimiter="\t", quoting=csv.QUOTE_NONE))
    except UnicodeDecodeError as error:
        raise ArgumentError(f"{file}: this is not UTF-8 text; download the file again.") from error
    except csv.Error as error:
        raise ArgumentError(f"{file}: this is not a table of tabs: {error}; download the file again.") from error
