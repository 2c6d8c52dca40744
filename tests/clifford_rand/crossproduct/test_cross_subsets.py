"""Cross products of many subsets of rows: given ones, all of them, all but one row each, and along a walk."""

import itertools
import math

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.crossproduct import subsets as module
from clifford_rand.crossproduct.subsets import subsets_of_ranks
from support.pairwise import pairwise
from support.refusals import refused


def normal(seed, *shape):
    rng = np.random.default_rng(seed)
    return rng.standard_normal(shape), rng


def distinct(rng, n, k, m):
    """m subsets of k rows in random order."""
    return np.array([rng.permutation(n)[:k] for _ in range(m)]).reshape(m, k)


def agree(X, index, products, tol):
    for n, subset in enumerate(index):
        wanted = cr.cross_log(X[subset])
        np.testing.assert_allclose(products.direction[n], wanted.direction, atol=tol)
        np.testing.assert_allclose(products.log_norm[n], wanted.log_norm, atol=tol)


def part_of(products, chosen):
    return cr.CrossProduct(products.direction[chosen], products.log_norm[chosen])


def largest_inner(X, index, products):
    return max(np.abs(X[rows] @ v).max() for rows, v in zip(index, products.direction, strict=True))


# ---- given subsets


@pairwise({"d": [1, 2, 3, 4, 7], "m": [0, 1, 50, 3000], "dtype": [np.float32, np.float64]})
def test_many_equals_cross_of_the_gathered_rows(d, m, dtype):
    X, rng = normal(d, 30, d)
    X, index = X.astype(dtype), rng.integers(0, 30, size=(m, d - 1))
    value = cr.cross_many(X, index)
    assert value.shape == (m, d)
    assert value.dtype == dtype
    assert np.array_equal(value, cr.cross(X[index]))
    unit = cr.cross_many(X, index.astype(np.uint8), normalize=True)
    assert unit.dtype == dtype
    assert np.array_equal(unit, cr.cross_log(X[index]).direction)


def test_input_is_left_alone():
    X, rng = normal(0, 60, 5)
    index = rng.integers(0, 60, size=(3000, 4))
    expected, rows, named = cr.cross_many(X, index), X.copy(), index.copy()
    X.flags.writeable = index.flags.writeable = False
    assert np.array_equal(cr.cross_many(X, index), expected)
    assert np.array_equal(cr.cross_many(np.asfortranarray(X), index[:, ::-1]), cr.cross(X[index[:, ::-1]]))
    assert np.array_equal(X, rows)
    assert np.array_equal(index, named)


# ---- every subset


@pytest.mark.parametrize(("n", "k"), [(0, 0), (4, 0), (5, 1), (5, 2), (6, 3), (7, 6), (7, 7), (10, 4)])
def test_revolving_door(n, k):
    total = math.comb(n, k)
    subsets = subsets_of_ranks(n, k, 0, total)
    assert sorted(map(tuple, subsets.tolist())) == list(itertools.combinations(range(n), k))
    for a, b in itertools.pairwise(subsets.tolist()):
        assert len(set(a) ^ set(b)) == 2
    np.testing.assert_array_equal(subsets_of_ranks(n, k, total // 2, total), subsets[total // 2 :])


@pytest.mark.parametrize(("n", "d"), [(5, 1), (7, 2), (9, 3), (8, 4), (7, 7), (6, 7)])
@pytest.mark.parametrize("normalize", [False, True])
def test_all_products(n, d, normalize):
    X, _ = normal(d, n, d)
    seen = {}
    for subsets, vectors in cr.cross_all(X, normalize=normalize, batch_size=10):
        assert len(subsets) <= 10
        np.testing.assert_allclose(vectors, cr.cross_many(X, subsets, normalize=normalize), atol=1e-12)
        seen.update(zip(map(tuple, subsets.tolist()), vectors, strict=True))
    assert sorted(seen) == list(itertools.combinations(range(n), d - 1))


@pytest.mark.slow
def test_all_products_by_the_walk(monkeypatch):
    X, _ = normal(0, 11, 8)
    wanted = [chunk.vectors for chunk in cr.cross_all(X, normalize=True, batch_size=100)]
    monkeypatch.setattr(module, "_WALK_FROM_D", 3)
    for vectors, chunk in zip(wanted, cr.cross_all(X, normalize=True, batch_size=100), strict=True):
        np.testing.assert_allclose(chunk.vectors, vectors, atol=1e-9)


def test_chunks_progress_and_length():
    calls = []
    products = cr.cross_all(
        normal(1, 10, 3)[0].astype(np.float32), batch_size=20, callback=lambda *count: calls.append(count)
    )
    assert len(products) == 3
    assert products.n_subsets == 45
    assert "45 cross products of 2 of 10 rows in R^3" in repr(products)
    chunks = list(products)
    assert calls == [(20, 45), (40, 45), (45, 45)]
    assert chunks[0].vectors.dtype == np.float32
    np.testing.assert_array_equal(products.chunk(2).vectors, chunks[2].vectors)
    assert len(list(products)) == 3  # again


def test_the_first_chunk_of_very_many():
    X, _ = normal(2, 60, 40)
    subsets, vectors = next(iter(cr.cross_all(X, normalize=True, batch_size=200)))
    assert np.abs(np.einsum("skd,sd->sk", X[subsets], vectors)).max() < 1e-8


# ---- all rows of a subset but one


def one_by_one(X, subset):
    products = [cr.cross_log(X[np.delete(subset, i)]) for i in range(len(subset))]
    return np.stack([p.direction for p in products]), np.array([p.log_norm for p in products])


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 33, 100])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_row_left_out(d, dtype):
    X, rng = normal(d, d + 3, d)
    X, index = X.astype(dtype), distinct(rng, d + 3, d, 3)
    facets = cr.cross_simplex(X, index)
    assert facets.direction.dtype == facets.log_norm.dtype == dtype
    assert facets.intercept is None
    tol = 1e-8 if dtype == np.float64 else 2e-2
    for b, subset in enumerate(index):
        direction, log_norm = one_by_one(X.astype(np.float64), subset)
        np.testing.assert_allclose(facets.direction[b], direction, atol=tol)
        np.testing.assert_allclose(facets.log_norm[b], log_norm, atol=tol)


def test_scales_of_rows_do_not_matter_and_nothing_overflows():
    X, rng = normal(1, 6, 6)
    X = X * 10.0 ** rng.integers(-150, 150, (6, 1))
    facets = cr.cross_simplex(X)
    direction, log_norm = one_by_one(X, np.arange(6))
    np.testing.assert_allclose(facets.direction[0], direction, atol=1e-10)
    np.testing.assert_allclose(facets.log_norm[0], log_norm, rtol=1e-12, atol=1e-9)
    X = normal(2, 300, 300)[0].astype(np.float32)
    facets = cr.cross_simplex(X)
    assert np.isfinite(facets.log_norm).all()
    np.testing.assert_allclose(np.linalg.norm(facets.direction[0], axis=-1), 1, atol=1e-5)
    inner = X @ facets.direction[0].T
    assert np.abs(inner - np.diag(np.diag(inner))).max() < 1e-2  # row j is orthogonal to all products but its own


def test_dependent_and_nearly_dependent_rows():
    X = np.array([[1.0, 0, 0], [0, 1, 0], [1, 1, 0], [0, 0, 2]])
    facets = cr.cross_simplex(X, [[0, 1, 2], [0, 1, 3], [0, 0, 3]])
    np.testing.assert_array_equal(facets.direction[0], [[0, 0, -1], [0, 0, 1], [0, 0, 1]])
    np.testing.assert_array_equal(facets.direction[1], [[1, 0, 0], [0, -1, 0], [0, 0, 1]])
    np.testing.assert_array_equal(facets.direction[2], [[0, -1, 0], [0, -1, 0], [0, 0, 0]])
    assert facets.log_norm[2, 2] == -np.inf
    X, _ = normal(3, 5, 5)
    X[4] = X[0] + X[1] + 1e-15 * X[4]
    np.testing.assert_allclose(cr.cross_simplex(X).direction[0], one_by_one(X, np.arange(5))[0], atol=1e-12)


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_facets_of_a_simplex(d):
    X, rng = normal(d, d + 4, d)
    X, index = X + 5, distinct(rng, d + 4, d + 1, 3)
    facets = cr.cross_simplex(X, index, bias=True)
    for b, subset in enumerate(index):
        height = X[subset] @ facets.direction[b].T + facets.intercept[b]
        np.testing.assert_allclose(height - np.diag(np.diag(height)), 0, atol=1e-12)
        np.testing.assert_allclose(np.linalg.norm(facets.direction[b], axis=1), 1, atol=1e-12)
        # the volume of the simplex times d! is |det|: base times height for every facet
        volume = abs(np.linalg.det(np.c_[X[subset], np.ones(d + 1)]))
        np.testing.assert_allclose(np.abs(np.diag(height)) * np.exp(facets.log_norm[b]), volume, rtol=1e-9)


def test_facets_of_points_that_coincide():
    facets = cr.cross_simplex([[1.0, 2.0], [1.0, 2.0], [3.0, 4.0]], bias=True)
    assert facets.log_norm[0, 2] == -np.inf
    np.testing.assert_array_equal(facets.direction[0, 2], 0)
    assert facets.intercept[0, 2] == 0


# ---- a walk


def random_walk(n, k, m, rng, shuffle=False):
    """m subsets, each with one row exchanged; in any order of the rows if asked."""
    subset = rng.permutation(n)[:k]
    index = np.empty((m, k), dtype=int)
    for step in range(m):
        index[step] = rng.permutation(subset) if shuffle else subset
        outside = np.setdiff1d(np.arange(n), subset)
        subset = subset.copy()
        subset[rng.integers(k)] = rng.choice(outside)
    return index


@pytest.mark.parametrize("d", [3, 4, 5, 12, 31])
@pytest.mark.parametrize("shuffle", [False, True])
def test_values_and_orientation_of_a_walk(d, shuffle):
    X, rng = normal(d, d + 8, d)
    index = random_walk(d + 8, d - 1, 2 * module._STEPS + 20, rng, shuffle)
    agree(X, index, cr.cross_walk(X, index), 1e-7)


def test_the_tolerance_is_kept():
    """What rounding adds up to in 64 steps is beyond 2e-14 now and then; the walk goes back there."""
    X, rng = normal(5, 60, 30)
    index = random_walk(60, 29, 1000, rng)
    lengths = np.linalg.norm(X, axis=1)

    def worst(tol):
        products = cr.cross_walk(X, index, tol=tol)
        return max(np.abs(X[rows] @ v / lengths[rows]).max() for rows, v in zip(index, products.direction, strict=True))

    assert worst(2e-14) < 2.2e-14 < worst(1e-10) < 1e-10


def test_ill_conditioned_walks_are_refactored():
    """Rows close to a hyperplane: every step is nearly singular, and none of the results is wrong."""
    X, rng = normal(1, 30, 10)
    X = X @ np.diag([1.0] * 9 + [1e-7])
    index = random_walk(30, 9, 200, rng)
    products = cr.cross_walk(X, index)
    assert largest_inner(X, index, products) < 1e-9
    agree(X, index, products, 1e-6)


def test_dependent_rows_are_zero_and_the_walk_goes_on():
    X, rng = normal(2, 12, 5)
    X[3] = 2 * X[7]
    X[9] = 0
    index = random_walk(12, 4, 200, rng)
    index[50] = [1, 1, 2, 4]
    products = cr.cross_walk(X, index)
    dependent = np.array([{3, 7} <= set(rows) or 9 in rows or len(set(rows)) < 4 for rows in index])
    assert dependent.sum() > 20
    assert (products.log_norm[dependent] == -np.inf).all()
    assert (products.direction[dependent] == 0).all()
    agree(X, index[~dependent], part_of(products, ~dependent), 1e-8)


def test_scales_dtypes_and_subsets_without_anything_in_common():
    X, rng = normal(3, 50, 6)
    index = distinct(rng, 50, 5, 40)
    agree(X, index, cr.cross_walk(X, index), 1e-9)
    X = rng.standard_normal((20, 8)) * 10.0 ** rng.integers(-100, 100, (20, 1))
    index = random_walk(20, 7, 100, rng)
    agree(X, index, cr.cross_walk(X, index), 1e-7)
    single = cr.cross_walk((X * 1e-2 / np.abs(X).max(axis=1, keepdims=True)).astype(np.float32), index)
    assert single.direction.dtype == single.log_norm.dtype == np.float32
    large = cr.cross_walk(rng.standard_normal((420, 400)), random_walk(420, 399, 3, rng))
    assert (large.log_norm > 750).all()  # exp of it is no float64


@pytest.mark.parametrize("d", [1, 2])
def test_walks_in_small_dimensions(d):
    X = np.arange(1.0, 4 * d + 1).reshape(4, d)
    index = np.zeros((3, d - 1), int) + np.arange(3)[:, None]
    agree(X, index, cr.cross_walk(X, index), 1e-12)
    assert cr.cross_walk(X, np.empty((0, d - 1), int)).direction.shape == (0, d)


# ---- errors

ROWS, SUBSET, EYE = np.ones((10, 4)), [[0, 1, 2]], np.eye(3)
SHAPE = r"must be of shape \(m, 3\), 3 rows of X a subset\. Got shape "
ERRORS = [
    (cr.cross_many, (ROWS, [[0, 1, 10]]), r"'index' .* must be rows of X, from 0 to 9\. Got the entry 10 instead"),
    (cr.cross_many, (ROWS, [[0, -1, 2]]), r"must be rows of X, from 0 to 9\. Got the entry -1 instead"),
    (cr.cross_many, (ROWS, [[0.0, 1.0, 2.0]]), r"'index' .* must be an array of integers\. Got dtype float64"),
    (cr.cross_many, (ROWS, [[True, False, True]]), r"must be an array of integers\. Got dtype bool"),
    (cr.cross_many, (ROWS, [[0, 1]]), SHAPE + r"\(1, 2\)"),
    (cr.cross_many, (ROWS, [0, 1, 2]), SHAPE + r"\(3,\)"),
    (cr.cross_many, (ROWS[0], SUBSET), r"'X' .* must be of shape \(n, d\), one vector per row\. Got shape \(4,\)"),
    (cr.cross_many, (ROWS[None], SUBSET), r"must be of shape \(n, d\)"),
    (cr.cross_many, (np.ones((3, 0)), np.empty((1, 0), int)), r"must be of shape \(n, d\)"),
    (cr.cross_many, (ROWS * np.nan, SUBSET), "'X' parameter of cross_many must be finite"),
    (cr.cross_many, (ROWS * 1j, SUBSET), "'X' parameter of cross_many must be an array of real numbers"),
    (lambda X: cr.cross_many(X, SUBSET, rtol=-1), (ROWS,), "'rtol' parameter of cross_many"),
    (cr.cross_all, (np.ones(3),), r"\(n, d\) with n ≥ d-1"),
    (cr.cross_all, (np.ones((1, 3)),), r"\(n, d\) with n ≥ d-1"),
    (cr.cross_all, (np.full((4, 3), np.nan),), "finite"),
    (cr.cross_all, (np.ones((100, 40)),), r"C\(n, d-1\) ≤ 2\^62.*cross_many"),
    (lambda X: cr.cross_all(X, batch_size=0), (EYE,), "'batch_size' parameter of cross_all"),
    (lambda X: cr.cross_all(X).chunk(1), (EYE,), "'i' parameter of chunk"),
    (cr.cross_simplex, (EYE[0],), r"of shape \(n, d\)"),
    (cr.cross_simplex, (np.ones((4, 3)),), r"given where X has not exactly 3 rows"),
    (cr.cross_simplex, (EYE, [[0, 1]]), r"of shape \(m, 3\), 3 rows of X a subset"),
    (lambda X: cr.cross_simplex(X, SUBSET, bias=True), (EYE,), r"of shape \(m, 4\)"),
    (cr.cross_simplex, (EYE, [[0, 1, 3]]), "from 0 to 2. Got the entry 3"),
    (cr.cross_simplex, (EYE * np.nan,), "finite"),
    (cr.cross_simplex, (EYE * 1j,), "real"),
    (lambda X: cr.cross_walk(X, SUBSET, tol=0), (ROWS,), "'tol' parameter of cross_walk"),
    (cr.cross_walk, (ROWS, [[0, 1]]), r"of shape \(m, 3\)"),
    (cr.cross_walk, (np.full((4, 4), np.inf), SUBSET), "finite"),
]


@pytest.mark.parametrize(("function", "arguments", "message"), ERRORS)
def test_errors(function, arguments, message):
    refused(message, function, *arguments)
