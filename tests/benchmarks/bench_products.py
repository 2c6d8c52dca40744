"""Products against clifford, kingdon and gasparse: run by hand, ``python tests/benchmarks/bench_products.py``.

All in this process, in turn; a ratio is of medians, after one warm-up. First calls (plans, tables, compiled or
generated code) and peak memory stand apart where they matter. Every peer's result is compared with ours before it is
timed. kingdon runs its generated NumPy code on one array for each blade: in numba.njit it was two to four times slower.
``--only`` takes some of the parts: start is import and first product of fresh processes, whose NUMBA_CACHE_DIR is
empty; sandwich is R X R⁻¹ of one rotor and 10⁶ vectors, by ``R >> X`` on both sides; crossover is table against
transform, beside the cost model of plans/cost_model.py.
"""

import sys

import numpy as np
from timing import agree, alternate, fresh, need, peak_mib, report, run_parts, seconds, steady, timed

import clifford_rand as cr
from clifford_rand.basis.keys import dense_keys
from clifford_rand.basis.rules import is_odd_swap
from clifford_rand.plans.cost_model import TransformPlan, choose, table_seconds, transform_seconds
from clifford_rand.plans.table_plan import TablePlan

MILLION = 1_000_000
FIRST_PRODUCT = """
import sys, time; start = time.perf_counter()
if sys.argv[1] == "ours":
    import clifford_rand as cr
    make = cr.Algebra(3).multivector
elif sys.argv[1] == "clifford":
    import clifford
    make = clifford.Cl(3)[0].MultiVector
else:
    import numpy; make = float
A = make([1.0, 2, 3, 4, 5, 6, 7, 8]) if make is not float else 1.0
C = A * A
print(time.perf_counter() - start, getattr(C, "values", getattr(C, "value", C)))
"""


def start(rounds=5):
    need("clifford")
    names, wholes, insides, products = ("ours", "clifford", "numpy"), [], [], {}
    for name in names:
        fresh(FIRST_PRODUCT, name)  # byte code and file cache
    for _ in range(rounds):
        processes = {name: timed(lambda name=name: fresh(FIRST_PRODUCT, name)[0]) for name in names}
        wholes.append([wall for _, wall, _ in processes.values()])
        insides.append([float(words[0]) for words, _, _ in processes.values()])
        products = {name: words[1:] for name, (words, _, _) in processes.items()}
    if products["ours"] != products["clifford"]:
        sys.exit(f"clifford's product differs: {products}")
    (ours, theirs, _), (ours_whole, theirs_whole, numpy_alone) = np.median(insides, axis=0), np.median(wholes, axis=0)
    report("import and first Cl(3) product", ours, "≤ 0.5 s", clifford=theirs)
    report("    the whole process", ours_whole, "≥ 5", clifford=theirs_whole, one_that_imports_NumPy=numpy_alone)


def small():
    """One product of two dense multivectors of Cl(3)."""
    clifford, kingdon = need("clifford", "kingdon")
    a, b = np.random.default_rng(0).standard_normal((2, 8))
    alg, layout, other = cr.Algebra(3), clifford.Cl(3)[0], kingdon.Algebra(3, 0, 0)
    A, B = alg.multivector(a), alg.multivector(b)
    C, D = layout.MultiVector(a), layout.MultiVector(b)
    E, F = other.multivector(values=a.tolist()), other.multivector(values=b.tolist())
    agree((A * B).values, (C * D).value, 1e-14, "clifford")
    agree((A * B).values, np.array((E * F).values()), 1e-14, "kingdon")
    ours, theirs, others = alternate([lambda: A * B, lambda: C * D, lambda: E * F], calls=2000)
    report("one product, Cl(3)", ours, "≤ 8 µs", clifford=theirs, kingdon=others)


def thousand(n=1000):
    """A thousand full products of Cl(5)."""
    clifford, gasparse = need("clifford", "gasparse")
    a, b = np.random.default_rng(1).standard_normal((2, n, 32))
    alg, layout, other = cr.Algebra(5), clifford.Cl(5)[0], gasparse.GA(5, compute_mode="large")
    A, B = alg.multivector(a), alg.multivector(b)
    C, D = (clifford.MVArray([layout.MultiVector(row) for row in rows]) for rows in (a, b))
    order = np.argsort(dense_keys(5).masks)  # gasparse orders by mask
    E, F = (other.mvarray(rows[:, order].tolist(), dtype="dense") for rows in (a, b))
    agree((A * B).values, np.array([mv.value for mv in C * D]), 1e-13, "clifford")
    agree((A * B).values[:, order], np.array((E * F).tolist()[0]), 1e-13, "gasparse")
    times = alternate([lambda: A * B, lambda: E * F, lambda: C * D], 9)
    report(f"{n} products, Cl(5)", times[0], "≤ 0.6 ms", gasparse=times[1], MVArray=times[2])


def ten():
    """One full product at d = 10."""
    (clifford,) = need("clifford")
    a, b = np.random.default_rng(3).standard_normal((2, 1024))
    alg, layout = cr.Algebra(10), clifford.Cl(10)[0]
    A, B, C, D = alg.multivector(a), alg.multivector(b), layout.MultiVector(a), layout.MultiVector(b)
    first, first_theirs = seconds(lambda: A * B), seconds(lambda: C * D)
    agree((A * B).values, (C * D).value, 1e-12, "clifford")
    times = alternate([lambda: A * B, lambda: C * D], 9)
    report("one full product, d = 10", times[0], "≥ 20 ×", clifford=times[1])
    print(f"    first call {first:.3f} s, clifford {first_theirs:.2f} s (its table and its compiled code)")


def coefficient(a, b, masks, target, d):
    """Return one coefficient of ab in Cl(d) by its definition, Σ_u ± a_u b_{u ⊕ target}, in extended precision."""
    dense_a, dense_b = np.zeros(2**d), np.zeros(2**d)
    dense_a[masks], dense_b[masks] = a, b
    u = np.arange(2**d)
    sign = np.where(is_odd_swap(u, u ^ target, d), -1.0, 1.0)
    return float((dense_a * sign * dense_b[u ^ target]).sum(dtype=np.longdouble))


def large():
    """Full products at d = 16 and 20, and how exact they are."""
    for d, target in ((16, 0.05), (20, 1.0)):
        alg, rng = cr.Algebra(d), np.random.default_rng(4)
        a, b = rng.standard_normal((2, 2**d))
        A, B = alg.multivector(a), alg.multivector(b)

        def product(A=A, B=B):
            return A * B

        first = seconds(product)
        report(f"one full product, d = {d}", steady(product, 5), f"≤ {target} s")
        masks, values = dense_keys(d).masks, product().values
        some = rng.integers(0, 2**d, 8)
        exact = np.array([coefficient(a, b, masks, int(masks[i]), d) for i in some])
        off = np.abs(values[some] - exact).max() / np.abs(exact).max()
        x = alg.vector(rng.standard_normal(d))
        left, right = (product() * x).values, (A * (B * x)).values
        bracket = np.abs(left - right).max() / np.abs(left).max()
        print(f"    first call {first:.2f} s, peak {peak_mib(product):.0f} MiB; relative error ", end="")
        print(f"{off:.1e} by the definition, {bracket:.1e} between (ab)x and a(bx)   (target ≤ 1e-12)")


def vectors(d=1000):
    """The product of two vectors in a high dimension."""
    x, y = np.random.default_rng(5).standard_normal((2, d))
    alg = cr.Algebra(d)
    X, Y = alg.vector(x), alg.vector(y)
    first = seconds(lambda: X * Y)
    report(f"vector * vector, d = {d}", steady(lambda: X * Y), "≤ 50 ms")
    error = abs(float((X * Y)["1"]) - x @ y) / np.abs(x * y).sum()
    print(f"    first call {first:.3f} s, scalar part off by {error:.0e}")


def crossover():
    """Table against transform."""
    print("    d         table   model       transform   model      the plan that is taken")
    for counts in ((6,), (7,), (8,), (9,), (10,), (7, 0, 1), (9, 0, 1)):
        alg = cr.Algebra(*counts)
        keys, d = dense_keys(alg.d), alg.d
        a, b = np.random.default_rng(6).standard_normal((2, 2**d))
        plans = [kind(alg.form, "gp", keys, keys) for kind in (TablePlan, TransformPlan)]
        agree(plans[0](a, b), plans[1](a, b), 1e-12, "the transform")
        times = alternate([lambda plan=plan, a=a, b=b: plan(a, b) for plan in plans], 9)
        models = table_seconds(4**d * 0.75**alg.r), transform_seconds(d, alg.r)
        taken = type(choose(alg.form, "gp", keys, keys)).__name__
        best = "" if (times[0] > times[1]) == (taken == "TransformPlan") else "  the slower one here"
        shown = [f"{value * 1e6:8.0f} µs" for pair in zip(times, models, strict=True) for value in pair]
        print(f"    {counts!s:<9} {'  '.join(shown)}    {taken}{best}")


def with_kingdon(title, ours, theirs, check, target, operand):
    """Compare, time in turn, and print first calls, the best of nine in a row, and peak memory of both."""
    first = seconds(ours), seconds(theirs)
    check(ours(), theirs())
    mine, other = alternate([ours, theirs], 5)
    report(title, mine, f"≥ {target} ×", kingdon=other)
    best = [min(seconds(work) for _ in range(9)) for work in (ours, theirs)]
    print(f"    in a row, best of 9: {best[0] * 1e3:.1f} and {best[1] * 1e3:.1f} ms, {best[1] / best[0]:.1f} ×")
    print(f"    first call {first[0]:.2f} s, kingdon {first[1]:.2f} s; peak {peak_mib(ours):.0f} MiB, kingdon ", end="")
    print(f"{peak_mib(theirs):.0f} MiB; one operand is {operand.nbytes >> 20} MiB")


def million(n=MILLION):
    """A million full products."""
    (kingdon,) = need("kingdon")
    for counts, target in (((3, 0, 0), 2), ((3, 0, 1), 3), ((4, 1, 0), 5)):
        for dtype in (np.float64, np.float32):
            alg, other = cr.Algebra(*counts), kingdon.Algebra(*counts)
            a, b = np.random.default_rng(2).standard_normal((2, n, 2**alg.d)).astype(dtype)
            A, B = alg.multivector(a), alg.multivector(b)
            order = [dense_keys(alg.d).masks.tolist().index(mask) for mask in other.canon2bin.values()]
            E, F = (other.multivector(values=list(np.ascontiguousarray(rows.T)[order])) for rows in (a, b))
            rtol = 1e-13 if dtype == np.float64 else 1e-5

            def check(ours, theirs, order=order, rtol=rtol):
                agree(ours.values[:, order], np.stack(theirs.values(), axis=-1), rtol, "kingdon")

            title = f"{n} products, Cl{counts}, {np.dtype(dtype).name}"
            with_kingdon(title, lambda A=A, B=B: A * B, lambda E=E, F=F: E * F, check, target, a)


def sandwich(n=MILLION):
    """One unit rotor on a million vectors."""
    (kingdon,) = need("kingdon")
    for p, q in ((3, 0), (4, 1)):
        rng, d = np.random.default_rng(0), p + q
        alg, other = cr.Algebra(p, q), kingdon.Algebra(p, q, 0)
        X, R = rng.standard_normal((n, d)), alg.scalar(1.0)
        for _ in range(2 * (d // 2)):
            R = R * alg.vector(np.concatenate([rng.standard_normal(p), 0.1 * rng.standard_normal(q)]))
        R, V = R / np.sqrt(float((R * ~R)["1"])), alg.vector(X)
        keys = tuple(int(mask) for mask in R.even().keys.filled.masks)  # masks name the blades there too
        their_R = other.multivector(values=R.even().values.tolist(), keys=keys)
        their_V = other.vector(list(np.ascontiguousarray(X.T)))

        def check(ours, theirs, d=d):
            parts = dict(zip(theirs.keys(), theirs.values(), strict=True))  # grades that vanish kingdon may keep
            agree(ours.grade(1).values, np.stack([parts[1 << i] for i in range(d)], axis=-1), 1e-11, "sandwich")

        title = f"R >> X, Cl({p},{q}), {n} vectors"
        works = (lambda R=R, V=V: R >> V), (lambda R=their_R, V=their_V: R >> V)
        with_kingdon(title, *works, check, 10, X)


if __name__ == "__main__":
    works = (start, small, thousand, ten, large, vectors, crossover, million, sandwich)
    run_parts(__doc__, {work.__name__: work for work in works}, "clifford", "kingdon", "numba")
