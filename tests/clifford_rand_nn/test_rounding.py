"""Bounds of rounding errors beside exact arithmetic: never below the error, and sums of high parts without one."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.sparse import csr_array

from clifford_rand_nn import rounding
from clifford_rand_nn.kernel_network.leave_one_out import judge
from clifford_rand_nn.rounding import additions, block_products, block_sums, exact_parts, gamma, precise_dot


def exactly(A, b):
    """Return the sums and the sums of sizes of columns of A (n, m) times b (n,), as fractions."""
    terms = [[Fraction(x) * Fraction(y) for x, y in zip(column, b.tolist(), strict=True)] for column in A.T.tolist()]
    return [sum(column) for column in terms], [sum(map(abs, column)) for column in terms]


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("n", [1, 7, 300, 2500])
def test_sums_over_rows_are_off_by_no_more_than_the_bound(n, sparse):
    """Rows far from 0 and a dual point that sums to about 0: hardly a digit of the sums is right."""
    rng = np.random.default_rng(n)
    A, b = 1e8 + rng.standard_normal((n, 2)), rng.standard_normal(n)
    b -= b.mean()
    found = block_products(csr_array(A) if sparse else A, b)
    sums = block_sums(A * b[:, None])
    for value, direct, exact, size in zip(found, sums, *exactly(A, b), strict=True):
        allowed = Fraction(gamma(additions(n))) * size
        assert abs(Fraction(value) - exact) <= allowed
        assert abs(Fraction(direct) - exact) <= allowed


def test_a_bound_counts_the_roundings_of_an_adversary():
    """Each addition of u to 1 is lost: n of them lose n u."""
    u = 2.0**-53
    n = 1000
    total = 1.0
    for _ in range(n):
        total += u  # rounds to even: lost
    exact = Fraction(1) + n * Fraction(u)
    assert total == 1.0
    assert Fraction(gamma(n // 2)) < exact - 1 <= Fraction(gamma(n)) * exact


def test_more_rows_than_a_block_have_fewer_roundings_than_rows():
    assert additions(300) == 302
    assert additions(10**6) < 2100
    assert additions(10**6, 256) < 5100


@pytest.mark.parametrize("size", [1e-300, 1e-9, 1.0, 1e12])
def test_high_parts_add_up_exactly_in_any_order(size):
    rng = np.random.default_rng(0)
    theta = size * rng.standard_normal((3000, 2)) * 10.0 ** rng.integers(-6, 1, (3000, 2))
    high, low = exact_parts(theta)
    np.testing.assert_array_equal(high + low, theta)
    exact = [float(sum(map(Fraction, column))) for column in high.T.tolist()]
    assert (np.abs(low) <= 2.0**-40 * size * 10).all()
    for order in (np.arange(3000), rng.permutation(3000), np.argsort(high[:, 0])):
        assert high[order].sum(axis=0).tolist() == exact
        assert (np.ones(3000) @ high[order]).tolist() == exact


def test_a_form_that_is_all_rounding_is_allowed_for():
    """Equal rows with a dual point that sums to 0: the form is 0, and what double precision makes of it is less."""
    rng = np.random.default_rng(0)
    z, theta = rng.standard_normal(4), rng.standard_normal((50, 1))
    theta -= theta.mean(axis=0)
    K = np.full((50, 50), z @ z)
    form = float(theta[:, 0] @ K @ theta[:, 0])
    assert abs(form) <= rounding.rounding_of_form(K.diagonal(), theta)[0]


def test_bounds_of_the_kernel_are_below_the_exact_maximum_on_their_ray():
    """The products of alpha and targets far from 0 cancel, and the form is small: rounding is in the dual value."""
    for seed in range(50):
        rng = np.random.default_rng(seed)
        alpha = rng.integers(-(2**20), 2**20, 12).astype(float)
        alpha[-1] = -alpha[:-1].sum()
        K, y, beta = np.full(12, 2.0**-40), 1e6 + rng.standard_normal(12), 2.0**-4
        weights, column = np.ones(12), alpha[:, None]
        value = judge(K[:, None] * column, column, y[:, None], weights, beta, K).bound.value
        along = sum(Fraction(a) * Fraction(t) for a, t in zip(alpha, y, strict=True))
        across = sum(Fraction(a) ** 2 * (Fraction(k) + 12 * Fraction(beta)) for a, k in zip(alpha, K, strict=True))
        assert 0 < Fraction(value) <= Fraction(beta) * along**2 / (2 * across)


@pytest.mark.parametrize("size", [1.0, 1e9])
def test_a_precise_product_of_terms_that_cancel_is_rounded_once(size):
    """What is left is 1e-9 of the terms: a plain sum has seven digits of it, twice the digits all."""
    rng = np.random.default_rng(0)
    row, columns = size * rng.standard_normal(6), rng.standard_normal((6, 20))
    start = -(row @ columns) + 1e-9 * size * rng.standard_normal(20)
    expected = [float(Fraction(s) + x) for s, x in zip(start.tolist(), exactly(columns, row)[0], strict=True)]
    np.testing.assert_allclose(precise_dot(row, columns, start), expected, rtol=4e-16)
    assert np.abs(start + row @ columns - expected).max() > 1e-8 * np.abs(expected).max()
