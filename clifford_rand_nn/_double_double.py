"""Products of matrices in twice the digits of double precision, as sums of two doubles (Dekker, 1971)."""

from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array

_SPLIT = 2.0**27 + 1  # halves of a double with 26 bits each, whose products are exact


class Pair(NamedTuple):
    """Numbers high + low, with low at most a rounding of high."""

    high: Array
    low: Array


def two_sum(a: Array, b: Array) -> Pair:
    """Return a + b exactly."""
    s = a + b
    back = s - a
    return Pair(s, (a - (s - back)) + (b - back))


def two_product(a: Array, b: Array) -> Pair:
    """Return a b exactly, up to 1e300."""
    p, (a1, a2), (b1, b2) = a * b, _halves(a), _halves(b)
    return Pair(p, ((a1 * b1 - p) + a1 * b2 + a2 * b1) + a2 * b2)


def product(A: Pair, B: Array, start: Array) -> Pair:
    """Return start + A B, of (n, k) and (k, m)."""
    high, low = start + np.zeros((len(A.high), B.shape[1])), 0.0
    for k, row in enumerate(B):
        part = two_product(A.high[:, k, None], row)
        high, missed = two_sum(high, part.high)
        low = low + (missed + part.low + A.low[:, k, None] * row)
    return two_sum(high, low + np.zeros_like(high))


def _halves(a: Array) -> tuple[Array, Array]:
    scaled = _SPLIT * a
    high = scaled - (scaled - a)
    return high, a - high
