"""Robots of seven joints: one configuration, 100,000 and gradients, beside Pinocchio and gafro if installed.

``python tests/benchmarks/bench_robots.py``; pip install pin pygafro urdf-parser-py. CPU time of the process: with two
threads it is that of both. Pinocchio's model is the same file, gafro's a Franka arm of seven joints.
"""

from pathlib import Path

import numpy as np
from timing import least, machine, seconds

from clifford_rand.presets import pga

FILE = Path(__file__).parents[1] / "clifford_rand" / "robots" / "urdf" / "arm7.urdf"
MANY, SOME = 100_000, 10_000


def functions(arm):
    return {
        "forward kinematics": lambda q, v, a: arm.forward_kinematics(q),
        "Jacobian": lambda q, v, a: arm.jacobian(q),
        "inverse dynamics": arm.inverse_dynamics,
        "mass matrix": lambda q, v, a: arm.mass_matrix(q),
        "forward dynamics": arm.forward_dynamics,
    }


def pinocchio():
    import pinocchio as pin

    model = pin.buildModelFromUrdf(str(FILE))
    data, frame = model.createData(), model.getFrameId("tool")

    def kinematics(q, v, a):
        pin.framesForwardKinematics(model, data, q)

    return {
        "forward kinematics": kinematics,
        "Jacobian": lambda q, v, a: pin.computeFrameJacobian(model, data, q, frame, pin.WORLD),
        "inverse dynamics": lambda q, v, a: pin.rnea(model, data, q, v, a),
        "mass matrix": lambda q, v, a: pin.crba(model, data, q),
        "forward dynamics": lambda q, v, a: pin.aba(model, data, q, v, a),
    }


def gafro():
    import pygafro

    arm = pygafro.FrankaEmikaRobot()
    return {
        "forward kinematics": lambda q, v, a: arm.getEEMotor(q),
        "Jacobian": lambda q, v, a: arm.getEEGeometricJacobian(q),
        "inverse dynamics": lambda q, v, a: arm.getJointTorques(q, v, a),
    }


def main():
    print(f"from_urdf {1e3 * seconds(lambda: pga.Robot.from_urdf(FILE)):.0f} ms")
    arm = pga.Robot.from_urdf(FILE)
    rng = np.random.default_rng(0)
    one, many = rng.uniform(-1, 1, (3, 7)), rng.uniform(-1, 1, (3, MANY, 7))
    print(f"\n{'ours':22}{'first call':>12}{'one':>12}{'one, clock':>12}{MANY:>12,}{'clock':>12}")
    for name, function in functions(arm).items():
        first = seconds(lambda f=function: f(*one))
        wall, cpu = least(lambda f=function: f(*one), 7, 2000)
        clock, batch = least(lambda f=function: f(*many), 5)
        print(f"{name:22}{first:10.2f} s{1e6 * cpu:9.1f} µs{1e6 * wall:9.1f} µs", end="")
        print(f"{1e3 * batch:9.1f} ms{1e3 * clock:9.1f} ms")
    for peer in (pinocchio, gafro):
        try:
            calls = peer()
        except ImportError as error:
            print(f"\n{peer.__name__}: {error}")
            continue
        print(f"\n{peer.__name__:22}{'one':>12}{'one, clock':>12}{f'loop of {MANY:,}':>18}")
        for name, function in calls.items():
            try:
                wall, cpu = least(lambda f=function: f(*one), 7, 2000)
            except TypeError as error:
                print(f"{name}: {str(error).splitlines()[0]}")
                continue
            rows = list(zip(*many, strict=True))
            _, loop = least(lambda f=function, rows=rows: [f(*row) for row in rows], 1)
            print(f"{name:22}{1e6 * cpu:9.1f} µs{1e6 * wall:9.1f} µs{1e3 * loop:15.1f} ms")
    gradients(arm, many[:, :SOME])
    machine("numba")


def gradients(arm, numbers):
    try:
        import torch
    except ImportError:
        return
    torch.set_num_threads(1)
    q, v, a = (torch.tensor(x, requires_grad=True) for x in numbers)
    print(f"\n{f'PyTorch, {SOME:,}':22}{'function':>12}{'with gradient':>15}")
    for name, function in {
        "end point": lambda: arm.link_matrix(q)[..., :3, 3].sum(),
        "torques": lambda: arm.inverse_dynamics(q, v, a).square().sum(),
    }.items():

        def both(function=function):
            function().backward()

        with torch.no_grad():
            _, plain = least(function)
        _, full = least(both)
        print(f"{name:22}{1e3 * plain:9.1f} ms{1e3 * full:12.1f} ms{full / plain:8.1f}")


if __name__ == "__main__":
    main()
