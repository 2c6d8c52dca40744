"""Motors from points: a million pairs, with weights, beside SciPy; many small problems; outliers.

    OPENBLAS_NUM_THREADS=1 python tests/benchmarks/bench_registration.py

Before anything is timed the rotations are compared. SciPy's ``align_vectors`` fits the rotation alone: the centroids
are taken off for it, within its time.
"""

import numpy as np
from scipy.spatial.transform import Rotation
from timing import agree, alternate, machine, report, seconds

import clifford_rand as cr
from clifford_rand.presets import pga

POINTS, PROBLEMS = 1_000_000, 100_000


def main() -> None:
    alg, rng = cr.Algebra.pga(3), np.random.default_rng(0)
    motor = alg.random_multivector(rng, (), 2).exp()
    X, w = rng.standard_normal((POINTS, 3)), rng.random(POINTS)
    Y = pga.coordinates(motor >> pga.point(alg, X)) + 0.01 * rng.standard_normal((POINTS, 3))

    def scipy() -> np.ndarray:
        return Rotation.align_vectors(Y - Y.mean(axis=0), X - X.mean(axis=0))[0].as_matrix()

    agree(pga.motor_to_matrix(cr.motor_from_points(alg, X, Y))[:3, :3], scipy(), 1e-12, "align_vectors")
    ours, theirs = alternate([lambda: cr.motor_from_points(alg, X, Y), scipy], 5)
    report(f"motor_from_points, {POINTS:,} points", ours, "1 s", scipy=theirs)
    report("    with weights and scale", seconds(lambda: cr.motor_from_points(alg, X, Y, weights=w, scale=True), 3))
    wrong = rng.random(POINTS) < 0.3
    Y[wrong] = 3 * rng.standard_normal((int(wrong.sum()), 3))
    report("    robust, 30 % wrong pairs", seconds(lambda: cr.robust_motor_from_points(alg, X, Y)))
    small = rng.standard_normal((PROBLEMS, 10, 3))
    turned = small @ Rotation.random(PROBLEMS, random_state=1).as_matrix()
    report(f"{PROBLEMS:,} problems of 10 points", seconds(lambda: cr.motor_from_points(alg, small, turned)))
    machine("scipy")


if __name__ == "__main__":
    main()
