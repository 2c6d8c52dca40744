"""A process may be forked while its threads fit: the child fits too, and does not wait for locks of the parent's."""

import os
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand_nn import BetaCV, GatedReLUClassifier
from support.running import ended

# Seconds for which a child works or sleeps; it has 0.1 s of work, and with locks every sixth waited for ever.
FORKS, LIMIT = 12, 30.0


def work():
    X = np.random.default_rng(0).standard_normal((60, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that ends early
        GatedReLUClassifier(n_gates=6, max_iter=20, random_state=0, beta=1e-3, bias=True).fit(X, X[:, 0] * X[:, 1] > 0)
    cr.Blade(X[:3]).star().norm()
    cr.cross_log(X[:33].reshape(-1, 11, 12))
    algebra = cr.Algebra(4)
    (algebra.vector(X) * algebra.vector(X)).norm()


def forked(work):
    """Return the exit code of a child that works, None where it waits."""
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(sys.exc_info()[0] is not None)
    return ended(child, LIMIT)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_process_that_is_forked_while_threads_fit_can_fit():
    work()  # what is imported and compiled is there; Python's own lock of an import is another matter
    stop = threading.Event()

    def fit():
        while not stop.is_set():
            work()

    threads = [threading.Thread(target=fit) for _ in range(2)]
    for thread in threads:
        thread.start()
    try:
        for i in range(FORKS):
            time.sleep(0.003 * (i % 7))
            assert forked(work) == 0, f"fork {i}: None is a child that waits"
    finally:
        stop.set()
        for thread in threads:
            thread.join()


@pytest.mark.slow  # processes that import everything
@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
@pytest.mark.filterwarnings("ignore:.*use of fork:DeprecationWarning")
def test_a_child_of_a_process_that_searched_in_jobs_searches_in_jobs():
    X = np.random.default_rng(0).standard_normal((40, 3))
    search = BetaCV(GatedReLUClassifier(4, random_state=0, tol=1e-3), n_betas=3, cv=2, n_jobs=2)
    scores = search.fit(X, X[:, 0] > 0).scores_

    def work():
        np.testing.assert_array_equal(search.fit(X, X[:, 0] > 0).scores_, scores)

    assert forked(work) == 0
