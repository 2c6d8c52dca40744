"""Integrals over simplices: exact for polynomials, the fundamental theorem in every metric, Cauchy's formula."""

import itertools
import math

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand.calculus.simplices import simplex_rule
from support.refusals import refused


@pytest.mark.parametrize("k", range(5))
def test_the_rule_is_exact_for_polynomials_of_its_degree(k):
    """∫ x^α over the unit simplex is Π α_i! / (k + |α|)!."""
    for degree in range(8 if k < 4 else 5):
        points, weights = simplex_rule(k, degree)
        assert weights.min() > 0
        np.testing.assert_allclose(points.sum(axis=1), 1)
        assert points.min() > 0
        for alpha in itertools.product(range(degree + 1), repeat=k):
            if sum(alpha) <= degree:
                value = (weights * np.prod(points[:, 1:] ** np.array(alpha, dtype=int), axis=1)).sum() / math.factorial(
                    k
                )
                wanted = math.prod(map(math.factorial, alpha)) / math.factorial(k + sum(alpha))
                assert value == pytest.approx(wanted, rel=1e-12)
    points, weights = simplex_rule(2, 4)
    assert (weights * points[:, 1] ** 6).sum() / 2 != pytest.approx(1 / 56, rel=1e-6)  # degree 4 is not degree 6


def _body(alg, rng):
    """A box whose inner points are moved, so that nothing is parallel, and d! simplices a cell."""
    box = cr.SimplicialChain.box(alg, [-1] * alg.d, [1] * alg.d, n_cells=2 if alg.d < 4 else 1)
    moved = box.points + 0.1 * rng.standard_normal(box.points.shape)
    simplices, weights = box.simplices.copy(), box.weights.copy()
    for row in range(0, len(weights), 3 if alg.d > 1 else 1):  # the same body, some simplices written in another order
        simplices[row], weights[row] = np.roll(simplices[row], 1), weights[row] * (-1) ** alg.d
    return cr.SimplicialChain(alg, moved, simplices, weights=weights)


def _fields(alg, x, rng):
    products = [1, *x.values, *(a * b for i, a in enumerate(x.values) for b in x.values[i:])]
    for _ in range(2):
        weights = rng.integers(-3, 4, (2**alg.d, len(products)))
        yield alg.multivector(weights.astype(object).dot(np.array(products, dtype=object)))


@pytest.mark.parametrize(
    "alg",
    [cr.Algebra(1), cr.Algebra(2), cr.Algebra(3), cr.Algebra(1, 2), cr.Algebra(metric=[[2, 1], [1, -3]])],
    ids=repr,
)
def test_the_fundamental_theorem_fills_a_body(alg):
    """∮ L dS R = ∫ L̇∇̇ dX R + (-1)^{d-1} ∫ L dX ∇R: Hestenes and Sobczyk, section 7-3, with simplicial boundaries."""
    rng = np.random.default_rng(1)
    body, x = _body(alg, rng), alg.symbols("x", 1)
    L, R = _fields(alg, x, rng)
    grad = cr.gradient(x)
    left, right = L.lambdify(x), R.lambdify(x)
    slope_left, slope_right = (L * grad.leftward).lambdify(x), (grad * R).lambdify(x)
    around = body.boundary().integrate(right, left, degree=4)
    inside = body.integrate(right, slope_left, degree=4) + (-1) ** (alg.d - 1) * body.integrate(
        slope_right, left, degree=4
    )
    assert around.isclose(inside, rtol=1e-11)
    assert not around.isclose(0, atol=1e-3)
    assert body.boundary().integrate().isclose(0, atol=1e-13), "a closed surface has no directed area"


@pytest.mark.parametrize("alg", [cr.Algebra(3), cr.Algebra(2, 1), cr.Algebra(4)], ids=repr)
def test_the_fundamental_theorem_on_surfaces(alg):
    """∮ dS R = (-1)^{k-1} ∫ (dX · ∇) R for curves and surfaces in space: Stokes."""
    rng = np.random.default_rng(2)
    x = alg.symbols("x", 1)
    R, grad = next(_fields(alg, x, rng)), cr.gradient(x)
    R = R if alg.d < 4 else R.grade(1)  # of all grades it takes minutes
    for k in range(1 if alg.d < 4 else 3, alg.d):
        chain = cr.SimplicialChain(alg, rng.standard_normal((k + 1, alg.d)))
        dX = chain.directed_measure()[0]
        inside = chain.integrate((((dX | grad) * R) / 1).lambdify(x), degree=4, measure="volume") / dX.norm()
        assert chain.boundary().integrate(R.lambdify(x), degree=4).isclose((-1) ** (k - 1) * inside, rtol=1e-11)


def test_boundaries_of_boundaries_vanish():
    rng = np.random.default_rng(3)
    for d in range(1, 5):
        body = _body(cr.Algebra(d), rng)
        edge = body.boundary()
        if d > 1:
            assert len(edge.boundary().simplices) == 0
        assert len(edge.simplices) == {1: 2, 2: 8, 3: 48, 4: 48}[d]  # inner faces cancel
    ends = cr.SimplicialChain(cr.Algebra(3), rng.standard_normal((4, 3)), [[0, 1], [1, 2], [2, 3]]).boundary()
    assert ends.simplices.tolist() == [[0], [3]]
    assert ends.weights.tolist() == [-1, 1]
    closed = cr.SimplicialChain(cr.Algebra(3), rng.standard_normal((3, 3)), [[0, 1], [1, 2], [2, 0]])
    assert len(closed.boundary().simplices) == 0


def test_the_divergence_theorem():
    """∮ F · n |dS| = ∫ ∇ · F |dX|, and n = dS I⁻¹ / |dS| points outward."""
    alg = cr.Algebra(3)
    body = _body(alg, np.random.default_rng(4))
    x = alg.symbols("x", 1)
    F = alg.vector(np.array([x["e1"] ** 2, x["e2"] * x["e3"], x["e1"] + x["e3"] ** 2]))
    field, divergence = F.lambdify(x), (cr.gradient(x) | F).lambdify(x)
    edge = body.boundary()
    normals = edge.directed_measure().dual()
    centers = alg.vector(edge.points[edge.simplices].mean(axis=1))
    assert ((normals | centers)["1"] > 0).all()
    flux = sum(
        cr.SimplicialChain(alg, edge.points, edge.simplices[i : i + 1]).integrate(
            lambda x, n=n: field(x) | n / n.norm(), degree=2, measure="volume"
        )
        for i, n in enumerate(normals)
    )
    assert flux.isclose(body.integrate(divergence, degree=2, measure="volume"), rtol=1e-12)


def test_cauchys_formula_in_space():
    """Doran and Lasenby, section 6.4: a field with ∇F = 0 is F(y) = 1/(4πI) ∮ (x - y)/|x - y|³ dS F(x)."""
    alg = cr.Algebra(3)
    box = cr.SimplicialChain.box(alg, [-1, -1, -1], [1, 1, 1], n_cells=3)
    x = alg.symbols("x", 1)
    x1, x2, x3 = x.values
    F = cr.gradient(x) * (x1 * x2 * x3 + x1**2 - x2**2)  # of a harmonic function
    assert (cr.gradient(x) * F).is_zero()
    field = F.lambdify(x)
    for y, inside in (([0.3, -0.2, 0.1], 1), ([1.5, 0.2, 0.0], 0)):
        at = alg.vector(y)
        around = box.boundary().integrate(field, lambda x, at=at: (x - at) / (x - at).norm() ** 3, degree=24)
        assert (around / (4 * np.pi * alg.I)).isclose(inside * field(at), rtol=1e-5, atol=1e-5)


def test_measures_of_curved_surfaces():
    """The area of the unit sphere 4π and its directed area 0; the length of a helix in space-time."""
    plane, space = cr.Algebra(2), cr.Algebra(3)

    def sphere(u):
        theta, phi = u.values.T
        return space.vector(np.stack([np.sin(theta) * np.cos(phi), np.sin(theta) * np.sin(phi), np.cos(theta)], -1))

    mesh = cr.SimplicialChain.box(plane, [0, 0], [np.pi, 2 * np.pi], n_cells=[40, 80]).map(sphere)
    assert float(mesh.integrate(measure="volume")["1"]) == pytest.approx(4 * np.pi, rel=2e-3)
    assert mesh.directed_measure().sum().isclose(0, atol=1e-12)
    sta = cr.Algebra(1, 2)

    def helix(t):
        s = t.values[..., 0]
        return sta.vector(np.stack([2 * s, np.cos(s), np.sin(s)], -1))

    line = cr.SimplicialChain.box(cr.Algebra(1), [0], [2 * np.pi], n_cells=[400]).map(helix)
    assert float(line.integrate(measure="volume")["1"]) == pytest.approx(2 * np.pi * np.sqrt(3), rel=1e-4)


def test_many_simplices_are_integrated_in_blocks():
    alg = cr.Algebra(2)
    fine = cr.SimplicialChain.box(alg, [0, 0], [1, 2], n_cells=[120, 100])
    value = fine.integrate(lambda x: np.sin(x.values[..., 0]), measure="volume", degree=3)
    assert float(value["1"]) == pytest.approx(2 * (1 - np.cos(1)), rel=1e-9)
    assert fine.integrate(3).isclose(6 * alg.I)
    assert fine.integrate(alg.e1).isclose(2 * alg.I * alg.e1)


def test_failures():
    alg = cr.Algebra(2)
    triangle = cr.SimplicialChain(alg, [[0, 0], [1, 0], [0, 1]])
    refused(r"of SimplicialChain must be an array of shape \(n, 2\)", cr.SimplicialChain, alg, [[0, 0, 0]])
    refused("places from 0 to 2", cr.SimplicialChain, alg, triangle.points, [[0, 1, 3]])
    refused("k ≤ 2", cr.SimplicialChain, alg, np.zeros((4, 2)))
    refused("integers with 2 axes", cr.SimplicialChain, alg, triangle.points, [[0.0, 1.0]])
    refused("m weights", cr.SimplicialChain, alg, triangle.points, [[0, 1]], weights=[1, 1])
    refused("of boundary must be at least 1", triangle.boundary().boundary().map(lambda x: x).boundary)
    refused("batch shape of the points", triangle.integrate, lambda x: np.ones(7))
    refused("lambdify", triangle.integrate, alg.symbols("x", 1))
    refused("lambdify", triangle.integrate, sp.Symbol("x"))
    refused("one of 'directed', 'volume'", triangle.integrate, measure="area")
    refused("values are vectors", triangle.map, lambda x: x * x)
