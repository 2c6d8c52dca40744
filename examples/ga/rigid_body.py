"""A rigid body: a T-handle turns about its middle axis and flips over, again and again (Dzhanibekov's effect).

A body is points with masses. Its momentum is a line, J = Σ m X ∨ (X × B), of the motion B, a bivector; the motor M and
the momentum obey

    dM/dt = -½ M B,   dJ/dt = ½ (B J - J B),   B = A⁻¹ J,

translation and rotation in one. The momentum in space, M J ~M, and the energy stay what they are.
"""

from pathlib import Path

import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

TIME, FRAMES = 16.0, 401
HANDLE = np.array([[0.0, y, 0] for y in np.linspace(-1, 1, 9)] + [[x, 0, 0] for x in np.linspace(0.15, 0.9, 6)])


def momentum(alg: cr.Algebra, points: cr.Multivector, masses: np.ndarray, B: cr.Multivector) -> cr.Multivector:
    """Return Σ m X ∨ (X × B), the joins of the points with their velocities."""
    total: cr.Multivector = (masses * (points & points.commutator(B))).sum()
    return total


def main(folder: Path) -> dict[str, float]:
    """Integrate, draw the tip's path and the angular velocity, and return what is conserved."""
    from matplotlib.figure import Figure
    from scipy.integrate import solve_ivp

    alg = cr.Algebra.pga(3)
    masses = np.full(len(HANDLE), 1 / len(HANDLE))
    shape = HANDLE - (masses[:, None] * HANDLE).sum(axis=0)  # its center of mass is at the origin
    points = pga.point(alg, shape)
    basis = [alg.multivector(row, 2) for row in np.eye(6)]
    inertia = np.stack([momentum(alg, points, masses, B).grade(2).values for B in basis], axis=-1)
    inverse = np.linalg.inv(inertia)

    def rate(_: float, state: np.ndarray) -> np.ndarray:
        M, J = alg.multivector(state[:8], (0, 2, 4)), alg.multivector(state[8:], 2)
        B = alg.multivector(inverse @ J.values, 2)
        return np.concatenate([(M * B * -0.5).values, B.commutator(J).values])

    second = np.square(shape[:, :2]).T @ masses
    moments = np.array([second[1], second[0], second.sum()])  # about e1, e2, e3
    middle = int(np.argsort(moments)[1])
    omega = np.full(3, 0.03)
    omega[middle] = 2.5
    drift = np.array([0.5, 0.0, 0.0])
    B = alg.multivector([*drift, omega[2], -omega[1], omega[0]], 2)
    J = momentum(alg, points, masses, B).grade(2)
    energy = float((B & J)["1"])
    times = np.linspace(0, TIME, FRAMES)
    exact = {"method": "DOP853", "rtol": 1e-13, "atol": 1e-13, "t_eval": times}
    solved = solve_ivp(rate, (0, TIME), np.concatenate([np.eye(8)[0], J.values]), **exact).y.T
    moved, lines = alg.multivector(solved[:, :8], (0, 2, 4)), alg.multivector(solved[:, 8:], 2)
    motions = alg.multivector(lines.values @ inverse.T, 2)
    spin = np.stack([motions["e23"], motions["e31"], motions["e12"]], axis=-1)

    def euler(_: float, w: np.ndarray) -> np.ndarray:
        rate: np.ndarray = np.cross(moments * w, w) / moments
        return rate

    theirs = solve_ivp(euler, (0, TIME), omega, **exact).y.T
    center = pga.coordinates(moved >> pga.point(alg, [0, 0, 0]))
    tip = pga.coordinates(moved >> points[-1])

    figure = Figure(figsize=(10, 7.5))
    axes = figure.add_axes((-0.3, 0.23, 1.6, 0.95), projection="3d")
    axes.plot(*tip.T, color="tab:red", linewidth=0.8, label="tip of the handle")
    axes.plot(*center.T, color="0.5", label="center of mass")
    for i in range(0, FRAMES, 25):
        place = pga.coordinates(moved[i] >> points)
        axes.plot(*place[:9].T, color="tab:blue", clip_on=False)
        axes.plot(*place[[4, *range(9, len(place))]].T, color="tab:blue", linewidth=2.5, clip_on=False)
    axes.set(xlim=(-1, 9), ylim=(-1.25, 1.25), zlim=(-1.25, 1.25))
    figure.legend(loc="upper right")
    axes.set(yticks=[-1, 0, 1], zticks=[-1, 0, 1])
    axes.set(box_aspect=(8, 2, 2))
    spins_axes = figure.add_axes((0.08, 0.08, 0.88, 0.33))
    spins_axes.plot(times, spin, label=[f"about e{i}" for i in (1, 2, 3)])
    spins_axes.plot(times[::12], theirs[::12], "k.", markersize=3, label=["Euler's equations", None, None])
    spins_axes.set(xlabel="time", ylabel="rad a unit of time, in the body")
    spins_axes.legend(loc="lower right", fontsize=8)
    figure.savefig(folder / "rigid_body.png", dpi=110)
    flips = int((np.diff(np.sign(spin[:, middle])) != 0).sum())
    return {
        "flips": float(flips),
        "moments of inertia: least": float(moments.min()),
        "error of the momentum in space": float(np.abs((moved * lines * ~moved - J).values).max()),
        "error of the energy": float(np.abs((motions & lines)["1"] / energy - 1).max()),
        "error of M ~M = 1": float(np.abs((moved * ~moved - 1).values).max()),
        "error of the center of mass, which goes straight": float(np.abs(center - times[:, None] * drift).max()),
        "error of the angular velocity beside Euler's equations": float(np.abs(spin - theirs).max()),
    }
