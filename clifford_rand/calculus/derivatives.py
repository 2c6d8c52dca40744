"""The vector derivative by symbols: as an operator, by a multivector of any grade, and of one field."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.rules import bits_of
from clifford_rand.calculus.coordinates import Coordinates
from clifford_rand.calculus.fields import Variables
from clifford_rand.calculus.operators import DifferentialOperator, Word
from clifford_rand.calculus.properties import inverse_gram
from clifford_rand.multivector.multivector import Multivector

_MIRRORED = {"gp": "gp", "wedge": "wedge", "lc": "rc"}  # the product from the other side


def gradient(x: Multivector, /) -> DifferentialOperator:
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
    from clifford_rand.symbolic.coefficients import coordinate_symbols

    if not isinstance(x, Multivector) or x.ndim:
        raise fail("x", "gradient", 'a vector of symbols, as alg.symbols("x", 1)', x)
    if x.grades == (1,):
        return Coordinates(x).grad
    symbols = coordinate_symbols(x.coefficients.tolist(), (), "gradient")
    reciprocal = _reciprocal_vectors(x.algebra, symbols, "gradient")
    terms: dict[Word, Multivector] = {}
    for place, mask in enumerate(int(mask) for mask in x.keys.masks):
        blade = x.algebra.scalar(1)
        for i in reversed(list(bits_of(mask))):
            blade = blade.wedge(reciprocal[i])
        terms[(place,)] = blade
    return DifferentialOperator(Variables(x.algebra, symbols), terms)


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
    check_choice(rule, "rule", "geometric_derivative", tuple(_MIRRORED))
    check_choice(side, "side", "geometric_derivative", ("left", "right"))
    if not hasattr(F, "coefficients"):
        raise fail("F", "geometric_derivative", "a multivector", F)
    symbols = _coordinates(F.algebra, x)
    hint = 'For differential forms keep the components in a Euclidean algebra and use rule="wedge" there.'
    reciprocal = _reciprocal_vectors(F.algebra, symbols, "geometric_derivative", hint)
    D = DifferentialOperator(Variables(F.algebra, symbols), {(i,): vector for i, vector in enumerate(reciprocal)})
    return D.product(rule, F) if side == "left" else D.leftward.product_from_left(_MIRRORED[rule], F)


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


def _reciprocal_vectors(algebra: Algebra, symbols: Sequence[Any], owner: str, *hint: str) -> list[Multivector]:
    """Return eⁱ with eⁱ·e_j = δ_ij; an error if the metric is degenerate (with the hint) or depends on the symbols."""
    from clifford_rand.symbolic.coefficients import symbols_in

    metric = algebra.form
    varying = [] if metric.is_numeric else [symbol for symbol in symbols_in(metric.gram) if symbol in symbols]
    if varying:
        received = describe(f"entries that depend on {varying}")
        raise fail("metric", owner, "constant", received, "Use Coordinates, with the matrix as metric=.")
    rows = inverse_gram(algebra, owner, np.dtype(object), *hint)
    return [algebra.vector(row.copy()).sparse() for row in rows]
