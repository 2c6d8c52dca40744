"""Angles by chance and the test of movement: laws by Haar-distributed frames, level and power by simulation."""

from itertools import combinations

import numpy as np
import pytest
from scipy import stats

import clifford_rand as cr
from clifford_rand.blades import angle_tests
from support.refusals import refused


@pytest.mark.parametrize(
    ("j", "k", "d"), [(1, 1, 2), (1, 3, 7), (2, 2, 4), (2, 3, 10), (3, 2, 10), (3, 4, 5), (3, 3, 20)]
)
def test_samples_have_the_law_of_haar_distributed_frames(j, k, d):
    """Kolmogorov-Smirnov of each angle and of the distance, level 1e-4 each, of 2000 and 2000."""
    ours = cr.PrincipalAngleDistribution(j, k, d).sample(2000, rng=0)
    haar = cr.haar_blade(j, d, rng=1, shape=2000).principal_angles(cr.haar_blade(k, d, rng=2, shape=2000))
    assert ours.shape == haar.shape
    shared = max(0, j + k - d)
    np.testing.assert_array_equal(ours[:, :shared], 0)
    for i in range(shared, min(j, k)):
        assert stats.ks_2samp(ours[:, i], haar[:, i]).pvalue > 1e-4
    assert stats.ks_2samp(np.linalg.norm(ours, axis=1), np.linalg.norm(haar, axis=1)).pvalue > 1e-4


@pytest.mark.parametrize(
    ("j", "k", "d", "which"),
    [(1, 1, 2, "largest"), (1, 4, 9, "smallest"), (3, 1, 50, "largest"), (2, 3, 8, "largest"), (4, 5, 12, "largest"),
     (2, 4, 7, "smallest"), (3, 5, 9, "smallest"), (6, 6, 7, "largest")],
)  # fmt: skip
def test_closed_forms(j, k, d, which):
    """Kolmogorov-Smirnov against the closed form, level 1e-4, of 5000 samples."""
    law = cr.PrincipalAngleDistribution(j, k, d)
    values = law.sample(5000, rng=3)[:, -(which == "largest")]
    assert stats.kstest(values, lambda t: law.cdf(t, which=which)).pvalue > 1e-4
    np.testing.assert_allclose(law.cdf([0, np.pi / 2], which=which), [0, 1])


def test_distribution_functions_without_a_closed_form():
    law = cr.PrincipalAngleDistribution(3, 5, 30)
    fresh = law.sample(20_000, rng=5)
    for which, place in (("smallest", 0), ("largest", -1)):
        t = np.quantile(fresh[:, place], [0.1, 0.5, 0.9])
        np.testing.assert_allclose(law.cdf(t, which=which, rng=4), [0.1, 0.5, 0.9], atol=0.025)  # 4 standard errors
    np.testing.assert_array_equal(cr.PrincipalAngleDistribution(3, 4, 5).cdf([0.0, 1.0], which="smallest"), 1)
    np.testing.assert_allclose((np.cos(fresh) ** 2).sum(axis=1).mean(), 3 * 5 / 30, rtol=0.02)


@pytest.mark.parametrize(("k", "d"), [(1, 30), (3, 12)])
def test_pvalues_of_uniform_subspaces_are_uniform(k, d):
    law = cr.PrincipalAngleDistribution(k, k, d)
    A = cr.haar_blade(k, d, rng=6, shape=80)
    B = cr.haar_blade(k, d, rng=7, shape=80)
    assert stats.kstest(law.distance_pvalue(A.distance(B), rng=8), "uniform").pvalue > 1e-3
    assert law.distance_pvalue(1e-3, rng=8) <= 1e-3


def replicates(n, rng, move=0.0, k=2, d=12):
    base = np.eye(k, d)
    base[:, k : 2 * k] += move * np.eye(k)
    return cr.Blade(base + 0.2 * rng.standard_normal((n, k, d)))


@pytest.mark.parametrize(
    ("m", "n", "permutations", "experiments"),
    [
        (4, 4, 199, 200),
        *(pytest.param(*case, 400, marks=pytest.mark.slow) for case in ((4, 4, 999), (19, 1, 999), (12, 10, 199))),
    ],
)
def test_level_by_simulation(m, n, permutations, experiments):
    """Experiments without a movement: rejections at α are at most binomial, exceeded with probability 1e-4 each."""
    rng = np.random.default_rng(9)
    pvalues = []
    for _ in range(experiments):
        pool = replicates(m + n, rng)
        pvalues.append(cr.subspace_test(pool[:m], pool[m:], n_permutations=permutations, rng=rng).pvalue)
    for level in (0.05, 0.1, 0.5):
        rejections = np.mean(np.array(pvalues) <= level)
        assert rejections <= stats.binom.isf(1e-4, experiments, level) / experiments
        least = stats.binom.ppf(1e-4, experiments, level) / experiments
        assert rejections >= least - 0.05  # a discrete p-value may reject fewer


def test_power():
    rng = np.random.default_rng(10)
    found = [cr.subspace_test(replicates(6, rng), replicates(6, rng, 0.6)).pvalue <= 0.05 for _ in range(40)]
    assert np.mean(found) > 0.8
    moved = replicates(1, rng, 1.0)[0]
    assert cr.subspace_test(replicates(24, rng), [moved]).pvalue == 1 / 25


def test_energy_distance_and_all_splits():
    rng = np.random.default_rng(11)
    A, B = replicates(4, rng), replicates(3, rng, 0.5)
    result = cr.subspace_test(A, B)
    assert (result.n_splits, result.is_exact) == (35, True)
    both = [*A, *B]

    def energy(second):
        first = [i for i in range(7) if i not in second]
        mean = lambda P, Q: np.mean([[both[i].distance(both[j], kind="chordal") for i in P] for j in Q])  # noqa: E731
        return 2 * mean(first, second) - mean(first, first) - mean(second, second)

    every = [energy(second) for second in combinations(range(7), 3)]
    np.testing.assert_allclose(result.statistic, energy((4, 5, 6)), rtol=1e-10)
    np.testing.assert_allclose(result.pvalue, np.mean(np.array(every) >= energy((4, 5, 6)) - 1e-12))
    large = [[cr.LargeBlade(one.factors) for one in group] for group in (A, B)]
    np.testing.assert_allclose(cr.subspace_test(*large).statistic, result.statistic, rtol=1e-10)
    known = cr.subspace_distances([*A, *B])
    assert cr.subspace_test(A, B, distances=known) == cr.subspace_test(A, B, kind="geodesic")
    refused("of shape", cr.subspace_test, A, B, distances=known[1:])
    sampled = cr.subspace_test(A, B, n_permutations=20, rng=0)
    assert (sampled.n_splits, sampled.is_exact) == (21, False)
    assert sampled == cr.subspace_test(A, B, n_permutations=20, rng=0)


def test_refusals():
    refused("from 1 to 5", cr.PrincipalAngleDistribution, 6, 2, 5)
    refused("which", cr.PrincipalAngleDistribution(1, 2, 5).cdf, 0.1, which="middle")
    refused("equal to k", cr.PrincipalAngleDistribution(1, 2, 5).distance_pvalue, 0.1)
    A = replicates(3, np.random.default_rng(0))
    refused("two subspaces or more", cr.subspace_test, A[:1], A)
    refused("two subspaces or more", cr.subspace_test, A, A[0])
    refused("of one grade", cr.subspace_test, A, [cr.Blade(np.eye(3, 12))])


def test_splits_are_taken_by_chunks(monkeypatch):
    """Of any size, with the same result; a number of splits beyond reason is refused before anything is computed."""
    rng = np.random.default_rng(12)
    A, B = replicates(6, rng), replicates(5, rng, 0.3)
    whole = [cr.subspace_test(A, B, n_permutations=count, rng=0) for count in (461, 100)]
    monkeypatch.setattr(angle_tests, "_CHUNK", 7 * 11)
    assert [cr.subspace_test(A, B, n_permutations=count, rng=0) for count in (461, 100)] == whole
    assert [(result.n_splits, result.is_exact) for result in whole] == [(462, True), (101, False)]
    refused("'n_permutations' parameter of subspace_test", cr.subspace_test, A, B, n_permutations=10**12)
