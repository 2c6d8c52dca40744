"""Fits of rounds and flats to points, against SciPy's least squares, and exact on exact data."""

import numpy as np
import pytest
from scipy.optimize import least_squares

import clifford_rand as cr
from clifford_rand.presets import cga
from support.geometry import CGA, MODELS, close, gaussian
from support.refusals import refused


def on_round(seed, count, m, n, noise=0.0):
    """Points of a random m-dimensional round with noise: (X, center, radius, directions)."""
    rng = np.random.default_rng(seed)
    c, r = 3 * rng.standard_normal(n), float(np.exp(rng.standard_normal()))
    U = np.linalg.qr(rng.standard_normal((n, n)))[0][:m]
    v = rng.standard_normal((count, m))
    v /= np.linalg.norm(v, axis=1, keepdims=True)
    v[1] = -v[0]  # not twice the same of a pair
    return c + r * v @ U + noise * r * rng.standard_normal((count, n)), c, r, U


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_exact_points_give_back_what_they_lie_on(n, null):
    alg = CGA[n, null]
    for m in range(1, n + 1):
        for count in (m + 1, 40):
            X, c, r, U = on_round(10 * n + m, count, m, n)
            found = cga.classify(cga.fit_round(alg, X, m))
            close(found.location, c, 1e-7)
            close(found.radius, r, 1e-7)
            V = found.directions()
            close(V.T @ V, U.T @ U, 1e-7)
        x = c + gaussian(m, 30, m) @ U
        found = cga.classify(cga.fit_flat(alg, x, m))
        assert found.kind == "flat"
        V = found.directions()
        close(V.T @ V, U.T @ U, 1e-10)
        close(found.location, c - U.T @ (U @ c), 1e-9)


@pytest.mark.parametrize("n", [2, 3, 4])
def test_spheres_minimise_the_same_as_a_general_solver(n):
    """Σ w ((|x - c|² - r²)/(2 r))², by Levenberg-Marquardt from the true sphere."""
    alg = CGA[n, True]
    X, c, r, _ = on_round(n, 60, n, n, noise=0.1)
    w = np.random.default_rng(n).random(60)

    def residual(z):
        return np.sqrt(w) * (((X - z[:n]) ** 2).sum(1) - z[n] ** 2) / (2 * z[n])

    best = least_squares(residual, np.append(c, r), xtol=1e-15, ftol=1e-15, gtol=1e-15).x
    S = cga.fit_sphere(alg, X, weights=w)
    close(cga.center(S), best[:n], 1e-7)
    close(cga.radius(S), best[n], 1e-7)
    dual = cga.fit_sphere(alg, X, weights=w, dual=True)
    close(cga.radius(dual, dual=True), best[n], 1e-7)


def test_circles_of_space_minimise_the_same_as_a_general_solver():
    """Σ height² + ((|x - c|² - r²)/(2 r))² over center, normal and radius."""
    alg = CGA[3, True]
    X, c, r, U = on_round(7, 80, 2, 3, noise=0.1)

    def residual(z):
        normal = z[3:6] / np.linalg.norm(z[3:6])
        return np.concatenate([(X - z[:3]) @ normal, (((X - z[:3]) ** 2).sum(1) - z[6] ** 2) / (2 * z[6])])

    best = least_squares(residual, np.concatenate([c, np.cross(*U), [r]]), xtol=1e-15, ftol=1e-15, gtol=1e-15)
    found = cga.fit_circle(alg, X)
    close(cga.center(found), best.x[:3], 1e-6)
    close(cga.radius(found), best.x[6], 1e-6)
    normal = best.x[3:6] / np.linalg.norm(best.x[3:6])
    assert abs(cga.normal(found) @ normal) == pytest.approx(1, abs=1e-10)


@pytest.mark.parametrize("noise", [1e-3, 1e-2])
def test_a_fit_differs_from_that_of_distances_by_the_square_of_the_noise(noise):
    alg = CGA[3, True]
    X, c, r, _ = on_round(5, 200, 3, 3, noise=noise)
    best = least_squares(lambda z: np.linalg.norm(X - z[:3], axis=1) - z[3], np.append(c, r), xtol=1e-15).x
    S = cga.fit_sphere(alg, X)
    assert abs(cga.radius(S) - best[3]) < 3 * noise**2 * r
    assert np.linalg.norm(cga.center(S) - best[:3]) < 3 * noise**2 * r


@pytest.mark.parametrize("n", [2, 3, 4])
def test_lines_and_planes_are_those_of_principal_directions(n):
    alg = CGA[n, False]
    X = gaussian(n, 50, n) * np.arange(1, n + 1) + 100.0
    w = np.random.default_rng(n).random(50)
    mean = w @ X / w.sum()
    axes = np.linalg.eigh((X - mean).T @ (w[:, None] * (X - mean)))[1]
    plane, line = cga.fit_plane(alg, X, weights=w), cga.fit_line(alg, X, weights=w)
    assert abs(cga.normal(plane) @ axes[:, 0]) == pytest.approx(1, abs=1e-9)
    assert abs(cga.classify(line).directions()[0] @ axes[:, -1]) == pytest.approx(1, abs=1e-9)
    close(cga.distance(plane, cga.up(alg, mean)), 0.0, 1e-8)
    close(cga.distance(line, cga.up(alg, mean)), 0.0, 1e-8)


def test_far_away_small_and_huge_points_are_as_good():
    """The null basis holds a center c with a radius² to |c|² eps; the parameters of the fit are better than that."""
    X, *_ = on_round(3, 30, 3, 3, noise=0.01)
    reference = cga.classify(cga.fit_sphere(CGA[3, True], X))
    for scale in (1e-6, 1e6):
        S = cga.classify(cga.fit_sphere(CGA[3, True], scale * X))
        close(S.location / scale, reference.location, 1e-9)
        close(S.radius / scale, reference.radius, 1e-9)
    moved = cga.classify(cga.fit_sphere(CGA[3, True], X + 1e4))
    close(moved.location - 1e4, reference.location, 1e-6)
    close(moved.radius, reference.radius, 1e-6)
    arc = np.linspace(0, 1e-2, 20)  # a short arc
    X = 5.0 + 2 * np.stack([np.cos(arc), np.sin(arc)], axis=-1)
    S = cga.classify(cga.fit_circle(CGA[2, True], X))
    close(S.radius, 2.0, 1e-5)


def test_points_of_a_line_have_no_circle_and_of_a_circle_no_sphere():
    alg = CGA[3, True]
    t = gaussian(1, 9, 1)
    line = cga.classify(cga.fit_circle(alg, [1.0, 2, 3] + t * [1.0, 0, 0]))
    assert str(line.name) == "line"
    close(line.location, [0, 2, 3])
    X, *_ = on_round(2, 9, 2, 3)
    refused("'X' parameter of fit_sphere must be points that determine one", cga.fit_sphere, alg, X)
    with pytest.raises(cr.ArgumentError, match="'X' parameter of fit_plane must be points that determine one"):
        cga.fit_plane(alg, [1.0, 2, 3] + t * [1.0, 0, 0])


def test_batches_weights_and_multivectors():
    alg = CGA[3, True]
    X = np.stack([on_round(seed, 25, 3, 3, noise=0.05)[0] for seed in range(4)])
    S = cga.fit_sphere(alg, X.reshape(2, 2, 25, 3))
    assert S.shape == (2, 2)
    close(cga.center(S).reshape(4, 3), [cga.center(cga.fit_sphere(alg, x)) for x in X], 1e-9)
    same = cga.fit_sphere(alg, cga.up(alg, X))
    close(cga.center(same), cga.center(S).reshape(4, 3), 1e-9)
    w = np.ones(25)
    w[20:] = 0
    close(cga.center(cga.fit_sphere(alg, X, weights=w)), cga.center(cga.fit_sphere(alg, X[:, :20])), 1e-9)
    twice = cga.fit_sphere(alg, X[0], weights=np.r_[2.0, np.ones(24)])
    close(cga.center(twice), cga.center(cga.fit_sphere(alg, np.concatenate([X[0], X[0][:1]]))), 1e-9)
    V = cga.translator(alg, [1.0, 2, 3]) * cga.rotor(alg, alg.e12, 0.7) * cga.dilator(alg, 2.0)
    moved = cga.fit_sphere(alg, (V >> cga.up(alg, X[0])).grade(1))
    close(cga.center(moved), cga.down(V >> cga.up(alg, cga.center(S[0, 0]))), 1e-9)
    assert cga.fit_line(alg, X.astype(np.float32)).dtype == np.float32


def test_points_whose_squares_overflow_are_refused():
    with pytest.raises(cr.ArgumentError, match="'X' parameter of fit_plane must be small enough for its square"):
        cga.fit_plane(CGA[3, False], 1e300 * np.random.default_rng(0).standard_normal((6, 3)))
