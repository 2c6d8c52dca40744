"""Classification of conformal blades with their parameters, and points on them."""

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.presets import cga
from support.geometry import BASES, CGA, MODELS, close, gaussian, same, through
from support.refusals import refused


def frame(seed, batch, m, n):
    """Orthonormal rows (batch, m, n)."""
    return np.swapaxes(np.linalg.qr(gaussian(seed, batch, n, max(m, 1)))[0], -1, -2)[:, :m]


def rounds(alg, c, r, U):
    """The round with center c, radius r and directions U (batch, m, n): through m + 1 of its points."""
    m = U.shape[-2]
    points = [c + r[:, None] * U[:, i] for i in range(m)] + [c - r[:, None] * U[:, 0]]
    return through(alg, points)


def flats(alg, c, U):
    return through(alg, [c] + [c + U[:, i] for i in range(U.shape[-2])], cga.infinity(alg))


def projector(U):
    return np.swapaxes(U, -1, -2) @ U


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_rounds_have_center_radius_and_direction(n, null):
    alg = CGA[n, null]
    for m in range(1, n + 1):
        c, r, U = gaussian(m, 6, n), np.exp(gaussian(m + 1, 6)), frame(m + 2, 6, m, n)
        X = rounds(alg, c, r, U) * -2.5
        found = cga.classify(X)
        assert (found.kind == "round").all()
        assert (found.dimension == m).all()
        assert not found.is_imaginary().any()
        assert found.has_points.all()
        close(found.location, c, 1e-9)
        close(found.radius, r, 1e-9)
        close(projector(found.directions()), projector(U), 1e-9)
        for other in (cga.classify(X.dual(), dual=True), cga.classify(found.blade(dual=True), dual=True)):
            close(other.location, c, 1e-9)
        close(found.blade().coefficients, X.coefficients, 1e-10)
        names = {1: "point pair", 2: "circle", 3: "sphere"}
        assert (found.name == names.get(m, f"{m - 1}-sphere")).all()


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_flats_have_direction_and_the_point_nearest_to_the_origin(n, null):
    alg = CGA[n, null]
    for m in range(n + 1):
        c, U = gaussian(m, 6, n), frame(m + 2, 6, m, n)
        X = flats(alg, c, U) * 3.0
        found = cga.classify(X)
        assert (found.name == {0: "flat point", 1: "line", 2: "plane"}.get(m, f"{m}-flat")).all()
        close(found.location, c - (projector(U) @ c[..., None])[..., 0])
        close(projector(found.directions()), projector(U))
        close(found.blade().coefficients, X.coefficients)
        assert np.isnan(found.radius).all()
        free = cga.classify(cga.infinity(alg) << X)  # E ∧ n_∞
        assert (free.name == ("direction" if m else "infinity")).all()
        assert not free.has_points.any()
        close(free.blade().coefficients, (cga.infinity(alg) << X).coefficients)
        dual = cga.classify(X.dual())
        assert (dual.kind == "dual flat").all()
        close(dual.blade().coefficients, X.dual().coefficients)


@pytest.mark.parametrize(("n", "null"), MODELS)
def test_objects_from_parameters_are_those_through_points(n, null):
    alg = CGA[n, null]
    for m in range(n + 1):
        c, r, U = gaussian(m, 6, n), np.exp(gaussian(m + 1, 6)), frame(m + 2, 6, m, n)
        skew = (np.triu(np.ones((m, m))) + np.eye(m)) @ U  # independent, not orthogonal
        X = cga.flat(alg, c, skew)
        assert X.isclose(cga.classify(X).blade(), rtol=1e-9).all()
        same(X, flats(alg, c, U))
        same(cga.flat(alg, c, skew, dual=True), X.dual())
        if m:
            Y = cga.round_about(alg, c, r, skew)
            same(Y, rounds(alg, c, r, U))
            close(cga.classify(Y).radius, r, 1e-9)
            same(cga.round_about(alg, c, r, skew, dual=True), Y.dual())
            assert (cga.classify(cga.round_about(alg, c, 0.0, skew)).kind == "tangent").all()
    if n == 3:
        normal = np.cross(U[:, 0], U[:, 1])
        same(cga.round_about(alg, c, r, U[:, :2]), cga.circle(alg, c, r, normal))
        same(cga.flat(alg, c, U[:, :1]), cga.line(alg, c, direction=U[:, 0]))
    same(cga.round_about(alg, c, r, U), cga.sphere(alg, c, r))


@pytest.mark.parametrize("alg", BASES)
def test_tangents_and_imaginary_rounds(alg):
    """A sphere meets planes at a distance h of its center in circles of radius² r² - h²."""
    c, N = gaussian(1, 3), np.array([0.0, 0.6, 0.8])
    heights = np.array([0.5, 1.0, 2.0])
    S, planes = cga.sphere(alg, c, 1.0), cga.plane(alg, N, N @ c + heights)
    found = cga.classify(cga.meet(S, planes))
    assert found.name.tolist() == ["circle", "tangent", "imaginary circle"]
    assert found.has_points.tolist() == [True, True, False]
    close(found.radius_squared, 1 - heights**2)
    close(found.location, c + heights[:, None] * N)
    assert np.isnan(found.radius[2])
    assert repr(found) == "ConformalObject(1 × circle, 1 × imaginary circle, 1 × tangent, shape=(3,))"
    assert str(found[1].name) == "tangent"
    point = cga.classify(cga.up(alg, c))
    assert str(point.name) == "point"
    assert point.radius == 0
    assert str(cga.classify(cga.up(alg, c), dual=True).name) == "tangent"  # a sphere of radius 0
    assert str(cga.classify(cga.sphere(alg, c, 1.0, dual=True)).name) == "dual sphere"


@pytest.mark.parametrize("alg", BASES)
def test_batches_of_many_kinds(alg):
    A, B, C = (gaussian(seed, 3) for seed in (1, 2, 3))
    circle = through(alg, [A, B, C])
    line = through(alg, [A, B], cga.infinity(alg))
    pair = through(alg, [A, C])
    batch = alg.multivector(
        np.stack([X.dense().coefficients for X in (circle, line, pair, cga.up(alg, A))]).reshape(2, 2, 32)
    )
    found = cga.classify(batch)
    assert found.name.tolist() == [["circle", "line"], ["point pair", "point"]]
    assert found.grade.tolist() == [[3, 3], [2, 1]]
    close(found.location[1], [(A + C) / 2, A])
    close(found.blade().dense().coefficients, batch.coefficients)
    assert found[0].name.tolist() == ["circle", "line"]


@pytest.mark.parametrize(("n", "null"), [(2, True), (3, False), (3, True), (4, False)])
def test_motors_move_the_parameters(n, null):
    alg = CGA[n, null]
    t, angle, factor = gaussian(1, n), 0.7, 1.9
    V = cga.translator(alg, t) * cga.rotor(alg, alg.e1 ^ alg.e2, angle) * cga.dilator(alg, factor)
    Q = np.eye(n)
    Q[:2, :2] = [[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]]
    for m in range(1, n + 1):
        c, r, U = gaussian(m, 6, n), np.exp(gaussian(m + 1, 6)), frame(m + 2, 6, m, n)
        X = rounds(alg, c, r, U)
        before, after = cga.classify(X), cga.classify(V >> X)
        close(after.location, factor * before.location @ Q.T + t, 1e-9)
        close(after.radius, factor * before.radius, 1e-9)
        close(projector(after.directions()), projector(before.directions() @ Q.T), 1e-9)
        close(after.direction.coefficients, before.direction.outermorphism(Q).coefficients, 1e-9)


@pytest.mark.parametrize("alg", BASES)
def test_scales_and_single_precision(alg):
    X = cga.circle(alg, [1.0, 2.0, 3.0], 2.0, [0.0, 0.0, 1.0])
    for scale in (1e150, 1e-150):
        found = cga.classify(X * scale)
        assert float(found.radius) == pytest.approx(2, rel=1e-12)
        assert float(found.weight / (scale * cga.classify(X).weight)) == pytest.approx(1, rel=1e-12)
    assert cga.classify(X.astype(np.float32)).name == "circle"
    assert cga.classify(X.new(X.keys, np.zeros((0, X.keys.size)))).blade().shape == (0,)


@pytest.mark.parametrize("alg", BASES)
def test_points_lie_on_what_they_are_sampled_from(alg):
    c, N = gaussian(1, 4, 3), gaussian(2, 4, 3)
    S, C, L = cga.sphere(alg, c, 2.0), cga.circle(alg, c, 2.0, N), cga.line(alg, c, direction=N)
    P, pair = cga.plane(alg, N, 1.0), cga.point_pair(alg, c, N)
    for X, count, shape in ((S, (5, 7), (5, 7)), (C, 9, (9,)), (L, 6, (6,)), (P, 3, (3, 3)), (pair, 1, (2,))):
        points = cga.sample(X, count, extent=3.0)
        assert points.shape == (4, *shape, 3)
        for i in range(4):
            assert cga.contains_point(X[i], cga.up(alg, points[i]), rtol=1e-10).all()
    circle = cga.sample(C, 9)
    close(circle[:, 0], circle[:, -1])
    close(np.linalg.norm(np.diff(circle, axis=1), axis=-1), np.full((4, 8), 4 * np.sin(np.pi / 8)))
    line = cga.sample(L, 3, extent=2.0, around=[5.0, 5.0, 5.0])
    close(np.linalg.norm(line[:, 2] - line[:, 0], axis=-1), np.full(4, 4.0))
    close(((line[:, 1] - 5) * N).sum(-1), np.zeros(4))  # the middle is the foot of what it is taken around
    close(cga.sample(cga.up(alg, c)), c)
    close(cga.sample(cga.classify(S), (3, 3))[:, 0, 0] - c, cga.sample(S, (3, 3))[:, 0, 0] - c)


@pytest.mark.slow
@pytest.mark.parametrize("library", ["torch", "jax"])
def test_points_on_tensors_are_tensors(library):
    lib = pytest.importorskip(library)
    if library == "jax":
        lib.config.update("jax_enable_x64", True)
    asarray = lib.tensor if library == "torch" else lib.numpy.asarray
    alg = CGA[3, True]
    made = {
        (5, 7): cga.sphere(alg, [0, 1, 2], 2.0), 9: cga.circle(alg, [0, 1, 2], 2.0, [0, 0, 1]),
        6: cga.line(alg, [0, 1, 2], [1, 3, 4]), (3, 4): cga.plane(alg, [0, 0, 1], 1.0), 1: cga.up(alg, [0.0, 1.0, 2.0]),
    }  # fmt: skip
    for count, X in made.items():
        for options in ({}, {"around": [1.0, 1.0, 1.0]}):
            expected = cga.sample(X, count, **options)
            found = cga.sample(alg.multivector(asarray(X.values.copy()), X.grades), count, **options)
            assert not isinstance(found, np.ndarray)
            close(np.asarray(found), expected)


@pytest.mark.slow  # loads PyTorch
@pytest.mark.parametrize("work", ["directions", "blade"])
def test_what_tensors_cannot_do_is_refused_by_name(work):
    torch = pytest.importorskip("torch")
    X = cga.circle(cr.Algebra.cga(3), torch.tensor([1.0, 2, 3], dtype=torch.float64), 2, [0, 0, 1])
    assert cga.classify(X).name == "circle"
    refused(r"a multivector of NumPy arrays\. Got a multivector of torch", getattr(cga.classify(X), work))


@pytest.mark.parametrize("null", [False, True])
def test_what_is_no_blade_is_refused(null):
    alg = cr.Algebra.cga(3, null_basis=null)
    rng = np.random.default_rng(3)
    circles = cga.circle(alg, rng.standard_normal((2, 3)), 1.0, rng.standard_normal((2, 3)))
    assert (cga.classify(circles).name == "circle").all()
    a, b, c, d, _ = alg.basis_vectors()
    for X in (
        circles.sum(),
        1e-9 * circles.sum(),
        cr.concatenate([circles, circles.sum(keepdims=True)]),
        (a ^ b) + (c ^ d),
    ):
        refused(r"'X' parameter of classify must be blades\. .*grade (2|3) whose X ~X", cga.classify, X)
    refused("must be blades", cga.distance, circles.sum(), circles[0])


@pytest.mark.parametrize(
    ("given", "name"),
    [({"n_points": None}, "n_points"), ({"n_points": 2.5}, "n_points"), ({"n_points": 10**12}, "n_points"),
     ({"n_points": 10**400}, "n_points"), ({"extent": None}, "extent"), ({"extent": "wide"}, "extent"),
     ({"extent": -1.0}, "extent")],
)  # fmt: skip
def test_samples_are_of_counted_points_and_some_extent(given, name):
    alg = CGA[3, False]
    for X in (cga.circle(alg, [1, 2, 3], 2, [0, 0, 1]), cga.line(alg, [1, 2, 3], direction=[0, 0, 1])):
        refused(f"'{name}' parameter of sample", cga.sample, X, **{"n_points": 4} | given)


@pytest.mark.parametrize("measure", [cga.radius, cga.radius_squared])
def test_what_is_no_blade_has_no_radius(measure):
    alg = CGA[3, False]
    refused(r"must be blades. Got a multivector of grade", measure, cga.circle(alg, [1, 2, 3], 2, [0, 0, 1]).map(round))


def test_denormal_blades_are_classified_as_their_multiples():
    X = cga.circle(CGA[3, False], [0, 0, 0], 1, [0, 0, 1])
    tiny = X.map(lambda x: np.sign(round(float(x), 9)) * 5e-324)
    found = cga.classify(tiny)
    assert found.name == "circle"
    assert found.location.tolist() == [0.0, 0.0, 0.0]


@pytest.mark.parametrize("null", [False, True])
@pytest.mark.parametrize("size", [1e-6, 0.01, 0.1, 1.0, 1e3])
def test_points_are_points_wherever_they_are(null, size):
    """Near the origin their components e4 and e5 are 1/2, whose rounding is more than x²."""
    x = size * gaussian(0, 20_000, 3)
    found = cga.classify(cga.up(CGA[3, null], x) * np.linspace(0.3, 3, 20_000))
    assert set(found.kind) == {"tangent"}
    np.testing.assert_allclose(found.location, x, rtol=1e-8, atol=1e-12 * size)  # units of rounding of x²: 2e-9
