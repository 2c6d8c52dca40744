"""The derivative by a vector, or by any multivector, of symbols."""

from clifford_rand._checks import fail
from clifford_rand.basis.rules import bits_of
from clifford_rand.calculus.coordinates import Coordinates
from clifford_rand.calculus.fields import Variables
from clifford_rand.calculus.operators import DifferentialOperator, Word
from clifford_rand.calculus.properties import inverse_gram
from clifford_rand.multivector.multivector import Multivector


def gradient(x: Multivector) -> DifferentialOperator:
    """Return the derivative by a vector x of symbols, ∇ = Σ e^i ∂/∂x_i, or by any multivector of symbols.

    For other grades it is ∂_X = Σ_J e^J ∂/∂X_J over the components X_J e_J of X, ⟨e^J e_K⟩ = δ_JK (D. Hestenes and
    G. Sobczyk, "Clifford Algebra to Geometric Calculus", 1984, section 2-2). Operators by different variables may be
    multiplied and added.

    Raises
    ------
    ArgumentError
        For a degenerate metric, or one that depends on x, and for coefficients that are not distinct symbols.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> x, B = alg.symbols("x", 1), alg.symbols("B", 2)
    >>> grad = cr.gradient(x)
    >>> grad * x, grad ^ x, grad * (x * x)
    (3, 0, 2*x1*e1 + 2*x2*e2 + 2*x3*e3)
    >>> (alg.e1 | grad) * x
    e1
    >>> cr.gradient(B) * (B * B), (cr.gradient(B) * grad) * (B * x)
    (2*B12*e12 + 2*B13*e13 + 2*B23*e23, -3)
    """
    from clifford_rand.symbolic.matrices import coordinate_symbols

    if not isinstance(x, Multivector) or x.ndim:
        raise fail("x", "gradient", 'a vector of symbols, as alg.symbols("x", 1)', x)
    if x.grades == (1,):
        return Coordinates(x).grad
    symbols = coordinate_symbols(x.coefficients.tolist(), (), "gradient")
    rows = inverse_gram(x.algebra, "gradient", x.dtype)
    reciprocal = [x.algebra.vector(row.copy()).sparse() for row in rows]
    terms: dict[Word, Multivector] = {}
    for place, mask in enumerate(int(mask) for mask in x.keys.masks):
        blade = x.algebra.scalar(1)
        for i in reversed(list(bits_of(mask))):
            blade = blade.wedge(reciprocal[i])
        terms[(place,)] = blade
    return DifferentialOperator(Variables(x.algebra, symbols), terms)
