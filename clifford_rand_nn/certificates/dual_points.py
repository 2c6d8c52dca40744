r"""Dual points of proofs in exact rationals: rounded to a grid, clipped to the domain of the loss, balanced exactly.

Rationals are integers as decimal strings over one denominator. The sums of a dual point over all rows, or over those of
a gate, are zero: with the columns B (m, q) of what no penalty touches, :math:`B^T\theta=e` is the error of rounding. Of
the entries with the most room in their domains, as many are taken as have independent rows of B, and move by the
solution of :math:`B_R^T\Delta=-e`, in integers over its determinant. Entries that are 0 stay 0 if they come last, for e
is a combination of the rows of the others.
"""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._typing import Array, NDArray

Stated = dict[str, Any]
_BITS = 80  # of the largest entry; its double has 53, and sums over rows are balanced below
# Shares 2^-k: of the largest entry, below which entries become zero, and by which the point leaves the ends of its
# domain, so that rows can move; one pair after the other, until the point can be balanced
_ATTEMPTS = ((None, None), (36, 44), (30, 34))
_FULL = "the domain of the loss leaves no room for a dual point that sums to zero"
_PRIME = 2**31 - 1  # rows that are independent modulo a prime are independent


def rational(value: float | Fraction) -> list[str]:
    """Return the numerator and the denominator of a number.

    >>> rational(0.375)
    ['3', '8']
    """
    return [str(part) for part in value.as_integer_ratio()]


def table(values: Array) -> Stated:
    """Return the doubles (n, k) over their common denominator, a power of two.

    >>> table(np.array([[0.5, -3.0]]))
    {'denominator': '2', 'numerators': [['1', '-6']]}
    """
    numerators, denominator = over_common_denominator(values)
    return stated(denominator, numerators)


def over_common_denominator(values: Array) -> tuple[list[list[int]], int]:
    """Return integers, and the power of two over which they are the doubles (n, k)."""
    ratios = [[float(value).as_integer_ratio() for value in row] for row in values]
    denominator = max((q for row in ratios for _, q in row), default=1)
    return [[p * (denominator // q) for p, q in row] for row in ratios], denominator


def stated(denominator: int, numerators: Iterable[Sequence[int]]) -> Stated:
    """Return integers over a denominator as a proof states them."""
    return {"denominator": str(denominator), "numerators": [[str(entry) for entry in row] for row in numerators]}


def on_grid(values: Array, bits: int) -> tuple[list[list[int]], int]:
    r"""Return numbers (n, k) rounded to multiples of :math:`2^{-g}`, ``bits`` bits below the largest, and the exponent.

    >>> on_grid(np.array([[1.0, 0.3]]), 4)
    ([[8, 2]], 3)
    """
    exponent = bits - int(np.frexp(np.abs(values).max(initial=0.0))[1])
    scale = Fraction(2) ** exponent
    return [[round(Fraction(float(value)) * scale) for value in row] for row in values], exponent


def double(value: Fraction, up: bool) -> float:
    """Return the nearest double that is not below a rational number, or not above it.

    >>> double(Fraction(1, 10), up=True), double(Fraction(1, 10), up=False)
    (0.1, 0.09999999999999999)
    """
    nearest = float(value)
    beyond = Fraction(nearest) >= value if up else Fraction(nearest) <= value
    return nearest if beyond else math.nextafter(nearest, math.inf if up else -math.inf)


class DualPoint(NamedTuple):
    """Integers (n, C) over one denominator."""

    numerators: list[list[int]]
    denominator: int

    def stated(self) -> Stated:
        """Return the point as a proof states it."""
        return stated(self.denominator, self.numerators)

    def doubles(self) -> Array:
        """Return the point (n, C) in double precision."""
        return np.array([[t / self.denominator for t in row] for row in self.numerators])

    def shrunk(self, bits: int) -> "DualPoint":
        r"""Return the point times :math:`1-2^{-bits}`: sums that are zero stay zero, and it stays in the domain."""
        factor = 2**bits - 1
        return DualPoint([[factor * t for t in row] for row in self.numerators], 2**bits * self.denominator)


Ends = tuple[int | None, int | None]


def exact_dual_point(
    loss: str, theta: Array, y: Array, weights: Array, delta: float, columns: NDArray[np.bool_], factor: float = 1.0
) -> DualPoint:
    r"""Return a point near ``theta`` (n, C) times a factor, in the domain of the loss, with sums over ``columns`` of 0.

    The domain of row i with the weight :math:`w_i` is :math:`0\le y\theta\le w` for the logistic loss,
    :math:`|\theta|\le w\delta` for Huber and log-cosh, :math:`y\theta\ge0` for the squared hinge, and for the softmax
    :math:`p=wy-\theta\ge0` with :math:`\sum_cp_c=w`. Rows far from the ends of their domains make up for what is
    missing to sums of zero, see `balance`. ``y`` is (n, C), ``weights`` (n,), ``columns`` (n, q).

    Raises ArithmeticError: the domains leave no room for sums of zero.
    """
    masses, denominator = over_common_denominator(weights[:, None])
    rounded, exponent = on_grid(theta, _BITS)
    numerators = [[round(t * Fraction(factor)) for t in row] for row in rounded]
    bits = max(exponent, denominator.bit_length() - 1)
    most = [w * (2**bits // denominator) for (w,) in masses]
    domain = [[_domain(loss, float(b), w, Fraction(delta)) for b in row] for row, w in zip(y, most, strict=True)]
    numerators = [[t << (bits - exponent) for t in row] for row in numerators]
    largest = max(abs(t) for row in numerators for t in row)
    labels = np.argmax(y, axis=1) if loss == "softmax" else None
    parts = _parts(y.shape[1], labels, columns)
    for least, share in _ATTEMPTS:
        limit = 0 if least is None else largest >> least
        inside = [
            [_clipped(t if abs(t) >= limit else 0, *ends) for t, ends in zip(*row, strict=True)]
            for row in zip(numerators, domain, strict=True)
        ]
        if labels is not None:
            inside = [_on_simplex(*row) for row in zip(inside, labels.tolist(), most, strict=True)]
        point = DualPoint(inside, 2**bits)
        if share is not None:
            point = point.shrunk(share)
        balanced = _balanced(point, _rooms(point, domain, 2**bits), parts, labels)
        if min(map(min, _rooms(balanced, domain, 2**bits))) >= 0:
            return balanced
    raise ArithmeticError(_FULL)


class _Part(NamedTuple):
    """Entries (row, output) of a dual point that move independently, m of them, and their columns (m, q)."""

    places: list[tuple[int, int]]
    columns: NDArray[np.int64]


def _parts(outputs: int, labels: NDArray[np.intp] | None, columns: NDArray[np.bool_]) -> list[_Part]:
    """Return a part for each output; for classes one: the entry of a row's own class is minus the sum of the others."""
    n, q = columns.shape
    if labels is None:
        return [_Part([(i, c) for i in range(n)], columns.astype(np.int64)) for c in range(outputs)]
    places = [(i, c) for i in range(n) for c in range(outputs) if c != labels[i]]
    rows, classes = np.array(places).T
    entries, own = np.arange(len(places)), columns[rows].astype(np.int64)
    sums = np.zeros((len(places), outputs, q), dtype=np.int64)  # of each class
    sums[entries, classes], sums[entries, labels[rows]] = own, -own
    return [_Part(places, sums[:, :-1].reshape(len(places), -1))]  # those of all classes add up to zero


def _balanced(
    point: DualPoint, rooms: list[list[float]], parts: list[_Part], labels: NDArray[np.intp] | None
) -> DualPoint:
    """Return a point with sums of zero over all columns: entries with the most room move first, then large ones."""
    moves = []
    for places, columns in parts:
        entries = [point.numerators[i][c] for i, c in places]
        spaces = [(rooms[i][c], abs(t)) for (i, c), t in zip(places, entries, strict=True)]
        order = sorted(range(len(entries)), key=spaces.__getitem__, reverse=True)
        moves.append(balance(entries, order, columns))
    common = math.lcm(*(factor for _, factor in moves))
    rows = [[common * t for t in row] for row in point.numerators]
    for (places, _), (moved, factor) in zip(parts, moves, strict=True):
        for (i, c), t in zip(places, moved, strict=True):
            rows[i][c] = common // factor * t
    for row, label in zip(rows, [] if labels is None else labels.tolist(), strict=False):
        row[label] -= sum(row)
    return DualPoint(rows, common * point.denominator)


def _rooms(point: DualPoint, domain: list[list[Ends]], unit: int) -> list[list[float]]:
    """Return how far each entry may move either way, negative outside of the domain, whose ends are in a unit."""
    scale = point.denominator // unit

    def room(t: int, low: int | None, high: int | None) -> float:
        return min(math.inf if low is None else t - scale * low, math.inf if high is None else scale * high - t)

    pairs = zip(point.numerators, domain, strict=True)
    return [[room(t, *ends) for t, ends in zip(*pair, strict=True)] for pair in pairs]


def _domain(loss: str, y: float, most: int, delta: Fraction) -> Ends:
    """Return the ends of the domain of one entry, of a row of weight ``most``; None where it has no end."""
    match loss:
        case "huber" | "log_cosh":
            end = int(most * delta)
            return -end, end
        case "squared_hinge":
            return (0, None) if y > 0 else (None, 0)
        case "logistic" | "softmax":
            return (0, most) if y > 0 else (-most, 0)
        case _:
            return None, None


def _clipped(t: int, low: int | None, high: int | None) -> int:
    t = t if low is None else max(t, low)
    return t if high is None else min(t, high)


def _on_simplex(row: list[int], label: int, w: int) -> list[int]:
    """Return a row whose entries, those of other classes at most 0, sum to zero, that of its class not above w."""
    rest = [t for c, t in enumerate(row) if c != label]
    excess = -sum(rest) - w
    if excess > 0:
        rest[rest.index(min(rest))] += excess
    return [*rest[:label], -sum(rest), *rest[label:]]


def balance(entries: list[int], order: list[int], columns: NDArray[np.int64]) -> tuple[list[int], int]:
    """Return integers (m,), over a factor > 0, whose sums over columns (m, q) are zero: the first in ``order`` move."""
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
