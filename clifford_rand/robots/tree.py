"""Trees of links and joints as arrays, from URDF files and from screws.

There is one body for each joint that moves; fixed joints are merged into the body before.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_choice, check_integer, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.errors import require
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.robots.formulas import Numbers, frame_of, inertia_in_parent, motor_product, reverse, twist_in_child

ONE = (1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
NO_INERTIA = (0.0,) * 10
BASES = ("fixed", "planar", "floating")
TURNING, SLIDING, FIXED = ("revolute", "continuous"), ("prismatic",), ("fixed",)


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
    check_choice(base, "base", owner, BASES)
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
        received = describe(f"link {loose!r}, which no joint ties to {root!r}")
        raise fail("joints", owner, "a tree with one root", received)
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


def read_urdf(path: Path) -> tuple[list[Link], list[Joint], str]:
    """Return the links, the joints and the name of the root of a URDF file."""
    parser = require("urdf_parser_py.urdf", extra="robots", purpose="Robot.from_urdf")
    text = path.read_bytes()
    try:
        robot = parser.URDF.from_xml_string(text)
        root = robot.get_root()
    except Exception as error:  # of the parser and its XML library: syntax errors, missing attributes, several roots
        raise _refused("a URDF file of one robot", str(path), f"The parser says: {error}") from error
    return [_link(link) for link in robot.links], [_joint(joint) for joint in robot.joints], root


def _refused(rule: str, received: str, hint: str = "") -> Exception:
    return fail("path", "Robot.from_urdf", rule, received, hint)


def _pose(origin: Any) -> Any:
    return pose(getattr(origin, "xyz", None) or (0, 0, 0), getattr(origin, "rpy", None) or (0, 0, 0))


def _link(link: Any) -> Link:
    inertial = link.inertial
    if inertial is None or not inertial.mass:
        return Link(link.name)
    frame = np.array(frame_of(_pose(inertial.origin)))
    R, center = frame[:9].reshape(3, 3), frame[9:]
    about_center = np.array(inertial.inertia.to_matrix()) if inertial.inertia is not None else np.zeros((3, 3))
    return Link(link.name, inertia_about_origin(inertial.mass, center, R @ about_center @ R.T))


def _joint(joint: Any) -> Joint:
    if joint.mimic is not None or joint.type not in TURNING + SLIDING + FIXED:
        received = f"joint {joint.name!r}, " + (f"a {joint.type} joint" if joint.mimic is None else "which has mimic")
        hint = "A moving base is base='planar' or 'floating'."
        raise _refused(f"a robot of joints {', '.join(TURNING + SLIDING + FIXED)}", describe(received), hint)
    axis = np.array((1.0, 0.0, 0.0) if joint.axis is None else joint.axis, dtype=np.float64)
    size = float(np.linalg.norm(axis))
    if joint.type not in FIXED and not size:
        raise _refused("a robot whose joints have axes", describe(f"joint {joint.name!r} with axis 0 0 0"))
    twist = None
    if joint.type not in FIXED:
        u = tuple((axis / size).tolist())
        twist = (0.0, 0.0, 0.0, *u) if joint.type in SLIDING else (*u, 0.0, 0.0, 0.0)
    lower, upper = -np.inf, np.inf
    if joint.limit is not None and joint.type != "continuous":
        lower, upper = float(joint.limit.lower or 0), float(joint.limit.upper or 0)
    return Joint(joint.name, joint.parent, joint.child, _pose(joint.origin), twist, lower, upper)


def tree_of_screws(
    screws: Multivector,
    home: Multivector | None,
    parents: Sequence[int] | None,
    inertial: tuple[ArrayLike | None, ArrayLike | None, ArrayLike | None],
    limits: tuple[ArrayLike | None, ArrayLike | None],
    base: str,
) -> Tree:
    """Return the tree of what `Robot` takes; ``inertial`` are masses, centers of mass and inertias about them."""
    twists = coefficients_of(screws, "screws", 2)[:, [5, 4, 3, 0, 1, 2]] * np.array([1, -1, 1, 1, 1, 1])
    n = len(twists)
    homes = np.tile(ONE, (n, 1)) if home is None else coefficients_of(home, "home", 0)
    tool = homes[0] if home is not None and home.ndim == 0 else None
    rest = [ONE] * n if tool is not None else [tuple(row.tolist()) for row in homes]
    if len(rest) != n:
        raise fail("home", "Robot", f"one motor, or {n}, one a joint", describe(f"shape {homes.shape[:-1]}"))
    before = list(range(-1, n - 1)) if parents is None else list(parents)
    if len(before) != n or any(
        check_integer(p, "parents", "Robot", low=-1, high=n - 1) == i for i, p in enumerate(before)
    ):
        raise fail("parents", "Robot", f"{n} numbers of other joints, or -1", parents)
    mass = _filled(inertial[0], "masses", (n,))
    center, inertia = _filled(inertial[1], "centers", (n, 3)), _filled(inertial[2], "inertias", (n, 3, 3))
    low, high = _filled(limits[0], "lower", (n,), -np.inf), _filled(limits[1], "upper", (n,), np.inf)
    names = ["base", *(f"link_{i + 1}" for i in range(n))]
    links = [
        Link("base"),
        *(Link(*row) for row in zip(names[1:], map(inertia_about_origin, mass, center, inertia), strict=True)),
    ]
    joints = []
    for i, twist in enumerate(twists.tolist()):
        at = ONE if before[i] < 0 else rest[before[i]]
        local = tuple(float(x) for x in twist_in_child(frame_of(rest[i]), twist))
        motor = motor_product(reverse(at), rest[i])
        joints.append(Joint(f"joint_{i + 1}", names[before[i] + 1], names[i + 1], motor, local, low[i], high[i]))
    if tool is not None:
        links.append(Link("tool"))
        joints.append(Joint("tool_joint", names[-1], "tool", tuple(tool.tolist()), None))
    return tree_of(links, joints, "base", base, "Robot")


def _filled(value: ArrayLike | None, name: str, shape: tuple[int, ...], default: float = 0.0) -> NDArray[Any]:
    if value is None:
        return np.full(shape, default)
    array = np.asarray(as_real(value, name, "Robot", finite=False), dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise fail(name, "Robot", f"of shape {shape}", describe(f"shape {array.shape}")) from None


def coefficients_of(A: Any, name: str, grade: int, of: str = "Robot") -> NDArray[Any]:
    """Return the coefficients (m, 6) of bivectors or (m, 8) of motors of space."""
    what, grades = ("bivectors, one a joint", (2,)) if grade == 2 else ("motors of length 1", (0, 2, 4))
    if not isinstance(A, Multivector) or A.algebra != Algebra.pga(3) or set(A.grades) - set(grades):
        raise fail(name, of, f"a multivector of Algebra.pga(3), {what}", A)
    array = np.asarray(as_real(A.on_keys(keys_of_grades(4, grades)).coefficients, name, of), dtype=np.float64)
    if grade == 2:
        if array.ndim != 2:
            raise fail(name, of, f"a multivector of Algebra.pga(3), {what}", describe(f"shape {A.shape}"))
        return array
    body = (array[..., [0, 4, 5, 6]] ** 2).sum(-1)
    study = (array[..., :4] * array[..., :3:-1] * [1, -1, 1, -1]).sum(-1)  # of ~M M, half of e0123
    if (np.abs(body - 1) > 1e-9).any() or (np.abs(study) > 1e-9 * (1 + np.abs(array).max(initial=0))).any():
        raise fail(name, of, what, describe("another multivector"), "Use pga.normalized.")
    return array.reshape(-1, 8) if of == "Robot" or array.ndim == 1 else array
