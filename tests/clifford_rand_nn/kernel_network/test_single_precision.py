"""Fits that are compared in single precision, and those that are not."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from clifford_rand_nn.kernel_network import cholesky
from clifford_rand_nn.kernel_network.candidates import Problem
from clifford_rand_nn.kernel_network.cholesky import KernelRidge
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric_selection import compare_metrics

X, y = make_friedman1(150, noise=1.0, random_state=0)
K, TARGETS = GateKernel(bias=1.0)(X - X.mean(axis=0)), np.column_stack([y - y.mean(), np.sign(y - y.mean())])
TRACE, EVERY = float(np.trace(K)), np.arange(150)
WEIGHTS = np.random.default_rng(0).uniform(0.5, 2.0, 150)


def left_out(K, targets, radius, **options):
    return KernelRidge(K, WEIGHTS, **options).left_out(targets, radius, EVERY, EVERY)[:2]


@pytest.mark.parametrize("share", [1.5e-7, 1e-5, 1e-3, 1e-1, 10.0])
def test_errors_and_fits_are_those_of_double_precision_but_for_little(share):
    expected, left = left_out(K, TARGETS, share * TRACE)
    found, found_left = left_out(K, TARGETS, share * TRACE, single=True)
    assert (found != expected).any()
    errors = [np.mean((TARGETS - outputs) ** 2, axis=0) for outputs in (found, expected)]
    np.testing.assert_allclose(*errors, rtol=5e-4)
    np.testing.assert_allclose(found_left, left, rtol=2e-2)
    alpha, t = KernelRidge(K, WEIGHTS).fit(TARGETS, share * TRACE)
    found, found_t = KernelRidge(K, WEIGHTS, single=True).fit(TARGETS, share * TRACE)
    assert found.dtype == found_t.dtype == np.float64
    np.testing.assert_allclose(K @ found + found_t, K @ alpha + t, atol=2e-2 * np.abs(TARGETS).max())


@pytest.mark.parametrize(
    ("kernel", "targets", "radius"),
    [(K, TARGETS, 0.9e-7 * TRACE), (1e13 * K, TARGETS, 1e12 * TRACE), (1e-15 * K, TARGETS, 1e-16 * TRACE)]
    + [(K, scale * TARGETS, 0.1 * TRACE) for scale in (1e-30, 1e30, 0.0)],
)
def test_small_betas_and_numbers_beyond_its_range_stay_in_double_precision(kernel, targets, radius):
    for found, expected in zip(
        left_out(kernel, targets, radius, single=True), left_out(kernel, targets, radius), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


def test_what_has_no_factor_in_single_precision_gets_one_in_double(monkeypatch):
    """Equal rows, whose kernel has rank 1, with a beta that single precision does not see."""
    same = np.full((150, 150), 3.0)
    monkeypatch.setattr(cholesky, "_SINGLE", 0.0)
    for found, expected in zip(
        left_out(same, TARGETS, 1e-9 * 450, single=True), left_out(same, TARGETS, 1e-9 * 450), strict=True
    ):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS / WEIGHTS.mean()])
def test_predictions_of_held_out_rows_are_stated_in_double_precision(weights):
    """Where no metric is learned they are those of the fits to the folds that were compared."""
    compared = compare_metrics(GateKernel(bias=1.0), Problem(X, TARGETS, weights), 1e-3, 1, (), None)
    found, folds, kernel, expected = compared.selection(True), compared.folds, GateKernel(bias=1.0), []
    for held, kept in zip(folds.held, folds.kept, strict=True):
        rows, others = compared.taken[held], compared.taken[kept]
        part = None if weights is None else weights[others] / weights[others].mean()
        alpha, t = KernelRidge(kernel(X[others]), part).fit(TARGETS[others], len(X) * 1e-3 * compared.best.factor)
        expected.append(kernel(X[rows], X[others]) @ alpha + t)
    assert (found.predictions != compared.best.predictions + TARGETS.mean(axis=0)).any()
    np.testing.assert_allclose(found.predictions, np.concatenate(expected), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(found.rows, compared.taken[folds.judged])
