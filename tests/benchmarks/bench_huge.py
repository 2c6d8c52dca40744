"""Subspaces in 50,000 and 10⁶ dimensions, time and memory: ``python tests/benchmarks/bench_huge.py``.

Rows of float32 in memory and on disk (a memory map), and sparse rows with 1 % of their entries. For each k: the angles
between two blades of k rows that nearly share k/2 directions; the log-volume of their wedge; their inner product;
coordinates of 100 vectors; a basis written to disk. Each is made of the rows anew, so that it includes its
factorizations. Beside it `scipy.linalg.subspace_angles`, in float64 as it needs, up to ``--peer`` numbers. ``peak`` is
what is allocated beside the rows, by tracemalloc; ``stored`` the size of one blade's rows; ``--largest`` bounds it.
"""

import tempfile
from pathlib import Path

import numpy as np
from scipy.linalg import subspace_angles
from scipy.sparse import csr_array
from timing import chosen, machine, options, peak_mib, timed

import clifford_rand as cr

DENSITY = 0.01
KINDS = ("dense", "memory map", "sparse")
WORKS = ("angles", "wedge, log_norm", "log_inner", "coordinates of 100", "basis to disk")


def on_disk(rows, path):
    """Return a memory map of rows written to a file."""
    np.save(path, rows)
    return np.load(path, mmap_mode="r")


def sparse_rows(k, d, rng):
    """Return k sparse rows of float32."""
    count = max(1, round(DENSITY * d))
    columns = np.concatenate([np.sort(rng.choice(d, count, replace=False)) for _ in range(k)])
    values = rng.standard_normal(k * count, dtype=np.float32)
    return csr_array((values, columns, np.arange(k + 1) * count), shape=(k, d))


def pairs(k, d, folder, kinds):
    """Yield (kind, rows, rows, vectors): two subspaces that nearly share k/2 directions, and 100 vectors."""
    rng = np.random.default_rng(0)
    X, Y, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (k, k, 100))
    Y[: k // 2] = X[: k // 2] + 0.1 * Y[: k // 2]
    if "dense" in kinds:
        yield "dense", X, Y, V
    if "memory map" in kinds:
        X, Y = on_disk(X, folder / "X.npy"), on_disk(Y, folder / "Y.npy")
        yield "memory map", X, Y, V
    del X, Y
    if "sparse" in kinds:
        S, T = sparse_rows(k, d, rng), sparse_rows(k, d, rng)
        near = (np.arange(k) < k // 2).astype(np.float32)[:, None]
        yield "sparse", S, (S.multiply(near) + T.multiply(1 - 0.9 * near)).tocsr(), sparse_rows(100, d, rng)


def works(A, B, V, out):
    """Return what is measured."""
    return {
        "angles": lambda: cr.LargeBlade(A).principal_angles(cr.LargeBlade(B)),
        "wedge, log_norm": lambda: (cr.LargeBlade(A) ^ cr.LargeBlade(B)).log_norm(),
        "log_inner": lambda: cr.LargeBlade(A).log_inner(cr.LargeBlade(B)),
        "coordinates of 100": lambda: cr.LargeBlade(A).coordinates(V),
        "basis to disk": lambda: cr.LargeBlade(A).orthonormal_basis(out=out),
    }


def show(line, name, work):
    result, wall, cpu = timed(work)
    print(f"{line}  {name:<20}{wall:>8.3f}s{cpu:>8.3f}s{peak_mib(work):>6.0f}MiB", flush=True)
    return result


def main():
    sizes = {"dimensions": [50_000, 1_000_000], "grades": [2, 20, 100, 500], "largest": 10**8, "peer": 10**7}
    folder = (Path, "where files are written; a temporary folder by default")
    args = options(__doc__, **sizes, kinds=chosen(KINDS), works=chosen(WORKS), folder=folder)
    print(f"{'rows':<12}{'d':>9}{'k':>5}{'stored':>10}  {'work':<20}{'wall':>9}{'CPU':>9}{'peak':>9}")
    sizes = [(d, k) for d in args.dimensions for k in args.grades if k * d <= args.largest]
    with tempfile.TemporaryDirectory(dir=args.folder) as folder:
        for d, k in sizes:
            out = np.lib.format.open_memmap(Path(folder) / "Q.npy", "w+", np.float32, (k, d))
            for kind, A, B, V in pairs(k, d, Path(folder), args.kinds):
                stored = (A.data.nbytes + A.indices.nbytes) if kind == "sparse" else A.nbytes
                line = f"{kind:<12}{d:>9}{k:>5}{stored / 2**20:>7.0f}MiB"
                ways = works(A, B, V, out)
                results = {name: show(line, name, ways[name]) for name in args.works}
                if k * d <= args.peer and kind == "dense" and "angles" in results:
                    columns = (np.asarray(rows, dtype=np.float64).T for rows in (A, B))
                    theirs = show(line, "SciPy, angles", lambda pair=tuple(columns): subspace_angles(*pair)[::-1])
                    print(f"{line}  differ by {np.abs(results['angles'] - theirs).max():.0e}", flush=True)
    machine("scipy")


if __name__ == "__main__":
    main()
