"""Gates in single columns and boxes: kernel, selection, certificates, proofs, explanations, exports, files, shards."""

from dataclasses import replace
from functools import cache
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from clifford_rand_nn import ConvexNetworkClassifier, ConvexNetworkRegressor, explain, load_model, save_model
from clifford_rand_nn.explanation.sums import KernelSum
from clifford_rand_nn.export.numpy_source import write_source
from clifford_rand_nn.kernel_network import candidates
from clifford_rand_nn.kernel_network.candidates import Problem, choose, compare
from clifford_rand_nn.kernel_network.kernel_functions import _by_scipy, add_column_kernel
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles
from clifford_rand_nn.kernel_network.metric_frame import SHAPES
from clifford_rand_nn.kernel_network.metric_selection import compare_metrics
from clifford_rand_nn.kernel_network.network import step_parts
from clifford_rand_nn.kernel_network.standardization import SCALINGS, Standardization
from clifford_rand_nn.kernel_network.training import Choices, choose_kernel
from clifford_rand_nn.saved.parts import pack_kernel, read_kernel
from clifford_rand_nn.shards.source import Shards
from support.exported import fitted as exported

RNG = np.random.default_rng(0)
X = np.column_stack([RNG.standard_normal((120, 2)), RNG.integers(0, 3, 120), np.full(120, 7.0)])
Y = np.sign(X[:, 0] - 0.3) + (X[:, 1] > -0.5) + (X[:, 2] == 1) + 0.1 * RNG.standard_normal(120)
NEW = np.vstack([1.1 * X[:20] - 0.2, X[:20], 1e9 * X[:3], -1e9 * X[:3]])
KERNEL = GateKernel(bias=0.7, steps=1.5)
FRAMED = GateKernel(bias=0.7, steps=1.5, decay=3.0, frame=RNG.standard_normal((3, 3)))
# a step in each of two columns is on in a box, and that in the third, of three values, everywhere
BOX = 2.0 * ((X[:, 0] > 0.3) & (X[:, 1] > -0.5)) + (X[:, 2] == 1) + 0.1 * RNG.standard_normal(120)


SKEWED = np.random.default_rng(0)
SKEWED = np.column_stack([np.exp(2 * SKEWED.standard_normal((90, 2))), SKEWED.integers(0, 4, 90), np.full(90, 7.0)])
LOGS = np.log(SKEWED[:, 0]) + np.tanh(SKEWED[:, 1]) + 0.3 * SKEWED[:, 2]
DATA = {"columns": (X, Y), "boxes": (X, BOX), "normal scores": (SKEWED, LOGS)}


@cache
def model_of(kind):
    model = ConvexNetworkRegressor(max_metric_iter=0).fit(*DATA[kind])
    best = model.candidates_[0]
    assert best.scaling == "rank" if kind == "normal scores" else best.steps > 0
    assert (best.decay > 0) == (kind == "boxes")
    return model


@pytest.fixture(params=["columns", "boxes"])
def fitted(request):
    return model_of(request.param)


@pytest.fixture(params=DATA)
def ranked(request):
    """A network on ranks of columns, by their normal scores or by steps in them, with its rows and targets."""
    return model_of(request.param), *DATA[request.param]


def test_the_bound_is_proved(ranked):
    model, rows, targets = ranked
    assert model.certificate_.relative_gap < 1e-9
    for exact in (False, True):
        assert model.certificate_.verify(rows, targets, exact=exact).relative_gap < 1e-9


def test_explanations_add_up(ranked):
    model, rows, _ = ranked
    new = np.vstack([1.1 * rows[:20] - 0.2, rows[:20], 1e9 * rows[:3], -1e9 * rows[:3]])
    found, f = explain(model, new), model.network_.predict(new)[:, None]
    assert np.abs(found.base + found.columns.sum(axis=2) - f).max() < 1e-9
    assert ("normal scores of their ranks" in str(found[0])) == (model.candidates_[0].scaling == "rank")
    h = 1e-7 * np.eye(4)
    near = rows[:10, :] + [1e-3, 1e-3, 0.1, 0.0]  # between knots
    slopes = [[(model.predict([x + e]) - model.predict([x - e])).item() / 2e-7 for e in h] for x in near]
    np.testing.assert_allclose(explain(model, near).slopes[:, 0], slopes, atol=1e-4, rtol=1e-4)


@pytest.mark.parametrize("labels", [0, 1, 2])
def test_files(ranked, labels, tmp_path):
    model, rows, y = ranked
    if labels:
        targets = np.column_stack([np.median(y) < y, np.median(rows[:, 1]) < rows[:, 1]]).astype(int)
        model = ConvexNetworkClassifier(max_metric_iter=0).fit(rows, targets[:, 0] if labels == 1 else targets)
        assert model.network_.kernel.steps > 0
    save_model(model, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.predict(1.1 * rows - 0.2), model.predict(1.1 * rows - 0.2))
    np.testing.assert_array_equal(again.network_.standard.knots, model.network_.standard.knots)
    assert again.network_.standard.knots is not None
    assert again.candidates_ == model.candidates_


def test_shards_take_the_ranks_of_their_sample(ranked):
    _, rows, targets = ranked
    shards = Shards([rows[:50], rows[50:]], [targets[:50], targets[50:]])
    model = ConvexNetworkRegressor().fit(shards)
    assert model.network_.kernel.steps > 0
    assert model.network_.standard.knots is not None
    model.certificate_.verify(shards)


def test_steps_are_the_share_of_hyperplanes_with_both_rows_on_one_side():
    x = RNG.permutation(64).astype(float)[:, None]  # as many knots as rows, and no ties
    levels = Standardization.of(x, "column", levels=True).rows(x)[:, 1:]
    only_steps = GateKernel(steps=1.0)(np.hstack([0 * levels, levels]))
    thresholds = np.sort(x[:, 0])  # a hyperplane through each row; half of it counts for the row itself
    sides = np.sign(x - thresholds)
    same = 1 - np.abs(sides[:, None] - sides).sum(axis=2) / 2 / len(x)
    np.testing.assert_allclose(only_steps, same, atol=1e-12)
    assert np.linalg.eigvalsh(only_steps).min() > -1e-12


def test_the_kernel_of_boxes_is_the_share_of_partitions_with_both_rows_in_one_cell():
    levels = RNG.uniform(0, 1 / 3, (6, 3))
    turned = np.diag([1.0, 2.0, 6.0]) @ np.linalg.qr(RNG.standard_normal((3, 3)))[0]  # the same lengths of rows
    only_steps = replace(FRAMED, bias=0.0, frame=turned)
    K = only_steps(np.hstack([np.zeros((6, 3)), levels])) / 1.5
    shares, n_draws = np.zeros((6, 6)), 40_000
    for rate, v in zip(3.0 * np.array([1.0, 2.0, 6.0]) / 3.0, levels.T, strict=True):
        # thresholds of a Poisson process of that rate in [0, 1/3] are as many as the numbers say
        counts = RNG.poisson(rate / 3, n_draws)
        drawn = RNG.uniform(0, 1 / 3, (n_draws, counts.max()))
        thresholds = np.where(np.arange(counts.max()) < counts[:, None], drawn, 9)
        cells = (v[:, None, None] > thresholds).sum(axis=2)  # (6, n_draws)
        shares = shares + np.log((cells[:, None] == cells).mean(axis=2))
    np.testing.assert_allclose(np.exp(shares), K, atol=5 * n_draws**-0.5)
    assert np.linalg.eigvalsh(K).min() > 0


def test_a_constant_column_changes_no_kernel():
    frame = np.vstack([np.hstack([FRAMED.frame, np.zeros((3, 1))]), np.zeros((1, 4))])
    rows = np.hstack([RNG.standard_normal((9, 3)), RNG.uniform(0, 1 / 3, (9, 3))])
    wider = np.insert(rows, (3, 6), 0.0, axis=1)
    np.testing.assert_allclose(replace(FRAMED, frame=frame)(wider), FRAMED(rows), rtol=1e-12)


@pytest.mark.parametrize("decays", [False, True])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_the_compiled_sum_is_that_of_scipy(dtype, decays):
    levels, others = RNG.standard_normal((70, 5)).astype(dtype), RNG.standard_normal((5, 1100)).astype(dtype)
    levels[::9] *= 1e3  # so far that the exponential is 0
    levels[1, 0] = np.nan
    one, two = np.ones((70, 1100), dtype), np.ones((70, 1100), dtype)
    add_column_kernel(one, levels, others, dtype(0.3), decays)
    _by_scipy(two, levels, others, dtype(0.3), decays)
    np.testing.assert_allclose(one, two, atol=40 * np.finfo(dtype).eps, rtol=40 * np.finfo(dtype).eps)


@pytest.mark.parametrize("kernel", [KERNEL, FRAMED])
def test_tiles_and_diagonal_are_those_of_the_kernel(kernel):
    rows = np.hstack([RNG.standard_normal((300, 3)), RNG.uniform(0, 1 / 3, (300, 3))])
    K, V = kernel(rows), RNG.standard_normal((300, 2))
    tiles = KernelTiles(kernel, rows)
    np.testing.assert_allclose(tiles.multiply(V), K @ V, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(tiles.multiply_from(rows[:7], V), K[:7] @ V, rtol=1e-12, atol=1e-11)
    np.testing.assert_allclose(kernel.diagonal(rows), K.diagonal(), rtol=1e-12)
    np.testing.assert_allclose(tiles.diagonal(), K.diagonal(), rtol=1e-12)
    single = KernelTiles(kernel, rows, np.float32).multiply(V)
    np.testing.assert_allclose(single, K @ V, atol=1e-3)


@pytest.mark.parametrize("scaling", SCALINGS)
def test_rows_have_levels_behind_the_columns(scaling):
    plain, both = Standardization.of(X, scaling), Standardization.of(X, scaling, levels=True)
    rows = both.rows(NEW)
    np.testing.assert_array_equal(rows[:, :4], plain.rows(NEW))
    assert rows[:, 4:].min() >= 0
    assert np.ptp(rows[:, 4:], axis=0).sum() <= 1  # so that the kernel is positive definite
    assert (rows[:, 7] == 0).all()
    np.testing.assert_allclose(both.inverse(both.rows(X))[:, :3], X[:, :3], rtol=1e-8, atol=1e-8)


def test_leave_one_out_selects_them_for_jumps_and_not_for_lines():
    line = X[:, 0] + 2 * X[:, 1] + 0.5 * RNG.standard_normal(120)
    assert choose(Problem(X, Y[:, None]))[0][0].candidate.steps > 0
    assert choose(Problem(X, line[:, None]))[0][0].candidate.steps == 0
    assert all(c.steps == 0 for c in choose(Problem(X[:63], Y[:63, None]))[1])  # a row is a knot of its own map


def test_the_metric_decides_among_kinds_of_gates():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((200, 12))
    y = np.tanh(3 * A[:, :3].sum(axis=1)) + 0.3 * (A[:, 3] > 0) + 0.1 * rng.standard_normal(200)
    problem = Problem(A, y[:, None])
    kinds, compared = choose(problem)
    assert kinds[0].candidate == compared[0]
    assert compared[0].decay > 0  # a ridge across columns is in no box, but leave-one-out does not know the metric yet
    best, table, selection = choose_kernel(problem, np.arange(200), Choices(None, 3))
    assert best.candidate is table[0]
    assert table[0].steps == 0
    assert sorted(table) == sorted(compared)
    metrics = [
        compare_metrics(kind.kernel, replace(problem, X=kind.rows), kind.candidate.beta, 3, SHAPES, None)
        for kind in (kinds[0], best)
    ]
    first, chosen = (metric.best.errors for metric in metrics)
    assert (first - chosen).mean() > (first - chosen).std(ddof=1) / len(first) ** 0.5
    assert metrics[1].gains_on(metrics[0])
    assert not metrics[0].gains_on(metrics[1])
    assert not metrics[0].gains_on(metrics[0])
    assert selection.n_iter == metrics[1].chosen.n_iter > 0


def test_they_are_not_compared_where_the_time_is_over(monkeypatch):
    assert all(c.steps == 0 for c in choose(Problem(X, Y[:, None]), until=-np.inf)[1])
    for n_rounds, n_pairs in ((1, 4), (2, 6), (3, 9)):
        clock = iter([0.0] * n_rounds + [1.0] * 9)
        monkeypatch.setattr(candidates, "time", SimpleNamespace(perf_counter=clock.__next__))
        pairs = [(c.steps, c.decay) for c in choose(Problem(X, Y[:, None]), until=0.5)[1] if c.steps]
        assert len(set(pairs)) == len(pairs) == n_pairs


def test_of_equal_scores_the_simplest_candidate_is_the_best():
    kinds, table = choose(Problem(X, 0 * Y[:, None]))
    assert kinds[0].candidate is table[0]
    assert table[0].steps == 0
    assert len(kinds) == 3


def test_leave_one_out_is_that_of_refits():
    problem = Problem(X, Y[:, None])
    found = compare(problem, "column", 1.0, 2.0, beta=1e-3)
    K, n = found.kernel(found.rows), len(X)
    left = []
    for i in range(n):
        kept = np.arange(n) != i
        A = np.block([[K[kept][:, kept] + n * 1e-3 * np.eye(n - 1), np.ones((n - 1, 1))], [np.ones((1, n - 1)), 0]])
        alpha = np.linalg.solve(A, np.append(Y[kept], 0))
        left.append(K[i, kept] @ alpha[:-1] + alpha[-1])
    np.testing.assert_allclose(found.loo.predictions(np.array([1e-3]))[0, :, 0], left, atol=1e-8)


@pytest.mark.slow
def test_a_learned_metric_keeps_them():
    # a product of two columns, for the metric, and a jump in a third
    A = RNG.standard_normal((300, 6))
    y = A[:, 0] * A[:, 1] + 2 * np.sign(A[:, 2]) + 0.05 * RNG.standard_normal(300)
    model = ConvexNetworkRegressor(max_metric_iter=3).fit(A, y)
    assert model.metric_ is not None
    assert model.metric_.shape == (6, 6)
    assert model.network_.kernel.steps > 0
    model.certificate_.verify(A, y)
    found, f = explain(model, A[:9]), model.network_.predict(A[:9])[:, None]
    assert np.abs(found.base + found.columns.sum(axis=2) - f).max() < 1e-9


def test_columns_share_the_part_of_the_kernel(fitted):
    network = fitted.network_
    rows = network.standard.rows(NEW)
    gaussian = GateKernel(network.kernel.bias)(rows[:, :4], network.rows[:, :4])
    whole = network.kernel(rows, network.rows) @ network.alpha
    parts = step_parts(network.kernel, network.rows, network.alpha, rows, rows[3])
    np.testing.assert_allclose(gaussian @ network.alpha + parts.base + parts.changes.sum(axis=2), whole, atol=1e-10)
    assert (parts.changes[3] == 0).all()


def test_a_column_that_does_not_change_has_no_share():
    levels = RNG.uniform(0, 1 / 3, (9, 3))
    rows = np.hstack([np.zeros((9, 3)), levels])
    moved = rows.copy()
    moved[:, 4] = 0.1
    parts = step_parts(FRAMED, rows, RNG.standard_normal((9, 2)), moved, rows[0])
    assert (np.abs(parts.changes[0]) > 0).tolist() == [[False, True, False]] * 2


def test_shares_of_a_tiny_change_are_slopes():
    rng = np.random.default_rng(4)
    rows = np.hstack([np.zeros((9, 3)), rng.uniform(0, 1 / 3, (9, 3))])
    shift = np.array([1e-13, -1e-13, 0.0])
    reference = np.append(np.zeros(3), rng.uniform(0, 1 / 3, 3))
    moved = (reference + np.append(np.zeros(3), shift))[None]
    parts = step_parts(FRAMED, rows, rng.standard_normal((9, 2)), moved, reference)
    step = moved[0, 3:5] - reference[3:5]
    np.testing.assert_allclose(parts.changes[0, :, :2] / step, parts.slopes[0, 0, :, :2], rtol=1e-3)


def test_explanations_add_up_where_coefficients_do_not_sum_to_zero(fitted):
    network = replace(fitted.network_, alpha=fitted.network_.alpha + 0.01)  # as of landmarks
    reference = network.standard.mean
    local = KernelSum(network).local(NEW, reference)
    there = local.base + np.einsum("mcd,md->mc", local.secants, NEW - reference)
    np.testing.assert_allclose(there, network.outputs(NEW), atol=1e-8)


@pytest.mark.parametrize("name", ["network, steps", "network, boxes"])
def test_a_program_says_the_same(name):
    model = exported(name)  # for the tests of exports
    assert model.network_.kernel.steps > 0
    assert (model.network_.kernel.decay > 0) == (name == "network, boxes") == (model.metric_ is not None)
    source: dict[str, Any] = {}
    exec(write_source(model.network_._program(None)), source)
    rows = 1.1 * model.network_.standard.inverse(model.network_.rows)[:30]
    np.testing.assert_allclose(source["predict"](rows), model.network_.predict(rows), atol=1e-9)


def test_files_with_levels_of_a_kernel_that_is_not_positive_definite_are_refused(fitted):
    arrays: dict[str, Any] = {}
    values = pack_kernel(arrays, fitted.network_)
    assert read_kernel(arrays, values, 4).kernel.steps == fitted.network_.kernel.steps
    with pytest.raises(ValueError, match="the levels of the steps"):
        read_kernel(arrays | {"kernel_levels": 4 * arrays["kernel_levels"]}, values, 4)


def test_increasing_transformations_change_the_levels_at_no_row():
    one, two = (Standardization.of(A, "column", levels=True) for A in (X, np.exp(X)))
    np.testing.assert_allclose(one.rows(X)[:, 4:], two.rows(np.exp(X))[:, 4:], atol=0.01)  # between knots it bends


@pytest.mark.slow
def test_shards_take_boxes_and_their_metric():
    rng = np.random.default_rng(1)
    A = rng.standard_normal((300, 4))
    y = np.sign(A[:, :2]).prod(axis=1) + 0.1 * rng.standard_normal(300)
    shards = Shards([A[:150], A[150:]], [y[:150], y[150:]])
    model = ConvexNetworkRegressor().fit(shards)
    assert model.network_.kernel.decay > 0
    assert model.metric_ is not None
    model.certificate_.verify(shards)
    found, f = explain(model, A[:9]), model.network_.predict(A[:9])[:, None]
    assert np.abs(found.base + found.columns.sum(axis=2) - f).max() < 1e-9
