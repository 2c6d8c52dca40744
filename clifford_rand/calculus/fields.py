"""Divergence, curl and Laplacian of fields, and fields in other components."""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import describe, fail

if TYPE_CHECKING:
    from clifford_rand.calculus.coordinates import Coordinates
    from clifford_rand.multivector.multivector import Multivector


def as_field(chart: Any, F: Any, owner: str = "as_field") -> "Multivector":
    """Return a multivector of the chart's algebra: one as it is, a number or an expression as a scalar.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> polar = cr.Coordinates.named("polar")
    >>> polar.as_field(polar.symbols[0]).grades
    (0,)
    """
    if not hasattr(F, "algebra"):
        made: Multivector = chart.algebra.scalar(F)
        return made
    if F.algebra != chart.algebra:
        hint = "Bring a field of Cartesian components here with from_ambient."
        raise fail("F", owner, f"of {chart.algebra!r}", describe(f"a field of {F.algebra!r}"), hint)
    if not isinstance(F.coefficients, np.ndarray):
        raise fail("F", owner, "a field of expressions", describe("a multivector of tensors, which have gradients"))
    field: Multivector = F
    return field


def slope(chart: Any, F: "Multivector", i: int) -> "Multivector":
    """Return the derivative of the components by one coordinate."""
    from clifford_rand.symbolic import derivative

    return F.new(F.keys, derivative(F.coefficients, chart.symbols[i]))


def divergence(chart: "Coordinates", F: Any) -> "Multivector":
    """Return ∇ · F by contraction, one grade below F: (1/√|g|) Σ ∂_i(√|g| F^i) of a vector field.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> chart = cr.Coordinates.named("spherical")
    >>> r = chart.symbols[0]
    >>> chart.divergence(chart.algebra.er / r**2).simplify()  # a point charge
    0
    """
    return chart.grad << chart.as_field(F, "divergence")


def curl(chart: "Coordinates", F: Any) -> "Multivector":
    """Return ∇ ∧ F, one grade above F, in any dimension; `vector_curl` is its dual in space.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> chart = cr.Coordinates.named("polar")
    >>> r, theta = chart.symbols
    >>> chart.curl(r * chart.algebra.etheta).simplify()  # a turning disc: twice its angular velocity
    2*er_etheta
    """
    return chart.grad ^ chart.as_field(F, "curl")


def vector_curl(chart: "Coordinates", F: Any) -> "Multivector":
    """Return ∇ × F = (∇ ∧ F) I⁻¹ of a vector field in three dimensions, I the unit pseudoscalar of the frame's order.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> chart = cr.Coordinates.named("cylindrical")
    >>> rho = chart.symbols[0]
    >>> chart.vector_curl(rho * chart.algebra.ephi)  # a turning disc: twice its angular velocity
    2*ez
    """
    from clifford_rand.symbolic import positive_root, sign_of

    field = chart.as_field(F, "vector_curl")
    if chart.d != 3 or field.grades != (1,):
        found = describe(f"grades {field.grades} in {chart.d} dimensions")
        raise fail("F", "vector_curl", "a vector field in 3 dimensions", found, "Use curl, the bivector field.")
    determinant = chart.algebra.form.determinant
    length = positive_root(determinant * (sign_of(determinant) or 1))
    return curl(chart, field).dual() * length


def laplacian(chart: "Coordinates", F: Any) -> "Multivector":
    """Return ∇ · ∇ F = Σ g^ij (D_i D_j - Γ^k_ij D_k) F: of scalars, the Laplace–Beltrami operator; the wave operator.

    For a multivector field it is the covariant (connection) Laplacian, which is ∇∇F where space is flat.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> chart = cr.Coordinates.named("polar")
    >>> r, theta = chart.symbols
    >>> chart.laplacian(r**3).simplify()
    9*r
    """
    field = chart.as_field(F, "laplacian")
    g = chart._inverse_gram
    slopes = [chart.covariant(field, i) for i in range(chart.d)]
    total = field.new(field.keys, field.coefficients * 0)
    for k, along in enumerate(np.einsum("ij,kij->k", g, chart.christoffel).tolist()):
        total = total - along * slopes[k]
        for i in range(chart.d):
            if g[i, k] != 0:
                total = total + g[i, k] * chart.covariant(slopes[k], i)
    return total


def to_ambient(chart: "Coordinates", F: Any) -> "Multivector":
    """Return a field in components of the space that ``position`` is in, still as expressions in the coordinates.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> chart = cr.Coordinates.named("polar")
    >>> chart.to_ambient(chart.algebra.er)
    cos(theta)*e1 + sin(theta)*e2
    """
    from clifford_rand.symbolic import simplified

    point = chart._ambient("to_ambient")
    matrix = simplified(chart.tangents.dot(chart.frame), chart._simplify)
    return chart.as_field(F, "to_ambient").outermorphism(matrix, point.algebra)


def from_ambient(chart: "Coordinates", F: "Multivector", x: Any = None) -> "Multivector":
    """Return a field of the ambient space in the components of this chart: on a surface, its tangential part.

    Parameters
    ----------
    F : Multivector
        Of the algebra of ``position``.
    x : vector of symbols, or sequence of them, optional
        The Cartesian coordinates that F is written in; the position is put in their place.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> chart = cr.Coordinates.named("polar")
    >>> x = cr.Algebra(2).symbols("x", 1)
    >>> chart.from_ambient(x, x).simplify()
    r*er
    """
    from clifford_rand.symbolic import simplified, substituted

    point = chart._ambient("from_ambient")
    if not hasattr(F, "algebra") or F.algebra != point.algebra:
        raise fail("F", "from_ambient", f"a field of {point.algebra!r}", describe(repr(F)))
    if x is not None:
        symbols = x.values.tolist() if hasattr(x, "values") else list(x)
        F = F.new(F.keys, substituted(F.coefficients, symbols, point.values.tolist()))
    metric = point.algebra.form.gram.astype(object)
    inverse = chart._inverse_frame.dot(chart._inverse_gram).dot(chart.tangents.T).dot(metric)
    return F.outermorphism(np.asarray(simplified(inverse, chart._simplify)), chart.algebra)
