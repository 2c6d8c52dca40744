"""Rows as numbers: values by set, method and trial; ranks, and differences of pairs."""

from collections.abc import Mapping, Sequence

import numpy as np
from scipy.stats import rankdata

from examples.paper.statistics import Comparison, compared

__all__ = ["Row", "Values", "difference", "mean_ranks", "names", "shared_means", "values"]

Row = Mapping[str, str]
Values = dict[str, dict[str, dict[str, float]]]  # set, method, trial


def values(rows: Sequence[Row], column: str) -> Values:
    """Return the numbers of a column by set, method and trial; empty cells are left out.

    Examples
    --------
    >>> rows = [{"set": "a", "method": "m", "trial": "0", "score": "0.5"}]
    >>> values(rows, "score")
    {'a': {'m': {'0': 0.5}}}
    """
    found: Values = {}
    for row in rows:
        if row[column]:
            found.setdefault(row["set"], {}).setdefault(row["method"], {})[row["trial"]] = float(row[column])
    return found


def names(rows: Sequence[Row], column: str) -> list[str]:
    """Return the different cells of a column, in their order."""
    return list(dict.fromkeys(row[column] for row in rows))


def shared_means(of: Mapping[str, Mapping[str, float]], methods: Sequence[str]) -> dict[str, float]:
    """Return the mean of each method over the trials that all of them have; none if there is no such trial.

    Examples
    --------
    >>> shared_means({"a": {"0": 1.0, "1": 3.0}, "b": {"0": 2.0}}, ["a", "b"])
    {'a': 1.0, 'b': 2.0}
    """
    shared = set.intersection(*(set(of.get(method, {})) for method in methods)) if methods else set()
    return {method: float(np.mean([of[method][trial] for trial in sorted(shared)])) for method in methods if shared}


def mean_ranks(found: Values, *, high: bool) -> tuple[dict[str, float], int]:
    """Return the mean rank of each method, 1 the best, and the number of sets, those where every method was measured.

    A set's ranks are those of the means over the trials that all methods have there; equal ones share their ranks.

    Examples
    --------
    >>> mean_ranks({"s": {"a": {"0": 1.0}, "b": {"0": 2.0}}, "t": {"a": {"0": 1.0}}}, high=True)
    ({'a': 2.0, 'b': 1.0}, 1)
    """
    methods = list(dict.fromkeys(method for of in found.values() for method in of))
    ranks = []
    for of in found.values():
        means = shared_means(of, methods)
        if means:
            ranks.append(rankdata([(-1 if high else 1) * means[method] for method in methods]))
    if not ranks:
        return {}, 0
    return dict(zip(methods, np.mean(ranks, axis=0).tolist(), strict=True)), len(ranks)


def difference(of: Mapping[str, Mapping[str, float]], first: str, second: str) -> Comparison:
    """Compare two methods on a set, over the trials that both have."""
    return compared(of.get(first, {}), of.get(second, {}))
