"""Machine code of rows against NumPy: each operation, every length, conditions, and when it is compiled."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.basis import layout
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.basis.table import product_table
from clifford_rand.functions import closed_inverse
from clifford_rand.functions.closed_inverse import _by_adjugate, inverse_code, limit_of, versors_of_rows
from clifford_rand.functions.norm_code import NormCode
from clifford_rand.functions.norms import eps_of, safe_range
from clifford_rand.kernels import row_code
from clifford_rand.kernels.row_code import Rented, RowFunction, Writer
from clifford_rand.machine.compiled import target

DTYPES = [np.dtype(np.float32), np.dtype(np.float64)]


def write(own, dtype):
    code = Writer(own, dtype, 2, 1)
    (a, b), (c,) = code.operands
    for row in (a + b * 2.5, a - b, -a * c, a / (1.5 + abs(c)), (a * a + b * b).sqrt(), 0.1 / (2.0 + abs(b)), a + 3.0):
        code.store(row)
    a.require_above(-10.0)
    c.require_at_most(abs(b) + 10.0)
    return code


def expected(a, b, c):
    lines = (a + 2.5 * b, a - b, -a * c, a / (1.5 + abs(c)), np.hypot(a, b), 0.1 / (2 + abs(b)), a + 3)
    return np.array(lines)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_operations_are_those_of_numpy(dtype):
    function = RowFunction(write(target(), dtype))
    rng = np.random.default_rng(0)
    for n in (1, 2, 7, 8, 9, 15, 16, 17, 40, 1001):
        ab, c = rng.standard_normal((2, n)).astype(dtype), rng.standard_normal((1, n)).astype(dtype)
        found = function.all(ab, c)
        assert found.dtype == dtype
        np.testing.assert_allclose(found, expected(*ab, *c), rtol=8 * np.finfo(dtype).eps, atol=8 * np.finfo(dtype).eps)
        around = np.full((9, n + 2), 9.0, dtype=dtype)  # nothing beside the result is written
        assert function((ab, c), around[1:8, 1:-1])
        np.testing.assert_array_equal(around[1:8, 1:-1], found)
        around[1:8, 1:-1] = 9
        assert np.all(around == 9)


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
@pytest.mark.parametrize("n", [3, 8, 100])
def test_one_sample_that_fails_a_condition_is_found(dtype, n):
    function = RowFunction(write(target(), dtype))
    for i in range(n):
        for row, value in ((0, -11), (0, np.nan), (2, 1e3), (2, np.nan)):
            rows = np.ones((3, n), dtype=dtype)
            rows[row, i] = value
            assert function.all(rows[:2], rows[2:]) is None
            np.testing.assert_array_equal(np.flatnonzero(~function.marked(rows[:2], rows[2:])[1]), i)
    assert function.all(np.ones((2, n), dtype), np.full((1, n), 11, dtype)) is not None  # at most: equality is fine
    assert function.all(np.full((2, n), -10, dtype), np.ones((1, n), dtype)) is None  # above: it is not


def test_a_product_table():
    rng = np.random.default_rng(1)
    form = cr.Algebra(metric=np.diag([2.0, -1, 0, 1])).form
    keys = cr.Algebra(4).random_multivector(rng).keys
    table = product_table(form, "gp", keys, keys)
    code = Writer(target(), np.dtype(float), 16, 16)
    rows = (table.indptr, table.left, table.right, table.coef)
    for row in code.combined(rows, *code.operands):
        code.store(row)
    a, b = rng.standard_normal((2, 16, 50))
    found = RowFunction(code).all(a, b)
    terms = table.coef[:, None] * a[table.left] * b[table.right]
    sums = np.zeros((16, 50))
    np.add.at(sums, table.out, terms)
    np.testing.assert_allclose(found, sums, atol=1e-13)


def test_it_is_compiled_once_its_cost_is_spent():
    rented = Rented(write, 10)
    samples = (row_code.COMPILE + row_code.LOAD) // 30 + row_code.COMPILE_PRODUCT // 3  # a third of the dearer case
    calls = 0
    while rented.function(DTYPES[1], samples) is None:
        calls += 1
        assert calls < 4
    assert rented.function(DTYPES[1], 1) is rented.function(DTYPES[1], 1)
    assert Rented(write, 10).function(DTYPES[0], 1) is None


def test_threads_share_one_function(monkeypatch):
    monkeypatch.setattr(row_code, "THREADS_FROM", 2**10)
    monkeypatch.setattr(row_code, "COMPILE", 0)
    monkeypatch.setattr(row_code, "COMPILE_PRODUCT", 0)
    monkeypatch.setattr(row_code, "LOAD", 0)
    rented = Rented(write, 10)
    rng = np.random.default_rng(2)
    rows = rng.standard_normal((3, 5000))
    wanted = expected(*rows)

    def work(_):
        return rented.function(DTYPES[1], 5000).all(rows[:2], rows[2:])

    with ThreadPoolExecutor(4) as pool:
        for found in pool.map(work, range(8)):
            np.testing.assert_allclose(found, wanted, atol=1e-14)
    rows[0, 4900] = -11
    function = rented.function(DTYPES[1], 5000)
    assert function.all(rows[:2], rows[2:]) is None
    np.testing.assert_array_equal(np.flatnonzero(~function.marked(rows[:2], rows[2:])[1]), 4900)


@pytest.fixture
def at_once(monkeypatch):
    monkeypatch.setattr(row_code, "COMPILE", 0)
    monkeypatch.setattr(row_code, "COMPILE_PRODUCT", 0)
    monkeypatch.setattr(row_code, "LOAD", 0)


def test_norms_and_inverses_of_a_batch(at_once):
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
        for i in range(20):  # one that is no versor, or out of range, among versors
            values = np.array(R.values)
            values[1, i] = rng.standard_normal(R.keys.size) + 4 * (np.arange(R.keys.size) == 0)
            values[0, 0] *= 1e-170
            A = alg.multivector(values, R.grades)
            assert (A * A.inv()).isclose(1, atol=1e-10).all()
            np.testing.assert_allclose(A.norm()[0, 0] * 1e170, size[0, 0], rtol=1e-12)
            unit = A.normalized().grade(*R.grades)
            np.testing.assert_allclose(unit.values[0, 0], R.normalized().values[0, 0], rtol=1e-12)


def test_what_has_no_norm_or_inverse_is_named(at_once):
    plane = cr.Algebra(1, 1)
    batch = np.ones((40, 2)) * [2.0, 1.0]
    batch[17] = 1.0
    for operation in ("inv", "normalized"):
        with pytest.raises(cr.ArgumentError, match="0"):
            getattr(plane.vector(batch), operation)()
    with pytest.raises(cr.ArgumentError, match="17"):
        plane.vector(batch).inv()
    assert plane.vector(batch).norm()[17] == 0


@pytest.mark.parametrize("counts", [(2, 0, 0), (3, 0, 0), (3, 0, 1), (1, 3, 0), (4, 1, 0)], ids=str)
def test_full_inverses_are_those_of_numpy(counts, at_once):
    """What is no versor: values, what is clear and what needs a step more, by rows of NumPy and by each alone."""
    rng = np.random.default_rng(4)
    alg = cr.Algebra(*counts)
    values = np.array(alg.random_multivector(rng, 120).values)
    unit = next(v for v in alg.basis_vectors() if v * v == 1)
    values[3] = (1 + (1 - 1e-9) * unit).dense().values  # nearly null
    values[4] *= 1e-26
    values[5] *= 1e26
    values[6:9, 0] += 1e3  # nearly a number
    values[9:12] = (1 + 0.99 * unit).dense().values + 1e-3 * values[9:12]
    A = alg.multivector(values)
    code = inverse_code(alg.form, A.keys)
    rows, limit = layout.components(A.coefficients), limit_of(A.keys, eps_of(A.dtype))
    with np.errstate(all="ignore"):
        want, done, more = _by_adjugate(rows, code, limit, None)
    got, *found = _by_adjugate(rows, code, limit, code.adjugates.function(A.dtype, 120))
    np.testing.assert_array_equal(found, [done, more])
    assert list(done[3:6]) == list(more[3:6]) == [False] * 3
    assert done[6:9].all()
    assert more[9:12].all() or alg.d == 2
    np.testing.assert_allclose(got[:, done], want[:, done], rtol=1e-10, atol=1e-13)
    kept = np.arange(120) != 3
    X = A[kept].inv()
    for i, x in zip(np.flatnonzero(kept), X, strict=True):
        assert x.isclose(A[i].inv(), rtol=1e-9, atol=1e-9 * float(np.abs(x.coefficients).max()))
    one = (A[kept] * X).on_keys(A.keys).coefficients
    scale = np.linalg.norm(values[kept], axis=1) * np.linalg.norm(X.on_keys(A.keys).coefficients, axis=1)
    assert np.abs(one - np.eye(1, len(one.T))).max(axis=1) == pytest.approx(0, abs=1e-13 * scale.max())


@pytest.mark.parametrize("counts", [(4, 0, 0), (1, 3, 0), (3, 0, 1)], ids=str)
def test_versors_are_told_apart_as_by_numpy(counts):
    rng = np.random.default_rng(5)
    alg = cr.Algebra(*counts)
    vectors = alg.vector(rng.standard_normal((2, 40, alg.d)) + 3 * (np.arange(alg.d) == 1))
    R = (vectors[0] * vectors[1]).even().on_keys(keys_of_grades(alg.d, (0, 2, 4)))
    code = inverse_code(alg.form, R.keys)
    rows = layout.components(R.coefficients).copy()
    rows[:, 3] *= 1e-27
    rows[:, 4] *= 1e27
    rows[-1, 5:8] += 1.0  # A ~A has a pseudoscalar, of either sign
    rows[-1, 8:11] -= 1.0
    rows[:, 11] = 0
    if counts == (1, 3, 0):
        rows[:2, 11] = 1, 1  # null: 1 + e12
        assert (alg.e12 * alg.e12)["1"] == 1
    want = np.empty_like(rows)
    limit, eps = limit_of(R.keys, eps_of(R.dtype)), eps_of(R.dtype)
    with np.errstate(all="ignore"):
        fine = versors_of_rows(rows, code, limit, eps, want)
    got, held = RowFunction(code._write(target(), DTYPES[1])).marked(rows)
    np.testing.assert_array_equal(held, fine)
    np.testing.assert_array_equal(np.flatnonzero(~held), np.arange(3, 12))
    np.testing.assert_allclose(got[:, fine], want[:, fine], rtol=1e-14)


def test_conditions_of_norms():
    """The squares in range, their sum not rounding; a norm of either sign."""
    low, high = safe_range(DTYPES[1])
    a = np.array([1.0, (0.9 * high) ** 0.5, 2e170, low**0.5 / 2, 2, 1.0])
    b = np.array([2.0, (0.8 * high) ** 0.5, 1e170, 0, 2 - 1e-15, 1.0])
    size, unit = (
        RowFunction(NormCode(np.array([1.0, -1.0]), divided, eps_of, safe_range)._write(target(), DTYPES[1]))
        for divided in (False, True)
    )
    rows = np.array([a, b])
    found, held = size.marked(rows)
    assert list(held) == [True, False, False, False, True, False]
    assert found[0, 0] == pytest.approx(3**0.5)
    found, held = unit.marked(rows)
    assert list(held) == [True, False, False, False, False, False]
    np.testing.assert_allclose(found[:, 0], [3**-0.5, 2 * 3**-0.5])


def test_what_is_always_a_versor_needs_no_adjugate(at_once, monkeypatch):
    monkeypatch.setattr(closed_inverse, "_by_adjugate", None)
    A = cr.Algebra(4, 1).vector(np.random.default_rng(6).standard_normal((30, 5)))
    A = A * cr.Algebra(4, 1).scalar(np.where(np.arange(30) == 7, 1e-30, 1.0))
    assert (A * A.inv()).isclose(1, rtol=1e-12, atol=1e-10).all()
