"""Symbolic coefficients: symbols, derivatives, substitution, comparison, conversion to numbers, generated code.

Every function that takes an array works entry by entry.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import sympy as sp  # type: ignore[import-untyped]  # it ships no annotations
from numpy.typing import NDArray
from sympy.printing.pycode import PythonCodePrinter  # type: ignore[import-untyped]

from clifford_rand._checks import describe, fail


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
        raise fail(
            name,
            owner,
            "a symbol with the assumptions of its namesake in the coefficients",
            describe(f"{symbol} with {_assumed(symbol)}, where they hold it with {_assumed(same[0])}"),
            "Give its name as text.",
        )
    return symbol


def _assumed(symbol: Any) -> str:
    return ", ".join(f"{key}={value}" for key, value in symbol._assumptions_orig.items()) or "no assumption"


def derivative(array: NDArray[Any], symbol: Any, n: int = 1) -> NDArray[Any]:
    """Return the n-th derivative of every entry."""
    return each(lambda value: sp.diff(value, symbol, n), array)


def is_zero(value: Any) -> bool:
    """Tell whether a number or an expression is exactly zero once it is multiplied out.

    An identity such as sin² + cos² - 1 = 0 is not looked for: simplify first.

    Examples
    --------
    >>> a = sp.Symbol("a")
    >>> is_zero((a + 1) ** 2 - a**2 - 2 * a - 1), is_zero(a)
    (True, False)
    """
    if not isinstance(value, sp.Basic):
        return bool(value == 0)
    expanded_value = sp.expand(value)
    return bool(expanded_value == 0 or expanded_value == 0.0)  # SymPy's Float(0) is not equal to the integer


def plain(value: Any) -> Any:
    """Return an equal value with the hash of all equal ones: SymPy's numbers as Python's, its floats as fractions.

    Examples
    --------
    >>> plain(sp.Float(2.0)), plain(sp.Rational(1, 3)), plain(2.0 * sp.Symbol("x"))
    (2.0, Fraction(1, 3), 2*x)
    """
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
