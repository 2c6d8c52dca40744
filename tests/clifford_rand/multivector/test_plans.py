"""The cost model of the products: what it prefers; plans of products and linear maps."""

import tracemalloc

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.basis.keys import dense_keys, keys_of_grades, keys_of_masks
from clifford_rand.plans import cost_model, linear, table_plan
from clifford_rand.plans.cost_model import choose, plan_of
from clifford_rand.plans.table_plan import TablePlan
from support.pairwise import pairwise


def test_what_is_preferred():
    small, large, wide, skew = cr.Algebra(3), cr.Algebra(10), cr.Algebra(100), cr.Algebra(metric=np.eye(8) + 0.1)
    for alg, rule, first, second, kind in (
        (small, "gp", None, None, "TablePlan"),
        (large, "gp", None, None, "TransformPlan"),
        (large, "gp", 1, 2, "TablePlan"),
        (large, "inner", None, None, "ScalarPlan"),
        (cr.Algebra(14), "wedge", None, None, "SubsetPlan"),
        (wide, "gp", 1, 1, "VectorPlan"),
        (skew, "gp", None, None, "CongruencePlan"),
        (skew, "wedge", 1, 2, "TablePlan"),
    ):
        keys = [dense_keys(alg.d) if k is None else keys_of_grades(alg.d, (k,)) for k in (first, second)]
        assert type(plan_of(alg.form, rule, *keys)).__name__ == kind


@pytest.mark.parametrize("rule", ["inner", "scalar_product"])
def test_one_dot_product_is_the_table(rule):
    """Dense and sparse operands, real and complex, in unit, weighted and skew metrics; no common blade gives zero."""
    rng = np.random.default_rng(0)
    metrics = [np.eye(5), np.diag([1.0, -1, 0, 1, 1]), np.diag([2.0, -3, 0.5, 1, 0]), np.eye(5) + 0.2]
    for metric in metrics:
        alg = cr.Algebra(metric=metric)
        for first, second in ((range(6), range(6)), ((1, 3), (0, 1, 2)), ((2,), (2,)), ((1,), (4,))):
            a, b = keys_of_grades(5, tuple(first)), keys_of_grades(5, tuple(second))
            plan, table = choose(alg.form, rule, a, b), TablePlan(alg.form, rule, a, b)
            for dtype in (np.float32, np.float64, np.complex128):
                x, y = rng.standard_normal(a.size).astype(dtype), rng.standard_normal(b.size).astype(dtype)
                x, y = (x * (1 + 2j), y * (1 - 1j)) if dtype == np.complex128 else (x, y)
                value, expected = plan(x, y), table(x[None], y[None])[0]
                assert (value.dtype, value.shape) == (expected.dtype, expected.shape)
                size = 3 * np.abs(x).sum() * np.abs(y).max()  # of the sum of the absolute terms, weights up to 3
                np.testing.assert_allclose(value, expected, rtol=0, atol=8 * np.finfo(dtype).eps * size)


@pytest.mark.parametrize("shape", [(), (3,), (100,)])
@pytest.mark.parametrize("left", [True, False])
def test_a_product_by_one_blade_makes_no_matrix(shape, left):
    """One coefficient times 2^d is a permutation: its matrix of 2^2d zeros, 128 MiB here, is never formed."""
    alg = cr.Algebra(12)
    A = alg.random_multivector(rng=0, shape=shape)
    blade = alg.I * 2.0

    def product():
        return blade * A if left else A * blade

    product()
    tracemalloc.start()
    try:
        found = product()
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 8 * A.coefficients.nbytes + 2**20
    expected = A.reverse().star() if left else A.reverse().star_right()
    assert np.all(found.isclose(2.0 * expected))


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.complex128])
@pytest.mark.parametrize("rule", ["gp", "wedge", "fat_dot"])
def test_one_large_product_by_the_kernel_is_that_of_a_batch(rule, dtype, monkeypatch):
    monkeypatch.setattr(table_plan, "LOAD", 0)
    monkeypatch.setattr(table_plan, "LOAD_KERNEL", 0)
    rng = np.random.default_rng(1)
    for metric in (np.eye(6), np.diag([2.0, -1, 0, 3, 1, 1])):
        alg = cr.Algebra(metric=metric)
        a, b = (alg.random_multivector(rng=rng, shape=2, dtype=dtype) for _ in range(2))
        plan = TablePlan(alg.form, rule, a.keys, b.keys)
        first, second = (np.array(A.coefficients[0]) for A in (a, b))
        found = plan(first, second)
        assert found.dtype == dtype
        expected = plan(a.coefficients, b.coefficients)[0]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e3 * np.finfo(dtype).eps)
        np.testing.assert_array_equal(plan(a.coefficients[0], second), plan(first, b.coefficients[0]))  # strided parts


def test_a_vector_in_a_wide_algebra_never_makes_a_table():
    alg = cr.Algebra(3000)
    x = alg.vector(np.ones(3000))
    assert (x | x) == 3000
    assert x.inner(x) == 3000


def test_plans_are_shared_by_equal_algebras_of_one_object_and_bounded(monkeypatch):
    monkeypatch.setattr(cost_model, "MOST_PLANS", 100)
    alg, whole = cr.Algebra(12), dense_keys(12)
    for i in range(1, 250):
        keys = keys_of_masks(12, (i,))
        plan_of(alg.form, "gp", keys_of_masks(12, (1,)), keys)
        assert whole.masks[whole.place(keys)].tolist() == [i]
    assert 0 < len(alg.form.plans) <= 100
    assert alg.e1 * alg.e1 == 1


@pairwise(
    {
        "dtype": [np.float32, np.float64, np.complex128],
        "name": ["reverse", "star", "even"],
        "shape": [(), (3, 50)],
    }
)
def test_copies_with_signs_are_their_places_and_factors(name, dtype, shape):
    """Of all blades, of one grade, and of blades in no order; contiguous and strided."""
    rng = np.random.default_rng(0)
    alg = cr.Algebra(12, 0, 1) if not shape else cr.Algebra(6, 0, 1)
    some = keys_of_masks(alg.d, tuple(rng.permutation(2**alg.d)[: 2 ** (alg.d - 1)].tolist()))
    for keys in (dense_keys(alg.d), keys_of_grades(alg.d, (alg.d // 2,)), some):
        values = alg.random_multivector(rng=rng, shape=shape, dtype=dtype).coefficients[..., : keys.size]
        A = alg.new(keys, values)
        grades = tuple(range(0, alg.d + 1, 2))
        plan = linear._part(keys, grades) if name == "even" else linear.MAPS[name](alg.form, keys)
        if plan.factors is None and plan.places is None:
            continue
        places = np.arange(keys.size)[slice(None) if plan.places is None else plan.places]
        expected = A.coefficients[..., places] * (1 if plan.factors is None else plan.factors.astype(dtype))
        for array in (
            A.coefficients,
            np.array(A.coefficients, order="C"),
            np.repeat(A.coefficients, 2, axis=-1)[..., ::2],
        ):
            before = array.copy()
            found = plan(array)
            assert found.dtype == dtype
            np.testing.assert_array_equal(found, expected)
            np.testing.assert_array_equal(array, before)


@pytest.mark.parametrize(
    ("signature", "grade", "shape"),
    [((1,) * 14 + (0,), 7, ()), ((0,) + (1,) * 14, 8, ()), ((1, 1, 0), 1, (3000,)), ((0, 1), 1, (3000,))],
    ids=["null last", "null first", "batch, null last", "batch, null first"],
)
def test_a_part_of_the_components_is_copied_from_its_own_places(signature, grade, shape):
    """What the star leaves of one grade is in line in memory, in its order or backwards, but not all of it."""
    alg = cr.Algebra(signature=signature)
    A = alg.random_multivector(rng=0, shape=shape, grades=grade)
    for found, wanted in ((A.star(), alg.I * ~A), (A.star_right(), ~A * alg.I)):
        assert found.keys is wanted.keys
        np.testing.assert_array_equal(found.coefficients, wanted.coefficients)
