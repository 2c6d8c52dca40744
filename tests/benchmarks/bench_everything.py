"""Every public function of the core against NumPy's nearest call: ``python tests/benchmarks/bench_everything.py``.

One row for each function, one column for each size: the time of ours over that of the call named beside it, both in
turn in this process, medians; with ``--seconds`` our time too. Sizes go from 10 to 10⁵ rows, or d = 3 to 16 for
multivectors; batches of 100 are compared with a loop of 100. ``--only blades cross`` takes some of the tables.
The compiled kernels are loaded first, as a program that works on for half a second has them; ``--fresh`` leaves that to
the library. OPENBLAS_NUM_THREADS=1 is steadier, and so is ``--cpu`` on a machine that others use.

Tables yield (function, the call beside it, our work, theirs) of one size.
"""

import importlib
import time
from functools import reduce
from itertools import combinations

import numpy as np
from numpy.linalg import inv, lstsq, norm, qr, slogdet, svd
from timing import alternate, chosen, machine, options, seconds

import clifford_rand as cr
from clifford_rand import Blade

COPIED = ["star", "star_right", "dual", "undual", "left_complement", "right_complement", "reverse", "involute"]
COPIED += ["conjugate", "even", "odd"]
PRODUCTS = ["wedge", "vee", "fat_dot", "hestenes", "lc", "rc", "commutator", "anticommutator"]


def normal(*shape):
    return np.random.default_rng(0).standard_normal(shape)


def versor(algebra):
    """Return a rotor that turns two planes."""
    vectors = [algebra.vector(x / norm(x)) for x in normal(4, algebra.d)]
    return reduce(lambda a, b: a * b, vectors).even()


def maps(d):
    """Linear maps and norms of one dense multivector."""
    A = cr.Algebra(d).random_multivector(rng=0)
    B, x = A + 1, A.coefficients
    y = np.array(B.coefficients)
    for name in COPIED:
        yield name, "copy", getattr(A, name), x.copy
    yield "cr.star(A)", "copy", lambda: cr.star(A), x.copy
    yield "grade(d//2)", "copy", lambda: A.grade(d // 2), x.copy
    yield "-A", "-x", lambda: -A, lambda: -x
    yield "2.0 * A", "2.0 * x", lambda: 2.0 * A, lambda: 2.0 * x
    yield "A + B", "x + y", lambda: A + B, lambda: x + y
    yield "norm", "linalg.norm", A.norm, lambda: norm(x)
    yield "norm_squared", "x @ x", A.norm_squared, lambda: x @ x
    yield "normalized", "x / norm", A.normalized, lambda: x / norm(x)
    yield "cr.inner(A, B)", "x @ y", lambda: cr.inner(A, B), lambda: x @ y


def helpers(d):
    """Other operations, against the geometric product of two dense multivectors, which they should not outlast."""
    algebra = cr.Algebra(d)
    A = algebra.random_multivector(rng=0)
    B, R, v = A + 1, versor(algebra), algebra.random_multivector(rng=0, shape=(), grades=1)
    plane = v ^ algebra.vector(np.ones(d))
    works = {name: lambda name=name: getattr(A, name)(B) for name in PRODUCTS}
    works |= {"cr.wedge(v, A)": lambda: cr.wedge(v, A), "R >> v": lambda: R >> v, "inv of a versor": R.inv}
    works |= {"exp of a plane": plane.exp, "rotor_between": lambda: cr.rotor_between(v, B.grade(1))}
    if d <= 10:
        works |= {"log of a rotor": R.log, "sqrt of a rotor": R.sqrt}
    if d <= 12:
        works["inv"] = A.inv
    for name, work in works.items():
        yield name, "A * B", work, lambda: A * B


def batches(d):
    """A batch of 100 against a loop over its elements."""
    if d > 14:
        return
    algebra = cr.Algebra(d)
    A = algebra.random_multivector(rng=0, shape=100)
    B, R, v = A + 1, versor(algebra), algebra.random_multivector(rng=0, shape=100, grades=1)
    planes = v ^ algebra.vector(np.ones(d))
    rotors = planes.exp()
    for name in ("gp", "wedge", "vee", "lc", "fat_dot", "commutator", "inner"):
        loop = lambda name=name: [getattr(a, name)(b) for a, b in zip(A, B, strict=True)]  # noqa: E731
        yield name, "loop", lambda name=name: getattr(A, name)(B), loop
    yield "R >> vectors", "loop", lambda: R >> v, lambda: [R >> x for x in v]
    yield "rotors >> vectors", "loop", lambda: rotors >> v, lambda: [r >> x for r, x in zip(rotors, v, strict=True)]
    functions = [(name, name, A) for name in ("star", "reverse", "left_complement", "norm", "normalized")]
    functions += [("exp of planes", "exp", planes), ("inv of rotors", "inv", rotors)]
    functions += [("log of 10 rotors", "log", rotors[:10])] if d <= 10 else []
    for title, name, batch in functions:
        loop = lambda name=name, batch=batch: [getattr(a, name)() for a in batch]  # noqa: E731
        yield title, "loop", getattr(batch, name), loop


def blades(k, d):
    """Blades by their vectors, made of the array each time."""
    X, Y = normal(2, k, d)
    yield "Blade", "copy", lambda: Blade(X), X.copy
    yield "log_norm", "slogdet of Gram", lambda: Blade(X).log_norm(), lambda: slogdet(X @ X.T)
    yield "norm", "slogdet of Gram", lambda: Blade(X).norm(), lambda: slogdet(X @ X.T)
    yield "cr.inner", "slogdet(X Yᵀ)", lambda: cr.inner(Blade(X), Blade(Y)), lambda: slogdet(X @ Y.T)
    if 2 * k <= d:
        yield "cr.wedge", "concatenate", lambda: cr.wedge(Blade(X), Blade(Y)), lambda: np.concatenate([X, Y])
    yield "orthonormalized", "qr", lambda: Blade(X).orthonormalized(), lambda: qr(X.T)
    yield "canonical", "qr", lambda: Blade(X).canonical(), lambda: qr(X.T)
    both = lambda: qr(np.concatenate([X, Y])[:d].T)  # noqa: E731
    yield "span", "qr of both", lambda: Blade(X).span(Blade(Y)), both
    yield "intersection", "qr of both", lambda: Blade(X).intersection(Blade(Y)), both
    yield "contains", "lstsq", lambda: Blade(X).contains(Y), lambda: lstsq(X.T, Y.T)
    cosines = lambda: svd(qr(X.T)[0].T @ qr(Y.T)[0], compute_uv=False)  # noqa: E731
    yield "principal_angles", "2 qr, svd", lambda: Blade(X).principal_angles(Blade(Y)), cosines
    if d <= 1000:
        yield "cr.star", "complete qr", lambda: cr.star(Blade(X)), lambda: qr(X.T, mode="complete")


def stacks(n):
    """Batches of small blades."""
    X = normal(n, 3, 10)
    yield "log_norm", "slogdet of Gram", lambda: Blade(X).log_norm(), lambda: slogdet(X @ X.swapaxes(-1, -2))
    yield "orthonormalized", "qr", lambda: Blade(X).orthonormalized(), lambda: qr(X.swapaxes(-1, -2))


def crosses(n):
    """Cross products in R³ by `numpy.cross`; beyond, against one LU factorization of as many matrices."""
    rng = np.random.default_rng(0)
    pairs, X, index = rng.standard_normal((n, 2, 3)), rng.standard_normal((n, 3)), rng.integers(0, n, (n, 2))
    few = rng.standard_normal((max(3, round((2 * n) ** 0.5)), 3))
    every = np.array(list(combinations(range(len(few)), 2)))

    def direction():
        v = np.cross(pairs[:, 0], pairs[:, 1])
        return v / norm(v, axis=1, keepdims=True)

    yield "cross", "np.cross", lambda: cr.cross(pairs), lambda: np.cross(pairs[:, 0], pairs[:, 1])
    yield "cross_log", "np.cross, norm", lambda: cr.cross_log(pairs), direction
    gathered = lambda: np.cross(X[index[:, 0]], X[index[:, 1]])  # noqa: E731
    yield "cross_many", "np.cross", lambda: cr.cross_many(X, index), gathered
    listed = lambda: np.cross(few[every[:, 0]], few[every[:, 1]])  # noqa: E731
    yield "cross_all", "np.cross", lambda: list(cr.cross_all(few)), listed
    for d in (6, 32) if n <= 1000 else (6,):
        A, M = rng.standard_normal((n, d - 1, d)), rng.standard_normal((n, d, d))
        X, index = M.reshape(-1, d), np.arange(n * d).reshape(n, d)
        near = np.tile(np.arange(d - 1), (n, 1))  # one row changes from each subset to the next
        near[:, -1] = d - 1 + np.arange(n) % d
        yield f"cross, d={d}", "slogdet", lambda A=A: cr.cross(A), lambda M=M: slogdet(M)
        simplex = lambda X=X, index=index: cr.cross_simplex(X, index)  # noqa: E731
        yield f"cross_simplex, d={d}", "inv", simplex, lambda M=M: inv(M)
        yield f"cross_walk, d={d}", "slogdet", lambda X=X, near=near: cr.cross_walk(X, near), lambda M=M: slogdet(M)


def sketches(n, r, d=512):
    """Sketches of the rows of a matrix, against the product with the dense matrix of the sketch."""
    X, V, wide = normal(n, d), normal(n, r), np.ascontiguousarray(normal(n, d).T)
    kinds = [cr.SJLT(r, d, rng=0), cr.SparseSign(r, d, s=2, rng=0), cr.SparseSign(r, d, rng=0), cr.SRHT(r, d, rng=0)]
    for S in (*kinds, cr.GaussianSketch(r, d, rng=0), cr.LeverageSampling(np.ones(d), r, rng=0)):
        dense, name = S.toarray(), type(S).__name__ + (f", s={S.s}" if hasattr(S, "s") else "")
        yield name, "X @ dense.T", lambda S=S: X @ S.T, lambda dense=dense: X @ dense.T
        yield name + ", V @ S", "V @ dense", lambda S=S: V @ S, lambda dense=dense: V @ dense
        yield name + ", S @ x", "dense @ x", lambda S=S: S @ wide, lambda dense=dense: dense @ wide


def sketched(d):
    """What is computed with sketches, for ten vectors of R^d, against the same by dense matrices or without sketch."""
    A, B = normal(2, 10, d)
    X, T = normal(100, d), np.ascontiguousarray(A.T)
    S, G, short = cr.SJLT(40, d, rng=0), cr.GaussianSketch(40, d, rng=0), cr.SJLT(11, d, rng=0)
    M, M_short = S.toarray(), short.toarray()
    pair = lambda: slogdet((A @ M.T) @ (B @ M.T).T)  # noqa: E731
    yield "sketched_inner", "slogdet, dense", lambda: cr.sketched_inner(A, B, S), pair
    yield "sketched_volume", "slogdet of Gram", lambda: cr.sketched_volume(A, G, n_repeats=1), lambda: slogdet(A @ A.T)
    yield "sketched_wedge", "dense", lambda: cr.sketched_wedge(A, S), lambda: A @ M.T
    yield "sketched_star", "dense, qr", lambda: cr.sketched_star(A, S), lambda: qr((A @ M.T).T, mode="complete")
    yield "sketched_cross", "dense, svd", lambda: cr.sketched_cross(A, short), lambda: svd(A @ M_short.T)
    yield "nearest_to_span", "lstsq", lambda: cr.nearest_to_span(X, A, S), lambda: lstsq(A.T, X.T)
    yield "sketched_leverage_scores", "qr", lambda: cr.sketched_leverage_scores(T, S), lambda: qr(T)
    yield "leverage_scores", "qr", lambda: cr.leverage_scores(T), lambda: qr(T)
    yield "volume_sample, 10 × 5", "qr", lambda: cr.volume_sample(T, 5, size=10, rng=0), lambda: qr(T)
    yield "haar_blade", "qr of normal", lambda: cr.haar_blade(10, d, rng=0), lambda: qr(normal(d, 10))


def rotations(d):
    """Random rotations."""
    yield "random_rotation", "qr of normal", lambda: cr.random_rotation(d, rng=0), lambda: qr(normal(d, d))


DIMENSIONS = [(d,) for d in (3, 6, 8, 10, 12, 14, 16)]
ROWS = [(10,), (100,), (1000,), (10_000,), (100_000,)]
BLADES = [(2, 3), (3, 10), (10, 100), (30, 1000), (100, 10_000), (10, 100_000)]
SKETCHES = [(10, 64), (100, 64), (1000, 64), (20_000, 64), (20_000, 256)]
TABLES = {  # the parts of a table: its cases, the name of a size, and the sizes
    "maps": [(maps, "d={}", DIMENSIONS)],
    "helpers": [(helpers, "d={}", DIMENSIONS)],
    "batches": [(batches, "d={}", DIMENSIONS)],
    "blades": [(blades, "{}×{}", BLADES), (stacks, "{}×3×10", [(10_000,)])],
    "cross": [(crosses, "{}", ROWS)],
    "sketches": [(sketches, "{}→{}", SKETCHES)],
    "sketched": [(sketched, "10×{}", ROWS[1:]), (rotations, "d={}", [(3,), (10,), (100,), (1000,)])],
}


def measured(ours, theirs, clock):
    """Return our time and theirs: medians in turn, of calls that fill a millisecond."""
    ours(), theirs()
    once = max(seconds(ours), seconds(theirs))
    calls = max(1, min(1000, round(1e-3 / once)))
    return alternate([ours, theirs], 9 if once < 0.05 else 3, calls, clock)


def show(title, largest, with_seconds, clock):
    """Print one table."""
    rows, sizes = {}, []
    for table, label, listed in TABLES[title]:
        for size in listed:
            if max(size) <= largest:
                sizes.append(label.format(*size))
                for name, peer, *works in table(*size):
                    ours, theirs = measured(*works, clock)
                    text = f"{ours / theirs:.2f}" + (f" {ours * 1e6:.0f}µs" if with_seconds else "")
                    rows.setdefault((name, peer), {})[sizes[-1]] = text
    width = 16 if with_seconds else 11
    print(f"\n{title}: time of ours / of the peer")
    print(f"{'':<26}{'peer':<17}" + "".join(f"{size:>{width}}" for size in sizes))
    for (name, peer), row in rows.items():
        print(f"{name:<26}{peer:<17}" + "".join(f"{row.get(size, ''):>{width}}" for size in sizes), flush=True)


def main():
    largest = (100_000, "rows or dimensions of the largest arrays")
    args = options(__doc__, only=chosen(TABLES), largest=largest, seconds=False, cpu=False, fresh=False)
    if not args.fresh:
        for kernels in ("plans.kernels", "crossproduct.null_vectors"):
            importlib.import_module(f"clifford_rand.{kernels}")
    for title in args.only:
        show(title, args.largest, args.seconds, time.process_time if args.cpu else time.perf_counter)
    machine("scipy")


if __name__ == "__main__":
    main()
