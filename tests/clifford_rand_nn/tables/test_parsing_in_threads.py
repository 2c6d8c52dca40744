"""Texts and headers of files are parsed in many threads at once, though Python 3.11's parser counts for all of them."""

import gc
import os
import sys
import threading

import numpy as np
import pytest

from clifford_rand import Algebra
from clifford_rand._files import read_npz
from clifford_rand._threads import ONE_PARSER
from clifford_rand_nn.shards.stored_arrays import NpyFile


@pytest.fixture
def turns():
    """Let other threads have their turn in the middle of whatever makes objects."""
    often, turn = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(5)
    sys.setswitchinterval(1e-6)
    gc.callbacks.append(_pause)
    yield
    gc.callbacks.remove(_pause)
    gc.set_threshold(*often)
    sys.setswitchinterval(turn)


def _pause(phase, info):
    sum(range(20))


def _arrays(folder):
    np.savez(folder / "a.npz", a=np.arange(3.0))
    return lambda: read_npz(folder / "a.npz", ["a"])[0]["a"].tolist()


def _shards(folder):
    np.save(folder / "a.npy", np.arange(6.0).reshape(3, 2))
    return lambda: NpyFile(folder / "a.npy").shape


def _text(folder):
    algebra = Algebra(2)
    return lambda: str(algebra("e1 + 2*e12 - 3*(e2 + 4)"))


@pytest.mark.parametrize("make", [_arrays, _shards, _text])
def test_many_threads_parse(tmp_path, turns, make):
    work = make(tmp_path)
    alone, found = work(), []

    def several():
        for _ in range(20):
            try:
                found.append(work())
            except Exception as error:  # all are compared
                found.append(error)

    threads = [threading.Thread(target=several) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == [alone] * 160


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no forked processes here")
def test_a_child_parses_though_a_thread_was_at_it(tmp_path):
    stop, begun = threading.Event(), threading.Event()

    def hold():
        while not stop.is_set():
            with ONE_PARSER:
                begun.set()

    thread = threading.Thread(target=hold)
    thread.start()
    begun.wait()
    try:
        for _ in range(3):
            child = os.fork()
            if not child:
                os._exit(0 if ONE_PARSER.acquire(timeout=20) else 1)
            assert os.waitpid(child, 0)[1] == 0
    finally:
        stop.set()
        thread.join()
