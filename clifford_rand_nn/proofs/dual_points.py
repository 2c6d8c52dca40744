"""Dual points in rationals: rounded to a grid, clipped to the domain of the loss, and balanced exactly."""

from fractions import Fraction
from typing import NamedTuple

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.proofs.rationals import Stated, on_grid, over_common_denominator, stated

_BITS = 80  # of the largest entry; its double has 53, and sums over rows are balanced below
_FULL = "the domain of the loss leaves no room for a dual point that sums to zero"


class DualPoint(NamedTuple):
    """Integers (n, C) over one denominator."""

    numerators: list[list[int]]
    denominator: int

    def stated(self) -> Stated:
        """Return the point as a proof states it."""
        return stated(self.denominator, self.numerators)

    def shrunk(self, bits: int) -> "DualPoint":
        r"""Return the point times :math:`1-2^{-bits}`: sums that are zero stay zero, and it stays in the domain."""
        factor = 2**bits - 1
        return DualPoint([[factor * t for t in row] for row in self.numerators], 2**bits * self.denominator)


def exact_dual_point(loss: str, theta: Array, y: Array, weights: Array, delta: float, balanced: bool) -> DualPoint:
    r"""Return a dual point near ``theta`` (n, C) in the domain of the loss, with :math:`\sum_i\theta_i=0` if balanced.

    The domain of row i with the weight :math:`w_i` is :math:`0\le y\theta\le w` for the logistic loss,
    :math:`|\theta|\le w\delta` for Huber and log-cosh, :math:`y\theta\ge0` for the squared hinge, and for the softmax
    :math:`p=wy-\theta\ge0` with :math:`\sum_cp_c=w`. Rows far from the ends of their domains make up for what is
    missing to a sum of zero. ``y`` is (n, C), ``weights`` (n,).

    Raises ArithmeticError: the domains leave no room for a sum of zero.
    """
    masses, denominator = over_common_denominator(weights[:, None])
    numerators, exponent = on_grid(theta, _BITS)
    bits = max(exponent, denominator.bit_length() - 1)
    numerators = [[t << (bits - exponent) for t in row] for row in numerators]
    most = [w * (2**bits // denominator) for (w,) in masses]
    if loss == "softmax":
        labels = [int(c) for c in np.argmax(y, axis=1)]
        _balance_classes(numerators, labels, most, balanced)
        return DualPoint(numerators, 2**bits)
    ends = [[_domain(loss, float(b), w, Fraction(delta)) for b in row] for row, w in zip(y, most, strict=True)]
    for c in range(y.shape[1]):
        column = [_clipped(row[c], own[c]) for row, own in zip(numerators, ends, strict=True)]
        if balanced:
            _balance(column, [own[c] for own in ends])
        for row, t in zip(numerators, column, strict=True):
            row[c] = t
    return DualPoint(numerators, 2**bits)


Ends = tuple[int | None, int | None]


def _domain(loss: str, y: float, most: int, delta: Fraction) -> Ends:
    """Return the ends of the domain of one entry, of a row of weight ``most``; None where it has no end."""
    match loss:
        case "huber" | "log_cosh":
            end = int(most * delta)
            return -end, end
        case "squared_hinge":
            return (0, None) if y > 0 else (None, 0)
        case "logistic":
            return (0, most) if y > 0 else (-most, 0)
        case _:
            return None, None


def _clipped(t: int, ends: Ends) -> int:
    low, high = ends
    t = t if low is None else max(t, low)
    return t if high is None else min(t, high)


def _balance(column: list[int], ends: list[Ends]) -> None:
    """Make the sum of a column zero, by moves of the rows with the most room, each by at most half of it."""
    for _ in range(len(column) + 1):
        step = -sum(column)
        if not step:
            return
        rooms = [
            2 * abs(step) if own[step > 0] is None else abs((own[step > 0] or 0) - t)
            for t, own in zip(column, ends, strict=True)
        ]
        i = max(range(len(rooms)), key=rooms.__getitem__)
        size = min(abs(step), (rooms[i] + 1) // 2)
        column[i] += size if step > 0 else -size
    raise ArithmeticError(_FULL)


def _balance_classes(numerators: list[list[int]], labels: list[int], most: list[int], balanced: bool) -> None:
    r"""Make p = wy - θ a distribution times w in every row, with the sums of wy in every column if balanced."""
    p = []
    for row, label, w in zip(numerators, labels, most, strict=True):
        parts = [max(0, w * (c == label) - t) for c, t in enumerate(row)]
        parts[parts.index(max(parts))] += w - sum(parts)
        p.append(parts)
    last = len(p[0]) - 1
    for c in range(last if balanced else 0):
        goal = sum(w for w, label in zip(most, labels, strict=True) if label == c)
        for _ in range(len(p) + 1):
            step = goal - sum(parts[c] for parts in p)
            if not step:
                break
            giver, taker = (last, c) if step > 0 else (c, last)
            largest = p[max(range(len(p)), key=[parts[giver] for parts in p].__getitem__)]
            size = min(abs(step), (largest[giver] + 1) // 2)
            largest[giver] -= size
            largest[taker] += size
        else:
            raise ArithmeticError(_FULL)
    for row, parts, label, w in zip(numerators, p, labels, most, strict=True):
        row[:] = [w * (c == label) - part for c, part in enumerate(parts)]
