"""Versors and statistics of subspaces in many dimensions: ``python tests/benchmarks/bench_subspaces.py``.

``versor``: 1,000 vectors of R^10000 through 200 reflections, beside LAPACK's compact WY form (dormqr), seconds and
operations; orthogonal matrices of rank k off the identity to versors and back.
"""

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
        V, seconds = timing.timed(lambda F=F: cr.LargeVersor.from_matrix(F))[:2]
        off = abs(V.vector_matrix() - F).max()
        print(f"matrix of {k} reflections: {V} in {seconds:.3g} s, off by {off:.2g}")


PARTS = {"versor": versor}


if __name__ == "__main__":
    timing.run_parts(__doc__, PARTS, "numpy", "scipy")
