"""Numbers of chambers of the resonance and threshold arrangements: seconds, restrictions, and the published number.

python tests/benchmarks/bench_chambers.py [--large]   # with resonance 7 and threshold 6, minutes
"""

import sys
from itertools import product
from time import perf_counter

from clifford_rand import matroids

RESONANCE = {4: 370, 5: 11292, 6: 1066044, 7: 347326352}  # OEIS A034997
THRESHOLD = {4: 1882, 5: 94572, 6: 15028134}  # OEIS A000609


def main():
    large = "--large" in sys.argv
    cases = [("resonance", n, [v for v in product((0, 1), repeat=n) if any(v)]) for n in RESONANCE if large or n < 7]
    cases += [("threshold", n, [(1, *v) for v in product((-1, 1), repeat=n)]) for n in THRESHOLD if large or n < 6]
    for name, n, normals in cases:
        known: dict[tuple[tuple[int, ...], ...], tuple[int, ...]] = {}
        start = perf_counter()
        chi = matroids._polynomial({matroids._primitive(v) for v in normals}, len(normals[0]), known)
        seconds, count = perf_counter() - start, sum(map(abs, chi))
        published = {"resonance": RESONANCE, "threshold": THRESHOLD}[name][n]
        print(f"{name} {n}: {count:,} chambers ({count == published}), {len(known):,} restrictions, {seconds:.2f} s")


if __name__ == "__main__":
    main()
