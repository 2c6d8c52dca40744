"""Tests of random methods pass whatever the seed: each of 50 global seeds gives every seed in them other numbers.

The files below test what draws: sketches, samples, random subspaces, gates. ``pytest --all-seeds`` does the same for
all tests there are, which takes 50 times as long as they do.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

from reliability.promise import Outcome
from support.seeds import ALL

_ROOT = Path(__file__).parents[2]
_SHORT = ("core/test_haar.py", "core/test_sjlt.py", "core/test_volume_sampling.py")
_WHOLE = (
    *_SHORT, "core/test_sketches.py", "core/test_sketched_cross.py", "core/test_sketched_volume.py",
    "core/test_subspaces.py", "nn/test_gates.py", "nn/test_gate_rules.py", "nn/test_arrangements.py",
)  # fmt: skip


def run(budget):
    names = _SHORT if budget.short else _WHOLE
    numbers = range(1, 4) if budget.short else range(1, ALL + 1)
    faults, passed = [], 0
    for number in numbers:
        command = [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", "--global-seed", str(number)]
        done = subprocess.run(
            [*command, *(f"tests/{name}" for name in names)],
            capture_output=True, text=True, cwd=_ROOT, env={**os.environ, "PYTHONPATH": str(_ROOT)}, check=False,
        )  # fmt: skip
        faults += [
            f"seed {number}: {line}" for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))
        ]
        if found := re.search(r"(\d+) passed", done.stdout):
            passed += int(found[1])
        elif done.returncode:
            faults.append(f"seed {number}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return Outcome(f"{passed} tests passed with {len(numbers)} global seeds", faults)
