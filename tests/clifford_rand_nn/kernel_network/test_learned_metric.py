"""Learned gates: the outer product of gradients, what maps and weights do to it, and how many rounds pay."""

import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

from clifford_rand.errors import ArgumentError
from clifford_rand_nn.kernel_network import metric_frame, metric_selection, network
from clifford_rand_nn.kernel_network import metric_selection as rounds_module
from clifford_rand_nn.kernel_network.candidates import Problem
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.leave_one_out import LeaveOneOut
from clifford_rand_nn.kernel_network.metric_folds import held_parts, outer_parts
from clifford_rand_nn.kernel_network.metric_frame import (
    _root,
    gradient_outer_product,
    learn_frame,
    learned_kernels,
)
from clifford_rand_nn.kernel_network.metric_selection import compare_metrics, mean_gain, select_metric
from clifford_rand_nn.problems.loss_registry import wrong_class


def _made(n=80, d=5, C=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    Y = np.column_stack([np.abs(X[:, 0] + X[:, 1]), np.sin(2 * X[:, 2])])[:, :C]
    return X, Y + 0.1 * rng.standard_normal((n, C))


@pytest.mark.parametrize("weighted", [False, True])
def test_of_many_rows_the_gradients_of_a_sample_are_averaged(weighted, monkeypatch):
    X, Y = _made(n=400)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, 400) if weighted else None
    alpha = KernelRidge(GateKernel(1.0)(X), weights).fit(Y, 1.0)[0]
    (full,) = learned_kernels(GateKernel(1.0), X, alpha, ("full",), weights)
    monkeypatch.setattr(metric_frame, "_GRADIENTS", 100)
    (some,) = learned_kernels(GateKernel(1.0), X, alpha, ("full",), weights)
    sizes = [np.average(((X @ kernel.frame) ** 2).sum(axis=1), weights=weights) for kernel in (full, some)]
    assert sizes[0] == pytest.approx(sizes[1], rel=1e-9)  # of all rows, not of those
    M, sampled = (kernel.frame @ kernel.frame.T for kernel in (full, some))
    assert 1e-4 < np.abs(sampled - M).max() / np.abs(M).max() < 0.2


def test_a_round_takes_the_outer_product_of_gradients_at_the_rows_old_size():
    X, Y = _made()
    kernel, beta = GateKernel(1.5), 1e-3
    alpha, _ = KernelRidge(kernel(X)).fit(Y, len(X) * beta)
    M = gradient_outer_product(kernel, X, alpha)
    M *= (X**2).sum() / ((X @ M) * X).sum()
    found = learn_frame(kernel, X, Y, beta)
    np.testing.assert_allclose(found.metric, M, atol=1e-6 * M.max())
    np.testing.assert_allclose(found.kernel.features(X)[:, -1], 1.5)
    assert (found.kernel.features(X)[:, :-1] ** 2).sum() == pytest.approx((X**2).sum(), rel=1e-6)
    half = learn_frame(kernel, X, Y, beta, shape="shrunk").metric
    diagonal = learn_frame(kernel, X, Y, beta, shape="diagonal").metric
    off = ~np.eye(5, dtype=bool)
    ratio = half[0, 0] / M[0, 0]
    np.testing.assert_allclose(half[off], 0.5 * ratio * M[off], atol=1e-6 * M.max())
    np.testing.assert_allclose(diagonal[off], 0, atol=1e-12)
    assert learn_frame(kernel, X, Y, beta, factors=(1.0,) * 1).kernel is kernel


@pytest.mark.parametrize("off", [0.0, 0.5])
def test_what_rounding_made_negative_has_the_root_0(off):
    M = np.diag([1.0, -1e-18, 2.0])
    M[0, 2] = M[2, 0] = off
    F = _root(M)
    np.testing.assert_allclose(F @ F.T, M, atol=1e-15)


def test_the_metric_shows_the_columns_and_the_combination_that_matter():
    rng = np.random.default_rng(2)
    X = rng.standard_normal((150, 6))
    M = learn_frame(GateKernel(2.0), X, np.abs(X[:, [0]] - X[:, [3]]), 1e-3, factors=(1.0,) * 3).metric
    assert set(np.argsort(M.diagonal())[-2:]) == {0, 3}
    assert np.abs(np.linalg.eigh(M)[1][:, -1] @ np.eye(6)[[0, 3]].T) == pytest.approx(
        np.sqrt(0.5) * np.ones(2), abs=0.1
    )


def test_a_rotation_of_rows_rotates_the_metric():
    X, Y = _made()
    Q = np.linalg.qr(np.random.default_rng(3).standard_normal((5, 5)))[0]
    plain, turned = (learn_frame(GateKernel(1.0), rows, Y, 1e-3, factors=(1.0,) * 4) for rows in (X, X @ Q))
    np.testing.assert_allclose(turned.metric, Q.T @ plain.metric @ Q, atol=1e-6)
    np.testing.assert_allclose(turned.kernel(X @ Q), plain.kernel(X), atol=1e-6)


def test_the_unit_of_targets_changes_nothing():
    X, Y = _made()
    np.testing.assert_allclose(
        learn_frame(GateKernel(1.0), X, 1e3 * Y, 1e-3, factors=(1.0,) * 3).metric,
        learn_frame(GateKernel(1.0), X, Y, 1e-3, factors=(1.0,) * 3).metric,
        atol=1e-8,
    )


def test_a_whole_weight_is_as_good_as_copies():
    """The sum of the losses and nβ/2 ||f||² are those of the copies, and so is the average of gradients."""
    X, Y = _made(n=40)
    copies = np.random.default_rng(4).integers(1, 4, len(X))
    kernel, shares = GateKernel(1.0), copies / copies.mean()
    apart = learn_frame(kernel, np.repeat(X, copies, axis=0), np.repeat(Y, copies, axis=0), 1e-2)
    # KᵀWK: mean loss and β of n weighted rows and of Σw copies are the same problem; spreads differ, so no second fit
    together = learn_frame(kernel, X, Y, 1e-2, weights=shares)
    np.testing.assert_allclose(together.metric, apart.metric, atol=1e-8)


def test_a_constant_network_keeps_its_gates():
    X, _ = _made()
    Y = np.full((len(X), 1), 0.1)
    assert (learn_frame(GateKernel(1.0), X, Y, 1e-3, factors=(1.0,) * 3).metric == np.eye(5)).all()
    found = select_metric(GateKernel(1.0), Problem(X, Y), 1e-3)
    assert found.n_iter == 0
    np.testing.assert_allclose(found.predictions, 0.1)


def test_more_columns_than_rows_have_a_frame():
    X, Y = _made(n=20, d=50)
    found = learn_frame(GateKernel(1.0), X, Y, 1e-3, factors=(1.0,) * 3)
    assert np.isfinite(found.kernel(X)).all()
    assert found.kernel.frame.shape[1] <= 20
    copies, noise = np.vstack([X, X]), np.vstack([Y, -Y])  # what cannot be fitted, with next to no penalty
    assert np.isfinite(learn_frame(GateKernel(1.0), copies, noise, 1e-13, factors=(1.0,) * 3).metric).all()


# ---- how many rounds


def test_rounds_are_taken_where_columns_are_noise_and_not_where_all_is_noise():
    rng = np.random.default_rng(5)
    X = rng.standard_normal((300, 10))
    noise = rng.standard_normal((300, 1))
    signal = select_metric(GateKernel(3.0), Problem(X, np.abs(X[:, :1]) + 0.1 * noise), 1e-3)
    assert signal.n_iter >= 1
    assert len(signal.beta_factors) == signal.n_iter + 1
    assert min(signal.trials[1:], key=lambda trial: trial.mean_loss).mean_loss < 0.6 * signal.trials[0].mean_loss
    nothing = select_metric(GateKernel(3.0), Problem(X, noise), 0.1)
    assert (nothing.shape, nothing.n_iter, len(nothing.beta_factors)) == ("none", 0, 1)


def test_a_round_that_makes_more_mistakes_is_not_taken():
    X, Y = _made(n=200, C=1)
    kernel, beta = GateKernel(2.0), 1e-3
    assert select_metric(kernel, Problem(X, Y), beta).n_iter >= 1
    asked = []

    def more_each_time(predictions, targets):
        assert predictions.shape == targets.shape
        asked.append(len(asked))
        return np.arange(len(targets)) < asked[-1]

    found = select_metric(kernel, Problem(X, Y), beta, mistakes=more_each_time)
    assert found.n_iter == 0
    assert [round(200 * trial.error_rate) for trial in found.trials] == [0, 1, 2, 3]


def test_wrong_classes():
    codes = np.eye(3)[[0, 2, 1]]
    assert wrong_class(np.array([[0.5, 0.1, 0.4], [0.5, 0.1, 0.4], [-1.0, -0.1, -0.4]]), codes).tolist() == [0, 1, 0]
    assert wrong_class(np.array([[0.1], [0.1]]), np.array([[1.0], [-1.0]])).tolist() == [False, True]


@pytest.mark.parametrize("case", ["few", "many"])
def test_held_out_predictions_have_not_seen_the_row(case, monkeypatch):
    """Gates of a fold that has not the row, and a fit to all other rows, by hand."""
    X, Y = _made(n=100, C=1)
    most = 1000 if case == "few" else 60
    monkeypatch.setattr(metric_selection, "_MAX_ROWS", most)
    found = select_metric(GateKernel(2.0), Problem(X, Y), 1e-3, shapes=("full",), max_iter=1)
    assert found.n_iter == 1
    assert sorted(found.rows) == sorted(set(found.rows))
    assert len(found.rows) == 100  # those that were judged, and with fewer taken those that were not
    taken, _, parts = outer_parts(X, Y, None, most)
    kernel, radius = GateKernel(2.0), len(X) * 1e-3
    kept, held = taken[parts != 0], taken[parts == 0]
    learned = learn_frame(kernel, X[kept], Y[kept], radius / len(kept), factors=found.beta_factors).kernel
    K, first = learned(X), spread(kernel(X[kept]))
    order = {row: i for i, row in enumerate(found.rows)}
    for row in held[:5]:
        others = np.delete(np.arange(100), row)
        ridge = KernelRidge(K[np.ix_(others, others)])
        alpha, t = ridge.fit(Y[others], radius * found.beta_factors[-1] * spread(K) / first)
        assert found.predictions[order[row]] == pytest.approx(K[row, others] @ alpha + t, rel=1e-6)


def test_of_too_many_rows_predictions_are_those_of_the_folds(monkeypatch):
    X, Y = _made(n=100, C=1)
    monkeypatch.setattr(rounds_module, "_REFITTED", 50)
    found = select_metric(GateKernel(2.0), Problem(X, Y), 1e-3)
    trial = next(trial for trial in found.trials if (trial.shape, trial.n_iter) == (found.shape, found.n_iter))
    assert found.n_iter >= 1
    assert trial.mean_loss == pytest.approx(((found.predictions - Y[found.rows]) ** 2).sum(axis=1).mean())


@pytest.mark.parametrize("grouped", [False, True])
def test_parts_are_whole_and_do_not_mind_the_order(grouped):
    rng = np.random.default_rng(6)
    X, Y = _made(n=120)
    X[60:], Y[60:] = X[:60], Y[:60]  # every row twice
    groups = rng.integers(0, 17, 120) if grouped else None
    rows, belongs, parts = outer_parts(X, Y, groups, 1000)
    assert sorted(rows) == list(range(120))
    assert np.ptp(np.bincount(parts)) <= (30 if grouped else 4)
    part = np.empty(120, dtype=int)
    part[rows] = parts
    if grouped:
        assert all(len(set(part[groups == g])) == 1 for g in groups)
        named = outer_parts(X, Y, rng.permutation(17)[groups], 1000)  # the names of groups make no difference
        np.testing.assert_array_equal(named[0], rows)
        np.testing.assert_array_equal(named[2], parts)
        return
    assert (part[:60] == part[60:]).all()
    assert len(np.unique(belongs)) == 60
    assert (belongs[:60] == belongs[60:]).all()
    p = rng.permutation(120)
    again, _, parts2 = outer_parts(X[p], Y[p], None, 1000)
    part2 = np.empty(120, dtype=int)
    part2[p[again]] = parts2
    assert (part2 == part).all()


@pytest.mark.parametrize(("n", "count", "held"), [(599, 5, 360), (600, 3, 400), (1000, 3, 334), (1001, 5, 400)])
def test_from_600_to_1000_rows_a_part_is_a_third(n, count, held):
    X, Y = _made(n=n)
    parts = outer_parts(X, Y, None, 1000)[2]
    assert len(np.unique(parts)) == count
    assert sum(len(rows) for rows in held_parts(parts)) == pytest.approx(held, abs=2)


def test_of_many_rows_some_are_taken(monkeypatch):
    X, Y = _made(n=500)
    assert len(outer_parts(X, Y, None, 100)[0]) == 100
    monkeypatch.setattr(metric_selection, "_MAX_ROWS", 100)
    problem = Problem(X, np.random.default_rng(9).standard_normal((500, 1)))
    for beyond, judged in (
        (0, 100),
        (70, 170),
        (1000, 500),
    ):  # the first fit is judged on rows that are in no part, too
        monkeypatch.setattr(metric_selection, "_BEYOND", beyond)
        found = select_metric(GateKernel(1.0), problem, 1e-3)
        assert (found.n_iter, len(found.rows), len(np.unique(found.rows))) == (0, judged, judged)


def test_a_kernel_with_more_mistakes_gains_on_no_other():
    X, Y = _made(n=300, C=1)
    labels = np.where(np.median(Y) < Y, 1.0, -1.0)
    plain = compare_metrics(GateKernel(1.0), Problem(X, labels), 1e-2, 3, ("full",), wrong_class)
    behind = replace(plain, best=plain.best._replace(errors=plain.best.errors + 1.0))
    assert plain.gains_on(behind)
    assert not behind.gains_on(plain)
    wrong = replace(plain, chosen=plain.chosen._replace(error_rate=plain.chosen.error_rate + 0.01))
    assert not wrong.gains_on(behind)


def test_rows_of_a_group_are_one_observation():
    differences = np.random.default_rng(7).standard_normal(30)
    mean, error = mean_gain(differences, np.arange(30))
    assert (mean, error) == pytest.approx((differences.mean(), differences.std(ddof=1) / np.sqrt(30)))
    assert mean_gain(np.repeat(differences, 10), np.repeat(np.arange(30), 10)) == pytest.approx((mean, error))


@pytest.mark.parametrize(
    ("change", "beta", "options", "message"),
    [
        ({}, 0.0, {}, "'beta' parameter"),
        ({"targets": np.zeros((5, 1))}, 1.0, {}, r"of shape \(80, any\)"),
        ({}, 1.0, {"shapes": ("round",)}, "'full', 'shrunk', 'diagonal'"),
        ({"groups": np.zeros(80, dtype=int)}, 1.0, {}, "two or more groups"),
    ],
)
def test_what_is_refused(change, beta, options, message):
    problem = dict(zip(("X", "targets"), _made(), strict=True)) | change
    with pytest.raises(ArgumentError, match=message):
        select_metric(GateKernel(), Problem(**problem), beta, **options)


def test_leave_one_out_is_blind_to_what_the_metric_has_seen():
    """Targets are noise: by leave-one-out three rounds explain some of it, and to new rows they add errors."""
    rng = np.random.default_rng(8)
    X, Y, Z = rng.standard_normal((100, 20)), rng.standard_normal((100, 1)), rng.standard_normal((2000, 20))
    promised, true = [], []
    for rounds in (0, 3):
        gates = learn_frame(GateKernel(4.0), X, Y, 0.05, factors=(1.0,) * (rounds + 1))
        loo = LeaveOneOut(np.asarray(gates.kernel(X)), Y)
        promised.append(float(((loo.predictions(np.array([gates.beta]))[0] - Y) ** 2).mean()))
        alpha, t = loo.fit(gates.beta)
        true.append(float(((gates.kernel(Z, X) @ alpha + t) ** 2).mean()) + 1)  # of new noise of variance 1
    assert promised[1] < 0.8 * promised[0]
    assert true[1] > true[0]
    assert select_metric(GateKernel(4.0), Problem(X, Y), 0.05).n_iter == 0


def _network(C, n=30, d=4):
    rng = np.random.default_rng(C)
    kernel = GateKernel(bias=1.3, frame=rng.standard_normal((d, 3)))
    return rng.standard_normal((n, d)), rng.standard_normal((n, C)), kernel, rng.standard_normal((25, d))


def _by_differences(kernel, X, alpha, rows, h=1e-5):
    """Gradients (m, C, d) by central differences."""
    steps = h * np.eye(X.shape[1])
    return np.stack([(kernel(rows + e, X) - kernel(rows - e, X)) @ alpha / (2 * h) for e in steps], axis=2)


@pytest.mark.parametrize("C", [1, 2, 9])  # of nine outputs all are summed at once
def test_the_gradient_is_that_of_differences_in_any_blocks_and_in_single_precision(C, monkeypatch):
    X, alpha, kernel, rows = _network(C)
    weights = np.random.default_rng(0).uniform(0, 2, len(rows))
    G = _by_differences(kernel, X, alpha, rows)
    expected = np.einsum("i,ica,icb->ab", weights, G, G) / len(rows)
    found = gradient_outer_product(kernel, X, alpha, rows, weights)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-8 * np.abs(expected).max())
    single = gradient_outer_product(kernel, X.astype(np.float32), alpha, rows.astype(np.float32), weights)
    np.testing.assert_allclose(single, expected, rtol=0, atol=1e-4 * np.abs(expected).max())
    monkeypatch.setattr(network, "_BLOCK", 7 * len(X))
    np.testing.assert_allclose(gradient_outer_product(kernel, X, alpha, rows, weights), found, rtol=1e-12)


@pytest.mark.parametrize("C", [1, 9])
def test_on_the_rows_of_the_fit_it_is_the_middle_of_the_kink(C):
    """The mean of the derivatives from both sides, which central differences of h take across the kink, up to h."""
    X, alpha, kernel, _ = _network(C)
    X = np.vstack([X, X[:1], np.zeros((1, 4))])  # a copy; and with a bias a row of zeros is like any other
    alpha = np.vstack([alpha, alpha[:1], alpha[:1]])
    G = _by_differences(kernel, X, alpha, X, h=1e-5)
    expected = np.einsum("ica,icb->ab", G, G) / len(X)
    np.testing.assert_allclose(
        gradient_outer_product(kernel, X, alpha), expected, rtol=0, atol=1e-4 * np.abs(expected).max()
    )


def test_a_row_of_zeros_and_opposite_rows_without_a_bias_are_finite():
    X = np.array([[0.0, 0.0], [1.0, 2.0], [-2.0, -4.0], [3.0, 6.0]])
    assert np.isfinite(gradient_outer_product(GateKernel(), X, np.arange(4.0)[:, None])).all()


@pytest.mark.parametrize("C", [1, 26])
def test_memory_is_that_of_a_few_kernel_matrices(C):
    """500 × 300: an (n, n, d) array would be 600 MB, all gradients of 26 outputs 31 MB; a kernel matrix is 2 MB."""
    rng = np.random.default_rng(1)
    X, alpha = rng.standard_normal((500, 300)), rng.standard_normal((500, C))
    gradient_outer_product(GateKernel(1.0), X[:9], alpha[:9])  # compiles
    tracemalloc.start()
    gradient_outer_product(GateKernel(1.0), X, alpha)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20e6
