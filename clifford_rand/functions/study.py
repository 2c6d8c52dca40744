"""Functions f(x + y q) = f₀ + f₁ q where q² = t is a number: of Study numbers, on arrays, without complex numbers.

The square of a bivector in at most five dimensions is such a number, X = s + q with q of grade 4; so is the part of
grades 0 and 4 of a rotor. f₀ is the mean and f₁ the divided difference of f at x± = s ± √t; each function here says
where it takes these apart and where it uses a formula that needs no difference.
"""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Coefficients = tuple[Array, Array, Array, Array]  # C₀, C₁, S₀, S₁ of C(X) = cosh √X and S(X) = sinh √X / √X

# Taylor coefficients of C and S: the terms left out are below 1e-17 for |X| ≤ 1
_COSH = tuple(1 / math.factorial(2 * k) for k in range(10))
_SINHC = tuple(1 / math.factorial(2 * k + 1) for k in range(10))
APART = 0.25  # (x1 - x2)² / (x1 + x2)² from which two planes are told apart
SERIES = 1.0  # |s| + √|t| up to which Taylor's polynomial serves


def polynomial(coefficients: tuple[float, ...], x: Any, y: Any, t: Any) -> tuple[Any, Any]:
    """Return Σ c_k X^k for X = x + y q, q² = t, by Horner's rule; of floats or arrays."""
    yt = y * t
    a: Any = coefficients[-1]
    b: Any = 0.0
    for c in coefficients[-2::-1]:
        a, b = x * a + yt * b + c, x * b + y * a
    return a, b


# ---- C and S


def cosh_sinhc(s: Array, t: Array) -> Coefficients:
    """Return C₀, C₁, S₀, S₁ at X = s + q, q² = t, for 1-D arrays."""
    root = np.sqrt(np.abs(t))
    small = np.abs(s) + root <= SERIES
    if small.all():
        return _by_series(s, t)
    apart = ~small & (s * s - t >= APART * s * s)
    if apart.all():
        return _by_planes(s, t)
    ways = ((small, _by_series), (apart, _by_planes), (~(small | apart), by_pair))
    result = np.empty((4, len(s)))
    for where, way in ways:
        if where.any():
            result[:, where] = way(s[where], t[where])
    return result[0], result[1], result[2], result[3]


def _by_series(s: Array, t: Array) -> Coefficients:
    return *polynomial(_COSH, s, 1.0, t), *polynomial(_SINHC, s, 1.0, t)


def _by_planes(s: Array, t: Array) -> Coefficients:
    """B = F1 + F2 with commuting simple parts, F_i² = x_i: s = x1 + x2, t = 4 x1 x2, exp B = exp F1 exp F2.

    x1 is the root of x² - s x + t/4 that does not cancel, and q B = 2 x1 F2 + 2 x2 F1 gives back F1 and F2.
    """
    difference = np.copysign(np.sqrt(s * s - t), s)
    x1 = (s + difference) / 2
    x2 = t / (4 * x1)
    (c1, s1), (c2, s2) = cosh_and_sinhc_of(x1), cosh_and_sinhc_of(x2)
    a, b = s1 * c2, c1 * s2
    return c1 * c2, s1 * s2 / 2, (x1 * a - x2 * b) / difference, (b - a) / (2 * difference)


def by_pair(s: Array, t: Array, plus: Array | None = None, minus: Array | None = None) -> Coefficients:
    """C and S at x± = s ± √t, real and far apart; ``plus`` and ``minus`` where they are known better than that."""
    rho = np.sqrt(t)
    C, S = cosh_and_sinhc_of(s + rho if plus is None else plus)
    D, T = cosh_and_sinhc_of(s - rho if minus is None else minus)
    return (C + D) / 2, (C - D) / (2 * rho), (S + T) / 2, (S - T) / (2 * rho)


def cosh_and_sinhc_of(x: Array) -> tuple[Array, Array]:
    """Return cosh √x and sinh √x / √x, for either sign of x."""
    z = np.sqrt(np.abs(x))
    turning = x < 0
    if turning.all():
        return np.cos(z), _quotient(np.sin(z), z)
    if not turning.any():
        return _cosh_and_sinhc(z)
    turn, boost = np.where(turning, z, 0.0), np.where(turning, 0.0, z)
    C, S = _cosh_and_sinhc(boost)
    return np.where(turning, np.cos(turn), C), np.where(turning, _quotient(np.sin(turn), turn), S)


def _cosh_and_sinhc(z: Array) -> tuple[Array, Array]:
    less = np.expm1(z)
    grown = less + 1
    return 1 + less * less / (2 * grown), _quotient((less + less / grown) / 2, z)


def _quotient(top: Array, bottom: Array) -> Array:
    zero = bottom == 0
    return np.where(zero, 1.0, top / np.where(zero, 1.0, bottom))


def cosh_sinhc_of_one(s: float, t: float) -> tuple[float, float, float, float] | None:
    """Return what `cosh_sinhc` does, of Python numbers; None for two planes that are not told apart."""
    if abs(s) + math.sqrt(abs(t)) <= SERIES:
        return *polynomial(_COSH, s, 1.0, t), *polynomial(_SINHC, s, 1.0, t)
    square = s * s - t
    if square < APART * s * s:
        return None
    difference = math.copysign(math.sqrt(square), s)
    x1 = (s + difference) / 2
    x2 = t / (4 * x1)
    (c1, s1), (c2, s2) = one_plane(x1), one_plane(x2)
    a, b = s1 * c2, c1 * s2
    return c1 * c2, s1 * s2 / 2, (x1 * a - x2 * b) / difference, (b - a) / (2 * difference)


def one_plane(x: float) -> tuple[float, float]:
    """Return cosh √x and sinh √x / √x."""
    z = math.sqrt(abs(x))
    if not z:
        return 1.0, 1.0
    return (math.cos(z), math.sin(z) / z) if x < 0 else (math.cosh(z), math.sinh(z) / z)
