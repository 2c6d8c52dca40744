"""Beta of the logistic loss by leave-one-out, or by rows that learned gates have not seen."""

from functools import cache, partial

import numpy as np
import pytest

from clifford_rand_nn.kernel_network import newton_path
from clifford_rand_nn.kernel_network.calibration import fit_calibration
from clifford_rand_nn.kernel_network.candidates import Problem
from clifford_rand_nn.kernel_network.cholesky import spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric_frame import learn_frame
from clifford_rand_nn.kernel_network.metric_selection import select_metric
from clifford_rand_nn.kernel_network.newton_path import BetaTask, choose_beta, choose_by_holdout
from clifford_rand_nn.problems.loss_registry import encode_labels, wrong_class
from support.newton_path import logistic_path


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
    found = choose_beta(K, BetaTask(*encode_labels(index, C, "logistic"), start))
    targets, loss = encode_labels(index, C, "logistic")
    assert loss.value(found.fit.leave_one_out, targets).mean() == pytest.approx(least, rel=0.02)
    np.testing.assert_array_equal(found.outputs, found.fit.leave_one_out)
    assert found.out_of_sample.all()


def test_groups_are_used():
    X, index = _draw(60, 2, np.random.default_rng(7))
    K = GateKernel(bias=1.0)(X)
    copies = np.repeat(np.arange(60), 2)
    tasks = [BetaTask(*encode_labels(index[copies], 2, "logistic"), 0.01, groups=groups) for groups in (None, copies)]
    outputs = [choose_beta(K[np.ix_(copies, copies)], task).outputs for task in tasks]
    losses = [fit_calibration(found, index[copies], 2).log_loss for found in outputs]
    assert losses[0] < 0.8 * losses[1]  # a copy that is left in tells the label


def test_time_is_kept():
    X, index = _draw(60, 2, np.random.default_rng(8))
    found = choose_beta(GateKernel(bias=1.0)(X), BetaTask(*encode_labels(index, 2, "logistic"), 0.01, max_time=1e-6))
    assert found.fit.status == "max_time"


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
    assert rounds.n_iter
    gates = learn_frame(first, X, y, BETA, shape=rounds.shape, factors=rounds.beta_factors)
    return X, index, rounds, gates


def held_out_choice(learned, beta, place=None, **options):
    """Return the choice for rows ``place``, each once by default."""
    X, index, rounds, gates = learned
    place = np.arange(N) if place is None else place
    task = BetaTask(*encode_labels(index[place], 2, "logistic"), beta, **options)
    return choose_by_holdout(gates.kernel, rounds.folds, X[place], place, task)


def test_rows_left_out_are_those_that_gates_have_not_seen(learned, monkeypatch):
    X, index, rounds, gates = learned
    # at this gap predictions differ by 3e-5, from whatever start
    monkeypatch.setattr(newton_path.Limits, "of", partial(newton_path.Limits.of, tol=1e-12))
    found = held_out_choice(learned, gates.beta)
    np.testing.assert_array_equal(np.concatenate([fold.unseen for fold in rounds.folds]), rounds.rows)
    assert set(np.flatnonzero(found.out_of_sample)) == set(rounds.rows)
    targets, loss = encode_labels(index, 2, "logistic")
    size = spread(gates.kernel(X))
    for fold in rounds.folds:
        assert not np.intersect1d(fold.kept, fold.unseen).size
        K = fold.kernel(X)
        (fit,) = logistic_path(K, targets, None, [found.fit.beta * spread(K) / size], loss)
        np.testing.assert_allclose(found.outputs[fold.unseen], fit.leave_one_out[fold.unseen], atol=2e-4)
    (final,) = logistic_path(gates.kernel(X), targets, None, [found.fit.beta], loss)
    np.testing.assert_allclose(found.fit.fitted, final.fitted, atol=2e-4)
    assert found.fit.n_iter < final.n_iter  # it begins at the predictions of the fit with the gates of a fold


def test_beta_is_the_best_for_rows_that_were_held_out(learned):
    X, index, rounds, gates = learned
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
        found = held_out_choice(learned, start)
        best = held_out(found.fit.beta)
        assert best <= min(held_out(found.fit.beta * 4), held_out(found.fit.beta / 4)) * (1 + 1e-9)


def test_copies_are_left_out_together_and_time_is_kept(learned):
    beta, place = learned[-1].beta, np.repeat(np.arange(N), 2)
    one = held_out_choice(learned, beta, fixed=True)
    two = held_out_choice(learned, beta, place, groups=place, fixed=True)
    np.testing.assert_allclose(two.outputs[::2], one.outputs, atol=0.05)
    assert held_out_choice(learned, 1.0, max_time=1e-6) is None
