"""Subspaces in 50,000 and 10⁶ dimensions, time and memory: ``python tests/benchmarks/bench_huge.py``.

Rows of float32 in memory and on disk (a memory map), and sparse rows with 1 % of their entries. For each k: the angles
between two blades of k rows that nearly share k/2 directions; the log-volume of their wedge; their inner product;
coordinates of 100 vectors; a basis written to disk. Each is made of the rows anew, so that it includes its
factorizations. Beside it `scipy.linalg.subspace_angles`, in float64 as it needs, up to ``--peer`` numbers. ``peak`` is
what is allocated beside the rows, by tracemalloc; ``stored`` the size of one blade's rows; ``--largest`` bounds it.
"""

import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from timing import machine, options, peak_mib, seconds

import clifford_rand as cr

DENSITY = 0.01
KINDS = ("dense", "memory map", "sparse")
WORKS = ("angles", "wedge, log_norm", "log_inner", "coordinates of 100", "basis to disk")


def on_disk(rows: np.ndarray, path: Path) -> np.ndarray:
    """Return a memory map of rows written to a file."""
    np.save(path, rows)
    found: np.ndarray = np.load(path, mmap_mode="r")
    return found


def sparse_rows(k: int, d: int, rng: np.random.Generator) -> Any:
    """Return k sparse rows of float32."""
    from scipy.sparse import csr_array

    count = max(1, round(DENSITY * d))
    columns = np.concatenate([np.sort(rng.choice(d, count, replace=False)) for _ in range(k)])
    values = rng.standard_normal(k * count, dtype=np.float32)
    return csr_array((values, columns, np.arange(k + 1) * count), shape=(k, d))


def pairs(k: int, d: int, folder: Path, kinds: Sequence[str] = KINDS) -> Iterator[tuple[str, Any, Any, Any]]:
    """Return (kind, rows, rows, vectors): two subspaces that nearly share k/2 directions, and 100 vectors."""
    rng = np.random.default_rng(0)
    X, Y, V = (rng.standard_normal((n, d), dtype=np.float32) for n in (k, k, 100))
    Y[: k // 2] = X[: k // 2] + 0.1 * Y[: k // 2]
    if "dense" in kinds:
        yield "dense", X, Y, V
    if "memory map" in kinds:
        X, Y = on_disk(X, folder / "X.npy"), on_disk(Y, folder / "Y.npy")
        yield "memory map", X, Y, V
    del X, Y
    if "sparse" not in kinds:
        return
    S, T = sparse_rows(k, d, rng), sparse_rows(k, d, rng)
    near = (np.arange(k) < k // 2).astype(np.float32)[:, None]
    yield "sparse", S, (S.multiply(near) + T.multiply(1 - 0.9 * near)).tocsr(), sparse_rows(100, d, rng)


def works(A: Any, B: Any, V: Any, out: np.ndarray) -> dict[str, Callable[[], Any]]:
    """Return what is measured."""
    return {
        "angles": lambda: cr.LargeBlade(A).principal_angles(cr.LargeBlade(B)),
        "wedge, log_norm": lambda: (cr.LargeBlade(A) ^ cr.LargeBlade(B)).log_norm(),
        "log_inner": lambda: cr.LargeBlade(A).log_inner(cr.LargeBlade(B)),
        "coordinates of 100": lambda: cr.LargeBlade(A).coordinates(V),
        "basis to disk": lambda: cr.LargeBlade(A).orthonormal_basis(out),
    }


def scipy_angles(A: Any, B: Any) -> Any:
    """Return the angles by SciPy: QR factorizations of columns in float64."""
    from scipy.linalg import subspace_angles

    return subspace_angles(np.asarray(A, dtype=np.float64).T, np.asarray(B, dtype=np.float64).T)[::-1]


def main() -> None:
    given = options(
        "Subspaces of very many dimensions.",
        dimensions=[50_000, 1_000_000],
        grades=[2, 20, 100, 500],
        largest=(10**8, "numbers of one blade"),
        peer=(10**7, "numbers of a blade up to which SciPy is measured"),
        kinds=(list(KINDS), {"choices": KINDS}),
        works=(list(WORKS), {"choices": WORKS}),
        folder=(Path, "where files are written; a temporary folder by default"),
    )
    print(f"{'rows':<12}{'d':>9}{'k':>5}{'stored':>10}  {'work':<20}{'wall':>9}{'CPU':>9}{'peak':>9}")
    with tempfile.TemporaryDirectory(dir=given.folder) as folder:
        for d in given.dimensions:
            for k in given.grades:
                if k * d <= given.largest:
                    out = np.lib.format.open_memmap(Path(folder) / "Q.npy", "w+", np.float32, (k, d))
                    for kind, A, B, V in pairs(k, d, Path(folder), given.kinds):
                        done = {name: work for name, work in works(A, B, V, out).items() if name in given.works}
                        show(kind, k, d, A, B, done, k * d <= given.peer)
    machine("scipy")


def show(kind: str, k: int, d: int, A: Any, B: Any, done: dict[str, Callable[[], Any]], with_peer: bool) -> None:
    """Print a line for each work."""
    stored = (A.data.nbytes + A.indices.nbytes) if kind == "sparse" else A.nbytes
    line = f"{kind:<12}{d:>9}{k:>5}{stored / 2**20:>7.0f}MiB"
    for name, work in done.items():
        print(f"{line}  {name:<20}{_times(work)}{peak_mib(work):>6.0f}MiB", flush=True)
    if with_peer and kind == "dense" and "angles" in done:
        error = np.abs(done["angles"]() - scipy_angles(A, B)).max()
        times, peak = _times(lambda: scipy_angles(A, B)), peak_mib(lambda: scipy_angles(A, B))
        print(f"{line}  {'SciPy, angles':<20}{times}{peak:>6.0f}MiB, differ by {error:.0e}", flush=True)


def _times(work: Callable[[], Any]) -> str:
    """Return wall and CPU seconds of one call."""
    start = time.process_time()
    wall = seconds(work)
    return f"{wall:>8.3f}s{time.process_time() - start:>8.3f}s"


if __name__ == "__main__":
    main()
