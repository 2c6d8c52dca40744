"""Gated networks at scale: time to a gap, peak memory, cost of a gradient, and growth with n and P.

    python tests/benchmarks/bench_scale.py [--betas 0.1 0.01] [--max-time 300] [--quick]

Embedding-like rows in float32 (variances 1/k, a common mean, unit norm), labels from three ReLU units and noise, gates
in Gaussian directions. n = 50,000, d = 384, P = 200, with and without free biases; then n = 2000, d = 1536, P = 1000
at 0.1 beta_max, where few gates are active: below, the kernel method is the one for so few rows.
Each problem runs in a process of its own, which prints its peak resident memory, the problem's making included. beta is
a share of beta_max. A gradient is one product with the map and one with its transpose; it is compared with the two bare
matrix products X U and X^T R of the same type, in turn. Ends with 1 if a bound of the acceptance is missed:

* n = 50,000: a gap of 1e-2 within 300 s, 3 times the bytes of X and 1 GB of memory, gradient ≤ 1.5 times the products;
* (2000, 1536, 1000): a gap of 1e-4 within 60 s, 2 GB.

The growth table is not a bound: time of a gradient, and time and iterations to a gap of 1e-2, for n, 2n, 4n and P, 2P,
4P, with the exponent of a fitted power. All of it takes three to five minutes on two cores. --quick makes every problem
smaller, with the same bounds, and takes half a minute.
"""

import argparse
import json
import subprocess
import sys
import time

import numpy as np
from timing import alternate, machine, options, peak_bytes

from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.fista import Fista

GAPS = (1e-1, 1e-2, 1e-3, 1e-4)
ROWS = 4096  # made at a time, so that making the data does not set the peak


def embed_like(n, d, P, seed=0):
    """Anisotropic unit rows in float32, labels ±1, and the patterns of P Gaussian gates."""
    rng = np.random.default_rng(seed)
    frame = (np.linalg.qr(rng.standard_normal((d, d)))[0] / np.sqrt(1 + np.arange(d))[:, None]).astype(np.float32)
    mean = (0.3 * rng.standard_normal(d) / np.sqrt(d)).astype(np.float32)
    units = rng.standard_normal((d, 3)).astype(np.float32)
    gates = rng.standard_normal((d, P)).astype(np.float32)
    X, y, D = np.empty((n, d), np.float32), np.empty(n), np.empty((n, P), bool)
    for a in range(0, n, ROWS):
        rows = slice(a, min(a + ROWS, n))
        x = rng.standard_normal((rows.stop - a, d), dtype=np.float32) @ frame + mean
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        score = np.maximum(x @ units, 0) @ np.array([1, -1, 0.5]) + 0.05 * rng.standard_normal(len(x)) - 0.02
        X[rows], y[rows], D[rows] = x, np.where(score > 0, 1.0, -1.0), x @ gates >= 0
    return X, y, D


def run(n, d, P, bias, share, tol, max_time, products):
    """Solve one problem in this process and return what was measured."""
    X, y, D = embed_like(n, d, P)
    began = time.perf_counter()
    problem = GatedReLUProblem(X, y, D, 1.0, bias=bias, fit_intercept=bias)
    problem.penalty.beta = share * problem.beta_max()
    made = time.perf_counter() - began
    result = Fista(tol=tol, max_time=max_time).solve(problem)
    reached = [next((row.seconds for row in result.history if row.relative_gap <= g), None) for g in GAPS]
    steps = [next((row.n_iter for row in result.history if row.relative_gap <= g), None) for g in GAPS]
    found = {"made": made, "seconds": reached, "steps": steps, "gap": result.relative_gap, "peak": peak_bytes()}
    if products:  # after the peak has been read: the bare products need room of their own
        rng = np.random.default_rng(1)
        U = rng.standard_normal((problem.map.d, P, 1), dtype=np.float32)
        R, c = rng.standard_normal((n, 1), dtype=np.float32), np.zeros((problem.map.Q.shape[1], 1))
        V, many = rng.standard_normal((d, P), dtype=np.float32), rng.standard_normal((n, P), dtype=np.float32)
        out, back = np.empty_like(many), np.empty_like(V)
        ours, forward, adjoint = alternate(
            [
                lambda: (problem.map.forward(U, c), problem.map.adjoint(R)),
                lambda: np.matmul(X, V, out=out),
                lambda: np.matmul(X.T, many, out=back),
            ],
            repeats=5,
            middle=np.min,
        )
        found |= {"gradient": ours, "bare": forward + adjoint}
    return found


def in_a_process(*task):
    """`run` in a fresh process, so that its peak is its own."""
    done = subprocess.run([sys.executable, __file__, "--task", json.dumps(task)], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def told(found):
    times = "  ".join(
        f"{g:.0e}: " + ("-" if s is None else f"{s:.1f} s ({k})")
        for g, s, k in zip(GAPS, found["seconds"], found["steps"], strict=True)
    )
    ratio = ""
    if "gradient" in found:
        ratio = f", gradient {found['gradient']:.3f} s = {found['gradient'] / found['bare']:.2f} × bare products"
    return (
        f"  problem made in {found['made']:.1f} s; {times}; last gap {found['gap']:.1e}; "
        f"peak {found['peak'] / 1e6:.0f} MB{ratio}"
    )


def growth(name, sizes, shape_of):
    found = [in_a_process(*shape_of(s), True, 0.1, 1e-2, 300, True) for s in sizes]
    print(f"growth with {name} = {sizes}, free biases, beta = 0.1 beta_max:")
    for label, values in (
        ("a gradient", [each["gradient"] for each in found]),
        ("to a gap of 1e-2", [each["seconds"][1] or np.nan for each in found]),
        ("iterations to it", [each["steps"][1] or np.nan for each in found]),
    ):
        exponent = np.polyfit(np.log(sizes), np.log(values), 1)[0]
        print(f"  {label}: {', '.join(f'{v:.3g}' for v in values)}; exponent {exponent:.2f}", flush=True)


def main():
    args = options(__doc__, betas=[0.1, 0.01], max_time=300.0, quick=False, task=(str, {"help": argparse.SUPPRESS}))
    if args.task:
        print(json.dumps(run(*json.loads(args.task))))
        return 0
    machine("scipy")
    missed = []
    for bias in (True, False):
        for share in args.betas:
            n, d, P = (12_500, 384, 100) if args.quick else (50_000, 384, 200)
            print(f"n = {n}, d = {d}, P = {P}, biases {'free' if bias else 'absent'}, beta = {share:g} beta_max")
            found = in_a_process(n, d, P, bias, share, 1e-2, args.max_time, True)
            print(told(found), flush=True)
            late = found["seconds"][1] is None or found["seconds"][1] > 300
            if late or found["peak"] > 3 * 4 * n * d + 1e9 or found["gradient"] > 1.5 * found["bare"]:
                missed.append((n, d, P, bias, share))
    n, d, P, share = (1000, 768, 250, 0.1) if args.quick else (2000, 1536, 1000, 0.1)
    print(f"n = {n}, d = {d}, P = {P}, biases absent, beta = {share:g} beta_max")
    found = in_a_process(n, d, P, False, share, 1e-4, args.max_time, True)
    print(told(found), flush=True)
    if found["seconds"][3] is None or found["seconds"][3] > 60 or found["peak"] > 2e9:
        missed.append((n, d, P, False, share))
    n, d, P = (2000, 384, 25) if args.quick else (6250, 384, 25)
    growth("n", [n, 2 * n, 4 * n], lambda n: (n, d, 2 * P))
    growth("P", [P, 2 * P, 4 * P], lambda P: (2 * n, d, P))
    print(f"missed: {missed}" if missed else "every bound holds")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
