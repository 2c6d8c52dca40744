"""One thread at a time in Python's own parser.

Python 3.11 counts the depth of trees that `ast.parse` makes in one number for all threads: where another thread has its
turn in the middle of one (when garbage is collected), both raise SystemError. NumPy parses the headers of files by it.
"""

import os
import threading

ONE_PARSER = threading.RLock()  # of one thread again: what garbage collection or a signal calls may parse, too

if hasattr(os, "register_at_fork"):  # a process is forked when no thread is in the middle of a text
    os.register_at_fork(
        before=ONE_PARSER.acquire, after_in_parent=ONE_PARSER.release, after_in_child=ONE_PARSER.release
    )
