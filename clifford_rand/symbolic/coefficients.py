"""Symbolic coefficients and matrices: symbols, derivatives, substitution, inverses, numbers, generated code.

Every function that takes an array works entry by entry.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations
from sympy.printing.pycode import PythonCodePrinter  # type: ignore[import-untyped]

from clifford_rand._checks import check_listed, describe, fail
from clifford_rand._typing import NDArray
from clifford_rand.symbolic.closed_forms import even_root


def make_symbols(name: str, names: Any, masks: Iterable[int], assumptions: Mapping[str, Any]) -> NDArray[Any]:
    """Return a real symbol for the coefficient of each blade: a, a1, a12, a1_12, a_x_y.

    ``assumptions`` are SymPy's and come after ``real=True``. A name that ends in a digit is followed by an underscore,
    so that the symbols of one multivector all differ.
    """
    known = {"real": True, **assumptions}
    listed = [sp.Symbol(name + _suffix(name, names, int(mask)), **known) for mask in masks]
    array = np.empty(len(listed), dtype=object)
    array[:] = listed
    return array


def _suffix(name: str, names: Any, mask: int) -> str:
    if mask == 0:
        return ""
    blade: str = names.blade(mask)
    if names.prefix is None and not isinstance(names.vectors, range):
        return f"_{blade}"
    indices = blade[len(names.prefix or "e") :]
    return f"_{indices}" if name[-1].isdigit() else indices


def each(function: Callable[[Any], Any], array: NDArray[Any]) -> NDArray[Any]:
    """Return an object array of ``function`` of every entry as a SymPy expression."""
    result = np.empty(array.shape, dtype=object)
    result.ravel()[:] = [function(sp.sympify(value)) for value in array.ravel().tolist()]
    return result


def symbols_in(array: NDArray[Any]) -> tuple[Any, ...]:
    """Return the symbols that the entries hold, sorted by length of name and name."""
    held = {symbol for value in array.ravel().tolist() if isinstance(value, sp.Basic) for symbol in value.free_symbols}
    return tuple(sorted(held, key=lambda symbol: (len(str(symbol)), str(symbol), sp.default_sort_key(symbol))))


def find_symbol(symbol: Any, held: Iterable[Any], name: str, owner: str) -> Any:
    """Return a symbol given as itself or by its name; an error if only a namesake with other assumptions is held.

    SymPy's ``Symbol("a")`` and ``Symbol("a", real=True)`` differ; a derivative by the wrong one would silently be 0.
    """
    held = tuple(held)
    same = [x for x in held if str(x) == str(symbol)]
    if isinstance(symbol, str):
        if len(same) == 1:
            return same[0]
        rule = "the name of a symbol in the coefficients" if not same else "a symbol, where several have one name"
        raise fail(name, owner, rule, symbol, f"They are {', '.join(map(str, held)) or 'numbers only'}.")
    if not isinstance(symbol, sp.Basic):
        raise fail(name, owner, "a SymPy symbol or its name", symbol)
    if same and symbol not in held and symbol.is_Symbol:
        given, known = (
            ", ".join(f"{key}={value}" for key, value in one._assumptions_orig.items()) or "no assumption"
            for one in (symbol, same[0])
        )
        rule = "a symbol with the assumptions of its namesake in the coefficients"
        received = describe(f"{symbol} with {given}, where they hold it with {known}")
        raise fail(name, owner, rule, received, "Give its name as text.")
    return symbol


def derivative(array: NDArray[Any], symbol: Any, n: int = 1) -> NDArray[Any]:
    """Return the n-th derivative of every entry."""
    return each(lambda value: sp.diff(value, symbol, n), array)


def is_zero(value: Any) -> bool:
    """Tell whether a number or an expression is exactly zero once it is multiplied out.

    An identity such as sin² + cos² - 1 = 0 is not looked for: simplify first.
    """
    if not isinstance(value, sp.Basic):
        return bool(value == 0)
    expanded_value = sp.expand(value)
    return bool(expanded_value == 0 or expanded_value == 0.0)  # SymPy's Float(0) is not equal to the integer


def plain(value: Any) -> Any:
    """Return an equal value with the hash of all equal ones: SymPy's numbers as Python's, its floats as fractions."""
    real, imaginary = value.as_real_imag() if value.is_number and not value.is_real else (value, sp.Integer(0))
    if all(isinstance(part, sp.Rational | sp.Float) for part in (real, imaginary)):
        if imaginary:
            return complex(real, imaginary)
        return float(real) if isinstance(real, sp.Float) else Fraction(int(real.p), int(real.q))
    return _without_floats(value)


def _without_floats(value: Any) -> Any:
    return value.xreplace({number: sp.Rational(number) for number in value.atoms(sp.Float)})


def is_same(x: Any, y: Any) -> bool:
    """Tell whether two numbers or expressions are exactly equal, SymPy's floats and Python's taken as fractions.

    SymPy itself says that Float(2.0) is not 2, and that 1/3 - 0.3333333333333333 is zero.
    """
    x, y = (plain(value) if isinstance(value, sp.Basic) else value for value in (x, y))
    if not (isinstance(x, sp.Basic) or isinstance(y, sp.Basic)):
        return bool(x == y)
    return (_without_floats(sp.sympify(x)) - _without_floats(sp.sympify(y))).is_zero is True


def numeric(array: NDArray[Any], dtype: np.dtype, owner: str) -> NDArray[Any]:
    """Return numbers of ``dtype``; an error where symbols are left or where the type cannot hold the value."""
    left = symbols_in(array)
    if left:
        names = ", ".join(map(str, left[:10])) + (", …" if len(left) > 10 else "")
        raise fail("coefficients", owner, "free of symbols", describe(f"the symbols {names}"), "Substitute with subs.")
    known: dict[str, Callable[[Any], Any]] = {"c": complex, "f": _real, "i": _whole}
    convert = known.get(dtype.kind)
    if convert is None:
        raise fail("dtype", owner, "float32, float64, complex64, complex128 or int64", dtype)
    try:
        values = [convert(value) for value in array.ravel().tolist()]
    except (TypeError, ValueError, OverflowError) as error:
        raise fail(
            "coefficients", owner, f"numbers that {dtype} can hold", describe(f"{error}"), "Choose another dtype."
        ) from None
    return np.array(values, dtype=dtype).reshape(array.shape)


def _real(value: Any) -> float:
    number = complex(value) if isinstance(value, sp.Basic | complex) else float(value)
    if isinstance(number, complex) and number.imag:
        raise ValueError(f"the complex number {value}")
    return number.real


def _whole(value: Any) -> int:
    if value != int(value):
        raise ValueError(f"{value}, not an integer")
    return int(value)


def numpy_function(symbols: Sequence[Any], expressions: Sequence[Any]) -> Callable[..., Any]:
    """Return a NumPy function of arrays, common subexpressions computed once, that returns a list of arrays."""
    compiled: Callable[..., Any] = sp.lambdify(list(symbols), list(expressions), modules="numpy", cse=True)
    return compiled


def array_source(symbols: Sequence[Any], expressions: Sequence[Any]) -> str:
    """Return Python code of ``kernel(inputs (s, n), out (n, k))`` on scalars, common subexpressions computed once.

    Only ``math`` is used, so that Numba compiles it.
    """
    printer = PythonCodePrinter({"fully_qualified_modules": True, "standard": "python3", "strict": False})
    stand_ins = {symbol: sp.Dummy(f"x{i}", **symbol._assumptions_orig) for i, symbol in enumerate(symbols)}
    names = {dummy: sp.Symbol(f"_x{i}") for i, dummy in enumerate(stand_ins.values())}
    shared, results = sp.cse(
        [sp.sympify(value).xreplace(stand_ins) for value in expressions], symbols=sp.numbered_symbols("_c")
    )

    def code(value: Any) -> str:
        text: str = printer.doprint(value.xreplace(names))
        if "Not supported" in text:
            raise fail("expression", "lambdify", "made of functions of Python's math module", describe(f"{value}"))
        return text

    lines = ["import math", "", "", "def kernel(inputs, out):", "    for i in range(out.shape[0]):"]
    lines += [f"        _x{i} = inputs[{i}, i]" for i in range(len(symbols))]
    lines += [f"        {symbol} = {code(value)}" for symbol, value in shared]
    lines += [f"        out[i, {k}] = {code(value)}" for k, value in enumerate(results)]
    return "\n".join(lines) + "\n"


# ---- SymPy's own, for layers that must not import it


symbols, cos, sinc = sp.symbols, sp.cos, sp.sinc


def expression(text: str) -> Any:
    """Return the expression of a text, as ``"a*b + c"``."""
    return sp.sympify(text)


def shortened(array: NDArray[Any]) -> NDArray[Any]:
    """Return every entry multiplied out and, where it is not a polynomial, simplified."""

    def shorter(value: Any) -> Any:
        expanded = sp.expand(value)
        return expanded if expanded.is_polynomial() else sp.simplify(expanded)

    return each(shorter, array)


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


def simplifies_to_zero(value: Any) -> bool:
    """Tell whether an expression simplifies to zero; a polynomial by multiplying out."""
    expanded = sp.expand(value)
    if expanded == 0:
        return True
    if expanded.is_number or expanded.is_polynomial(*expanded.free_symbols):
        return bool(sp.simplify(expanded) == 0) if expanded.is_number else False
    together = sp.cancel(sp.together(expanded))
    return bool(together == 0 or sp.simplify(together) == 0)


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
