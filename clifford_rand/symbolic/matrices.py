"""Symbolic matrices and coordinates: inverse, primary decomposition, Jacobians, simplified and substituted entries."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations
from numpy.typing import NDArray

from clifford_rand._checks import check_listed, describe, fail
from clifford_rand.symbolic.closed_forms import even_root
from clifford_rand.symbolic.coefficients import each


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
