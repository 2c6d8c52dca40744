"""``clifford-rand embed``: texts of a table in, features that ``fit`` reads out; a run that stopped is resumed."""

import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._files import read_npz, replaced
from clifford_rand.errors import ArgumentError
from clifford_rand_nn.cli.console import KNOWN_ERRORS, check_out, complain, say
from clifford_rand_nn.cli.options import EmbedOptions
from clifford_rand_nn.features.cache import FeatureCache, content_hash
from clifford_rand_nn.features.embedding import embed
from clifford_rand_nn.tables.arrays import checked_target, column_target
from clifford_rand_nn.tables.formats import open_table
from clifford_rand_nn.tables.writers import existing_table, listed

_CACHE = "embedding-cache"  # folder beside --out: shared by all tables that are written there


def run_embed(table: Path, options: EmbedOptions, out: Path, force: bool, dialect: Mapping[str, Any]) -> None:
    """Read, encode the texts that are not in the cache, and write."""
    text = options.text
    twice = next((name for i, name in enumerate(text) if name in text[:i]), None)
    if twice is not None:
        raise ArgumentError(f"--text {twice} is given twice.")
    if options.pair and len(text) != 2:
        raise ArgumentError(f"--pair is for two columns of text; give --text twice, not {len(text)} times.")
    check_out(out, force, (".npz",), "the table of features")
    # before the encoder, which may take long to load
    data = read_text_table(table, text, target=options.target, split=options.split, **dialect)
    model = make_encoder(options.encoder)
    texts = [cell for column in data.texts for cell in column]
    store = FeatureCache(options.cache or out.absolute().parent / _CACHE, model.cache_key)
    hashes = list({content_hash(cell): None for cell in texts})
    before = len(hashes) - len(store.missing(hashes))
    began = time.perf_counter()
    try:
        vectors = embed(texts, model, batch_size=options.batch_size, cache=store, verbose=int(sys.stderr.isatty()))
    except KeyboardInterrupt as interrupt:
        raise KeyboardInterrupt(f"{_stored(store, hashes)}; the same command resumes from there.") from interrupt
    except KNOWN_ERRORS:
        complain("note", f"{_stored(store, hashes)}; once the error is corrected, the same command resumes from there")
        raise
    seconds = time.perf_counter() - began
    parts = np.split(vectors, len(text))
    X = pair_features(*parts) if options.pair else np.concatenate(parts, axis=1)
    _write(out, X, data, model.cache_key)
    cached = f"{before} of {len(hashes)} unique texts from the cache"
    say(f"{X.shape[0]} rows of {X.shape[1]} features, {cached}, in {seconds:.1f} s: written to {out}")


def make_encoder(name: str) -> Any:
    """Return the encoder that ``--encoder`` names: openai:MODEL, hashing:DIM, or a sentence-transformers model.

    >>> make_encoder("hashing:4096")
    HashingEncoder(4096, ngram_range=(1, 2))
    """
    kind, colon, rest = name.partition(":")
    if kind == "openai" and colon:
        from clifford_rand_nn.features.text_encoders import OpenAIEncoder

        return OpenAIEncoder(rest)
    if kind == "hashing" and colon:
        from clifford_rand_nn.features.text_encoders import HashingEncoder

        if not rest.isdecimal():
            raise ArgumentError(f"--encoder {name}: give the number of features, as in hashing:4096.")
        return HashingEncoder(int(rest))
    from clifford_rand_nn.features.text_encoders import SentenceTransformerEncoder

    return SentenceTransformerEncoder(name)


def pair_features(first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return features (n, 2k) of pairs, |e1 - e2| and e1 · e2 entry by entry: the same if a pair is swapped.

    >>> pair_features(np.float32([[1, 2]]), np.float32([[3, 2]])).tolist()
    [[2.0, 0.0, 3.0, 4.0]]
    """
    return np.concatenate([np.abs(first - second), first * second], axis=1)


def _stored(store: FeatureCache, hashes: Sequence[bytes]) -> str:
    return f"{len(hashes) - len(store.missing(hashes))} of {len(hashes)} unique texts are stored in {store.folder}"


_TRAIN, _TEST = ("train", "true", "1"), ("test", "false", "0")


@dataclass(frozen=True, eq=False)
class TextTable:
    """Texts of a file, with the target and the split of its rows."""

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
        columns = open_table(file, **dialect).read(verbatim=text)
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
    return TextTable(texts, y, s)


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


def _write(out: Path, X: NDArray[np.float32], data: TextTable, encoder: str) -> None:
    arrays = {"X": X, "encoder": np.array(encoder)}
    arrays |= {} if data.target is None else {"y": data.target}
    arrays |= {} if data.split is None else {"split": data.split}
    with replaced(out) as new, open(new, "wb") as stream:
        np.savez(stream, **arrays)  # type: ignore[arg-type]
