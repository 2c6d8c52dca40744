"""Two conformal objects of space: closest points with a circle, and traced paths of every two kinds."""

import itertools

import numpy as np
import pytest

from clifford_rand.fusion import specialization
from clifford_rand.presets import cga
from clifford_rand.presets.cga.closest_pairs import on_unit_circle
from support.geometry import BASES, CGA, gaussian, same_results

SPACE = CGA[3, False]


def value_on_circle(b, M, a, r, v):
    size = np.linalg.norm(b + (M @ v[..., None])[..., 0], axis=-1)
    return size**2 / 2 if a is None else (a * v).sum(axis=-1) - r * size


@pytest.mark.parametrize("spread", [0, 3, 9])
def test_least_values_on_a_circle_are_global(spread):
    """No angle of a fine grid has a smaller value; sizes differ by factors up to 10^(2 spread)."""
    rng, count = np.random.default_rng(spread), 2000
    sizes = lambda *shape: 10.0 ** rng.uniform(-spread, spread, (count, *shape))  # noqa: E731
    turn = np.linspace(0, 2 * np.pi, 500)
    flat = rng.standard_normal((count, 3)) * sizes(1), rng.standard_normal((count, 3, 2)) * sizes(1, 2), None, None
    b, M = rng.standard_normal((count, 2)) * sizes(1), rng.standard_normal((count, 2, 2)) * sizes(1, 2)
    M[::4, :, 0] = 3 * M[::4, :, 1]  # of rank 1, as for orthogonal planes
    b[1::8], M[::8] = 0, np.eye(2)  # coaxial
    circle = b, M, rng.standard_normal((count, 2)) * sizes(1), sizes()
    for b, M, a, r in (flat, circle):
        v = on_unit_circle(b, M, a, r)
        np.testing.assert_allclose(np.linalg.norm(v, axis=-1), 1, rtol=1e-14)
        grid = [value_on_circle(b, M, a, r, np.stack([np.cos(t), np.sin(t)]) + 0 * v) for t in turn]
        top = np.max(np.abs(grid), axis=0)
        assert (value_on_circle(b, M, a, r, v) - np.min(grid, axis=0) <= 1e-12 * top).all()


@pytest.mark.parametrize("scale", [1e-9, 1.0, 1e2])
def test_circles_and_lines_of_every_scale(scale):
    """Distances by coordinates: parallel, coplanar, coaxial, touching, crossing, far away; in the null basis.

    Larger rounds than 8e6 are refused: see `test_least_values_on_a_circle_are_global` for factors of 1e18.
    """
    alg, x, y, z = BASES[1], *np.eye(3)
    circle = lambda c, r, n: cga.circle(alg, scale * np.array(c), scale * r, n)  # noqa: E731
    line = lambda p, u: cga.line(alg, scale * np.array(p), direction=u)  # noqa: E731
    plane = lambda n, height: cga.plane(alg, n, scale * height)  # noqa: E731
    ball = lambda c, r: cga.sphere(alg, scale * np.array(c), scale * r)  # noqa: E731
    point = lambda p: cga.up(alg, scale * np.array(p))  # noqa: E731
    C = circle([0, 0, 0], 2.0, z)
    expected = [
        (line([0, 0, 3.0], x), 3.0), (line([0, 5.0, 0], x), 3.0), (line([0, 2.0, 0], x), 0.0),
        (line([0, 0, 0], z), 2.0), (line([3.0, 0, 0], z), 1.0), (line([0, 1.0, 0], x), 0.0),
        (line([3.0, 0, 4.0], y), np.sqrt(17)), (line([0, 1e4, 0], x), 1e4 - 2), (line([2.0, 0, 7.0], z), 0.0),
        (circle([0, 0, 3.0], 2.0, z), 3.0), (circle([0, 0, 0], 5.0, z), 3.0), (circle([0, 0, 0], 5.0, x), 3.0),
        (circle([5.0, 0, 0], 3.0, z), 0.0), (circle([1.0, 0, 0], 1.0, z), 0.0), (circle([6.0, 0, 0], 1.0, z), 3.0),
        (circle([2.0, 0, 0], 1.0, y), 1.0), (circle([0, 0, 1e4], 2.0, z), 1e4), (circle([3.0, 0, 0], 1.0, y), 0.0),
        (C, 0.0), (plane(z, 4.0), 4.0), (plane(x, 2.0), 0.0), (ball([5.0, 0, 0], 3.0), 0.0),
        (ball([0, 0, 0], 5.0), 3.0), (point([0, 0, 1.0]), np.sqrt(5)), (point([2.0, 0, 0]), 0.0),
    ]  # fmt: skip
    others = [
        (ball([0, 0, 0], 2.0), ball([0, 0, 0], 5.0), 3.0), (ball([0, 0, 0], 2.0), point([0, 0, 0]), 2.0),
        (line([0, 0, 0], x), line([0, 3.0, 4], -2 * x), 5.0), (plane(z, 1.0), plane(z, 3.0), 2.0),
        (ball([0, 0, 0], 2.0), line([0, 2.0, 0], x), 0.0), (ball([0, 0, 0], 2.0), plane(z, 2.0), 0.0),
    ]  # fmt: skip
    for first, second, apart in [*((C, X, apart) for X, apart in expected), *others]:
        for A, B in ((first, second), (second, first)):
            for distance in (cga.distance, cga.distance.specialization.function):  # twice the first: traced, and run
                found = [distance(A, B) for _ in range(2)]
                np.testing.assert_allclose(found, scale * apart, rtol=1e-11, atol=2e-8 * scale)


def test_what_objects_share_has_distance_zero():
    """Exactly, where they cross: what rounding leaves between two points is not a distance."""
    for seed in range(20):
        p, u, v, c = gaussian(seed, 4, 3)
        for alg in BASES:
            line, plane, other = cga.line(alg, p, direction=u), cga.plane(alg, v, v @ c), cga.plane(alg, u, u @ p)
            sphere, circle = cga.sphere(alg, c, 1 + np.linalg.norm(p - c)), cga.circle(alg, c, 3.0, u)
            across = cga.plane(alg, v, v @ c + 0.1)
            for A, B in ((line, plane), (plane, other), (line, sphere), (circle, across)):
                assert cga.distance(A, B) == cga.distance(B, A) == 0.0


def conformal_objects(shape, rng):
    """Return an object of every kind that holds points."""
    x = lambda *size: rng.standard_normal((*shape, *size))  # noqa: E731
    circle = cga.circle(SPACE, x(3), 1 + x() ** 2, x(3))
    return {
        "point": cga.up(SPACE, x(3)), "pair": cga.point_pair(SPACE, x(3), x(3)), "circle": circle,
        "line": cga.line(SPACE, x(3), direction=x(3)), "plane": cga.plane(SPACE, x(3), x()),
        "sphere": cga.sphere(SPACE, x(3), 1 + x() ** 2),
    }  # fmt: skip


@pytest.mark.parametrize("function", [cga.distance, cga.closest_points, cga.intersect, cga.angle, cga.meet])
def test_every_two_conformal_objects_have_a_path(function):
    """Also where they meet, or have no point and no angle in common: the function itself takes milliseconds."""
    plain, rng = function.specialization.function, np.random.default_rng(3)
    first, second = conformal_objects((), rng), conformal_objects((), rng)
    for (name, A), (other, B) in itertools.product(first.items(), second.items()):
        if function is cga.angle and "point" in (name, other):
            continue
        function.specialization._kinds.clear()
        function.specialization._equal.clear()
        expected = plain(A, B)
        assert same_results(function(A, B), expected), (name, other)
        paths = [path for kind in function.specialization._kinds.values() for path in kind.paths]
        result = paths[0].run([A.coefficients.tolist(), B.coefficients.tolist()]) if paths else None
        assert result is not None, (name, other)
        assert same_results(result, expected), (name, other)


def special_positions():
    """Return pairs of objects that lie together in less than the whole conformal space, by kind of what they share."""
    rng = np.random.default_rng(6)
    (x, y, z), o = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.standard_normal(3)
    at = lambda a, b: o + a * x + b * y  # noqa: E731
    circle = lambda a, r: cga.circle(SPACE, at(a, 0), r, z)  # noqa: E731
    line = lambda P, u: cga.line(SPACE, P, direction=u)  # noqa: E731
    pair = lambda *ends: cga.point_pair(SPACE, *(at(*end) for end in ends))  # noqa: E731
    first, plane = line(at(1, 2), x), cga.plane(SPACE, z, z @ o)
    return {
        "point pair": (circle(0, 2.0), circle(1.5, 1.7)), "tangent": (circle(0, 1.0), circle(3, 2.0)),
        "dual flat": (circle(0, 1.0), circle(0, 2.0)),
        "circle": (circle(0, 2.0), -3 * circle(0, 2.0)), "flat point": (first, line(at(1, 2), x / 3 + y)),
        "direction": (first, line(at(3, 1), x)), "line": (line(at(1, 2), x + y), plane), "plane": (plane, -plane),
        "infinity": (first, line(o + z, y)),
        "point": (pair((2, 0), (0, 2)), pair((2, 0), (1, 2))),
        "dual sphere": (pair((2, 0), (0, 0)), pair((1, 0), (7, 0))),
    }  # fmt: skip


@pytest.mark.slow
def test_objects_in_special_position_have_a_path():
    """Also beside paths of objects in general position."""
    intersect, objects = cga.intersect.specialization, conformal_objects((), np.random.default_rng(7))
    for name, (A, B) in special_positions().items():
        intersect._kinds.clear()
        intersect._equal.clear()
        others = [next(X for X in objects.values() if X.grades == Y.grades) for Y in (A, B)]
        expected = intersect.function(A, B)
        assert expected.name == name
        for first, second in ((others[0], B), (A, others[1]), (A, B)):
            assert same_results(cga.intersect(first, second), intersect.function(first, second)), name
        paths = [path for kind in intersect._kinds.values() for path in kind.paths]
        results = [path.run([A.coefficients.tolist(), B.coefficients.tolist()]) for path in paths]
        assert any(result is not None and same_results(result, expected) for result in results), name


def test_the_path_of_a_circle_serves_circles_of_every_weight():
    """What counts as 0 is relative to the weight."""
    classify, circle = cga.classify.specialization, conformal_objects((), np.random.default_rng(9))["circle"]
    classify._kinds.clear()
    classify._equal.clear()
    cga.classify(circle)
    (path,) = [path for kind in classify._kinds.values() for path in kind.paths]
    for weight in (1e-9, 1e-3, 1e3, 1e9):
        result = path.run([(weight * circle).coefficients.tolist()])
        assert same_results(result, classify.function(weight * circle))


@pytest.mark.slow
def test_batches_of_special_and_general_positions(monkeypatch):
    """Circles of one plane that meet, touch, share a center or all, and others."""
    special, others = special_positions(), conformal_objects((3,), np.random.default_rng(8))["circle"]
    pairs = [special[name] for name in ("point pair", "circle", "tangent", "dual flat")]
    A, B = (
        SPACE.multivector([C.values for C in circles] + list(others.values), 3) for circles in zip(*pairs, strict=True)
    )
    expected = cga.intersect.specialization.function(A, B)
    monkeypatch.setattr(specialization, "COMPILED_FROM", 2)
    found = cga.intersect(A, B)
    assert found.name.tolist()[:4] == ["point pair", "circle", "tangent", "dual flat"]
    for field in ("location", "radius_squared", "weight"):
        np.testing.assert_allclose(getattr(found, field), getattr(expected, field), rtol=1e-9, atol=1e-12)
    assert found.direction.isclose(expected.direction, rtol=1e-9).all()


@pytest.mark.slow
@pytest.mark.parametrize("kinds", [("line", "circle"), ("plane", "line")])
def test_batches_of_two_conformal_objects_are_compiled(kinds, monkeypatch):
    """Elements whose guards fail among them, such as circles that need a second descent."""
    rng = np.random.default_rng(4)
    A, B = (conformal_objects((20,), rng)[name] for name in kinds)
    expected = cga.distance.specialization.function(A, B)
    monkeypatch.setattr(specialization, "COMPILED_FROM", 2)
    np.testing.assert_allclose(cga.distance(A, B), expected, rtol=1e-9, atol=1e-12)
    assert any(kind.paths for kind in cga.distance.specialization._kinds.values())
