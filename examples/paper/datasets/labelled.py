"""Labelled rows with a split: texts, pairs of texts, or arrays; their halves and stratified samples of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_generator, check_integer, describe, fail

__all__ = ["LabelledArrays", "LabelledTexts", "Rows", "stratified"]


@dataclass(frozen=True, eq=False, kw_only=True)
class Rows:
    """Common parts of the sets: a label and a side of the split for each row.

    Attributes
    ----------
    y : (n,) array
        Labels.
    split : (n,) bool
        True where a row is for training, False where it is for testing.
    name : str
    notes : tuple of str
        What is odd about the rows, with counts.
    """

    y: NDArray[Any]
    split: NDArray[np.bool_]
    name: str
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.y)

    @property
    def train(self) -> Self:
        """The rows for training."""
        return self.take(np.flatnonzero(self.split))

    @property
    def test(self) -> Self:
        """The rows for testing."""
        return self.take(np.flatnonzero(~self.split))

    def take(self, rows: ArrayLike) -> Self:
        """Return some rows, in the order of the indices ``rows``."""
        chosen = np.asarray(rows, dtype=np.int64).reshape(-1)
        return replace(self, y=self.y[chosen], split=self.split[chosen], **self._taken(chosen))

    def sample(
        self, n_train: int | None = None, n_test: int | None = None, rng: np.random.Generator | int | None = None
    ) -> Self:
        """Draw rows without replacement, each class in its share of the side; training rows come first.

        Rows are in random order on each side, so that the first m of them are a fair subsample again.

        Parameters
        ----------
        n_train, n_test : int or None
            Rows to draw of each side; all of it if None.
        rng : numpy.random.Generator, int or None

        Raises
        ------
        ArgumentError
            There are not so many rows.
        """
        generator = as_generator(rng, "sample")
        drawn = []
        for name, n, side in (("n_train", n_train, self.split), ("n_test", n_test, ~self.split)):
            rows = np.flatnonzero(side)
            if n is not None:
                check_integer(n, name, "sample", low=0, high=len(rows), hint=f"{self.name} has no more rows there.")
            drawn.append(rows[stratified(self.y[rows], len(rows) if n is None else n, generator)])
        return self.take(np.concatenate(drawn))

    def resplit(self, test_share: float = 0.5, rng: np.random.Generator | int | None = None) -> Self:
        """Return the same rows with a new split: ``test_share`` of each class, drawn at random, for testing.

        Raises
        ------
        ArgumentError
            The share leaves no row for training or for testing.
        """
        n_test = round(test_share * len(self)) if isinstance(test_share, float) and 0 < test_share < 1 else 0
        if not 0 < n_test < len(self):
            rule = "a share above 0 and below 1 that leaves rows on both sides"
            raise fail("test_share", "resplit", rule, test_share)
        split = np.ones(len(self), dtype=np.bool_)
        split[stratified(self.y, n_test, as_generator(rng, "resplit"))] = False
        return replace(self, split=split)

    def _taken(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        raise NotImplementedError


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledTexts(Rows):
    """Texts, or pairs of texts, with labels and a split.

    Attributes
    ----------
    y : (n,) int64
        Indices into ``class_names``.
    split, name, notes
        As of every set: True for training; a name; what is odd about the rows.
    texts : list of str, or list of (str, str)
    class_names : tuple of str
    ids : (n,) array or None
        What the source calls the rows.

    Examples
    --------
    >>> texts = [f"text {i}" for i in range(10)]
    >>> split = np.arange(10) < 6
    >>> data = LabelledTexts(texts=texts, y=np.arange(10) % 2, split=split, name="made", class_names=("even", "odd"))
    >>> data.test.texts
    ['text 6', 'text 7', 'text 8', 'text 9']
    >>> data.sample(4, 2, rng=0).counts
    {'train': {'even': 2, 'odd': 2}, 'test': {'even': 1, 'odd': 1}}
    """

    texts: list[Any]
    class_names: tuple[str, ...]
    ids: NDArray[Any] | None = None

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Rows of each class on each side of the split."""
        return _counts(self.y, self.split, self.class_names)

    def joined(self, template: str = "Question 1: {}\n Question 2: {}") -> Self:
        """Return pairs as one text each, by default as the paper's authors joined them.

        Raises
        ------
        ArgumentError
            The texts are not pairs.
        """
        if self.texts and isinstance(self.texts[0], str):
            raise fail("texts", "joined", "pairs of texts", describe("single texts"))
        return replace(self, texts=[template.format(*pair) for pair in self.texts])

    def _taken(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        return {
            "texts": [self.texts[i] for i in rows.tolist()],
            "ids": None if self.ids is None else self.ids[rows],
        }


@dataclass(frozen=True, eq=False, kw_only=True)
class LabelledArrays(Rows):
    """Images or signals with labels and a split.

    Attributes
    ----------
    y : (n,) int64
        Indices into ``class_names``.
    split, name, notes
        As of every set: True for training; a name; what is odd about the rows.
    X : (n, ...) float32
    class_names : tuple of str
    ids : (n,) array or None
        What the source calls the rows.

    Examples
    --------
    >>> X, y, split = np.zeros((4, 3)), np.arange(4) % 2, np.arange(4) < 2
    >>> LabelledArrays(X=X, y=y, split=split, name="made", class_names=("0", "1")).train.X.shape
    (2, 3)
    """

    X: NDArray[Any]
    class_names: tuple[str, ...]
    ids: NDArray[Any] | None = None

    @property
    def counts(self) -> dict[str, dict[str, int]]:
        """Rows of each class on each side of the split."""
        return _counts(self.y, self.split, self.class_names)

    def _taken(self, rows: NDArray[np.int64]) -> dict[str, Any]:
        return {"X": self.X[rows], "ids": None if self.ids is None else self.ids[rows]}


def stratified(y: NDArray[Any], n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Return n indices of ``y`` in random order, of each class its share, rounded by the largest remainders."""
    if n == 0:
        return np.empty(0, dtype=np.int64)
    _, label, size = np.unique(y, return_inverse=True, return_counts=True)
    count, remainder = np.divmod(n * size.astype(np.int64), len(y))
    count[np.lexsort((-size, -remainder))[: n - int(count.sum())]] += 1  # of equal remainders, the larger class first
    chosen = [rng.choice(np.flatnonzero(label == k), m, replace=False) for k, m in enumerate(count.tolist())]
    return rng.permutation(np.concatenate(chosen))


def _counts(y: NDArray[Any], split: NDArray[np.bool_], names: Sequence[str]) -> dict[str, dict[str, int]]:
    return {
        side: {name: int(np.count_nonzero(rows & (y == k))) for k, name in enumerate(names)}
        for side, rows in (("train", split), ("test", ~split))
    }
