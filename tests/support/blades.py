"""Basis blades by the definition: lists of indices, sorted by swaps. Slow, and nothing of the library is in it."""

from collections.abc import Sequence
from itertools import combinations

import numpy as np


def all_blades(d: int) -> list[tuple[int, ...]]:
    """All index tuples, by grade then lexicographically: the storage order."""
    return [indices for k in range(d + 1) for indices in combinations(range(d), k)]


def blade_product(a: Sequence[int], b: Sequence[int], squares: Sequence[float]) -> tuple[float, tuple[int, ...]]:
    """e_a e_b of an orthogonal basis, by swapping neighbors and contracting equal ones."""
    factors, sign = [*a, *b], 1.0
    swapped = True
    while swapped:
        swapped = False
        for i in range(len(factors) - 1):
            if factors[i] > factors[i + 1]:
                factors[i], factors[i + 1] = factors[i + 1], factors[i]
                sign, swapped = -sign, True
    left: list[int] = []
    for factor in factors:
        if left and left[-1] == factor:
            left.pop()
            sign *= squares[factor]
        else:
            left.append(factor)
    return sign, tuple(left)


def product_tensor(squares: Sequence[float]) -> np.ndarray:
    """T[i, j, k]: coefficient of blade k in (blade i)(blade j)."""
    blades = all_blades(len(squares))
    index = {blade: i for i, blade in enumerate(blades)}
    tensor = np.zeros((len(blades),) * 3)
    for i, a in enumerate(blades):
        for j, b in enumerate(blades):
            sign, result = blade_product(a, b, squares)
            tensor[i, j, index[result]] += sign
    return tensor


def signatures(largest: int, least: int = 1) -> list[tuple[int, int, int]]:
    """Every (p, q, r) with least ≤ p + q + r ≤ largest."""
    return [(p, q, d - p - q) for d in range(least, largest + 1) for p in range(d + 1) for q in range(d + 1 - p)]
