"""The convex ReLU program on the spiral: interior points against CVXPY with CLARABEL, in the same run."""

import platform
import time

import cvxpy
import numpy as np
import scipy

from clifford_rand_nn import activation_patterns, sample_gates, spiral
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint


def main() -> None:
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, cvxpy {cvxpy.__version__}"
    print(f"{platform.processor() or platform.machine()}, Python {platform.python_version()}, {versions}")
    X, y = spiral()
    for method in ("cross", "gaussian"):
        patterns, _ = activation_patterns(X, sample_gates(X, 200, method=method, rng=0))
        problem = ConvexReLUProblem(X, y, patterns, 1e-3 / (2 * len(X)))
        began = time.perf_counter()
        ours = ConeInteriorPoint(tol=1e-6).solve(problem)
        middle = time.perf_counter()
        theirs = CvxpyReference().solve(problem)
        ended = time.perf_counter()
        ratio = (ended - middle) / (middle - began)
        print(f"{method}: {ours.seconds:.2f} s, gap {ours.relative_gap:.1e}; CVXPY {theirs.seconds:.2f} s, ", end="")
        print(
            f"gap {theirs.relative_gap:.1e}; ratio {ratio:.1f}, objectives {ours.objective:.8g} {theirs.objective:.8g}"
        )


if __name__ == "__main__":
    main()
