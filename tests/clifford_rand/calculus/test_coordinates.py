"""Coordinates and the vector derivative: laws in flat and curved space, textbook formulas, Cartesian components."""

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand.calculus.charts import CHARTS
from support.refusals import refused

R, THETA, PHI = cr.Coordinates.named("spherical").symbols


def _zero(A):
    """Whether a field or expression is zero, proved by SymPy."""
    values = A.coefficients.ravel().tolist() if hasattr(A, "coefficients") else [A]
    return all(value.equals(0) or sp.simplify(sp.expand_trig(value)) == 0 for value in map(sp.sympify, values))


def _at(A, place):
    """A field at a point, given as {symbol: number}: its numbers."""
    used = A.symbols_used()
    return A.lambdify(*used)(*(float(place[one]) for one in used)) if used else A.to_numeric().astype(float)


def _near(A, B, place, rtol=1e-9):
    """Whether two fields agree at a point, relative to the larger."""
    a, b = _at(A, place), _at(A.algebra.scalar(B) if not hasattr(B, "algebra") else B, place)
    return a.isclose(b, rtol=rtol, atol=rtol)


def _somewhere(symbols, numbers=(0.73, -1.21, 0.58, 1.37)):
    return dict(zip(symbols, numbers, strict=False))


def _polynomial(algebra, x, rng, grades=None):
    """A random field with quadratic coefficients in the components of x, of four terms each."""
    shape = algebra.random_multivector(rng=0, grades=grades)
    products = [1, *x, *(a * b for i, a in enumerate(x) for b in x[i:])]
    weights = rng.integers(1, 4, (len(shape.values), len(products))) * rng.choice([-1, 1], len(products))
    weights[rng.permuted(np.tile(np.arange(len(products)), (len(weights), 1)), axis=1) >= 4] = 0
    return shape.new(shape.keys, weights.astype(object).dot(np.array(products, dtype=object)))


# ---- constant metrics


OBLIQUE = cr.Algebra(metric=[[2, 1], [1, -3]])


@pytest.mark.parametrize("alg", [OBLIQUE, pytest.param(cr.Algebra.sta(), marks=pytest.mark.slow)], ids=repr)
def test_laws_in_a_constant_metric(alg):
    rng = np.random.default_rng(1)
    x = alg.symbols("x", 1)
    grad = cr.gradient(x)
    d = alg.d
    F, H = (_polynomial(alg, x.values.tolist(), rng, None if d < 4 else (1, 2)) for _ in range(2))
    f = _polynomial(alg, x.values.tolist(), rng, 0)
    place = _somewhere(x.values.tolist())
    assert _near(grad * F, cr.geometric_derivative(F, x), place)
    assert _near(F * grad.leftward, ~(grad * ~F), place)
    assert (grad ^ (grad ^ F)).is_zero()
    assert (grad << (grad << F)).is_zero()
    assert _near(grad * (grad * F), (grad | grad) * F, place)
    assert grad * grad == (grad | grad)
    assert (grad ^ grad).is_zero()
    assert grad * x == d
    a = alg.symbols("a", 1)
    assert ((a | grad) * x - a).is_zero()
    for k in range(d + 1):  # Doran and Lasenby (6.29): the dot keeps all of it inside the derivative of x
        A = alg.random_multivector(rng=rng, grades=k)
        A = A.new(A.keys, np.round(A.coefficients * 5).astype(int))
        assert (grad * (x << A) - k * A).is_zero()
        assert (grad * (x ^ A) - (d - k) * A).is_zero()
    # product rules: ∇(fF) = (∇f)F + f∇F, ∇(FH) = (∇F)H + Σ eⁱ F ∂_i H
    assert _near(grad * (f * F), (grad * f) * F + f * (grad * F), place)
    overdot = sum((e * F * H.diff(s) for e, s in zip(grad.chart.reciprocal, x.values.tolist(), strict=True)), F * 0)
    assert _near(grad * (F * H), (grad * F) * H + overdot, place)


@pytest.mark.slow
def test_operators_compose_by_the_product_rule():
    alg = cr.Algebra(1, 1)
    x = alg.symbols("x", 1)
    grad = cr.gradient(x)
    place = _somewhere(x.values.tolist())
    rng = np.random.default_rng(2)
    F, A, a, b = (_polynomial(alg, x.values.tolist(), rng, grades) for grades in (None, (0, 2), 1, 1))
    for first, second in ((a | grad, b | grad), (grad, grad), (grad, A * grad), (A * grad, grad | grad)):
        assert _near((first * second) * F, first * (second * F), place)
    assert _near((grad * (A * grad)) * F, grad * (A * (grad * F)), place)
    bracket = (a | grad) * (b | grad) - (b | grad) * (a | grad)  # of two vector fields: of the first order
    assert all(len(word) == 1 for word in bracket.terms)
    assert _near(bracket * F, ((((a | grad) * b) - ((b | grad) * a)) | grad) * F, place)
    assert _near((grad + 2 * A) * F, grad * F + 2 * A * F, place)
    assert _near((grad - A)(F), grad * F - A * F, place)
    assert _near((3 - grad) * F, 3 * F - grad * F, place)
    assert (grad / 2 + grad / 2) == grad
    assert grad**2 == grad * grad
    assert grad**0 * F == F
    assert (grad - grad) == 0
    assert grad != grad * grad
    parts = ((A ^ e) * (grad.chart.partial(i) * F) for i, e in enumerate(grad.chart.reciprocal))
    assert _near((A ^ grad) * F, sum(parts, 0 * F), place)
    t = sp.Symbol("t")
    assert _near((t * grad) * F, t * (grad * F), place | {t: 2.5})
    assert repr((alg.e1 + alg.e2) * grad.chart.partial(0)) == "<(e1 + e2) D_x1>"
    polar = cr.Coordinates.named("polar").grad
    assert repr(polar | polar) == "<D_r D_r + r**(-2) D_theta D_theta + (1/r) D_r>"


@pytest.mark.parametrize("alg", [cr.Algebra(1, 2), OBLIQUE], ids=repr)
def test_derivatives_by_multivectors(alg):
    """Hestenes and Sobczyk, section 2-2: ∂_X ⟨X A⟩ = ⟨A⟩ of X's grades, ∂_X |X|² = 2 ~X, ∂_X X = n."""
    rng = np.random.default_rng(7)
    A = alg.random_multivector(rng=rng)
    A = A.new(A.keys, np.round(A.coefficients * 5).astype(int))
    for grades in (0, 2, (0, 2), (1, 2), None):
        X = alg.symbols("X", grades)
        by_X = cr.gradient(X)
        assert (by_X * (X * A).scalar_part() - A.grade(*X.grades)).is_zero()
        assert (by_X * (X * ~X).scalar_part() - 2 * ~X).is_zero()
        assert (by_X * X - len(X.values)).is_zero()
    x, B = alg.symbols("x", 1), alg.symbols("B", 2)
    by_x, by_B = cr.gradient(x), cr.gradient(B)
    d, b = alg.d, len(B.values)
    assert (by_x * by_B) * (B * x) == by_x * (by_B * (B * x)) == d * b  # e_i (e^J e_J) e^i
    assert ((by_B * by_x) * (x * B) - d * b).is_zero()
    assert by_x == cr.gradient(x)
    assert ((by_x + by_B) * (x + B) - d - b).is_zero()


def test_a_numerical_function_is_differentiated_by_symbols():
    """What multiplies multivectors takes symbols too, so its derivative is exact; lambdify makes it numeric again."""
    alg = cr.Algebra(3)

    def field(x):
        return (x * alg.e12 * x) / (1 + (x | x))

    x = alg.symbols("x", 1)
    slope = (cr.gradient(x) * field(x)).lambdify(x)
    point, h = np.array([0.3, -0.4, 0.9]), 1e-5
    wanted = sum(
        e * (field(alg.vector(point + h * u)) - field(alg.vector(point - h * u))) / (2 * h)
        for e, u in zip(alg.basis_vectors(), np.eye(3), strict=True)
    )
    assert slope(alg.vector(point)).isclose(wanted, rtol=1e-8)


# ---- named coordinates


@pytest.mark.parametrize("name", sorted(CHARTS))
def test_named_coordinates_are_right_handed_and_their_derivative_is_that_of_space(name):
    """Lengths are those of the tangents; in four charts ∇F taken there is the Cartesian ∇F at the same point."""
    chart = cr.Coordinates.named(name, simplify=lambda value: value)  # right without any simplification too
    used = {one for value in chart.position.values for one in value.free_symbols}
    place = {one: 2.0 + (str(one) == "R") for one in used} | dict(zip(chart.symbols, (0.7, 1.1, 0.9), strict=False))

    def numbers(matrix):
        return np.array([[float(sp.sympify(value).subs(place)) for value in row] for row in matrix])

    tangents, frame = numbers(chart.tangents), numbers(chart.frame)
    np.testing.assert_allclose((tangents @ frame).T @ (tangents @ frame), np.eye(chart.d), atol=1e-12)
    np.testing.assert_allclose(tangents.T @ tangents, numbers(chart.gram), atol=1e-12)
    if chart.d == len(tangents):
        assert np.linalg.det(tangents) > 0
    if name not in ("polar", "spherical", "parabolic", "toroidal"):
        return
    space = chart.position.algebra
    x = space.symbols("x", 1)
    F = _polynomial(space, x.values.tolist(), np.random.default_rng(3), 1)
    point = dict(zip(x.values.tolist(), _at(chart.position, place).values, strict=True))
    got = _at(chart.to_ambient(chart.grad * chart.from_ambient(F, x)), place)
    assert got.isclose(_at(cr.gradient(x) * F, point), rtol=1e-9)


@pytest.mark.slow
def test_spherical_formulas_are_those_of_the_textbooks():
    """J. D. Jackson, "Classical Electrodynamics", 3rd ed., inside back cover."""
    chart = cr.Coordinates.named("spherical")
    alg = chart.algebra
    assert alg == cr.Algebra(3)
    f, A = chart.field("f", 0), chart.field("A", 1)
    psi = f["1"]
    A1, A2, A3 = A.values
    s = sp.sin(THETA)
    gradient = alg.vector([psi.diff(R), psi.diff(THETA) / R, psi.diff(PHI) / (R * s)])
    divergence = (R**2 * A1).diff(R) / R**2 + (s * A2).diff(THETA) / (R * s) + A3.diff(PHI) / (R * s)
    curl = alg.vector(
        [
            ((s * A3).diff(THETA) - A2.diff(PHI)) / (R * s),
            A1.diff(PHI) / (R * s) - (R * A3).diff(R) / R,
            ((R * A2).diff(R) - A1.diff(THETA)) / R,
        ]
    )
    laplacian = (
        (R * psi).diff(R, 2) / R + (s * psi.diff(THETA)).diff(THETA) / (R**2 * s) + psi.diff(PHI, 2) / (R * s) ** 2
    )
    assert _zero(chart.grad * f - gradient)
    assert _zero((chart.grad | A) - divergence)
    assert _zero(chart.divergence(A) - divergence)
    assert _zero(chart.vector_curl(A) - curl)
    assert _zero(chart.laplacian(f) - laplacian)
    assert _zero(chart.grad * (chart.grad * f) - laplacian)
    assert _zero(chart.grad * A - (chart.divergence(A) + chart.curl(A)))
    assert chart.volume == R**2 * s


@pytest.mark.slow
def test_the_curl_is_the_same_in_a_coordinate_frame():
    chart = cr.Coordinates.named("spherical")
    A = chart.field("A", 1)
    A1, A2, A3 = A.values
    s = sp.sin(THETA)
    coordinate = cr.Coordinates([R, THETA, PHI], position=chart.position, frame="coordinate")
    same = coordinate.algebra.vector(np.array([A1, A2 / R, A3 / (R * s)]))
    other = coordinate.vector_curl(same).values * np.array([1, R, R * s])
    assert _zero(chart.algebra.vector(other) - chart.vector_curl(A))


def test_the_laplacian_of_a_vector_field_in_cylindrical_coordinates():
    """G. Arfken, "Mathematical Methods for Physicists": (∇²V)_ρ = ∇²V_ρ - V_ρ/ρ² - 2/ρ² ∂V_φ/∂φ and so on."""
    chart = cr.Coordinates.named("cylindrical")
    rho, phi, _ = chart.symbols
    V = chart.field("V", 1)
    Vr, Vp, _ = V.values
    scalar = [chart.laplacian(one)["1"] for one in V.values]
    wanted = chart.algebra.vector(
        [
            scalar[0] - Vr / rho**2 - 2 * Vp.diff(phi) / rho**2,
            scalar[1] - Vp / rho**2 + 2 * Vr.diff(phi) / rho**2,
            scalar[2],
        ]
    )
    assert _zero(chart.laplacian(V) - wanted)
    assert _zero(chart.grad * (chart.grad * V) - wanted)
    assert (chart.grad | chart.grad) == chart.grad * chart.grad


@pytest.mark.parametrize("name", ["parabolic", pytest.param("elliptic", marks=pytest.mark.slow)])
def test_conformal_coordinates_of_the_plane(name):
    """∇² f = (f_uu + f_vv)/h² where the metric is h² times the identity."""
    chart = cr.Coordinates.named(name)
    u, v = chart.symbols
    assert _zero(chart.gram[0, 0] - chart.gram[1, 1])
    f = chart.field("f", 0)["1"]
    assert _zero(chart.laplacian(f)["1"] - (f.diff(u, 2) + f.diff(v, 2)) / chart.gram[0, 0])


@pytest.mark.slow
def test_oblique_coordinates():
    """x = u + v/2, y = v: a constant metric that is not diagonal; and curved lines that do not meet at right angles."""
    oblique = cr.Coordinates("u v", position=["u + v/2", "v"])
    u, v = oblique.symbols
    assert oblique.gram.tolist() == [[1, sp.Rational(1, 2)], [sp.Rational(1, 2), sp.Rational(5, 4)]]
    assert _zero(oblique.laplacian((u + v / 2) ** 2 * v) - 2 * v)
    x = cr.Algebra(2).symbols("x", 1)
    F = _polynomial(cr.Algebra(2), x.values.tolist(), np.random.default_rng(4))
    place = {u: 0.4, v: 1.3}
    for frame in ("coordinate", "unit", [[1, 0], [1, 1 / v]]):
        chart = cr.Coordinates([u, v], position=[u * v, u + v**2], frame=frame, simplify=sp.factor)
        got = chart.to_ambient(chart.grad * chart.from_ambient(F, x))
        point = dict(zip(x.values.tolist(), _at(chart.position, place).values, strict=True))
        assert _at(got, place).isclose(_at(cr.gradient(x) * F, point), rtol=1e-9)
        assert frame != "coordinate" or chart.is_flat()


# ---- laws in any metric, curved ones too


def _charts():
    t, r, theta, phi = sp.symbols("t r theta phi", positive=True)
    black_hole = ["1 - 2/r", "-1/(1 - 2/r)", "-r**2", "-r**2*sin(theta)**2"]
    return {
        "sphere": lambda: cr.Coordinates.named("sphere"),
        "torus": lambda: cr.Coordinates.named("torus", frame="coordinate"),
        "hyperbolic plane": lambda: cr.Coordinates([r, t], metric=[1 / t**2, 1 / t**2], frame="unit"),
        "Rindler": lambda: cr.Coordinates([t, r], metric=[r**2, -1], frame="unit"),
        "null coordinates": lambda: cr.Coordinates("u v", metric=[[0, "-1-u*v"], ["-1-u*v", 0]]),
        "not diagonal": lambda: cr.Coordinates("u v", metric=[["1 + v**2", "u"], ["u", 2]]),
        "Schwarzschild": lambda: cr.Coordinates(
            [t, r, theta, phi], metric=black_hole, frame="unit", signs=[1, -1, -1, -1]
        ),
    }


@pytest.mark.parametrize(
    "name", ["Rindler", *(pytest.param(name, marks=pytest.mark.slow) for name in ("not diagonal", "Schwarzschild"))]
)
def test_laws_of_covariant_derivatives(name):
    """Compatible with the metric, free of torsion; to rounding at a point, 1e-9."""
    chart = _charts()[name]()
    rng = np.random.default_rng(5)
    extra = {one for value in chart.gram.ravel() for one in sp.sympify(value).free_symbols}
    place = {one: 2.0 + (str(one) == "R") for one in extra} | dict(
        zip(chart.symbols, (3.1, 4.3, 1.2, 0.7), strict=False)
    )

    def near(A, B=0):
        return _near(A, B, place)

    F, H, f = (_polynomial(chart.algebra, list(chart.symbols), rng, grades) for grades in (1, (0, 2), 0))
    for i in range(chart.d):
        D = chart.partial(i)
        assert near(D * (F * H), (D * F) * H + F * (D * H))
        assert near(D * (F | H), ((D * F) | H) + (F | (D * H)))
        assert near(D * chart.algebra.I, chart.algebra.I * D_of_volume(chart, i))
    grad = chart.grad
    assert near(grad ^ (grad ^ H))
    assert near(grad << (grad << H))
    assert near(grad * (f * H), (grad * f) * H + f * (grad * H))
    divergence = sum(
        (chart.volume * value).diff(symbol)
        for value, symbol in zip(coordinate_components(chart, F), chart.symbols, strict=True)
    )
    assert near(grad | F, chart.algebra.scalar(divergence / chart.volume))
    beltrami = sum(
        (chart.volume * sum(g * f["1"].diff(other) for g, other in zip(row, chart.symbols, strict=True))).diff(symbol)
        for row, symbol in zip(np.array(sp.Matrix(chart.gram).inv()), chart.symbols, strict=True)
    )
    assert near(chart.laplacian(f), chart.algebra.scalar(beltrami / chart.volume))
    assert near(chart.laplacian(H), (grad | grad) * H)
    a, b = (_polynomial(chart.algebra, list(chart.symbols), rng, 1) for _ in range(2))
    bracket = ((a | grad) * b) - ((b | grad) * a)
    ua, ub, got = (coordinate_components(chart, one) for one in (a, b, bracket))
    for k in range(chart.d):
        lie = sum(ua[i] * ub[k].diff(s) - ub[i] * ua[k].diff(s) for i, s in enumerate(chart.symbols))
        assert near(chart.algebra.scalar(got[k]), chart.algebra.scalar(lie))


def coordinate_components(chart, F):
    """F^i of a vector field F = Σ F^i e_i."""
    return [sp.sympify(value) for value in chart.frame.dot(F.values)]


def D_of_volume(chart, i):
    """∂_i log √|det γ| of the frame's metric: how I of a frame that is not unit changes."""
    det = sp.Matrix(chart.frame.T.dot(chart.gram).dot(chart.frame)).det()
    return sp.diff(det, chart.symbols[i]) / (2 * det)


@pytest.mark.slow
def test_curvature():
    """C. Misner, K. Thorne, J. Wheeler, "Gravitation", 1973, chapter 14."""
    charts = _charts()
    assert charts["hyperbolic plane"]().scalar_curvature() == -2
    assert charts["Rindler"]().is_flat()
    # the operator ∇∧∇ is the curvature: (D_1 D_2 - D_2 D_1) e_2 = R^1_212 e_1
    sphere = cr.Coordinates.named("sphere", frame="coordinate")
    assert not sphere.is_flat()
    e2 = sphere.algebra.ephi
    got = sphere.covariant(sphere.covariant(e2, 1), 0) - sphere.covariant(sphere.covariant(e2, 0), 1)
    assert _zero(got - sphere.algebra.vector(sphere.riemann()[:, 1, 0, 1]))
    assert not (sphere.grad ^ sphere.grad).is_zero()
    first, second = sphere.partial(0), sphere.partial(1)
    assert _zero((first * second) * e2 - first * (second * e2))
    assert _zero((first * second - second * first) * e2 - got)


@pytest.mark.slow
def test_curvature_of_a_torus_and_a_black_hole():
    """Misner, Thorne, Wheeler, (31.1): Schwarzschild's metric has no Ricci curvature."""
    charts = _charts()
    assert not charts["Schwarzschild"]().ricci().any()
    assert not charts["Schwarzschild"]().is_flat()
    torus = charts["torus"]()
    theta, (a, big) = torus.symbols[0], (sp.Symbol(one, positive=True) for one in "aR")
    assert _zero(torus.scalar_curvature() - 2 * sp.cos(theta) / (a * (big + a * sp.cos(theta))))


def test_fields_may_be_batches_or_constant():
    """A batch of fields, numbers, and fields whose coefficients are numbers."""
    chart = cr.Coordinates.named("polar")
    alg = chart.algebra
    r, theta = chart.symbols
    one, two = r**2 * alg.er, theta * alg.etheta
    both = alg.vector(np.stack([one.dense().grade(1).values, two.dense().grade(1).values]))
    got = chart.grad * both
    assert got.shape == (2,)
    assert _zero(got[0] - chart.grad * one)
    assert _zero(got[1] - chart.grad * two)
    assert (chart.grad * 3).is_zero()
    assert chart.grad * alg.vector([2.0, 0.0]) == 2.0 / r
    assert (2 | chart.grad) * r == 2 * alg.er
    assert chart.grad * r == alg.er
    assert r * chart.grad.leftward == alg.er


def test_tensors_are_refused():
    strict = pytest.importorskip("array_api_strict")
    chart = cr.Coordinates.named("polar")
    refused("a field of expressions", lambda: chart.grad * chart.algebra.multivector(strict.ones(4)))


@pytest.mark.parametrize("alg", [cr.Algebra(3), cr.Algebra(1, 1)], ids=repr)
def test_derivatives_of_powers_of_the_length(alg):
    """Doran and Lasenby, section 6.1: ∇|x|^k = k |x|^(k-2) x and ∇(x/|x|^k) = (n - k)/|x|^k, where x² = |x|²."""
    x, n = alg.symbols("x", 1), alg.d
    grad, square = cr.gradient(x), (x | x)["1"]
    for k in (-1, 1, 3, n):
        length = sp.sqrt(square) ** k
        assert _zero(grad * length - k * x * (length / square))
        assert _zero(grad * (x / length) - (n - k) / length)
    assert _zero(grad * sp.log(square) / 2 - x.inv())


def test_the_field_of_a_dipole():
    """D. Griffiths, "Introduction to Electrodynamics", section 5.4.3: of A = sin θ/r² e_φ, B and its derivatives."""
    chart = cr.Coordinates.named("spherical")
    alg = chart.algebra
    A = sp.sin(THETA) / R**2 * alg.ephi
    B = chart.vector_curl(A)
    assert _zero(B - (2 * sp.cos(THETA) * alg.er + sp.sin(THETA) * alg.etheta) / R**3)
    assert _zero(chart.divergence(B))
    assert _zero(chart.vector_curl(B))
    assert _zero(chart.laplacian(A))  # ∇²A = ∇∇·A - ∇×∇×A


def test_minkowski_space():
    """Doran and Lasenby, section 7.1: ∇F = J in one equation; a plane wave F = f(k·x) k∧e has ∇F = 0 where k² = 0."""
    sta = cr.Algebra.sta()
    x = sta.symbols("x", 1)
    grad = cr.gradient(x)
    k = sta.g0 + sta.g3
    phase = sp.cos((k | x)["1"])
    assert _zero(grad * (phase * (k * sta.g1)))
    A = _polynomial(sta, x.values.tolist(), np.random.default_rng(6), 1)
    F = grad ^ A
    assert _zero(grad ^ F)
    assert _zero(grad << (grad << F))
    assert (grad | grad).terms[(0, 0)] == 1
    assert (grad | grad).terms[(3, 3)] == -1


def test_failures():
    alg = cr.Algebra(2)
    refused("alone, or symbols with one of metric, position and lengths", cr.Coordinates, "r theta")
    refused("distinct symbols or their names", cr.Coordinates, "r r", metric=[1, 1])
    refused(r"of shape \(2, 2\) or \(2,\)", cr.Coordinates, "r theta", metric=[1, 1, 1])
    refused("at least 2 expressions", cr.Coordinates, "r theta", position=["r"])
    refused("Coordinates must be non-degenerate", cr.Coordinates, "r theta", position=["r + theta", "r + theta"])
    refused("that the sign of every g_ii is known", cr.Coordinates, "t r", metric=["1 - 2/r", -1], frame="unit")
    refused("'frame' parameter", cr.Coordinates, "t r", metric=[1, -1], frame="orthonormal")
    refused("must be one of 'polar'", cr.Coordinates.named, "spheric")
    refused("must be non-degenerate", cr.gradient, cr.Algebra.pga(2).symbols("x", 1))
    refused("a vector of symbols", cr.gradient, "x")
    E = sp.Symbol("E")
    varying = cr.Algebra(metric=[[E, 0], [0, 1]])
    refused("entries that depend on E", cr.gradient, varying.vector(np.array([E, sp.Symbol("y")])))
    polar = cr.Coordinates("r theta", position=["r*cos(theta)", "r*sin(theta)"])
    refused("from_ambient", lambda: polar.grad * alg.e1)
    for other in (cr.gradient(alg.symbols("x", 1)), cr.Coordinates.named("polar").grad):
        refused("the same coordinates", polar.grad.__mul__, other)
    assert polar.grad != cr.gradient(alg.symbols("x", 1))
    refused("must be non-degenerate, to have reciprocal vectors", cr.gradient, cr.Algebra.pga(2).symbols("B", 2))
    refused("a vector field in 3 dimensions", polar.vector_curl, polar.algebra.er)
    refused("the point as a function of the coordinates", cr.Coordinates("r theta", metric=[1, 1]).to_ambient, 1)
    with pytest.raises(TypeError):
        polar.grad * "F"
    with pytest.raises(TypeError):
        polar.grad.leftward * polar.algebra.er


@pytest.mark.parametrize("name", ["polar", "hyperbolic plane"])
def test_christoffel_symbols_and_the_connection_keep_the_metric(name):
    """∂_k g_ij = Γ_ikj + Γ_jki, Γ^k_ij = Γ^k_ji, and ∂_i γ_ab = γ_ac ω^c_b + γ_bc ω^c_a; their known values."""
    chart = cr.Coordinates.named("polar") if name == "polar" else _charts()[name]()
    lowered, n = chart.christoffel_first(), chart.d
    gamma = chart.frame.T.dot(chart.gram).dot(chart.frame)
    for i, symbol in enumerate(chart.symbols):
        slopes = chart.connection[i].T.dot(gamma)
        for a in range(n):
            for b in range(n):
                assert _zero(sp.diff(chart.gram[a, b], symbol) - lowered[a, i, b] - lowered[b, i, a])
                assert _zero(chart.christoffel[i, a, b] - chart.christoffel[i, b, a])
                assert _zero(sp.diff(gamma[a, b], symbol) - slopes[a, b] - slopes[b, a])
    assert np.any(chart.connection != 0) != chart.is_constant()


@pytest.mark.parametrize("rule", ["gp", "lc", "commutator"])
def test_products_by_name_are_those_of_the_operators(rule):
    chart = cr.Coordinates.named("polar")
    r, theta = chart.symbols
    er, et = chart.algebra.basis_vectors()
    A, F = r * er + theta * et, theta**2 * er + r * theta * et
    once = sum((getattr(e, rule)(chart.covariant(F, i)) for i, e in enumerate(chart.reciprocal)), 0 * er)
    assert _zero(chart.grad.product(rule, F) - once)
    along = sum((getattr(A, rule)(e) * chart.covariant(F, i) for i, e in enumerate(chart.reciprocal)), 0 * er)
    assert _zero(chart.grad.product_from_left(rule, A) * F - along)
    left = sum((getattr(chart.covariant(F, i), rule)(e) for i, e in enumerate(chart.reciprocal)), 0 * er)
    assert _zero(chart.grad.leftward.product_from_left(rule, F) - left)


def test_christoffel_symbols_of_the_sphere():
    sphere = cr.Coordinates.named("sphere")
    theta = sphere.symbols[0]
    assert _zero(sphere.christoffel[0, 1, 1] + sp.sin(theta) * sp.cos(theta))  # Γ^θ_φφ
    assert _zero(sphere.christoffel[1, 0, 1] - sp.cot(theta))  # Γ^φ_θφ
    assert sphere.as_field(theta) == sphere.algebra.scalar(theta)
    refused("as_field", sphere.as_field, cr.Algebra(3).e1)


def test_operators_take_batches_of_coefficients():
    alg = cr.Algebra(2)
    x = alg.symbols("x", 1)
    grad = cr.gradient(x)
    batch = alg.vector([[1.0, 0.0], [0.0, 2.0]])
    found = (batch | grad) * (x * x)
    assert [sp.simplify(found[i].scalar_part() - k * x.values[i]) for i, k in ((0, 2), (1, 4))] == [0, 0]
    assert ((0 * batch) | grad).is_zero()
