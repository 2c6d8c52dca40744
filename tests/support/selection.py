"""Which tests run: few cases of each in a run of all, and one of several parts of those that are selected."""

from itertools import count
from zlib import crc32

FEW = 1  # of each function: 1, 2, 3 take 44, 60, 67 % of the time of all


def beyond_few(items, few=FEW):
    """Return the items, in order, that are neither slow nor smoke and not among the ``few`` of their function.

    These are the same ones every time, evenly spread or named by a mark.
    """
    functions = {}
    for item in items:
        if not any(item.iter_markers("slow")) and not any(item.iter_markers("smoke")):
            functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return [item for cases in functions.values() for item in _unnamed(cases) or _between(cases, few)]


def _unnamed(cases):
    """Return the cases other than those that the mark ``kept`` names, none if it names none of them."""
    kept = {f"[{name}]" for mark in cases[0].iter_markers("kept") for name in mark.args}
    others = [case for case in cases if not case.nodeid.endswith(tuple(kept))]
    return others if len(others) < len(cases) else []


def _between(cases, few):
    """Return the cases other than the middle ones of as many equal parts."""
    kept = {(2 * part + 1) * len(cases) // (2 * few) for part in range(few)} if len(cases) > few else range(few)
    return [case for k, case in enumerate(cases) if k not in kept]


def part_of(text):
    """Return the numbers k and n of 'k/n', the parts being 0 to n - 1; raises ValueError of other texts."""
    k, n = map(int, text.split("/"))
    if not 0 <= k < n:
        raise ValueError(f"{text}: the parts are 0/{n} to {n - 1}/{n}")
    return k, n


def in_part(names, k, n):
    """Tell of each name of a test whether it is in part k of n: cases of a function are dealt to the parts in turn.

    To which part a function's first case goes depends on the function's name alone, so that tests that are added or
    removed change the part of no other function.
    """
    turns = {}
    functions = [name.partition("[")[0] for name in names]
    return [next(turns.setdefault(one, count(crc32(one.encode())))) % n == k for one in functions]
