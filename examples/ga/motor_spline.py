"""A spline of motors: a smooth motion through given positions and attitudes, beside the piecewise screw motion.

Six poses of a box; `RotorSpline` goes through them with a continuous velocity, `slerp` (ScLERP) from one to the next on
screws, with jumps of the velocity at each.
"""

from pathlib import Path

import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

BOX = np.array([[x, y, z] for x in (-0.5, 0.5) for y in (-0.25, 0.25) for z in (-0.1, 0.1)])
EDGES = [(i, i ^ bit) for i in range(8) for bit in (1, 2, 4) if not i & bit]


def main(folder: Path) -> dict[str, float]:
    """Draw the motion and its speeds, and return how smooth it is."""
    from matplotlib.figure import Figure
    from scipy.spatial.transform import Rotation

    alg = cr.Algebra.pga(3)
    times = np.array([0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    places = np.array([[0, 0, 0], [2, 0.5, 0.5], [3, 2, 1.5], [2, 3.5, 2], [0, 3, 1.2], [-1, 1.5, 0.2]])
    turns = [[0, 0, 0], [40, 20, 0], [100, 10, 50], [160, -20, 90], [220, 0, 60], [280, 0, 0]]
    keys = pga.motor_from_rotation(alg, Rotation.from_euler("ZYX", turns, degrees=True), places)
    spline = cr.RotorSpline(times, keys)

    t = np.linspace(0, 5, 501)
    smooth = spline(t)
    piece = np.minimum(t.astype(int), 4)
    screws = pga.sclerp(keys[:-1][piece], keys[1:][piece], t - piece)
    angular = 2 * pga.norm(spline.velocity(t))
    pieces = 2 * pga.norm((~keys[:-1] * keys[1:]).log().grade(2))
    jumps = np.abs(np.diff(pieces))

    figure = Figure(figsize=(11, 5), layout="constrained")
    axes = figure.add_subplot(1, 2, 1, projection="3d")
    for motors, color, label in ((screws, "0.6", "screws (ScLERP)"), (smooth, "tab:blue", "spline")):
        axes.plot(*pga.coordinates(motors >> pga.point(alg, [0, 0, 0])).T, color=color, label=label)
    for M, color in [*((M, "tab:red") for M in keys), *((M, "tab:blue") for M in smooth[25::50])]:
        corners = pga.coordinates(M >> pga.point(alg, BOX))
        for i, j in EDGES:
            axes.plot(*corners[[i, j]].T, color=color, linewidth=1.6 if color == "tab:red" else 0.6)
    axes.set_aspect("equal")
    axes.legend(loc="upper left")
    axes.set_title("a box through six poses (red)")
    speed = figure.add_subplot(1, 2, 2)
    speed.plot(t, angular, color="tab:blue", label="spline")
    speed.stairs(pieces, times, color="0.6", baseline=None, label="screws")
    speed.set(xlabel="time", ylabel="angular velocity [rad]", title="the spline's velocity is continuous")
    speed.legend()
    figure.savefig(folder / "motor_spline.png", dpi=110)

    before, after = spline.velocity(times[1:-1] - 1e-13), spline.velocity(times[1:-1] + 1e-13)
    half = pga.sclerp(keys[0], keys[1], 0.5)
    sign = np.where((~spline(times) * keys).scalar_part() < 0, -1, 1)
    return {
        "largest jump of the screws' angular velocity": float(jumps.max()),
        "largest angular velocity of the spline": float(angular.max()),
        "error of the poses": float(np.abs((spline(times) - sign * keys).values).max()),
        "error of a continuous velocity": float(np.abs((before - after).values).max()),
        "error of half a screw, done twice": float(np.abs((half * ~keys[0] * half - keys[1]).values).max()),
        "error of M ~M = 1": float(np.abs((smooth * ~smooth - 1).values).max()),
    }
