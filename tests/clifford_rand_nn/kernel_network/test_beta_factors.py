"""Factors of beta that metrics are compared with."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

from clifford_rand_nn.kernel_network import metric_selection
from clifford_rand_nn.kernel_network.candidates import Problem, compare
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel
from clifford_rand_nn.kernel_network.metric_selection import compare_metrics

X, y = make_friedman1(300, noise=1.0, random_state=0)
NOISY = Problem(X, y[:, None] + 5 * np.random.default_rng(0).standard_normal((300, 1)))


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

    monkeypatch.setattr(metric_selection, "least_by_steps", of_all)
    assert walked == compare_metrics(kernel, rows, beta, 1, ("full",), None).trials[0]
    assert walked.beta_factor in factors


def test_an_iteration_begins_with_the_factor_of_the_one_before(monkeypatch):
    best, starts, by_steps = compare(NOISY, "column", 1.0), [], metric_selection.least_by_steps
    rows = replace(NOISY, X=best.rows)

    def begins(value, start, within):
        starts.append(start)
        return by_steps(value, start, within)

    monkeypatch.setattr(metric_selection, "least_by_steps", begins)
    compared = compare_metrics(best.kernel, rows, 0.01 * best.candidate.beta, 2, ("diagonal",), None)
    places = [metric_selection._FACTORS.index(trial.beta_factor) for trial in compared.trials]
    assert starts[0] == 2
    assert places[0] != 2
    assert starts[1 : 1 + len(places)] == places[: len(starts) - 1]
