"""Every public function of the core against NumPy's nearest call: ``python tests/benchmarks/bench_everything.py``.

One row for each function, one column for each size: the time of ours over that of the call named beside it, both in
turn in this process, medians; with ``--seconds`` our time too. Sizes go from 10 to 10⁵ rows, or d = 3 to 16 for
multivectors; batches of 100 are compared with a loop of 100. ``--only blades cross`` takes some of the tables.
The compiled kernels are loaded first, as a program that works on for half a second has them; ``--fresh`` leaves that to
the library. OPENBLAS_NUM_THREADS=1 is steadier, and so is ``--cpu`` on a machine that others use.
"""

import importlib
import time
from collections.abc import Callable, Iterator
from functools import reduce
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from timing import alternate, machine, options, seconds

import clifford_rand as cr

Work = Callable[[], Any]


class Case(NamedTuple):
    """One function at one size, and what it is compared with."""

    name: str
    peer: str
    size: str
    ours: Work
    theirs: Work


def _rng() -> np.random.Generator:
    return np.random.default_rng(0)


def _versor(algebra: cr.Algebra) -> cr.Multivector:
    """Return a rotor that turns two planes."""
    vectors = [algebra.vector(x / np.linalg.norm(x)) for x in _rng().standard_normal((4, algebra.d))]
    product: cr.Multivector = reduce(lambda a, b: a * b, vectors)
    return product.even()


def _qr(X: Any) -> Any:
    return np.linalg.qr(X.swapaxes(-1, -2))


# ---- multivectors

_COPIED = ["star", "star_right", "dual", "undual", "left_complement", "right_complement", "reverse", "involute"]
_COPIED += ["conjugate", "even", "odd"]
_PRODUCTS = ["wedge", "vee", "fat_dot", "hestenes", "lc", "rc", "commutator", "anticommutator"]


def maps(d: int) -> Iterator[Case]:
    """Linear maps and norms of one dense multivector."""
    A = cr.Algebra(d).random_multivector(0)
    B, x, size = A + 1, A.coefficients, f"d={d}"
    y = np.array(B.coefficients)
    for name in _COPIED:
        yield Case(name, "copy", size, getattr(A, name), x.copy)
    yield Case("cr.star(A)", "copy", size, lambda: cr.star(A), x.copy)
    yield Case("grade(d//2)", "copy", size, lambda: A.grade(d // 2), x.copy)
    yield Case("-A", "-x", size, lambda: -A, lambda: -x)
    yield Case("2.0 * A", "2.0 * x", size, lambda: 2.0 * A, lambda: 2.0 * x)
    yield Case("A + B", "x + y", size, lambda: A + B, lambda: x + y)
    yield Case("norm", "linalg.norm", size, A.norm, lambda: np.linalg.norm(x))
    yield Case("norm_squared", "x @ x", size, A.norm_squared, lambda: x @ x)
    yield Case("normalized", "x / norm", size, A.normalized, lambda: x / np.linalg.norm(x))
    yield Case("cr.inner(A, B)", "x @ y", size, lambda: cr.inner(A, B), lambda: x @ y)


def helpers(d: int) -> Iterator[Case]:
    """Other operations, against the geometric product of two dense multivectors, which they should not outlast."""
    algebra = cr.Algebra(d)
    A, size = algebra.random_multivector(0), f"d={d}"
    B, R, v = A + 1, _versor(algebra), algebra.random_multivector(0, (), 1)
    plane = v ^ algebra.vector(np.ones(d))

    def product() -> Any:
        return A * B

    def operation(name: str) -> Case:
        return Case(name, "A * B", size, lambda: getattr(A, name)(B), product)

    yield from map(operation, _PRODUCTS)
    yield Case("cr.wedge(v, A)", "A * B", size, lambda: cr.wedge(v, A), product)
    yield Case("R >> v", "A * B", size, lambda: R >> v, product)
    yield Case("inv of a versor", "A * B", size, R.inv, product)
    yield Case("exp of a plane", "A * B", size, plane.exp, product)
    yield Case("rotor_between", "A * B", size, lambda: cr.rotor_between(v, B.grade(1)), product)
    if d <= 10:
        yield Case("log of a rotor", "A * B", size, R.log, product)
        yield Case("sqrt of a rotor", "A * B", size, R.sqrt, product)
    if d <= 12:
        yield Case("inv", "A * B", size, A.inv, product)


def batches(d: int) -> Iterator[Case]:
    """A batch of 100 against a loop over its elements."""
    if d > 14:
        return
    algebra = cr.Algebra(d)
    A, size = algebra.random_multivector(0, 100), f"d={d}"
    B, R, v = A + 1, _versor(algebra), algebra.random_multivector(0, 100, 1)
    planes = v ^ algebra.vector(np.ones(d))
    rotors = planes.exp()
    few = rotors[:10]

    def product(name: str) -> Case:
        return Case(
            name,
            "loop",
            size,
            lambda: getattr(A, name)(B),
            lambda: [getattr(a, name)(b) for a, b in zip(A, B, strict=True)],
        )

    def function(name: str, batch: Any = A, title: str = "") -> Case:
        return Case(title or name, "loop", size, getattr(batch, name), lambda: [getattr(a, name)() for a in batch])

    yield from map(product, ["gp", "wedge", "vee", "lc", "fat_dot", "commutator", "inner"])
    yield from map(function, ["star", "reverse", "left_complement", "norm", "normalized"])
    yield Case("R >> vectors", "loop", size, lambda: R >> v, lambda: [R >> x for x in v])
    each: Work = lambda: [r >> x for r, x in zip(rotors, v, strict=True)]  # noqa: E731
    yield Case("rotors >> vectors", "loop", size, lambda: rotors >> v, each)
    yield function("exp", planes, "exp of planes")
    yield function("inv", rotors, "inv of rotors")
    if d <= 10:
        yield function("log", few, "log of 10 rotors")


# ---- blades, cross products


def blades(k: int, d: int) -> Iterator[Case]:
    """Blades by their vectors, made of the array each time."""
    X, Y = _rng().standard_normal((2, k, d))
    size = f"{k}×{d}"
    gram = Case("log_norm", "slogdet of Gram", size, lambda: cr.Blade(X).log_norm(), lambda: np.linalg.slogdet(X @ X.T))
    yield Case("Blade", "copy", size, lambda: cr.Blade(X), X.copy)
    yield gram
    yield gram._replace(name="norm", ours=lambda: cr.Blade(X).norm())
    product: Work = lambda: np.linalg.slogdet(X @ Y.T)  # noqa: E731
    yield Case("cr.inner", "slogdet(X Yᵀ)", size, lambda: cr.inner(cr.Blade(X), cr.Blade(Y)), product)
    if 2 * k <= d:
        stacked: Work = lambda: np.concatenate([X, Y])  # noqa: E731
        yield Case("cr.wedge", "concatenate", size, lambda: cr.wedge(cr.Blade(X), cr.Blade(Y)), stacked)
    yield Case("orthonormalized", "qr", size, lambda: cr.Blade(X).orthonormalized(), lambda: _qr(X))
    yield Case("canonical", "qr", size, lambda: cr.Blade(X).canonical(), lambda: _qr(X))
    both: Work = lambda: _qr(np.concatenate([X, Y])[:d])  # noqa: E731
    yield Case("join", "qr of both", size, lambda: cr.Blade(X).join(cr.Blade(Y)), both)
    yield Case("meet", "qr of both", size, lambda: cr.Blade(X).meet(cr.Blade(Y)), both)
    solved: Work = lambda: np.linalg.lstsq(X.T, Y.T)  # noqa: E731
    yield Case("contains", "lstsq", size, lambda: cr.Blade(X).contains(Y), solved)
    angles: Work = lambda: np.linalg.svd(_qr(X)[0].T @ _qr(Y)[0], compute_uv=False)  # noqa: E731
    yield Case("principal_angles", "2 qr, svd", size, lambda: cr.Blade(X).principal_angles(cr.Blade(Y)), angles)
    if d <= 1000:
        whole: Work = lambda: np.linalg.qr(X.T, mode="complete")  # noqa: E731
        yield Case("cr.star", "complete qr", size, lambda: cr.star(cr.Blade(X)), whole)


def stacks(n: int) -> Iterator[Case]:
    """Batches of small blades."""
    X, size = _rng().standard_normal((n, 3, 10)), f"{n}×3×10"
    gram: Work = lambda: np.linalg.slogdet(X @ X.swapaxes(-1, -2))  # noqa: E731
    yield Case("log_norm", "slogdet of Gram", size, lambda: cr.Blade(X).log_norm(), gram)
    yield Case("orthonormalized", "qr", size, lambda: cr.Blade(X).orthonormalized(), lambda: _qr(X))


def crosses(n: int) -> Iterator[Case]:
    """Cross products in R³ by `numpy.cross`; beyond, against one LU factorization of as many matrices."""
    pairs, X, index = _rng().standard_normal((n, 2, 3)), _rng().standard_normal((n, 3)), _rng().integers(0, n, (n, 2))
    few = _rng().standard_normal((max(3, round((2 * n) ** 0.5)), 3))
    every = np.array(list(combinations(range(len(few)), 2)))

    def direction() -> Any:
        v = np.cross(pairs[:, 0], pairs[:, 1])
        return v / np.linalg.norm(v, axis=1, keepdims=True)

    yield Case("cross", "np.cross", str(n), lambda: cr.cross(pairs), lambda: np.cross(pairs[:, 0], pairs[:, 1]))
    yield Case("cross_log", "np.cross, norm", str(n), lambda: cr.cross_log(pairs), direction)
    gathered: Work = lambda: np.cross(X[index[:, 0]], X[index[:, 1]])  # noqa: E731
    yield Case("cross_many", "np.cross", str(n), lambda: cr.cross_many(X, index), gathered)
    listed: Work = lambda: np.cross(few[every[:, 0]], few[every[:, 1]])  # noqa: E731
    yield Case("cross_all", "np.cross", str(n), lambda: list(cr.cross_all(few)), listed)
    yield from _crosses(n, 6)
    if n <= 1000:
        yield from _crosses(n, 32)


def _crosses(n: int, d: int) -> Iterator[Case]:
    A, M = _rng().standard_normal((n, d - 1, d)), _rng().standard_normal((n, d, d))
    X, index = M.reshape(-1, d), np.arange(n * d).reshape(n, d)
    near = np.tile(np.arange(d - 1), (n, 1))  # one row changes from each subset to the next
    near[:, -1] = d - 1 + np.arange(n) % d
    title = f", d={d}"
    yield Case("cross" + title, "slogdet", str(n), lambda: cr.cross(A), lambda: np.linalg.slogdet(M))
    yield Case("cross_simplex" + title, "inv", str(n), lambda: cr.cross_simplex(X, index), lambda: np.linalg.inv(M))
    yield Case("cross_walk" + title, "slogdet", str(n), lambda: cr.cross_walk(X, near), lambda: np.linalg.slogdet(M))


# ---- sketches and sampling


def sketches(n: int, r: int, d: int = 512) -> Iterator[Case]:
    """Sketches of the rows of a matrix, against the product with the dense matrix of the sketch."""
    X, V, size = _rng().standard_normal((n, d)), _rng().standard_normal((n, r)), f"{n}→{r}"
    wide = np.ascontiguousarray(X.T)

    def kind(S: Any) -> Iterator[Case]:
        dense, name = S.toarray(), type(S).__name__ + (f", s={S.s}" if hasattr(S, "s") else "")
        yield Case(name, "X @ dense.T", size, lambda: X @ S.T, lambda: X @ dense.T)
        yield Case(name + ", V @ S", "V @ dense", size, lambda: V @ S, lambda: V @ dense)
        yield Case(name + ", S @ x", "dense @ x", size, lambda: S @ wide, lambda: dense @ wide)

    yield from kind(cr.SJLT(r, d, rng=0))
    yield from kind(cr.SparseSign(r, d, s=2, rng=0))
    yield from kind(cr.SparseSign(r, d, rng=0))
    yield from kind(cr.SRHT(r, d, rng=0))
    yield from kind(cr.GaussianSketch(r, d, rng=0))
    yield from kind(cr.LeverageSampling(np.ones(d), r, rng=0))


def sketched(d: int) -> Iterator[Case]:
    """What is computed with sketches, for ten vectors of R^d, against the same by dense matrices or without sketch."""
    A, B = _rng().standard_normal((2, 10, d))
    X, T, size = _rng().standard_normal((100, d)), np.ascontiguousarray(A.T), f"10×{d}"
    S, G, short = cr.SJLT(40, d, rng=0), cr.GaussianSketch(40, d, rng=0), cr.SJLT(11, d, rng=0)
    M, M_short = S.toarray(), short.toarray()
    pair: Work = lambda: np.linalg.slogdet((A @ M.T) @ (B @ M.T).T)  # noqa: E731
    yield Case("sketched_inner", "slogdet, dense", size, lambda: cr.sketched_inner(A, B, S), pair)
    gram: Work = lambda: np.linalg.slogdet(A @ A.T)  # noqa: E731
    yield Case("sketched_volume", "slogdet of Gram", size, lambda: cr.sketched_volume(A, G, repeats=1), gram)
    yield Case("sketched_wedge", "dense", size, lambda: cr.sketched_wedge(A, S), lambda: A @ M.T)
    whole: Work = lambda: np.linalg.qr((A @ M.T).T, mode="complete")  # noqa: E731
    yield Case("sketched_star", "dense, qr", size, lambda: cr.sketched_star(A, S), whole)
    null: Work = lambda: np.linalg.svd(A @ M_short.T)  # noqa: E731
    yield Case("sketched_cross", "dense, svd", size, lambda: cr.sketched_cross(A, short), null)
    solved: Work = lambda: np.linalg.lstsq(A.T, X.T)  # noqa: E731
    yield Case("nearest_to_span", "lstsq", size, lambda: cr.nearest_to_span(X, A, S), solved)
    qr: Work = lambda: np.linalg.qr(T)  # noqa: E731
    yield Case("sketched_leverage_scores", "qr", size, lambda: cr.sketched_leverage_scores(T, S), qr)
    yield Case("leverage_scores", "qr", size, lambda: cr.leverage_scores(T), qr)
    yield Case("volume_sample, 10 × 5", "qr", size, lambda: cr.volume_sample(T, 5, 10, rng=0), qr)
    drawn: Work = lambda: np.linalg.qr(_rng().standard_normal((d, 10)))  # noqa: E731
    yield Case("haar_blade", "qr of normal", size, lambda: cr.haar_blade(10, d, rng=0), drawn)


def rotations(d: int) -> Iterator[Case]:
    """Random rotations."""
    square: Work = lambda: np.linalg.qr(_rng().standard_normal((d, d)))  # noqa: E731
    yield Case("random_rotation", "qr of normal", f"d={d}", lambda: cr.random_rotation(d, rng=0), square)


_DIMENSIONS = [(d,) for d in (3, 6, 8, 10, 12, 14, 16)]
_ROWS = [(10,), (100,), (1000,), (10_000,), (100_000,)]
TABLES: dict[str, list[tuple[Callable[..., Iterator[Case]], list[tuple[int, ...]]]]] = {
    "maps": [(maps, _DIMENSIONS)],
    "helpers": [(helpers, _DIMENSIONS)],
    "batches": [(batches, _DIMENSIONS)],
    "blades": [
        (blades, [(2, 3), (3, 10), (10, 100), (30, 1000), (100, 10_000), (10, 100_000)]),
        (stacks, [(10_000,)]),
    ],
    "cross": [(crosses, _ROWS)],
    "sketches": [(sketches, [(10, 64), (100, 64), (1000, 64), (20_000, 64), (20_000, 256)])],
    "sketched": [(sketched, _ROWS[1:]), (rotations, [(3,), (10,), (100,), (1000,)])],
}


def measured(case: Case, clock: Callable[[], float]) -> tuple[float, float]:
    """Return our time and theirs: medians in turn, of calls that fill a millisecond."""
    case.ours(), case.theirs()
    once = max(seconds(case.ours), seconds(case.theirs))
    calls = max(1, min(1000, round(1e-3 / once)))
    ours, theirs = alternate([case.ours, case.theirs], 9 if once < 0.05 else 3, calls, clock)
    return ours, theirs


def show(title: str, cases: Iterator[Case], with_seconds: bool, clock: Callable[[], float]) -> None:
    """Print one table."""
    rows: dict[tuple[str, str], dict[str, str]] = {}
    sizes: list[str] = []
    for case in cases:
        ours, theirs = measured(case, clock)
        if case.size not in sizes:
            sizes.append(case.size)
        text = f"{ours / theirs:.2f}" + (f" {ours * 1e6:.0f}µs" if with_seconds else "")
        rows.setdefault((case.name, case.peer), {})[case.size] = text
    width = 16 if with_seconds else 11
    print(f"\n{title}: time of ours / of the peer")
    print(f"{'':<26}{'peer':<17}" + "".join(f"{size:>{width}}" for size in sizes))
    for (name, peer), found in rows.items():
        print(f"{name:<26}{peer:<17}" + "".join(f"{found.get(size, ''):>{width}}" for size in sizes), flush=True)


def main() -> None:
    given = options(
        "Every public function of the core against NumPy's nearest call.",
        only=(list(TABLES), {"choices": TABLES}),
        largest=(100_000, "rows or dimensions of the largest arrays"),
        seconds=(False, "print our times beside the ratios"),
        cpu=(False, "compare CPU time, where others use the machine"),
        fresh=(False, "do not load the compiled kernels beforehand"),
    )
    if not given.fresh:
        for kernel in ("bilinear", "null_vectors"):
            importlib.import_module(f"clifford_rand.kernels.{kernel}")
    for name in given.only:
        cases = (
            case
            for table, sizes in TABLES[name]
            for size in sizes
            if max(size) <= given.largest
            for case in table(*size)
        )
        show(name, cases, given.seconds, time.process_time if given.cpu else time.perf_counter)
    machine("scipy")


if __name__ == "__main__":
    main()
