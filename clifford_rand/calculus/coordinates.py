"""Coordinates whose metric depends on the point, and the vector derivative in them."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import check_choice, check_instance, check_integer, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.calculus import charts, fields
from clifford_rand.calculus.matrices import derivation
from clifford_rand.calculus.operators import DifferentialOperator
from clifford_rand.multivector.multivector import Multivector


class Coordinates:
    """Coordinates u^1 … u^d of a space, flat or curved, and the multivector fields on it.

    A field is a multivector of `algebra` whose coefficients are expressions in the coordinates. The basis vectors of
    the algebra are the vectors of a frame at the point: e_i = ∂x/∂u^i, or those divided by their lengths, or any other.

    Parameters
    ----------
    symbols : vector of symbols, sequence of symbols, or str
        The coordinates. A vector ``x = alg.symbols("x", 1)`` makes coordinates of its own algebra, whose metric is
        constant; ``"r theta"`` makes real symbols.
    metric : array_like of shape (d, d) or (d,), optional
        g_ij = e_i · e_j, expressions in the coordinates; or the diagonal of a diagonal metric.
    position : sequence of n ≥ d expressions, or vector, optional
        The point x(u), in components of an orthonormal Euclidean basis, or a vector of any algebra with a constant
        metric; the metric follows. Text is read by SymPy: ``["r*cos(theta)", "r*sin(theta)"]``; names that
        are not coordinates are positive symbols.
    frame : {"coordinate", "unit"} or array_like of shape (d, d), default="coordinate"
        What the basis vectors of the algebra are: e_i, e_i / √|g_ii|, or Σ_i E_ia e_i with the matrix E. Components in
        unit vectors are those that textbooks print ("physical" components).
    lengths : sequence of d expressions, optional
        √|g_ii| of orthogonal coordinates, for a metric that is diagonal with their squares; beside ``position`` it is
        what its derivatives are known to be, and nothing is computed.
    signs : sequence of {1, -1}, optional
        The signs of g_ii, where SymPy cannot tell them and a unit frame needs them; all 1 beside lengths by default.
    names : sequence of str, optional
        Of the basis vectors; by default ``er``, ``etheta`` for r and theta.
    simplify : callable, optional
        Applied to the entries of metric, frame and connection; SymPy's ``simplify`` by default. Fields are never
        simplified unless asked for.

    Attributes
    ----------
    symbols : tuple
    algebra : Algebra
        Of the frame: its metric is γ_ab = f_a · f_b.
    gram : ndarray of shape (d, d)
        g_ij, of the coordinate vectors.
    frame : ndarray of shape (d, d)
        E: basis vector a of the algebra is f_a = Σ_i E_ia e_i.

    Raises
    ------
    ArgumentError
        For a degenerate metric, for coordinates that are not distinct symbols, and for signs that are not known.

    Notes
    -----
    Roots of g_ii are taken with positive factors: r sin θ where 0 < θ < π. Multivectors of two charts cannot be mixed
    where their metrics differ, and must not be where they agree (unit polar and Cartesian components): `to_ambient`
    brings them together. C. Doran and A. Lasenby, "Geometric Algebra for Physicists", 2003, section 6.2.

    Examples
    --------
    >>> polar = cr.Coordinates("r theta", position=["r*cos(theta)", "r*sin(theta)"])
    >>> polar.gram
    array([[1, 0],
           [0, r**2]], dtype=object)
    >>> (polar.grad | polar.algebra.er).simplify()  # div e_r = 1/r
    1/r
    >>> spherical = cr.Coordinates.named("spherical")  # unit vectors
    >>> spherical.laplacian(spherical.symbols[0] ** 2)
    6
    """

    def __init__(
        self,
        symbols: Multivector | Sequence[Any] | str,
        *,
        metric: ArrayLike | None = None,
        position: Sequence[Any] | Multivector | None = None,
        lengths: Sequence[Any] | None = None,
        frame: str | ArrayLike = "coordinate",
        signs: Sequence[int] | None = None,
        names: Sequence[str] | None = None,
        simplify: Callable[[Any], Any] | None = None,
    ) -> None:
        from clifford_rand.symbolic.coefficients import coordinate_symbols, inverse_matrix

        if simplify is not None:
            check_instance(simplify, Callable, "simplify", "Coordinates", "None or a function of an expression")
        self.simplifier = simplify
        flat = isinstance(symbols, Multivector)
        sources = {"metric": metric, "position": position, "lengths": lengths}
        named = [name for name, source in sources.items() if source is not None]
        if named not in ([[]] if flat else [["metric"], ["position"], ["lengths"], ["position", "lengths"]]):
            rule = "a vector of symbols alone, or symbols with one of metric, position and lengths"
            raise fail("symbols", "Coordinates", rule, describe("beside " + (" and ".join(named) or "none of them")))
        if isinstance(symbols, Multivector):
            if symbols.grades != (1,) or symbols.ndim:
                raise fail("symbols", "Coordinates", "a vector of symbols", describe(f"grades {symbols.grades}"))
            self.symbols = tuple(coordinate_symbols(symbols.values.tolist(), (), "Coordinates"))
            self.position: Multivector | None = symbols
        else:
            self.symbols = tuple(coordinate_symbols(symbols, (), "Coordinates"))
            self.position = None if position is None else charts.position(position, self.symbols)
        self.gram, known = charts.metric_of(self, metric, lengths, signs)
        self.frame = charts.frame_of(self, frame, known)
        own = charts.mirrored(fields.simplified(self, self.frame.T.dot(self.gram).dot(self.frame)))
        chosen = names if names is not None else ["e" + str(symbol).replace("_", "") for symbol in self.symbols]
        if isinstance(symbols, Multivector) and isinstance(frame, str) and frame == "coordinate" and names is None:
            self.algebra: Algebra = symbols.algebra
        else:
            self.algebra = Algebra(metric=own, names=chosen)
        if self.algebra.form.is_degenerate:
            hint = "Without reciprocal vectors: keep differential forms in a Euclidean algebra and take grad ^ F there."
            raise fail("metric", "Coordinates", "non-degenerate", describe(repr(self.algebra)), hint)
        self.inverse_frame = fields.simplified(self, inverse_matrix(self.frame))
        self.inverse_gram = fields.simplified(self, inverse_matrix(self.gram))

    @classmethod
    def named(cls, name: str, *, frame: str = "unit", **options: Any) -> "Coordinates":
        """Return well-known coordinates of the plane or of space, by default with unit vectors, right-handed.

        Parameters
        ----------
        name : str
            polar (r, theta), cylindrical (rho, phi, z), spherical (r, theta from the pole, phi), elliptic (mu, nu),
            parabolic (sigma, tau), bipolar (sigma, tau), elliptic_cylindrical, parabolic_cylindrical,
            bipolar_cylindrical (with z), paraboloidal (sigma, tau, phi), prolate_spheroidal, oblate_spheroidal,
            toroidal, bispherical; and sphere (theta, phi), torus (theta, phi): surfaces in space. Lengths are positive
            symbols a, R.
        frame : {"unit", "coordinate"}
        **options
            As for the class.

        Examples
        --------
        >>> chart = cr.Coordinates.named("cylindrical")
        >>> chart.grad * chart.symbols[0]
        erho
        """
        check_choice(name, "name", "Coordinates.named", tuple(charts.CHARTS))
        symbols, position, lengths = charts.named(name)
        return cls(symbols, position=position, lengths=lengths, frame=frame, **options)

    # ---- geometry

    @property
    def d(self) -> int:
        """The number of coordinates.

        Examples
        --------
        >>> cr.Coordinates.named("sphere").d
        2
        """
        return len(self.symbols)

    @cached_property
    def tangents(self) -> NDArray[Any]:
        """∂x/∂u^i in column i, in components of the ambient algebra, (n, d).

        Examples
        --------
        >>> cr.Coordinates.named("polar").tangents[:, 1]
        array([-r*sin(theta), r*cos(theta)], dtype=object)
        """
        from clifford_rand.symbolic.coefficients import jacobian

        return jacobian(charts.position_of(self, "tangents").values, self.symbols)

    @cached_property
    def reciprocal(self) -> list[Multivector]:
        """The vectors e^i = ∇u^i, e^i · e_j = δ^i_j.

        Examples
        --------
        >>> cr.Coordinates.named("polar").reciprocal
        [er, (1/r)*etheta]
        """
        matrix = fields.simplified(self, self.inverse_frame.dot(self.inverse_gram))
        return [self.algebra.vector(column.copy()).sparse() for column in matrix.T]

    christoffel = cached_property(fields.christoffel)
    connection = cached_property(fields.connection)
    volume = cached_property(fields.volume)
    christoffel_first = fields.christoffel_first
    riemann = fields.riemann
    ricci = fields.ricci
    scalar_curvature = fields.scalar_curvature
    is_flat = fields.is_flat

    # ---- fields

    def field(self, name: str, grades: int | Iterable[int] | None = None) -> Multivector:
        """Return a field whose coefficients are undefined functions of the coordinates.

        Examples
        --------
        >>> polar = cr.Coordinates.named("polar")
        >>> polar.grad * polar.field("f", 0)
        Derivative(f(r, theta), r)*er + (Derivative(f(r, theta), theta)/r)*etheta
        """
        from clifford_rand.symbolic.coefficients import functions_of

        field = self.algebra.symbols(name, grades)
        return field.new(field.keys, functions_of(field.coefficients, self.symbols))

    as_field = fields.as_field

    def covariant(self, F: Any, i: int, /) -> Multivector:
        """Return D_i F, the covariant derivative along coordinate i: of the components, and of the basis vectors.

        Examples
        --------
        >>> polar = cr.Coordinates.named("polar")
        >>> polar.covariant(polar.algebra.er, 1), polar.covariant(polar.algebra.er_etheta, 1)
        (etheta, 0)
        """
        field, i = self.as_field(F, "covariant"), check_integer(i, "i", "covariant", low=-self.d, high=self.d - 1)
        slope = fields.slope(self, field, i)
        if field.grades == (0,):
            return slope
        omega = self.connection[i]
        return slope + derivation(omega, field) if np.any(omega != 0) else slope

    def is_constant(self) -> bool:
        """Return whether the basis is: e_i itself with a constant metric, so that D_i is ∂/∂u^i.

        Examples
        --------
        >>> cr.Coordinates.named("polar").is_constant(), cr.Coordinates("x y", lengths=[1, 1]).is_constant()
        (False, True)
        """
        return not np.any(self.connection != 0)

    @cached_property
    def grad(self) -> DifferentialOperator:
        """The vector derivative ∇ = Σ e^i D_i: ``grad * F``, ``grad ^ F``, ``grad | F``, ``(a | grad) * F``.

        Examples
        --------
        >>> cr.Coordinates.named("cylindrical").grad
        <erho D_rho + (1/rho)*ephi D_phi + ez D_z>
        """
        return DifferentialOperator(self, {(i,): vector for i, vector in enumerate(self.reciprocal)})

    def partial(self, i: int, /) -> DifferentialOperator:
        """Return D_i as an operator.

        Examples
        --------
        >>> polar = cr.Coordinates.named("polar")
        >>> polar.grad * polar.partial(1)
        <er D_r D_theta + (1/r)*etheta D_theta D_theta>
        """
        i = check_integer(i, "i", "partial", low=-self.d, high=self.d - 1)
        return DifferentialOperator(self, {(range(self.d)[i],): self.algebra.scalar(1)})

    divergence = fields.divergence
    curl = fields.curl
    vector_curl = fields.vector_curl
    laplacian = fields.laplacian
    to_ambient = fields.to_ambient
    from_ambient = fields.from_ambient

    def __repr__(self) -> str:
        return f"<Coordinates ({', '.join(map(str, self.symbols))}) of {self.algebra!r}>"
