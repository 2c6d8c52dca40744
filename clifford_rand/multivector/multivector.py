"""The class `Multivector`: everything its bases hold, symbolic coefficients, and its display."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import DTypeLike

from clifford_rand import functions
from clifford_rand._checks import check_integer, fail
from clifford_rand.basis.coefficients import is_scalar
from clifford_rand.multivector import display
from clifford_rand.multivector.geometry import Geometry

if TYPE_CHECKING:
    from clifford_rand.functions.compiled import CompiledFunction


class Multivector(Geometry):
    """A multivector, or a batch of them: keys (basis blades) and coefficients.

    Made by an `Algebra`: ``alg.e12``, ``alg("e1 - 2*e23")``, ``alg.vector(X)``, ``alg.multivector(values, grades)``.
    Dense, graded and sparse multivectors are one class: the keys say which blades are stored, all others are zero.

    Attributes
    ----------
    algebra : Algebra
    keys : Keys
        The stored blades, by grade then lexicographically.
    coefficients : ndarray of shape (..., keys.size)
        Batch axes first, components last; `values` fills up the grades.

    Notes
    -----
    Operators: ``*`` geometric, ``^`` outer, ``|`` fat dot, ``&`` regressive, ``<<`` left contraction, ``>>`` sandwich
    R X R⁻¹, ``~`` reverse, ``/`` and ``**`` by the inverse. Python's precedence holds: ``+`` binds closer than ``^``
    and ``|``.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> alg("e1 - 2*e23") * alg.e1
    1 - 2*e123
    >>> alg.vector([[1, 0, 0], [0, 2, 0]]) * alg.vector([1, 1, 1])  # a batch of two
    <Multivector batch of Algebra(3): shape=(2,), grades=(0, 2), dtype=int64>
    """

    __slots__ = ()

    def __repr__(self) -> str:
        return display.exact_text(self)

    def __str__(self) -> str:
        return display.rounded_text(self)

    def __format__(self, specification: str) -> str:
        """Format every coefficient: ``f"{A:.3f}"``."""
        if not specification:
            return str(self)
        return display.formatted_text(self, specification)

    def _repr_latex_(self) -> str:
        return display.latex_text(self)

    def _repr_html_(self) -> str | None:
        return display.html_text(self)

    # ---- symbolic coefficients: SymPy is loaded when one of these is called; nothing is simplified unless asked for.
    # The name ``free_symbols`` is left to scalars, which are known by it.

    def symbols_used(self) -> tuple[Any, ...]:
        """Return the symbols in the coefficients, by length of name and then by name.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> alg.symbols("a", grades=1).symbols_used()
        (a1, a2, a3)
        """
        from clifford_rand.symbolic import symbols_in

        return symbols_in(self.coefficients)

    def diff(self, symbol: Any, n: int = 1) -> Self:
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

        check_integer(n, "n", "diff")
        found = find_symbol(symbol, self.symbols_used(), "symbol", "diff")
        return self._make(self.keys, derivative(self.coefficients, found, n))

    def subs(self, *replacements: Any, **options: Any) -> Self:
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
        held = self.symbols_used()
        pairs = []
        for pair in given.items() if isinstance(given, Mapping) else given:
            old, new = pair
            if not is_scalar(new):
                raise fail("replacements", "subs", "by numbers or expressions", new, "Use lambdify for arrays.")
            pairs.append((find_symbol(old, held, "replacements", "subs"), new))
        together = dict(pairs) if isinstance(given, Mapping) else pairs
        return self._make(self.keys, each(lambda value: value.subs(together, **options), self.coefficients))

    def simplify(self, function: Callable[[Any], Any] | None = None) -> Self:
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

        return self._make(self.keys, each(function or (lambda value: value.simplify()), self.coefficients))

    def expand(self) -> Self:
        """Return every coefficient multiplied out."""
        from clifford_rand.symbolic import each

        return self._make(self.keys, each(lambda value: value.expand(), self.coefficients))

    def is_zero(self) -> Any:
        """Tell whether every coefficient is exactly zero once it is multiplied out: a bool, or an array over the batch.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(3)
        >>> a, b, c = (alg.symbols(name) for name in "abc")
        >>> ((a * b) * c - a * (b * c)).is_zero()
        True
        """
        if self.dtype == object:
            from clifford_rand.symbolic import is_zero

            entries = [is_zero(value) for value in self.coefficients.ravel().tolist()]
            zero = np.array(entries, dtype=bool).reshape(self.coefficients.shape).all(axis=-1)
        else:
            zero = (self.coefficients == 0).all(axis=-1)
        return bool(zero) if zero.ndim == 0 else zero

    def to_numeric(self, dtype: DTypeLike = np.float64) -> Self:
        """Return a multivector of numbers once every symbol has a value.

        Parameters
        ----------
        dtype : float64 by default, or float32, complex64, complex128, int64

        Raises
        ------
        ArgumentError
            If symbols are left, or a value is not of that kind (complex for float64, 1/2 for int64).

        Examples
        --------
        >>> import clifford_rand as cr, sympy
        >>> (sympy.sqrt(2) * cr.Algebra(2).e1).to_numeric()
        1.4142135623730951*e1
        """
        return self._as_numbers(np.dtype(dtype), "to_numeric")

    def _as_numbers(self, dtype: np.dtype, owner: str) -> Self:
        if self.dtype != object:
            return super().astype(dtype)
        from clifford_rand.symbolic import numeric

        return self._make(self.keys, numeric(self.coefficients, dtype, owner))

    def astype(self, dtype: DTypeLike) -> Self:
        """Return the multivector with coefficients of another dtype; symbols must have values, as in `to_numeric`."""
        wanted = np.dtype(dtype)
        return super().astype(wanted) if wanted.kind == "O" else self._as_numbers(wanted, "astype")

    def lambdify(self, *arguments: Any, backend: str = "numpy") -> "CompiledFunction":
        """Return a numeric function of some symbols: code is generated once, common subexpressions are computed once.

        Parameters
        ----------
        *arguments : symbol, str, or multivector of distinct symbols
            What the function takes, in this order. For a multivector of symbols it takes a multivector, or an array
            (..., n) of its components.
        backend : {"numpy", "numba"}
            "numpy" broadcasts arrays of any float or complex dtype; "numba" compiles a float64 loop at its first call.

        Returns
        -------
        CompiledFunction
            Called with numbers or arrays that broadcast, it returns a multivector whose batch shape is theirs; its
            method ``array`` returns the coefficients (..., n) alone, ``source`` is the code.

        Raises
        ------
        ArgumentError
            If the coefficients hold a symbol that is not among the arguments.

        Examples
        --------
        >>> import clifford_rand as cr
        >>> alg = cr.Algebra(2)
        >>> a, b = alg.symbols("a", grades=1), alg.symbols("b", grades=1)
        >>> product = (a * b).lambdify(a, b)
        >>> product(alg.vector([1.0, 2.0]), alg.vector([3.0, 4.0]))
        11.0 - 2.0*e12
        """
        return functions.compiled.compile_function(self, arguments, backend)
