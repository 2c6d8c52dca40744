"""Scores against other ways to compute them, and seconds of threads and children."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.metrics import log_loss, r2_score

from examples.accuracy.clock import Clock, one_thread
from examples.accuracy.scores import calibration_error, coverage, negative_log_likelihood, r2

rng = np.random.default_rng(3)
P = rng.dirichlet(np.ones(4), 200)
Y = rng.integers(0, 4, 200)


def test_log_likelihood_and_r2_are_scikit_learn_s():
    assert negative_log_likelihood(P, Y) == pytest.approx(log_loss(Y, P, labels=range(4)), rel=1e-12)
    f, y = rng.standard_normal((2, 50))
    assert r2(f, y) == pytest.approx(r2_score(y, f), rel=1e-12)


def test_a_certain_mistake_costs_a_finite_amount():
    assert negative_log_likelihood(np.array([[1.0, 0.0]]), np.array([1])) == pytest.approx(-np.log(1e-15))


def test_calibration_error_by_its_definition():
    total = 0.0
    top, right = P.max(axis=1), P.argmax(axis=1) == Y
    for b in range(15):
        inside = (top > b / 15) & (top <= (b + 1) / 15)
        if inside.any():
            total += inside.mean() * abs(right[inside].mean() - top[inside].mean())
    assert calibration_error(P, Y) == pytest.approx(total, rel=1e-12)


def test_calibrated_rows_have_no_calibration_error():
    p = np.repeat([[0.75, 0.25]], 4, axis=0)
    assert calibration_error(p, np.array([0, 0, 0, 1])) == pytest.approx(0)
    assert calibration_error(p, np.array([0, 0, 0, 0])) == pytest.approx(0.25)


def test_coverage_counts_both_ends():
    y = np.array([0.0, 1.0, 2.0, 3.0])
    assert coverage(np.full(4, 1.0), np.full(4, 2.0), y) == 0.5


def test_the_clock_counts_children():
    clock = Clock()
    burn = "import time; t = time.process_time()\nwhile time.process_time() - t < 0.3: pass"
    subprocess.run([sys.executable, "-c", burn], check=True)
    assert clock.cpu_seconds() >= 0.3
    assert clock.seconds() >= 0.3


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="affinity is Linux's")
def test_one_thread_means_one_processor_and_gives_the_others_back():
    import os

    from clifford_rand._threads import cpu_count

    before = os.sched_getaffinity(0)
    with one_thread():
        assert cpu_count() == 1
    assert os.sched_getaffinity(0) == before
