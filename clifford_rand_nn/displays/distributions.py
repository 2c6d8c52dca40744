r"""Distributions of the columns of a table, and their associations with the target and with each other.

An association is a number from 0 (none) to 1, by the kinds of the two columns:

* two of numbers: :math:`|r|`, the absolute correlation of ranks (Spearman 1904);
* two of categories: Cramér's V, bias-corrected (Bergsma 2013, eq. 7);
* numbers and categories: the correlation ratio η of the ranks of the numbers, bias-corrected (Kelley 1935),
  :math:`\sqrt{1-(1-\eta^2)(n-1)/(n-k)}` with k categories.

Booleans are categories, dates are numbers. A pair is compared on the rows that have both cells; ranks are among all
cells of a column. No measure sees a dependence that is not monotone between numbers, such as y = x².

References
----------
Bergsma, "A bias-correction for Cramér's V and Tschuprow's T", J. Korean Statist. Soc. 42 (2013). Kelley, "An unbiased
correlation ratio measure", PNAS 21 (1935).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata

from clifford_rand._typing import Array
from clifford_rand.errors import ArgumentError
from clifford_rand_nn._words import shortened
from clifford_rand_nn.displays.facts import Association, Distribution, Rows
from clifford_rand_nn.tables.cells import is_missing, numbers, words
from clifford_rand_nn.tables.column_readers import DateReader

MOST_ROWS = 10_000  # that are counted: a share is known to 0.005, a correlation of 0 to 0.01
MOST_COLUMNS = 200  # whose distributions are counted
MOST_PAIRED = 60  # columns that are compared with each other: 1770 pairs take half a second
_FEWEST = 20  # rows of a pair: the correlation of fewer is above 0.4 by chance
_BINS = 16
_FAR = 3.0  # interquartile ranges beyond the quartiles: outliers, which in one range leave all others one bin
_BARS = 5  # categories, the rest is summed
_LONGEST = 40  # characters of a category
STRONG = 0.5  # of pairs that are listed
LISTED = 30  # pairs


class _Cells(NamedTuple):
    """The cells of a column: numbers (n,), NaN where missing, or codes (n,) of categories, -1 where missing."""

    name: str
    kind: str
    numbers: Array | None = None
    ranks: Array | None = None  # (n,) of the numbers
    codes: NDArray[np.intp] | None = None
    labels: tuple[str, ...] = ()  # of the codes, the most frequent first

    @property
    def known(self) -> NDArray[np.bool_]:
        """Which cells are not missing."""
        if self.codes is not None:
            return np.asarray(self.codes >= 0)
        return np.ones(0, dtype=bool) if self.numbers is None else ~np.isnan(self.numbers)


def describe_columns(rows: Rows, *, classes: bool) -> tuple[tuple[Distribution, ...], tuple[Association, ...]]:
    """Return the distributions of the target and of the columns, and the pairs of columns that are associated.

    The target is the first; then come columns by their association with it, last those that have none. Pairs have an
    association of 0.5 and more, the largest first. More than 10,000 rows are a sample; of more than 200 columns the
    first are described, of more than 60 those with the largest association with the target are paired.

    >>> rng = np.random.default_rng(0)
    >>> a, b = rng.standard_normal((2, 200))
    >>> rows = Rows(np.column_stack([a, a**3, b]), b > 0, names=("a", "cube", "b"))
    >>> columns, pairs = describe_columns(rows, classes=True)
    >>> [column.name for column in columns][:2], round(columns[1].association.value, 2)
    (['the target', 'b'], 0.86)
    >>> pairs
    (Association(first='a', second='cube', value=1.0, measure='Spearman'),)
    """
    place = np.sort(np.random.default_rng(0).permutation(rows.weighted)[:MOST_ROWS])
    columns, name = _columns(rows, place), rows.target or "the target"
    y = rows.y[place]
    target = _categories(name, "categorical", y.astype(str).tolist()) if classes else _numbers(name, "numeric", y)
    with_target = [associate(cells, target) for cells in columns]
    value = [-1.0 if found is None else found.value for found in with_target]
    order = sorted(range(len(columns)), key=lambda j: -value[j])
    described = [_described(target, None), *(_described(columns[j], with_target[j]) for j in order)]
    used = [columns[j] for j in order[:MOST_PAIRED]]
    pairs = [associate(first, second) for i, first in enumerate(used) for second in used[i + 1 :]]
    strong = [pair for pair in pairs if pair is not None and pair.value >= STRONG]
    return tuple(described), tuple(sorted(strong, key=lambda pair: -pair.value)[:LISTED])


def _columns(rows: Rows, place: NDArray[np.intp]) -> list[_Cells]:
    """Return the cells of some rows of the first columns of a table, or of an array."""
    if rows.frame is None:
        names = rows.names or tuple(f"column {j}" for j in range(rows.X.shape[1]))
        return [_numbers(name, "numeric", rows.X[place, j]) for j, name in enumerate(names[:MOST_COLUMNS])]
    kinds = rows.kinds[:MOST_COLUMNS]
    return [_read(name, kind, rows.frame.iloc[place, j]) for j, (name, kind) in enumerate(kinds)]


def _read(name: str, kind: str, column: Any) -> _Cells:
    if kind == "numeric":
        return _numbers(name, kind, numbers(column)[0])
    if kind == "date":
        try:
            moments = DateReader.of(name, column).moments(column, {})
        except ArgumentError:  # a format that was given, or no date among these rows
            return _Cells(name, kind)
        days = moments.astype("datetime64[s]").astype(np.float64) / 86_400
        return _numbers(name, kind, np.where(np.isnat(moments), np.nan, days))
    if kind in ("boolean", "categorical"):
        return _categories(name, kind, [None if is_missing(word) else word for word in words(column)])
    return _Cells(name, kind)


def _numbers(name: str, kind: str, values: Any) -> _Cells:
    x = np.asarray(values, dtype=np.float64)
    ranks = np.full(len(x), np.nan)
    known = ~np.isnan(x)
    ranks[known] = rankdata(x[known])
    return _Cells(name, kind, x, ranks)


def _categories(name: str, kind: str, cells: Sequence[Any]) -> _Cells:
    counts = Counter(cell for cell in cells if cell is not None)
    labels = tuple(label for label, _ in counts.most_common())
    code = {label: k for k, label in enumerate(labels)} | {None: -1}
    return _Cells(name, kind, codes=np.array([code[cell] for cell in cells], dtype=np.intp), labels=labels)


def _described(cells: _Cells, with_target: Association | None) -> Distribution:
    known = cells.known
    missing = float((~known).mean()) if len(known) else None
    if cells.codes is not None:
        shares = np.bincount(cells.codes[known], minlength=len(cells.labels)) / max(len(known), 1)
        bars = [(shortened(label, _LONGEST), float(share)) for label, share in zip(cells.labels, shares, strict=True)]
        first, rest = tuple(bars[:_BARS]), float(sum(share for _, share in bars[_BARS:]))
        described = Distribution(cells.name, cells.kind, missing, len(bars))
        return replace(described, bars=first, rest=rest, association=with_target)
    x = np.zeros(0) if cells.numbers is None else cells.numbers[known]
    values = np.unique(x)
    described = Distribution(cells.name, cells.kind, missing, len(values))
    if not len(x):
        return described
    edges, counts, below, above = _histogram(x, values)
    described = replace(described, edges=tuple(edges.tolist()), counts=tuple(counts.tolist()), below=below, above=above)
    return replace(described, extent=(float(values[0]), float(values[-1])), association=with_target)


def _histogram(x: Array, values: Array) -> tuple[Array, NDArray[np.intp], int, int]:
    """Return edges and counts of bins of numbers, and how many are below and above them."""
    low, high = float(values[0]), float(values[-1])
    with np.errstate(over="ignore", invalid="ignore"):
        quarter, three = np.quantile(x, [0.25, 0.75])
        if three > quarter:
            low = max(low, float(quarter - _FAR * (three - quarter)))
            high = min(high, float(three + _FAR * (three - quarter)))
        inside, few = (part[(part >= low) & (part <= high)] for part in (x, values))
        if (few == few.round()).all() and few[-1] - few[0] < _BINS:  # a bin for each whole number
            edges = np.arange(few[0] - 0.5, few[-1] + 1)
        else:
            edges = np.linspace(low, high, _BINS + 1)
        has_range = (np.diff(edges) > 0).all()
    counts = np.histogram(inside, edges)[0] if has_range else np.array([len(inside)])
    if not has_range:  # one value, values that are alike to rounding, or a range that overflows
        edges = np.array([low, high])
    return edges, counts, int((x < low).sum()), int((x > high).sum())


def associate(first: _Cells, second: _Cells) -> Association | None:
    """Return the association of two columns; None where fewer than 20 rows have both, or one of them is constant."""
    if (first.codes is None and first.numbers is None) or (second.codes is None and second.numbers is None):
        return None
    both = first.known & second.known
    if both.sum() < _FEWEST:
        return None
    if first.codes is not None and second.codes is not None:
        found, measure = cramers_v(first.codes[both], second.codes[both]), "Cramér's V"
    elif first.ranks is not None and second.ranks is not None:
        found, measure = _correlation(first.ranks[both], second.ranks[both]), "Spearman"
    else:
        coded, ranked = (first, second) if first.codes is not None else (second, first)
        assert coded.codes is not None
        assert ranked.ranks is not None
        found, measure = correlation_ratio(coded.codes[both], ranked.ranks[both]), "correlation ratio"
    return None if found is None else Association(first.name, second.name, found, measure)


def _correlation(a: Array, b: Array) -> float | None:
    a, b = a - a.mean(), b - b.mean()
    size = float(np.linalg.norm(a) * np.linalg.norm(b))
    return min(1.0, abs(float(a @ b)) / size) if size > 0 else None


def cramers_v(a: NDArray[np.intp], b: NDArray[np.intp]) -> float | None:
    """Return the bias-corrected Cramér's V of codes (n,) and (n,); None where all codes of one are equal.

    >>> codes = np.array([0, 1, 2] * 20)
    >>> round(cramers_v(codes, codes[::-1]), 12), cramers_v(codes, np.repeat([0, 1, 2], 20))
    (1.0, 0.0)
    """
    first, second = (np.unique(codes, return_inverse=True)[1] for codes in (a, b))
    r, c, n = int(first.max()) + 1, int(second.max()) + 1, len(first)
    if min(r, c) < 2:
        return None
    table = np.bincount(first * c + second, minlength=r * c).reshape(r, c)
    expected = np.outer(table.sum(axis=1), table.sum(axis=0)) / n
    square = float(((table - expected) ** 2 / expected).sum()) / n
    square = max(0.0, square - (r - 1) * (c - 1) / (n - 1))
    least = min(r - (r - 1) ** 2 / (n - 1), c - (c - 1) ** 2 / (n - 1)) - 1
    return min(1.0, float(np.sqrt(square / least))) if least > 0 else None


def correlation_ratio(codes: NDArray[np.intp], values: Array) -> float | None:
    """Return the bias-corrected correlation ratio of numbers (n,) by codes (n,); None where one is constant.

    >>> codes = np.array([0, 1, 2] * 20)
    >>> round(correlation_ratio(codes, codes**2.0), 12), correlation_ratio(codes, np.repeat([0.0, 1.0, 2.0], 20))
    (1.0, 0.0)
    """
    place = np.unique(codes, return_inverse=True)[1]
    k, n = int(place.max()) + 1, len(place)
    total = float(((values - values.mean()) ** 2).sum())
    if k < 2 or k >= n or total == 0:
        return None
    means = np.bincount(place, values) / np.bincount(place)
    within = float(((values - means[place]) ** 2).sum())
    return float(np.sqrt(max(0.0, 1 - within / total * (n - 1) / (n - k))))
