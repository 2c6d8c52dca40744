"""Cross products against the singular value decomposition: run by hand, ``python tests/benchmarks/bench_cross.py``.

A null vector of d-1 rows is also the last right singular vector of their SVD, which is what the paper's code computes.
Both sides run in this process, in turn unless a line says otherwise; a ratio is of medians. Random Gaussian data. BLAS
runs with its own threads: with other work on the machine these wait for each other, on both sides;
OPENBLAS_NUM_THREADS=1 is steadier. For 0.1 s after a call the threads of NumPy's OpenBLAS still spin, and a call that
follows has to share the cores with them.
"""

import os
import subprocess
import sys
import tempfile

import numpy as np
from timing import alternate, machine, report, seconds, steady

import clifford_rand as cr

FIRST_KERNEL_CALL = """
import time, numpy as np, clifford_rand as cr
A = np.random.default_rng(0).standard_normal((4000, 5, 6))
cr.cross(A[:10])
start = time.perf_counter()
cr.cross(A)
print(time.perf_counter() - start)
"""


def svd_null_vectors(X: np.ndarray, index: np.ndarray) -> np.ndarray:
    return np.stack([np.linalg.svd(X[rows])[2][-1] for rows in index])


def many_subsets() -> None:
    """50 cross products of 99 of 2000 rows in R^100, as for 50 gates of a network on sketched data."""
    rng = np.random.default_rng(1)
    X = rng.standard_normal((2000, 100))
    index = np.stack([rng.permutation(2000)[:99] for _ in range(50)])
    print(
        f"import of the cross product: {seconds(lambda: cr.cross_many) * 1e3:.0f} ms (SciPy's LAPACK for the most part)"
    )
    first_theirs = seconds(lambda: svd_null_vectors(X, index))
    first_ours = seconds(lambda: cr.cross_many(X, index, normalize=True))
    report("cross_many, 50 subsets, r = 100, first call in the process", first_ours, "≥ 8", SVD=first_theirs)
    ours, theirs = alternate([lambda: cr.cross_many(X, index, normalize=True), lambda: svd_null_vectors(X, index)], 9)
    report("cross_many, 50 subsets, r = 100, steady", ours, "≥ 8", SVD=theirs)
    v = cr.cross_many(X, index, normalize=True)
    print(f"    max |X[j] v| = {np.abs(np.einsum('bij,bj->bi', X[index], v)).max():.1e}")


def one_large(d: int = 1000) -> None:
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((d - 1, d)), rng.standard_normal(d)
    both = (lambda: cr.cross_log(A)), (lambda: np.linalg.svd(A, full_matrices=True)[2][-1])
    report(f"cross_log, d = {d}, each in a row", steady(both[0], 15), "≥ 12", SVD=steady(both[1], 5))
    ours, theirs = alternate(list(both))
    report(f"cross_log, d = {d}, in turn", ours, "≥ 12", SVD=theirs)
    v, log_norm = cr.cross_log(A)
    sign, log_det = np.linalg.slogdet(np.vstack([x, A]))
    error = abs(np.log(abs(x @ v)) + log_norm - log_det) / abs(log_det)
    print(
        f"    max |A v| = {np.abs(A @ v).max():.1e}, oriented as slogdet [x; A]: {np.sign(x @ v) == sign}, {error:.0e}"
    )


def large_batch(m: int = 100_000, d: int = 6) -> None:
    A = np.random.default_rng(2).standard_normal((m, d - 1, d))
    with tempfile.TemporaryDirectory() as cache:
        command, environment = [sys.executable, "-c", FIRST_KERNEL_CALL], {**os.environ, "NUMBA_CACHE_DIR": cache}
        cold, warm = (float(subprocess.check_output(command, env=environment)) for _ in range(2))
    print(f"kernel, first call: {cold:.2f} s with compilation (once per machine), {warm:.2f} s in later processes")
    part = A[: m // 50]
    ours, loop = alternate([lambda: cr.cross_log(A), lambda: [np.linalg.svd(rows)[2][-1] for rows in part]], 5)
    report(f"cross_log, {m} × d = {d}, against a loop (× 50)", ours, SVD=50 * loop)
    ours, stacked = alternate([lambda: cr.cross_log(A), lambda: np.linalg.svd(A)[2][:, -1]], 3)
    report(f"cross_log, {m} × d = {d}, against one stacked SVD", ours, SVD=stacked)
    print(
        f"    ns each: {ours / m * 1e9:.0f}, SVD in a loop {50 * loop / m * 1e9:.0f}, stacked {stacked / m * 1e9:.0f}"
    )
    value = np.median([seconds(lambda: cr.cross(A)) for _ in range(5)])
    print(f"    ns each by cross, the value alone: {value / m * 1e9:.0f}")


def main() -> None:
    many_subsets()
    one_large()
    large_batch()
    machine("scipy", "numba")


if __name__ == "__main__":
    main()
