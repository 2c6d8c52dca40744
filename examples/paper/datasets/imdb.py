"""IMDb: 50,000 film reviews, positive or negative, from Hugging Face or from the original archive."""

import re
from pathlib import Path

from clifford_rand.errors import ArgumentError
from examples.paper.datasets.assembly import Known, RawTexts, Source, assemble, finish_texts
from examples.paper.datasets.hub import read_hub
from examples.paper.datasets.labelled import LabelledTexts
from examples.paper.datasets.parquet import read_parquet_folder

__all__ = ["load_imdb"]

_KNOWN = Known("IMDb", ("neg", "pos"), {"train": (12_500, 12_500), "test": (12_500, 12_500)})
_REVISION = "e6281661ce1c48d982bc483cf8a173c1bbeb5d31"  # the Parquet files of January 2024
_FILE = re.compile(r"(\d+)_(\d+)\.txt$")  # id and stars
_STARS = {"neg": range(1, 5), "pos": range(7, 11)}  # the archive's README: at most 4, at least 7


def load_imdb(
    folder: str | Path | None = None,
    *,
    source: str = "stanfordnlp/imdb",
    revision: str | None = _REVISION,
    cache_dir: str | Path | None = None,
    partial: bool = False,
) -> LabelledTexts:
    """Load the IMDb reviews with the split of their authors: 25,000 to train, 25,000 to test, half of each positive.

    Texts are as they were published, with ``<br />`` for line breaks; the 50,000 reviews without labels are left out.

    Parameters
    ----------
    folder : path or None
        Where the files are: a copy of the dataset repository (``plain_text/train-00000-of-00001.parquet``, …) or the
        unpacked archive ``aclImdb`` (``train/pos/0_9.txt``, …). If None, the library `datasets` downloads them.
    source : str
        Hub name, or the folder of a clone that `datasets` reads, when ``folder`` is None.
    revision : str or None
        Commit of the dataset on the hub; None takes the newest, as another ``source`` needs.
    cache_dir : path or None
        Where `datasets` keeps what it downloads; its own default if None.
    partial : bool
        Accept a copy with other counts than the published ones, with a warning and a note.

    Returns
    -------
    LabelledTexts
        y = 1 for positive.

    Raises
    ------
    ArgumentError
        The files are missing, damaged, incomplete or of another dataset.
    MissingDependencyError
        Parquet needs pyarrow (extra ``app``), the hub needs `datasets` (extra ``paper``).

    References
    ----------
    Maas et al., "Learning word vectors for sentiment analysis", 2011. https://ai.stanford.edu/~amaas/data/sentiment

    Examples
    --------
    >>> import tempfile
    >>> home = Path(tempfile.mkdtemp())
    >>> for side in ("train", "test"):
    ...     for kind, stars in (("neg", 2), ("pos", 9)):
    ...         (home / side / kind).mkdir(parents=True)
    ...         _ = (home / side / kind / f"0_{stars}.txt").write_text(f"A {kind} review for {side}ing.")
    >>> import warnings
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")  # this is not all of IMDb
    ...     data = load_imdb(home, partial=True)
    >>> data.train.texts, data.train.y.tolist()
    (['A neg review for training.', 'A pos review for training.'], [0, 1])
    """
    splits = tuple(_KNOWN.counts)
    if folder is None:
        read = read_hub(source, "plain_text", revision, splits, ("text",), _KNOWN.class_names, cache_dir)
    else:
        home = Path(folder)
        archive = next((place for place in (home, home / "aclImdb") if (place / "train" / "pos").is_dir()), None)
        if archive is not None:
            read = Source(str(archive), {split: _read_reviews(archive / split) for split in splits})
        else:
            read = read_parquet_folder(home, "plain_text", splits, ("text",), _KNOWN.class_names, partial)
    return finish_texts(assemble(read, _KNOWN, partial), read.place)


def _read_reviews(side: Path) -> RawTexts:
    """Read ``neg/`` and ``pos/`` in the order of the ids, and check each label against the stars in the file's name."""
    labels, texts = [], []
    for label, kind in enumerate(_KNOWN.class_names):
        if not (side / kind).is_dir():
            raise ArgumentError(f"{side}: there is no folder {kind!r}; unpack the archive aclImdb again.")
        files = [(match, file) for file in (side / kind).iterdir() if (match := _FILE.fullmatch(file.name))]
        for match, file in sorted(files, key=lambda pair: int(pair[0][1])):
            if int(match[2]) not in _STARS[kind]:
                raise ArgumentError(f"{file}: a review of {match[2]} stars is not {kind!r}; unpack the archive again.")
            try:
                texts.append(file.read_text(encoding="utf-8"))
            except UnicodeDecodeError as error:
                raise ArgumentError(f"{file}: this is not UTF-8 text; unpack the archive again.") from error
            labels.append(label)
    return RawTexts.of(labels, texts)
