"""Sines, tangents and their inverses, of one multivector and of a batch, beside clifford's series; sums.

Processor seconds, the best of five: ``OPENBLAS_NUM_THREADS=1 python tests/benchmarks/bench_circular.py``.
"""

import time

import numpy as np
from timing import alternate

import clifford_rand as cr

try:
    import clifford
except ImportError:
    clifford = None

NAMES = ("sin", "cos", "tan", "arcsin", "arctan")
BATCH = 10_000


def microseconds(function, calls):
    return 1e6 * alternate([function], 5, calls, time.process_time, np.min)[0]


def main():
    print("µs of processor time: one multivector, each of a batch of 10,000, clifford")
    for counts in ((3,), (3, 0, 1), (4, 1)):
        alg = cr.Algebra(*counts)
        for grades in ((1,), (2,), None):
            one, batch = alg.random_multivector(0, (), grades) / 4, alg.random_multivector(0, BATCH, grades) / 8
            peer = clifford and clifford.Cl(*counts)[0].MultiVector(value=one.dense().coefficients.copy())
            for name in NAMES:
                mine = microseconds(getattr(one, name), 50), microseconds(getattr(batch, name), 1) / BATCH
                other = microseconds(getattr(peer, name), 10) if hasattr(peer, name) else np.nan
                print(f"Cl{counts} grades {grades or 'all'} {name:7s} {mine[0]:7.0f} {mine[1]:7.2f} {other:7.0f}")
    alg = cr.Algebra(3)
    A, R, V = (alg.random_multivector(k, (), grades) for k, grades in enumerate((None, (0, 2), (1, 3))))
    for label, function in (("even + odd", lambda: R + V), ("all + even", lambda: A + R), ("1 + even", lambda: 1 + R)):
        print(f"Cl(3) {label} {microseconds(function, 2000):.1f}")


if __name__ == "__main__":
    main()
