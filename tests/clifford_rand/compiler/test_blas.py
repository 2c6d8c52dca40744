"""One BLAS thread: while anyone asks for it, and the old number after the last has left, whoever overlaps."""

import os
import random
import subprocess
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

import clifford_rand as cr
from clifford_rand import _threads
from clifford_rand._threads import ONE_BLAS_THREAD, ONE_NUMPY_THREAD


class Fake:
    """A BLAS of so many threads."""

    def __init__(self, filepath, threads):
        self.filepath, self.threads = filepath, threads

    def get_num_threads(self):
        return self.threads

    def set_num_threads(self, threads):
        self.threads = threads


@pytest.fixture
def numpy_and_scipy(monkeypatch):
    fakes = Fake("/site/numpy.libs/blas.so", 4), Fake("/site/scipy.libs/blas.so", 3)
    libraries = [_threads._Library(one) for one in fakes]
    made = lambda: libraries  # noqa: E731
    made.cache_info = _threads._libraries.cache_info
    monkeypatch.setattr(_threads, "_libraries", made)
    monkeypatch.setattr(_threads, "_add_scipy", lambda: None)  # where SciPy is loaded already
    return lambda: tuple(one.threads for one in fakes)


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_entries_and_exits(numpy_and_scipy, seed):
    rng = random.Random(seed)
    with ThreadPoolExecutor(1) as one, ThreadPoolExecutor(1) as other, ThreadPoolExecutor(1) as third:
        threads, open_ = (one, other, third), []
        for _ in range(60):
            if open_ and rng.random() < 0.5:  # a thread leaves what it entered last, threads in any order
                thread = rng.choice([entry[0] for entry in open_])
                last = max(i for i, entry in enumerate(open_) if entry[0] is thread)
                context = open_.pop(last)[1]
                thread.submit(context.__exit__, None, None, None).result()
            else:
                entry = rng.choice(threads), rng.choice((ONE_BLAS_THREAD, ONE_NUMPY_THREAD))
                entry[0].submit(entry[1].__enter__).result()
                open_.append(entry)
            held = any(entry[1] is ONE_BLAS_THREAD for entry in open_)
            assert numpy_and_scipy() == (1 if open_ else 4, 1 if held else 3)
        for thread, context in reversed(open_):
            thread.submit(context.__exit__, None, None, None).result()
    assert numpy_and_scipy() == (4, 3)


def test_the_real_libraries_come_back():
    from threadpoolctl import ThreadpoolController

    def threads():
        return [one.get_num_threads() for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]

    before = threads()

    def overlap(seed):
        rng = random.Random(seed)
        for _ in range(200):
            with rng.choice((ONE_BLAS_THREAD, ONE_NUMPY_THREAD)), rng.choice((ONE_BLAS_THREAD, ONE_NUMPY_THREAD)):
                pass

    with ThreadPoolExecutor(4) as callers:
        list(callers.map(overlap, range(4)))
    assert threads() == before
    with ONE_BLAS_THREAD:
        assert set(threads()) <= {1}
    assert threads() == before


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_drops_the_holders_that_it_has_not(numpy_and_scipy):
    """Another thread holds both when the process is forked, and the thread that forks holds NumPy's."""
    entered, done = threading.Event(), threading.Event()

    def hold():
        with ONE_BLAS_THREAD:
            entered.set()
            done.wait(60)

    holder = threading.Thread(target=hold)
    holder.start()
    assert entered.wait(60)
    with ONE_NUMPY_THREAD:
        child = os.fork()
        if child == 0:
            good = numpy_and_scipy() == (1, 3)
            with ONE_BLAS_THREAD:
                good &= numpy_and_scipy() == (1, 1)
            ONE_NUMPY_THREAD.__exit__(None, None, None)
            os._exit(0 if good and numpy_and_scipy() == (4, 3) else 1)
        assert os.waitpid(child, 0)[1] == 0
        assert numpy_and_scipy() == (1, 1)
    done.set()
    holder.join()
    assert numpy_and_scipy() == (4, 3)


def test_the_libraries_of_numpy_and_scipy_are_found():
    """A threadpoolctl that does not know their names finds none, and BLAS then keeps its threads, without a word."""
    import numpy as np
    import scipy.linalg  # noqa: F401

    if "openblas" not in np.show_config(mode="dicts")["Build Dependencies"]["blas"]["name"]:
        pytest.skip("NumPy with another BLAS than that of its wheels")
    assert _threads._libraries()
    with ONE_BLAS_THREAD:
        assert {one._controller.get_num_threads() for one in _threads._libraries()} == {1}


def _random(d, n, grades=None, *, metric=None, seed=0):
    alg = cr.Algebra(d) if metric is None else cr.Algebra(metric=metric)
    return alg.random_multivector(rng=seed, shape=(n,) if n else (), grades=grades)


def _blades(k, d, seed=0, **options):
    return cr.Blade(np.random.default_rng(seed).standard_normal((8, k, d)), **options)


_GRAM = np.random.default_rng(0).standard_normal((10, 10))
_STACKS = {
    "product of 50": lambda: _random(10, 50) * _random(10, 50, seed=1),
    "product, d = 12": lambda: _random(12, 4) * _random(12, 4, seed=1),
    "one product, d = 12": lambda: _random(12, 0) * _random(12, 0, seed=1),
    "null vector": lambda: _random(11, 6, metric=np.diag([0.0] + [1.0] * 10)) ** 2,
    "no unit squares": lambda: _random(10, 6, metric=np.diag([2.0] * 5 + [-1.0] * 5)) ** 2,
    "not diagonal": lambda: _random(10, 6, metric=_GRAM + _GRAM.T) ** 2,
    "commutator": lambda: _random(10, 6).commutator(_random(10, 6, seed=1)),
    "sandwich": lambda: _random(10, 6) >> _random(10, 6, seed=1),
    "inverse": lambda: _random(10, 6).inv(),
    "exponential": lambda: (0.1 * _random(10, 6)).exp(),
    "tanh": lambda: (0.1 * _random(10, 6)).tanh(),
    "norm of blades": lambda: _blades(90, 180).norm(),
    "star of blades": lambda: _blades(90, 180).star(),
    "span of blades": lambda: _blades(30, 180).span(_blades(30, 180, 1)),
    "Lorentzian blades": lambda: _blades(90, 180, algebra=cr.Algebra(179, 1)).norm(),
    "principal angles": lambda: _blades(90, 180).principal_angles(_blades(90, 180, 1)),
    "rotations": lambda: cr.random_rotation(100, rng=0, shape=6),
}


def test_stacks_of_small_matrices_take_one_thread():
    """Other threads of the process take no CPU time, whatever the machine does meanwhile; they spun for as much."""
    with threadpool_limits(2, user_api="blas"):
        for call in _STACKS.values():
            call()
        time.sleep(0.2)  # threads that were woken before go to sleep
        for name, call in _STACKS.items():
            whole, own = time.process_time(), time.thread_time()
            call()
            own, whole = time.thread_time() - own, time.process_time() - whole
            assert whole - own <= 0.1 * own, name


def test_a_library_that_is_loaded_later_is_limited_too():
    """SciPy's BLAS is loaded after that of NumPy; it is limited from the next entry on, and all limits are lifted."""
    code = """if True:
        import sys
        from threadpoolctl import ThreadpoolController
        from clifford_rand._threads import ONE_BLAS_THREAD

        def threads():
            return [one.num_threads for one in ThreadpoolController().lib_controllers if one.user_api == "blas"]

        with ONE_BLAS_THREAD:
            assert "scipy.linalg" not in sys.modules
            import scipy.linalg
            before = threads()[1:]
            with ONE_BLAS_THREAD:
                assert set(threads()) == {1}, threads()
            assert threads()[1:] == before
        assert threads()[1:] == before
    """
    environment = {key: value for key, value in os.environ.items() if not key.endswith("_NUM_THREADS")}
    subprocess.run([sys.executable, "-c", code], check=True, env=environment)
