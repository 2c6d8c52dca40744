"""BLAS threads: one a call while threads of our own share a batch, or one for NumPy while SciPy's library works."""

import threading
from functools import cache
from types import TracebackType
from typing import Any

__all__ = ["ONE_BLAS_THREAD", "ONE_NUMPY_THREAD"]


@cache
def _controller() -> Any:
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()  # 3 ms: it looks through the loaded libraries


class _OneBlasThread:
    """Context in which BLAS runs in the thread that calls it.

    The number of BLAS threads is global: the first to enter sets it and the last to leave restores it, so that calls
    from several threads may overlap.
    """

    def __init__(self, part: str = "") -> None:
        self._part = part  # of the path of the libraries meant
        self._lock = threading.Lock()
        self._users = 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            if self._users == 0:
                found = [one.filepath for one in _controller().lib_controllers if self._part in one.filepath]
                self._limit = _controller().select(filepath=found).limit(limits=1, user_api="blas")
            self._users += 1

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        with self._lock:
            self._users -= 1
            if self._users == 0:
                self._limit.restore_original_limits()


ONE_BLAS_THREAD = _OneBlasThread()

# The wheels of NumPy and SciPy carry a BLAS each, with threads of its own that go on spinning for a while after a call.
# Where calls alternate, each library waits for cores that the other holds: the kernel method (n = 2000) took 0.8 to
# 1.05 s, and 0.49 s with one thread for NumPy's. Where both share one library nothing is limited.
ONE_NUMPY_THREAD = _OneBlasThread("numpy")
