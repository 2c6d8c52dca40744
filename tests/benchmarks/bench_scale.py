"""Gated networks at scale: time to a gap, peak memory, cost of a gradient, and growth with n and P.

    python tests/benchmarks/bench_scale.py [--betas 0.1 0.01] [--max-time 300] [--quick]

Embedding-like rows in float32. n = 50,000, d = 384, P = 200, with and without free biases; then n = 2000, d = 1536,
P = 1000 at 0.1 beta_max, where few gates are active: below, the kernel method is the one for so few rows.
Each problem runs in a process of its own, which returns its peak resident memory, the problem's making included. beta
is a share of beta_max. A gradient is one product with the map and one with its transpose; it is compared with the two
bare matrix products X U and X^T R of the same type, in turn. Ends with 1 if a bound of the acceptance is missed:

* n = 50,000: a gap of 1e-2 within 300 s, 3 times the bytes of X and 1 GB of memory, gradient ≤ 1.5 times the products;
* (2000, 1536, 1000): a gap of 1e-4 within 60 s, 2 GB.

The growth table is not a bound: time of a gradient, and time and iterations to a gap of 1e-2, for n, 2n, 4n and P, 2P,
4P, with the exponent of a fitted power. All of it takes three to five minutes on two cores. --quick makes every problem
smaller, with the same bounds, and takes half a minute.
"""

import sys
import time

import numpy as np
from data import text_like
from timing import alternate, in_process, machine, options, peak_bytes

from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.fista import Fista

GAPS = (1e-1, 1e-2, 1e-3, 1e-4)


def run(n, d, P, bias, share, tol, max_time):
    """Solve one problem in this process and return what was measured."""
    X, y, D = text_like(n, d, P, np.float32)
    began = time.perf_counter()
    problem = GatedReLUProblem(X, y, D, 1.0, bias=bias, fit_intercept=bias)
    problem.penalty.beta = share * problem.beta_max()
    made = time.perf_counter() - began
    result = Fista(tol=tol, max_time=max_time).solve(problem)
    rows = [next((row for row in result.history if row.relative_gap <= gap), None) for gap in GAPS]
    measured = {"made": made, "gap": result.relative_gap, "peak": peak_bytes()}
    measured["seconds"] = [row and row.seconds for row in rows]
    measured["steps"] = [row and row.n_iter for row in rows]
    # after the peak has been read: the bare products need room of their own
    rng = np.random.default_rng(1)
    U = rng.standard_normal((problem.map.d, P, 1), dtype=np.float32)
    R, c = rng.standard_normal((n, 1), dtype=np.float32), np.zeros((problem.map.Q.shape[1], 1))
    V, many = rng.standard_normal((d, P), dtype=np.float32), rng.standard_normal((n, P), dtype=np.float32)
    out, back = np.empty_like(many), np.empty_like(V)
    works = [
        lambda: (problem.map.forward(U, c), problem.map.adjoint(R)),
        lambda: (np.matmul(X, V, out=out), np.matmul(X.T, many, out=back)),
    ]
    measured["gradient"], measured["bare"] = alternate(works, repeats=5, middle=np.min)
    return measured


def solve(n, d, P, bias, share, tol, max_time):
    """Run a problem in a process, print what it took, and return it."""
    print(f"n = {n}, d = {d}, P = {P}, biases {'free' if bias else 'absent'}, beta = {share:g} beta_max")
    found = in_process(run, n, d, P, bias, share, tol, max_time)
    steps = zip(GAPS, found["seconds"], found["steps"], strict=True)
    times = "  ".join(f"{gap:.0e}: " + ("-" if s is None else f"{s:.1f} s ({k})") for gap, s, k in steps)
    print(f"  problem made in {found['made']:.1f} s; {times}; last gap {found['gap']:.1e}; ", end="")
    print(f"peak {found['peak'] / 1e6:.0f} MB, gradient {found['gradient']:.3f} s = ", end="")
    print(f"{found['gradient'] / found['bare']:.2f} × bare products", flush=True)
    return found


def growth(name, sizes, shape_of):
    runs = [in_process(run, *shape_of(size), True, 0.1, 1e-2, 300) for size in sizes]
    print(f"growth with {name} = {sizes}, free biases, beta = 0.1 beta_max:")
    for label, values in (
        ("a gradient", [run["gradient"] for run in runs]),
        ("to a gap of 1e-2", [run["seconds"][1] or np.nan for run in runs]),
        ("iterations to it", [run["steps"][1] or np.nan for run in runs]),
    ):
        exponent = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        print(f"  {label}: {', '.join(f'{v:.3g}' for v in values)}; exponent {exponent:.2f}", flush=True)


def main():
    args = options(__doc__, betas=[0.1, 0.01], max_time=300.0, quick=False)
    machine("scipy")
    missed = []
    n, d, P = (12_500, 384, 100) if args.quick else (50_000, 384, 200)
    for bias in (True, False):
        for share in args.betas:
            found = solve(n, d, P, bias, share, 1e-2, args.max_time)
            late = found["seconds"][1] is None or found["seconds"][1] > 300
            if late or found["peak"] > 3 * 4 * n * d + 1e9 or found["gradient"] > 1.5 * found["bare"]:
                missed.append((n, d, P, bias, share))
    shape = (1000, 768, 250) if args.quick else (2000, 1536, 1000)
    found = solve(*shape, False, 0.1, 1e-4, args.max_time)
    if found["seconds"][3] is None or found["seconds"][3] > 60 or found["peak"] > 2e9:
        missed.append((*shape, False, 0.1))
    n, P = (2000, 25) if args.quick else (6250, 25)
    growth("n", [n, 2 * n, 4 * n], lambda n: (n, d, 2 * P))
    growth("P", [P, 2 * P, 4 * P], lambda P: (2 * n, d, P))
    print(f"missed: {missed}" if missed else "every bound holds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
