"""First part of the demo: a session of geometric algebra, and a picture of a motion."""

from pathlib import Path
from typing import Any

import numpy as np

import clifford_rand as cr
from clifford_rand.presets import pga
from clifford_rand_nn.cli.console import say
from clifford_rand_nn.displays import save_figure

_SESSION = """\
import numpy as np
import clifford_rand as cr
from clifford_rand.presets import pga

# a rotor: a quarter turn from e1 to e2 moves the vector (1, 0, 5)
alg = cr.Algebra(3)
rotor = (-np.pi / 4 * alg.e12).exp()
(rotor >> alg.vector([1.0, 0.0, 5.0])).values.round(6)

# a motor: half a turn about an upright axis through (1, 0, 0), and a shift by 2
# along it, move the point (0, 0, 0)
space = cr.Algebra.pga(3)
motor = pga.motor(space, pga.line(space, [1, 0, 0], [1, 0, 1]), np.pi, 2.0)
pga.coordinates(motor >> pga.point(space, [0.0, 0.0, 0.0])).round(6) + 0.0

# the cross product of 999 vectors in 1,000 dimensions: it is orthogonal to all,
# and its length is the volume that they span, the root of det(A A'): as logarithms
A = np.random.default_rng(0).standard_normal((999, 1000))
direction, log_length = cr.cross_log(A)
float(np.abs(A @ direction).max().round(9))
float(log_length.round(6)), float((np.linalg.slogdet(A @ A.T)[1] / 2).round(6))
"""


def show_session(session: str = _SESSION) -> dict[str, Any]:
    """Run lines of Python as in an interactive session, print them and their values, and return their variables."""
    variables: dict[str, Any] = {}
    for line in session.splitlines():
        if not line or line.startswith("#"):
            say(line)
            continue
        say(f">>> {line}")
        try:
            code = compile(line, "demo", "eval")
        except SyntaxError:
            exec(line, variables)  # an assignment, or an import
        else:
            say(str(eval(code, variables)))
    return variables


def draw_motion(path: Path) -> None:
    """Write the picture: a square, carried along a screw by powers of a motor."""
    from matplotlib.figure import Figure

    alg = cr.Algebra.pga(3)
    motor = pga.motor(alg, pga.line(alg, [1, 0, 0], [1, 0, 1]), 1.5 * np.pi, 2.0)
    logarithms: Any = np.linspace(0, 1, 21) * motor.log()
    poses = logarithms.exp()
    square = pga.point(alg, np.array([[0, -0.3, 0], [0, 0.3, 0], [0.6, 0.3, 0], [0.6, -0.3, 0], [0, -0.3, 0]]))
    figure = Figure((5, 5), layout="constrained")
    axes: Any = figure.add_subplot(projection="3d")
    for share, corners in zip(np.linspace(0, 1, 21), pga.coordinates(poses[:, None] >> square), strict=True):
        axes.plot(*corners.T, color=(0.0, 0.3 + 0.4 * share, 0.7 * (1 - share)))
    axes.plot([1, 1], [0, 0], [0, 2], "k--", linewidth=0.8)
    axes.set(title="Powers of one motor: three quarters of a turn, and a shift", xlabel="x", ylabel="y", zlabel="z")
    save_figure(figure, path)
