"""Candidates that are compared on some of the rows first."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from clifford_rand_nn.kernel_network import candidates, metric_selection
from clifford_rand_nn.kernel_network.candidates import Problem, choose, compare
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric_selection import compare_metrics

X, y = make_friedman1(300, noise=1.0, random_state=0)
PROBLEM = Problem(X, y[:, None])


def test_a_few_rows_leave_candidates_that_all_rows_compare(monkeypatch):
    """The best of all rows is among them, as are all scalings, and what is returned is of all rows."""
    every = choose(PROBLEM)[2]
    monkeypatch.setattr(candidates, "_FEW", 150)
    best, plain, table = choose(PROBLEM)
    assert best.candidate == min(every, key=lambda one: one.score)
    assert plain is None or plain.candidate.steps == 0
    finalists = [one for one in table if one.n == 300]
    assert table[0] == best.candidate == finalists[0]
    assert len(best.rows) == 300
    assert {one.scaling for one in finalists} == {one.scaling for one in every}
    assert len({one.scaling for one in every}) < len(finalists) <= 4 + candidates._FINALISTS + 1
    assert [one.n for one in table[len(finalists) :]] == [150] * (len(every) - 3)


def test_one_without_steps_is_always_compared_on_all_rows(monkeypatch):
    steps = np.where(X[:, 0] > 0.5, 3.0, 0.0) + np.where(X[:, 1] > 0.3, 2.0, 0.0)
    monkeypatch.setattr(candidates, "_FEW", 150)
    best, plain, table = choose(Problem(X, steps[:, None]))
    assert best.candidate.steps > 0
    assert plain is not None
    assert plain.candidate.n == 300
    assert plain.candidate.steps == 0
    assert plain.candidate in table


@pytest.mark.parametrize("weighted", [False, True])
def test_misses_add_up_to_the_score(weighted):
    w = np.random.default_rng(0).uniform(0.5, 2.0, 300)
    problem = replace(PROBLEM, weights=w / w.mean() if weighted else None)
    compared = compare(problem, "column", 1.0)
    assert compared.misses().mean() == pytest.approx(compared.candidate.score, rel=1e-10)


@pytest.mark.parametrize(("off", "factors"), [(0.01, (4.0, 16.0)), (1.0, (0.25, 1.0, 4.0)), (1e4, (1 / 16,))])
def test_factors_of_beta_beyond_the_first_three_are_tried_where_these_do_not_hold_the_best(off, factors, monkeypatch):
    noise = 5 * np.random.default_rng(0).standard_normal((300, 1))
    problem = replace(PROBLEM, targets=PROBLEM.targets + noise)
    best = compare(problem, "column", 1.0)
    beta = best.candidate.beta * off
    rows = replace(problem, X=best.rows)
    kernel = GateKernel(bias=best.kernel.bias)
    walked = compare_metrics(kernel, rows, beta, 1, ("full",), None).trials[0]
    monkeypatch.setattr(metric_selection, "_FIRST", tuple(range(len(metric_selection._FACTORS))))
    assert walked == compare_metrics(kernel, rows, beta, 1, ("full",), None).trials[0]
    assert walked.factor in factors
