"""Symbolic coefficients: derivatives, substitution, simplification.

Nothing is simplified unless asked for. The name ``free_symbols`` is left to scalars, which are known by it.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from clifford_rand._checks import check_instance, check_integer, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import is_scalar


def _each(A: MV, function: Callable[[Any], Any]) -> MV:
    """Return A with a function of each coefficient as an expression in its place."""
    from clifford_rand.symbolic.coefficients import each

    return A.new(A.keys, each(function, A.coefficients))


def symbols_used(A: MV) -> tuple[Any, ...]:
    """Return the symbols in the coefficients, by length of name and then by name.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> alg.symbols("a", grades=1).symbols_used()
    (a1, a2, a3)
    """
    from clifford_rand.symbolic.coefficients import symbols_in

    return symbols_in(A.coefficients)


def diff(A: MV, symbol: Any, n: Any = 1, *more: Any) -> MV:
    """Return the n-th partial derivative of every coefficient; more symbols follow as in `sympy.diff`: x, y, 2.

    Parameters
    ----------
    symbol : SymPy symbol or str
        A name stands for the symbol of that name in the coefficients.
    n : int, default=1

    Raises
    ------
    ArgumentError
        For a name that is not there, and for a symbol with other assumptions than its namesake in the coefficients,
        whose derivative SymPy would call zero.

    See Also
    --------
    clifford_rand.geometric_derivative : ∂F = Σ eⁱ ∂_i F of a field.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> R = alg.symbols("R", grades=(0, 2))
    >>> (R * R).diff("R12")
    -2*R12 + 2*R*e12
    """
    from clifford_rand.symbolic.coefficients import derivative, find_symbol

    if isinstance(n, str) or getattr(n, "is_Symbol", False):
        n, more = 1, (n, *more)
    n = check_integer(int(n) if getattr(n, "is_Integer", False) else n, "n", "diff")
    variable = find_symbol(symbol, A.symbols_used(), "symbol", "diff")
    derived = A.new(A.keys, derivative(A.coefficients, variable, n))
    return diff(derived, *more) if more else derived


def subs(A: MV, *replacements: Any, **options: Any) -> MV:
    """Return the multivector after SymPy's ``subs``: (old, new), {old: new} or [(old, new), …].

    ``old`` may be a symbol, an expression, or the name of a symbol in the coefficients.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> alg.symbols("a", grades=1).subs({"a1": 3, "a2": 0})
    3*e1
    """
    from clifford_rand.symbolic.coefficients import find_symbol

    substitution = (replacements,) if len(replacements) == 2 else replacements[0] if len(replacements) == 1 else None
    if substitution is None or isinstance(substitution, str) or not hasattr(substitution, "__iter__"):
        raise fail("replacements", "subs", "old, new or {old: new} or [(old, new), …]", replacements)
    held = A.symbols_used()
    pairs = []
    for pair in substitution.items() if isinstance(substitution, Mapping) else substitution:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise fail("replacements", "subs", "old, new or {old: new} or [(old, new), …]", replacements)
        old, new = pair
        if not is_scalar(new):
            raise fail("replacements", "subs", "by numbers or expressions", new, "Use lambdify for arrays.")
        pairs.append((find_symbol(old, held, "replacements", "subs"), new))
    together = dict(pairs) if isinstance(substitution, Mapping) else pairs
    return _each(A, lambda value: value.subs(together, **options))


def simplify(A: MV, function: Callable[[Any], Any] | None = None) -> MV:
    """Return every coefficient simplified, by `sympy.simplify` or a function of yours such as `sympy.trigsimp`.

    Examples
    --------
    >>> import sympy
    >>> t = sympy.Symbol("t", real=True)
    >>> alg = cr.Algebra(2)
    >>> R = sympy.cos(t) + sympy.sin(t) * alg.e12
    >>> (R * ~R).simplify()
    1
    """
    if function is not None:
        check_instance(function, Callable, "function", "simplify", "None or a function of a coefficient")
    return _each(A, function or (lambda value: value.simplify()))


def expand(A: MV, **hints: Any) -> MV:
    """Return every coefficient multiplied out, with SymPy's hints.

    Examples
    --------
    >>> x = cr.Algebra(2).symbols("x", 1)
    >>> ((x * x + 1) ** 2).expand()
    x1**4 + 2*x1**2*x2**2 + 2*x1**2 + x2**4 + 2*x2**2 + 1
    """
    return _each(A, lambda value: value.expand(**hints))


def factor(A: MV, *generators: Any, **options: Any) -> MV:
    """Return every coefficient factored, as `sympy.factor` does.

    Examples
    --------
    >>> x = cr.Algebra(2).symbols("x", 1)
    >>> (x * x * x).expand().factor()
    x1*(x1**2 + x2**2)*e1 + x2*(x1**2 + x2**2)*e2
    """
    return _each(A, lambda value: value.factor(*generators, **options))


def evalf(A: MV, n: int = 15, **options: Any) -> MV:
    """Return every coefficient as a SymPy number of n digits, symbols kept: what `sympy.N` calls.

    Examples
    --------
    >>> import sympy
    >>> (sympy.sqrt(2) * cr.Algebra(2).e1).evalf(5)
    1.4142*e1
    """
    n = check_integer(n, "n", "evalf")
    return _each(A, lambda value: value.evalf(n, **options))


def integrate(A: MV, *symbols: Any, **options: Any) -> MV:
    """Return the integral of every coefficient, symbols as `sympy.integrate` takes them: x, or (x, low, high).

    Examples
    --------
    >>> import sympy
    >>> x = sympy.Symbol("x", real=True)
    >>> sympy.integrate(x**2 * cr.Algebra(2).e1, (x, 0, 1))
    (1/3)*e1
    """
    return _each(A, lambda value: value.integrate(*symbols, **options))


# ---- what SymPy's own functions call


def arguments(A: MV) -> tuple[Any, ...]:
    """Return the coefficients in order, from which ``A.func(*A.args)`` is A again: SymPy's functions work on these.

    Examples
    --------
    >>> alg = cr.Algebra(2)
    >>> alg.symbols("a", 1).args
    (a1, a2)
    """
    return tuple(A.coefficients.ravel().tolist())


def rebuilt(A: MV, *values: Any) -> MV:
    """Return the multivector of the same blades and batch shape with other coefficients, see `args`.

    Examples
    --------
    >>> cr.Algebra(2).symbols("a", 1).func(1, 2)
    e1 + 2*e2
    """
    if len(values) != A.coefficients.size:
        raise fail("values", "func", f"{A.coefficients.size} coefficients", values)
    array = np.empty(len(values), dtype=object)
    array[:] = values
    return A.new(A.keys, array.reshape(A.coefficients.shape))


def is_sympy(A: MV) -> bool:
    """Return False, for which `sympify` keeps a multivector; a scalar lacks the attribute, and becomes its number."""
    if A.keys.grades == (0,) and A.keys.size and not A.ndim:
        raise AttributeError("__sympy__")
    return False


def as_sympy(A: MV) -> Callable[[], Any]:
    """Return the function that gives the expression of a scalar; no other multivector has it."""
    if A.keys.grades != (0,) or not A.keys.size or A.ndim:
        raise AttributeError("_sympy_")
    return lambda: _each(A, lambda value: value).coefficients[0]


def eval_simplify(A: MV, **options: Any) -> MV:
    """Let `sympy.simplify` simplify every coefficient."""
    return _each(A, lambda value: value.simplify(**options))


def eval_trigsimp(A: MV, **options: Any) -> MV:
    """Let `sympy.trigsimp` simplify every coefficient."""
    return _each(A, lambda value: value.trigsimp(**options))


def eval_integral(A: MV, *symbols: Any, **options: Any) -> MV:
    """Let `sympy.integrate` integrate every coefficient."""
    return integrate(A, *symbols)


def latex(A: MV, printer: Any, *arguments: Any, **options: Any) -> str:
    """Let `sympy.latex` write what a notebook shows, without its dollar signs."""
    from clifford_rand.multivector.display import latex_text

    return latex_text(A).strip("$")
