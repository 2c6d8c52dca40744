"""Every subset once, neighbors one exchange apart, and the right product for each."""

import itertools
import math

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.crossproduct import subsets as module
from clifford_rand.crossproduct.subsets import subsets_of_ranks


@pytest.mark.parametrize(("n", "k"), [(0, 0), (4, 0), (5, 1), (5, 2), (6, 3), (7, 6), (7, 7), (10, 4)])
def test_revolving_door(n, k):
    total = math.comb(n, k)
    subsets = subsets_of_ranks(n, k, 0, total)
    assert sorted(map(tuple, subsets.tolist())) == list(itertools.combinations(range(n), k))
    for a, b in itertools.pairwise(subsets.tolist()):
        assert len(set(a) ^ set(b)) == 2
    np.testing.assert_array_equal(subsets_of_ranks(n, k, total // 2, total), subsets[total // 2 :])


@pytest.mark.parametrize(("n", "d"), [(5, 1), (7, 2), (9, 3), (8, 4), (9, 5), (7, 7), (6, 7)])
@pytest.mark.parametrize("normalize", [False, True])
def test_all_products(n, d, normalize):
    X = np.random.default_rng(d).standard_normal((n, d))
    seen = {}
    for subsets, vectors in cr.cross_all(X, normalize=normalize, chunk=10):
        assert len(subsets) <= 10
        np.testing.assert_allclose(vectors, cr.cross_many(X, subsets, normalize=normalize), atol=1e-12)
        seen.update(zip(map(tuple, subsets.tolist()), vectors, strict=True))
    assert sorted(seen) == list(itertools.combinations(range(n), d - 1))


def test_the_walk_agrees(monkeypatch):
    X = np.random.default_rng(0).standard_normal((12, 9))
    wanted = [chunk.vectors for chunk in cr.cross_all(X, normalize=True, chunk=100)]
    monkeypatch.setattr(module, "_WALK_FROM_D", 3)
    for vectors, chunk in zip(wanted, cr.cross_all(X, normalize=True, chunk=100), strict=True):
        np.testing.assert_allclose(chunk.vectors, vectors, atol=1e-9)


def test_chunks_progress_and_length():
    X = np.random.default_rng(1).standard_normal((10, 3)).astype(np.float32)
    calls = []
    products = cr.cross_all(X, chunk=20, progress=lambda done, total: calls.append((done, total)))
    assert len(products) == 3
    assert products.n_subsets == 45
    assert "45 cross products of 2 of 10 rows in R^3" in repr(products)
    chunks = list(products)
    assert calls == [(20, 45), (40, 45), (45, 45)]
    assert chunks[0].vectors.dtype == np.float32
    np.testing.assert_array_equal(products.chunk(2).vectors, chunks[2].vectors)
    assert len(list(products)) == 3  # again


def test_the_first_chunk_of_very_many():
    X = np.random.default_rng(2).standard_normal((100, 40))
    with pytest.raises(cr.ArgumentError, match=r"C\(n, d-1\) ≤ 2\^62.*cross_many"):
        cr.cross_all(X)
    products = cr.cross_all(X[:60], normalize=True, chunk=200)
    subsets, vectors = next(iter(products))
    assert np.abs(np.einsum("skd,sd->sk", X[subsets], vectors)).max() < 1e-8


def test_errors():
    for X, message in [
        (np.ones(3), r"\(n, d\) with n ≥ d-1"),
        (np.ones((1, 3)), r"\(n, d\) with n ≥ d-1"),
        (np.full((4, 3), np.nan), "finite"),
    ]:
        with pytest.raises(cr.ArgumentError, match=message):
            cr.cross_all(X)
    with pytest.raises(cr.ArgumentError, match="'chunk' parameter of cross_all"):
        cr.cross_all(np.eye(3), chunk=0)
    with pytest.raises(cr.ArgumentError, match="'i' parameter of chunk"):
        cr.cross_all(np.eye(3)).chunk(1)
