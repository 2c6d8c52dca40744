"""One BLAS thread a call, while threads of our own share a batch."""

import threading
from functools import cache
from types import TracebackType
from typing import Any

__all__ = ["ONE_BLAS_THREAD"]


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # 3 ms: it looks through the loaded libraries


class _OneBlasThread:
    """Context in which BLAS runs in the thread that calls it.

    The number of BLAS threads is global: the first to enter sets it and the last to leave restores it, so that calls
    from several threads may overlap.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                self._limit = _controller().limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


ONE_BLAS_THREAD = _OneBlasThread()
