"""Tests of random methods pass whatever the seed: each of 50 global seeds gives every seed in them other numbers.

The files below test what draws: sketches, samples, random subspaces, gates. ``pytest --all-seeds`` does the same for
all tests there are, which takes 50 times as long as they do. A whole run can be made in parts: from the global seed
after ``--seed``, for ``--seconds``.
"""

import os
import re
import subprocess
import sys
import time
from pathlib import Path

from reliability.promise import Outcome
from support.seeds import ALL

_ROOT = Path(__file__).parents[2]
_SHORT = tuple(  # laws of what is drawn, at tenths of a second each: the processes take longer to begin
    f"clifford_rand/{file}::test_{name}"
    for file, names in {
        "test_haar.py": ("mean_of_the_projection", "angles_of_subspaces_and_lines", "orthogonal_matrices_are_haar"),
        "test_volume_sampling.py": ("exact_law", "marginals_are_leverage_scores"),
        "sketch/test_sketches.py": ("products_from_both_sides_dense_and_sparse", "structure_of_sjlt"),
        "sketch/test_sketched_volume.py": ("cross_by_its_definition_and_of_plain_matrices",),
    }.items()
    for name in names
)  # fmt: skip
_WHOLE = (
    "clifford_rand/test_haar.py", "clifford_rand/test_volume_sampling.py", "clifford_rand/sketch",
    "clifford_rand/blades/test_subspaces.py",
    "clifford_rand_nn/gates/test_gates.py", "clifford_rand_nn/gates/test_gate_rules.py",
    "clifford_rand_nn/gates/test_arrangement.py",
)  # fmt: skip


def run(budget):
    names, last = (_SHORT, 3) if budget.short else (_WHOLE, ALL)
    began, faults, passed, done = time.monotonic(), [], 0, []
    for number in range(budget.seed + 1, last + 1):
        if budget.seconds and time.monotonic() - began > budget.seconds:
            break
        count, found = _tested(names, number)
        passed, faults = passed + count, faults + found
        done.append(number)
    told = f"{len(done)} global seeds ({done[0]} to {done[-1]})" if done else "no global seed"
    return Outcome(f"{passed} tests passed with {told}", faults)


def _tested(names, number):
    """Return how many tests passed with a global seed, and what failed."""
    command = [sys.executable, "-m", "pytest", "-n0", "-q", "-p", "no:cacheprovider", "--cases=all"]
    command += ["--global-seed", str(number)]
    done = subprocess.run(
        [*command, *(f"tests/{name}" for name in names)],
        capture_output=True, text=True, cwd=_ROOT, env={**os.environ, "PYTHONPATH": str(_ROOT)}, check=False,
    )  # fmt: skip
    faults = [f"seed {number}: {line}" for line in done.stdout.splitlines() if line.startswith(("FAILED", "ERROR"))]
    found = re.search(r"(\d+) passed", done.stdout)
    if done.returncode and not faults:
        faults.append(f"seed {number}: {done.stdout[-500:]}{done.stderr[-500:]}")
    return int(found[1]) if found else 0, faults
