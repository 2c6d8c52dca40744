"""Floats as exact rationals, in the form of a proof: integers as decimal strings over one denominator."""

import math
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

import numpy as np

from clifford_rand._typing import Array

Stated = dict[str, Any]


def rational(value: float | Fraction) -> list[str]:
    """Return the numerator and the denominator of a number.

    Examples
    --------
    >>> rational(0.375)
    ['3', '8']
    """
    return [str(part) for part in value.as_integer_ratio()]


def table(values: Array) -> Stated:
    """Return the doubles (n, k) over their common denominator, a power of two.

    Examples
    --------
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

    Examples
    --------
    >>> on_grid(np.array([[1.0, 0.3]]), 4)
    ([[8, 2]], 3)
    """
    exponent = bits - int(np.frexp(np.abs(values).max(initial=0.0))[1])
    scale = Fraction(2) ** exponent
    return [[round(Fraction(float(value)) * scale) for value in row] for row in values], exponent


def double(value: Fraction, up: bool) -> float:
    """Return the nearest double that is not below a rational number, or not above it.

    Examples
    --------
    >>> double(Fraction(1, 10), up=True), double(Fraction(1, 10), up=False)
    (0.1, 0.09999999999999999)
    """
    nearest = float(value)
    beyond = Fraction(nearest) >= value if up else Fraction(nearest) <= value
    return nearest if beyond else math.nextafter(nearest, math.inf if up else -math.inf)
