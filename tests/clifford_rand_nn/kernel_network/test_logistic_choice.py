"""Beta of the logistic loss by leave-one-out, and which of both losses."""

from functools import cache

import numpy as np
import pytest

from clifford_rand_nn.datafits.registry import encode_labels
from clifford_rand_nn.kernel_network.calibration import fit_calibration
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut
from clifford_rand_nn.kernel_network.logistic.beta_selection import BetaTask, choose_logistic
from clifford_rand_nn.kernel_network.logistic.path import logistic_path


def _draw(n, C, rng, sharp=3.0):
    """Return rows, and classes drawn from a softmax of curved scores."""
    X = rng.standard_normal((n, 3))
    scores = sharp * np.column_stack([np.sin(2 * X[:, 0]), X[:, 1] * X[:, 2], X[:, 1]])[:, :C]
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    return X, (rng.random((n, 1)) > np.cumsum(p, axis=1)).sum(axis=1)


@cache
def _grid(C):
    """Return a kernel matrix, classes, and the least leave-one-out loss of a wide grid of betas."""
    X, index = _draw(50, C, np.random.default_rng(C))
    K = GateKernel(bias=1.0)(X)
    targets, loss = encode_labels(index, C, "logistic")
    fits = logistic_path(K, targets, None, 4.0 ** np.arange(4, -13, -1), loss)
    return K, index, min(loss.value(fit.leave_one_out, targets).mean() for fit in fits)


@pytest.mark.parametrize("C", [2, 3])
@pytest.mark.parametrize("start", [1.0, 4.0**-8])
def test_choice_is_the_best_of_a_wide_grid(C, start):
    K, index, least = _grid(C)
    found = choose_logistic(K, BetaTask(index, C, start))
    targets, loss = encode_labels(index, C, "logistic")
    assert loss.value(found.fit.leave_one_out, targets).mean() == pytest.approx(least, rel=0.02)
    assert found.calibration.loss == pytest.approx(fit_calibration(found.fit.leave_one_out, index, C).loss)
    np.testing.assert_array_equal(found.outputs, found.fit.leave_one_out)
    assert found.out_of_sample.all()


def test_variances_and_groups_are_used():
    X, index = _draw(60, 2, np.random.default_rng(7))
    K = GateKernel(bias=1.0)(X)
    loo = LeaveOneOut(K.copy(), np.where(index == 1, 1.0, -1.0)[:, None])
    spread = choose_logistic(K, BetaTask(index, 2, 0.01), loo.variances)
    assert spread.calibration.share in (0.0, 0.3, 1.0)
    assert spread.calibration.scale == pytest.approx(loo.variances(4 * spread.fit.beta).mean())
    copies = np.repeat(np.arange(60), 2)
    alone, together = (
        choose_logistic(K[np.ix_(copies, copies)], BetaTask(index[copies], 2, 0.01, groups=groups))
        for groups in (None, copies)
    )
    assert alone.calibration.loss < 0.8 * together.calibration.loss  # a copy that is left in tells the label


def test_time_is_kept():
    X, index = _draw(60, 2, np.random.default_rng(8))
    found = choose_logistic(GateKernel(bias=1.0)(X), BetaTask(index, 2, 0.01, max_time=1e-6))
    assert found.fit.status == "max_time"
