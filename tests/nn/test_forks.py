"""A process may be forked while its threads fit: the child fits too, and does not wait for locks of the parent's."""

import os
import signal
import sys
import threading
import time
import warnings

import numpy as np
import pytest

import clifford_rand as cr
from clifford_rand_nn import GatedReLUClassifier

FORKS, LIMIT = 12, 30.0  # seconds for a child, which has 0.1 s of work; with locks every sixth waited for ever


def work():
    X = np.random.default_rng(0).standard_normal((60, 4))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of a fit that ends early
        GatedReLUClassifier(n_gates=6, max_iter=20, random_state=0, beta=1e-3, bias=True).fit(X, X[:, 0] * X[:, 1] > 0)
    cr.Blade(X[:3]).star().norm()
    cr.cross_log(X[:33].reshape(-1, 11, 12))
    algebra = cr.Algebra(4)
    (algebra.vector(X) * algebra.vector(X)).norm()


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
            child = os.fork()
            if child == 0:
                try:
                    work()
                finally:
                    os._exit(sys.exc_info()[0] is not None)
            deadline, ended = time.monotonic() + LIMIT, 0
            while not ended and time.monotonic() < deadline:
                ended, status = os.waitpid(child, os.WNOHANG)
                time.sleep(0.005)
            if not ended:
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            assert ended, f"the child of fork {i} waits"
            assert status == 0
    finally:
        stop.set()
        for thread in threads:
            thread.join()
