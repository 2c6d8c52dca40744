"""Geodesics of subspaces: exp and log are inverse, distances are those of SciPy, motions are isometries."""

import numpy as np
import pytest
import scipy.linalg

import clifford_rand as cr
from support.geometry import at_angles
from support.refusals import refused

pytestmark = pytest.mark.usefixtures("small_blocks")


ANGLES = [
    [0.3, 1.0, 1.5],
    [1e-9, 2e-9, 1e-12],
    [0.0, 1e-9, np.pi / 2],
    [np.pi / 2] * 3,
    [np.pi / 2 - 1e-9, 1e-5, 0.04],
    [0.0, 0.0, 0.0],
    [1.0],
]


@pytest.mark.parametrize("large", [False, True])
@pytest.mark.parametrize("angles", ANGLES)
def test_exponential_of_the_logarithm(angles, large):
    rng = np.random.default_rng(len(angles))
    kind = cr.LargeBlade if large else cr.Blade
    mixes = rng.standard_normal((2, len(angles), len(angles))) + 2 * np.eye(len(angles))
    P, Q = (kind(mix @ rows) for mix, rows in zip(mixes, at_angles(np.array(angles), 30, rng), strict=True))
    tangent = P.log(Q)
    basis = P.orthonormal_basis() if large else P.orthonormalized().factors
    np.testing.assert_allclose(tangent @ basis.T, 0, atol=1e-15)
    np.testing.assert_allclose(np.linalg.norm(tangent), P.distance(Q), atol=3e-15 * len(angles))
    np.testing.assert_allclose(P.distance(Q), np.linalg.norm(angles), atol=1e-14)
    np.testing.assert_allclose(np.linalg.svd(tangent)[1], np.sort(angles)[::-1], atol=1e-14)
    end = P.exp(tangent)
    np.testing.assert_allclose(end.principal_angles(Q), 0, atol=2e-14)
    np.testing.assert_allclose(end.norm(), 1, atol=1e-14)
    for share in (0.25, 0.5):
        on_the_way = P.exp(share * tangent)
        np.testing.assert_allclose(on_the_way.distance(P), share * np.linalg.norm(angles), atol=2e-14)
        np.testing.assert_allclose(on_the_way.distance(Q), (1 - share) * np.linalg.norm(angles), atol=2e-14)


@pytest.mark.parametrize("large", [False, True])
def test_logarithm_of_the_exponential(large):
    """Below π/2 every tangent is the logarithm of its exponential."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((4, 25))
    P = (cr.LargeBlade if large else cr.Blade)(rows)
    for size in (1.5, 1e-3, 1e-9):
        tangent = P.rejection_of(rng.standard_normal((4, 25)))
        tangent *= size / np.linalg.norm(tangent, 2)
        np.testing.assert_allclose(P.log(P.exp(tangent)), tangent, atol=3e-14)


def test_motions_of_the_space_and_a_right_angle():
    """geomstats#2052: e1 and e2 are not at distance 0."""
    rng = np.random.default_rng(1)
    for k, d in [(1, 2), (2, 5), (5, 12)]:
        X, Y = rng.standard_normal((2, k, d))
        # the motion exp([Δᵀ P] - [Pᵀ Δ]) of R^d turns the one into the other
        A, B = cr.Blade(X), cr.Blade(Y)
        P, tangent = A.orthonormalized().factors, A.log(B)
        turned = P @ scipy.linalg.expm(tangent.T @ P - P.T @ tangent).T
        assert cr.Blade(turned).is_parallel(B, rtol=1e-12)
    lines = cr.Blade([[1.0, 0]]), cr.Blade([[0, -1.0]])
    np.testing.assert_allclose(lines[0].distance(lines[1]), np.pi / 2)
    np.testing.assert_allclose(np.abs(lines[0].log(lines[1])), [[0, np.pi / 2]], atol=1e-15)
    assert lines[0].distance(cr.Blade([[-1.0, 0]])) == 0  # of one line whatever its sign


def test_rotations_of_the_space_move_tangents():
    rng = np.random.default_rng(2)
    X, Y = rng.standard_normal((2, 3, 10))
    F = cr.random_rotation(10, rng=3)
    A, B, C, D = (cr.Blade(rows) for rows in (X, Y, X @ F.T, Y @ F.T))
    turn = C.orthonormalized().factors @ F @ A.orthonormalized().factors.T  # of orthonormal rows within the subspace
    np.testing.assert_allclose(C.log(D), turn @ A.log(B) @ F.T, atol=1e-13)


def test_batches_and_precision():
    rng = np.random.default_rng(4)
    A, B = cr.Blade(rng.standard_normal((4, 1, 3, 8))), cr.Blade(rng.standard_normal((5, 3, 8)))
    tangent = A.log(B)
    assert tangent.shape == (4, 5, 3, 8)
    np.testing.assert_allclose(np.linalg.norm(tangent, axis=(-2, -1)), A.distance(B), atol=1e-13)
    assert A.exp(tangent).is_parallel(B, rtol=1e-12).all()
    np.testing.assert_allclose(A[2, 0].log(B[3]), tangent[2, 3], atol=1e-14)
    single = cr.Blade(B.factors[0].astype(np.float32))
    assert single.exp(single.log(single)).dtype == np.float32
    X = rng.standard_normal((2, 3, 40)).astype(np.float32)
    P, Q = cr.LargeBlade(X[0]), cr.LargeBlade(X[1])
    assert P.log(Q).dtype == np.float32
    np.testing.assert_allclose(P.exp(P.log(Q)).principal_angles(Q), 0, atol=1e-6)
    out = np.empty((3, 40))
    assert P.log(Q, out=out) is out
    np.testing.assert_allclose(P.exp(out).principal_angles(Q), 0, atol=1e-13)


@pytest.mark.parametrize("kind", [cr.Blade, cr.LargeBlade])
def test_refusals(kind):
    rng = np.random.default_rng(5)
    A, B, C = (kind(rng.standard_normal((k, 7))) for k in (2, 2, 3))
    refused("of grade 2", A.log, C)
    refused("other than zero", A.log, kind(np.ones((2, 7))))
    refused("of shape", A.exp, np.zeros((3, 7)))
    refused("inside it", B.exp, A.log(B))
    refused("finite", A.exp, np.full((2, 7), np.inf))
