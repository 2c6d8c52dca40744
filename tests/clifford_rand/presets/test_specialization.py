"""Laws of every function of the models, and their traced paths: in batches, of tensors, and their gradients."""

import itertools
from pathlib import Path

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.fusion import specialization
from clifford_rand.fusion.kernel import fields_of
from clifford_rand.presets import cga, pga, sta
from support.geometry import same_results
from support.refusals import refused

SPACE, CONFORMAL, TIME = cr.Algebra.pga(3), cr.Algebra.cga(3), cr.Algebra.sta()
RNG = np.random.default_rng(3)
LINES = {pga.line: pga.elements._line, cga.line: cga.objects._line}  # what is traced of them


@pytest.fixture
def bench(monkeypatch):
    """The table of calls of all public functions, which the benchmark has."""
    monkeypatch.syspath_prepend(Path(__file__).parents[2] / "benchmarks")
    import bench_presets

    return bench_presets


def arrays_of(result):
    """Return the arrays of a result of any structure."""
    fields = fields_of(result)
    if fields is not None:
        return [array for part in fields for array in arrays_of(part)]
    if isinstance(result, cr.Algebra):
        return []
    return [result.coefficients if isinstance(result, cr.Multivector) else np.asarray(result)]


@pytest.mark.parametrize("shape", [(), pytest.param((8,), marks=pytest.mark.slow)], ids=["one", "batch"])
def test_paths_are_the_functions(shape, bench, monkeypatch):
    """Each on several arguments, of which later ones meet a path that an earlier one has traced, or its guards."""
    monkeypatch.setattr(specialization, "COMPILED_FROM", 8)
    plain, untraced = lambda self, args, kwargs: self.function(*args, **kwargs), set()
    for (name, model), seed in itertools.product(bench.MODELS.items(), range(3)):
        for key, work in bench.calls(shape, name, seed).items():
            if key.endswith("_rotation"):
                continue  # of SciPy
            with monkeypatch.context() as patch:
                patch.setattr(specialization.Specialization, "__call__", plain)
                expected = work()
            assert same_results(work(), expected), key
            if not key.startswith(bench.SEARCHES):
                function = LINES.get(getattr(model, key), getattr(model, key)).specialization
                untraced |= {key} - {key for kind in function._kinds.values() if kind.paths}
    assert untraced == set()


@pytest.mark.parametrize("shape", [(), (8,)], ids=["one", "batch"])
@pytest.mark.parametrize("model", ["pga", "cga"])
def test_lines_that_are_not_in_the_table(model, shape, monkeypatch):
    """Those of projective space along a direction, and conformal ones through two points."""
    monkeypatch.setattr(specialization, "COMPILED_FROM", 8)
    line = LINES[pga.line if model == "pga" else cga.line].specialization
    line._kinds.clear()
    line._equal.clear()
    for _ in range(3):
        x, y = RNG.standard_normal((2, *shape, 3))
        args = (SPACE, x, None, y) if model == "pga" else (CONFORMAL, x, y, None)
        found = pga.line(SPACE, x, direction=y) if model == "pga" else cga.line(CONFORMAL, x, y)
        assert same_results(found, line.function(*args))
    assert any(kind.paths for kind in line._kinds.values())


def test_the_table_omits_no_function(bench):
    for name, model in bench.MODELS.items():
        assert set(bench.calls((), name)) == bench.public(model)


@pytest.mark.parametrize("model", ["pga", "cga", "sta"])
def test_single_precision_stays_and_empty_batches_are_empty(model, bench):
    """Also with Python numbers beside single precision."""
    others = {"origin", "infinity", "motor_from_rotation", "motor_to_rotation"}  # constants; SciPy's are double
    for shape in ((), (5,), (0,)):
        for name, work in bench.calls(shape, model, dtype=np.float32).items():
            if name in others | ({"sample"} if shape == (0,) else set()):
                continue  # samples are those of one object or more
            for array in arrays_of(work()):
                assert array.dtype == np.float32 or array.dtype.kind not in "fc", name
                assert array.shape[: len(shape)] == shape, name


@pytest.mark.slow
def test_elements_whose_guards_fail_go_other_ways(monkeypatch):
    monkeypatch.setattr(specialization, "COMPILED_FROM", 2)
    radius, offset = np.array([3.0, 3.0, 3.0, 3.0]), np.array([1.0, 3.0, 5.0, 2.0])
    S, P = cga.sphere(CONFORMAL, np.zeros((4, 3)), radius), cga.plane(CONFORMAL, np.tile([0, 0, 1.0], (4, 1)), offset)
    meets = cga.intersect(S, P)
    assert meets.name.tolist() == ["circle", "tangent", "imaginary circle", "circle"]
    np.testing.assert_allclose(meets.radius_squared, radius**2 - offset**2, atol=1e-12)
    P = pga.point(SPACE, [[1.0, 2, 3], [4, 5, 6]])
    refused("weight", pga.coordinates, P * np.array([1.0, 0]) + pga.direction(SPACE, [1.0, 0, 0]))


def test_errors_are_those_of_the_functions():
    for _ in range(3):  # before and after a path is there
        assert pga.norm(pga.line(SPACE, [0, 0, 0], [1.0, 0, 0])) == 1
        refused("'Q' parameter of line must be another point than P", pga.line, SPACE, [1.0, 2, 3], [1.0, 2, 3])
        refused("finite", pga.point, SPACE, [1.0, np.nan, 3])
        with pytest.raises(cr.ArgumentError, match="imaginary"):
            cga.radius(cga.meet(cga.sphere(CONFORMAL, [0, 0, 0], 1.0), cga.plane(CONFORMAL, [0, 0, 1.0], 2.0)))
        refused("slower than light", sta.boost, TIME, [0.0, 1.5, 0])
        with pytest.raises(TypeError):
            pga.point(SPACE)


@specialization.specialized(x=1)
def scaled(x, *, factor=1):
    """A function of which arrays of traced scalars make another one, which has no place in a path."""
    return np.asanyarray(x) * (2.0 if type(x) in (list, np.ndarray) else 3.0)


@specialization.specialized(x=1)
def described(x, *, factor=1):
    """A function whose results tell what its arguments are: options, dtypes, shapes."""
    x = np.asanyarray(x)
    return np.asarray(f"{factor!r} {x.dtype} {x.shape[-1]}"), x * x.shape[-1]


def test_a_trace_of_another_result_is_discarded():
    for _ in range(3):
        assert scaled([1.0, 2.0]).tolist() == [2, 4]
    assert not any(kind.paths for kind in scaled.specialization._kinds.values())


def test_failures_close_no_kind_for_good():
    """Neither errors of the function, nor arguments that cannot be traced."""

    @specialization.specialized(x=1)
    def size(x):
        if np.asanyarray(x)[..., 0] == 0:
            raise ValueError("zero")
        total = np.sum(x)
        return total if total < 10 else np.float64(np.format_float_scientific(np.sum(x)))  # no text is traced

    def paths():
        return sum(len(kind.paths) for kind in size.specialization._kinds.values())

    for _ in range(2 * specialization.MOST_PATHS):
        refused("zero", size, [0.0, 1.0], error=ValueError)
    assert size([1.0, 2.0]) == 3
    assert paths() == 1

    size.specialization._kinds.clear()
    size.specialization._equal.clear()
    for _ in range(2 * specialization.MOST_PATHS):
        assert size([10.0, 1.0]) == 11
    assert paths() == 0
    for _ in range(2 * specialization.MOST_PATHS):
        assert size([1.0, 2.0]) == 3
    assert paths() == 1


def test_arguments_of_several_kinds_have_several_paths():
    for _ in range(2):
        for x in (np.ones(2), np.ones(3), np.ones(2, dtype=np.float32)):
            for factor in (1, True, 1.0):
                text, values = described(x, factor=factor)
                assert text == f"{factor!r} {x.dtype} {len(x)}"
                assert values.dtype == x.dtype
                assert values.tolist() == [len(x)] * len(x)
    assert [len(kind.paths) for kind in described.specialization._kinds.values()] == [1] * 9
    for _ in range(2):
        for dtype in (np.float32, np.float64):
            assert pga.norm(pga.line(SPACE, [0, 0, 0], [1.0, 0, 0]).astype(dtype)).dtype == dtype


def test_the_path_that_served_last_is_tried_first():
    distance = specialization.specialized(x=1)(lambda x: x[..., 0] if np.asanyarray(x)[..., 0] > 0 else -x[..., 0])
    for value in (1.0, -2.0, 3.0, -4.0, -5.0):
        assert distance(np.array([value])) == abs(value)
        (kind,) = distance.specialization._kinds.values()
        assert len(kind.paths) <= 2
        served = [path.run([[value]]) is not None for path in kind.paths]
        assert served.count(True) == 1
        assert served[0] or value == -2.0  # that path was new


def test_equal_algebras_share_their_paths():
    for _ in range(3):
        distance = pga.distance(*(pga.point(cr.Algebra.pga(3), x) for x in ([0.0, 0, 0], [3.0, 4, 0])))
        assert distance == pytest.approx(5, rel=1e-12)
    number = len(pga.point.specialization._equal)
    assert number > 0
    pga.point(cr.Algebra.pga(3), [1.0, 2, 3])
    assert len(pga.point.specialization._equal) == number


def test_batches_that_have_another_form_are_not_traced(monkeypatch):
    monkeypatch.setattr(specialization, "COMPILED_FROM", 2)
    total = specialization.specialized(x=1)(lambda x: np.sum(x))  # of a batch one number
    assert total(np.ones((4, 3))) == 12


def test_tensors_of_several_paths_keep_their_order():
    """Lines that are parallel or skew to the first axis: their distances are |(y, z)| and |z|."""
    torch = pytest.importorskip("torch")
    k = torch.arange(1.0, 5, dtype=torch.float64)
    P = torch.stack([k, 3 * k, 4 * k], dim=-1)
    Q = P + torch.tensor([[1.0, 0, 0], [0, 1, 0], [1, 0, 0], [1, 1, 0]], dtype=torch.float64)
    axis = pga.line(SPACE, [0, 0, 0], [1.0, 0, 0])
    np.testing.assert_allclose(pga.distance(pga.line(SPACE, P, Q), axis), [5, 8, 15, 16], rtol=1e-12)


def test_tensors_of_several_paths_have_their_own_kinds():
    """Planes that meet a sphere, touch it and miss it: what is constant along a path differs between elements."""
    torch = pytest.importorskip("torch")
    offset = torch.tensor([[1.0, 3, 5], [2, 3, 4]], dtype=torch.float64, requires_grad=True)
    normal, sphere = np.tile([0, 0, 1.0], (2, 3, 1)), cga.sphere(CONFORMAL, np.zeros(3), 3.0)
    meets = cga.intersect(sphere, cga.plane(CONFORMAL, normal, offset))
    assert meets.kind.tolist() == [["round", "tangent", "round"]] * 2
    expected = 9 - offset.detach().numpy() ** 2
    np.testing.assert_allclose(meets.radius_squared.detach().numpy(), expected, atol=1e-12)
    meets.radius_squared.sum().backward()
    slope = np.where(offset.detach() == 3, 0, -2 * offset.detach())  # that of a tangent is the constant 0
    np.testing.assert_allclose(offset.grad, slope, rtol=1e-9)


def test_arrays_beside_tensors_are_where_those_are():
    """Also where PyTorch places new tensors elsewhere."""
    torch = pytest.importorskip("torch")
    k = torch.arange(1.0, 5, dtype=torch.float64)
    P, normal = torch.stack([k, 3 * k, 4 * k], dim=-1), np.tile([0, 0, 1.0], (4, 1))
    with torch.device("meta"):
        distances = pga.distance(pga.line(SPACE, P, np.zeros((4, 3))), pga.point(SPACE, [1.0, 0, 0]))
        meets = cga.intersect(cga.sphere(CONFORMAL, P, np.full(4, 20.0)), cga.plane(CONFORMAL, normal, k))
        curves = cga.sample(cga.circle(CONFORMAL, P, k, normal))
    assert {x.device.type for x in (distances, meets.location, meets.direction.coefficients, curves)} == {"cpu"}


def test_batches_of_tensors_of_several_kinds_have_no_samples():
    torch = pytest.importorskip("torch")
    circle, line = (
        cga.circle(CONFORMAL, [0.0, 0, 0], 1.0, [0, 0, 1]),
        cga.line(CONFORMAL, [1.0, 0, 0], direction=[0, 0, 1]),
    )
    rows = [torch.tensor(X.values, requires_grad=True) for X in (circle, circle, line)]
    curves = cga.sample(CONFORMAL.multivector(torch.stack(rows[:2]), (3,)), 5)
    np.testing.assert_allclose(curves.detach().numpy(), [cga.sample(circle, 5)] * 2, atol=1e-12)
    refused(r"of one kind\. Got circle, line", cga.sample, CONFORMAL.multivector(torch.stack(rows), (3,)))


def test_tensors_that_are_not_traced_are_refused():
    torch = pytest.importorskip("torch")
    M = pga.motor(SPACE, LINE, 0.3, 1.0)
    motor = SPACE.multivector(torch.tensor(M.values, requires_grad=True), M.grades)
    refused(r"'M' parameter of motor_to_rotation must be .* NumPy", pga.motor_to_rotation, motor)
    text = specialization.specialized(x=1)(lambda x: np.float64(np.format_float_scientific(np.sum(np.asarray(x)))))
    assert text([1.0, 2.0]) == 3
    refused("arrays of NumPy for these values", text, torch.tensor([1.0, 2.0], requires_grad=True))


def test_what_tensors_are_is_told_with_a_gradient():
    torch = pytest.importorskip("torch")
    center = torch.tensor([[1.0, 2, 3], [4, 5, 6]], dtype=torch.float64, requires_grad=True)
    found = cga.classify(cga.sphere(CONFORMAL, center, 2.0))
    assert found.name.tolist() == ["sphere", "sphere"]
    assert not found.is_imaginary().any()
    assert found[1].has_points
    assert repr(found[0]) == "ConformalObject(sphere, direction=-e123, location=[1.0, 2.0, 3.0], radius_squared=4)"
    found.radius.sum().backward()
    np.testing.assert_allclose(center.grad, 0, atol=1e-12)


LINE = pga.line(SPACE, [1.0, 0, 0], [1.0, 0.3, 1])
RAIL = cga.line(CONFORMAL, [4.0, 1, 2], direction=[1.0, 0.3, 1])
PLANE = pga.plane(SPACE, [0.0, 0.6, 0.8], 0.5)
GRADIENTS = {
    "project": lambda t: pga.coordinates(pga.project(pga.point(SPACE, t), LINE)),
    "screw": lambda t: pga.screw(pga.motor(SPACE, LINE, t[..., 0], t[..., 1])).shift,
    "motor": lambda t: pga.coordinates(pga.motor(SPACE, LINE, t[..., 0], t[..., 1]) >> pga.point(SPACE, t)),
    "angle": lambda t: pga.angle(pga.line(SPACE, np.zeros(3), t), PLANE),
    "radius": lambda t: cga.radius(cga.circle(CONFORMAL, t, 1 + t[..., 0] ** 2, t)),
    "intersect": lambda t: cga.intersect(cga.sphere(CONFORMAL, t, 3.0), cga.plane(CONFORMAL, t, 0.5)).radius_squared,
    "line and circle": lambda t: cga.distance(cga.circle(CONFORMAL, t, 1.5, [0, 0, 1]), RAIL),
    "circles": lambda t: cga.distance(cga.circle(CONFORMAL, t, 1.5, t), cga.circle(CONFORMAL, 3 * t, 1.0, [1, 0, 0])),
    "boost": lambda t: sta.velocity(sta.boost(TIME, t / 4) >> sta.event(TIME, 2.0, t / 8)),
}


@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_are_finite_differences(name):
    torch = pytest.importorskip("torch")
    function, values = GRADIENTS[name], RNG.uniform(0.3, 1, (3, 3))
    t = torch.tensor(values, requires_grad=True)
    result = function(t)
    np.testing.assert_allclose(result.detach().numpy(), function(values), rtol=1e-9, atol=1e-12)
    result.sum().backward()
    step = 1e-6
    for i in range(3):
        shift = step * np.eye(3)[i]
        change = (function(values + shift) - function(values - shift)).reshape(3, -1).sum(axis=1) / (2 * step)
        np.testing.assert_allclose(t.grad[:, i].numpy(), change, rtol=1e-6, atol=1e-7)


@pytest.mark.slow
def test_jax_arrays_keep_their_library():
    jnp = pytest.importorskip("jax.numpy")
    P = pga.point(SPACE, jnp.asarray(np.array([[1.0, 2, 3], [4, 5, 6]], dtype=np.float32)))
    foot = pga.coordinates(pga.project(P, LINE))
    assert type(foot).__module__.startswith("jax")
    expected = pga.coordinates(pga.project(pga.point(SPACE, [[1.0, 2, 3], [4, 5, 6]]), LINE))
    np.testing.assert_allclose(np.asarray(foot), expected, rtol=1e-5)


def test_incidence_is_invariant_under_motors():
    for _ in range(5):
        x, y, u = RNG.standard_normal((3, 3))
        M = pga.motor(SPACE, pga.line(SPACE, x, y), u[0], u[1])
        P, L = pga.point(SPACE, x), pga.line(SPACE, x, u)
        assert pga.is_incident(M >> P, M >> L)
        Q = pga.point(SPACE, u + 1)
        np.testing.assert_allclose(pga.distance(M >> Q, M >> L), pga.distance(Q, L), rtol=1e-9)


def test_kinds_of_arrays_have_the_bits_of_plain_ones():
    A, t = pga.motor(SPACE, LINE, 1.0, 4.0), np.linspace(0, 1, 7)
    expected = pga.sclerp(SPACE.scalar(1.0), A, t).coefficients
    for same in (np.ma.array(t), list(t), t.astype(">f8"), t.view(np.recarray)):
        np.testing.assert_array_equal(pga.sclerp(SPACE.scalar(1.0), A, same).coefficients, expected)


@pytest.mark.parametrize("n", [1, 2000])
def test_rows_of_several_lengths_and_masked_entries_are_refused(n):
    rows = np.ones((n, 3))
    pga.translator(SPACE, rows.tolist())  # whose path others of its kind must not take
    for mask in (False, True):
        masked = np.ma.array(rows, mask=mask)
        for value in (masked, list(masked)):
            if mask:
                refused("without masked entries", pga.translator, SPACE, value)
            else:
                np.testing.assert_array_equal(
                    pga.coordinates(pga.translator(SPACE, value) >> pga.point(SPACE, [1, 2, 3])),
                    np.full((n, 3), [2, 3, 4]),
                )
    refused("rows of one length", pga.translator, SPACE, [*rows.tolist(), [1.0]])
