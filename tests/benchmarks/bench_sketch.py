"""Sketches of 50,000 × 1536 float32 rows to r = 1000 columns: run by hand, ``python tests/benchmarks/bench_sketch.py``.

`SJLT` against SciPy's Clarkson-Woodruff transform and scikit-learn's sparse random projection, `SRHT` against the
product with a dense Gaussian matrix, which is what `GaussianSketch` does. All run in this process, in turn; times are
medians after one warm-up. The peers are called as their documents say: SciPy's sketches the rows of a matrix, so it
gets X.T, and its hashing matrix is drawn in the call, as it offers no other way; the time of a product with the drawn
matrix alone stands beside it. Peak memory is that of one call, its result of 191 MiB included.
"""

import numpy as np
import scipy.linalg
import scipy.sparse
from timing import alternate, machine, need, peak_mib, report, seconds

import clifford_rand as cr

N, D, R = 50_000, 1536, 1000


def sparse_maps(X):
    need("sklearn")
    from sklearn.random_projection import SparseRandomProjection

    S = cr.SJLT(R, D, rng=0)
    print(f"first call, kernel loaded from its cache or compiled: {seconds(lambda: X @ S.T):.2f} s")
    peer = SparseRandomProjection(R, random_state=0).fit(X[:1])
    drawn = scipy.sparse.csc_array(S.toarray(np.float32))
    works = [
        lambda: X @ S.T,
        lambda: scipy.linalg.clarkson_woodruff_transform(X.T, R, seed=0),
        lambda: drawn @ X.T,
        lambda: peer.transform(X),
    ]
    ours, transform, product, projection = alternate(works, 3)
    names = {"SciPy": transform, "its product alone": product, "scikit-learn": projection}
    report("X @ SJLT.T, s = 1", ours, "> 1", **names)
    eight = cr.SparseSign(R, D, s=8, rng=0)
    ours, projection = alternate([lambda: X @ eight.T, works[3]], 3)
    report("X @ SparseSign.T, s = 8", ours, **{"scikit-learn": projection})
    memory = [peak_mib(work) for work in works]
    print("    peak MiB: ours {:.0f}, SciPy {:.0f}, its product {:.0f}, scikit-learn {:.0f}".format(*memory))
    error = np.abs((drawn @ X[:500].T).T - X[:500] @ S.T).max()
    print(f"    largest difference to SciPy's product with the same matrix: {error:.0e}")


def hadamard(X):
    S, G = cr.SRHT(R, D, rng=0), cr.GaussianSketch(R, D, rng=0).toarray(np.float32)
    print(f"first call, kernel loaded from its cache or compiled: {seconds(lambda: X @ S.T):.2f} s")
    ours, dense = alternate([lambda: X @ S.T, lambda: X @ G.T], 3)
    report("X @ SRHT.T", ours, "≥ 3", **{"Gaussian GEMM": dense})
    print(f"    peak MiB: ours {peak_mib(lambda: X @ S.T):.0f}")
    error = np.abs(X[:500] @ S.toarray().T - X[:500] @ S.T).max()
    print(f"    largest difference to the dense product in float64: {error:.0e}")


def main():
    X = np.random.default_rng(0).standard_normal((N, D), dtype=np.float32)
    sparse_maps(X)
    hadamard(X)
    machine("scipy", "numba", "scikit-learn")


if __name__ == "__main__":
    main()
