"""Functions of x and of x + y q, q² = t, on tensors: both branches of each formula are computed at safe arguments.

As `functions.study`, with ``where`` for its masks: q is the part of grade 4 of a bivector's square.
"""

import math
from typing import Any

from clifford_rand.basis.arrays import Tensor, namespace
from clifford_rand.functions.study import APART, polynomial

_COSH = tuple(1 / math.factorial(2 * k) for k in range(12))
_SINHC = tuple(1 / math.factorial(2 * k + 1) for k in range(12))
SERIES = 1.0  # of |x| up to which Taylor's polynomial serves: terms left out are below 1e-20, of derivatives too
HALVINGS = 8  # of a logarithm: a turn by π is then one by π/256, a boost by e^100 one by e^0.4
# arsinh √x / √x = Σ (-1)^k (2k)! / (4^k k!² (2k + 1)) x^k; |x| ≤ 0.17, and each term is below 0.17 of the one before
_ARSINHC = tuple((-1) ** k * math.factorial(2 * k) / (4**k * math.factorial(k) ** 2 * (2 * k + 1)) for k in range(20))


def cosh_sinhc(x: Tensor) -> tuple[Tensor, Tensor]:
    """Return cosh √x and sinh √x / √x, both entire, with exact derivatives at 0."""
    xp = namespace(x)
    one = xp.ones_like(x)
    small = xp.abs(x) <= SERIES
    C, S = _series(_COSH, xp.where(small, x, one)), _series(_SINHC, xp.where(small, x, one))
    if not xp.isdtype(x.dtype, "real floating"):
        z = xp.sqrt(xp.where(small, one, x))
        return xp.where(small, C, xp.cosh(z)), xp.where(small, S, xp.sinh(z) / z)
    turns, grows = x < -SERIES, x > SERIES
    a, b = xp.sqrt(xp.where(turns, -x, one)), xp.sqrt(xp.where(grows, x, one))
    C = xp.where(turns, xp.cos(a), xp.where(grows, xp.cosh(b), C))
    return C, xp.where(turns, xp.sin(a) / a, xp.where(grows, xp.sinh(b) / b, S))


def _series(coefficients: tuple[float, ...], x: Tensor) -> Tensor:
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = x * total + c
    return total


def cosh_sinhc_of_pair(s: Tensor, t: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return C₀, C₁, S₀, S₁ of C(X) = cosh √X and S(X) = sinh √X / √X at X = s + q, q² = t."""
    xp = namespace(s)
    one, zero = xp.ones_like(s), xp.zeros_like(s)
    small = s * s + xp.abs(t) <= SERIES / 4
    square = s * s - t
    apart = ~small & (square >= APART * s * s)
    pair = ~small & ~apart
    x, y = xp.where(small, s, zero), xp.where(small, t, zero)
    near = (*polynomial(_COSH, x, 1.0, y), *polynomial(_SINHC, x, 1.0, y))
    # two planes with squares x1 and x2: s = x1 + x2, t = 4 x1 x2; x1 is the root that does not cancel
    difference = xp.sqrt(xp.where(apart, square, one))
    difference = xp.where(s < 0, -difference, difference)
    x1 = xp.where(apart, (s + difference) / 2, one)
    x2 = xp.where(apart, t, zero) / (4 * x1)
    (c1, s1), (c2, s2) = cosh_sinhc(x1), cosh_sinhc(x2)
    a, b = s1 * c2, c1 * s2
    planes = (c1 * c2, s1 * s2 / 2, (x1 * a - x2 * b) / difference, (b - a) / (2 * difference))
    rho = xp.sqrt(xp.where(pair, t, one))
    middle = xp.where(pair, s, zero)
    (C, S), (D, T) = cosh_sinhc(middle + rho), cosh_sinhc(middle - rho)
    both = ((C + D) / 2, (C - D) / (2 * rho), (S + T) / 2, (S - T) / (2 * rho))
    C0, C1, S0, S1 = (xp.where(small, n, xp.where(apart, p, m)) for n, p, m in zip(near, planes, both, strict=True))
    return C0, C1, S0, S1


def arsinhc(xp: Any, s: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Return f₀, f₁ of f(X) = arsinh √X / √X at X = s + q, q² = t, both small."""
    return polynomial(_ARSINHC, s, xp.ones_like(s), t)


def root_of_half(xp: Any, s: Tensor, t: Tensor) -> tuple[Tensor, Tensor]:
    """Return c₀, c₁ of √((1 + S)/2) at S = s + q, q² = t: √(x + y q) = (x + n + y q)/√(2(x + n)), n² = x² - y² t."""
    x = (1 + s) / 2
    n = xp.sqrt(x * x - t / 4)
    c0 = xp.sqrt((x + n) / 2)
    return c0, 1 / (4 * c0)
