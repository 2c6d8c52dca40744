"""Functions f(x + y q) = f₀ + f₁ q where q² = t is a number: of Study numbers, on arrays, without complex numbers.

The square of a bivector in at most five dimensions is such a number, X = s + q with q of grade 4; so is the part of
grades 0 and 4 of a rotor. f₀ is the mean and f₁ the divided difference of f at x± = s ± √t; each function here says
where it takes these apart and where it uses a formula that needs no difference.
"""

import cmath
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


# ---- the angle and the half-turn of a unit S = cosh F, S² - B² = 1: log(S + B) = f(S) B, f(x) = arcosh x / √(x² - 1)

# f(1 - 2w) = arcsin √w / √(w (1 - w)) = Σ 4^k k!² / (2k + 1)! w^k; the terms left out are below 1e-17 for |w| ≤ 0.04
_ANGLE = tuple(4**k * math.factorial(k) ** 2 / math.factorial(2 * k + 1) for k in range(13))
NEAR_ONE = 0.04
HALVINGS = 40  # of the argument: a boost by e^700 and 30 digits


def angle_and_half(s: Array, square: Array, t: Array, way: str, pairs: Any = None) -> tuple[Array, ...]:
    """Return (f₀, f₁), (c₀, c₁), (g₀, g₁): f(S), c = √((1 + S)/2) and g = 1/(2c) at S = s + Q, Q² = t.

    ``square`` is ⟨B²⟩_0, and B² = S² - 1 = square + 2 s Q: near S = -1 it tells 1 + S = B²/(S - 1) to its own
    precision. NaN where S is minus a boost, which is not of this form. Ways: "one" for Q = 0, "real" for t > 0,
    "complex" for t < 0, "study" for any t, wanted where Q is far larger than √|t|. ``pairs`` corrects B² at both x± in
    "real".
    """
    if way == "one":
        f, c = _of_real(s, square)
        zero = np.zeros_like(s)
        return f, zero, c, zero, 1 / (2 * c), zero
    if way == "real":
        rho = np.sqrt(t)
        S = np.stack([s + rho, s - rho])
        X = square + 2 * s * np.stack([rho, -rho])
        if pairs is not None:
            X = pairs(S, X)
        f, c = _of_real(S, X)
        g = 1 / (2 * c)
        return tuple(part for h in (f, c, g) for part in ((h[0] + h[1]) / 2, (h[0] - h[1]) / (2 * rho)))
    if way == "complex":
        rho = np.sqrt(-t)
        f, c = _of_complex(s + 1j * rho, square + 2j * s * rho)
        return tuple(part for h in (f, c, 1 / (2 * c)) for part in (h.real, h.imag / rho))
    return of_study(s, square, t)


def _of_real(S: Array, X: Array) -> tuple[Array, Array]:
    z = np.sqrt(np.abs(X))
    turning = X < 0
    if turning.all():
        angle = np.arctan2(z, S)
    else:
        angle = np.where(turning, np.arctan2(z, S), np.where(S > 0, np.arcsinh(z), np.nan))
    f = np.where(z == 0, np.where(S > 0, 1.0, np.nan), angle / np.where(z == 0, 1.0, z))
    low = S < 0
    half = np.where(low, X / np.where(low, S - 1, 1.0), 1 + S) / 2
    return f, np.sqrt(half)


def _of_complex(S: NDArray[np.complex128], X: NDArray[np.complex128]) -> tuple[Any, Any]:
    r = np.sqrt(X)
    r = np.where(S.real * r.real + S.imag * r.imag < 0, -r, r)
    w = (1 - S) / 2
    near = np.abs(w) <= NEAR_ONE
    safe = np.where(near, 1.0, r)
    f = np.log(np.where(near, 2.0, S + r)) / safe
    if near.any():
        at = w[near]
        value = np.full_like(at, _ANGLE[-1])
        for k in _ANGLE[-2::-1]:
            value = value * at + k
        f[near] = value
    low = S.real < 0
    return f, np.sqrt(np.where(low, X / np.where(low, S - 1, 1.0), 1 + S) / 2)


def of_study(s: Array, square: Array, t: Array) -> tuple[Array, ...]:
    """By halving the argument, f(S) = f(c)/c, until the series serves; all in Study numbers (x, y) = x + y Q."""
    low = s < 0
    over = _over(square, 2 * s, np.where(low, s - 1, 1.0), np.where(low, 1.0, 0.0), t)
    c = _root(np.where(low, over[0], 1 + s) / 2, np.where(low, over[1], 1.0) / 2, t)
    x, y = c
    product = c
    for _ in range(HALVINGS):
        if not (np.abs(1 - x) + np.abs(y) * np.sqrt(np.abs(t)) > 2 * NEAR_ONE).any():
            break
        x, y = _root((1 + x) / 2, y / 2, t)
        product = x * product[0] + y * product[1] * t, x * product[1] + y * product[0]
    f = _over(*polynomial(_ANGLE, (1 - x) / 2, -y / 2, t), *product, t)
    g = _over(np.full_like(s, 0.5), np.zeros_like(s), *c, t)
    return *f, *c, *g


def _root(a: Array, b: Array, t: Array) -> tuple[Array, Array]:
    """Return √(a + b Q) of positive real part, c + e Q with 2c² = a + √(a² - b² t) and e = b/2c."""
    c = np.sqrt((a + np.sqrt(a * a - b * b * t)) / 2)
    return c, b / (2 * c)


def _over(a: Array, b: Array, c: Array, e: Array, t: Array) -> tuple[Array, Array]:
    """Return (a + b Q)/(c + e Q)."""
    n = c * c - e * e * t
    return (a * c - b * e * t) / n, (b * c - a * e) / n


def angle_and_half_of_one(s: float, square: float, t: float, way: str) -> tuple[float, ...] | None:
    """Return what `angle_and_half` does, of Python numbers; None where S is near or below -1."""
    if way == "one":
        if s < -0.9:
            return None
        f, c = _of_one(s, square)
        return f, 0.0, c, 0.0, 0.5 / c, 0.0
    rho = math.sqrt(abs(t))
    if way == "real":
        if s - rho < -0.9:
            return None
        (f, c), (e, d) = _of_one(s + rho, square + 2 * s * rho), _of_one(s - rho, square - 2 * s * rho)
        g, b = 0.5 / c, 0.5 / d
        twice = 2 * rho
        return (f + e) / 2, (f - e) / twice, (c + d) / 2, (c - d) / twice, (g + b) / 2, (g - b) / twice
    if way == "complex":
        S = complex(s, rho)
        if s < -0.9 and abs(S + 1) < 0.1:
            return None
        half = cmath.sqrt((1 + S) / 2)
        w = (1 - S) / 2
        if abs(w) <= NEAR_ONE:
            angle = complex(_ANGLE[-1])
            for k in _ANGLE[-2::-1]:
                angle = angle * w + k
        else:
            r = cmath.sqrt(complex(square, 2 * s * rho))
            r = -r if s * r.real + rho * r.imag < 0 else r
            angle = cmath.log(S + r) / r
        over = 0.5 / half
        return angle.real, angle.imag / rho, half.real, half.imag / rho, over.real, over.imag / rho
    return _study_of_one(s, square, t) if s > -0.9 else None


def _study_of_one(s: float, square: float, t: float) -> tuple[float, ...] | None:
    if s < 0:
        a, b = _over_of_one(square, 2 * s, s - 1, 1.0, t)
        c = _root_of_one(a / 2, b / 2, t)
    else:
        c = _root_of_one((1 + s) / 2, 0.5, t)
    if c is None:
        return None
    product = x, y = c
    root = math.sqrt(abs(t))
    while abs(1 - x) + abs(y) * root > 2 * NEAR_ONE:
        found = _root_of_one((1 + x) / 2, y / 2, t)
        if found is None:
            return None
        x, y = found
        product = x * product[0] + y * product[1] * t, x * product[1] + y * product[0]
    f = _over_of_one(*polynomial(_ANGLE, (1 - x) / 2, -y / 2, t), *product, t)
    return *f, *c, *_over_of_one(0.5, 0.0, *c, t)


def _root_of_one(a: float, b: float, t: float) -> tuple[float, float] | None:
    n = a * a - b * b * t
    square = a + math.sqrt(n) if n >= 0 else 0.0
    if not square > 0:
        return None
    c = math.sqrt(square / 2)
    return c, b / (2 * c)


def _over_of_one(a: float, b: float, c: float, e: float, t: float) -> tuple[float, float]:
    n = c * c - e * e * t
    return ((a * c - b * e * t) / n, (b * c - a * e) / n) if n else (math.nan, math.nan)


def _of_one(S: float, X: float) -> tuple[float, float]:
    z = math.sqrt(abs(X))
    angle = math.atan2(z, S) if X < 0 else math.asinh(z)
    return angle / z if z else 1.0, math.sqrt((1 + S) / 2)
