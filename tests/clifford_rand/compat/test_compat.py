"""The layout for those who know ``clifford``, pictures, and the page that tells the differences."""

import json
import re
import time
from pathlib import Path

import numpy as np
import pytest
import sympy as sp

import clifford_rand as cr
from clifford_rand import draw
from clifford_rand.compat import Cl, conformalize
from clifford_rand.presets import cga, pga
from support.browser import open_page, start_browser

PAGE = Path(__file__).resolve().parents[3] / "docs" / "migration.md"


# ---- the layout


@pytest.mark.parametrize("counts", [(3,), (2, 1), (1, 3), (2, 0, 1), (3, 0, 1), (1, 1, 2), (0, 2), (0, 0, 2)])
def test_layout_lists_null_positive_negative_from_e1(counts):
    p, q, r = (*counts, 0, 0)[:3]
    d = p + q + r
    layout, blades = Cl(*counts)
    assert layout.sig.tolist() == [0] * r + [1] * p + [-1] * q
    assert (layout.dims, layout.gaDims) == (d, 2**d)
    assert layout.basis_names == [f"e{i + 1}" for i in range(d)]
    assert list(blades) == layout.names
    assert layout.names[0] == ""
    assert layout.gradeList == sorted(layout.gradeList)
    for i, vector in enumerate(layout.basis_vectors_lst):
        assert vector * vector == layout.sig[i]
        assert vector == blades[f"e{i + 1}"] == layout.basis_vectors[f"e{i + 1}"]
    assert layout.pseudoScalar == layout.I == blades[layout.names[-1]]
    assert layout.scalar == 1 == blades[""]
    assert np.array_equal(layout.metric, np.diag(layout.sig))


def test_coefficients_are_in_the_order_of_the_names():
    layout, blades = Cl(2, 1, 1)
    values = np.arange(1, 17)
    M = layout.MultiVector(value=values)
    assert sum(int(value) * blade for value, blade in zip(values, blades.values(), strict=True)) == M
    assert M.dense().coefficients.tolist() == values.tolist()
    assert layout.MultiVector(value=np.ones((5, 16))).shape == (5,)
    assert layout.MultiVector() == 0
    for k in range(5):
        assert np.array_equal(layout.grade_mask(k), np.array(layout.gradeList) == k)
        assert M.grade(k) == layout.MultiVector(value=np.where(layout.grade_mask(k), values, 0))
        assert layout.blades_of_grade(k) == [layout.blades_list[i] for i in np.flatnonzero(layout.grade_mask(k))]


def test_layout_options_and_texts():
    assert Cl(sig=[-1, 1, 0])[0].sig.tolist() == [-1, 1, 0]
    assert Cl(3, 0, 1, firstIdx=0)[0].basis_names == ["e0", "e1", "e2", "e3"]
    assert Cl(10)[0].names[10:12] == ["e10", "e12"]  # as clifford writes them, while no two blades are called alike
    assert Cl(12)[0].names[12:14] == ["e12", "e1_2"]  # where e12 would be two
    layout, blades = Cl(3)
    parsed = layout.parse_multivector("-(1.5^e1) + 2 - (3^e12)")
    assert parsed == 2 - 1.5 * blades["e1"] - 3 * blades["e12"]
    assert layout == Cl(3)[0]
    assert repr(layout) == (
        "Layout([1, 1, 1], ids=BasisVectorIds.ordered_integers(3), order=BasisBladeOrder.shortlex(3), "
        "names=['', 'e1', 'e2', 'e3', 'e12', 'e13', 'e23', 'e123'])"
    )
    assert layout.algebra == cr.Algebra(3)


def test_layout_says_what_is_wrong():
    for arguments, keywords in [((3,), {"sig": [1]}), ((-1,), {}), ((13,), {}), ((3,), {"firstIdx": -1})]:
        with pytest.raises(cr.ArgumentError, match="parameter of Cl"):
            Cl(*arguments, **keywords)
    layout = Cl(3)[0]
    with pytest.raises(cr.ArgumentError, match="8 components"):
        layout.MultiVector(value=[1, 2])
    with pytest.raises(cr.ArgumentError, match="'grade' parameter"):
        layout.grade_mask(4)
    with pytest.raises(cr.ArgumentError, match="must be a string"):
        layout.parse_multivector(3)


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_conformalize(n, dtype):
    base = Cl(n)[0]
    layout, _, stuff = conformalize(base)
    eo, einf, up, down = stuff["eo"], stuff["einf"], stuff["up"], stuff["down"]
    assert layout.sig.tolist() == [1] * (n + 1) + [-1]
    assert eo * eo == einf * einf == 0
    assert (eo | einf) == -1
    assert stuff["E0"] == (einf ^ eo)
    assert stuff["ep"] ** 2 == 1 == -(stuff["en"] ** 2)
    assert stuff["I_base"].grades == (n,)
    X, Y = np.random.default_rng(0).standard_normal((2, 6, n)).astype(dtype)
    x, y = up(base.algebra.vector(X)), up(base.algebra.vector(Y))
    tolerance = 20 * float(np.finfo(dtype).eps)
    assert x.dtype == dtype
    assert np.allclose((x * x)["1"], 0, atol=tolerance * 10)
    assert np.allclose((x | y)["1"], -((X - Y) ** 2).sum(-1) / 2, atol=tolerance * 10)
    assert np.allclose(down(3 * x).values[:, :n], X, atol=tolerance * 10)
    assert (down(x).values[:, n:] == 0).all()
    assert np.allclose(up(down(x)).values, x.values, atol=tolerance * 20)


# ---- pictures


def _drawn(made):
    return [entry for entry in made.entries if isinstance(entry, list)]


@pytest.mark.parametrize("n", [2, 3])
def test_projective_elements_are_taken_as_they_are(n):
    alg = cr.Algebra.pga(n)
    batch = alg.random_multivector(0, (4,), grades=n)
    made = draw.scene([batch, alg.e1])
    assert np.array_equal(_drawn(made)[:4], batch.dense().coefficients)
    assert made.signature == (0,) + (1,) * n
    # another order of the same basis vectors
    turned = cr.Algebra(signature=[1] * n + [0], names=[*(f"e{i + 1}" for i in range(n)), "e0"])
    assert draw.scene(turned("2*e1 + e0")).entries[1:] == draw.scene(alg("2*e1 + e0")).entries[1:]
    assert draw.scene(turned("e1*e0")).entries[1:] == draw.scene(alg("e1*e0")).entries[1:]


@pytest.mark.parametrize("n", [2, 3])
def test_conformal_null_basis_is_the_orthonormal_one(n):
    null, ortho = cr.Algebra.cga(n, null_basis=True), cr.Algebra.cga(n)
    ep, en = ortho.basis_vectors()[n:]
    origin, infinity = (en - ep) / 2, en + ep
    rng = np.random.default_rng(1)
    points = []
    for _ in range(3):
        x = rng.standard_normal(n)
        points.append(
            (
                null.eo + sum(v * e for v, e in zip(x, null.basis_vectors(), strict=False)) + x @ x / 2 * null.ei,
                origin + sum(v * e for v, e in zip(x, ortho.basis_vectors(), strict=False)) + x @ x / 2 * infinity,
            )
        )
    (a, A), (b, B), (c, C) = points
    for given, wanted in ((a, A), (a ^ b, A ^ B), (a ^ b ^ c, A ^ B ^ C)):
        assert np.allclose(_drawn(draw.scene(given))[0], wanted.dense().coefficients, atol=1e-13)


@pytest.mark.parametrize("n", [2, 3])
def test_euclidean_vectors_are_arrows_from_the_origin(n):
    X = np.random.default_rng(2).standard_normal((5, n))
    alg = cr.Algebra.pga(n)
    arrows = _drawn(draw.scene(cr.Algebra(n).vector(X)))
    for (start, end), x in zip(arrows, X, strict=True):
        for element, place in ((start, np.zeros(n)), (end, x)):
            point = alg.multivector(element)
            assert point.sparse().grades == (n,)
            for i in range(n):  # the planes x_i = place_i meet in the point
                plane = alg.vector(np.concatenate([[-place[i]], np.eye(n)[i]]))
                assert (plane ^ point).isclose(0, atol=1e-14)


def test_colours_labels_and_polygons():
    alg = cr.Algebra.pga(2)
    corners = [alg.vector([1.0, x, y]).left_complement() for x, y in ((0, 0), (1, 0), (1, 1))]
    made = draw.scene([corners, alg.e1], colors=["red", "#0000ff"], labels=["a triangle", None])
    assert made.entries[0] == 0xD62728
    assert len(made.entries[1]) == 3
    assert made.entries[2:4] == ["a triangle", 0x0000FF]
    assert draw.scene(alg.e1, colors=(255, 0, 1)).entries[0] == 0xFF0001
    assert draw.scene([alg.e1, alg.e2], colors=0x123456).entries[::2] == [0x123456] * 2
    octagon = draw.scene([[corners[0]] * 8], labels=["8 corner"])  # lengths that ganja.js takes for a multivector
    assert len(octagon.entries[1]) == 9
    assert octagon.entries[2] == "8 corner "
    assert repr(made) == "<Scene of 2 objects in Algebra(2, 0, 1)>"


def test_the_script_holds_numbers_in_a_string():
    """ganja.js reads 1e-7 in code as a multiple of a blade."""
    made = draw.scene(1e-7 * cr.Algebra.pga(2).e1, labels=["</script><b>"])
    script = made.script()
    literal = re.match(r'JSON\.parse\((".*")\)\.map', script).group(1)
    assert json.loads(json.loads(literal))[1]["v"][2] == 1e-7
    assert "<" not in script
    assert "1e-7" not in script.replace(literal, "")


def test_scene_says_what_is_wrong():
    alg = cr.Algebra.pga(2)
    wrong = [
        ([], "at least one multivector"),
        ([[]], "at least one multivector"),
        ([3], "must be multivectors. Got int 3"),
        ([alg.e1, cr.Algebra(2).e1], "of one algebra"),
        (cr.Algebra(5).e1, "the projective plane, projective space"),
        (cr.Algebra(metric=[[2, 0], [0, 1]]).e1, "in an orthonormal basis"),
        (cr.Algebra(2).e12, "vectors, in a Euclidean algebra"),
        (1j * alg.e1, "finite real coefficients"),
        (np.nan * alg.e1, "finite real coefficients"),
        (sp.Symbol("a") * alg.e1, "finite real coefficients"),
    ]
    for items, message in wrong:
        with pytest.raises(cr.ArgumentError, match=message):
            draw.scene(items)
    for colors in ("pink", "#12", [1, 2, 3, 4], -1, (300, 0, 0)):
        with pytest.raises(cr.ArgumentError, match="'colors' parameter"):
            draw.scene([alg.e1, alg.e2], colors=colors)
    for labels in ("ab", ["a"]):
        with pytest.raises(cr.ArgumentError, match="'labels' parameter"):
            draw.scene([alg.e1, alg.e2], labels=labels)


def test_the_page_of_a_scene(tmp_path):
    pytest.importorskip("pyganja")
    made = draw.scene(cr.Algebra.pga(3).e123, labels=["origin"], grid=True)
    page = made.html()
    assert made.script() in page
    assert '"p": 3, "q": 0, "r": 1' in page
    assert '"grid": true' in page
    assert page.count("<SCRIPT>") == 3
    assert made._repr_html_().startswith("<iframe srcdoc=")
    made.save(tmp_path / "scene.html")
    assert (tmp_path / "scene.html").read_text(encoding="utf-8") == page


def test_a_sphere_is_drawn_round_in_a_window_of_any_size(tmp_path):
    pytest.importorskip("pyganja")
    imread = pytest.importorskip("matplotlib.image").imread
    alg = cr.Algebra.cga(3)
    draw.scene([cga.sphere(alg, [0, 0, 0], 0.7), cga.up(alg, [1.5, 0.2, 0])]).save(tmp_path / "scene.html")
    browser = start_browser(tmp_path)
    try:
        for width in (1200, 500, 900):  # the last by a change of the size of the window
            if width != 900:
                open_page(browser, tmp_path / "scene.html", width)
            else:
                size = {"width": width, "height": 400, "deviceScaleFactor": 1, "mobile": False}
                browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
            time.sleep(1)  # until it is drawn
            browser.save_screenshot(tmp_path / "scene.png")
            pixels = imread(tmp_path / "scene.png")[..., :3]
            colored = np.ptp(pixels, axis=-1) > 0.05
            sphere = colored & (pixels[..., 2] > pixels[..., 0])
            high, wide = (np.ptp(np.flatnonzero(sphere.any(axis=axis))) + 1 for axis in (1, 0))
            assert abs(wide / high - 1) < 0.05, (width, wide, high)
            assert wide > 0.2 * width
            if width != 500:  # where the point is outside
                assert (colored & (pixels[..., 0] > 0.9)).sum() > 60  # the orange point
    finally:
        browser.quit()


@pytest.mark.parametrize("name", ["scene.png", "scene.PDF", "scene.svg"])
def test_a_scene_is_no_picture_file(tmp_path, name):
    scene = draw.scene(cr.Algebra.pga(2).e12)
    with pytest.raises(cr.ArgumentError, match=r"'path' parameter of Scene\.save must be .*\.html.*Matplotlib"):
        scene.save(tmp_path / name)
    assert not list(tmp_path.iterdir())


def test_without_pyganja_one_sentence_says_what_to_install(monkeypatch):
    monkeypatch.setattr("clifford_rand._optional.available", lambda module: False)
    with pytest.raises(cr.MissingDependencyError, match=r'drawing needs pyganja: pip install "pyganja>='):
        draw.scene(cr.Algebra.pga(2).e1).html()


# ---- the page


@pytest.mark.parametrize(
    ("prefix", "owner", "least"),
    [("(?:A|R|M)", cr.Algebra(3).e1, 26), ("alg", cr.Algebra(3), 1), ("pga", pga, 6), ("cr", cr, 3)],
)
def test_migration_page_names_only_what_exists(prefix, owner, least):
    """Every method and function in the column of this library is there."""
    rows = [row.split(" | ")[-1] for row in PAGE.read_text(encoding="utf-8").splitlines() if row.startswith("| `")]
    names = {name for row in rows for name in re.findall(rf"\b{prefix}\.(\w+)", row)}
    assert len(rows) > 40
    assert len(names) >= least
    assert owner is not cr or {"slerp", "motor_from_points", "rotor_from_matrix"} <= names
    assert [name for name in sorted(names) if not hasattr(owner, name)] == []
