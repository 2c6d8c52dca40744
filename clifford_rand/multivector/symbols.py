"""Symbolic coefficients: derivatives, the geometric derivative of a field, substitution, simplification.

Nothing is simplified unless asked for. The name ``free_symbols`` is left to scalars, which are known by it.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_choice, check_instance, check_integer, describe, fail
from clifford_rand._typing import MV
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.basis.keys import keys_of_grades


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


_MIRRORED = {"gp": "gp", "wedge": "wedge", "lc": "rc"}


def geometric_derivative(F: Any, x: Any, /, *, rule: str = "gp", side: str = "left") -> Any:
    """Return ∂F = Σ_i eⁱ ∂F/∂x_i of a field whose coefficients are expressions in the coordinates x.

    The point is x = Σ x_i e_i and eⁱ = Σ_j (G⁻¹)_ij e_j are the reciprocal vectors, so that ∂x = d in any metric.

    Parameters
    ----------
    F : Multivector
        The field, or a batch of fields.
    x : sequence of d symbols, or a vector of symbols
        The coordinates, in the order of the basis vectors.
    rule : {"gp", "wedge", "lc"}
        The product of eⁱ and ∂_i F: the whole derivative, its grade-raising part ∂∧F (the exterior derivative, the
        curl) or its grade-lowering part ∂·F (the divergence, by contraction). The first is the sum of the others.
    side : {"left", "right"}
        ∂F, or F∂ = Σ (∂_i F) eⁱ.

    Returns
    -------
    Multivector

    Raises
    ------
    ArgumentError
        For a degenerate metric, which has no reciprocal vectors, and for a metric that depends on x.

    See Also
    --------
    clifford_rand.gradient : ∂ as an operator, which may be multiplied, and by multivectors of any grade.
    clifford_rand.Coordinates : where the metric depends on the point.

    Notes
    -----
    ∂∂ = Σ (G⁻¹)_ij ∂_i ∂_j is the Laplacian, or the wave operator, and ∂∧∂∧F = 0. The exterior derivative of
    differential forms needs no metric; where G is degenerate keep the components in a Euclidean algebra and take
    rule="wedge" there.

    Examples
    --------
    >>> alg = cr.Algebra(3)
    >>> x = alg.symbols("x", grades=1)
    >>> cr.geometric_derivative(x * x, x)
    2*x1*e1 + 2*x2*e2 + 2*x3*e3
    >>> cr.geometric_derivative(alg("x2*e1 - x1*e2", x1=x["e1"], x2=x["e2"]), x)
    -2*e12
    """
    from clifford_rand.symbolic.coefficients import derivative

    check_choice(rule, "rule", "geometric_derivative", tuple(_MIRRORED))
    check_choice(side, "side", "geometric_derivative", ("left", "right"))
    if not hasattr(F, "coefficients"):
        raise fail("F", "geometric_derivative", "a multivector", F)
    symbols = _coordinates(F.algebra, x)
    reciprocal = _reciprocal_vectors(F, symbols)
    coefficients = F.coefficients.astype(object)
    total = None
    for symbol, vector in zip(symbols, reciprocal, strict=True):
        part = F.new(F.keys, derivative(coefficients, symbol))
        term = getattr(vector, rule)(part) if side == "left" else getattr(part, _MIRRORED[rule])(vector)
        total = term if total is None else total + term
    return total


def _coordinates(algebra: Any, x: Any) -> list[Any]:
    hint = f'Use {algebra.d} symbols, one for each basis vector, as in x = alg.symbols("x", grades=1).'
    if hasattr(x, "coefficients"):
        if x.grades != (1,) or x.ndim:
            raise fail("x", "geometric_derivative", "a vector of symbols", describe(f"grades {x.grades}"), hint)
        x = x.values.tolist()
    listed: Sequence[Any] = list(x) if hasattr(x, "__iter__") else [x]
    if len(listed) != algebra.d or not all(getattr(x_i, "is_Symbol", False) for x_i in listed):
        raise fail("x", "geometric_derivative", f"{algebra.d} symbols", listed, hint)
    if len(set(listed)) < len(listed):
        raise fail("x", "geometric_derivative", "distinct symbols", listed)
    return list(listed)


def _reciprocal_vectors(F: Any, symbols: Sequence[Any]) -> list[Any]:
    """Return eⁱ with eⁱ·e_j = δ_ij."""
    metric = F.algebra.form
    if not metric.is_numeric:
        from clifford_rand.symbolic.coefficients import symbols_in

        varying = [symbol for symbol in symbols_in(metric.gram) if symbol in symbols]
        if varying:
            hint = "Use Coordinates, with the matrix as metric=."
            received = describe(f"entries that depend on {varying}")
            raise fail("metric", "geometric_derivative", "constant", received, hint)
    if metric.is_degenerate:
        rule = "non-degenerate, to have reciprocal vectors"
        hint = 'For differential forms keep the components in a Euclidean algebra and use rule="wedge" there.'
        raise fail("metric", "geometric_derivative", rule, describe(repr(F.algebra)), hint)
    if metric.is_unit:
        inverse = np.diag(metric.diagonal.astype(np.int64))  # its own inverse
    elif metric.is_exact:
        from clifford_rand.symbolic.coefficients import inverse_matrix

        inverse = inverse_matrix(metric.gram)
    else:
        inverse = np.linalg.inv(metric.gram)
    keys = keys_of_grades(F.algebra.d, (1,))
    return [F.new(keys, row.astype(object)).sparse() for row in inverse]
