"""Distances of many subspaces, means and principal components: against one pair at a time, dense algebra and laws."""

import numpy as np
import pytest
import scipy.linalg
from scipy import sparse

import clifford_rand as cr
from clifford_rand.blades import blocks, samples
from support.refusals import refused


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK", 256)
    monkeypatch.setattr(blocks, "_LEAST_WIDTH", 7)
    monkeypatch.setattr(samples, "_TILE", 8)  # two blades of grade 3


def spread(n, k, d, size, seed=0):
    """Subspaces around one of them, by mixed rows."""
    rng = np.random.default_rng(seed)
    base = np.linalg.qr(rng.standard_normal((d, k)))[0].T + size / np.sqrt(d) * rng.standard_normal((n, k, d))
    return cr.Blade((rng.standard_normal((n, k, k)) + 3 * np.eye(k)) @ base)


def stored(blades, kind, folder):
    rows = blades.factors.astype(np.float32 if kind != "csr" else np.float64)
    if kind == "csr":
        return [cr.LargeBlade(sparse.csr_array(rows[i])) for i in range(len(rows))]
    kept = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float32, rows.shape)
    kept[:] = rows
    return [cr.LargeBlade(one) for one in kept]


@pytest.mark.parametrize("kind", ["geodesic", "chordal", "projection", "fubini_study", "asimov", "martin"])
@pytest.mark.parametrize("size", [3.0, 1e-3, 1e-9])
def test_pairwise_distances(kind, size):
    """Near pairs by their sines, as geomstats#2052 and others need."""
    A, B = spread(7, 3, 20, size), spread(4, 3, 20, size)
    expected = [[scipy.linalg.subspace_angles(P.T, Q.T) for Q in B.factors] for P in A.factors]
    one_by_one = np.array([[P.distance(Q, kind=kind) for Q in B] for P in A])
    np.testing.assert_allclose(cr.subspace_distances(A, B, kind=kind), one_by_one, atol=3e-13)
    if kind == "geodesic":
        np.testing.assert_allclose(one_by_one, np.linalg.norm(expected, axis=-1), atol=2e-14)
    own = cr.subspace_distances(list(A), kind=kind)
    np.testing.assert_array_equal(own, own.T)
    np.testing.assert_array_equal(own.diagonal(), 0)
    np.testing.assert_allclose(own, cr.subspace_distances(A, list(A), kind=kind), atol=3e-13)


@pytest.mark.parametrize("kind", ["memory map", "csr"])
def test_rows_that_stay_where_they_are(kind, tmp_path):
    A = spread(6, 3, 40, 0.5)
    large = stored(A, kind, tmp_path)
    atol = 1e-12 if kind == "csr" else 1e-5
    distances = cr.subspace_distances(large)
    np.testing.assert_allclose(distances, cr.subspace_distances(A), atol=atol)
    exact = [[P.distance(Q) for Q in large] for P in large]
    np.testing.assert_allclose(distances, exact, atol=1e-8)
    mean = cr.subspace_mean(large)
    assert isinstance(mean, cr.LargeBlade)
    np.testing.assert_allclose(mean.to_blade().distance(cr.subspace_mean(A)), 0, atol=atol)
    pca, dense = cr.subspace_pca(large, 2), cr.subspace_pca(A, 2)
    np.testing.assert_allclose(np.abs(pca.scores), np.abs(dense.scores), atol=20 * atol)
    assert pca.components.dtype == large[0].dtype


def test_triangle_inequality_and_rotations():
    A = spread(12, 2, 6, 50.0)
    D = cr.subspace_distances(A)
    assert (D[:, :, None] <= D[:, None] + D.T[None] + 1e-12).all()
    F = cr.random_rotation(6, rng=1)
    np.testing.assert_allclose(cr.subspace_distances(cr.Blade(A.factors @ F.T)), D, atol=1e-12)


@pytest.mark.parametrize("size", [1e-8, 1e-2, 0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_mean_has_no_gradient_and_is_the_least(size, weighted):
    A = spread(9, 3, 20, size)
    weights = np.arange(9.0) + 1 if weighted else None
    mean = cr.subspace_mean(A, weights=weights, tol=1e-12)
    share = np.ones(9) / 9 if weights is None else weights / weights.sum()
    gradient = np.tensordot(share, mean.log(A), 1)
    np.testing.assert_allclose(np.linalg.norm(gradient), 0, atol=1e-13)
    rng = np.random.default_rng(1)
    for _ in range(5):
        step = mean.rejection_of(rng.standard_normal((3, 20)))
        other = mean.exp(0.1 * size * step / np.linalg.norm(step))
        assert share @ other.distance(A) ** 2 > share @ mean.distance(A) ** 2
    F = cr.random_rotation(20, rng=1)
    turned = cr.subspace_mean(cr.Blade(A.factors @ F.T), weights=weights, tol=1e-12)
    np.testing.assert_allclose(turned.distance(cr.Blade(mean.factors @ F.T)), 0, atol=1e-13)
    order = rng.permutation(9)
    again = cr.subspace_mean(A[order], weights=None if weights is None else weights[order], tol=1e-12)
    np.testing.assert_allclose(again.distance(mean), 0, atol=1e-13)


def test_mean_of_two_and_of_lines_at_a_right_angle():
    """gam#1247: subspaces on each other's cut locus have a mean, and signs of lines do not count."""
    A = spread(2, 3, 10, 1.0)
    mean = cr.subspace_mean(A)
    np.testing.assert_allclose(mean.distance(A), A[0].distance(A[1]) / 2, atol=1e-12)
    lines = cr.Blade([[[1.0, 0, 0]], [[0, -1.0, 0]]])
    np.testing.assert_allclose(cr.subspace_mean(lines).distance(lines), np.pi / 4)
    for sign in (1, -1):
        same = cr.Blade([[[1.0, 0.1, 0]], [[sign, -sign * 0.1, 0]]])
        assert cr.subspace_mean(same).is_parallel(cr.Blade([[1.0, 0, 0]]))


def test_mean_that_does_not_end():
    with pytest.warns(cr.ConvergenceWarning, match="gradient is"):
        cr.subspace_mean(spread(6, 2, 5, 100.0), max_iter=2)


def test_principal_components_are_those_of_logarithms():
    A = spread(8, 2, 15, 0.5)
    pca = cr.subspace_pca(A, 8)
    logs = pca.mean.log(A).reshape(8, -1)
    _, size, V = np.linalg.svd(logs, full_matrices=False)
    np.testing.assert_allclose(pca.variances, size**2 / 8, atol=1e-14)
    np.testing.assert_allclose(pca.total_variance, (pca.mean.distance(A) ** 2).mean(), rtol=1e-12)
    np.testing.assert_allclose(np.abs((pca.components.reshape(8, -1)[:7] * V[:7]).sum(axis=1)), 1, rtol=1e-9)
    np.testing.assert_allclose(pca.scores @ pca.components.reshape(8, -1), logs, atol=1e-9)
    np.testing.assert_array_equal(pca.components[7], 0)  # the mean takes one degree of freedom
    np.testing.assert_allclose(logs @ pca.components.reshape(8, -1).T, pca.scores, atol=1e-9)
    about = cr.subspace_pca(A, 3, mean=A[0])
    np.testing.assert_allclose(about.total_variance, (A[0].distance(A) ** 2).mean(), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-12, 1e-8, 1e-6, 1e-3, 0.4])
@pytest.mark.parametrize(("n", "k", "d"), [(5, 3, 30), (8, 2, 15), (30, 1, 400), (60, 5, 200)])
def test_no_component_is_rounding(size, n, k, d):
    rng = np.random.default_rng(3)
    for scales in (np.ones(k), np.logspace(0, -3, k)):
        base = cr.Blade(rng.standard_normal((k, d)) * scales[:, None] + rng.standard_normal(d))
        V = np.linalg.svd(base.rejection_of(rng.standard_normal((2, d))), full_matrices=False)[2]
        u = rng.standard_normal((k, 1)) / np.sqrt(k)
        tangents = size * np.array([u * V[0], 1e-4 * u * V[1]])
        turns = rng.standard_normal((n, 2)).clip(-1, 1)
        for rank in (1, 2) if size > 1e-6 else (1,):
            logs = np.tensordot(turns[:, :rank], tangents[:rank], axes=1)
            pca = cr.subspace_pca(base.exp(logs), 4, mean=base)
            components = pca.components.reshape(4, -1)
            expected = np.diag(np.arange(4) < rank)
            np.testing.assert_allclose(components @ components.T, expected, atol=max(1e-6, 1e-15 / size))
            np.testing.assert_array_equal(components[rank:], 0)
            np.testing.assert_array_equal(pca.scores[:, rank:], 0)
            np.testing.assert_allclose(pca.variances, (pca.scores**2).mean(axis=0), rtol=1e-12)


@pytest.mark.parametrize("size", [1e-6, 0.4])
def test_a_geodesic_has_one_component(size):
    rng = np.random.default_rng(2)
    base = cr.Blade(rng.standard_normal((3, 30)))
    tangent = base.rejection_of(rng.standard_normal((3, 30)))
    tangent *= size / np.linalg.norm(tangent)
    turns = np.array([-2.0, -1, 0, 1, 2])
    pca = cr.subspace_pca(base.exp(turns[:, None, None] * tangent), 2)
    assert base.is_parallel(pca.mean, rtol=1e-12)
    np.testing.assert_allclose(np.abs(pca.scores[:, 0]), size * np.abs(turns), rtol=1e-7, atol=1e-15)
    assert pca.variances[1] < 1e-13 * pca.variances[0] + 1e-28


def test_refusals():
    A = spread(4, 2, 5, 1.0)
    refused("of one grade", cr.subspace_distances, [A[0], cr.Blade(np.eye(3, 5))])
    refused("several", cr.subspace_distances, A[0])
    refused("several", cr.subspace_mean, [])
    refused("several", cr.subspace_mean, [np.eye(2, 5)])
    refused("other than zero", cr.subspace_mean, [A[0], cr.Blade(np.ones((2, 5)))])
    refused("numbers ≥ 0", cr.subspace_mean, A, weights=[1, 2])
    refused("kind", cr.subspace_distances, A, kind="far")
    refused("of grade 2", cr.subspace_distances, A, cr.Blade(np.eye(3, 5)[None]))
    refused("n_components", cr.subspace_pca, A, 5)
    refused("of grade 2", cr.subspace_pca, A, 2, mean=cr.Blade(np.eye(3, 5)))
