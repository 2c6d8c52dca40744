"""Registration: the motor that lays one scan of a surface on another, where a third of the pairs are wrong.

Two scans of a knot correspond point by point, but for noise of 0.02 and 35 % wrong pairs. Least squares is pulled away
by these; reweighted least squares (Geman and McClure's loss) finds the motor of the right pairs.
"""

from pathlib import Path

import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

POINTS, WRONG, NOISE = 600, 0.35, 0.02


def knot(s: np.ndarray) -> np.ndarray:
    """Return points of a trefoil knot."""
    radius = 2 + np.cos(3 * s)
    return np.stack([radius * np.cos(2 * s), radius * np.sin(2 * s), np.sin(3 * s)], axis=-1)


def main(folder: Path) -> dict[str, float]:
    """Fit the motors, draw both scans before and after, and return what is left."""
    from matplotlib.figure import Figure

    alg, rng = cr.Algebra.pga(3), np.random.default_rng(4)
    X = knot(np.linspace(0, 2 * np.pi, POINTS, endpoint=False))
    truth = pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 1, 2]), 1.9, 2.5)
    exact = pga.coordinates(truth >> pga.point(alg, X))
    Y = exact + NOISE * rng.standard_normal(X.shape)
    wrong = rng.random(POINTS) < WRONG
    Y[wrong] = exact[rng.permutation(POINTS)[: wrong.sum()]] * 0.4 + rng.standard_normal((wrong.sum(), 3)) + [4, 0, 0]

    plain = cr.motor_from_points(alg, X, Y)
    robust = cr.robust_motor_from_points(alg, X, Y)
    oracle = cr.motor_from_points(alg, X[~wrong], Y[~wrong])

    def away(M: cr.Multivector) -> float:
        images = pga.coordinates(M >> pga.point(alg, X))
        return float(np.sqrt(np.square(images - exact).sum(axis=-1).mean()))

    recovered = cr.motor_from_points(alg, X, exact) * np.sign(truth["1"])
    scaled, factor = cr.motor_from_points(alg, X, 3 * exact, scale=True)
    images = pga.coordinates(scaled >> pga.point(alg, factor * X))

    figure = Figure(figsize=(12, 4.6))
    for place, (title, M) in enumerate((("before", None), ("least squares", plain), ("robust", robust.motor)), 1):
        axes = figure.add_subplot(1, 3, place, projection="3d")
        moved = X if M is None else pga.coordinates(M >> pga.point(alg, X))
        axes.scatter(*Y[~wrong].T, s=3, color="tab:blue", label="second scan, right pairs")
        axes.scatter(*Y[wrong].T, s=3, color="0.75", label="wrong pairs")
        axes.plot(*np.append(moved, moved[:1], axis=0).T, color="tab:red", label="first scan")
        axes.set_title(title if M is None else f"{title}: {away(M):.3f} from the truth")
        axes.set_aspect("equal")
        axes.tick_params(labelsize=7, pad=-2)
    figure.legend(*axes.get_legend_handles_labels(), loc="lower center", ncols=3)
    figure.subplots_adjust(left=0.02, right=0.97, bottom=0.12, top=0.92, wspace=0.08)
    figure.savefig(folder / "registration.png", dpi=110)
    return {
        "wrong pairs": float(wrong.mean()),
        "distance of least squares from the truth": away(plain),
        "distance of the robust fit": away(robust.motor),
        "distance of the right pairs' own fit": away(oracle),
        "estimated noise": float(robust.noise),
        "error of the motor of exact pairs": float(np.abs((recovered - truth).values).max()),
        "error of a scaled copy": float(np.abs(images - 3 * exact).max()),
        "error of its scale": float(factor) - 3,
    }
