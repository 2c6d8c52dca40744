"""Parameters of tests in few combinations: every two values stand together at least once."""

from heapq import heapify, heappop, heapreplace
from itertools import combinations, product

import pytest


def pairwise(values, slow=None):
    """Parametrize a test by some combinations in place of all: every two values of two lists are in one of them.

    Parameters
    ----------
    values : dict
        Lists by the name of their parameter, or by a tuple of names, whose values are tuples then.
    slow : callable, optional
        Tells of the values of a combination, in order, whether it is marked so.
    """
    names, rows = pairs(values)
    marks = [[pytest.mark.slow] * bool(slow and slow(*row)) for row in rows]
    cases = [pytest.param(*row, marks=mark) for row, mark in zip(rows, marks, strict=True)]
    return pytest.mark.parametrize(names, cases)


def pairs(values):
    """Return the names in a row and the combinations of their values, in which every two values stand together.

    What goes wrong for a combination nearly always does so for two of its values alone. The next combination is the
    first of those that bring the most pairs which no other has had, so that the same ones come each time.
    """
    names = [name if isinstance(name, tuple) else (name,) for name in values]
    lists = [list(one) if isinstance(name, tuple) else [(value,) for value in one] for name, one in values.items()]
    every = list(product(*(range(len(one)) for one in lists)))
    covered = [frozenset(combinations(enumerate(row), 2)) for row in every]
    missing = set().union(*covered)
    heap = [(-len(new), k) for k, new in enumerate(covered)]  # what a combination brings only gets less
    heapify(heap)
    chosen = []
    while missing:
        bound, k = heap[0]
        brings = len(missing & covered[k])
        if brings < -bound:
            heapreplace(heap, (-brings, k))
        else:
            missing -= covered[heappop(heap)[1]]
            chosen.append(every[k])
    rows = [sum((one[k] for one, k in zip(lists, row, strict=True)), ()) for row in sorted(chosen)]
    return sum(names, ()), rows
