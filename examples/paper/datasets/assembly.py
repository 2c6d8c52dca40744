"""From the splits of a source to one checked set: labels, counts against the known ones, empty and repeated texts."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.errors import ArgumentError
from examples.paper.datasets.labelled import LabelledTexts, stratified

__all__ = ["Known", "RawTexts", "Source", "assemble", "check_counts", "finish_texts"]

# The published sets have a handful of empty texts at most; more of them are a sign of a wrong column or a bad copy.
_MOST_EMPTY = 0.01


@dataclass(frozen=True)
class Known:
    """A set as published: its name, its classes, and the rows of each class in each of its splits.

    Splits are in the order in which they are stacked; the first one is for training. ``also`` has the counts of splits
    in another edition.
    """

    name: str
    class_names: tuple[str, ...]
    counts: Mapping[str, tuple[int, ...]]
    also: Mapping[str, tuple[int, ...]] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class RawTexts:
    """One split of a source: all labels, and a function that decodes all texts or the rows of an ascending index."""

    labels: NDArray[np.int64]
    decode: Callable[[NDArray[np.int64] | None], list[Any]]
    notes: tuple[str, ...] = ()

    @classmethod
    def of(cls, labels: Sequence[int], texts: Sequence[Any], notes: tuple[str, ...] = ()) -> "RawTexts":
        """Wrap texts that are in memory already."""

        def decode(rows: NDArray[np.int64] | None) -> list[Any]:
            return list(texts) if rows is None else [texts[i] for i in rows.tolist()]

        return cls(np.asarray(labels, dtype=np.int64), decode, notes)


@dataclass(frozen=True, eq=False)
class Source:
    """The origin of a set, in words, and its splits."""

    place: str
    splits: Mapping[str, RawTexts]
    notes: tuple[str, ...] = ()


def assemble(
    source: Source,
    known: Known,
    partial: bool,
    draw: Mapping[str, int | None] | None = None,
    rng: np.random.Generator | None = None,
) -> LabelledTexts:
    """Stack the splits of a source after all checks; if ``draw``, only a stratified sample of each is decoded."""
    n_classes = len(known.class_names)
    for name, raw in source.splits.items():
        _check_labels(f"{source.place}, split {name!r}", raw.labels, known.class_names)
    found = {name: np.bincount(raw.labels, minlength=n_classes) for name, raw in source.splits.items()}
    notes = [*source.notes, *check_counts(source.place, known, found, partial)]
    labels, texts, sides = [], [], []
    for name, raw in source.splits.items():
        notes += raw.notes
        wanted = None if draw is None else draw.get(name)
        rows = None
        if wanted is not None and rng is not None:
            if wanted > len(raw.labels):
                what = f"{wanted:,} rows were asked of split {name!r}, which has {len(raw.labels):,}"
                raise ArgumentError(f"{source.place}: {what}; ask for fewer.")
            rows = np.sort(stratified(raw.labels, wanted, rng))
            notes.append(f"{wanted:,} of the {len(raw.labels):,} rows of split {name!r} were drawn, by class shares")
        labels.append(raw.labels if rows is None else raw.labels[rows])
        texts += raw.decode(rows)
        sides.append(np.full(len(labels[-1]), name == next(iter(known.counts))))
    return LabelledTexts(
        texts=texts,
        y=np.concatenate(labels),
        split=np.concatenate(sides),
        name=known.name,
        notes=tuple(notes),
        class_names=known.class_names,
    )


def finish_texts(data: LabelledTexts, place: str) -> LabelledTexts:
    """Check that texts are texts, and add to the notes how many are empty, repeated, or on both sides of the split."""
    empty = 0
    for i, text in enumerate(data.texts):
        parts: tuple[Any, ...] = text if isinstance(text, tuple) else (text,)
        if not all(isinstance(part, str) for part in parts):
            raise ArgumentError(f"{place}: the text of row {i} is missing; download the file again.")
        empty += not all(part.strip() for part in parts)
    n = len(data.texts)
    if empty > _MOST_EMPTY * n:
        raise ArgumentError(
            f"{place}: {empty:,} of {n:,} texts are empty, more than one in {round(1 / _MOST_EMPTY)}; "
            "this is not the published file, download it again."
        )
    notes = list(data.notes)
    if empty:
        notes.append(f"{empty:,} of {n:,} rows have an empty text")
    train = [text for text, side in zip(data.texts, data.split.tolist(), strict=True) if side]
    distinct = set(train)
    if len(distinct) < len(train):
        notes.append(f"{len(train) - len(distinct):,} of {len(train):,} train texts repeat another train text")
    shared = sum(text in distinct for text, side in zip(data.texts, data.split.tolist(), strict=True) if not side)
    if shared:
        notes.append(f"{shared:,} of {n - len(train):,} test texts are also among the train texts")
    return replace(data, notes=tuple(notes))


def check_counts(place: str, known: Known, found: Mapping[str, NDArray[np.int64]], partial: bool) -> tuple[str, ...]:
    """Compare the rows of each class with the known ones: refuse a copy that differs, or note it if ``partial``."""
    counts = {name: tuple(found[name].tolist()) for name in known.counts}
    other = [name for name, right in known.counts.items() if counts[name] != right]
    wrong = [name for name in other if counts[name] != known.also.get(name)]
    if not wrong:
        return tuple(f"another edition: {name} has {_listed(known.class_names, counts[name])}" for name in other)
    has = "; ".join(f"{name} has {_listed(known.class_names, counts[name])}" for name in wrong)
    should = "; ".join(f"{name} {_listed(known.class_names, known.counts[name])}" for name in wrong)
    if not partial:
        raise ArgumentError(
            f"{place}: this is not the complete {known.name}: {has}. It should be {should}. "
            "Download it again, or pass partial=True to use what is there."
        )
    for name in wrong:
        if not found[name].any():
            raise ArgumentError(f"{place}: {known.name} has no row in split {name!r}, and partial=True needs some.")
    note = f"a partial copy of {known.name}: {has}"
    warnings.warn(f"{place}: {note}. It should be {should}.", UserWarning, stacklevel=4)
    return (note,)


def _check_labels(where: str, labels: NDArray[np.int64], class_names: Sequence[str]) -> None:
    bad = np.flatnonzero((labels < 0) | (labels >= len(class_names)))
    if bad.size:
        hidden = " (-1 is a hidden label: this is a test split of GLUE)" if labels[bad[0]] == -1 else ""
        raise ArgumentError(
            f"{where}: labels must be integers from 0 to {len(class_names) - 1}; {bad.size:,} of {len(labels):,} are "
            f"not, such as {int(labels[bad[0]])} in row {int(bad[0])}{hidden}."
        )


def _listed(names: Sequence[str], counts: Sequence[int]) -> str:
    return " + ".join(f"{count:,} {name}" for name, count in zip(names, counts, strict=True))
