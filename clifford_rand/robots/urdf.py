"""Robots from URDF files, as the package urdf_parser_py reads them."""

from pathlib import Path
from typing import Any

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._optional import require
from clifford_rand.robots.formulas import frame_of
from clifford_rand.robots.tree import Joint, Link, inertia_about_origin, pose

OWNER = "Robot.from_urdf"
TURNING, SLIDING, FIXED = ("revolute", "continuous"), ("prismatic",), ("fixed",)


def read_urdf(path: Path) -> tuple[list[Link], list[Joint], str]:
    """Return the links, the joints and the name of the root of a URDF file."""
    parser = require("urdf_parser_py.urdf", extra="robots", purpose="Robot.from_urdf")
    text = path.read_bytes()
    try:
        robot = parser.URDF.from_xml_string(text)
        root = robot.get_root()
    except Exception as error:  # of the parser and its XML library: syntax errors, missing attributes, several roots
        raise fail("path", OWNER, "a URDF file of one robot", str(path), f"The parser says: {error}") from error
    return [_link(link) for link in robot.links], [_joint(joint) for joint in robot.joints], root


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
        raise fail("path", OWNER, f"a robot of joints {', '.join(TURNING + SLIDING + FIXED)}", describe(received), hint)
    axis = np.array((1.0, 0.0, 0.0) if joint.axis is None else joint.axis, dtype=np.float64)
    size = float(np.linalg.norm(axis))
    if joint.type not in FIXED and not size:
        raise fail("path", OWNER, "a robot whose joints have axes", describe(f"joint {joint.name!r} with axis 0 0 0"))
    twist = None
    if joint.type not in FIXED:
        u = tuple((axis / size).tolist())
        twist = (0.0, 0.0, 0.0, *u) if joint.type in SLIDING else (*u, 0.0, 0.0, 0.0)
    lower, upper = -np.inf, np.inf
    if joint.limit is not None and joint.type != "continuous":
        lower, upper = float(joint.limit.lower or 0), float(joint.limit.upper or 0)
    return Joint(joint.name, joint.parent, joint.child, _pose(joint.origin), twist, lower, upper)
