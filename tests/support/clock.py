"""Time in tests: of the processor, which other processes do not take, and in turns, as its speed changes."""

import time
from contextlib import contextmanager


@contextmanager
def within(seconds):
    """Fail if what is inside takes this process more seconds of the processor; for work that would else not end."""
    began = time.process_time()
    yield
    took = time.process_time() - began
    assert took < seconds, f"took {took:.2f} s of the processor; at most {seconds} s are allowed"


def fastest(*works, rounds=20):
    """Return the least seconds of the processor that a call of each takes, in turns; the first does not count."""
    least = [float("inf")] * len(works)
    for work in works:
        work()
    for _ in range(rounds):
        for i, work in enumerate(works):
            began = time.process_time()
            work()
            least[i] = min(least[i], time.process_time() - began)
    return least
