"""A process may be forked while its threads fit: the child fits too, and does not wait for locks of the parent's."""

import multiprocessing
import os
import sys
import threading
import time
import warnings
from concurrent.futures import ProcessPoolExecutor

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand_nn import GatedReLUClassifier
from support.nested import search
from support.running import ended

# Seconds for which a child works or sleeps; it has 0.1 s of work, and with locks every sixth waited for ever.
FORKS, LIMIT = 7, 30.0


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
    child = os.fork()
    if child == 0:
        try:
            work()
        finally:
            os._exit(sys.exc_info()[0] is not None)
    return ended(child, LIMIT)


@pytest.mark.slow
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
    scores = search(2)[0]

    def work():
        assert search(2)[0] == scores

    assert forked(work) == 0


@pytest.mark.slow  # a process that imports everything
def test_a_search_in_jobs_leaves_no_processes_that_a_process_waits_for_at_its_end():
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        scores, left = pool.submit(search, 2).result()
    assert (scores, left) == (search(1)[0], 0)
