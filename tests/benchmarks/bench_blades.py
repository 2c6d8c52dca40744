"""Blades by their vectors against NumPy on the same matrices: run by hand, ``python tests/benchmarks/bench_blades.py``.

No other library keeps a blade as its vectors, so the peer is what one would write with NumPy. Both sides in turn in
this process, medians; random Gaussian data. OPENBLAS_NUM_THREADS=1 is steadier.
"""

import sys

import numpy as np
from timing import alternate, machine, report, seconds

import clifford_rand as cr


def inner_products(d: int = 10_000, k: int = 100) -> None:
    X, Y = np.random.default_rng(0).standard_normal((2, k, d))
    A, B = cr.Blade(X), cr.Blade(Y)
    first = seconds(lambda: A.log_inner(B))
    found, wanted = A.log_inner(B), np.linalg.slogdet(X @ Y.T)
    if found[0] != wanted[0] or not abs(found[1] - wanted[1]) <= 1e-12 * abs(wanted[1]):
        sys.exit(f"inner: {found}, but slogdet {wanted}; nothing is compared")
    ours, theirs = alternate([lambda: A.log_inner(B), lambda: np.linalg.slogdet(X @ Y.T)], 25)
    report(f"inner product, d = {d}, k = {k}", ours, f"≤ 1.2 of slogdet: {ours / theirs:.2f}", slogdet=theirs)
    both = alternate([lambda: cr.Blade(X).log_inner(cr.Blade(Y)), lambda: np.linalg.slogdet(X @ Y.T)], 25)
    report("    with making both blades of arrays", both[0], slogdet=both[1])
    mixed = cr.Algebra(d // 2, d - d // 2)
    A, B = cr.Blade(X, mixed), cr.Blade(Y, mixed)
    signs = np.repeat([1.0, -1.0], [d // 2, d - d // 2])
    ours, theirs = alternate([lambda: A.log_inner(B), lambda: np.linalg.slogdet((X * signs) @ Y.T)], 25)
    report("    in an indefinite metric", ours, slogdet=theirs)
    report("    first call in the process", first)
    ours, theirs = alternate([lambda: cr.Blade(X).log_norm(), lambda: np.linalg.slogdet(X @ X.T)], 9)
    report("log-norm by QR, with the test for zero", ours, slogdet=theirs)


def stars(d: int = 2000) -> None:
    k = d - 2
    X = np.random.default_rng(1).standard_normal((k, d))

    def star() -> cr.Blade:
        return cr.Blade(X).star()

    def by_svd() -> np.ndarray:
        return np.linalg.svd(X, full_matrices=True)[2][k:]

    found = star()
    residual = np.abs(X @ found.factors.T).max()
    sign, log = np.linalg.slogdet(np.concatenate([found.factors, X]))  # (star A) ∧ A = |A|² I
    size = np.linalg.slogdet(X @ X.T)[1]
    error = abs(log + found.log_scale - size) / size
    if sign * found.sign != 1 or not error <= 1e-10 or not residual <= 1e-10:
        sys.exit(f"star: sign {sign * found.sign}, log off by {error:.1e}, residual {residual:.1e}")
    ours, theirs = alternate([star, lambda: np.linalg.qr(X.T, mode="raw")], 3)
    report(f"star, d = {d}, k = {k}: two vectors", ours, "about one factorization", qr=theirs)
    report("    against a null space by SVD, no sign or size", ours, svd=seconds(by_svd))
    print(f"    max |X v| = {residual:.1e}; (star A) ∧ A = |A|² I: sign right, log-volume to {error:.0e}")


def main() -> None:
    inner_products()
    stars()
    machine("scipy")


if __name__ == "__main__":
    main()
