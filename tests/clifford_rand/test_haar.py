"""Random subspaces and rotations: orthonormal, with the moments, the angles and the invariance of the Haar law."""

import numpy as np
import pytest
from scipy import stats

import clifford_rand as cr
from support.refusals import refused

DRAWS = 20_000
FAILS = 1e-9  # probability that one of the tests at a p-value below fails though the law is right


def drawn(k, d, seed):
    return cr.haar_blade(k, d, rng=seed, shape=(DRAWS,)).factors


@pytest.mark.parametrize("d", [1, 2, 3, 4, 8, 5000])
def test_factors_are_orthonormal_and_make_a_unit_blade(d):
    alg = cr.Algebra(d)
    for k in range(min(d, 8) + 1):
        for shape in ((), (3,), (2, 0), (4, 2), 5):
            B, batch = cr.haar_blade(k, d, rng=1, shape=shape), shape if isinstance(shape, tuple) else (shape,)
            F = B.factors
            assert (type(B), B.shape, B.grade, B.algebra) == (cr.Blade, batch, k, alg)
            assert (F.shape, F.dtype, F.flags.c_contiguous) == ((*batch, k, d), np.float64, True)
            gram = F @ np.swapaxes(F, -1, -2)
            np.testing.assert_allclose(gram, np.broadcast_to(np.eye(k), gram.shape), atol=1e-14)
        if k and d < 5:
            B = cr.haar_blade(k, d, rng=k)
            blade = cr.wedge(*[alg.vector(row) for row in B.factors])
            assert B.to_multivector().isclose(blade)
            assert float(B.norm()) == pytest.approx(1, rel=1e-12)
            assert float(cr.inner(blade, blade)["1"]) == pytest.approx(1, rel=1e-12)


def test_rotations():
    for d in (1, 2, 3, 4, 5, 9):
        Q = cr.random_rotation(d, rng=0, shape=(50,))
        np.testing.assert_allclose(Q @ np.swapaxes(Q, -1, -2), np.broadcast_to(np.eye(d), Q.shape), atol=1e-13)
        np.testing.assert_allclose(np.linalg.det(Q), 1.0, rtol=1e-12)
    assert cr.random_rotation(3, rng=0).shape == (3, 3)
    assert cr.random_rotation(3, rng=0, shape=(0,)).shape == (0, 3, 3)


@pytest.mark.parametrize(("k", "d"), [(1, 2), (2, 3), (3, 3), (2, 6), (5, 6)])
def test_mean_of_the_projection(k, d):
    # Entries of P = FᵀF lie in [-1, 1]. Hoeffding, d(d+1)/2 ≤ 21 of them: 42·exp(-20000·0.07²/2) < 3e-20.
    F = drawn(k, d, 0)
    P = np.swapaxes(F, 1, 2) @ F
    assert np.abs(P.mean(axis=0) - k / d * np.eye(d)).max() < 0.07
    # E P_ij² = (k/d)((d-k)(d+1+…)…): from E P_11² = k(k+2)/(d(d+2)), and Σ_j P_1j² = P_11, exchangeable in j > 1.
    on = k * (k + 2) / (d * (d + 2))
    off = (k / d - on) / (d - 1)
    expected = np.where(np.eye(d, dtype=bool), on, off)
    assert np.abs((P**2).mean(axis=0) - expected).max() < 0.07


@pytest.mark.parametrize(("k", "d"), [(1, 2), (1, 5), (3, 4), (5, 5)])
def test_every_entry_has_the_marginal_of_the_sphere(k, d):
    # An entry of a uniform unit vector: x² ~ Beta(1/2, (d-1)/2), with a symmetric sign. Kolmogorov and Smirnov,
    # 4 cases of at most 25 entries each: the least of the p-values is below 1e-11 with probability < 1e-9.
    def cdf(x):
        return 0.5 * (1 + np.sign(x) * stats.beta.cdf(x**2, 0.5, (d - 1) / 2))

    for entries in drawn(k, d, 3).reshape(DRAWS, -1).T:
        assert stats.kstest(entries, cdf).pvalue > FAILS / 100


def test_angles_of_subspaces_and_lines():
    # cos² of the angle of a unit vector to a k-dimensional subspace is Beta(k/2, (d-k)/2), whichever of them is random.
    for k, d in ((1, 3), (2, 3), (2, 5), (3, 6)):
        a = np.random.default_rng(0).standard_normal(d)
        squares = ((drawn(k, d, 5) @ (a / np.linalg.norm(a))) ** 2).sum(axis=-1)
        assert stats.kstest(squares, stats.beta(k / 2, (d - k) / 2).cdf).pvalue > FAILS
    fixed = cr.haar_blade(3, 7, rng=9).factors
    squares = ((drawn(1, 7, 2)[:, 0] @ fixed.T) ** 2).sum(axis=-1)
    assert stats.kstest(squares, stats.beta(3 / 2, 4 / 2).cdf).pvalue > FAILS


def test_orthogonal_matrices_are_haar():
    # The angle of a Haar rotation of the plane is uniform; determinants ±1 are equally likely. Without the sign fix
    # the first entry of LAPACK's Q is never positive.
    Q = drawn(2, 2, 0)
    positive = np.linalg.det(Q) > 0
    assert stats.binomtest(int(positive.sum()), DRAWS).pvalue > FAILS
    for group in (Q[positive], Q[~positive], cr.random_rotation(2, rng=0, shape=(DRAWS,))):
        angle = np.arctan2(group[:, 0, 1], group[:, 0, 0])
        assert stats.kstest(angle, stats.uniform(-np.pi, 2 * np.pi).cdf).pvalue > FAILS
    # Diaconis and Shahshahani: the trace of a Haar matrix has mean 0 and variance 1, for SO(d) from d = 3 on as well.
    for Q in (drawn(6, 6, 1), cr.random_rotation(5, rng=1, shape=(DRAWS,))):
        trace = np.trace(Q, axis1=1, axis2=2)
        # Hoeffding for |trace| ≤ 6: 2·exp(-2·20000·0.25²/12²) < 1e-7 fails; the variance by the same with trace² ≤ 36
        assert abs(trace.mean()) < 0.25
        assert abs((trace**2).mean() - 1) < 0.8


def test_seeds():
    assert np.array_equal(cr.haar_blade(2, 4, rng=7).factors, cr.haar_blade(2, 4, rng=np.random.default_rng(7)).factors)
    assert not np.array_equal(cr.haar_blade(2, 4).factors, cr.haar_blade(2, 4).factors)
    generator = np.random.default_rng(0)
    assert not np.array_equal(cr.random_rotation(3, rng=generator), cr.random_rotation(3, rng=generator))


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        (cr.haar_blade, {"k": 4, "d": 3}, r"'k' .*haar_blade must be an integer from 0 to 3\. Got 4 .* at most d"),
        (cr.haar_blade, {"k": -1, "d": 3}, r"'k' parameter of haar_blade must be an integer from 0 to 3\. Got -1"),
        (cr.haar_blade, {"k": 1, "d": 0}, r"'d' parameter of haar_blade must be an integer ≥ 1\. Got 0"),
        (cr.haar_blade, {"k": 1.0, "d": 3}, r"'k' parameter of haar_blade .* Got 1\.0"),
        (cr.haar_blade, {"k": 1, "d": 3, "shape": (2, -1)}, r"'shape' .* 2\^62 or a tuple of them\. Got \(2, -1\)"),
        (cr.haar_blade, {"k": 1, "d": 3, "shape": 2.5}, r"'shape' parameter of haar_blade .* Got 2\.5"),
        (cr.haar_blade, {"k": 1, "d": 3, "rng": "a"}, r"'rng' .*haar_blade must be a numpy\.random\.Generator"),
        (cr.random_rotation, {"d": 0}, r"'d' parameter of random_rotation must be an integer ≥ 1\. Got 0"),
        (cr.random_rotation, {"d": 2, "shape": "x"}, r"'shape' parameter of random_rotation"),
    ],
)
def test_errors(function, arguments, message):
    refused(message, function, **arguments)
