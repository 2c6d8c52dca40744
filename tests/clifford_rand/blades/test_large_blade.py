"""Blades of rows read in blocks: they agree with `Blade` on every kind of rows, and hold no copy of them."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse

import clifford_rand as cr
from clifford_rand.blades import blocks
from support.geometry import gaussian
from support.refusals import refused

KINDS = ["float64", "float32", "float16", "memory map", "csr", "csc", "list"]


pytestmark = pytest.mark.usefixtures("small_blocks")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("k", "j"), [(1, 1), (3, 3), (5, 2), (2, 6)])
def test_agreement_with_blades(kind, k, j, rows_of):
    d = 40
    (rows, X), (others, Y), (vectors, V) = (rows_of(kind, gaussian(10 * n + k + j, n, d)) for n in (k, j, 4))
    P, Q, A, B = cr.LargeBlade(rows), cr.LargeBlade(others), cr.Blade(X), cr.Blade(Y)
    rtol = 1e-6 if P.dtype == np.float32 else 1e-12
    assert (P.grade, P.d) == (k, d)
    np.testing.assert_allclose(P.log_norm(), A.log_norm(), rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(P.norm(), A.norm(), rtol=1e-12)
    np.testing.assert_allclose(P.principal_angles(Q), A.principal_angles(B), atol=1e-13)
    np.testing.assert_allclose((P ^ Q).log_norm(), (A ^ B).log_norm(), atol=1e-12)
    np.testing.assert_allclose(P.inner(P), A.inner(A), rtol=1e-12)
    for one, other in zip(cr.LargeBlade(X[:1] + 1).log_inner(P), cr.Blade(X[:1] + 1).log_inner(A), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12)
    np.testing.assert_allclose(P.projection_of(vectors), A.projection_of(V), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(P.rejection_of(vectors), A.rejection_of(V), rtol=rtol, atol=rtol)
    basis = P.orthonormal_basis()
    assert basis.dtype == P.dtype
    np.testing.assert_allclose(basis.astype(float) @ basis.T, np.eye(k), atol=rtol)
    np.testing.assert_allclose(P.coordinates(vectors), V @ basis.T, rtol=10 * rtol, atol=10 * rtol)
    assert cr.Blade(basis).isclose(A.normalized(), rtol=1e-5 if P.dtype == np.float32 else 1e-9)
    assert P.to_blade().isclose(A, rtol=1e-5 if P.dtype == np.float32 else 1e-9)
    if k == j:
        np.testing.assert_allclose(P.distance(Q), A.distance(B), atol=1e-13)
        np.testing.assert_allclose(P.distance(Q, kind="chordal"), A.distance(B, kind="chordal"), atol=1e-13)


@pytest.mark.parametrize("other", KINDS)
@pytest.mark.parametrize(("kind", "thin"), [("float32", 16), ("csr", 16), ("csr", 1)])
def test_two_kinds_together(kind, thin, other, rows_of, monkeypatch):
    """With ``thin`` 1 every sparse matrix is multiplied as such."""
    monkeypatch.setattr(blocks, "THIN", thin)
    (rows, X), (others, Y) = rows_of(kind, gaussian(7, 4, 50)), rows_of(other, gaussian(8, 3, 50))
    P, Q = cr.LargeBlade(rows), cr.LargeBlade(others)
    expected = cr.Blade(X).principal_angles(cr.Blade(Y))
    np.testing.assert_allclose(P.principal_angles(Q), expected, atol=1e-13)
    np.testing.assert_allclose(Q.principal_angles(P), expected, atol=1e-13)
    wedge = cr.wedge(P, Q)
    np.testing.assert_allclose(wedge.log_norm(), cr.Blade(np.concatenate([X, Y])).log_norm(), atol=1e-12)
    np.testing.assert_allclose(cr.inner(wedge, wedge), wedge.norm() ** 2, rtol=1e-12)


@pytest.mark.parametrize("angle", [1.0, 0.06, 1e-3, 1e-7, 1e-12, 0.0])
@pytest.mark.parametrize("condition", [1.0, 20.0, 1e4, 1e9])
def test_small_angles_of_ill_conditioned_rows(angle, condition):
    """The plane of e1, e2 and one turned by known angles, by rows that are nearly parallel."""
    d = 60
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((d, 4)))[0].T
    turned = np.stack([Q[0], np.cos(angle) * Q[1] + np.sin(angle) * Q[2]])
    mix = np.array([[1, 0], [1, 1 / condition]])
    P, R = cr.LargeBlade(mix @ Q[:2]), cr.LargeBlade(mix @ turned)
    # the rows themselves are rounded: eps times their condition
    np.testing.assert_allclose(P.principal_angles(R), [0, angle], atol=4e-16 * condition + 8e-15)
    np.testing.assert_allclose(P.log_norm(), -np.log(condition), atol=1e-15 * condition)
    basis = P.orthonormal_basis()
    np.testing.assert_allclose(basis @ basis.T, np.eye(2), atol=1e-14)
    assert not P.is_zero()


@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1e30, 1e300])
def test_rows_of_every_size(scale):
    X, Y = gaussian(0, 2, 3, 30)
    X[1] *= scale
    A, B = cr.LargeBlade(X), cr.LargeBlade(Y)
    np.testing.assert_allclose(A.log_norm(), cr.Blade(X).log_norm(), rtol=1e-12)
    np.testing.assert_allclose(A.principal_angles(B), cr.Blade(X).principal_angles(cr.Blade(Y)), atol=1e-13)
    np.testing.assert_allclose(A.log_inner(B), cr.Blade(X).log_inner(cr.Blade(Y)), rtol=1e-12)


@pytest.mark.parametrize("kind", ["float64", "csr"])
def test_zero_and_independent(kind, rows_of):
    rows, X = rows_of(kind, gaussian(0, 5, 40))
    mixed = (gaussian(1, 6, 5) @ X) if kind == "float64" else sparse.vstack([rows, 2 * rows[:1]])
    A = cr.LargeBlade(mixed)
    assert A.is_zero()
    assert A.log_norm() == -np.inf
    assert A.log_inner(A) == (0, -np.inf)
    assert cr.wedge(cr.LargeBlade(rows), cr.LargeBlade(rows)).is_zero()
    assert cr.LargeBlade(np.zeros((2, 5))).is_zero()
    assert not cr.LargeBlade(rows).is_zero()
    assert cr.LargeBlade([[1.0, 0, 0], [1, 0.5, 0]], rtol=0.5).is_zero()
    refused("other than zero", A.principal_angles, cr.LargeBlade(rows))


def test_intersections():
    """Spans that share two directions, and a third within .01, all by other bases."""
    rng = np.random.default_rng(0)
    d = 80
    Q = np.linalg.qr(rng.standard_normal((d, 9)))[0].T
    near = np.cos(0.01) * Q[2] + np.sin(0.01) * Q[3]
    A = cr.LargeBlade(rng.standard_normal((5, 5)) @ Q[[0, 1, 2, 4, 5]])
    B = cr.LargeBlade(rng.standard_normal((4, 4)) @ np.stack([Q[0], Q[1], near, Q[6]]))
    exact = A.intersection(B)
    assert exact.grade == 2
    np.testing.assert_allclose(exact.principal_angles(cr.LargeBlade(Q[:2])), 0, atol=1e-12)
    np.testing.assert_allclose(exact.log_norm(), 0, atol=1e-12)
    wider = A.intersection(B, rtol=np.sin(0.02))
    assert wider.grade == 3
    np.testing.assert_allclose(wider.principal_angles(cr.LargeBlade(Q[:3])), 0, atol=1e-12)
    assert A.contains(exact)
    assert not A.contains(B)
    assert A.contains(cr.LargeBlade(rng.standard_normal((2, 5)) @ A.orthonormal_basis()))
    vectors = np.stack([Q[0], 1e200 * (Q[0] + 1e-6 * Q[6]), 1e-200 * Q[6], np.zeros(len(Q[0]))])
    for rtol, inside in ((1e-9, [True, False, False, True]), (1e-5, [True, True, False, True])):
        assert A.contains(vectors, rtol=rtol).tolist() == inside
        assert A.to_blade().contains(vectors, rtol=rtol).tolist() == inside
    none = A.intersection(cr.LargeBlade(Q[6:]))
    assert none.grade == 0
    assert none.log_norm() == 0
    assert (none ^ A).grade == 5


def test_what_is_left_of_vectors_near_the_subspace_is_orthogonal_to_it():
    rng = np.random.default_rng(0)
    A = cr.LargeBlade(rng.standard_normal((5, 200)))
    basis = A.orthonormal_basis()
    for size in (1.0, 1e-6, 1e-12):
        left = A.rejection_of(rng.standard_normal((3, 5)) @ basis + size * rng.standard_normal((3, 200)))
        assert np.abs(left @ basis.T).max() < 1e-13 * np.linalg.norm(left)
        assert (np.linalg.norm(left, axis=1) > size).all()


@pytest.mark.parametrize("condition", [1e4, 1e8, 1e12])
def test_rows_that_nearly_depend_are_in_their_subspace(condition):
    """The product with an inverse triangle left the third row 1e-16 times the condition outside."""
    for seed in range(5):
        X = np.random.default_rng(seed).standard_normal((3, 7))
        X[1] = X[0] + X[1] / condition
        A = cr.LargeBlade(X)
        assert np.abs(A.rejection_of(X)).max() < 1e-14
        assert A.contains(X).all()
        Q = A.orthonormal_basis()
        np.testing.assert_allclose(Q @ Q.T, np.eye(3), atol=1e-14)


def test_rows_of_a_file_are_read_in_blocks_and_nothing_is_copied(tmp_path, monkeypatch):
    """Of 8 MiB of float32 on disk less than .5 MiB is held at a time, and a basis goes to disk likewise."""
    monkeypatch.setattr(blocks, "BLOCK", 2**13)
    rng = np.random.default_rng(0)
    shape = (4, 2**19)
    A, B, out = (np.memmap(tmp_path / name, np.float32, "w+", shape=shape) for name in "abc")
    for array in (A, B):
        array[:] = rng.standard_normal(shape, dtype=np.float32)
    tracemalloc.start()
    try:
        P, Q = cr.LargeBlade(A), cr.LargeBlade(B)
        P.principal_angles(Q)
        (P ^ Q).log_norm()
        found = P.orthonormal_basis(out=out)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 2**19
    assert found is out
    np.testing.assert_allclose(out.astype(float) @ out.T, np.eye(4), atol=1e-6)


def test_sparse_rows_are_read_where_they_hold_something(monkeypatch):
    """Of 10⁹ columns three hold something."""
    d = 10**9
    rows = sparse.csr_array(([1.0, 2.0, 3.0], ([0, 1, 1], [5, 5, 10**8])), shape=(2, d))
    other = sparse.csr_array(([1.0, 1.0], ([0, 1], [5, 10**9 - 1])), shape=(2, d))
    A, B = cr.LargeBlade(rows), cr.LargeBlade(other)
    np.testing.assert_allclose(A.norm(), 3)
    np.testing.assert_allclose(A.principal_angles(B), [0, np.pi / 2], atol=1e-15)


def test_what_is_refused(tmp_path):
    for wrong, words in (
        (np.ones(3), "shape"),
        (np.ones((3, 2)), "at most d vectors"),
        (np.ones((1, 2), complex), "real"),
        ([["a", "b"]], "real"),
    ):
        refused(words, cr.LargeBlade, wrong)
    refused("LargeBlade takes sparse rows", cr.Blade, sparse.csr_array(np.eye(2, 3)))
    A = cr.LargeBlade(np.eye(2, 30))
    for bad in (np.nan, np.inf):
        X = np.eye(2, 30)
        X[1, 20] = bad
        refused("finite", cr.LargeBlade(X).log_norm)
        refused("finite", A.coordinates, X)
    refused("30 dimensions", A.principal_angles, cr.LargeBlade(np.eye(2, 31)))
    refused("LargeBlade", A.wedge, cr.Blade(np.eye(2, 30)))
    refused("grade 2", A.distance, cr.LargeBlade(np.eye(1, 30)))
    refused("shape", A.coordinates, np.ones((2, 29)))
    refused("floats", A.orthonormal_basis, out=np.zeros((2, 29)))
