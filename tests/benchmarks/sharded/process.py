"""One measured piece of work in a process of its own: wall and CPU seconds, and the most memory it ever had."""

import json
import os
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "bench_shards.py"


def peak():
    """Bytes of this process at its largest.

    Linux hands ``ru_maxrss`` on from the parent by exec, so the address space's own is taken.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(re.search(r"VmHWM:\s*(\d+) kB", status.read_text())[1]) * 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * (1 if sys.platform == "darwin" else 1024)


class Clock:
    """Wall and CPU seconds of this process from its making."""

    def __init__(self):
        self._wall, self._cpu = time.perf_counter(), time.process_time()

    def read(self):
        return {"seconds": time.perf_counter() - self._wall, "cpu": time.process_time() - self._cpu}


def run(task, limit=None, **options):
    """Run a task of `bench_shards` in a new process and return what it found, or why it did not."""
    environment = {**os.environ, "PYTHONWARNINGS": "ignore"}
    command = [sys.executable, str(SCRIPT), "--task", task, "--options", json.dumps(options)]
    try:
        done = subprocess.run(command, capture_output=True, text=True, env=environment, timeout=limit)
    except subprocess.TimeoutExpired:
        return {"failed": f"not done within {limit:.0f} s"}
    for line in reversed(done.stdout.splitlines()):
        if line.startswith("{"):
            return json.loads(line)
    said = (done.stderr.strip().splitlines() or ["nothing"])[-1]
    return {"failed": f"{said[:300]} (exit {done.returncode})"}
