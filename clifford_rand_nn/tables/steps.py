"""From cells to columns of numbers by scikit-learn's imputers and encoders, fitted to a table or made from values."""

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._optional import require
from clifford_rand_nn.tables.readers import NUMBER, TEXT, TRUTH, WORD, Reader
from clifford_rand_nn.tables.target_means import FEWEST, TargetMeans, indicators, target_means

Cells = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class Categories:
    """Categories of one column.

    Attributes
    ----------
    words : tuple of str or None
        In their order; None is that of missing cells.
    rare : tuple of bool
        Which of them share a column.
    """

    words: tuple[str | None, ...]
    rare: tuple[bool, ...]

    def names(self, name: str) -> list[str]:
        """Return the names of the columns that come out."""
        own = [word for word, rare in zip(self.words, self.rare, strict=True) if not rare]
        made = [f"{name} (missing)" if word is None else f"{name}={word}" for word in own]
        return [*made, f"{name} (rare)"] if any(self.rare) else made


@dataclass(frozen=True, eq=False)
class Steps:
    """What was learned of cells.

    Attributes
    ----------
    origin : dict of str to str
        For each name of cells the column of the table.
    fill : dict of str to float
        What stands for missing cells of numbers; then ``truths`` likewise for booleans.
    marked : tuple of str
        Cells for which a column says where they are missing.
    whole : tuple of str
        Cells of which none was missing.
    categories : dict of str to Categories
    texts : tuple of str
    text_features : int
    means : dict of str to TargetMeans
        Of categories most of which are rare, if there was a target.
    """

    origin: dict[str, str]
    fill: dict[str, float]
    truths: dict[str, float]
    marked: tuple[str, ...]
    whole: tuple[str, ...]
    categories: dict[str, Categories]
    texts: tuple[str, ...]
    text_features: int
    means: dict[str, TargetMeans] = field(default_factory=dict)

    @classmethod
    def learned(
        cls, readers: Sequence[Reader], cells: Cells, encoder: Any, y: Any
    ) -> "tuple[Steps, Any, dict[str, NDArray[np.float64]]]":
        """Return what the cells of a table say, the ColumnTransformer fitted to them, and target means out of fold.

        ``encoder`` has the parameters min_frequency, max_categories and text_features; ``y`` may be None.
        """
        family, origin = families(readers)
        numeric = [name for name, kind in family.items() if kind in (NUMBER, TRUTH)]
        gone = {name: int(np.isnan(cells[name]).sum()) for name in numeric}
        one_of = {origin[name]: name for name in reversed(numeric)}  # a date is missing as a whole
        marked = tuple(name for name in one_of.values() if gone[name] >= encoder.min_frequency)
        marked = tuple(name for name in numeric if name in marked)
        rare = {"min_frequency": encoder.min_frequency, "max_categories": encoder.max_categories}
        target = indicators(y, len(next(iter(cells.values()))))
        many = [name for name, kind in family.items() if kind == WORD and _mostly_rare(cells[name], encoder)]
        encoded = {name: target_means(cells[name], *target) for name in many} if target is not None else {}
        words = {name: rare for name, kind in family.items() if kind == WORD and name not in encoded}
        transformer = _column_transformer(family, marked, words, encoder.text_features)
        transformer.fit(_frame(cells))
        made = transformer.named_transformers_
        fill, truths = (
            dict(zip((name for name in numeric if family[name] == kind), _filled(transformer, step), strict=True))
            for kind, step in ((NUMBER, "numbers"), (TRUTH, "booleans"))
        )
        categories = {name: _categories(made[f"category{i}"]) for i, name in enumerate(words)}
        texts = tuple(name for name, kind in family.items() if kind == TEXT)
        whole = tuple(name for name in numeric if not gone[name])
        means = {name: means for name, (means, _) in encoded.items()}
        steps = cls(origin, fill, truths, marked, whole, categories, texts, encoder.text_features, means)
        return steps, transformer, {name: rows for name, (_, rows) in encoded.items()}

    def transformer(self, readers: Sequence[Reader]) -> Any:
        """Return a ColumnTransformer that does what the first one did: fitted to a table of which the same is learned.

        Medians stand in every row; each category that is not rare stands in two rows or more, and so is none.
        """
        family, _ = families(readers)
        frequent = {
            name: [word for word, rare in zip(one.words, one.rare, strict=True) if not rare]
            for name, one in self.categories.items()
        }
        n = max([2, *(2 * len(own) for own in frequent.values())])
        cells: dict[str, NDArray[Any]] = {name: np.full(n, value) for name, value in (self.fill | self.truths).items()}
        words = {}
        for name, one in self.categories.items():
            column = np.empty(n, dtype=object)
            column[:] = _repeated(frequent[name] or one.words, n)
            cells[name] = column
            every = np.empty(len(one.words), dtype=object)
            every[:] = one.words
            words[name] = {"categories": [every], "min_frequency": 2 if frequent[name] else n + 1}
        cells |= {name: np.full(n, "", dtype=object) for name in (*self.texts, *self.means)}
        made = _column_transformer(family, self.marked, words, self.text_features)
        return made.fit(_frame({name: cells[name] for name in family}))

    def gaps(self, cells: Cells) -> dict[str, int]:
        """Return how many cells of numbers are missing, by name; those of which none is are left out."""
        gone = {name: int(np.count_nonzero(np.isnan(cells[name]))) for name in self._numeric}
        return {name: count for name, count in gone.items() if count}

    def __call__(
        self,
        transformer: Any,
        cells: Cells,
        gaps: Mapping[str, int],
        out_of_fold: Mapping[str, NDArray[np.float64]] | None = None,
    ) -> NDArray[np.float64]:
        """Return cells as columns of numbers (n, d); ``gaps`` as from `gaps`, target means from `learned` or None."""
        if not self.categories and not self.texts and not gaps:
            numeric = self._numeric  # nothing to impute
            rows = np.zeros((len(next(iter(cells.values()))), len(numeric) + len(self.marked)))
            for i, name in enumerate(numeric):
                rows[:, i] = cells[name]
        else:
            rows = np.asarray(transformer.transform(_frame(cells)), dtype=np.float64)
        if out_of_fold is None:
            out_of_fold = {name: means(cells[name]) for name, means in self.means.items()}
        return np.hstack([rows, *out_of_fold.values()]) if self.means else rows

    def compare(self, cells: Cells, gaps: Mapping[str, int]) -> tuple[dict[str, dict[str, int]], dict[str, int]]:
        """Return the categories that were not there in training, and how many cells are missing where none was."""
        pandas = require("pandas", extra="app", purpose="encoding a table")
        unknown: dict[str, dict[str, int]] = {}
        for name, one in self.categories.items():
            known = set(one.words)
            new = [word for word in pandas.unique(cells[name]) if word is not None and word not in known]
            if new:
                counts = pandas.Series(cells[name], dtype=object).value_counts()
                unknown[self.origin[name]] = {word: int(counts[word]) for word in new}
        filled: dict[str, int] = {}
        for name in self.whole:
            if name in gaps:
                filled[self.origin[name]] = gaps[name]
        return unknown, filled

    @property
    def _numeric(self) -> list[str]:
        """Cells of numbers and truth values, in the order of their columns."""
        return [*self.fill, *self.truths]

    @property
    def _blocks(self) -> list[tuple[str, list[str]]]:
        """Cells and the names of the columns that they become, in their order."""
        single = [(name, [name]) for name in self._numeric]
        missing = [(name, [f"{self.origin[name]} (missing)"]) for name in self.marked]
        words = [(name, encoding.names(name)) for name, encoding in self.categories.items()]
        texts = [(name, [f"{name} #{i + 1}" for i in range(self.text_features)]) for name in self.texts]
        means = [(name, encoding.names(name)) for name, encoding in self.means.items()]
        return [*single, *missing, *words, *texts, *means]

    def words(self, name: str) -> list[str]:
        """Return the categories of a column, without that of missing cells."""
        known = self.means.get(name) or self.categories.get(name)
        return [] if known is None else [word for word in known.words if word is not None]

    @property
    def names(self) -> list[str]:
        """Names of the columns that come out: a name that an earlier column has gets a number."""
        unique: dict[str, None] = {}
        for name in (name for _, names in self._blocks for name in names):
            numbered = (f"{name} ({i})" for i in itertools.count(2))
            unique[next(candidate for candidate in itertools.chain([name], numbered) if candidate not in unique)] = None
        return list(unique)

    @property
    def origins(self) -> list[str]:
        """For each column that comes out the column of the table."""
        return [self.origin[name] for name, names in self._blocks for _ in names]


def _mostly_rare(cells: NDArray[Any], encoder: Any) -> bool:
    """Return whether a column has many categories, and most rows have rare ones, which would share a column."""
    counts = require("pandas", extra="app", purpose="encoding a table").Series(cells, dtype=object).value_counts()
    own = counts[: encoder.max_categories - 1]
    return len(counts) > FEWEST and 2 * own[own >= encoder.min_frequency].sum() < counts.sum()


def families(readers: Sequence[Reader]) -> tuple[dict[str, str], dict[str, str]]:
    """Return for each name of cells its family, and the column of the table."""
    family: dict[str, str] = {}
    origin: dict[str, str] = {}
    for reader in readers:
        for name, kind in reader.families.items():
            family[name], origin[name] = kind, reader.name
    return family, origin


def _column_transformer(
    family: Mapping[str, str], marked: Sequence[str], words: Mapping[str, Mapping[str, Any]], text_features: int
) -> Any:
    """Return scikit-learn's transformer, not fitted."""
    from sklearn.compose import ColumnTransformer
    from sklearn.feature_extraction.text import HashingVectorizer
    from sklearn.impute import MissingIndicator, SimpleImputer
    from sklearn.preprocessing import OneHotEncoder

    place = {name: i for i, name in enumerate(family)}  # names are data: NumPy drops a NUL at the end, "" is no column
    of = {kind: [place[name] for name, its in family.items() if its == kind] for kind in (NUMBER, TRUTH, TEXT)}
    steps: list[tuple[str, Any, Any]] = [
        ("numbers", SimpleImputer(strategy="median", keep_empty_features=True), of[NUMBER]),
        ("booleans", SimpleImputer(strategy="most_frequent", keep_empty_features=True), of[TRUTH]),
        ("missing", MissingIndicator(features="all"), [place[name] for name in marked]),
    ]
    for i, (name, options) in enumerate(words.items()):
        encoder = OneHotEncoder(handle_unknown="infrequent_if_exist", sparse_output=False, **options)
        steps.append((f"category{i}", encoder, [place[name]]))
    for i, column in enumerate(of[TEXT]):
        hashing = HashingVectorizer(n_features=text_features, ngram_range=(1, 2), norm="l2")
        steps.append((f"text{i}", hashing, column))
    return ColumnTransformer(steps, sparse_threshold=0.0)


def _frame(cells: Cells) -> Any:
    pandas = require("pandas", extra="app", purpose="encoding a table")
    columns = {  # pandas would make its own texts of objects
        i: pandas.Series(values, dtype=object) if values.dtype == object else values
        for i, values in enumerate(cells.values())
    }
    return pandas.DataFrame(columns)


def _filled(transformer: Any, step: str) -> list[float]:
    """Return what stands for missing cells."""
    made = transformer.named_transformers_[step]
    return [float(value) for value in getattr(made, "statistics_", ())]


def _categories(encoder: Any) -> Categories:
    words = tuple(encoder.categories_[0].tolist())
    rare = encoder.infrequent_categories_[0]
    few = set() if rare is None else set(rare.tolist())
    return Categories(words, tuple(word in few for word in words))


def _repeated(words: Sequence[str | None], n: int) -> list[str | None]:
    """Return n words, each of them about as often."""
    return [words[i % len(words)] for i in range(n)]
