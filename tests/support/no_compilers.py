"""Python as it is in a browser: without Numba, llvmlite and CVXPY, and with one thread.

A script imports this module first; pytest has it as a plugin, ``-p support.no_compilers``.
"""

import sys
import threading

REFUSED = ("numba", "llvmlite", "cvxpy")


class _Refusal:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in REFUSED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


def _refuse(thread):
    raise RuntimeError("can't start new thread")


assert not any(name in sys.modules for name in REFUSED)
sys.meta_path.insert(0, _Refusal())
threading.Thread.start = _refuse

from clifford_rand import _threads  # noqa: E402

_threads._HAS_THREADS = False
