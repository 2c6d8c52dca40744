"""Ctrl-C that waits until the work in hand is safe."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType


@contextmanager
def held_interrupts(notice: Callable[[], object] = lambda: None) -> Iterator[Callable[[], None]]:
    """Hold back the first Ctrl-C; yield a function that raises it where it does no harm. A second one is immediate.

    ``notice`` is called when the first one comes. Outside the main thread, or where the program handles Ctrl-C in its
    own way, nothing is held. An interrupt that is still held at the end is raised there.
    """
    held: list[bool] = []

    def raise_held() -> None:
        if held:
            held.clear()
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    if not main or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield raise_held
        return

    def hold(number: int, frame: FrameType | None) -> None:
        if held:
            signal.default_int_handler(number, frame)
        held.append(True)
        notice()

    signal.signal(signal.SIGINT, hold)
    try:
        yield raise_held
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    raise_held()
