r"""Exact solutions of the equalities of a dual point: its sums over all rows, or over those of a gate, are zero.

With the columns B (m, q) of what no penalty touches, :math:`B^T\theta=e` is the error of rounding. Of the entries with
the most room in their domains, as many are taken as have independent rows of B, and move by the solution of
:math:`B_R^T\Delta=-e`, in integers over its determinant. Entries that are 0 stay 0 if they come last, for e is a
combination of the rows of the others.
"""

from typing import Any

import numpy as np

from clifford_rand._typing import NDArray

_PRIME = 2**31 - 1  # rows that are independent modulo a prime are independent


def balance(entries: list[int], order: list[int], columns: NDArray[np.int64]) -> tuple[list[int], int]:
    """Return integers (m,), over a factor > 0, near the given ones, with sums of zero over columns (m, q) of -1, 0, 1.

    Entries that come first in an ``order`` (m,) move.
    """
    excess = columns.T.astype(object) @ np.array(entries, dtype=object)
    if not excess.any():
        return entries, 1
    places, pivots = _independent(columns[order])
    moving = [order[place] for place in places]
    moves, factor = _solution(columns[moving][:, pivots].T, -excess[pivots])
    moved = [factor * t for t in entries]
    for i, move in zip(moving, moves, strict=True):
        moved[i] += move
    return moved, factor


def _independent(columns: NDArray[np.int64]) -> tuple[list[int], list[int]]:
    """Return the first independent rows, and as many independent columns of these, by elimination modulo a prime."""
    places: list[int] = []
    pivots: list[int] = []
    basis = np.zeros((0, columns.shape[1]), dtype=np.int64)  # the identity on the pivots
    for place, row in enumerate(columns):
        rest = (row - (row[pivots, None] * basis % _PRIME).sum(axis=0)) % _PRIME
        if rest.any():
            pivot = int(np.flatnonzero(rest)[0])
            rest = rest * pow(int(rest[pivot]), -1, _PRIME) % _PRIME
            basis = np.vstack([(basis - basis[:, pivot : pivot + 1] * rest) % _PRIME, rest])
            places.append(place)
            pivots.append(pivot)
            if len(pivots) == columns.shape[1]:
                break
    return places, pivots


def _solution(matrix: NDArray[np.int64], goal: NDArray[Any]) -> tuple[list[int], int]:
    """Return the solution (r,) of integers (r, r) times a factor > 0, and the factor, by Bareiss' elimination."""
    last = 1
    system = np.column_stack([matrix.astype(object), goal])
    for k in range(len(system)):
        i = next(i for i in range(k, len(system)) if system[i, k])
        system[[k, i]] = system[[i, k]]
        pivot = system[k].copy()
        system = (pivot[k] * system - np.outer(system[:, k], pivot)) // last
        system[k] = pivot
        last = pivot[k]
    sign = 1 if last > 0 else -1
    return [sign * x for x in system[:, -1]], sign * last
