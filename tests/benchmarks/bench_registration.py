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


def outliers():
    """200 sets of 100 pairs of noise 0.01 with wrong ones among them: how many motors are off by more than 0.1."""
    alg, rng = cr.Algebra.pga(3), np.random.default_rng(0)
    for share in (0.3, 0.45, 0.5, 0.6, 0.7):
        X, motors = rng.standard_normal((200, 100, 3)), (2 * alg.random_multivector(rng=rng, shape=200, grades=2)).exp()
        exact = pga.coordinates(motors[:, None] >> pga.point(alg, X))
        Y, wrong = exact + 0.01 * rng.standard_normal(X.shape), int(100 * share)
        Y[:, :wrong] = exact.mean(axis=1, keepdims=True) + 3 * rng.standard_normal((200, wrong, 3))
        failed = []
        for noise in (None, 0.01):
            found = cr.robust_motor_from_points(alg, X, Y, noise=noise).motor
            images = pga.coordinates(found[:, None] >> pga.point(alg, X))
            failed.append((np.abs(images - exact).max(axis=(1, 2)) > 0.1).mean())
        print(f"{share:.0%} wrong pairs: {failed[0]:.1%} failed, {failed[1]:.1%} with known noise", flush=True)


def main():
    alg, rng = cr.Algebra.pga(3), np.random.default_rng(0)
    motor = alg.random_multivector(rng=rng, shape=(), grades=2).exp()
    X, w = rng.standard_normal((POINTS, 3)), rng.random(POINTS)
    Y = pga.coordinates(motor >> pga.point(alg, X)) + 0.01 * rng.standard_normal((POINTS, 3))

    def scipy():
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
    outliers()
    machine("scipy")


if __name__ == "__main__":
    main()
