"""The geometric derivative of a multivector field, ∂F = Σ eⁱ ∂_i F."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_choice, describe, fail
from clifford_rand.basis.keys import keys_of_grades

_MIRRORED = {"gp": "gp", "wedge": "wedge", "lc": "rc"}


def geometric_derivative(F: Any, x: Any, *, rule: str = "gp", side: str = "left") -> Any:
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
            raise fail(
                "metric", "geometric_derivative", "constant", describe(f"entries that depend on {varying}"), hint
            )
    if metric.is_degenerate:
        rule = "non-degenerate, to have reciprocal vectors"
        hint = 'For differential forms keep the components in a Euclidean algebra and use rule="wedge" there.'
        raise fail("metric", "geometric_derivative", rule, describe(repr(F.algebra)), hint)
    if metric.is_unit:
        inverse = np.diag(metric.diagonal.astype(np.int64))  # its own inverse
    elif metric.is_exact:
        from clifford_rand.symbolic.matrices import inverse_matrix

        inverse = inverse_matrix(metric.gram)
    else:
        inverse = np.linalg.inv(metric.gram)
    keys = keys_of_grades(F.algebra.d, (1,))
    return [F.new(keys, row.astype(object)).sparse() for row in inverse]
