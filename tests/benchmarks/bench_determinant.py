"""Determinants of matrices on disk with little memory, against memdet of detkit: run by hand.

    python tests/benchmarks/bench_determinant.py [--n 6000] [--memory 64 128] [--folder .]

For float64 and float32 matrices and each limit in MiB: seconds, CPU seconds, what is allocated beside the matrix
(tracemalloc), and the difference to `numpy.linalg.slogdet` in memory. ``pip install detkit`` brings the peer.
"""

import tempfile
from pathlib import Path

import numpy as np
from timing import hold, machine, need, options, peak_mib, timed

import clifford_rand as cr


def main() -> None:
    """Print one line for each matrix, limit and library."""
    given = options(__doc__, n=6000, memory=[64, 128], folder=".")
    (detkit,) = need("detkit")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for dtype in (np.float64, np.float32):
            path = Path(folder) / f"{np.dtype(dtype)}.npy"
            np.save(path, np.random.default_rng(0).standard_normal((given.n, given.n)).astype(dtype))
            A = np.load(path, mmap_mode="r")
            known, wall, cpu = timed(lambda A=A: np.linalg.slogdet(A.astype(np.float64)))
            print(f"{np.dtype(dtype)}, n = {given.n}: NumPy in memory {wall:.1f} s, {cpu:.1f} CPU s")
            for limit in given.memory:
                calls = {
                    "slogdet": lambda A=A, m=limit: cr.slogdet(A, max_memory=m * 2**20, scratch=folder),
                    "memdet": lambda A=A, m=limit: detkit.memdet(A, max_mem=m * 2**20, scratch_dir=folder)[1::-1],
                }
                for name, call in calls.items():
                    (sign, log), wall, cpu = timed(call)
                    hold(sign == known.sign and abs(log - known.logabsdet) <= 1e-10 * abs(log), f"{name}: {log}")
                    error, peak = abs(log - known.logabsdet), peak_mib(call)
                    print(f"{limit} MiB  {name:8} {wall:5.1f} s  {cpu:5.1f} CPU s  {peak:4.0f} MiB  {error:.0e}")
    machine("detkit")


if __name__ == "__main__":
    main()
