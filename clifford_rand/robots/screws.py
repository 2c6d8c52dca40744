"""Trees of joints from screws and home poses in coordinates of the base."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._checks import as_real, check_choice, check_integer, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.robots.formulas import frame_of, motor_product, reverse, twist_in_child
from clifford_rand.robots.tree import BASES, ONE, Joint, Link, Tree, inertia_about_origin, tree_of


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
    check_choice(base, "base", "Robot", BASES)
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
    study = (
        array[..., 0] * array[..., 7]
        - array[..., 1] * array[..., 6]
        + array[..., 2] * array[..., 5]
        - array[..., 3] * array[..., 4]
    )
    if (np.abs(body - 1) > 1e-9).any() or (np.abs(study) > 1e-9 * (1 + np.abs(array).max(initial=0))).any():
        raise fail(name, of, what, describe("another multivector"), "Use pga.normalized.")
    return array.reshape(-1, 8) if of == "Robot" or array.ndim == 1 else array
