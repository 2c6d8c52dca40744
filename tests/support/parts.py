"""One of several parts of the tests: of every function as many cases as the others, and the same ones every time."""

from itertools import count
from zlib import crc32


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
