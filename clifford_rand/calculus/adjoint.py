"""Adjoint, symmetric and skew parts of linear maps, and tests for symmetry and isometry, by the metric."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_tolerance, describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.calculus import matrices
from clifford_rand.multivector.multivector import Multivector


def check_endomorphism(f: Any, owner: str) -> None:
    """Refuse a map into another algebra."""
    if f.algebra != f.target:
        raise fail("f", owner, "a map of an algebra into itself", describe(repr(f)))


def adjoint(f: Any) -> Any:
    """Return f̄, of the target's vectors, with a · f̄(b) = f(a) · b; F̄ = G⁻¹ Fᵀ G' for Gram matrices G and G'.

    Raises
    ------
    ArgumentError
        If the metric of the arguments is degenerate: f̄(b) is then not determined by its inner products.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> sta = cr.Algebra(1, 1)
    >>> cr.LinearMap(sta, [[1, 2], [3, 4]]).adjoint().matrix
    array([[ 1, -3],
           [-2,  4]])
    """
    transposed = np.swapaxes(f.matrix, -1, -2)
    product = matrices.multiplied(transposed, _gram(f.target))
    matrix = matrices.multiplied(inverse_gram(f.algebra, "adjoint", f.matrix.dtype), product)
    return type(f)(f.target, matrix, f.algebra)


def symmetric_part(f: Any) -> Any:
    """Return (f + f̄)/2.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> f = cr.LinearMap(cr.Algebra(2), [[1, 2], [4, 3]])
    >>> f.symmetric_part().matrix, f.skew_part().matrix
    (array([[1., 3.],
           [3., 3.]]), array([[ 0., -1.],
           [ 1.,  0.]]))
    """
    check_endomorphism(f, "symmetric_part")
    return (f + f.adjoint()) / 2


def skew_part(f: Any) -> Any:
    """Return (f - f̄)/2.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> f = cr.LinearMap(cr.Algebra(2), [[1, 2], [4, 3]])
    >>> f.skew_part().matrix
    array([[ 0., -1.],
           [ 1.,  0.]])
    >>> f.symmetric_part() + f.skew_part() == f
    True
    """
    check_endomorphism(f, "skew_part")
    return (f - f.adjoint()) / 2


def bivector(f: Any) -> Multivector:
    """Return B = ½ Σ eⁱ ∧ f(e_i), for which the skew part of f is a ↦ a ⌋ B.

    Hestenes and Sobczyk, section 3-4.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> alg = cr.Algebra(3)
    >>> f = cr.LinearMap.from_function(alg, lambda a: a << (2 * alg.e12 + alg.e23))
    >>> f.bivector()
    2.0*e12 + 1.0*e23
    """
    check_endomorphism(f, "bivector")
    product = matrices.multiplied(inverse_gram(f.algebra, "bivector", f.matrix.dtype), np.swapaxes(f.matrix, -1, -2))
    skew = product - np.swapaxes(product, -1, -2)
    if f.algebra.d < 2:
        return f.algebra.scalar(skew[..., 0, 0])
    upper = np.triu_indices(f.algebra.d, 1)
    return f.algebra.multivector(np.ascontiguousarray(skew[..., upper[0], upper[1]]), 2) / 2


def is_symmetric(f: Any, rtol: float = 1e-9) -> bool:
    """Tell whether f̄ = f for all maps of the batch, to rounding for floats.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> matrix = [[1, 2], [-2, 3]]
    >>> cr.LinearMap(cr.Algebra(2), matrix).is_symmetric(), cr.LinearMap(cr.Algebra(1, 1), matrix).is_symmetric()
    (False, True)
    """
    return _near(f.matrix, _own_adjoint(f, "is_symmetric").matrix, rtol, "is_symmetric")


def is_skew(f: Any, rtol: float = 1e-9) -> bool:
    """Tell whether f̄ = -f for all maps of the batch, to rounding for floats.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> boost = [[0, 1], [1, 0]]
    >>> cr.LinearMap(cr.Algebra(1, 1), boost).is_skew(), cr.LinearMap(cr.Algebra(2), boost).is_skew()
    (True, False)
    """
    return _near(f.matrix, -_own_adjoint(f, "is_skew").matrix, rtol, "is_skew")


def is_isometry(f: Any, rtol: float = 1e-9) -> bool:
    """Tell whether f(a) · f(b) = a · b for all maps of the batch, in any metric: Fᵀ G' F = G.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> sta = cr.Algebra.sta()
    >>> boost = cr.LinearMap.from_versor((0.3 * sta.blade("g1_g0")).exp())
    >>> boost.is_isometry(), (2 * boost).is_isometry()
    (True, False)
    """
    product = matrices.multiplied(_gram(f.target), f.matrix)
    pulled = matrices.multiplied(np.swapaxes(f.matrix, -1, -2), product)
    return _near(pulled, _gram(f.algebra), rtol, "is_isometry")


def _own_adjoint(f: Any, owner: str) -> Any:
    check_endomorphism(f, owner)
    return adjoint(f)


def _gram(algebra: Algebra) -> NDArray[Any]:
    return algebra.form.gram


def inverse_gram(algebra: Algebra, owner: str, dtype: Any) -> NDArray[Any]:
    """Return G⁻¹, exact where it is beside exact entries or made of 1 and -1; an error if the metric is degenerate."""
    metric = algebra.form
    if metric.is_degenerate:
        rule = "non-degenerate, to have reciprocal vectors"
        raise fail("metric", owner, rule, describe(repr(algebra)), "Transpose the matrix, or use the dual space.")
    if metric.is_unit:
        return metric.gram
    gram = metric.gram.astype(object) if metric.is_exact and dtype.kind == "O" else metric.gram
    return matrices.inverted(gram, "metric", owner, "non-degenerate")


def _near(a: NDArray[Any], b: NDArray[Any], rtol: float, owner: str) -> bool:
    rtol = check_tolerance(rtol, 1e-9, owner)
    if "O" in (a.dtype.kind, b.dtype.kind):
        from clifford_rand.symbolic.coefficients import is_zero

        return all(is_zero(value) for value in np.asarray(a - b).ravel().tolist())
    size = max(float(np.abs(a).max(initial=0)), float(np.abs(b).max(initial=0)))
    return bool(np.abs(a - b).max(initial=0) <= rtol * size)
