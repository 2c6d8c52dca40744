"""Slices in threads: they cover the range, may nest, fail in order, and outlive a fork."""

import multiprocessing
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from clifford_rand import _threads
from clifford_rand._threads import cached_property, for_each_slice, map_ahead, sum_of_parts
from support.refusals import refused


@pytest.fixture(autouse=True)
def four_processors(monkeypatch):
    monkeypatch.setattr(_threads, "cpu_count", lambda: 4)


def _count(size, least=1):
    """Return how often each item was worked on."""
    seen = np.zeros(size, dtype=int)

    def work(part):
        seen[part] += 1

    for_each_slice(work, size, least=least)
    return seen


@pytest.mark.parametrize("size", [0, 1, 2, 3, 5, 64])
@pytest.mark.parametrize("least", [1, 3, 100])
def test_every_item_is_in_one_slice(size, least):
    assert (_count(size, least) == 1).all()


def test_slices_run_at_the_same_time():
    together = threading.Barrier(2)  # no slice gets past it alone
    for_each_slice(lambda part: together.wait(timeout=20), 2)


def test_calls_nest():
    """More slices wait for slices of their own than there are threads."""
    seen = np.zeros((8, 8), dtype=int)

    def outer(rows):
        for i in range(rows.start, rows.stop):

            def inner(columns, i=i):
                time.sleep(0.001)
                seen[i, columns] += 1

            for_each_slice(inner, 8)

    for_each_slice(outer, 8)
    assert (seen == 1).all()


def test_calls_from_several_threads_meet():
    with ThreadPoolExecutor(6) as callers:
        assert all((seen == 1).all() for seen in callers.map(_count, [17] * 60))


@pytest.mark.parametrize("bad", [0, 3], ids=["in the calling thread", "in another"])
def test_an_error_is_raised_after_all_slices_have_ended(bad):
    running = []

    def work(part):
        running.append(part.start)
        try:
            time.sleep(0.02)
            if part.start == bad:
                raise ValueError(f"slice {part.start}")
        finally:
            running.remove(part.start)

    refused(f"slice {bad}", for_each_slice, work, 4, error=ValueError)
    assert not running
    assert (_count(9) == 1).all()


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_forked_process_has_threads_of_its_own():
    _count(8)  # the parent's threads are there
    with multiprocessing.get_context("fork").Pool(1) as child:
        assert (child.apply_async(_count, (8,)).get(timeout=60) == 1).all()
        child.apply_async(test_slices_run_at_the_same_time).get(timeout=60)


class Once:
    """A value that is computed once; where told so, not before ``go``."""

    def __init__(self, go=None):
        self.begun, self.go = threading.Event(), go

    @cached_property
    def value(self):
        self.begun.set()
        if self.go is not None:
            self.go.wait(60)
        return object()


def test_a_property_is_computed_once_and_is_one_value_in_all_threads():
    one = Once()
    assert one.value is one.value
    assert isinstance(Once.value, cached_property)
    together = threading.Barrier(4)

    def read(each):
        together.wait(20)
        return each.value

    for _ in range(50):
        shared = Once()
        with ThreadPoolExecutor(4) as callers:
            assert len(set(callers.map(read, [shared] * 4))) == 1


@pytest.fixture
def slow():
    """A property that another thread is computing."""
    one = Once(threading.Event())
    worker = threading.Thread(target=lambda: one.value)
    worker.start()
    assert one.begun.wait(60)
    yield one
    one.go.set()
    worker.join()


def test_a_property_of_one_instance_does_not_wait_for_that_of_another(slow):
    with ThreadPoolExecutor(1) as caller:
        caller.submit(lambda: Once().value).result(timeout=20)


@pytest.mark.skipif(sys.platform == "win32", reason="no fork")
def test_a_property_that_is_computed_while_the_process_is_forked_locks_nothing(slow):
    child = multiprocessing.get_context("fork").Process(target=lambda: Once().value)
    child.start()
    child.join(20)
    child.kill()
    child.join()
    assert child.exitcode == 0


def test_items_are_drawn_a_few_ahead_and_come_in_order():
    drawn, done = [], []

    def items():
        for i in range(20):
            drawn.append(i)
            yield i

    def work(i):
        time.sleep(0.002 * (i % 3))
        done.append(i)
        return i * i

    seen = []
    for value in map_ahead(work, items(), 3):
        seen.append(value)
        assert len(drawn) <= len(seen) + 3
    assert seen == [i * i for i in range(20)]
    assert sorted(done) == list(range(20))


def test_a_failure_comes_in_its_place_and_ends_the_work():
    began = []

    def work(i):
        began.append(i)
        if i == 5:
            raise ValueError("five")
        return i

    seen = []
    refused("five", lambda: seen.extend(map_ahead(work, range(1000), 2)), error=ValueError)
    assert seen == list(range(5))
    assert max(began) < 10
    ahead = map_ahead(work, range(6, 1000), 2)
    next(ahead)
    ahead.close()
    count = len(began)
    time.sleep(0.01)
    assert len(began) == count


def test_two_items_are_worked_on_at_the_same_time():
    both = threading.Barrier(2, timeout=10)
    assert list(map_ahead(lambda i: both.wait() >= 0 and i, range(4), 2)) == [0, 1, 2, 3]


@pytest.mark.parametrize("size", [1, 5, 16, 17, 1000, 100_000])
@pytest.mark.parametrize(("least", "step"), [(1, 1), (3, 1), (100, 64)])
def test_fixed_parts_cover_the_range_whatever_the_processors(monkeypatch, size, least, step):
    parts = _threads.fixed_parts(size, least=least, step=step)
    assert [i for part in parts for i in range(part.start, part.stop)] == list(range(size))
    assert all(part.start % step == 0 for part in parts)
    assert len(parts) <= max(1, size // least)
    monkeypatch.setattr(_threads, "cpu_count", lambda: 1)
    assert _threads.fixed_parts(size, least=least, step=step) == parts


def test_sums_are_the_same_bits_for_any_number_of_processors(monkeypatch):
    """Terms of many magnitudes, which round otherwise in another order; some threads are late."""
    rng = np.random.default_rng(0)
    terms = rng.standard_normal((40, 50)) * 10.0 ** rng.integers(-8, 8, (40, 50))

    def term(part):
        time.sleep(0.002 * (part.start % 3))
        return terms[part].sum(axis=0)

    found = set()
    for processors in (1, 2, 3, 7):
        monkeypatch.setattr(_threads, "cpu_count", lambda count=processors: count)
        found.add(sum_of_parts(term, len(terms)).tobytes())
    assert len(found) == 1


def test_a_sum_raises_what_a_term_raises():
    def term(part):
        if part.start > 20:
            raise ValueError("late")
        return np.zeros(2)

    refused("late", sum_of_parts, term, 40, error=ValueError)
