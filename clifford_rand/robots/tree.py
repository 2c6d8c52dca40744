"""Trees of links and joints as arrays: one body for each joint that moves, fixed joints merged into the body before."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import describe, fail
from clifford_rand.robots.formulas import Numbers, frame_of, inertia_in_parent, motor_product

ONE = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_INERTIA = (0.0,) * 10
BASES = ("fixed", "planar", "floating")


class Link(NamedTuple):
    """A rigid body: ``inertia`` as `clifford_rand.robots.formulas` has it, about the origin of its frame."""

    name: str
    inertia: Numbers = NO_INERTIA


class Joint(NamedTuple):
    """A joint between two links.

    ``home`` is the motor of the child's frame from the parent's at rest, ``twist`` that of the joint in the child's
    frame for a unit of its value, None of a fixed one.
    """

    name: str
    parent: str
    child: str
    home: Numbers
    twist: Numbers | None
    lower: float = -np.inf
    upper: float = np.inf


class Tree(NamedTuple):
    """The arrays of compiled loops, and the names that go with them.

    ``joints`` (49, bodies) and ``parent`` (bodies,) are those of `clifford_rand.robots.loops`; ``places`` (links,) are
    the bodies of the links, and ``homes`` (8, links) the motors of the links from their bodies.
    """

    joints: NDArray[Any]
    parent: NDArray[np.int64]
    places: NDArray[np.int64]
    homes: NDArray[Any]
    link_names: tuple[str, ...]
    joint_names: tuple[str, ...]
    lower: NDArray[Any]
    upper: NDArray[Any]
    is_floating: bool


def inertia_about_origin(mass: float, center: Any, about_center: Any) -> Numbers:
    """Return an inertia from the matrix (3, 3) about the center of mass: I + m (c·c 1 - c cᵀ)."""
    c = np.asarray(center, dtype=np.float64)
    moment = np.asarray(about_center, dtype=np.float64) + mass * (c @ c * np.eye(3) - np.outer(c, c))
    return (float(mass), *(mass * c).tolist(), *moment[np.triu_indices(3)].tolist())


def pose(xyz: Any, rpy: Any) -> Numbers:
    """Return the motor of a turn by roll, pitch and yaw about the fixed axes x, y, z, and a translation after it."""
    x, y, z = (float(t) for t in xyz)
    motor = (1.0, -x / 2, -y / 2, -z / 2, 0.0, 0.0, 0.0, 0.0)
    for place, sign, angle in zip((4, 5, 6), (-1, 1, -1), reversed([float(t) for t in rpy]), strict=True):
        turn = [np.cos(angle / 2), *[0.0] * 7]
        turn[place] = sign * np.sin(angle / 2)
        motor = motor_product(motor, tuple(turn))
    return motor


def screw_constants(home: Numbers, twist: Numbers) -> tuple[float, ...]:
    """Return the 33 numbers of a joint: K0 to K3 of `joint_motor`, and half the angle for a unit of its value."""
    w, v = np.array(twist[:3]), np.array(twist[3:])
    rate = float(np.linalg.norm(w))
    u = w / rate if rate else w
    along = float(u @ v)  # a h of a screw
    moment = (v - along * u) / rate if rate else 0 * v
    slide = along * u if rate else v
    L = (0.0, *moment, u[2], -u[1], u[0], 0.0)
    ideal = (0.0, *slide, 0.0, 0.0, 0.0, 0.0)
    K1, K2 = motor_product(home, L), motor_product(home, ideal)
    K3 = motor_product(K1, ideal)
    turns = -1.0 if rate else 0.0
    rows = [home, [turns * x for x in K1], [-x / 2 for x in K2], [-turns * x / 2 for x in K3]]
    return (*(float(x) for row in rows for x in row), rate / 2)


def tree_of(links: Sequence[Link], joints: Sequence[Joint], root: str, base: str, owner: str) -> Tree:
    """Return the tree below a root; values of joints are in the order of the joints, each after those before it.

    A planar base has the joints base_x, base_y and base_theta before the root.
    """
    if base == "planar":
        turns = ((0, 0, 0, 1, 0, 0), (0, 0, 0, 0, 1, 0), (0, 0, 1, 0, 0, 0))
        between = ["world", "base_link_x", "base_link_y", root]
        names = ["base_x", "base_y", "base_theta"]
        steps = [Joint(names[k], between[k], between[k + 1], ONE, turns[k]) for k in range(3)]
        links, joints, root = [*map(Link, between[:3]), *links], [*steps, *joints], "world"
    inertias = {link.name: link.inertia for link in links}
    children: dict[str, list[Joint]] = {}
    for joint in joints:
        children.setdefault(joint.parent, []).append(joint)
    if len({joint.child for joint in joints}) != len(joints) or len(inertias) != len(links):
        raise fail("joints", owner, "a tree", describe("a link with two parents, or two links of one name"))
    place, home = {root: 0}, {root: ONE}
    parent, columns, moving = [-1], [np.zeros(39)], []
    stack = children.get(root, [])[::-1]
    while stack:
        joint = stack.pop()
        body, at = place[joint.parent], motor_product(home[joint.parent], joint.home)
        if joint.twist is None:
            place[joint.child], home[joint.child] = body, at
        else:
            place[joint.child], home[joint.child] = len(parent), ONE
            parent.append(body)
            columns.append(np.array([*screw_constants(at, joint.twist), *joint.twist]))
            moving.append(joint)
        stack += children.get(joint.child, [])[::-1]
    if set(place) != set(inertias):
        loose = sorted(set(place) ^ set(inertias))[0]
        raise fail(
            "joints", owner, "a tree with one root", describe(f"link {loose!r}, which no joint ties to {root!r}")
        )
    composite = np.zeros((10, len(parent)))
    for name, body in place.items():
        composite[:, body] += inertia_in_parent(frame_of(home[name]), inertias[name])
    return Tree(
        np.ascontiguousarray(np.vstack([np.transpose(columns), composite])),
        np.array(parent, dtype=np.int64),
        np.array(list(place.values()), dtype=np.int64),
        np.ascontiguousarray(np.transpose(list(home.values()))),
        tuple(place),
        tuple(joint.name for joint in moving),
        np.array([joint.lower for joint in moving]),
        np.array([joint.upper for joint in moving]),
        base == "floating",
    )
