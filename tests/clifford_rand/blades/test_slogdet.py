"""Determinants and volumes by panels: equal to those of NumPy for every width, within the memory that is stated."""

import math
import tracemalloc
from fractions import Fraction

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand.blades import determinant
from support.refusals import refused


def bytes_of(n, width):
    """Return the max_memory that makes panels of so many columns."""
    return 8 * determinant._COPIES * max(n, 1) * width


@pytest.fixture
def narrow(monkeypatch):
    """Let panels be as narrow as one column."""
    monkeypatch.setattr(determinant, "_LEAST_WIDTH", 1)
    monkeypatch.setattr(determinant, "BLOCK", 40)


@pytest.mark.parametrize("n", [1, 2, 7, 24])
def test_every_width_gives_the_determinant(n, narrow, tmp_path):
    A = np.random.default_rng(n).standard_normal((n, n))
    expected = np.linalg.slogdet(A)
    for width in {1, 2, 5, n - 1, n, 3 * n} - {0}:
        sign, log = cr.slogdet(A, max_memory=bytes_of(n, width), scratch=tmp_path)
        assert sign == expected.sign
        assert type(sign) is type(log) is float
        assert log == pytest.approx(expected.logabsdet, abs=1e-12)
    assert list(tmp_path.iterdir()) == []


def test_permutations_have_their_sign(narrow):
    rng = np.random.default_rng(0)
    for _ in range(20):
        P = np.eye(9)[rng.permutation(9)] * rng.choice([-1, 1], 9)
        sign, log = cr.slogdet(P, max_memory=bytes_of(9, 2))
        assert (sign, log) == (round(np.linalg.det(P)), 0.0)


@pytest.mark.parametrize("kind", ["float32", "memory map", "csr", "list"])
def test_kinds_of_rows(kind, narrow, rows_of):
    matrix, A = rows_of(kind, np.random.default_rng(1).standard_normal((20, 20)))
    expected = np.linalg.slogdet(A)
    for one in (matrix, np.asfortranarray(matrix) if kind == "float32" else matrix):
        assert cr.slogdet(one, max_memory=bytes_of(20, 6)) == pytest.approx(tuple(expected), abs=1e-12)
    assert kind != "memory map" or np.array_equal(matrix, A)


def test_integers(narrow):
    integers = np.random.default_rng(2).integers(-9, 10, (8, 8))
    exact = abs(np.dot(cr.cross(integers[1:].astype(object)), integers[0]))  # x·cross = det[x, …]
    assert cr.slogdet(integers, max_memory=bytes_of(8, 3)).logabsdet == pytest.approx(
        math.log(Fraction(exact)), abs=1e-12
    )


def test_far_scales_and_singular_matrices(narrow):
    A = np.random.default_rng(3).standard_normal((12, 12))
    log = np.linalg.slogdet(A).logabsdet
    scaled = cr.slogdet(A * 2.0 ** np.arange(-900, 900, 150)[:, None], max_memory=bytes_of(12, 5))
    assert scaled.logabsdet == pytest.approx(log + np.arange(-900, 900, 150).sum() * math.log(2), abs=1e-9)
    A[:, 7] = 0
    assert cr.slogdet(A, max_memory=bytes_of(12, 5)) == (0.0, -math.inf)


@pytest.mark.parametrize(("k", "d"), [(0, 5), (1, 5), (10, 40), (16, 16), (30, 31)])
def test_volumes_equal_those_of_blades(k, d, narrow, tmp_path):
    X = np.random.default_rng(k).standard_normal((k, d)) * 10.0 ** np.linspace(-200, 200, k)[:, None]
    expected = cr.Blade(X).log_norm()
    for width in (1, 7, max(k, 1)):
        log = cr.LargeBlade(X).log_norm(max_memory=bytes_of(k, width), scratch=tmp_path)
        assert log == pytest.approx(expected, abs=1e-9)
    single = cr.LargeBlade(np.clip(X, -1e30, 1e30).astype(np.float32))
    assert single.log_norm(max_memory=bytes_of(k, 4)) == pytest.approx(single.log_norm(), abs=1e-6)


def test_dependent_rows(narrow):
    X = np.random.default_rng(4).standard_normal((6, 30))
    X[5] = X[0] - 3 * X[2]
    assert cr.LargeBlade(X).log_norm(max_memory=bytes_of(6, 2)) == -math.inf
    assert cr.LargeBlade(X[:, :6]).log_norm(max_memory=bytes_of(6, 2)) == -math.inf
    X[5] = 0
    assert cr.LargeBlade(X).log_norm(max_memory=bytes_of(6, 2)) == -math.inf


@pytest.mark.parametrize("d", [3, 50, 1000, 100_000])
def test_parallel_pairs_are_dependent(d):
    """Their correlation is 1 to the rounding of sums of d products, which is more than 2 eps for many of them."""
    rng = np.random.default_rng(d)
    for factor in rng.standard_normal(20 if d < 10**5 else 4):
        x = rng.standard_normal(d)
        assert cr.LargeBlade([x, factor * x]).log_norm(max_memory=2**20) == -math.inf
    x, y = rng.standard_normal((2, d))
    near = cr.LargeBlade([x, x + 1e-5 * y])
    assert near.log_norm(max_memory=2**20) == pytest.approx(near.log_norm(), abs=1e-4)


def test_a_gram_matrix_of_negative_determinant_is_singular(monkeypatch):
    """Rounding makes it negative for some duplicate rows: 13 of 60 of (2, 3000), with a pivot of some eps."""
    monkeypatch.setattr(determinant, "_factored", lambda *_: (determinant.SignedLog(-1.0, -35.0), 6e-16))
    assert cr.LargeBlade(np.ones((2, 30))).log_norm(max_memory=2**20) == -math.inf


def test_memory_is_kept_to(tmp_path):
    n, most = 1500, 4 * 2**20  # the matrix has 17 MiB
    A = np.memmap(tmp_path / "A", np.float32, "w+", shape=(n, n))
    A[:] = np.random.default_rng(5).standard_normal((n, n), dtype=np.float32)
    cr.slogdet(A[:64, :64], max_memory=most)
    tracemalloc.start()
    try:
        log = cr.slogdet(A, max_memory=most).logabsdet
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < most + 3 * 8 * determinant.BLOCK
    assert log == pytest.approx(np.linalg.slogdet(A.astype(float)).logabsdet, rel=1e-12)


def test_refusals(tmp_path):
    refused("'A' parameter of slogdet must be a square matrix", cr.slogdet, np.ones((2, 3)))
    refused("'A' parameter of slogdet must be finite", cr.slogdet, [[1, np.nan], [0, 1]])
    refused("must be at least .* 3 panels of 64 columns. Got 1000 bytes", cr.slogdet, np.eye(200), max_memory=1000)
    refused("'max_memory' parameter of slogdet", cr.slogdet, np.eye(2), max_memory=-1)
    refused(
        "'scratch' parameter of slogdet must be the path of a folder", cr.slogdet, np.eye(2), scratch=tmp_path / "a"
    )
    refused("'max_memory' parameter of LargeBlade.log_norm", cr.LargeBlade(np.eye(2)).log_norm, max_memory="1 GB")
