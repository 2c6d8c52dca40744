"""The convex ReLU program on the spiral: interior points against CVXPY with CLARABEL, in the same run."""

from timing import machine, timed

from clifford_rand_nn import activation_patterns, sample_gates, spiral
from clifford_rand_nn.problems.relu import ConvexReLUProblem
from clifford_rand_nn.solvers.cvxpy_reference import CvxpyReference
from clifford_rand_nn.solvers.relu.cone_interior_point import ConeInteriorPoint


def main() -> None:
    machine("scipy", "cvxpy")
    X, y = spiral()
    for method in ("cross", "gaussian"):
        patterns, _ = activation_patterns(X, sample_gates(X, 200, method=method, rng=0))
        problem = ConvexReLUProblem(X, y, patterns, 1e-3 / (2 * len(X)))
        ours, own, _ = timed(lambda problem=problem: ConeInteriorPoint(tol=1e-6).solve(problem))
        theirs, peer, _ = timed(lambda problem=problem: CvxpyReference().solve(problem))
        ratio = peer / own
        print(f"{method}: {ours.seconds:.2f} s, gap {ours.relative_gap:.1e}; CVXPY {theirs.seconds:.2f} s, ", end="")
        print(
            f"gap {theirs.relative_gap:.1e}; ratio {ratio:.1f}, objectives {ours.objective:.8g} {theirs.objective:.8g}"
        )


if __name__ == "__main__":
    main()
