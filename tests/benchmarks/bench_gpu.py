"""The gated solvers on an accelerator against the NumPy ones: time to gaps of 1e-2, 1e-4 and 1e-6.

    python tests/benchmarks/bench_gpu.py [--device cuda|cpu] [--n 10000] [--d 384] [--P 100] [--dtype float32|float64]
                                         [--share 0.05] [--max-time 120] [--threads N] [--no-biases]

Rows like embeddings, labels from three ReLU units, Gaussian gates, as in bench_scale.py; beta is a share of beta_max.
One problem for all: NumPy's Fista and KernelInteriorPoint, then `solve_array` on torch tensors with solver "fista" and
"kernel". Times go from arrays in place to the coefficients, what the solver sets up included; each solver has run once
before, on a small problem, so that no library is loaded in them. A time to a gap is that of the first check at which it
was met. The final gap is judged anew from the coefficients by gap.py, in NumPy; a solver that calls itself optimal with
a gap judged above 2e-6 makes the script leave with 1.
"""

import argparse
import sys
import time

import numpy as np
from bench_scale import embed_like
from gap import relative_gap
from timing import machine, need

from clifford_rand_nn.problems.gated import GatedReLUProblem
from clifford_rand_nn.solvers.arrays.fista import solve_array
from clifford_rand_nn.solvers.fista import Fista
from clifford_rand_nn.solvers.kernel.interior_point import KernelInteriorPoint

GAPS = (1e-2, 1e-4, 1e-6)


def on_host(part):
    return part if isinstance(part, np.ndarray) else part.cpu().numpy()


def tell(name, work, data):
    """Run, print times to the gaps, and judge the coefficients; False if the solver's claim is wrong."""
    X, y, D, beta, bias = data
    began = time.perf_counter()
    result = work()
    total = time.perf_counter() - began
    before = total - result.seconds  # the problem's making comes before the solver's clock
    times = []
    for gap in GAPS:
        met = next((row for row in result.history if row.relative_gap <= gap), None)
        times.append(f"{gap:.0e}: " + (f"{before + met.seconds:7.2f} s ({met.n_iter})" if met else "      -"))
    u, gate, intercept = (on_host(part)[0] for part in result.coefficients)
    biases = {"gate_bias": gate, "intercept": intercept} if bias else {}
    _, judged = relative_gap(X.astype(np.float64), y, D, beta, u, **biases)
    print(f"{name:<28} {'  '.join(times)}  in all {total:7.2f} s, judged gap {judged:.1e}", flush=True)
    return not (result.converged and judged > 2e-6)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--n", type=int, default=10_000)
    parser.add_argument("--d", type=int, default=384)
    parser.add_argument("--P", type=int, default=100)
    parser.add_argument("--dtype", choices=["float32", "float64"], default="float32")
    parser.add_argument("--share", type=float, default=0.05, help="beta as a share of beta_max")
    parser.add_argument("--max-time", type=float, default=120)
    parser.add_argument("--threads", type=int, help="of torch on the processor")
    parser.add_argument("--no-biases", action="store_true")
    args = parser.parse_args()
    (torch,) = need("torch")
    if args.device.startswith("cuda") and not torch.cuda.is_available():
        sys.exit("torch sees no CUDA device on this machine: --device cpu compares on the processor")
    if args.threads:
        torch.set_num_threads(args.threads)
    machine("torch", "array-api-compat")
    name = torch.cuda.get_device_name(args.device) if args.device.startswith("cuda") else "the processor"
    bias = not args.no_biases
    print(f"torch on {name}; n = {args.n}, d = {args.d}, P = {args.P}, {args.dtype}, biases {bias}")

    X, y, D = embed_like(args.n, args.d, args.P)
    X = X.astype(args.dtype)
    beta = args.share * GatedReLUProblem(X, y, D, 1.0, bias=bias, fit_intercept=bias).beta_max()
    data, options = (X, y, D, beta), {"tol": 1e-6, "max_time": args.max_time}
    flags = {"bias": bias, "fit_intercept": bias}
    tensors = [torch.as_tensor(part, device=args.device) for part in (X, y, D)]

    works = {
        "NumPy Fista": lambda: Fista(**options).solve(GatedReLUProblem(*data, **flags)),
        "NumPy KernelInteriorPoint": lambda: KernelInteriorPoint(**options).solve(GatedReLUProblem(*data, **flags)),
        "torch fista": lambda: solve_array(*tensors, beta, **flags, **options),
        "torch kernel": lambda: solve_array(*tensors, beta, **flags, solver="kernel", **options),
    }
    few = min(200, args.n)
    small = [part[:few] for part in (X, y, D)]
    for solver in (Fista(max_iter=20), KernelInteriorPoint(max_iter=2)):
        solver.solve(GatedReLUProblem(*small, beta, **flags))
    for solver in ("fista", "kernel"):
        solve_array(*(part[:few] for part in tensors), beta, **flags, solver=solver, max_iter=20)
    sound = [tell(name, work, (*data, bias)) for name, work in works.items()]
    if not all(sound):
        sys.exit("a solver called itself optimal with a judged gap above 2e-6")


if __name__ == "__main__":
    main()
