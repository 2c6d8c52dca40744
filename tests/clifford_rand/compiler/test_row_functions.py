"""Functions of rows and their loops: NumPy and Numba to the same bits, conditions, and when they are compiled."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.basis.coefficients import as_components, from_components
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.table import product_table
from clifford_rand.compiler import loops
from clifford_rand.compiler.loops import LazyLoop, RowFunction, table_rows
from clifford_rand.functions.closed_inverse import InverseCode, inverse_code
from clifford_rand.functions.norms import function_of_rows
from clifford_rand.functions.scaling import safe_range
from support.refusals import refused

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]


def write(trace, ab, c):
    (a, b), (c,) = ab, c
    trace.require(a > -10.0)
    trace.require(c <= abs(b) + 10.0)
    return [a + b * 2.5, a - b, -a * c, a / (1.5 + abs(c)), (a * a + b * b).sqrt(), 0.1 / (2.0 + abs(b)), a + 3.0]


def expected(a, b, c):
    return np.array([a + 2.5 * b, a - b, -a * c, a / (1.5 + abs(c)), np.hypot(a, b), 0.1 / (2 + abs(b)), a + 3])


@pytest.fixture(params=["numpy", "numba"])
def compiled(request, monkeypatch):
    """Let NumPy compute everything, or Numba."""
    monkeypatch.setattr(LazyLoop, "is_due", lambda self, nanoseconds: request.param == "numba")


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_operations_are_those_of_numpy(dtype, compiled):
    function = RowFunction(write, 2, 1)
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 8, 9, 15, 16, 17, 40, 1001):
        ab, c = rng.standard_normal((2, n)).astype(dtype), rng.standard_normal((1, n)).astype(dtype)
        result = function.all(ab, c)
        assert result.dtype == dtype
        tolerance = 8 * np.finfo(dtype).eps
        np.testing.assert_allclose(result, expected(*ab, *c), rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [3, 8, 100])
def test_one_sample_that_fails_a_condition_is_marked(dtype, n, compiled):
    function = RowFunction(write, 2, 1)
    for i in range(n):
        for row, value in ((0, -11), (0, np.nan), (2, 1e3), (2, np.nan)):
            values = np.ones((3, n), dtype=dtype)
            values[row, i] = value
            assert function.all(values[:2], values[2:]) is None
            np.testing.assert_array_equal(np.flatnonzero(~function.marked(values[:2], values[2:])[1]), i)
    assert function.all(np.ones((2, n), dtype), np.full((1, n), 11, dtype)) is not None  # at most: equality is fine
    assert function.all(np.full((2, n), -10, dtype), np.ones((1, n), dtype)) is None  # above: it is not


def test_a_product_table(compiled):
    rng = np.random.default_rng(1)
    form = cr.Algebra(metric=np.diag([2.0, -1, 0])).form
    keys = cr.Algebra(3).random_multivector(rng=rng).keys
    table = product_table(form, "gp", keys, keys)
    given = (table.indptr, table.left, table.right, table.coef)
    a, b = rng.standard_normal((2, 8, 50))
    result = RowFunction(lambda trace, a, b: table_rows(trace, given, a, b), 8, 8).all(a, b)
    sums = np.zeros((8, 50))
    np.add.at(sums, table.out, table.coef[:, None] * a[table.left] * b[table.right])
    np.testing.assert_allclose(result, sums, atol=1e-13)


def test_a_loop_is_compiled_once_its_cost_is_spent(monkeypatch, tmp_path):
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr(loops, "LOAD", 0)
    loop = RowFunction(write, 2, 1).loop(DTYPES[1])
    share = loop.operations * loops.COMPILE / 2
    assert [loop.is_due(share) for _ in range(3)] == [False, True, True]
    loop.at(1000)
    again = RowFunction(write, 2, 1).loop(DTYPES[1])
    assert not again.is_due(share)  # compiled when it is called: nothing is on the disk
    loop.at(10**9)(np.ones((2, 5)), np.ones((1, 5)), np.empty((7, 5)), np.empty((1, 5)), 0, 5)
    for _ in range(2):
        assert RowFunction(write, 2, 1).loop(DTYPES[1]).is_due(share)


def test_threads_share_one_function(monkeypatch, compiled):
    monkeypatch.setattr(loops, "THREADS_FROM", 2**10)
    function = RowFunction(write, 2, 1)
    values = np.random.default_rng(2).standard_normal((3, 5000))
    wanted = expected(*values)
    with ThreadPoolExecutor(4) as pool:
        for result in pool.map(lambda _: function.all(values[:2], values[2:]), range(8)):
            np.testing.assert_allclose(result, wanted, atol=1e-14)
    values[0, 4900] = -11
    assert function.all(values[:2], values[2:]) is None
    np.testing.assert_array_equal(np.flatnonzero(~function.marked(values[:2], values[2:])[1]), 4900)


def test_norms_and_inverses_of_a_batch():
    rng = np.random.default_rng(3)
    for counts in [(2, 0, 0), (3, 0, 0), (1, 3, 0), (3, 0, 1), (4, 1, 0)]:
        alg = cr.Algebra(*counts)
        R = alg.vector(rng.standard_normal((2, 20, alg.d)) + 3 * (np.arange(alg.d) == 1))
        R = (R * alg.vector(rng.standard_normal((2, 20, alg.d)) + 3 * (np.arange(alg.d) == 1))).even()
        size = np.sqrt(np.abs((R * ~R)["1"]))
        np.testing.assert_allclose(R.norm(), size, rtol=1e-13)
        np.testing.assert_allclose(R.normalized().values, R.values / size[..., None], rtol=1e-13)
        assert (R * R.inv()).isclose(1, atol=1e-12).all()
        assert R.inv().keys is R.keys
        for i in range(0, 20, 7):  # one that is not a versor, or out of range, among versors
            values = np.array(R.values)
            values[1, i] = rng.standard_normal(R.keys.size) + 4 * (np.arange(R.keys.size) == 0)
            values[0, 0] *= 1e-170
            A = alg.multivector(values, R.grades)
            assert (A * A.inv()).isclose(1, atol=1e-10).all()
            np.testing.assert_allclose(A.norm()[0, 0] * 1e170, size[0, 0], rtol=1e-12)
            unit = A.normalized().grade(*R.grades)
            np.testing.assert_allclose(unit.values[0, 0], R.normalized().values[0, 0], rtol=1e-12)


def test_a_sample_without_norm_or_inverse_is_named():
    plane = cr.Algebra(1, 1)
    batch = np.ones((40, 2)) * [2.0, 1.0]
    batch[17] = 1.0
    for operation in ("inv", "normalized"):
        refused("0", getattr(plane.vector(batch), operation))
    refused("17", lambda: plane.vector(batch).inv())
    assert plane.vector(batch).norm()[17] == 0


@pytest.mark.parametrize("counts", [(2, 0, 0), (3, 0, 0), (3, 0, 1), (1, 3, 0), (4, 1, 0)], ids=str)
def test_full_inverses_of_rows_are_those_of_each_alone(counts):
    """Multivectors that are not versors: values, where N is clear, and where Newton's step is due."""
    rng = np.random.default_rng(4)
    alg = cr.Algebra(*counts)
    values = np.array(alg.random_multivector(rng=rng, shape=120).values)
    unit = next(v for v in alg.basis_vectors() if v * v == 1)
    values[3] = (1 + (1 - 1e-9) * unit).dense().values  # nearly null
    values[4] *= 1e-26
    values[5] *= 1e26
    values[6:9, 0] += 1e3  # nearly a number
    values[9:12] = (1 + 0.99 * unit).dense().values + 1e-3 * values[9:12]
    A = alg.multivector(values)
    code = inverse_code(alg.form, A.keys)
    result, is_clear = code.functions(A.dtype)[1].marked(as_components(A.coefficients))
    done, more = is_clear & (result[-1] > 0), is_clear & ~(result[-1] > 0)
    assert list(done[3:6]) == list(more[3:6]) == [False] * 3
    assert done[6:9].all()
    assert more[9:12].all() or alg.d == 2
    regular = np.arange(120) != 3
    X = A[regular].inv()
    for i, x in zip(np.flatnonzero(regular), X, strict=True):
        assert x.isclose(A[i].inv(), rtol=1e-9, atol=1e-9 * float(np.abs(x.coefficients).max()))
    identity = (A[regular] * X).on_keys(A.keys).coefficients
    scale = np.linalg.norm(values[regular], axis=1) * np.linalg.norm(X.on_keys(A.keys).coefficients, axis=1)
    assert np.abs(identity - np.eye(1, len(identity.T))).max(axis=1) == pytest.approx(0, abs=1e-13 * scale.max())


@pytest.mark.parametrize("counts", [(4, 0, 0), (1, 3, 0), (3, 0, 1)], ids=str)
def test_the_function_of_rows_knows_a_versor_as_the_array_code_does(counts):
    rng = np.random.default_rng(5)
    alg = cr.Algebra(*counts)
    vectors = alg.vector(rng.standard_normal((2, 40, alg.d)) + 3 * (np.arange(alg.d) == 1))
    R = (vectors[0] * vectors[1]).even().on_keys(keys_of_grades(alg.d, (0, 2, 4)))
    code = inverse_code(alg.form, R.keys)
    parts = as_components(R.coefficients).copy()
    parts[:, 3] *= 1e-27
    parts[:, 4] *= 1e27
    parts[-1, 5:8] += 1.0  # A ~A has a pseudoscalar, of either sign
    parts[-1, 8:11] -= 1.0
    parts[:, 11] = 0
    if counts == (1, 3, 0):
        parts[:2, 11] = 1, 1  # null: 1 + e12
        assert (alg.e12 * alg.e12)["1"] == 1
    inverses, held = code.functions(R.dtype)[0].marked(parts)
    np.testing.assert_array_equal(np.flatnonzero(~held), np.arange(3, 12))
    A = R.new(R.keys, from_components(parts, (40,)))[held]
    np.testing.assert_allclose(inverses[:, held].T, ((~A) / (A * ~A)["1"]).coefficients, rtol=1e-13)


def test_conditions_of_norms():
    """The squares in range, their sum not round-off; a norm of either sign."""
    low, high = safe_range(DTYPES[1])
    a = np.array([1.0, (0.9 * high) ** 0.5, 2e170, low**0.5 / 2, 2, 1.0])
    b = np.array([2.0, (0.8 * high) ** 0.5, 1e170, 0, 2 - 1e-15, 1.0])
    parts = np.array([a, b])
    size, unit = (function_of_rows([1.0, -1.0], divided) for divided in (False, True))
    norms, held = size.marked(parts)
    assert list(held) == [True, False, False, False, True, False]
    assert norms[0, 0] == pytest.approx(3**0.5)
    units, held = unit.marked(parts)
    assert list(held) == [True, False, False, False, False, False]
    np.testing.assert_allclose(units[:, 0], [3**-0.5, 2 * 3**-0.5])


def test_what_is_always_a_versor_needs_no_adjugate(monkeypatch):
    monkeypatch.setattr(InverseCode, "_adjugates", lambda *_, **__: pytest.fail("a vector needs no adjugate"))
    A = cr.Algebra(4, 1).vector(np.random.default_rng(6).standard_normal((30, 5)))
    A = A * cr.Algebra(4, 1).scalar(np.where(np.arange(30) == 7, 1e-30, 1.0))
    assert (A * A.inv()).isclose(1, rtol=1e-12, atol=1e-10).all()


@pytest.mark.parametrize(("count", "dtype"), [(9, DTYPES[0]), (1, DTYPES[1]), (700, DTYPES[1])])
def test_a_fused_loop_by_numba_is_the_loop_by_numpy(dtype, count, compiled):
    """Few and many rows (which are asked for ahead), guards that fail, a number, a result of one argument."""
    rng = np.random.default_rng(7)
    alg = cr.Algebra(3)
    A, B, V = (
        alg.random_multivector(rng=rng, shape=count, grades=grades, dtype=dtype) for grades in (range(4), range(4), 2)
    )

    def function(A, B, V, t):
        return A * B * t, V.exp() * B, A.norm(), V * V

    fused = cr.fused(function)
    tolerance = 1e-4 if dtype == np.float32 else 1e-12
    for last in (1.0, 1e-170 if dtype == np.float64 else 1e-22):  # the norm of the last sample underflows
        values = np.array(A.values)
        values[-1] *= last
        A = alg.multivector(values, A.grades)
        got, want = fused(A, B, V, 0.5), function(A, B, V, 0.5)
        for x, y in zip(got, want, strict=True):
            x, y = (np.asarray(z.dense().values if hasattr(z, "keys") else z) for z in (x, y))
            np.testing.assert_allclose(x, y, rtol=tolerance, atol=tolerance)
        assert bool(fused.fallback_reason) == (last != 1.0)
