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
PROBLEM = Problem(X, y[:, None])


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
    assert walked.beta_factor in factors
