"""Branch and bound over directions: seconds and cones to a relative width, at the dual points of fits.

    python tests/benchmarks/bench_bound.py [SECONDS of a fit]

Five random problems and two of scikit-learn; the constant feature of the bias is one of the columns. Each dual point is
that of a fit of ConvexReLURegressor(gates="exhaustive"), where many neurons reach the supremum; "leaves" are those of a
proof.
"""

import sys
import warnings

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from timing import timed

from clifford_rand_nn import ConvexReLURegressor
from clifford_rand_nn.pricing.simplices import SimplexPricer
from clifford_rand_nn.sparse_rows import with_feature

WIDTHS = (0.2, 0.1, 0.05, 0.01, 1e-3)


def random_problem(n, d, seed):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d - 1))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, -1] + 0.3 * rng.standard_normal(n)


def table(load, columns):
    X, y = load(return_X_y=True)
    return StandardScaler().fit_transform(X[:, columns]), (y - y.mean()) / y.std()


PROBLEMS = {
    "random 500 x 3, seed 0": random_problem(500, 3, 0),
    "random 500 x 3, seed 1": random_problem(500, 3, 1),
    "random 500 x 4, seed 2": random_problem(500, 4, 2),
    "random 500 x 4, seed 3": random_problem(500, 4, 3),
    "random 300 x 5, seed 4": random_problem(300, 5, 4),
    "diabetes 442 x 4 (bmi, bp, s5)": table(load_diabetes, [2, 3, 8]),
    "breast cancer 569 x 4 (radius, texture, perimeter)": table(load_breast_cancer, [0, 1, 2]),
}


def main(seconds):
    warnings.simplefilter("ignore", ConvergenceWarning)
    for name, (X, y) in PROBLEMS.items():
        model = ConvexReLURegressor(gates="exhaustive", beta=1e-2, max_time=seconds).fit(X, y)
        certificate = model.certificate_
        claim = certificate.claim
        rows, theta = with_feature(claim.rows(X), claim.family.feature), certificate.dual_point
        print(f"{name}: fit to a gap of {certificate.relative_gap:.1e}, {model.network_.n_neurons} neurons", flush=True)
        for width in WIDTHS:
            pricer = SimplexPricer(rows, 2, tol=width)
            (size, neurons), _, cpu = timed(lambda pricer=pricer, theta=theta: pricer.price(theta, 1))
            value = np.linalg.norm(neurons.columns(rows).T @ theta, axis=1)[0]
            trees = pricer.witness(theta, (1 + width) * value, 10**6)
            leaves = "none" if trees is None else f"{len(trees[1].nodes):,}"
            print(f"  width {width:6.1%}: {size / value - 1:.2%} in {cpu:.2f} CPU s, {leaves} leaves", flush=True)


if __name__ == "__main__":
    main(float(sys.argv[1]) if len(sys.argv) > 1 else 60.0)
