"""Paired comparisons over trials: mean difference, its error, two tests, Holm's correction, wins and losses."""

import math
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from scipy import stats

__all__ = ["Comparison", "compared", "holm", "t_test"]


class Comparison(NamedTuple):
    """First minus second over the trials that both have.

    ``error`` is the standard error of the mean, ``t`` and ``wilcoxon`` are two-sided p-values; all three are NaN for
    fewer than two trials.
    """

    trials: int
    mean: float
    error: float
    t: float
    wilcoxon: float
    wins: int
    ties: int
    losses: int


def compared(first: Mapping[str, float], second: Mapping[str, float]) -> Comparison:
    """Compare two sets of scores by trial.

    Where all differences are 0 both p-values are 1. Wilcoxon's ranks count half of the zeros for each side; with n
    trials and no ties its p-value is at least 2^(1-n), 0.06 for five.

    Examples
    --------
    >>> one = compared({"0": 0.5, "1": 0.75, "2": 1.0}, {"0": 0.25, "1": 0.25, "2": 1.0})
    >>> one.mean, one.wins, one.ties, one.losses
    (0.25, 2, 1, 0)
    """
    shared = sorted(first.keys() & second.keys())
    difference = np.array([first[trial] - second[trial] for trial in shared], dtype=np.float64)
    n = len(difference)
    counts = (int((difference > 0).sum()), int((difference == 0).sum()), int((difference < 0).sum()))
    if n < 2:
        mean = float(difference[0]) if n else math.nan
        return Comparison(n, mean, math.nan, math.nan, math.nan, *counts)
    error = float(difference.std(ddof=1) / math.sqrt(n))
    rank = 1.0
    if difference.any():
        rank = float(stats.wilcoxon(difference, zero_method="zsplit").pvalue)
    return Comparison(n, float(difference.mean()), error, t_test(difference), rank, *counts)


def t_test(values: Sequence[float] | np.ndarray) -> float:
    """Return the two-sided p-value of a mean other than 0; NaN for one value.

    Examples
    --------
    >>> t_test([0.0, 0.0]), t_test([1.0, 1.0]), round(t_test([1.0, 2.0, 3.0]), 4)
    (1.0, 0.0, 0.0742)
    """
    array = np.asarray(values, dtype=np.float64)
    if array.size < 2:
        return math.nan
    if np.ptp(array) == 0:  # no spread: t is 0/0 or infinite
        return 1.0 if array[0] == 0 else 0.0
    return float(stats.ttest_1samp(array, 0.0).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    r"""Return p-values corrected by Holm's step-down rule, NaN left out of the count.

    .. math:: \tilde p_{(i)} = \max_{j\le i}\ \min(1, (m - j + 1)\,p_{(j)}).

    References
    ----------
    Holm, "A simple sequentially rejective multiple test procedure", Scand. J. Statist. 6, 1979.

    Examples
    --------
    >>> holm([0.01, 0.04, 0.03])
    [0.03, 0.06, 0.06]
    """
    found = list(p_values)
    order = sorted((i for i, p in enumerate(found) if not math.isnan(p)), key=lambda i: found[i])
    highest = 0.0
    for place, i in enumerate(order):
        highest = max(highest, min(1.0, (len(order) - place) * found[i]))
        found[i] = highest
    return found
