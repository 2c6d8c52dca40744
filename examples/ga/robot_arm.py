"""A robot arm: its tool draws a circle, by the product of exponentials and inverse kinematics.

The joints of a UR5 are six lines of space. Motors of the lines give the tool's place, the lines where they are now the
Jacobian, and damped least-squares steps the joint angles for every pose of the tool on a circle, all poses at once.
"""

from pathlib import Path

import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga

# a UR5 in metres: K. M. Lynch and F. C. Park, Modern Robotics, 2017, example 4.5
W1, W2, L1, L2, H1, H2 = 0.109, 0.082, 0.425, 0.392, 0.089, 0.095
AXES = np.array(  # a point of each axis at rest, and its direction
    [
        [[0, 0, 0], [0, 0, 1]],
        [[0, 0, H1], [0, 1, 0]],
        [[L1, 0, H1], [0, 1, 0]],
        [[L1 + L2, 0, H1], [0, 1, 0]],
        [[L1 + L2, W1, 0], [0, 0, -1]],
        [[L1 + L2, 0, H1 - H2], [0, 1, 0]],
    ]
)
REST = np.array([[-1, 0, 0, L1 + L2], [0, 0, 1, W1 + W2], [0, 1, 0, H1 - H2], [0, 0, 0, 1]])
BOOK = [[0, -1, 0, 0.095], [1, 0, 0, 0.109], [0, 0, 1, 0.988], [0, 0, 0, 1]]  # at 0, -π/2, 0, 0, π/2, 0
JOINTS = np.array(
    [
        [0, 0, 0],
        [0, 0, H1],
        [L1, 0, H1],
        [L1 + L2, 0, H1],
        [L1 + L2, W1, H1],
        [L1 + L2, W1, H1 - H2],
        [L1 + L2, W1 + W2, H1 - H2],
    ]
)
POSES = 73


def main(folder: Path) -> dict[str, float]:
    """Solve for the circle, draw the arm and its angles, and return how well the tool keeps to it."""
    from matplotlib.figure import Figure

    alg = cr.Algebra.pga(3)
    screws = pga.screw_axis(alg, pga.line(alg, AXES[:, 0], pga.direction(alg, AXES[:, 1])))
    arm = pga.Robot(screws, pga.motor_from_matrix(alg, REST))
    book = arm.link_matrix(np.pi / 2 * np.array([0, -1, 0, 0, 1, 0]))

    # the tool looks down on a table and goes round
    turn = np.linspace(0, 2 * np.pi, POSES)
    circle = np.stack([0.45 + 0.15 * np.cos(turn), 0.1 + 0.15 * np.sin(turn), np.full(POSES, 0.1)], axis=-1)
    poses = np.tile(np.diag([1.0, -1, -1, 1]), (POSES, 1, 1))
    poses[:, :3, 3] = circle
    targets = pga.motor_from_matrix(alg, poses)
    start = np.array([0.0, -1.2, 1.6, -2.0, -1.5, 0.0])
    found = arm.inverse_kinematics(targets, start, length=0.2)
    q = found.q
    reached = arm.link_matrix(q)

    step = 1e-6 * np.eye(6)
    ahead, back = (arm.link_matrix(q[0] + s)[:, :3, 3] for s in (step, -step))
    slope = (ahead - back).T / 2e-6

    figure = Figure(figsize=(11, 5))
    axes = figure.add_subplot(1, 2, 1, projection="3d")
    for i, alpha in ((0, 1.0), (12, 0.25), (24, 0.25), (36, 0.5), (48, 0.25), (60, 0.25)):
        moved = arm.link_motors(q[i])
        carried = [1, 1, 2, 3, 4, 5, 6]  # the link that carries each point of the arm
        places = pga.coordinates(moved[carried] >> pga.point(alg, JOINTS))
        axes.plot(*places.T, "o-", color="tab:blue", linewidth=3, markersize=4, alpha=alpha)
    axes.plot(*circle.T, color="0.6", linewidth=4, label="wanted")
    axes.plot(*reached[:, :3, 3].T, color="tab:red", label="the tool")
    axes.set_aspect("equal")
    axes.set(xticks=[0, 0.2, 0.4, 0.6], yticks=[-0.1, 0, 0.1, 0.2])
    axes.legend(loc="upper left")
    axes.set_title("postures on the circle")
    angles = figure.add_subplot(1, 2, 2)
    angles.plot(np.degrees(turn), np.degrees(q), label=[f"joint {i}" for i in range(1, 7)])
    angles.set(xlabel="place on the circle [°]", ylabel="angle [°]", title="joint angles")
    angles.legend(ncols=2, fontsize=8)
    figure.subplots_adjust(left=0.02, right=0.97, bottom=0.11, top=0.92, wspace=0.15)
    figure.savefig(folder / "robot_arm.png", dpi=110)
    return {
        "steps": float(found.n_iter),
        "poses reached of 73": float(found.converged.sum()),
        "largest turn of a joint between poses [rad]": float(np.abs(np.diff(q, axis=0)).max()),
        "error of the book's posture": float(np.abs(book - BOOK).max()),
        "error of the tool's places": float(np.abs(reached[:, :3, 3] - circle).max()),
        "error of the tool's attitudes": float(np.abs(reached - poses)[:, :3, :3].max()),
        "error of the Jacobian beside differences": float(np.abs(slope - arm.jacobian(q[0], frame="mixed")[3:]).max()),
    }
