"""Products against clifford, kingdon and gasparse: run by hand, ``python tests/benchmarks/bench_products.py``.

All in this process, in turn; a ratio is of medians, after one warm-up. First calls (plans, tables, compiled or
generated code) and peak memory stand apart where they matter. Every peer's result is compared with ours before it is
timed. kingdon runs its generated NumPy code on one array for each blade: in numba.njit it was two to four times slower.
"""

from typing import Any

import numpy as np
from timing import agree, alternate, machine, need, peak_mib, report, seconds, steady

import clifford_rand as cr
from clifford_rand.basis.keys import dense_keys
from clifford_rand.basis.rules import is_odd_swap
from clifford_rand.plans.cost_model import choose, table_seconds, transform_seconds
from clifford_rand.plans.fast import TransformPlan
from clifford_rand.plans.table_plan import TablePlan


def small(clifford: Any, kingdon: Any) -> None:
    """One product of two dense multivectors of Cl(3)."""
    a, b = np.random.default_rng(0).standard_normal((2, 8))
    alg, layout, other = cr.Algebra(3), clifford.Cl(3)[0], kingdon.Algebra(3, 0, 0)
    A, B = alg.multivector(a), alg.multivector(b)
    C, D = layout.MultiVector(a), layout.MultiVector(b)
    E, F = other.multivector(values=a.tolist()), other.multivector(values=b.tolist())
    works = [lambda: A * B, lambda: C * D, lambda: E * F]
    agree((A * B).values, (C * D).value, 1e-14, "clifford")
    agree((A * B).values, np.array((E * F).values()), 1e-14, "kingdon")
    times = alternate(works, calls=2000)
    report("one product, Cl(3)", times[0], "≤ 8 µs", clifford=times[1], kingdon=times[2])


def thousand(clifford: Any, gasparse: Any, n: int = 1000) -> None:
    """A thousand full products of Cl(5)."""
    a, b = np.random.default_rng(1).standard_normal((2, n, 32))
    alg, layout, other = cr.Algebra(5), clifford.Cl(5)[0], gasparse.GA(5, compute_mode="large")
    masks = dense_keys(5).masks  # gasparse orders by mask
    A, B = alg.multivector(a), alg.multivector(b)
    C, D = (clifford.MVArray([layout.MultiVector(row) for row in rows]) for rows in (a, b))
    order = np.argsort(masks)
    E, F = (other.mvarray(rows[:, order].tolist(), dtype="dense") for rows in (a, b))
    agree((A * B).values, np.array([mv.value for mv in C * D]), 1e-13, "clifford")
    agree((A * B).values[:, order], np.array((E * F).tolist()[0]), 1e-13, "gasparse")
    times = alternate([lambda: A * B, lambda: E * F, lambda: C * D], 9)
    report(f"{n} products, Cl(5)", times[0], "≤ 0.6 ms", gasparse=times[1], MVArray=times[2])


def million(kingdon: Any, n: int = 1_000_000) -> None:
    """A million full products."""
    for counts, target in (((3, 0, 0), 2), ((3, 0, 1), 3), ((4, 1, 0), 5)):
        for dtype in (np.float64, np.float32):
            alg, other = cr.Algebra(*counts), kingdon.Algebra(*counts)
            a, b = np.random.default_rng(2).standard_normal((2, n, 2**alg.d)).astype(dtype)
            A, B = alg.multivector(a), alg.multivector(b)
            order = [dense_keys(alg.d).masks.tolist().index(mask) for mask in other.canon2bin.values()]
            E, F = (other.multivector(values=list(np.ascontiguousarray(rows.T)[order])) for rows in (a, b))
            first, first_theirs = seconds(lambda A=A, B=B: A * B), seconds(lambda E=E, F=F: E * F)
            theirs = np.stack((E * F).values(), axis=-1)
            agree((A * B).values[:, order], theirs, 1e-13 if dtype == np.float64 else 1e-5, "kingdon")
            del theirs
            works = [lambda A=A, B=B: A * B, lambda E=E, F=F: E * F]
            times = alternate(works, 5)
            best = [min(seconds(work) for _ in range(9)) for work in works]
            name = np.dtype(dtype).name
            title = f"{n} products, Cl{counts}, {name}".replace(" ", "", 0)
            report(title, times[0], f"≥ {target} ×", kingdon=times[1])
            print(f"    in a row, best of 9: {best[0] * 1e3:.1f} and {best[1] * 1e3:.1f} ms, {best[1] / best[0]:.1f} ×")
            peaks = peak_mib(lambda A=A, B=B: A * B), peak_mib(lambda E=E, F=F: E * F)
            print(f"    first call {first:.2f} s, kingdon {first_theirs:.2f} s", end="")
            print(f"; peak {peaks[0]:.0f} MiB, kingdon {peaks[1]:.0f} MiB; one operand is {a.nbytes >> 20} MiB")


def ten(clifford: Any) -> None:
    """One full product at d = 10."""
    a, b = np.random.default_rng(3).standard_normal((2, 1024))
    alg = cr.Algebra(10)
    layout = clifford.Cl(10)[0]
    A, B, C, D = alg.multivector(a), alg.multivector(b), layout.MultiVector(a), layout.MultiVector(b)
    first, first_theirs = seconds(lambda: A * B), seconds(lambda: C * D)
    agree((A * B).values, (C * D).value, 1e-12, "clifford")
    times = alternate([lambda: A * B, lambda: C * D], 9)
    report("one full product, d = 10", times[0], "≥ 20 ×", clifford=times[1])
    print(f"    first call {first:.3f} s, clifford {first_theirs:.2f} s (its table and its compiled code)")


def coefficient(a: np.ndarray, b: np.ndarray, masks: np.ndarray, target: int, d: int) -> float:
    """Return one coefficient of ab in Cl(d) by its definition, Σ_u ± a_u b_{u ⊕ target}, in extended precision."""
    dense_a, dense_b = np.zeros(2**d), np.zeros(2**d)
    dense_a[masks], dense_b[masks] = a, b
    u = np.arange(2**d)
    sign = np.where(is_odd_swap(u, u ^ target, d), -1.0, 1.0)
    return float((dense_a * sign * dense_b[u ^ target]).sum(dtype=np.longdouble))


def large() -> None:
    """Full products at d = 16 and 20, and how exact they are."""
    for d, target in ((16, 0.05), (20, 1.0)):
        alg, rng = cr.Algebra(d), np.random.default_rng(4)
        a, b = rng.standard_normal((2, 2**d))
        A, B = alg.multivector(a), alg.multivector(b)
        first = seconds(lambda A=A, B=B: A * B)
        time = steady(lambda A=A, B=B: A * B, 5)
        report(f"one full product, d = {d}", time, f"≤ {target} s")
        AB = A * B
        masks, values = dense_keys(d).masks, AB.values
        some = rng.integers(0, 2**d, 8)
        exact = np.array([coefficient(a, b, masks, int(masks[i]), d) for i in some])
        off = np.abs(values[some] - exact).max() / np.abs(exact).max()
        x = alg.vector(rng.standard_normal(d))
        left, right = (AB * x).values, (A * (B * x)).values
        bracket = np.abs(left - right).max() / np.abs(left).max()
        peak = peak_mib(lambda A=A, B=B: A * B)
        print(f"    first call {first:.2f} s, peak {peak:.0f} MiB; relative error {off:.1e} by the definition,", end="")
        print(f" {bracket:.1e} between (ab)x and a(bx)   (target ≤ 1e-12)")


def vectors(d: int = 1000) -> None:
    """The product of two vectors in a high dimension."""
    x, y = np.random.default_rng(5).standard_normal((2, d))
    alg = cr.Algebra(d)
    X, Y = alg.vector(x), alg.vector(y)
    first = seconds(lambda: X * Y)
    report(f"vector * vector, d = {d}", steady(lambda: X * Y), "≤ 50 ms")
    error = abs(float((X * Y)["1"]) - x @ y) / np.abs(x * y).sum()
    print(f"    first call {first:.3f} s, scalar part off by {error:.0e}")


def crossover() -> None:
    """Table against transform, beside the cost model of plans/cost_model.py."""
    print("    d         table   model       transform   model      the plan that is taken")
    for counts in ((6,), (7,), (8,), (9,), (10,), (7, 0, 1), (9, 0, 1)):
        alg = cr.Algebra(*counts)
        keys, d = dense_keys(alg.d), alg.d
        a, b = np.random.default_rng(6).standard_normal((2, 2**d))
        table = TablePlan(alg.form, "gp", keys, keys)
        transform = TransformPlan(alg.form, "gp", keys, keys)
        agree(table(a, b), transform(a, b), 1e-12, "the transform")
        times = alternate([lambda t=table, a=a, b=b: t(a, b), lambda t=transform, a=a, b=b: t(a, b)], 9)
        models = table_seconds(4**d * 0.75**alg.r), transform_seconds(d, alg.r)
        taken = type(choose(alg.form, "gp", keys, keys)).__name__
        best = "" if (times[0] > times[1]) == (taken == "TransformPlan") else "  the slower one here"
        shown = [f"{value * 1e6:8.0f} µs" for pair in zip(times, models, strict=True) for value in pair]
        print(f"    {counts!s:<9} {'  '.join(shown)}    {taken}{best}")


def main() -> None:
    clifford, kingdon, gasparse = need("clifford", "kingdon", "gasparse")
    small(clifford, kingdon)
    thousand(clifford, gasparse)
    ten(clifford)
    large()
    vectors()
    crossover()
    million(kingdon)
    machine("clifford", "kingdon", "gasparse", "numba")


if __name__ == "__main__":
    main()
