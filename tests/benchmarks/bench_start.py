"""Import and first product in a fresh process: run by hand, ``python tests/benchmarks/bench_start.py``.

Each process imports the library, makes Cl(3) and multiplies two of its multivectors, once; NUMBA_CACHE_DIR is an empty
folder for both, as on a machine where the library was just installed. Ours and clifford in turn; medians. The second
figure is the whole process, interpreter and NumPy included.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from timing import machine, need, seconds

OURS = """
import time; start = time.perf_counter()
import clifford_rand as cr
alg = cr.Algebra(3)
A = alg.multivector([1.0, 2, 3, 4, 5, 6, 7, 8])
C = A * A
print(time.perf_counter() - start, C.values.tolist())
"""
CLIFFORD = """
import time; start = time.perf_counter()
import clifford
layout, blades = clifford.Cl(3)
A = layout.MultiVector([1.0, 2, 3, 4, 5, 6, 7, 8])
C = A * A
print(time.perf_counter() - start, C.value.tolist())
"""
NUMPY = "import numpy"


def fresh(code: str) -> tuple[float, float, str]:
    """Return the time inside, the time of the whole process, and the product."""
    with tempfile.TemporaryDirectory() as cache:
        environment = {**os.environ, "NUMBA_CACHE_DIR": cache}
        printed: list[str] = []
        command = [sys.executable, "-c", code]
        whole = seconds(lambda: printed.append(subprocess.check_output(command, env=environment, text=True)))
    inside, _, product = printed[0].partition(" ")
    return float(inside or "nan"), whole, product


def main(rounds: int = 5) -> None:
    need("clifford")
    fresh(OURS), fresh(CLIFFORD)  # byte code and file cache
    rows = []
    for _ in range(rounds):
        a, b = fresh(OURS), fresh(CLIFFORD)
        if a[2] != b[2]:
            sys.exit(f"clifford's product differs: {a[2]} and {b[2]}")
        rows.append([a[0], a[1], b[0], b[1], fresh(NUMPY)[1]])
    ours, ours_whole, theirs, theirs_whole, numpy_alone = np.median(rows, axis=0)
    print(f"import and first Cl(3) product   ours {ours:.3f} s, process {ours_whole:.3f} s (target ≤ 0.5 s)")
    print(f"                             clifford {theirs:.3f} s, process {theirs_whole:.3f} s")
    print(f"    ratio {theirs / ours:.1f}, of processes {theirs_whole / ours_whole:.1f} (target ≥ 5)")
    print(f"    a process that imports NumPy alone: {numpy_alone:.3f} s")
    machine("clifford", "numba")


if __name__ == "__main__":
    main()
