"""exp, log, sqrt, inverse, bivector split, sine, tangent, arctangent, in µs an element: run by hand.

    python tests/benchmarks/bench_functions.py [--sizes 1 1000 100000] [--only exp log …]

One multivector and batches of Cl(4), STA, CGA(3) and PGA(3), float64: random bivectors of two planes and what they
exponentiate to; clifford, where it has the function, on one multivector (it has no batches), in turn with ours. Beside
the wall time stands the CPU time, which other programs disturb less. The last columns are the largest error of a round
trip, relative to the largest component, and how many elements the logarithm took one by one. Leaves with 1 where a
batch of 100,000 takes over 5 µs of CPU time an element (exp, log, sqrt) or a round trip of theirs errs by over 1e-12.
"""

import sys
import time

import numpy as np
from timing import alternate, chosen, machine, need, options

import clifford_rand as cr
from clifford_rand.functions import logarithm

ALGEBRAS = {"Cl(4)": (4, 0, 0), "STA": (1, 3, 0), "CGA(3)": (4, 1, 0), "PGA(3)": (3, 0, 1)}
FUNCTIONS = ("exp", "log", "sqrt", "inv", "inv, even", "bivector_split", "sin", "tan", "arctan")
BOUNDED = ("exp", "log", "sqrt")
LIMIT, ROUND_TRIP = 5e-6, 1e-12


def relative(A, B):
    """Return the largest error of a component over the largest component of its element."""
    return float((np.abs((A - B).coefficients).max(axis=-1) / np.abs(B.coefficients).max(axis=-1)).max())


def cases(alg, layout, n, rng):
    """Yield the name, ours, clifford's, and the round trip of each function."""
    batch = () if n == 1 else (n,)
    B = alg.random_multivector(rng=rng, shape=batch, grades=2) * 0.5
    R, A = B.exp(), alg.random_multivector(rng=rng, shape=batch)
    b, r, a = (layout.MultiVector(X.dense().values) if n == 1 else None for X in (B, R, A))
    small, one = B / 4, alg.scalar(1.0)  # where the arctangent is real
    yield "exp", B.exp, getattr(b, "exp", None), lambda: relative(B.exp() * (-B).exp(), one)
    yield "log", R.log, None, lambda: relative(R.log().exp(), R)
    yield "sqrt", R.sqrt, None, lambda: relative(R.sqrt() * R.sqrt(), R)
    yield "inv", A.inv, getattr(a, "inv", None), lambda: relative(A * A.inv() * A, A)
    yield "inv, even", R.inv, getattr(r, "inv", None), lambda: relative(R * R.inv() * R, R)
    yield "bivector_split", B.bivector_split, None, lambda: relative(sum(B.bivector_split(), 0 * B), B)
    yield "sin", B.sin, getattr(b, "sin", None), lambda: relative(B.sin() ** 2 + B.cos() ** 2, one)
    yield "tan", B.tan, getattr(b, "tan", None), lambda: relative(B.tan() * B.cos(), B.sin())
    yield "arctan", small.arctan, None, lambda: relative(small.arctan().tan(), small)


def main():
    args = options(__doc__, sizes=[1, 1000, 100_000], only=chosen(FUNCTIONS))
    (clifford,) = need("clifford")
    one_by_one, logarithms, missed = logarithm.log_of_one, [], []

    def counted(*arguments):
        logarithms.append(1)
        return one_by_one(*arguments)

    logarithm.log_of_one = counted
    print(f"{'µs an element':<24}{'n':>7}{'wall':>9}{'CPU':>9}{'clifford':>10}{'error':>10}{'one by one':>12}")
    for label, counts in ALGEBRAS.items():
        alg = cr.Algebra(*counts)
        layout = clifford.Cl(sig=list(alg.signature))[0]
        for n in args.sizes:
            for name, ours, peer, trip in cases(alg, layout, n, np.random.default_rng(0)):
                if name not in args.only:
                    continue
                ours()
                logarithms.clear()
                ours()
                general, calls = len(logarithms), max(1, 300 // n)
                wall, theirs = alternate([ours, peer], calls=calls)
                (cpu,) = alternate([ours], calls=calls, clock=time.process_time)
                error = trip()
                line = f"{wall / n * 1e6:9.2f}{cpu / n * 1e6:9.2f}" + (f"{theirs * 1e6:10.1f}" if peer else f"{'':10}")
                print(f"{label:<8}{name:<16}{n:>7}{line}{error:10.0e}{general:>12}", flush=True)
                if name in BOUNDED and ((n >= 100_000 and cpu / n > LIMIT) or error > ROUND_TRIP):
                    missed.append(f"{label} {name} {n}")
    machine("clifford", "numba")
    print("missed: " + ", ".join(missed) if missed else f"all of exp, log and sqrt: at most 5 µs, {ROUND_TRIP:g}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
