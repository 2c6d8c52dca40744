"""Betas that are compared by one factor each: where the search begins, the parabola, and where a factor ends."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from clifford_rand_nn.kernel_network import candidates, cholesky
from clifford_rand_nn.kernel_network.candidates import Problem, compare, compare_betas
from clifford_rand_nn.kernel_network.cholesky import KernelRidge, spread
from clifford_rand_nn.kernel_network.kernel_products import spread_rows
from clifford_rand_nn.kernel_network.training import _beta_of_part

X, y = make_friedman1(80, noise=2.0, random_state=0)
PROBLEM = Problem(X, y[:, None])


@pytest.fixture(autouse=True)
def by_factors(monkeypatch):
    monkeypatch.setattr(candidates, "_EVERY_BETA", 0)


def test_beta_and_loss_are_those_of_a_parabola_through_the_best_three():
    first = compare(PROBLEM, "column", 1.0)
    betas = compare_betas(PROBLEM, KernelRidge(first.kernel(first.rows)), first.candidate.beta)
    three = betas.beta * 3.0 ** np.array([-1, 0, 1])
    scores = PROBLEM.score(first.loo.errors(three))
    assert betas.score == pytest.approx(scores[1], rel=1e-9)
    assert scores[1] < min(scores[0], scores[2])
    a, b, _ = parabola = np.polyfit([-1, 0, 1], scores, 2)
    beta, loss = betas.between
    assert np.log(beta / betas.beta) / np.log(3) == pytest.approx(-b / (2 * a), rel=1e-6)
    assert loss == pytest.approx(np.polyval(parabola, -b / (2 * a)), rel=1e-9)
    assert loss < betas.score


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


@pytest.mark.parametrize(("off", "are_tried"), [(30.0, True), (1.0, False)])
def test_where_the_best_beta_is_too_small_for_a_factor_it_comes_from_a_decomposition(off, are_tried, monkeypatch):
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
