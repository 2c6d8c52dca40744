"""Symbolic coefficients: derivatives, substitution, simplification. SymPy is loaded when one of these is called.

Nothing is simplified unless asked for. The name ``free_symbols`` is left to scalars, which are known by it.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from clifford_rand._checks import check_callable, check_integer, fail
from clifford_rand.basis.coefficients import is_scalar

if TYPE_CHECKING:
    from clifford_rand.multivector.multivector import Multivector


def symbols_used(A: "Multivector") -> tuple[Any, ...]:
    """Return the symbols in the coefficients, by length of name and then by name.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> alg.symbols("a", grades=1).symbols_used()
    (a1, a2, a3)
    """
    from clifford_rand.symbolic import symbols_in

    return symbols_in(A.coefficients)


def diff(A: "Multivector", symbol: Any, n: int = 1) -> "Multivector":
    """Return the n-th partial derivative of every coefficient.

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
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(2)
    >>> R = alg.symbols("R", grades=(0, 2))
    >>> (R * R).diff("R12")
    -2*R12 + 2*R*e12
    """
    from clifford_rand.symbolic import derivative, find_symbol

    n = check_integer(n, "n", "diff")
    found = find_symbol(symbol, A.symbols_used(), "symbol", "diff")
    return A._make(A.keys, derivative(A.coefficients, found, n))


def subs(A: "Multivector", *replacements: Any, **options: Any) -> "Multivector":
    """Return the multivector after SymPy's ``subs``: (old, new), {old: new} or [(old, new), …].

    ``old`` may be a symbol, an expression, or the name of a symbol in the coefficients.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(2)
    >>> alg.symbols("a", grades=1).subs({"a1": 3, "a2": 0})
    3*e1
    """
    from clifford_rand.symbolic import each, find_symbol

    given = (replacements,) if len(replacements) == 2 else replacements[0] if len(replacements) == 1 else None
    if given is None or isinstance(given, str) or not hasattr(given, "__iter__"):
        raise fail("replacements", "subs", "old, new or {old: new} or [(old, new), …]", replacements)
    held = A.symbols_used()
    pairs = []
    for pair in given.items() if isinstance(given, Mapping) else given:
        if not isinstance(pair, tuple | list) or len(pair) != 2:
            raise fail("replacements", "subs", "old, new or {old: new} or [(old, new), …]", replacements)
        old, new = pair
        if not is_scalar(new):
            raise fail("replacements", "subs", "by numbers or expressions", new, "Use lambdify for arrays.")
        pairs.append((find_symbol(old, held, "replacements", "subs"), new))
    together = dict(pairs) if isinstance(given, Mapping) else pairs
    return A._make(A.keys, each(lambda value: value.subs(together, **options), A.coefficients))


def simplify(A: "Multivector", function: Callable[[Any], Any] | None = None) -> "Multivector":
    """Return every coefficient simplified, by `sympy.simplify` or a function of yours such as `sympy.trigsimp`.

    Examples
    --------
    >>> import clifford_rand as cr, sympy
    >>> t = sympy.Symbol("t", real=True)
    >>> alg = cr.Algebra(2)
    >>> R = sympy.cos(t) + sympy.sin(t) * alg.e12
    >>> (R * ~R).simplify()
    1
    """
    from clifford_rand.symbolic import each

    if function is not None:
        check_callable(function, "function", "simplify", "None or a function of a coefficient")
    return A._make(A.keys, each(function or (lambda value: value.simplify()), A.coefficients))


def expand(A: "Multivector") -> "Multivector":
    """Return every coefficient multiplied out.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> x = cr.Algebra(2).symbols("x", 1)
    >>> ((x * x + 1) ** 2).expand()
    x1**4 + 2*x1**2*x2**2 + 2*x1**2 + x2**4 + 2*x2**2 + 1
    """
    from clifford_rand.symbolic import each

    return A._make(A.keys, each(lambda value: value.expand(), A.coefficients))
