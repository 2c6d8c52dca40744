"""Encodings of cells as columns of numbers: each is a record that encodes, names its columns and states its program.

To add one, write a record like these, add it to `learn_encodings`, and to the state that `encoder_to_plain` writes.
"""

# ruff: noqa: D102  # methods are described by Encoding

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand._threads import cached_property
from clifford_rand.errors import require
from clifford_rand_nn.export.program import Value, apply, beside, constant, where
from clifford_rand_nn.tables.column_readers import NUMBER, TEXT, TRUTH, WORD, Reader
from clifford_rand_nn.tables.column_types import ColumnKind, indicators

Cells = Mapping[str, NDArray[Any]]
Tests = Callable[[list[str], str], Value]  # columns of 1 and 0: which of some words a cell is; [""] asks for missing
FEWEST = 20  # categories: up to so many have a column each rather than target means
_FOLDS = 5  # as scikit-learn's TargetEncoder has by default


class CellPrograms(NamedTuple):
    """Programs of cells by their names: numbers, and tests of words."""

    numbers: dict[str, Value]
    words: dict[str, Tests]


@dataclass(frozen=True)
class Encoding:
    """Encoding of the cells of one name."""

    cells: str  # such as "when (days)" of a date
    column: str  # of the table

    @property
    def names(self) -> list[str]:
        """Names of the columns that come out."""
        raise NotImplementedError

    def __call__(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        """Return cells (n,) as columns (n, k)."""
        raise NotImplementedError

    def program(self, cells: CellPrograms) -> list[Value]:
        """Return the same as operations, columns that stand side by side."""
        raise NotImplementedError


@dataclass(frozen=True)
class Filled(Encoding):
    """Numbers or truth values, with ``fill`` for missing ones: the median, or the most frequent value."""

    fill: float
    is_truth: bool = False

    @property
    def names(self) -> list[str]:
        return [self.cells]

    def __call__(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        return np.where(np.isnan(cells), self.fill, cells)[:, None]

    def program(self, cells: CellPrograms) -> list[Value]:
        numbers = cells.numbers[self.cells]
        return [where(_is_finite(numbers), numbers, self.fill)]


@dataclass(frozen=True)
class MissingMark(Encoding):
    """Numbers as 1 where they are missing, else 0."""

    @property
    def names(self) -> list[str]:
        return [f"{self.column} (missing)"]

    def __call__(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        return np.where(np.isnan(cells), 1.0, 0.0)[:, None]

    def program(self, cells: CellPrograms) -> list[Value]:
        return [where(_is_finite(cells.numbers[self.cells]), 0.0, 1.0)]


@dataclass(frozen=True)
class WordEncoding(Encoding):
    """Words by a table of numbers."""

    words: tuple[str | None, ...]  # in their order; None is that of missing cells

    @property
    def table(self) -> NDArray[np.float64]:
        """Rows (words + 1, k) of numbers; the last one is for words that are not known."""
        raise NotImplementedError

    @cached_property
    def _places(self) -> dict[str | None, int]:
        return {word: i for i, word in enumerate(self.words)}

    def __call__(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        return np.asarray(self.table[[self._places.get(word, -1) for word in cells]])

    def new_words(self, cells: NDArray[Any]) -> dict[str, int]:
        """Return the words that are not known, and how many cells each is in."""
        new = set(cells) - self._places.keys() - {None}
        return dict(Counter(word for word in cells if word in new)) if new else {}

    @property
    def known_words(self) -> list[str]:
        """Words without that of missing cells."""
        return [word for word in self.words if word is not None]


@dataclass(frozen=True)
class OneHot(WordEncoding):
    """Words as a column of 0 and 1 for each, and one for all that are ``rare``, new ones too."""

    rare: tuple[bool, ...]

    @classmethod
    def fitted(cls, cells: str, column: str, values: NDArray[Any], encoder: Any) -> "OneHot":
        """Return the encoding that scikit-learn's OneHotEncoder learns from cells."""
        from sklearn.preprocessing import OneHotEncoder

        limits = {"min_frequency": encoder.min_frequency, "max_categories": encoder.max_categories}
        learned = OneHotEncoder(handle_unknown="infrequent_if_exist", **limits).fit(values[:, None])
        infrequent = learned.infrequent_categories_[0]
        rare = set() if infrequent is None else set(infrequent.tolist())
        words = tuple(learned.categories_[0].tolist())
        return cls(cells, column, words, tuple(word in rare for word in words))

    @property
    def _frequent(self) -> list[str | None]:
        return [word for word, is_rare in zip(self.words, self.rare, strict=True) if not is_rare]

    @property
    def names(self) -> list[str]:
        own = [f"{self.cells} (missing)" if word is None else f"{self.cells}={word}" for word in self._frequent]
        return [*own, f"{self.cells} (rare)"] if any(self.rare) else own

    @cached_property
    def table(self) -> NDArray[np.float64]:
        place = {word: i for i, word in enumerate(self._frequent)}
        rows = np.zeros((len(self.words) + 1, len(self.names)))
        for i, word in enumerate([*self.words, None]):
            is_own = i < len(self.words) and not self.rare[i]
            if is_own or any(self.rare):
                rows[i, place[word] if is_own else -1] = 1.0
        return rows

    def program(self, cells: CellPrograms) -> list[Value]:
        test, frequent = cells.words[self.cells], self._frequent
        words = [word for word in frequent if word is not None]  # None is the last one
        parts = [test(words, f"words of {self.cells}")] if words else []
        if None in frequent:
            parts.append(test([""], f"missing of {self.cells}"))
        if not any(self.rare):
            return parts
        is_frequent = apply("row_sums", beside(parts)) if parts else 0.0 * test([""], f"missing of {self.cells}")
        return [*parts, 1.0 - is_frequent]


@dataclass(frozen=True)
class TargetMeans(WordEncoding):
    """Words as means of the targets, shrunk to the mean of all by empirical Bayes: scikit-learn's TargetEncoder."""

    labels: tuple[str, ...]  # classes of whose indicators these are the means; "" is the target itself
    values: tuple[tuple[float, ...], ...]  # for each label the means of all words, then that of all rows, for new words

    @classmethod
    def fitted(
        cls, cells: str, column: str, values: NDArray[Any], labels: tuple[str, ...], targets: NDArray[np.float64]
    ) -> "tuple[TargetMeans, NDArray[np.float64]]":
        """Return the means of all words, and for each row those of the other folds, (n, labels)."""
        from sklearn.model_selection import KFold

        codes, words = _pandas().factorize(values)
        words = (*words, None) if (codes < 0).any() else tuple(words)
        rows = np.where(codes < 0, len(words) - 1, codes)[:, None]
        means = _means(rows, targets, np.arange(len(words) + 1)[:, None])  # the last code is in no row
        out_of_fold = np.empty(targets.shape)
        for train, test in KFold(min(_FOLDS, len(rows)), shuffle=True, random_state=0).split(rows):
            out_of_fold[test] = _means(rows[train], targets[train], rows[test])
        return cls(cells, column, words, labels, tuple(map(tuple, means.T.tolist()))), out_of_fold

    @property
    def names(self) -> list[str]:
        return [f"{self.cells} (share of {label})" if label else f"{self.cells} (mean target)" for label in self.labels]

    @cached_property
    def table(self) -> NDArray[np.float64]:
        return np.array(self.values).T

    def program(self, cells: CellPrograms) -> list[Value]:
        test, name = cells.words[self.cells], self.cells
        known = [test(self.known_words, f"words of {name}")]
        order = [i for i, word in enumerate(self.words) if word is not None]
        if None in self.words:
            known.append(test([""], f"missing of {name}"))
            order.append(self.words.index(None))
        is_known, new = beside(known), constant(self.table[-1:], f"new of {name}")
        means = is_known @ constant(self.table[order], f"means of {name}")
        return [means + (1.0 - apply("row_sums", is_known)) * new]


@dataclass(frozen=True)
class HashedWords(Encoding):
    """Texts as counts of their words and pairs of words, hashed to ``features`` columns, of unit norm."""

    features: int

    @property
    def names(self) -> list[str]:
        return [f"{self.cells} #{i + 1}" for i in range(self.features)]

    def __call__(self, cells: NDArray[Any]) -> NDArray[np.float64]:
        from sklearn.feature_extraction.text import HashingVectorizer

        hashing = HashingVectorizer(n_features=self.features, ngram_range=(1, 2), norm="l2")
        return np.asarray(hashing.transform(cells).toarray(), dtype=np.float64)

    def program(self, cells: CellPrograms) -> list[Value]:
        hint = "Leave it out, or put features of it into columns of their own (clifford-rand embed)."
        raise fail("model", "export", "without texts of which words are hashed", describe(self.cells), hint)


class Learned(NamedTuple):
    """All that a `TableEncoder` learns of a table."""

    columns: tuple[ColumnKind, ...]
    readers: tuple[Reader, ...]
    encodings: tuple[Encoding, ...]
    complete: tuple[str, ...]  # numbers and truth values of which none is missing
    is_named: bool  # whether the columns had names


def learn_encodings(
    readers: Sequence[Reader], cells: Cells, encoder: Any, y: Any
) -> tuple[tuple[Encoding, ...], dict[str, NDArray[np.float64]]]:
    """Return the encodings of the cells of a table, and the target means of its rows by the other folds.

    ``encoder`` has the parameters min_frequency, max_categories and n_text_features; ``y`` may be None.
    """
    family, origin = families(readers)
    numeric = [name for kind in (NUMBER, TRUTH) for name, its in family.items() if its == kind]
    filled = [Filled(name, origin[name], _fill(cells[name], family[name]), family[name] == TRUTH) for name in numeric]
    first = {origin[name]: name for name in reversed([name for name in family if name in set(numeric)])}
    missing = {name for name in first.values() if np.isnan(cells[name]).sum() >= encoder.min_frequency}
    marks = [MissingMark(name, origin[name]) for name in family if name in missing]  # a date is missing as a whole
    target = indicators(y, len(next(iter(cells.values()))))
    one_hot, means, out_of_fold = [], [], {}
    for name in [name for name, kind in family.items() if kind == WORD]:
        if target is not None and _mostly_rare(cells[name], encoder):
            encoding, out_of_fold[name] = TargetMeans.fitted(name, origin[name], cells[name], *target)
            means.append(encoding)
        else:
            one_hot.append(OneHot.fitted(name, origin[name], cells[name], encoder))
    hashed = [HashedWords(name, origin[name], encoder.n_text_features) for name in family if family[name] == TEXT]
    return (*filled, *marks, *one_hot, *hashed, *means), out_of_fold


def unique_names(encodings: Sequence[Encoding]) -> list[str]:
    """Return the names of all columns that come out: a name that an earlier column has gets a number."""
    unique: dict[str, None] = {}
    for name in (name for encoding in encodings for name in encoding.names):
        numbered = (f"{name} ({i})" for i in itertools.count(2))
        unique[next(candidate for candidate in itertools.chain([name], numbered) if candidate not in unique)] = None
    return list(unique)


def fills_of(encodings: Sequence[Encoding]) -> dict[str, float]:
    """Return what stands for missing cells of numbers and truth values."""
    return {encoding.cells: encoding.fill for encoding in encodings if isinstance(encoding, Filled)}


def words_of(encodings: Sequence[Encoding]) -> dict[str, list[str]]:
    """Return the known words of categories, without that of missing cells."""
    return {encoding.cells: encoding.known_words for encoding in encodings if isinstance(encoding, WordEncoding)}


def families(readers: Sequence[Reader]) -> tuple[dict[str, str], dict[str, str]]:
    """Return for each name of cells its family, and the column of the table."""
    pairs = [(name, kind, reader.name) for reader in readers for name, kind in reader.families.items()]
    return {name: kind for name, kind, _ in pairs}, {name: column for name, _, column in pairs}


def _fill(cells: NDArray[Any], kind: str) -> float:
    """Return what scikit-learn's SimpleImputer fills in for missing cells."""
    from sklearn.impute import SimpleImputer

    strategy = "median" if kind == NUMBER else "most_frequent"
    return float(SimpleImputer(strategy=strategy, keep_empty_features=True).fit(cells[:, None]).statistics_[0])


def _mostly_rare(cells: NDArray[Any], encoder: Any) -> bool:
    """Return whether a column has many categories, and most rows have rare ones, which would share a column."""
    counts = _pandas().Series(cells, dtype=object).value_counts()
    own = counts[: encoder.max_categories - 1]
    return len(counts) > FEWEST and 2 * own[own >= encoder.min_frequency].sum() < counts.sum()


def _means(rows: NDArray[Any], targets: NDArray[np.float64], new: NDArray[Any]) -> NDArray[np.float64]:
    """Return the means of each target for the categories of new rows, learned from other rows."""
    from sklearn.preprocessing import TargetEncoder

    encoders = [TargetEncoder(target_type="continuous").fit(rows, target) for target in targets.T]
    return np.hstack([np.asarray(encoder.transform(new)) for encoder in encoders])  # may be frames, by set_config


def _is_finite(a: Value) -> Value:
    return apply("abs", a) < np.inf


def _pandas() -> Any:
    return require("pandas", extra="app", purpose="encoding a table")
