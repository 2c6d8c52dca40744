"""Scenes: what is drawn lies on the objects; pages need no network, show the objects and play; Matplotlib views."""

import json
import time

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand import draw
from clifford_rand.presets import cga, pga
from support.browser import open_page, start_browser
from support.refusals import refused

RNG = np.random.default_rng(0)
SPACE, CONFORMAL = cr.Algebra.pga(3), cr.Algebra.cga(3)
MARKUP = "<img src=x onerror=document.title='run'>"


def places(items, **options):
    """Return the places of the only shape, without the axis of time."""
    (shape,) = draw.scene(items, **options).shapes
    return shape.places[0]


# ---- geometry


@pytest.mark.parametrize("n", [2, 3])
def test_projective_objects_are_drawn_where_they_are(n):
    alg = cr.Algebra.pga(n)
    X, Y = RNG.standard_normal((2, 5, n))
    np.testing.assert_allclose(places(-2 * pga.point(alg, X))[:, :n], X, atol=1e-12)
    lines, planes = pga.line(alg, X, Y), pga.plane(alg, X, Y[:, 0])
    for flats in (lines, planes):
        drawn = places(flats, extent=3.0)[..., :n]
        flats = flats.new(flats.keys, flats.coefficients.reshape(5, *[1] * (drawn.ndim - 2), -1))
        assert np.abs(pga.distance(pga.point(alg, drawn), flats)).max() < 1e-12
    ends = places(lines, extent=3.0)
    np.testing.assert_allclose(np.linalg.norm(ends[:, 1] - ends[:, 0], axis=-1), 6)
    # another order of the same basis vectors
    turned = cr.Algebra(signature=[1] * n + [0], names=[*(f"e{i + 1}" for i in range(n)), "e0"])
    np.testing.assert_allclose(places(turned("2*e1 + e0")), places(alg("2*e1 + e0")), atol=1e-14)


@pytest.mark.parametrize("null_basis", [False, True])
@pytest.mark.parametrize("n", [2, 3])
def test_conformal_objects_hold_the_points_that_are_drawn(n, null_basis):
    alg = cr.Algebra.cga(n, null_basis=null_basis)
    A, B, C, D = (cga.up(alg, x) for x in RNG.standard_normal((4, n)))
    infinity = cga.infinity(alg)
    objects = [A, A ^ B, A ^ B ^ infinity, A ^ B ^ C] + [A ^ B ^ C ^ infinity, A ^ B ^ C ^ D] * (n == 3)
    for X in objects:
        drawn = places(X)[..., :n].reshape(-1, n)
        assert cga.contains_point(X, cga.up(alg, drawn), rtol=1e-9).all()
        np.testing.assert_allclose(places(X.dual(), dual=True), places(X), atol=1e-9)
    np.testing.assert_allclose(places(cga.classify(A ^ B ^ C)), places(A ^ B ^ C), atol=1e-12)


@pytest.mark.parametrize("alg", [SPACE, CONFORMAL, cr.Algebra(3), cr.Algebra.pga(2)], ids=str)
def test_motors_are_frames(alg):
    n = 2 if alg.d == 3 and alg.r else 3
    M = (0.4 * alg.e12).exp() * (1 if n == 2 else (0.3 * alg("e23 - e13")).exp())
    if alg.r:
        M = pga.translator(alg, np.arange(1.0, n + 1)) * M
    shapes = draw.scene(2 * M).shapes
    axes = np.stack([shape.places[0, 0] for shape in shapes])
    assert [shape.color for shape in shapes] == [0xD62728, 0x2CA02C, 0x1F77B4][:n]
    arms = axes[:, 1] - axes[:, 0]
    np.testing.assert_allclose(arms @ arms.T, (arms[0] @ arms[0]) * np.eye(n), atol=1e-12)
    if alg.r:
        matrix = pga.motor_to_matrix(M)
        np.testing.assert_allclose(axes[:, 0, :n], np.tile(matrix[:n, n], (n, 1)), atol=1e-12)
    else:
        matrix = M.vector_matrix()
    np.testing.assert_allclose(arms[:, :n] / np.linalg.norm(arms[0]), matrix[:n, :n].T, atol=1e-12)
    assert {shape.color for shape in draw.scene(M, colors="black").shapes} == {0}


@pytest.mark.parametrize("n", [2, 3])
def test_euclidean_vectors_are_arrows_from_the_origin(n):
    X = RNG.standard_normal((5, n))
    drawn = places(cr.Algebra(n).vector(X))
    assert not drawn[:, 0].any()
    np.testing.assert_array_equal(drawn[:, 1, :n], X)


def test_lists_of_points_are_curves_and_flats_reach_past_other_objects():
    corners = pga.point(SPACE, [[0, 0, 0], [4, 0, 0], [4, 4, 0]])
    made = draw.scene([[corners[0], corners[1:]], pga.plane(SPACE, [0, 0, 1], 2)])
    curve, plane = (shape.places[0, 0] for shape in made.shapes)
    assert curve.tolist() == [[0, 0, 0], [4, 0, 0], [4, 4, 0]]
    assert plane.reshape(-1, 3).min(axis=0) == pytest.approx([-0.4, -0.4, 2])
    assert plane.reshape(-1, 3).max(axis=0) == pytest.approx([4.4, 4.4, 2])
    assert repr(made) == "<Scene of 1 curve, 1 surface>"


def test_flats_alone_are_shown_about_their_feet():
    """The box of the feet (0, 0, 2) and (0, 0, 7) has the side 5; half the length that is shown is 0.6 of it."""
    planes = pga.plane(SPACE, [[0, 0, 1.0], [0, 0, 1]], [2, 7])
    first, second = places(planes)
    for plane, height in ((first, 2), (second, 7)):
        corners = [[x, y, height] for x in (-3, 3) for y in (-3, 3)]
        assert sorted(np.round(plane.reshape(-1, 3), 12).tolist()) == corners
    ends = places(pga.line(SPACE, [0, 4.0, 0], [1, 4, 0]))  # a single foot: a box of side 2
    assert sorted(np.round(ends[0], 12).tolist()) == [[-1.2, 4, 0], [1.2, 4, 0]]


def test_a_batch_of_several_kinds_is_drawn_by_kind():
    """In each batch element what is of the kind, NaN at times when the others take its place."""
    circle, line = cga.circle(CONFORMAL, [0, 0, 0], 2.0, [0, 0, 1]), cga.line(CONFORMAL, [0, 0, 5], direction=[1, 0, 0])
    rows = np.stack([circle.values, line.values, 2 * line.values, circle.values, line.values, circle.values])
    batch = CONFORMAL.multivector(rows.reshape(2, 3, -1), (3,))  # circle, line, line; circle, line, circle
    lines, circles = draw.scene(batch, times=[0.0, 1]).shapes
    assert (lines.places.shape, circles.places.shape) == ((2, 2, 2, 3), (2, 2, 65, 3))
    assert np.isfinite(lines.places).all(axis=(2, 3)).tolist() == [[True, True], [True, False]]
    assert np.isfinite(circles.places).all(axis=(2, 3)).tolist() == [[True, False], [True, True]]
    seen = circles.places[np.isfinite(circles.places).all(axis=-1)]
    np.testing.assert_allclose([np.linalg.norm(seen, axis=-1), 2 + seen[:, 2]], 2, atol=1e-12)
    np.testing.assert_allclose(lines.places[0, :, :, 1:], np.tile([0, 5.0], (2, 2, 1)), atol=1e-12)
    still = draw.scene(batch).shapes
    assert [shape.places.shape for shape in still] == [(1, 3, 2, 3), (1, 3, 65, 3)]
    assert all(np.isfinite(shape.places).all() for shape in still)


# ---- time


def moving():
    """Two spheres, one of which moves away from the other: the circle of both vanishes."""
    times = np.linspace(0, 2, 9)
    still = cga.sphere(CONFORMAL, [0, 0, 0], 1.0)
    ball = cga.sphere(CONFORMAL, np.stack([0.5 + times, 0 * times, 0 * times], axis=-1), 1.0)
    return times, still, ball


def test_batches_over_time_are_animations():
    times, still, ball = moving()
    made = draw.scene([still, ball, cga.intersect(still, ball), cga.up(CONFORMAL, np.eye(3)[None])], times=times)
    sphere, other, circle, points = (shape.places for shape in made.shapes)
    assert (len(sphere), len(other), len(points)) == (1, 9, 1)
    assert points.shape == (1, 3, 3)
    np.testing.assert_allclose(other - other[:1], times[:, None, None, None, None] * [1, 0, 0] + 0 * other, atol=1e-9)
    meets = 0.5 + times < 2
    assert np.isnan(circle[~meets]).all()
    assert np.isfinite(circle[meets]).all()
    single = [draw.scene([still, ball[i]]) for i in range(9)]
    joined = draw.scene(single, times=times)
    for one, both in zip(joined.shapes, (sphere, other), strict=True):
        np.testing.assert_allclose(one.places, np.broadcast_to(both, one.places.shape), atol=1e-9)


# ---- what is wrong


def test_scene_says_what_is_wrong(tmp_path):
    alg = cr.Algebra.pga(2)
    wrong = [
        ([], "at least one multivector"),
        ([[]], "at least one multivector"),
        ([3], "must be multivectors. Got int 3"),
        ([alg.e1, cr.Algebra(2).e1], "of one algebra"),
        (cr.Algebra(5).e1, r"of Algebra\.pga\(n\), Algebra\.cga"),
        (cr.Algebra(metric=[[2, 0], [0, 1]]).e1, r"of Algebra\.pga\(n\), Algebra\.cga"),
        (cr.Algebra(2).e12, "vectors or rotors, in a Euclidean algebra"),
        (1j * alg.e1, "finite real coefficients"),
        (np.nan * alg.e1, "finite real coefficients"),
        (sp.Symbol("a") * alg.e1, "finite real coefficients"),
        (pga.direction(SPACE, [1, 0, 0]), "finite points. Got direction"),
        (SPACE.e1 + SPACE.e123, "blades, or motors"),
        ([[SPACE.e1, SPACE.e123]], "lists of points"),
        (0 * SPACE.e1, "blades, or motors"),
        ([draw.scene(alg.e1), alg.e1], "must be multivectors"),
        ([draw.scene(alg.e1), draw.scene([alg.e1, alg.e2])], "scenes at rest of the same objects"),
    ]
    for items, message in wrong:
        refused(message, draw.scene, items)
    for colors in ("pink", "#12", [1, 2, 3, 4], -1, (300, 0, 0)):
        refused("'colors' parameter", draw.scene, [alg.e1, alg.e2], colors=colors)
    for labels in ("ab", ["a"]):
        refused("'labels' parameter", draw.scene, [alg.e1, alg.e2], labels=labels)
    both = [draw.scene(alg.e1), draw.scene(alg.e2)]
    for options in ({"colors": "red"}, {"labels": ["a", "b"]}, {"extent": 2.0}, {"dual": True}):
        refused(f"'{next(iter(options))}' parameter of scene must be .* for scenes", draw.scene, both, **options)
    for times in ([0.0], [0, 0], [[0, 1]], "ab"):
        refused("'times' parameter", draw.scene, alg.e1, times=times)
    with pytest.raises(cr.ArgumentError, match=r"batches over 2 times, their first axis. Got shape \(3,\)"):
        draw.scene(pga.point(alg, np.zeros((3, 2))), times=[0, 1])
    for name in ("scene.png", "scene.PDF", "scene.svg"):
        refused(r"'path' parameter of Scene\.save must be .*\.html.*Scene\.plot", draw.save, alg.e12, tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_without_k3d_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("clifford_rand.errors.available", lambda module: False)
    with pytest.raises(cr.MissingDependencyError, match=r'the page of a scene needs k3d: pip install "?k3d'):
        draw.scene(cr.Algebra.pga(2).e1).html()


# ---- pages


@pytest.fixture(scope="module")
def browser(tmp_path_factory):
    pytest.importorskip("k3d")
    browser = start_browser(tmp_path_factory.mktemp("browser"))
    browser.set_script_timeout(60)
    yield browser
    browser.quit()


def show(browser, path, width=900):
    """Open a page and wait until the objects are there; return their types."""
    open_page(browser, path, width)
    wait = (
        "const done = arguments[0], wait = () => window.K3DInstance?.then ? K3DInstance.then(k => setTimeout(() => "
        "done(k.getWorld().ObjectsListJson ? Object.values(k.getWorld().ObjectsListJson).map(o => o.type) : []), 1500))"
        " : setTimeout(wait, 50); wait()"
    )
    return browser.execute_async_script(wait)


def pixels(browser, path):
    imread = pytest.importorskip("matplotlib.image").imread
    browser.save_screenshot(path)
    return imread(path)[..., :3]


def test_a_page_shows_all_objects_and_asks_for_nothing(browser, tmp_path):
    P, Q = pga.point(SPACE, [[0, 0, 0], [1, 1, 0]])
    motor = pga.translator(SPACE, [0, 0, 1])
    items = [P, P & Q, pga.plane(SPACE, [0, 0, 1], 0.5), motor, [P, Q]]
    draw.save(items, tmp_path / "scene.html", labels=[MARKUP, None, None, "M", None], title=f"</title>{MARKUP}")
    browser.get_log("performance")
    kinds = show(browser, tmp_path / "scene.html")
    assert sorted(kinds) == ["Lines"] * 5 + ["Mesh", "Points", "Text", "Text"]
    asked = [json.loads(entry["message"])["message"] for entry in browser.get_log("performance")]
    urls = [one["params"]["request"]["url"] for one in asked if one["method"] == "Network.requestWillBeSent"]
    assert urls
    assert [url for url in urls if url.startswith(("http", "ws"))] == []
    assert browser.title == f"</title>{MARKUP}"
    assert browser.execute_script("return document.images.length") == 0
    assert MARKUP in browser.execute_script("return document.body.textContent")
    assert [entry for entry in browser.get_log("browser") if entry["level"] == "SEVERE"] == []
    colors = np.round(255 * pixels(browser, tmp_path / "scene.png")).astype(int)
    for color in (0x1F77B4, 0xD62728):  # the point, an axis; the line is behind the plane
        wanted = np.array([color >> 16, color >> 8 & 255, color & 255])
        assert (np.abs(colors - wanted).max(axis=-1) < 25).sum() > 30, hex(color)


@pytest.mark.parametrize("width", [1200, 500])
def test_a_sphere_is_round_in_a_window_of_any_size(browser, tmp_path, width):
    draw.save(cga.sphere(CONFORMAL, [0, 0, 0], 0.7), tmp_path / "scene.html")
    assert show(browser, tmp_path / "scene.html", width) == ["Mesh"]
    image = pixels(browser, tmp_path / "scene.png")
    sphere = (np.ptp(image, axis=-1) > 0.2) & (image[..., 2] > image[..., 0])
    high, wide = (np.ptp(np.flatnonzero(sphere.any(axis=axis))) + 1 for axis in (1, 0))
    assert abs(wide / high - 1) < 0.1
    assert wide > 0.2 * width


def test_an_animation_plays_and_has_a_slider(browser, tmp_path):
    times, still, ball = moving()
    draw.save([still, ball, cga.intersect(still, ball)], tmp_path / "scene.html", times=times)
    assert sorted(show(browser, tmp_path / "scene.html")) == ["Lines", "Mesh", "Mesh"]
    now = "const done = arguments[0]; K3DInstance.then(k => done(k.parameters.time))"
    seen, until = set(), time.monotonic() + 60
    while len(seen) < 4:
        seen.add(browser.execute_async_script(now))
        assert time.monotonic() < until, f"the time stays {seen}"
    assert min(seen) >= 0
    assert max(seen) <= 2
    visible = (
        "return [...document.querySelectorAll('input, button')].filter(x => x.checkVisibility())"
        ".map(x => x.textContent || x.closest('.lil-controller, .controller')?.textContent)"
    )
    names = browser.execute_script(visible)
    assert {"Play loop", "Stop loop"} & set(names)
    assert "time" in names


# ---- views


def test_matplotlib_draws_one_time_of_a_scene():
    pyplot = pytest.importorskip("matplotlib.pyplot")
    times, still, ball = moving()
    points = cga.up(CONFORMAL, np.eye(3)[None])
    made = draw.scene([still, ball, cga.intersect(still, ball), points], times=times, labels=["S", None, None, None])
    axes = made.plot(frame=2)
    assert (len(axes.lines), len(axes.collections), [text.get_text() for text in axes.texts]) == (1, 3, ["S"])
    np.testing.assert_allclose(np.array(axes.lines[0].get_data_3d()).T, made.shapes[2].places[2, 0])
    assert made.plot(ax=axes) is axes
    refused("'frame' parameter", made.plot, frame=9)
    pyplot.close("all")
