"""Closed forms of exact and symbolic numbers and matrices, by the signs that SymPy knows; symbols and Jacobians."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations
from numpy.typing import NDArray

from clifford_rand._checks import check_listed, describe, fail
from clifford_rand.symbolic.coefficients import each


def square_root(value: Any) -> Any:
    """Return √value, exactly: an integer or fraction where there is one, else a SymPy expression.

    Examples
    --------
    >>> square_root(49), square_root(Fraction(4, 9)), square_root(8)
    (7, Fraction(2, 3), 2*sqrt(2))
    """
    if isinstance(value, int | np.integer | Fraction) and value >= 0:
        top, bottom = math.isqrt(int(value.numerator)), math.isqrt(int(value.denominator))
        if top * top == value.numerator and bottom * bottom == value.denominator:
            return Fraction(top, bottom) if isinstance(value, Fraction) else top
    return sp.sqrt(sp.sympify(value))


def exponential_of_square(square: Any) -> tuple[Any, Any]:
    """Return (cosh √s, sinh √s / √s) for s = ``square``, so that exp(B) is the first plus the second times B if B² = s.

    For s ≤ 0 by SymPy's assumptions these are (cos r, sin r / r) with r = √-s; for s = 0 they are (1, 1). The quotients
    have a removable singularity where s vanishes for some values of the symbols.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> exponential_of_square(-(t**2)), exponential_of_square(4)
    ((cos(t), sin(t)/t), (cosh(2), sinh(2)/2))
    """
    s = sp.factor(sp.expand(sp.sympify(square)))
    if s.is_zero or s == 0:
        return sp.Integer(1), sp.Integer(1)
    if s.is_nonpositive:
        r = even_root(-s)
        return sp.cos(r), sp.sin(r) / r
    r = even_root(s)
    return sp.cosh(r), sp.sinh(r) / r


def exponential_of_pair(s: Any, t: Any) -> tuple[Any, Any, Any, Any]:
    """Return C₀, C₁, S₀, S₁ with C(X) = cosh √X = C₀ + C₁ q and S(X) = sinh √X / √X = S₀ + S₁ q for X = s + q, q² = t.

    Examples
    --------
    >>> w = sp.Symbol("w", positive=True)
    >>> exponential_of_pair(-(w**2), 0)[:2]
    (cos(w), sin(w)/(2*w))
    """
    s, t = sp.factor(sp.expand(sp.sympify(s))), sp.factor(sp.expand(sp.sympify(t)))
    if t == 0:
        C, S = exponential_of_square(s)
        return C, S / 2, S, sp.Rational(1, 6) if s == 0 else (C - S) / (2 * s)  # C' = S/2, S' = (C - S)/(2X)
    if t.is_nonnegative:
        root = even_root(t)
        (C, S), (D, T) = exponential_of_square(s + root), exponential_of_square(s - root)
        return (C + D) / 2, (C - D) / (2 * root), (S + T) / 2, (S - T) / (2 * root)
    root = sp.sqrt(sp.factor(sp.expand(s * s - t)))  # of two planes with the squares (s ± root)/2, real where t < 0
    x, y = (s + root) / 2, (s - root) / 2
    (C, S), (D, T) = exponential_of_square(x), exponential_of_square(y)
    return C * D, S * T / 2, (x * S * D - y * C * T) / root, (C * T - S * D) / (2 * root)


def sine_and_cosine(sign: int) -> Callable[[Any], tuple[Any, Any]]:
    """Return the function x ↦ (sin x, cos x) for the sign -1, (sinh x, cosh x) for 1."""
    first, second = (sp.sin, sp.cos) if sign < 0 else (sp.sinh, sp.cosh)
    return lambda x: (first(sp.sympify(x)), second(sp.sympify(x)))


def right_angle() -> Any:
    """Return π/2."""
    return sp.pi / 2


def inverse_circular(name: str) -> Callable[[Any, Any], tuple[Any, Any]]:
    """Return (σ, s) ↦ the mean and the divided difference at σ ± √s of arcsin, arctan, … by NumPy's name.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> inverse_circular("arctan")(0, -(t**2)), inverse_circular("arcsin")(0, sp.Rational(1, 4))
    ((0, atanh(t)/t), (0, pi/3))
    """
    f = getattr(sp, name.replace("arc", "a"))

    def both(sigma: Any, square: Any) -> tuple[Any, Any]:
        center, s = sp.sympify(sigma), sp.factor(sp.expand(sp.sympify(square)))
        if s == 0:
            x = sp.Dummy()
            return f(center), sp.diff(f(x), x).subs(x, center)
        root = sp.I * even_root(-s) if s.is_nonpositive else even_root(s)
        plus, minus = f(center + root), f(center - root)
        return sp.expand((plus + minus) / 2), (plus - minus) / (2 * root)

    return both


def _squared_norm(sigma: Any, s: Any) -> Any:
    """Return σ² - s, with sin² + cos² = 1 and its hyperbolic kin put to use."""
    return sp.factor(sp.trigsimp(sp.expand(sigma**2 - s)))


def logarithm_of_rotor(sigma: Any, square: Any) -> tuple[Any, Any]:
    """Return (log n, f) with log(σ + B) = log n + f B for B² = s = ``square``, n² = σ² - s; f None where there is none.

    f is atan2(√-s, σ)/√-s for s ≤ 0 by SymPy's assumptions, 1/σ for 0, atanh(√s/σ)/√s for s ≥ 0, and arccos(σ/n)/√-s,
    which is right for either sign, where they do not tell.

    Examples
    --------
    >>> t = sp.Symbol("t", positive=True)
    >>> logarithm_of_rotor(1, -(t**2)), logarithm_of_rotor(2, 0)
    ((log(t**2 + 1)/2, atan(t)/t), (log(2), 1/2))
    """
    sigma, s = sp.sympify(sigma), sp.factor(sp.expand(sp.sympify(square)))
    norm = _squared_norm(sigma, s)
    size = sp.log(norm) / 2
    if norm.is_negative or norm == 0:
        return size, None
    if s.is_nonpositive and s != 0:
        r = sp.sqrt(-s)
        return size, (sp.atan(r / sigma) if sigma.is_positive else sp.atan2(r, sigma)) / r
    if sigma.is_nonpositive:
        return size, (None if s.is_nonnegative else sp.acos(sigma / sp.exp(size)) / sp.sqrt(-s))
    if s == 0:
        return sp.log(sigma), 1 / sigma
    if s.is_nonnegative:
        r = sp.sqrt(s)
        return size, sp.atanh(r / sigma) / r
    return size, sp.acos(sigma / sp.sqrt(_squared_norm(sigma, s))) / sp.sqrt(-s)


def root_of_rotor(sigma: Any, square: Any) -> tuple[Any, Any]:
    """Return (a, b) with (a + b B)² = σ + B for B² = ``square``; b None where there is no real one.

    Examples
    --------
    >>> root_of_rotor(0, -1), root_of_rotor(9, 0)
    ((sqrt(2)/2, sqrt(2)/2), (3, 1/6))
    """
    sigma, s = sp.sympify(sigma), sp.sympify(square)
    n = sigma if s == 0 and not sigma.is_negative else sp.sqrt(_squared_norm(sigma, s))
    twice = 2 * (n + sigma)
    if twice == 0 or twice.is_negative or n.is_real is False:
        return sp.Integer(0), None
    return sp.sqrt(twice) / 2, 1 / sp.sqrt(twice)


def even_root(s: Any) -> Any:
    """Return a square root, of either sign: the functions that take it are even, so |t| may be t."""
    root = sp.sqrt(s)
    return sp.Mul(*(factor.args[0] if isinstance(factor, sp.Abs) else factor for factor in sp.Mul.make_args(root)))


def inverse_matrix(matrix: NDArray[Any]) -> NDArray[Any]:
    """Return the inverse of an exact or symbolic matrix as an object array."""
    try:
        return np.array(sp.Matrix(matrix.tolist()).inv().tolist(), dtype=object)
    except (ValueError, TypeError) as error:
        hint = f"SymPy says: {error}"
        raise fail("metric", "Coordinates", "an invertible matrix of expressions", describe("another"), hint) from error


def matrix_symbols(name: str, rows: int, columns: int, assumptions: Mapping[str, Any]) -> NDArray[Any]:
    """Return a matrix of real symbols name_11, name_12, …; name_1_12 where an index has two digits."""
    if not isinstance(name, str) or not name.isidentifier():
        raise fail("name", "from_symbols", 'an identifier, as "f"', name)
    comma = "_" if max(rows, columns) > 9 else ""
    known = {"real": True, **assumptions}
    entries = [[sp.Symbol(f"{name}_{i + 1}{comma}{j + 1}", **known) for j in range(columns)] for i in range(rows)]
    return np.array(entries, dtype=object).reshape(rows, columns)


def primary_decomposition(matrix: NDArray[Any]) -> list[tuple[NDArray[Any], Any, tuple[Any, ...]]]:
    """Return (basis of ker p(F)^m in columns, determinant of F on it, roots) for the irreducible factors p^m.

    Quadratic factors whose discriminant is known to be positive are split; roots are empty from the third degree on.
    """
    F = sp.Matrix(matrix.tolist())
    polynomial = F.charpoly()
    x = polynomial.gen
    parts = []
    for factor, m in sp.factor_list(sp.simplify(polynomial.as_expr()), x)[1]:
        for p, roots in _split_quadratic(sp.Poly(factor, x)):
            power = _polynomial_of(p, F) ** m
            kernel = power.applyfunc(sp.simplify).nullspace()
            basis = np.array(sp.Matrix.hstack(*kernel).tolist(), dtype=object)
            constant = (-1) ** p.degree() * p.eval(0) / p.LC()
            parts.append((basis, sp.simplify(constant**m), tuple(roots) * m))
    return sorted(parts, key=lambda part: -_size(part[1], part[0].shape[1]))


def _size(factor: Any, grade: int) -> float:
    value = sp.Abs(factor)
    return float(value) ** (1 / grade) if value.is_number else 0.0


def _polynomial_of(p: Any, F: Any) -> Any:
    total = sp.zeros(*F.shape)
    for coefficient in p.all_coeffs():
        total = total * F + coefficient * sp.eye(F.rows)
    return total


def _split_quadratic(p: Any) -> list[tuple[Any, tuple[Any, ...]]]:
    if p.degree() == 1:
        return [(p, (sp.simplify(-p.eval(0) / p.LC()),))]
    if p.degree() != 2:
        return [(p, ())]
    a, b, c = p.all_coeffs()
    discriminant = sp.factor(sp.simplify(b**2 - 4 * a * c))
    roots = tuple(sp.simplify((-b + sign * sp.sqrt(discriminant)) / (2 * a)) for sign in (1, -1))
    if discriminant.is_positive:
        return [(sp.Poly(p.gen - root, p.gen), (root,)) for root in roots]
    return [(p, roots)]


# ---- coordinates


def coordinate_symbols(names: str | Iterable[Any], positive: Iterable[str], owner: str) -> list[Any]:
    """Return distinct symbols: those given, or real ones of names, ``positive`` among them."""
    rule = "distinct symbols or their names"
    listed = names.replace(",", " ").split() if isinstance(names, str) else check_listed(names, "symbols", owner, rule)
    known = set(positive)
    read = [sp.Symbol(x, real=True, positive=x in known or None) if isinstance(x, str) else x for x in listed]
    if not read or not all(getattr(x, "is_Symbol", False) for x in read) or len(set(read)) < len(read):
        raise fail("symbols", owner, rule, names)
    return read


def expressions(values: Iterable[Any], known: Iterable[Any], name: str, owner: str) -> NDArray[Any]:
    """Return expressions; text is read with ``known`` symbols by name, all other names being real symbols."""
    words: dict[str, Any] = {str(symbol): symbol for symbol in known}
    listed = check_listed(values, name, owner, "a sequence of expressions")
    parsed = np.empty(len(listed), dtype=object)
    for i, value in enumerate(listed):
        try:
            read = sp.sympify(value, locals=words)
        except (sp.SympifyError, TypeError, SyntaxError, AttributeError, RecursionError) as error:
            raise fail(name, owner, "expressions", value) from error
        if not isinstance(read, sp.Expr):
            raise fail(name, owner, "expressions", value)
        unknown = [x for x in read.free_symbols if isinstance(value, str) and x not in words.values()]
        words |= {str(x): sp.Symbol(str(x), positive=True) for x in unknown}  # a length: no other parameter occurs
        parsed[i] = read.subs({x: words[str(x)] for x in unknown})
    return parsed


def simplified(array: NDArray[Any], function: Callable[[Any], Any] | None = None) -> NDArray[Any]:
    """Return every entry simplified, by SymPy's ``simplify`` or ``function``; numbers and symbols are left alone."""
    chosen = function or sp.simplify
    return each(lambda value: value if value.is_Atom else chosen(value), array)


def sign_of(value: Any) -> int | None:
    """Return 1 or -1 where SymPy knows the sign from the assumptions on the symbols, else None."""
    value = sp.sympify(value)
    return 1 if value.is_positive else -1 if value.is_negative else None


def vanishes(value: Any) -> bool:
    """Tell whether an expression is zero, by SymPy's ``equals``: numbers put in first, then a proof."""
    return bool(sp.sympify(value).equals(0))


def positive_root(value: Any) -> Any:
    """Return √value, its factors taken as positive: √(r² sin² θ) = r sin θ, for coordinates in their usual range."""
    return even_root(sp.factor(sp.sympify(value)))


def jacobian(array: NDArray[Any], symbols: Sequence[Any]) -> NDArray[Any]:
    """Return the derivatives (n, d) of expressions (n,) by the symbols (d,)."""
    return np.array([[sp.diff(value, symbol) for symbol in symbols] for value in array.tolist()], dtype=object)


def functions_of(symbols: NDArray[Any], arguments: Sequence[Any]) -> NDArray[Any]:
    """Return real undefined functions of the arguments with the names of the symbols."""
    return each(lambda value: sp.Function(value.name, real=True)(*arguments), symbols)


def substituted(array: NDArray[Any], old: Sequence[Any], new: Sequence[Any]) -> NDArray[Any]:
    """Return every entry with all of ``old`` replaced at once."""
    pairs = dict(zip(old, new, strict=True))
    return each(lambda value: value.subs(pairs, simultaneous=True), array)
