"""Betas that are compared by one factor each: of candidates, of metrics, and in single precision."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from clifford_rand_nn.kernel_network import candidates, cholesky, metric_folds
from clifford_rand_nn.kernel_network.candidates import BetaSearch, Problem, compare, compare_near, kernel_parameters
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.metric_selection import compare_metrics
from clifford_rand_nn.kernel_network.training import _beta_of_part

X, y = make_friedman1(80, noise=2.0, random_state=0)
PROBLEM = Problem(X, y[:, None])


@pytest.fixture
def by_factors(monkeypatch):
    monkeypatch.setattr(candidates, "_EVERY_BETA", 0)


def test_beta_and_loss_are_those_of_a_parabola_through_the_best_three():
    first = compare(PROBLEM, "column", 1.0)
    betas = BetaSearch(PROBLEM, KernelRidge(first.kernel(first.rows)), first.candidate.beta).best()
    three = betas.beta * 3.0 ** np.array([-1, 0, 1])
    scores = PROBLEM.score(first.loo.errors(three))
    assert betas.score == pytest.approx(scores[1], rel=1e-9)
    assert scores[1] < min(scores[0], scores[2])
    a, b, _ = parabola = np.polyfit([-1, 0, 1], scores, 2)
    beta, loss = betas.between
    assert np.log(beta / betas.beta) / np.log(3) == pytest.approx(-b / (2 * a), rel=1e-6)
    assert loss == pytest.approx(np.polyval(parabola, -b / (2 * a)), rel=1e-9)
    assert loss < betas.score


@pytest.mark.usefixtures("by_factors")
def test_the_search_begins_at_the_same_beta_in_spreads_of_the_kernel(monkeypatch):
    """A candidate whose kernel is larger has a larger beta: three are tried where that is the best."""
    first, tried = compare(PROBLEM, "column", 1.0), []
    left_out = KernelRidge.left_out
    monkeypatch.setattr(
        KernelRidge, "left_out", lambda ridge, t, r, *rows: tried.append(r) or left_out(ridge, t, r, *rows)
    )
    found = compare(PROBLEM, "column", 1.0, near=first).candidate
    assert len(tried) <= 4
    larger = replace(first, size=1e6 * first.size, candidate=first.candidate._replace(beta=1e6 * first.candidate.beta))
    assert compare(PROBLEM, "column", 1.0, near=larger).candidate == found
    begun = list(tried)
    tried.clear()
    fewer = first.candidate._replace(beta=8 * first.candidate.beta, n_rows=10)  # the same n·beta
    assert compare(PROBLEM, "column", 1.0, near=replace(first, candidate=fewer)).candidate == found
    assert tried == begun[: len(tried)]


@pytest.mark.usefixtures("by_factors")
@pytest.mark.parametrize(("off", "are_tried"), [(30.0, True), (1.0, False)])
def test_where_the_best_beta_is_too_small_for_a_factor_it_comes_from_a_decomposition(
    off, are_tried, monkeypatch, by_factors
):
    """Some are tried if the first is not; the best is at a third of the least that a factor takes."""
    best, tried, left_out = compare(PROBLEM, "column", 1.0), [], KernelRidge.left_out
    radius = 80 * best.candidate.beta
    monkeypatch.setattr(cholesky, "_FLOOR", 3 * radius / np.trace(best.kernel(best.rows)))
    monkeypatch.setattr(
        KernelRidge, "left_out", lambda ridge, t, r, *rows: tried.append(r) or left_out(ridge, t, r, *rows)
    )
    near = replace(best, candidate=best.candidate._replace(beta=off * best.candidate.beta))
    assert compare(PROBLEM, "column", 1.0, near=near).candidate == best.candidate
    assert bool(tried) == are_tried


@pytest.mark.parametrize("n", range(2, 40))
def test_the_spread_of_equal_rows_is_one(n):
    """Rounding of the mean made it negative."""
    for value in (0.1, 0.3, 1e9 / 7):
        found = spread(np.full((n, n), value))
        assert found == 1 or 0 < found < 1e-13 * value


@pytest.mark.parametrize("off", [1e-5, 1e-3, 1.0, 100.0, 1e3, 1e5, 1e9])
def test_beta_of_many_rows_is_the_best_of_some_wherever_the_search_begins(off, monkeypatch):
    """Of learned gates that of the candidate says little: on 20,000 rows the best was 70 times as large."""
    monkeypatch.setattr("clifford_rand_nn.kernel_network.training.LEARNED", 60)
    rows, targets = make_friedman1(600, noise=6.0, random_state=0)
    problem = Problem(rows, targets[:, None])
    _, standardized, kernel = problem.kernel_rows("column", 1.0)
    some = np.sort(spread_rows(600, 600)[-60:])
    loo = problem.take(some).leave_one_out(kernel, standardized[some])
    betas = loo.grid(200)
    best = betas[np.argmin(loo.errors(betas)[:, 0])] * 60 / 600
    assert best / 3 < _beta_of_part(problem, standardized, kernel, off * best) < 3 * best


# ---- factors of beta that metrics are compared with


NOISY = make_friedman1(300, noise=1.0, random_state=0)
NOISY = Problem(NOISY[0], NOISY[1][:, None] + 5 * np.random.default_rng(0).standard_normal((300, 1)))


@pytest.mark.parametrize(("off", "factors"), [(0.01, (4.0, 16.0)), (1.0, (0.25, 1.0, 4.0)), (1e4, (1 / 16,))])
def test_factors_of_beta_beyond_the_first_three_are_tried_where_these_do_not_hold_the_best(off, factors, monkeypatch):
    problem, best = NOISY, compare(NOISY, "column", 1.0)
    beta = best.candidate.beta * off
    rows = replace(problem, X=best.rows)
    kernel = GateKernel(bias=best.kernel.bias)
    walked = compare_metrics(kernel, rows, beta, 1, ("full",), None).trials[0]

    def of_all(value, _, within):
        values = {k: value(k) for k in within}
        return min(values, key=values.get), values

    monkeypatch.setattr(metric_folds, "least_by_steps", of_all)
    assert walked == compare_metrics(kernel, rows, beta, 1, ("full",), None).trials[0]
    assert walked.beta_factor in factors


def test_an_iteration_begins_with_the_factor_of_the_one_before(monkeypatch):
    best, starts, by_steps = compare(NOISY, "column", 1.0), [], metric_folds.least_by_steps
    rows = replace(NOISY, X=best.rows)

    def begins(value, start, within):
        starts.append(start)
        return by_steps(value, start, within)

    monkeypatch.setattr(metric_folds, "least_by_steps", begins)
    compared = compare_metrics(best.kernel, rows, 0.01 * best.candidate.beta, 2, ("diagonal",), None)
    places = [metric_folds._FACTORS.index(trial.beta_factor) for trial in compared.trials]
    assert starts[0] == 2
    assert places[0] != 2
    assert starts[1 : 1 + len(places)] == places[: len(starts) - 1]


# ---- single precision


ROWS, LENGTHS = make_friedman1(150, noise=1.0, random_state=0)
K = GateKernel(bias=1.0)(ROWS - ROWS.mean(axis=0))
TARGETS = np.column_stack([LENGTHS - LENGTHS.mean(), np.sign(LENGTHS - LENGTHS.mean())])
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
    """Equal rows: in single precision every pivot but the first is 0 exactly, as 4, its root and beta's share are."""
    same, few = np.full((20, 20), 4.0), EVERY[:20]
    radius = 1e-9 * np.trace(same)
    assert np.float32(4.0 + radius) == 4.0  # single precision does not see it
    monkeypatch.setattr(cholesky, "_SINGLE", 0.0)
    fits = [KernelRidge(same, single=single).left_out(TARGETS[:20], radius, few, few) for single in (True, False)]
    for found, expected in zip(*(fit[:3] for fit in fits), strict=True):
        np.testing.assert_array_equal(found, expected)


@pytest.mark.parametrize("weights", [None, WEIGHTS / WEIGHTS.mean()])
def test_predictions_of_held_out_rows_are_stated_in_double_precision(weights):
    """Where no metric is learned they are those of the fits to the folds that were compared."""
    compared = compare_metrics(GateKernel(bias=1.0), Problem(ROWS, TARGETS, weights), 1e-3, 1, (), None)
    found, folds, kernel, expected = compared.selection(True), compared.folds, GateKernel(bias=1.0), []
    for held, kept in zip(folds.held, folds.kept, strict=True):
        rows, others = compared.taken[held], compared.taken[kept]
        part = None if weights is None else weights[others] / weights[others].mean()
        alpha, t = KernelRidge(kernel(ROWS[others]), part).fit(TARGETS[others], len(ROWS) * 1e-3 * compared.best.factor)
        expected.append(kernel(ROWS[rows], ROWS[others]) @ alpha + t)
    assert (found.predictions != compared.best.predictions + TARGETS.mean(axis=0)).any()
    np.testing.assert_allclose(found.predictions, np.concatenate(expected), rtol=1e-9, atol=1e-11)
    np.testing.assert_array_equal(found.rows, compared.taken[folds.judged])


def test_of_candidates_beside_another_the_best_of_each_kind_have_their_best_beta(by_factors, monkeypatch):
    near = compare(PROBLEM, "column", 1.0)
    near = replace(near, candidate=near.candidate._replace(beta=3 * near.candidate.beta))
    tries = [("column", bias, steps, 0.0) for steps in (0.0, 2.0) for bias in (0.0, 0.3, 1.0, 3.0)]
    monkeypatch.setattr(candidates, "_CLOSE", np.inf)
    monkeypatch.setattr(candidates, "SEARCHED", 2)
    tried = {
        kernel_parameters(result.candidate): result.candidate
        for result in compare_near(PROBLEM, [(parameters, near) for parameters in tries], None)
    }
    assert set(tried) == set(tries)
    for steps in (0.0, 2.0):
        kind = [parameters for parameters in tries if parameters[2] == steps]
        firsts = {p: compare(PROBLEM, *p, beta=first_beta(p, near)).candidate for p in kind}
        order = sorted(kind, key=lambda p: firsts[p].mean_loss)
        for p in order[:2]:
            assert tried[p] == compare(PROBLEM, *p, near=near).candidate
            assert tried[p].mean_loss <= firsts[p].mean_loss
        assert [tried[p].beta for p in order[2:]] == pytest.approx([firsts[p].beta for p in order[2:]])
        assert [tried[p].mean_loss for p in order[2:]] == pytest.approx([firsts[p].mean_loss for p in order[2:]])


def test_candidates_that_are_far_behind_keep_their_first_beta(by_factors):
    near = compare(PROBLEM, "column", 1.0)
    near = replace(near, candidate=near.candidate._replace(beta=near.candidate.beta / 3))
    worse, better = ("column", 1.0, 1e3, 0.0), ("column", 1.0, 0.5, 0.0)
    found = compare_near(PROBLEM, [(worse, near), (better, near)], None)
    losses = {kernel_parameters(result.candidate): result.candidate.mean_loss for result in found}
    assert losses[better] == compare(PROBLEM, *better, near=near).candidate.mean_loss
    assert losses[worse] == pytest.approx(compare(PROBLEM, *worse, beta=first_beta(worse, near)).candidate.mean_loss)
    assert losses[worse] > 1.05 * losses[better]
    assert losses[worse] > 1.001 * compare(PROBLEM, *worse, near=near).candidate.mean_loss


def first_beta(parameters, near):
    """Return the beta at a power of 3 of the kernel's spread that is next to that of the candidate near it."""
    _, rows, kernel = PROBLEM.kernel_rows(*parameters)
    exponent = round(np.log(80 * near.candidate.beta / near.size) / np.log(3))
    return spread(kernel(rows)) * 3.0**exponent / 80


def test_a_kernel_that_is_behind_another_by_two_standard_errors_takes_no_further_iteration():
    """One that is ahead, or close, takes all that pay: the same kernel is as good after as many."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 10))
    problem = Problem(X, np.abs(X[:, :1]) + 0.01 * rng.standard_normal((400, 1)))
    own, tuned = GateKernel(bias=1.0), GateKernel(frame=np.eye(10)[:, :1], bias=1.0)  # of the column that matters alone
    alone, rival = (compare_metrics(kernel, problem, 1e-4, 3, ("diagonal",), None) for kernel in (own, tuned))
    assert alone.chosen.n_iter > 1
    behind = compare_metrics(own, problem, 1e-4, 3, ("diagonal",), None, rival)
    assert behind.chosen.n_iter == 1
    assert behind.trials == alone.trials[: len(behind.trials)]
    assert not behind.gains_on(rival)
    assert compare_metrics(own, problem, 1e-4, 3, ("diagonal",), None, alone).trials == alone.trials
