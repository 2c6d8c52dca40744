"""Fields: divergence, curl, Laplacian, other components, the variables of a constant basis; curvature of a metric.

A ``chart`` is `Coordinates` here, or `Variables` where the basis is constant.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.algebra import Algebra
from clifford_rand.basis.metric import metric_of_gram
from clifford_rand.calculus.charts import position_of
from clifford_rand.multivector.multivector import Multivector


def simplified(chart: Any, expressions: NDArray[Any]) -> NDArray[Any]:
    """Return an array of expressions, simplified as the entries of the metric are."""
    from clifford_rand.symbolic.coefficients import simplified as by_sympy

    return by_sympy(expressions, chart.simplifier)


def as_field(chart: Any, F: Any, /, owner: str = "as_field") -> Multivector:
    """Return a multivector of the chart's algebra: one as it is, a number or an expression as a scalar.

    Examples
    --------
    >>> polar = cr.Coordinates.named("polar")
    >>> polar.as_field(polar.symbols[0]).grades
    (0,)
    """
    if not hasattr(F, "algebra"):
        return chart.algebra.scalar(F)
    if F.algebra != chart.algebra:
        hint = "Bring a field of Cartesian components here with from_ambient."
        raise fail("F", owner, f"of {chart.algebra!r}", describe(f"a field of {F.algebra!r}"), hint)
    if not isinstance(F.coefficients, np.ndarray):
        raise fail("F", owner, "a field of expressions", describe("a multivector of tensors, which have gradients"))
    return F


def slope(chart: Any, F: Multivector, i: int) -> Multivector:
    """Return the derivative of the components by one coordinate."""
    from clifford_rand.symbolic.coefficients import derivative

    return F.new(F.keys, derivative(F.coefficients, chart.symbols[i]))


def divergence(chart: Any, F: Any, /) -> Multivector:
    """Return ∇ · F by contraction, one grade below F: (1/√|g|) Σ ∂_i(√|g| F^i) of a vector field.

    Examples
    --------
    >>> chart = cr.Coordinates.named("spherical")
    >>> r = chart.symbols[0]
    >>> chart.divergence(chart.algebra.er / r**2).simplify()  # a point charge
    0
    """
    return chart.grad << chart.as_field(F, "divergence")


def curl(chart: Any, F: Any, /) -> Multivector:
    """Return ∇ ∧ F, one grade above F, in any dimension; `vector_curl` is its dual in space.

    Examples
    --------
    >>> chart = cr.Coordinates.named("polar")
    >>> r, theta = chart.symbols
    >>> chart.curl(r * chart.algebra.etheta).simplify()  # a turning disc: twice its angular velocity
    2*er_etheta
    """
    return chart.grad ^ chart.as_field(F, "curl")


def vector_curl(chart: Any, F: Any, /) -> Multivector:
    """Return ∇ × F = (∇ ∧ F) I⁻¹ of a vector field in three dimensions, I the unit pseudoscalar of the frame's order.

    Examples
    --------
    >>> chart = cr.Coordinates.named("cylindrical")
    >>> rho = chart.symbols[0]
    >>> chart.vector_curl(rho * chart.algebra.ephi)  # a turning disc: twice its angular velocity
    2*ez
    """
    from clifford_rand.symbolic.coefficients import positive_root, sign_of

    field = chart.as_field(F, "vector_curl")
    if chart.d != 3 or field.grades != (1,):
        received = describe(f"grades {field.grades} in {chart.d} dimensions")
        raise fail("F", "vector_curl", "a vector field in 3 dimensions", received, "Use curl, the bivector field.")
    determinant = chart.algebra.form.determinant
    length = positive_root(determinant * (sign_of(determinant) or 1))
    return curl(chart, field).dual() * length


def laplacian(chart: Any, F: Any, /) -> Multivector:
    """Return ∇ · ∇ F = Σ g^ij (D_i D_j - Γ^k_ij D_k) F: of scalars, the Laplace–Beltrami operator; the wave operator.

    For a multivector field it is the covariant (connection) Laplacian, which is ∇∇F where space is flat.

    Examples
    --------
    >>> chart = cr.Coordinates.named("polar")
    >>> r, theta = chart.symbols
    >>> chart.laplacian(r**3).simplify()
    9*r
    """
    field = chart.as_field(F, "laplacian")
    g = chart.inverse_gram
    slopes = [chart.covariant(field, i) for i in range(chart.d)]
    total = field.new(field.keys, field.coefficients * 0)
    for k, along in enumerate(np.einsum("ij,kij->k", g, chart.christoffel).tolist()):
        total = total - along * slopes[k]  # - g^ij Γ^k_ij D_k F
        for i in range(chart.d):
            if g[i, k] != 0:
                total = total + g[i, k] * chart.covariant(slopes[k], i)
    return total


def to_ambient(chart: Any, F: Any, /) -> Multivector:
    """Return a field in components of the space that ``position`` is in, still as expressions in the coordinates.

    Examples
    --------
    >>> chart = cr.Coordinates.named("polar")
    >>> chart.to_ambient(chart.algebra.er)
    cos(theta)*e1 + sin(theta)*e2
    """
    point = position_of(chart, "to_ambient")
    matrix = simplified(chart, chart.tangents.dot(chart.frame))
    return chart.as_field(F, "to_ambient").outermorphism(matrix, point.algebra)


def from_ambient(chart: Any, F: Multivector, x: Any = None, /) -> Multivector:
    """Return a field of the ambient space in the components of this chart: on a surface, its tangential part.

    Parameters
    ----------
    F : Multivector
        Of the algebra of ``position``.
    x : vector of symbols, or sequence of them, optional
        The Cartesian coordinates that F is written in; the position is put in their place.

    Examples
    --------
    >>> chart = cr.Coordinates.named("polar")
    >>> x = cr.Algebra(2).symbols("x", 1)
    >>> chart.from_ambient(x, x).simplify()
    r*er
    """
    from clifford_rand.symbolic.coefficients import substituted

    point = position_of(chart, "from_ambient")
    if not hasattr(F, "algebra") or F.algebra != point.algebra:
        raise fail("F", "from_ambient", f"a field of {point.algebra!r}", describe(repr(F)))
    if x is not None:
        symbols = x.values.tolist() if hasattr(x, "values") else list(x)
        F = F.new(F.keys, substituted(F.coefficients, symbols, point.values.tolist()))
    metric = point.algebra.form.gram.astype(object)
    inverse = chart.inverse_frame.dot(chart.inverse_gram).dot(chart.tangents.T).dot(metric)
    return F.outermorphism(np.asarray(simplified(chart, inverse)), chart.algebra)


class Variables:
    """Symbols that fields of an algebra depend on while its basis is constant: D_i is ∂/∂symbol."""

    def __init__(self, algebra: Algebra, symbols: Sequence[Any]) -> None:
        self.algebra = algebra
        self.symbols = tuple(symbols)

    as_field = as_field

    def is_constant(self) -> bool:
        """Tell that the basis is constant."""
        return True

    def is_flat(self) -> bool:
        """Tell that derivatives commute."""
        return True

    def covariant(self, F: Any, i: int) -> Multivector:
        """Return ∂F/∂symbol."""
        return slope(self, self.as_field(F, "covariant"), i)

    def __repr__(self) -> str:
        return f"<Variables ({', '.join(map(str, self.symbols))}) of {self.algebra!r}>"


def christoffel(chart: Any) -> NDArray[Any]:
    """Return Γ^k_ij = ½ Σ_l g^kl (∂_i g_jl + ∂_j g_il - ∂_l g_ij) at [k, i, j].

    Examples
    --------
    >>> cr.Coordinates.named("polar").christoffel[0]
    array([[0, 0],
           [0, -r]], dtype=object)
    """
    from clifford_rand.symbolic.coefficients import derivative

    slopes = np.stack([derivative(chart.gram, symbol) for symbol in chart.symbols])  # [i, j, l]
    lowered = (slopes + np.swapaxes(slopes, 0, 1) - np.moveaxis(slopes, 0, 2)) / 2  # [i, j, l]
    return simplified(chart, np.einsum("kl,ijl->kij", chart.inverse_gram, lowered))


def connection(chart: Any) -> NDArray[Any]:
    """Return ω_i with D_i f_a = Σ_b (ω_i)_ba f_b for the frame f_a, at [i, b, a]: E⁻¹ (∂_i E + Γ_i E).

    Examples
    --------
    >>> cr.Coordinates.named("polar").connection[1]  # unit vectors turn with theta
    array([[0, -1],
           [1, 0]], dtype=object)
    """
    from clifford_rand.symbolic.coefficients import derivative

    matrices = []
    for i, symbol in enumerate(chart.symbols):
        turned = derivative(chart.frame, symbol) + chart.christoffel[:, i, :].dot(chart.frame)
        matrices.append(simplified(chart, chart.inverse_frame.dot(turned)))
    return np.stack(matrices)


def volume(chart: Any) -> Any:
    """Return √|det g|, by which du^1 … du^d is multiplied in an integral.

    Examples
    --------
    >>> cr.Coordinates.named("spherical").volume
    r**2*sin(theta)
    """
    from clifford_rand.symbolic.coefficients import positive_root, sign_of

    det = simplified(chart, np.array([metric_of_gram(chart.gram).determinant], dtype=object))[0]
    return positive_root(det * (sign_of(det) or 1))


def christoffel_first(chart: Any) -> NDArray[Any]:
    """Return Γ_kij = Σ_l g_kl Γ^l_ij at [k, i, j].

    Examples
    --------
    >>> cr.Coordinates.named("polar").christoffel_first()[1]  # of theta
    array([[0, r],
           [r, 0]], dtype=object)
    """
    return simplified(chart, np.einsum("kl,lij->kij", chart.gram, chart.christoffel))


def riemann(chart: Any) -> NDArray[Any]:
    """Return R^k_lij = ∂_i Γ^k_jl - ∂_j Γ^k_il + Σ_m (Γ^k_im Γ^m_jl - Γ^k_jm Γ^m_il) at [k, l, i, j].

    (D_i D_j - D_j D_i) e_l = Σ_k R^k_lij e_k.

    Examples
    --------
    >>> bool(cr.Coordinates.named("polar").riemann().any())
    False
    """
    from clifford_rand.symbolic.coefficients import derivative

    G = chart.christoffel
    slopes = np.stack([derivative(G, symbol) for symbol in chart.symbols])  # [i, k, j, l]
    first = np.einsum("ikjl->klij", slopes) + np.einsum("kim,mjl->klij", G, G)  # ∂_i Γ^k_jl + Γ^k_im Γ^m_jl
    return simplified(chart, first - np.swapaxes(first, 2, 3))


def ricci(chart: Any) -> NDArray[Any]:
    """Return R_lj = Σ_k R^k_lkj.

    Examples
    --------
    >>> black_hole = cr.Coordinates("t r theta phi", metric=["1-2/r", "-1/(1-2/r)", "-r**2", "-r**2*sin(theta)**2"])
    >>> bool(black_hole.ricci().any())  # Schwarzschild's metric solves Einstein's equations without matter
    False
    """
    return simplified(chart, np.einsum("klkj->lj", riemann(chart)))


def scalar_curvature(chart: Any) -> Any:
    """Return Σ g^lj R_lj.

    Examples
    --------
    >>> cr.Coordinates.named("sphere").scalar_curvature()
    2/R**2
    """
    total = np.einsum("lj,lj->", chart.inverse_gram, ricci(chart))
    return simplified(chart, np.array([total], dtype=object))[0]


def is_flat(chart: Any) -> bool:
    """Tell whether Riemann's tensor is seen to be zero: covariant derivatives then commute.

    Examples
    --------
    >>> cr.Coordinates.named("polar").is_flat(), cr.Coordinates.named("sphere").is_flat()
    (True, False)
    """
    if "_flat" not in chart.__dict__:
        from clifford_rand.symbolic.coefficients import vanishes

        varies = np.any(chart.christoffel != 0)
        chart.__dict__["_flat"] = not varies or all(vanishes(value) for value in riemann(chart).ravel().tolist())
    return bool(chart.__dict__["_flat"])
