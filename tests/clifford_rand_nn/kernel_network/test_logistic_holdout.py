"""The logistic loss on learned gates: judged by rows that the gates have not seen."""

import numpy as np
import pytest

from clifford_rand_nn.datafits.registry import encode_labels
from clifford_rand_nn.kernel_network.candidates import Problem
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.logistic.beta_selection import BetaTask, choose_by_holdout
from clifford_rand_nn.kernel_network.logistic.path import logistic_path
from clifford_rand_nn.kernel_network.metric.metric_frame import learn_frame, spread
from clifford_rand_nn.kernel_network.metric.metric_selection import select_metric, wrong_class

N, BETA = 90, 1e-2


@pytest.fixture(scope="module")
def learned():
    """Return rows with one column that matters, labels, folds and the final kernel."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((N, 6))
    index = (rng.random(N) < 1 / (1 + np.exp(-4 * np.abs(X[:, 0]) + 3))).astype(int)
    y = np.where(index, 1.0, -1.0)[:, None]
    first = GateKernel(bias=1.0)
    rounds = select_metric(first, Problem(X, y), BETA, mistakes=wrong_class)
    assert rounds.rounds
    gates = learn_frame(first, X, y, BETA, shape=rounds.shape, factors=rounds.factors)
    return X, index, rounds, gates


def test_rows_left_out_are_those_that_gates_have_not_seen(learned):
    X, index, rounds, gates = learned
    every = np.arange(N)
    found = choose_by_holdout(gates.kernel, rounds.folds, X, every, BetaTask(index, 2, gates.beta))
    np.testing.assert_array_equal(np.concatenate([fold.unseen for fold in rounds.folds]), rounds.rows)
    assert set(np.flatnonzero(found.out_of_sample)) == set(rounds.rows)
    targets, loss = encode_labels(index, 2, "logistic")
    size = spread(gates.kernel(X))
    for fold in rounds.folds:
        assert not np.intersect1d(fold.kept, fold.unseen).size
        K = fold.kernel(X)
        (fit,) = logistic_path(K, targets, None, [found.fit.beta * spread(K) / size], loss)
        np.testing.assert_allclose(found.outputs[fold.unseen], fit.leave_one_out[fold.unseen], atol=1e-6)
    (final,) = logistic_path(gates.kernel(X), targets, None, [found.fit.beta], loss)
    np.testing.assert_allclose(found.fit.fitted, final.fitted, atol=1e-3)


def test_beta_is_the_best_for_rows_that_were_held_out(learned):
    X, index, rounds, gates = learned
    every = np.arange(N)
    targets, loss = encode_labels(index, 2, "logistic")
    size = spread(gates.kernel(X))

    def held_out(beta):
        total = 0.0
        for fold in rounds.folds:
            K = fold.kernel(X[fold.kept])
            own = N * beta * spread(K) / size / len(fold.kept)
            (fit,) = logistic_path(K, targets[fold.kept], None, [own], loss, leave_out=False)
            outputs = fold.kernel(X[fold.unseen], X[fold.kept]) @ fit.alpha + fit.intercept
            total += loss.value(outputs, targets[fold.unseen]).sum()
        return total

    for start in (gates.beta, 1e3 * gates.beta):
        found = choose_by_holdout(gates.kernel, rounds.folds, X, every, BetaTask(index, 2, start))
        best = held_out(found.fit.beta)
        assert best <= min(held_out(found.fit.beta * 4), held_out(found.fit.beta / 4)) * (1 + 1e-9)


def test_copies_are_left_out_together_and_time_is_kept(learned):
    X, index, rounds, gates = learned
    place = np.repeat(np.arange(N), 2)
    one = choose_by_holdout(gates.kernel, rounds.folds, X, np.arange(N), BetaTask(index, 2, gates.beta, fixed=True))
    two = choose_by_holdout(
        gates.kernel, rounds.folds, X[place], place, BetaTask(index[place], 2, gates.beta, groups=place, fixed=True)
    )
    np.testing.assert_allclose(two.outputs[::2], one.outputs, atol=0.05)
    assert (
        choose_by_holdout(gates.kernel, rounds.folds, X, np.arange(N), BetaTask(index, 2, 1.0, max_time=1e-6)) is None
    )
