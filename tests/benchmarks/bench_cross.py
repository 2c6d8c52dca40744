"""Cross products and blades against NumPy and SciPy on the same matrices: ``python tests/benchmarks/bench_cross.py``.

A null vector of d-1 rows is also the last right singular vector of their SVD, which is what the paper's code computes.
Both sides run in this process, in turn unless a line says otherwise; a ratio is of medians; random Gaussian data; what
both compute is compared first. OPENBLAS_NUM_THREADS=1 is steadier: for 0.1 s after a call the threads of NumPy's
OpenBLAS still spin, and a call that follows shares the cores with them. ``--only`` takes some of the parts: subsets
(50 of r = 100, a loop of SVDs), large (d = 1000, 2000), batch (100,000 of d = 6), every (all subsets of points of R³
and R⁴, a loop over minors), walk (a loop of LU solves), inner (`slogdet`) and star (one QR; SVD).
"""

import math

import numpy as np
import scipy.linalg
from timing import alternate, fresh, hold, report, run_parts, seconds, steady

import clifford_rand as cr

FIRST_KERNEL_CALL = """
import time, numpy as np, clifford_rand as cr
A = np.random.default_rng(0).standard_normal((4000, 5, 6))
cr.cross(A[:10])
start = time.perf_counter()
cr.cross(A)
print(time.perf_counter() - start)
"""


def by_svd(X, index):
    return np.stack([np.linalg.svd(X[rows])[2][-1] for rows in index])


def subsets():
    """50 directions of r = 100 of a sketch of 2000 × 1536, as for 50 gates of a network: independent, by adjugates."""
    rng = np.random.default_rng(0)
    X, S = rng.standard_normal((2000, 1536)), cr.SJLT(100, 1536, rng=0)
    Y = X @ S.T
    index = np.array([rng.permutation(2000)[:99] for _ in range(50)])
    block = rng.permutation(2000)[:100][None]
    others = np.array([np.delete(block[0], i) for i in range(50)])
    for name, ours, rows, target in (
        ("independent", lambda: cr.cross_many(Y, index, normalize=True), index, 10),
        ("adjugate trick", lambda: cr.cross_simplex(Y, block).direction[0, :50], others, 200),
    ):

        def loop(rows=rows):
            return by_svd(Y, rows)

        title = f"50 directions, r = 100, {name}"
        first, directions = seconds(ours), ours()
        report(f"{title}, first call in the process", first, SVDs=seconds(loop))
        hold(np.allclose(np.abs(np.sum(directions * loop(), axis=1)), 1, rtol=1e-6), "the directions agree")
        residual = np.abs(np.einsum("bij,bj->bi", Y[rows], directions)).max()
        report(f"{title}, each in a row", steady(ours, 15), f"≥ {target} ×", SVDs=steady(loop, 15))
        mine, theirs = alternate([ours, loop], 9)
        report(f"{title}, in turn", mine, SVDs=theirs)
        mine, theirs = (steady(lambda work=work: (X @ S.T, work() @ S), 15) for work in (ours, loop))
        report("    with the sketch and the embedding, each in a row", mine, SVDs=theirs)
        print(f"    max |X[j] v| = {residual:.1e}")


def large():
    rng = np.random.default_rng(0)
    A, x = rng.standard_normal((999, 1000)), rng.standard_normal(1000)
    both = [lambda: cr.cross_log(A), lambda: np.linalg.svd(A, full_matrices=True)[2][-1]]
    report("cross_log, d = 1000, each in a row", steady(both[0], 15), "≥ 12", SVD=steady(both[1], 5))
    ours, theirs = alternate(both)
    report("cross_log, d = 1000, in turn", ours, "≥ 12", SVD=theirs)
    v, log_norm = cr.cross_log(A)
    sign, log_det = np.linalg.slogdet(np.vstack([x, A]))
    error = abs(np.log(abs(x @ v)) + log_norm - log_det) / abs(log_det)
    print(f"    max |A v| = {np.abs(A @ v).max():.1e}, ", end="")
    print(f"oriented as slogdet [x; A]: {np.sign(x @ v) == sign}, {error:.0e}")
    B = rng.standard_normal((1999, 2000))
    hold(abs(abs(cr.cross_log(B).direction @ scipy.linalg.null_space(B)[:, 0]) - 1) < 1e-9, "the null spaces agree")
    ours, theirs = steady(lambda: cr.cross_log(B), 5), steady(lambda: scipy.linalg.null_space(B), 3)
    report("one cross product, d = 2000, each in a row", ours, "≥ 12 ×", null_space=theirs)


def batch(m=100_000, d=6):
    A = np.random.default_rng(2).standard_normal((m, d - 1, d))
    (cold,), (warm,) = fresh(FIRST_KERNEL_CALL, repeats=2)
    print(f"kernel, first call: {float(cold):.2f} s with compilation (once per machine), {float(warm):.2f} s later")
    part = A[: m // 50]
    loop, stacked = (lambda: [np.linalg.svd(rows) for rows in part]), (lambda: np.linalg.svd(A)[2][:, -1])
    ours, once, whole = alternate([lambda: cr.cross_log(A), loop, stacked], 3)
    report(f"cross_log, {m} × d = {d}", ours, loop_of_SVDs=50 * once, stacked_SVD=whole)
    each = [f"{time / m * 1e9:.0f}" for time in (ours, 50 * once, whole)]
    print("    ns each: {}, SVDs in a loop {}, stacked {}".format(*each))


def minors(X, index):
    d = X.shape[1]
    columns = [X[rows].T for rows in index]
    return np.array([[(-1) ** i * np.linalg.det(np.delete(A, i, axis=0)) for i in range(d)] for A in columns])


def every():
    for n, d in ((500, 3), (60, 4)):
        X = np.random.default_rng(2).standard_normal((n, d))
        index = np.concatenate([chunk.subsets for chunk in cr.cross_all(X)])
        part = index[:: len(index) // 2000]
        hold(np.allclose(cr.cross_many(X, part), minors(X, part)), "the minors agree")
        ours, loop = alternate([lambda X=X: list(cr.cross_all(X)), lambda X=X, part=part: minors(X, part)])
        loop *= len(index) / len(part)  # a sample of the loop, which has no other cost
        report(f"all C({n}, {d - 1}) = {math.comb(n, d - 1)} products in R^{d}", ours, "≥ 100 ×", minors=loop)


def walk(n=1000, d=200, m=10_000):
    rng = np.random.default_rng(3)
    X, last, target = rng.standard_normal((n, d)), rng.standard_normal(d), np.eye(d)[-1]
    subset, index = rng.permutation(n)[: d - 1], np.empty((m, d - 1), dtype=int)
    for step in range(m):
        index[step] = subset
        outside = np.setdiff1d(np.arange(n), subset)
        subset = subset.copy()
        subset[rng.integers(d - 1)] = rng.choice(outside)
    some = index[::20]

    def solves():
        for rows in some:
            scipy.linalg.lu_solve(scipy.linalg.lu_factor(np.vstack([X[rows], last])), target)

    first, directions = seconds(lambda: cr.cross_walk(X, index)), cr.cross_walk(X, index).direction
    worst = max(np.abs(X[rows] @ v).max() for rows, v in zip(index, directions, strict=True))
    works = [lambda: cr.cross_walk(X, index), solves, lambda: [cr.cross_log(X[rows]) for rows in some]]
    ours, lu, alone = alternate(works, 5)
    report(f"walk of {m} products, d = {d}", ours, "≥ 6 ×", LU_solves=lu * 20, cross_log=alone * 20)
    print(f"    first call {first * 1e3:.1f} ms; worst |x·v| {worst:.1e} (target ≤ 1e-8)")


def inner(d=10_000, k=100):
    X, Y = np.random.default_rng(0).standard_normal((2, k, d))
    A, B = cr.Blade(X), cr.Blade(Y)
    (sign, log), (wanted_sign, wanted) = A.log_inner(B), np.linalg.slogdet(X @ Y.T)
    hold(sign == wanted_sign and abs(log - wanted) <= 1e-12 * abs(wanted), f"inner: {log}, slogdet {wanted}")
    ours, theirs = alternate([lambda: A.log_inner(B), lambda: np.linalg.slogdet(X @ Y.T)], 25)
    report(f"inner product, d = {d}, k = {k}", ours, "≤ 1.2 of slogdet", slogdet=theirs)


def star(d=2000):
    k = d - 2
    X = np.random.default_rng(1).standard_normal((k, d))
    dual = cr.Blade(X).star()
    residual = np.abs(X @ dual.factors.T).max()
    sign, log = np.linalg.slogdet(np.concatenate([dual.factors, X]))  # (star A) ∧ A = |A|² I
    size = np.linalg.slogdet(X @ X.T)[1]
    error = abs(log + dual.log_scale - size) / size
    hold(sign * dual.sign == 1 and max(error, residual) <= 1e-10, f"star: {error:.1e} {residual:.1e}")
    ours, qr = alternate([lambda: cr.Blade(X).star(), lambda: np.linalg.qr(X.T, mode="raw")], 3)
    svd = seconds(lambda: np.linalg.svd(X, full_matrices=True))
    report(f"star, d = {d}, k = {k}: two vectors", ours, "about one factorization", qr=qr, null_space_by_svd=svd)
    print(f"    max |X v| = {residual:.1e}; (star A) ∧ A = |A|² I: sign right, log-volume to {error:.0e}")


if __name__ == "__main__":
    works = (subsets, large, batch, every, walk, inner, star)
    run_parts(__doc__, {work.__name__: work for work in works}, "scipy", "numba")
