"""Many cross products at once: run by hand, ``python tests/benchmarks/bench_many.py``.

Independent sketched directions and the adjugate trick against the paper's loop of full SVDs; one large product against
`scipy.linalg.null_space`; every subset of points of R³ and R⁴ against a loop over minors; a walk against a loop of LU
solves. In turn, medians, random Gaussian data; what both sides compute is compared before it is timed.
"""

import math
from collections.abc import Callable

import numpy as np
import scipy.linalg
from timing import alternate, machine, report, seconds

import clifford_rand as cr


def in_a_row(work: Callable[[], object], repeats: int = 15) -> float:
    """Return the median time of calls that follow each other, after two of warm-up."""
    work(), work()
    return float(np.median([seconds(work) for _ in range(repeats)]))


def sketched_directions() -> None:
    """50 directions of r = 100 of a sketch of 2000 × 1536, each method in a row.

    The SVDs leave NumPy's BLAS threads spinning for 0.1 s, so a call right after them takes up to twice its time.
    """
    rng = np.random.default_rng(0)
    X, S = rng.standard_normal((2000, 1536)), cr.SJLT(100, 1536, rng=0)
    index = np.array([rng.permutation(2000)[:99] for _ in range(50)])
    block = rng.permutation(2000)[:100][None]
    others = np.array([np.delete(block[0], i) for i in range(50)])
    Y = X @ S.T

    def paper(Y: np.ndarray, subsets: np.ndarray) -> np.ndarray:
        return np.stack([np.linalg.svd(Y[rows])[2][-1] for rows in subsets])

    for name, ours, subsets, target in (
        ("independent", lambda: cr.cross_many(Y, index, normalize=True), index, 10),
        ("adjugate trick", lambda: cr.cross_simplex(Y, block).direction[0, :50], others, 200),
    ):
        assert np.allclose(np.abs(np.einsum("ij,ij->i", ours(), paper(Y, subsets))), 1, rtol=1e-6)
        loop = in_a_row(lambda subsets=subsets: paper(Y, subsets))
        report(f"50 directions, r = 100, {name}", in_a_row(ours), f"≥ {target} ×", SVDs=loop)
        embedded = in_a_row(lambda ours=ours: (X @ S.T, ours() @ S))
        report("    with the sketch and the embedding", embedded, SVDs=in_a_row(lambda: (X @ S.T, paper(Y, index) @ S)))


def one_large() -> None:
    A = np.random.default_rng(1).standard_normal((1999, 2000))
    v = cr.cross_log(A).direction
    w = scipy.linalg.null_space(A)[:, 0]
    assert abs(abs(v @ w) - 1) < 1e-9
    ours = sorted(seconds(lambda: cr.cross_log(A)) for _ in range(5))[2]
    theirs = sorted(seconds(lambda: scipy.linalg.null_space(A)) for _ in range(3))[1]
    report("one cross product, d = 2000", ours, "≥ 12 ×", null_space=theirs)


def minors(X: np.ndarray, subsets: np.ndarray) -> np.ndarray:
    d = X.shape[1]
    columns = [X[rows].T for rows in subsets]
    return np.array([[(-1) ** i * np.linalg.det(np.delete(A, i, axis=0)) for i in range(d)] for A in columns])


def every_subset() -> None:
    for n, d in ((500, 3), (60, 4)):
        X = np.random.default_rng(2).standard_normal((n, d))
        subsets = np.concatenate([chunk.subsets for chunk in cr.cross_all(X)])
        part = subsets[:: len(subsets) // 2000]
        assert np.allclose(cr.cross_many(X, part), minors(X, part))
        first = seconds(lambda X=X: list(cr.cross_all(X)))
        times = alternate([lambda X=X: list(cr.cross_all(X)), lambda X=X, part=part: minors(X, part)])
        loop = times[1] * len(subsets) / len(part)  # a sample of the loop, which has no other cost
        report(f"all C({n}, {d - 1}) = {math.comb(n, d - 1)} products in R^{d}", times[0], "≥ 100 ×", minors=loop)
        print(f"    first call {first * 1e3:.1f} ms")


def walk() -> None:
    rng = np.random.default_rng(3)
    n, d, m = 1000, 200, 10_000
    X = rng.standard_normal((n, d))
    subset = rng.permutation(n)[: d - 1]
    index = np.empty((m, d - 1), dtype=int)
    for step in range(m):
        index[step] = subset
        inside = np.zeros(n, dtype=bool)
        inside[subset] = True
        subset = subset.copy()
        subset[rng.integers(d - 1)] = rng.choice(np.flatnonzero(~inside))
    last = rng.standard_normal(d)

    def solves() -> None:
        target = np.eye(d)[-1]
        for rows in index[::20]:
            scipy.linalg.lu_solve(scipy.linalg.lu_factor(np.vstack([X[rows], last])), target)

    first = seconds(lambda: cr.cross_walk(X, index))
    found = cr.cross_walk(X, index)
    worst = max(np.abs(X[rows] @ v).max() for rows, v in zip(index, found.direction, strict=True))
    times = alternate(
        [lambda: cr.cross_walk(X, index), solves, lambda: [cr.cross_log(X[rows]) for rows in index[::20]]], 5
    )
    report(f"walk of {m} products, d = {d}", times[0], "≥ 6 ×", LU_solves=times[1] * 20, cross_log=times[2] * 20)
    print(f"    first call {first * 1e3:.1f} ms; worst |x·v| {worst:.1e} (target ≤ 1e-8)")


def main() -> None:
    sketched_directions()
    one_large()
    every_subset()
    walk()
    machine("scipy", "numba")


if __name__ == "__main__":
    main()
