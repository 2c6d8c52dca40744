"""Small fits have the same bits whatever number of threads BLAS has: they hold it at one, as more of them only wait."""

import os
import warnings

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from clifford_rand_nn import ConvexNetworkClassifier
from support.repeated import CASES, Found, _rows


def few(size):
    X, labels, _ = _rows(150 * size, 13, classes=3)
    return Found().model(ConvexNetworkClassifier(n_neurons=6, beta=0.06).fit(X, labels), X[:40])


@pytest.mark.parametrize(
    "case",
    [few, *(CASES[name] for name in ("infinite_gates", "gated_kernel", "gated_gram", "relu", "lasso", "paths"))],
    ids=lambda case: case.__name__,
)
def test_threads_of_blas_change_no_bit(case):
    digests = set()
    for threads in (1, 2):
        with threadpool_limits(threads, user_api="blas"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            digests.add(case(2).digest)
    assert len(digests) == 1


def test_processes_of_tests_side_by_side_have_one_thread_each():
    threads = {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}
    assert threads == {1} or "PYTEST_XDIST_WORKER" not in os.environ
