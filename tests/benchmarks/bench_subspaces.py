"""Versors and statistics of subspaces in many dimensions: ``python tests/benchmarks/bench_subspaces.py``.

``versor``: 1,000 vectors of R^10000 through 200 reflections, beside LAPACK's compact WY form (dormqr), seconds and
operations; orthogonal matrices of rank k off the identity to versors and back. ``many``: 200 subspaces of k = 32 in
R^100000, and ``huge`` 50 in R^1000000, by memory maps of float32: all distances, the mean, principal components and
p-values, with the time, the processor's time, the memory that is not of the maps, and the error that float32 leaves.
The files (2.6 and 6.4 GB) are in the folder of temporary files and are deleted.
"""

import tempfile
import threading
from itertools import combinations
from pathlib import Path

import numpy as np
import scipy.linalg
import timing

import clifford_rand as cr


def versor():
    rng = np.random.default_rng(0)
    d, k, n = 10_000, 200, 1000
    (packed, tau), _ = scipy.linalg.qr(rng.standard_normal((d, k)), mode="raw")
    vectors = np.ascontiguousarray((np.tril(packed, -1) + np.eye(d, k)).T)
    X = rng.standard_normal((n, d))
    columns = np.asfortranarray(X.T)
    size = int(scipy.linalg.lapack.dormqr("L", "N", packed, tau, columns, -1)[1][0])
    peer = scipy.linalg.lapack.dormqr("L", "N", packed, tau, columns, size)[0]
    timing.agree(cr.LargeVersor(vectors).sandwich(X, twisted=True), peer.T, 1e-12, "reflections")
    ours, theirs = timing.alternate(
        [
            lambda: cr.LargeVersor(vectors).sandwich(X, twisted=True),
            lambda: scipy.linalg.lapack.dormqr("L", "N", packed, tau, columns, size),
        ]
    )
    flops = 4 * n * d * k + n * k * k + 2 * d * k * k, 4 * n * d * k + n * k * k + d * k * k
    timing.report(f"{n} vectors through {k} reflections, d = {d}", ours, dormqr=theirs)
    print(f"operations {flops[0]:.3g} and {flops[1]:.3g}: {flops[0] / flops[1]:.3f} times")
    for dtype in (np.float64, np.float32):
        moved = cr.LargeVersor(vectors.astype(dtype)) >> X.astype(dtype)
        print(np.dtype(dtype).name, "largest difference", f"{abs(moved - (cr.LargeVersor(vectors) >> X)).max():.2g}")
    for k in (2, 400):
        F = cr.LargeVersor(vectors[:k] if k <= 200 else rng.standard_normal((k, d)))
        F = F.vector_matrix()
        V, seconds = timing.timed(lambda F=F: cr.LargeVersor.from_vector_matrix(F))[:2]
        off = abs(V.vector_matrix() - F).max()
        print(f"matrix of {k} reflections: {V} in {seconds:.3g} s, off by {off:.2g}")


def sample(folder, n, k, d):
    """Return n mixed rows (k, d) on disk, of two groups, and the function that makes those of one in float64."""
    rng = np.random.default_rng(1)
    base = rng.standard_normal((k, d), dtype=np.float32)
    move = rng.standard_normal((k, d), dtype=np.float32)

    def rows(i):
        own = np.random.default_rng(100 + i)
        start = base + (0.1 * move if i >= n // 2 else 0)
        part = start + 0.3 * own.standard_normal((k, d), dtype=np.float32)
        return (own.standard_normal((k, k)) + 6 * np.eye(k)) @ part

    stored = np.lib.format.open_memmap(folder / "rows.npy", "w+", np.float32, (n, k, d))
    for i in range(n):
        stored[i] = rows(i)
    stored.flush()
    del stored
    return np.load(folder / "rows.npy", mmap_mode="r"), rows


class Memory(threading.Thread):
    """The largest memory of this process that is not of files, seen every 20 ms."""

    def __init__(self):
        super().__init__(daemon=True)
        self.peak, self.done = 0, threading.Event()

    def run(self):
        while not self.done.wait(0.02):
            words = Path("/proc/self/status").read_text(encoding="utf-8")
            self.peak = max(self.peak, int(words.split("RssAnon:")[1].split()[0]) / 2**10)


def statistics(n, k, d):
    with tempfile.TemporaryDirectory() as name:
        stored, rows = sample(Path(name), n, k, d)
        memory = Memory()
        memory.start()
        blades = [cr.LargeBlade(one) for one in stored]
        total = 0.0

        def step(name, work):
            nonlocal total
            value, wall, cpu = timing.timed(work)
            total += wall
            print(f"  {name:24s}{wall:8.1f} s, {cpu:.1f} s of processors, {memory.peak:.0f} MiB", flush=True)
            return value

        print(f"{n} subspaces of k = {k} in R^{d}: {n * (n - 1) // 2} distances")
        distances = step("distances", lambda: cr.subspace_distances(blades))
        mean = step("mean", lambda: cr.subspace_mean(blades))
        law, pairs_of = cr.PrincipalAngleDistribution(k, k, d), np.triu_indices(n, 1)
        chance = step("p-values", lambda: law.distance_pvalue(distances[pairs_of], rng=0))
        halves = blades[: n // 2], blades[n // 2 :]
        moved = step("test of movement", lambda: cr.subspace_test(*halves, distances=distances, rng=0))
        print(
            f"  {'all':24s}{total:8.1f} s; p-values {chance.min():.2g} to {chance.max():.2g}; moved: {moved.pvalue:.2g}"
        )
        pca = step("principal components", lambda: cr.subspace_pca(blades, 1, mean=mean))
        memory.done.set()
        share = pca.variances[0] / pca.total_variance
        print(f"  variance explained {share:.3f}; from the mean to the first {mean.distance(blades[0]):.6f}")
        exact = [cr.LargeBlade(rows(i)) for i in range(4)]
        pairs = list(combinations(range(4), 2))
        tiled = np.array([distances[pair] for pair in pairs])
        of = [np.array([some[i].distance(some[j]) for i, j in pairs]) for some in (exact, blades)]
        print(f"  float32 rows: distances off by {abs(of[0] - tiled).max():.2g} from those of float64 rows, by")
        print(f"  {abs(of[1] - tiled).max():.2g} from those of the same rows one by one")
        print(f"  each subspace is off by {max(P.distance(B) for P, B in zip(exact, blades, strict=False)):.2g}")


PARTS = {"versor": versor, "many": lambda: statistics(200, 32, 100_000), "huge": lambda: statistics(50, 32, 1_000_000)}


if __name__ == "__main__":
    timing.run_parts(__doc__, PARTS, "numpy", "scipy")
