"""Closed forms f(s + q) = f₀ + f₁ q where q² = t is a number: stated once for numbers, rows, tensors, traced terms.

The square of a bivector in at most five dimensions is such a Study number, q of grade 4; so is the part of grades 0
and 4 of a rotor. f₀ is the mean and f₁ the divided difference of f at x± = s ± √t; each function here says where it
takes these apart and where it uses a formula without a difference. ``xp`` has the elementary functions: `math` or
`cmath` for Python's numbers, NumPy for rows of one axis, the functions of the array API for tensors; a t that is zero
for all arguments may be the integer 0.
"""

import cmath
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

Number = Any  # a number of Python's, a row of an array, or a tensor
Way = tuple[Any, Callable[..., tuple[Number, ...]], tuple[float, ...]]

# Taylor coefficients of C(X) = cosh √X and S(X) = sinh √X / √X: the terms left out are below 1e-18 for |X| ≤ 1
_COSH = tuple(1 / math.factorial(2 * k) for k in range(10))
_SINHC = tuple(1 / math.factorial(2 * k + 1) for k in range(10))
APART = 0.25  # (x1 - x2)² / (x1 + x2)² from which two planes are separate
SERIES = 1.0  # √(|s| + √|t|) up to which Taylor's polynomial serves
# f(1 - 2w) = arcsin √w / √(w (1 - w)) = Σ 4^k k!² / (2k + 1)! w^k; the terms left out are below 1e-17 for |w| ≤ 0.04
_ANGLE = tuple(4**k * math.factorial(k) ** 2 / math.factorial(2 * k + 1) for k in range(13))
NEAR_ONE = 0.04  # |1 - S| / 2 up to which that series serves
HALVINGS = 40  # of the argument of f at most: a boost by e^700 and 30 digits
TENSOR_HALVINGS = 8  # of tensors, whose values are not looked at: a boost by e^100 is one by e^0.4 then


def is_number(xp: Any) -> bool:
    """Tell whether the functions are those of Python's numbers."""
    return xp is math or xp is cmath


def _is_complex(xp: Any, x: Number) -> bool:
    if xp is np:
        return bool(x.dtype.kind == "c")
    return xp is cmath or not (xp is math or xp.isdtype(x.dtype, "real floating"))


def where(xp: Any, condition: Any, x: Number, y: Number) -> Number:
    """Return x where a condition holds, y elsewhere; both are computed."""
    return (x if condition else y) if is_number(xp) else xp.where(condition, x, y)


def choose(xp: Any, arguments: tuple[Number, ...], *ways: Way) -> tuple[Number, ...]:
    """Return the values of the first way, (condition, function, safe arguments), whose condition holds, as None does.

    A number takes one way, and each element of a row its own. Tensors take all ways, each at safe arguments where it
    does not hold: no value is looked at, so the result differentiates and compiles. A float among the arguments is one
    for all elements.
    """
    if is_number(xp):
        return next(way(*arguments) for condition, way, _ in ways if condition is None or condition)
    taken: Any = None
    result: Any = None
    for condition, way, safe in ways:
        inside = condition if taken is None else ~taken if condition is None else condition & ~taken
        taken = inside if taken is None else taken | inside
        if xp is not np:
            pairs = zip(arguments, safe, strict=True)
            values = way(*(x if x.__class__ is float else xp.where(inside, x, xp.ones_like(x) * at) for x, at in pairs))
            old = values if result is None else result
            result = tuple(xp.where(inside, new, before) for new, before in zip(values, old, strict=True))
        elif inside.all():
            return way(*arguments)
        elif inside.any():
            values = way(*(x if x.__class__ is float else x[inside] for x in arguments))
            result = np.empty((len(values), len(inside)), np.result_type(*values)) if result is None else result
            result[:, inside] = values
    return tuple(result)


def _series(coefficients: tuple[float, ...], x: Number) -> Number:
    """Return Σ c_k x^k by Horner's rule."""
    total: Any = coefficients[-1]
    for c in coefficients[-2::-1]:
        total = x * total + c
    return total


def polynomial(coefficients: tuple[float, ...], x: Number, y: Number, t: Number) -> tuple[Number, Number]:
    """Return Σ c_k X^k for X = x + y q, q² = t, by Horner's rule."""
    # (a + b q)(x + y q) = (a x + b y t) + (a y + b x) q
    yt = y * t
    a: Any = coefficients[-1]
    b: Any = 0.0
    for c in coefficients[-2::-1]:
        a, b = x * a + yt * b + c, x * b + y * a
    return a, b


# ---- C(X) = cosh √X and S(X) = sinh √X / √X, both entire: exp(c B) = C(c² B²) + c S(c² B²) B, c = 1 or a scale that
# keeps the square of a large c B in range. Every formula is homogeneous in B, so c enters by these two alone.


def cosh_sinhc(xp: Any, x: Number, c: Number = 1.0) -> tuple[Number, ...]:
    """Return cosh c√x and sinh c√x / √x, for either sign of x; of tensors with exact derivatives at 0."""
    if xp is math:
        return _turn(math, x, c) if x < 0 else _boost(math, x, c)
    if xp is np and x.dtype.kind == "c":
        return _of_complex_root(np, x, c)
    near = () if xp is np else ((c * xp.sqrt(abs(x)) <= SERIES, _near_zero, (0.0, 1.0)),)
    if _is_complex(xp, x):
        return choose(xp, (x, c), *near, (None, partial(_of_complex_root, xp), (1.0, 1.0)))
    return choose(xp, (x, c), *near, (x < 0, partial(_turn, xp), (-1.0, 1.0)), (None, partial(_boost, xp), (1.0, 1.0)))


def _near_zero(x: Number, c: Number) -> tuple[Number, Number]:
    X = c * (c * x)
    return _series(_COSH, X), c * _series(_SINHC, X)


def _turn(xp: Any, x: Number, c: Number) -> tuple[Number, Number]:
    z = xp.sqrt(-x)
    return xp.cos(c * z), xp.sin(c * z) / z


def _boost(xp: Any, x: Number, c: Number) -> tuple[Number, Number]:
    z = xp.sqrt(x)
    less = xp.expm1(c * z)
    grown = less + 1
    return (grown + 1 / grown) / 2, _quotient(xp, (less + less / grown) / 2, z, c)


def _of_complex_root(xp: Any, x: Number, c: Number) -> tuple[Number, Number]:
    z = xp.sqrt(x)
    return xp.cosh(c * z), _quotient(xp, xp.sinh(c * z), z, c)


def _quotient(xp: Any, top: Number, z: Number, limit: Number) -> Number:
    """Return top/z, or its limit where z is zero, which it is of no tensor here."""
    if xp is np:
        zero = z == 0
        return np.where(zero, limit, top / np.where(zero, 1.0, z))
    return top / z if xp is not math or z else limit


def cosh_sinhc_of_pair(xp: Any, s: Number, t: Number, c: Number = 1.0) -> tuple[Number, ...]:
    """Return C₀, c² C₁, c S₀, c³ S₁ at c² X for X = s + q, q² = t."""
    size, difference = abs(s), s * s - t
    if xp is math:  # as below, sooner
        if c * math.sqrt(size + math.sqrt(abs(t))) <= SERIES:
            return _pair_near_zero(s, t, c)
        return (_by_planes if difference >= APART * s * s else _by_pair)(math, s, t, c)
    apart = (abs(difference) if _is_complex(xp, s) else difference) >= APART * size * size
    return choose(
        xp,
        (s, t, c),
        (c * xp.sqrt(size + xp.sqrt(abs(t))) <= SERIES, _pair_near_zero, (0.0, 0.0, 1.0)),
        (apart, partial(_by_planes, xp), (1.0, 0.0, 1.0)),
        (None, partial(_by_pair, xp), (0.0, 1.0, 1.0)),
    )


def _pair_near_zero(s: Number, t: Number, c: Number) -> tuple[Number, ...]:
    square = c * c
    X = square * s, 1.0, square * square * t
    (C0, C1), (S0, S1) = polynomial(_COSH, *X), polynomial(_SINHC, *X)
    return C0, square * C1, c * S0, square * c * S1


def _by_planes(xp: Any, s: Number, t: Number, c: Number) -> tuple[Number, ...]:
    """B = F1 + F2 with commuting simple parts, F_i² = x_i: s = x1 + x2, t = 4 x1 x2, exp B = exp F1 exp F2.

    x1 is the root of x² - s x + t/4 that does not cancel, and q B = 2 x1 F2 + 2 x2 F1 gives back F1 and F2.
    """
    # x1 - x2, of the sign of s, so that s + difference does not cancel
    difference = _towards(xp, xp.sqrt(s * s - t), s)
    x1 = (s + difference) / 2
    x2 = t / (4 * x1)
    (c1, s1), (c2, s2) = cosh_sinhc(xp, x1, c), cosh_sinhc(xp, x2, c)
    a, b = s1 * c2, c1 * s2
    return c1 * c2, s1 * s2 / 2, (x1 * a - x2 * b) / difference, (b - a) / (2 * difference)


def _towards(xp: Any, root: Number, s: Number) -> Number:
    """Return ± root, of the sign that does not cancel in s + root."""
    if xp is not math and _is_complex(xp, s):
        return where(xp, s.real * root.real + s.imag * root.imag < 0, -root, root)
    return xp.copysign(root, s)


def _by_pair(xp: Any, s: Number, t: Number, c: Number) -> tuple[Number, ...]:
    """C and S at x± = s ± √t, far apart."""
    rho = xp.sqrt(t)
    (C, S), (D, T) = cosh_sinhc(xp, s + rho, c), cosh_sinhc(xp, s - rho, c)
    return (C + D) / 2, (C - D) / (2 * rho), (S + T) / 2, (S - T) / (2 * rho)


# ---- the angle and the half-turn of a unit S = cosh F, S² - B² = 1: log(S + B) = f(S) B, f(x) = arcosh x / √(x² - 1)


def angle_and_half(xp: Any, s: Number, square: Number, t: Number, way: str, pairs: Any = None) -> tuple[Number, ...]:
    """Return f₀, f₁, c₀, c₁, g₀, g₁: f(S), c = √((1 + S)/2) and g = 1/(2c) at S = s + Q, Q² = t.

    ``square`` is ⟨B²⟩_0, and B² = S² - 1 = square + 2 s Q: near S = -1 it tells 1 + S = B²/(S - 1) to its own
    precision. Where S is minus a boost, which is not of this form, the values are wrong. Ways: "one" for Q = 0, "real"
    for t > 0, "complex" for t < 0, "study" for any t, wanted where Q is far larger than √|t|. ``pairs`` corrects B² at
    both x± in "real".
    """
    if way == "study":
        return _of_study(xp, s, square, t)
    if way == "one":
        f, c = _of_real(xp, s, square)
        return f, 0.0 * s, c, 0.0 * s, 0.5 / c, 0.0 * s
    # x± = s ± ρ, or s ± iρ
    rho = xp.sqrt(abs(t))
    if way == "real":
        ends, squares = (s + rho, s - rho), (square + 2 * s * rho, square - 2 * s * rho)
        if pairs is not None:
            squares = pairs(ends, squares)
        (f, c), (e, d) = (_of_real(xp, S, X) for S, X in zip(ends, squares, strict=True))
        twice, g, b = 2 * rho, 0.5 / c, 0.5 / d
        return (f + e) / 2, (f - e) / twice, (c + d) / 2, (c - d) / twice, (g + b) / 2, (g - b) / twice
    parts = _of_complex(cmath if is_number(xp) else xp, s + 1j * rho, square + 2j * s * rho)
    return tuple(part for h in (*parts, 0.5 / parts[1]) for part in (h.real, h.imag / rho))


def _of_real(xp: Any, S: Number, X: Number) -> tuple[Number, Number]:
    z = xp.sqrt(abs(X))
    turning = (X < 0, lambda z, S: (xp.atan2(z, S),), (0.0, 1.0))
    (angle,) = choose(xp, (z, S), turning, (None, lambda z, S: (xp.asinh(z),), (0.0, 1.0)))
    f = where(xp, z == 0, 1.0, angle / where(xp, z == 0, 1.0, z))
    return f, xp.sqrt(where(xp, S < 0, -X / (1 + abs(S)), 1 + S) / 2)


def _of_complex(xp: Any, S: Number, X: Number) -> tuple[Number, Number]:
    near = (abs(1 - S) <= 2 * NEAR_ONE, lambda S, X: (_series(_ANGLE, (1 - S) / 2),), (1.0, 0.0))

    def far(S: Number, X: Number) -> tuple[Number]:
        r = _towards(xp, xp.sqrt(X), S)
        return (xp.log(S + r) / r,)

    (f,) = choose(xp, (S, X), near, (None, far, (0.0, -1.0)))
    return f, xp.sqrt(where(xp, S.real < 0, X / (S - 1), 1 + S) / 2)


def _of_study(xp: Any, s: Number, square: Number, t: Number) -> tuple[Number, ...]:
    """By halving the argument, f(S) = f(c)/c, until the series serves; all in Study numbers (x, y) = x + y Q."""
    low, unity = s < 0, 0.0 * s + 1.0
    above = _over(square, 2 * s, where(xp, low, s - 1, unity), where(xp, low, unity, 0.0 * s), t)  # 1 + S near -1
    c = _root(xp, where(xp, low, above[0], 1 + s) / 2, where(xp, low, above[1], unity) / 2, t)
    # f(S) = f(c)/c: the product of all c divides the series at the end
    product = x, y = c
    for _ in range(HALVINGS if xp is np or is_number(xp) else TENSOR_HALVINGS):
        if xp is np or is_number(xp):
            far = abs(1 - x) + abs(y) * xp.sqrt(abs(t)) > 2 * NEAR_ONE
            if not (far.any() if xp is np else far):
                break
        x, y = _root(xp, (1 + x) / 2, y / 2, t)
        product = x * product[0] + y * product[1] * t, x * product[1] + y * product[0]
    f = _over(*polynomial(_ANGLE, (1 - x) / 2, -y / 2, t), *product, t)
    return *f, *c, *_over(0.5 * unity, 0.0 * s, *c, t)


def _root(xp: Any, a: Number, b: Number, t: Number) -> tuple[Number, Number]:
    """Return √(a + b Q) of positive real part, c + e Q with 2c² = a + √(a² - b² t) and e = b/2c."""
    c = xp.sqrt(a if t.__class__ is int else (a + xp.sqrt(a * a - b * b * t)) / 2)  # of Q² = 0 for all arguments
    return c, b / (2 * c)


def _over(a: Number, b: Number, c: Number, e: Number, t: Number) -> tuple[Number, Number]:
    """Return (a + b Q)/(c + e Q)."""
    # (c + e Q)(c - e Q)
    n = c * c - e * e * t
    return (a * c - b * e * t) / n, (b * c - a * e) / n


# ---- norms: A ~A = s + q of even and odd A


def inverse_root(xp: Any, s: Number, t: Number) -> tuple[Number, Number]:
    """Return x, y with (x + y q)² (s + q) = ±1, the sign of s, for q² = t < s² and s ≠ 0.

    For s > 0 the root of s + q is c + q/(2c) with n = √(s² - t) and 2c² = s + n, and its inverse (c - q/(2c))/n.
    """
    size, n = abs(s), xp.sqrt(s * s - t)
    c = xp.sqrt((size + n) / 2)
    return c / n, -s / (2 * size * c * n)
