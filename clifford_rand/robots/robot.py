"""Robots as trees of screws: kinematics, dynamics and inverse kinematics for one configuration or batches."""

import math
from collections.abc import Callable, Sequence
from typing import Any, Self

import numpy as np

from clifford_rand._checks import (
    as_generator,
    as_real,
    check_choice,
    check_integer,
    check_number,
    check_path,
    check_positive,
    describe,
    fail,
    one_batch,
)
from clifford_rand._threads import cached_property, for_each_slice
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.arrays import as_tensor, is_tensor, namespace
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.compiler.decorator import has_compiler
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.robots.arrays import ArrayRobot
from clifford_rand.robots.formulas import Numbers, frame_of, motor_product, twist_in_child
from clifford_rand.robots.search import InverseKinematics, motion_twist, search
from clifford_rand.robots.tree import BASES, ONE, Joint, Link, Tree, inertia_about_origin, tree_of
from clifford_rand.robots.urdf import read_urdf

FRAMES = ("space", "body", "mixed")
_THREAD = 20_000  # joints × configurations that are worth a thread: a millisecond

Configuration = Any  # array_like of shape (..., n) or a tensor


class Robot:
    """A tree of rigid bodies and joints, from a URDF file (`Robot.from_urdf`) or from screws.

    Joints turn, slide or screw. A configuration q has the shape (..., n), a value for each joint that moves in the
    order of ``joint_names``; v and a are its velocities and accelerations. All functions take one configuration or
    batches, arrays or tensors of PyTorch and JAX with their gradients.

    Parameters
    ----------
    screws : Multivector of shape (n,)
        `screw_axis` and `slide_axis` of the joints at rest, q = 0, in coordinates of the base.
    home : Multivector of shape (n,) or (), optional
        Motors of the links' frames at rest, the frame of the base by default. A single motor is that of a link
        ``"tool"`` at the end of the last one.
    parents : sequence of n int, optional
        For each joint the number of the joint before it, -1 for the base; a chain by default.
    masses, centers, inertias : array_like of shape (n,), (n, 3), (n, 3, 3), optional
        Of the links, in their frames; the inertias about the centers of mass.
    lower, upper : array_like of shape (n,), optional
        Limits of the joints, which only `inverse_kinematics` regards.
    gravity : array_like of shape (3,), default=(0, 0, -9.81)
    base : {"fixed", "planar", "floating"}, default="fixed"
        A planar base has three joints before all others: base_x, base_y, base_theta. A floating one has its motor, 8
        numbers, before the joints' values in q, and its twist in its own frame, 6 numbers, before theirs in v and a.

    Attributes
    ----------
    joint_names, link_names : tuple of str
    lower, upper : ndarray of shape (n,)
        Limits of the joints.
    algebra : Algebra
        ``Algebra.pga(3)``.

    Notes
    -----
    Motors have the coefficients of 1, e01, e02, e03, e12, e13, e23, e0123 and take the coordinates of a link to those
    of the base. Twists are (w, v), the angular velocity first, v the velocity of the point at the origin of the frame;
    forces and torques follow: J q̇ is a twist, Jᵀ (moment, force) the torques. The first call of a function loads or
    compiles machine code, which later processes find on the disk.

    References
    ----------
    R. Featherstone, Rigid Body Dynamics Algorithms, 2008; K. M. Lynch and F. C. Park, Modern Robotics, 2017.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> lines = pga.line(alg, [[0, 0, 0], [1, 0, 0]], pga.direction(alg, [0, 0, 1]))  # two links of length 1
    >>> arm = pga.Robot(pga.screw_axis(alg, lines), pga.translator(alg, [2, 0, 0]))
    >>> tool = arm.forward_kinematics([np.pi / 2, -np.pi / 2])
    >>> pga.coordinates(tool >> pga.point(alg, [0, 0, 0])).round(12) + 0.0
    array([1., 1., 0.])
    """

    def __init__(
        self,
        screws: Multivector,
        home: Multivector | None = None,
        *,
        parents: Sequence[int] | None = None,
        masses: ArrayLike | None = None,
        centers: ArrayLike | None = None,
        inertias: ArrayLike | None = None,
        lower: ArrayLike | None = None,
        upper: ArrayLike | None = None,
        gravity: ArrayLike = (0.0, 0.0, -9.81),
        base: str = "fixed",
    ) -> None:
        twists = _coefficients(screws, "screws", 2)[:, [5, 4, 3, 0, 1, 2]] * np.array([1, -1, 1, 1, 1, 1])
        n = len(twists)
        homes = np.tile(ONE, (n, 1)) if home is None else _coefficients(home, "home", 0)
        tool = homes[0] if home is not None and home.ndim == 0 else None
        rest = [ONE] * n if tool is not None else [tuple(row.tolist()) for row in homes]
        if len(rest) != n:
            raise fail("home", "Robot", f"one motor, or {n}, one a joint", describe(f"shape {home.shape}"))  # type: ignore[union-attr]
        before = list(range(-1, n - 1)) if parents is None else list(parents)
        if len(before) != n or any(
            check_integer(p, "parents", "Robot", low=-1, high=n - 1) == i for i, p in enumerate(before)
        ):
            raise fail("parents", "Robot", f"{n} numbers of other joints, or -1", parents)
        mass = _filled(masses, "masses", (n,))
        center, inertia = _filled(centers, "centers", (n, 3)), _filled(inertias, "inertias", (n, 3, 3))
        low, high = _filled(lower, "lower", (n,), -np.inf), _filled(upper, "upper", (n,), np.inf)
        names = ["base", *(f"link_{i + 1}" for i in range(n))]
        links = [
            Link("base"),
            *(Link(*row) for row in zip(names[1:], map(inertia_about_origin, mass, center, inertia), strict=True)),
        ]
        joints = []
        for i, twist in enumerate(twists.tolist()):
            at = ONE if before[i] < 0 else rest[before[i]]
            local = tuple(float(x) for x in twist_in_child(frame_of(rest[i]), twist))
            motor = motor_product(_reverse(at), rest[i])
            joints.append(Joint(f"joint_{i + 1}", names[before[i] + 1], names[i + 1], motor, local, low[i], high[i]))
        if tool is not None:
            links.append(Link("tool"))
            joints.append(Joint("tool_joint", names[-1], "tool", tuple(tool.tolist()), None))
        check_choice(base, "base", "Robot", BASES)
        self._set(tree_of(links, joints, "base", base, "Robot"), gravity)

    @classmethod
    def from_urdf(cls, path: Any, *, gravity: ArrayLike = (0.0, 0.0, -9.81), base: str = "fixed") -> Self:
        """Return the robot of a URDF file: revolute, continuous, prismatic and fixed joints, inertias and limits.

        The frame of a link is that of the joint before it. Meshes, mimics and transmissions are not read. Values of
        joints are in the order of the file, from the root on, one branch after the other.

        Parameters
        ----------
        path : str or path
        gravity, base
            As for `Robot`.

        Raises
        ------
        MissingDependencyError
            Without the package urdf_parser_py (``pip install "clifford-rand[robots]"``).
        ArgumentError
            For a file that is not URDF, and joints of other kinds.

        Examples
        --------
        >>> arm = pga.Robot.from_urdf("arm.urdf")  # doctest: +SKIP
        >>> arm.inverse_dynamics(q, v, a)  # doctest: +SKIP
        """
        file = check_path(path, "path", "Robot.from_urdf")
        check_choice(base, "base", "Robot.from_urdf", BASES)
        links, joints, root = read_urdf(file)
        robot = cls.__new__(cls)
        robot._set(tree_of(links, joints, root, base, "Robot.from_urdf"), gravity)
        return robot

    def _set(self, tree: Tree, gravity: ArrayLike) -> None:
        self._tree = tree
        self.algebra = Algebra.pga(3)
        self.joint_names, self.link_names = tree.joint_names, tree.link_names
        self.lower, self.upper = tree.lower, tree.upper
        g = np.asarray(as_real(gravity, "gravity", "Robot"), dtype=np.float64)
        if g.shape != (3,):
            raise fail("gravity", "Robot", "of shape (3,)", describe(f"shape {g.shape}"))
        self._gravity: tuple[float, ...] = tuple(g.tolist())
        self._keys = keys_of_grades(4, (0, 2, 4))
        self._first, n = 8 if tree.is_floating else 0, len(tree.joint_names)
        self._sizes = {"q": n + self._first, "v": n + 6 * tree.is_floating}
        self._least = max(1, _THREAD // (n + 1))
        self._single = {
            name: (tree.places[k : k + 1], tree.homes[:, k : k + 1].copy()) for k, name in enumerate(tree.link_names)
        }

    def __repr__(self) -> str:
        base = ", floating" if self._first else ""
        return f"<Robot: {len(self.joint_names)} joints, {len(self.link_names)} links{base}>"

    # ---- kinematics

    def forward_kinematics(self, q: Configuration, link: str | None = None) -> Multivector:
        """Return the motors (...) of a link, the last one by default, in coordinates of the base.

        Raises
        ------
        ArgumentError
            If there is no such link, or q has another shape.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> lift = pga.Robot(pga.slide_axis(alg, [[0, 0, 1]]))
        >>> pga.coordinates(lift.forward_kinematics([[1.0], [2.0]]) >> pga.point(alg, [0, 0, 0])) + 0.0
        array([[0., 0., 1.],
               [0., 0., 2.]])
        """
        k = self._link(link, "forward_kinematics")
        if not self._by_loops(q):
            return self._motors(self._arrays(q).link_motors(self._array(q, "q", "forward_kinematics"), [k])[..., 0, :])
        places, homes = self._single[self.link_names[k]]
        return self._motors(self._motor_rows(q, places, homes, "forward_kinematics")[..., 0, :])

    def link_motors(self, q: Configuration) -> Multivector:
        """Return the motors (..., links) of all links, in the order of ``link_names``.

        Examples
        --------
        >>> arm = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1], [0, 0, 1]]))
        >>> arm.link_names, abs(pga.motor_to_matrix(arm.link_motors([1.0, 2.0]))[:, 2, 3]).tolist()
        (('base', 'link_1', 'link_2'), [0.0, 1.0, 3.0])
        """
        if not self._by_loops(q):
            array = self._array(q, "q", "link_motors")
            return self._motors(self._arrays(q).link_motors(array, range(len(self.link_names))))
        return self._motors(self._motor_rows(q, self._tree.places, self._tree.homes, "link_motors"))

    def link_matrix(self, q: Configuration, link: str | None = None) -> Any:
        """Return the matrices (..., 4, 4) of a link, the last one by default: [[R, p], [0, 1]].

        Examples
        --------
        >>> pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1]])).link_matrix([2.0])[:, 3].tolist()
        [0.0, 0.0, 2.0, 1.0]
        """
        M = self.forward_kinematics(q, link).coefficients
        xp = namespace(M) if is_tensor(M) else np
        X = frame_of(tuple(M[..., k] for k in range(8)))
        zero = M[..., 0] * 0
        rows = [[*X[3 * i : 3 * i + 3], X[9 + i]] for i in range(3)] + [[zero, zero, zero, zero + 1]]
        return xp.stack([xp.stack(row, -1) for row in rows], -2)

    def jacobian(self, q: Configuration, link: str | None = None, frame: str = "space") -> Any:
        """Return the twists (..., 6, n) of a link for unit velocities: its twist is J v, angular before linear.

        Parameters
        ----------
        q : array_like of shape (..., n)
        link : str, optional
            The last one by default.
        frame : {"space", "body", "mixed"}, default="space"
            In the frame of the base, in that of the link, or the velocity of the link's origin along the axes of the
            base.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> lines = pga.line(alg, [[0, 0, 0], [1, 0, 0]], pga.direction(alg, [0, 0, 1]))
        >>> arm = pga.Robot(pga.screw_axis(alg, lines), pga.translator(alg, [2, 0, 0]))
        >>> arm.jacobian([0.0, 0.0], frame="mixed")[4].tolist()  # how the tool moves along y
        [2.0, 1.0]
        """
        k, view = self._link(link, "jacobian"), FRAMES.index(check_choice(frame, "frame", "jacobian", FRAMES))
        if not self._by_loops(q):
            return self._arrays(q).jacobian(self._array(q, "q", "jacobian"), k, view)
        place, tree = (int(self._tree.places[k]), k), self._tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.jacobians(tree.joints, tree.parent, self._first, place, tree.homes, view, *rows, part, out)

        return self._run(fill, {"q": q}, (6, self._sizes["v"]), "jacobian")

    def manipulability(self, q: Configuration, link: str | None = None) -> Any:
        """Return √det(J Jᵀ) (...) of a link, zero where it cannot move in all directions (Yoshikawa 1985).

        With fewer than six velocities it is √det(Jᵀ J). J is that of frame "mixed": units of length count.

        Examples
        --------
        >>> float(pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 3.0]])).manipulability([0.0]).round(12))
        3.0
        """
        J = self.jacobian(q, link, "mixed")
        xp = namespace(J) if is_tensor(J) else np
        T = xp.matrix_transpose(J)
        det = xp.linalg.det(J @ T if J.shape[-1] >= 6 else T @ J)
        return xp.sqrt(xp.where(det > 0, det, det * 0))

    @one_batch
    def inverse_kinematics(
        self,
        target: Multivector,
        q: ArrayLike | None = None,
        link: str | None = None,
        *,
        length: float = 1.0,
        tolerance: float = 1e-10,
        max_steps: int = 100,
        restarts: int = 0,
        rng: Any = None,
    ) -> InverseKinematics:
        """Return joint values within the limits that bring a link to its target, from ``q`` on.

        Steps are those of `damped_step`; a joint at its limit stays there while the step would pass it.

        Parameters
        ----------
        target : Multivector of shape (...)
        q : array_like of shape (..., n), optional
            Where to start; the middle of the limits, or 0, by default.
        link : str, optional
        length : float, default=1
            The length that counts as much as a radian.
        tolerance : float, default=1e-10
            Of the error, in radians and lengths over ``length``.
        max_steps : int, default=100
        restarts : int, default=0
            How often the search starts again, from random values within the limits, where the target was not reached.
        rng : Generator or int, optional
            Of the restarts.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> gantry = pga.Robot(pga.slide_axis(alg, [[1, 0, 0], [0, 1, 0]]), upper=[1, 1])
        >>> found = gantry.inverse_kinematics(pga.translator(alg, [[0.5, 1, 0], [2, 1, 0]]))
        >>> found.q.round(6).tolist(), found.converged.tolist()
        ([[0.5, 1.0], [1.0, 1.0]], [True, False])
        """
        owner = "inverse_kinematics"
        max_steps, restarts = (
            check_integer(max_steps, "max_steps", owner),
            check_integer(restarts, "restarts", owner, low=0),
        )
        rule = "a number from 1e-100 to 1e100"
        length = check_number(length, "length", owner, rule, lambda value: 1e-100 <= value <= 1e100)
        tolerance = check_positive(tolerance, "tolerance", owner)
        if self._first:
            raise fail("base", owner, "'fixed' or 'planar'", "floating", "A base that floats reaches every pose.")
        goal, name = _coefficients(target, "target", 0, of=owner), self.link_names[self._link(link, owner)]
        goal = goal if target.ndim else goal[0]
        limits = self.lower, self.upper
        low, high = (np.where(np.isfinite(x), x, y) for x, y in zip(limits, (-np.pi, np.pi), strict=True))
        start = np.clip((low + high) / 2 if q is None else self._array(q, "q", owner), *limits)
        goal = np.broadcast_to(goal, (*np.broadcast_shapes(goal.shape[:-1], start.shape[:-1]), 8))
        start = np.broadcast_to(start, (*goal.shape[:-1], start.shape[-1]))
        weights = np.repeat([1.0, 1 / length], 3)

        def errors(at: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
            M = self.forward_kinematics(at, name).coefficients
            left = motor_product(_reverse(tuple(np.moveaxis(M, -1, 0))), tuple(np.moveaxis(goal, -1, 0)))
            V = motion_twist(np.stack(left, axis=-1))
            return V * weights, self.jacobian(at, name, "body") * weights[:, None]

        def size(V: NDArray[Any]) -> Any:
            return np.linalg.norm(V, axis=-1)

        found = search(errors, start, size, tolerance, max_steps, limits)
        generator = as_generator(rng, owner)
        for _ in range(restarts):
            if np.all(found.converged):
                break
            again = search(errors, generator.uniform(low, high, start.shape), size, tolerance, max_steps, limits)
            better = again.error < found.error
            found = InverseKinematics(
                np.where(better[..., None], again.q, found.q),
                np.where(better, again.error, found.error)[()],
                found.steps + again.steps,
                np.where(better, again.converged, found.converged)[()],
            )
        return found

    # ---- dynamics

    @one_batch
    def inverse_dynamics(self, q: Configuration, v: Configuration, a: Configuration) -> Any:
        """Return the forces and torques (..., n) of the joints that cause accelerations: M(q) a + bias(q, v).

        By the recursion of Newton and Euler, in the frames of the bodies.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> lift = pga.Robot(pga.slide_axis(alg, [[0, 0, 1]]), masses=[2.0])
        >>> lift.inverse_dynamics([0.0], [0.0], [1.0]).round(12)
        array([21.62])
        """
        return self._forces(q, v, a, self._gravity, "inverse_dynamics")

    def bias_forces(self, q: Configuration, v: Configuration) -> Any:
        """Return the forces (..., n) that keep all accelerations zero: gravity, centrifugal and Coriolis forces.

        Examples
        --------
        >>> lift = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1]]), masses=[2.0])
        >>> lift.bias_forces([0.0], [5.0]).round(12)
        array([19.62])
        """
        return self._forces(q, v, v * 0 if is_tensor(v) else np.zeros(self._sizes["v"]), self._gravity, "bias_forces")

    def gravity_forces(self, q: Configuration) -> Any:
        """Return the forces (..., n) that hold the robot at rest.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> arm = pga.Robot(pga.screw_axis(alg, pga.line(alg, [[0, 0, 0]], pga.direction(alg, [0, -1, 0]))),
        ...                 masses=[1.0], centers=[[0.5, 0, 0]])
        >>> arm.gravity_forces([[0.0], [np.pi / 2]]).round(12).tolist()
        [[4.905], [0.0]]
        """
        rest = q[..., : self._sizes["v"]] * 0 if is_tensor(q) else np.zeros(self._sizes["v"])
        return self._forces(q, rest, rest, self._gravity, "gravity_forces")

    def mass_matrix(self, q: Configuration) -> Any:
        """Return the mass matrices (..., n, n), symmetric: the kinetic energy is vᵀ M v / 2.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> pga.Robot(pga.slide_axis(alg, [[0, 0, 1], [1, 0, 0]]), masses=[2.0, 1.0]).mass_matrix([0.0, 0.0])
        array([[3., 0.],
               [0., 1.]])
        """
        if not self._by_loops(q):
            return self._arrays(q).mass_matrix(self._array(q, "q", "mass_matrix"))
        tree = self._tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.mass_matrices(tree.joints, tree.parent, self._first, *rows, part, out)

        return self._run(fill, {"q": q}, (self._sizes["v"],) * 2, "mass_matrix")

    @one_batch
    def forward_dynamics(self, q: Configuration, v: Configuration, tau: Configuration) -> Any:
        """Return the accelerations (..., n) that forces of the joints cause: M(q)⁻¹ (tau - bias(q, v)).

        Raises
        ------
        ArgumentError
            If the mass matrix is singular: a joint moves no mass.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> lift = pga.Robot(pga.slide_axis(alg, [[0, 0, 1]]), masses=[2.0])
        >>> lift.forward_dynamics([0.0], [0.0], [0.0])
        array([-9.81])
        """
        M, bias = self.mass_matrix(q), self.bias_forces(q, v)
        if is_tensor(M):
            return namespace(M).linalg.solve(M, (tau - bias)[..., None])[..., 0]
        rest = np.asarray(as_real(tau, "tau", "forward_dynamics"), dtype=np.float64) - bias
        try:
            return np.linalg.solve(M, rest[..., None])[..., 0]
        except np.linalg.LinAlgError:
            hint = "Every joint has to move a mass or an inertia."
            raise fail("q", "forward_dynamics", "of a regular mass matrix", describe("a singular one"), hint) from None

    def energy(self, q: Configuration, v: Configuration) -> Any:
        """Return the kinetic and potential energy (...), vᵀ M v / 2 - Σ m g·c, of all bodies that move.

        Examples
        --------
        >>> lift = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1]]), masses=[2.0])
        >>> float(lift.energy([1.0], [3.0]).round(12))
        28.62
        """
        M = self.mass_matrix(q)
        speeds = v if is_tensor(v) else self._array(v, "v", "energy")
        kinetic = (speeds * (M @ speeds[..., None])[..., 0]).sum(-1) / 2
        tree, n = self._tree, len(self._tree.parent)
        if self._by_loops(q):
            motors = self._motor_rows(q, np.arange(n), np.tile(np.array([ONE]).T, n), "energy")
        else:
            motors = self._arrays(q).body_motors(self._array(q, "q", "energy"))
        for i in range(0 if tree.is_floating else 1, n):
            X, H = frame_of(tuple(motors[..., i, k] for k in range(8))), tree.joints[39:43, i].tolist()
            for k, g in enumerate(self._gravity):
                if g:
                    kinetic = kinetic - g * (sum(X[3 * k + j] * H[1 + j] for j in range(3)) + H[0] * X[9 + k])
        return kinetic

    @one_batch
    def moved(self, q: Configuration, step: Configuration) -> Any:
        """Return configurations after a step (..., n), v times a time: q + step but for the motor of a floating base.

        That is M exp(-B/2), B the bivector of its part of the step.

        Examples
        --------
        >>> body = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1.0]]), base="floating")
        >>> body.moved([1, 0, 0, 0, 0, 0, 0, 0, 5.0], [0, 0, 0, 2, 0, 0, 1.0]).tolist()
        [1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0]
        """
        start, change = self._array(q, "q", "moved"), self._array(step, "v", "moved")
        if not self._first:
            return start + change
        turn = self.algebra.new(
            keys_of_grades(4, (2,)), change[..., [3, 4, 5, 2, 1, 0]] * np.array([1, 1, 1, 1, -1, 1])
        )
        factor = (turn / -2).exp().select_keys(self._keys).coefficients
        M = motor_product(*(tuple(x[..., k] for k in range(8)) for x in (start, factor)))
        rest = start[..., 8:] + change[..., 6:]
        return np.concatenate([np.stack(M, axis=-1), rest], axis=-1)

    # ---- arrays and loops

    def _link(self, link: str | None, owner: str) -> int:
        if link is None:
            return len(self.link_names) - 1
        return self.link_names.index(check_choice(link, "link", owner, self.link_names))

    def _motors(self, coefficients: Any) -> Multivector:
        if is_tensor(coefficients):
            return self.algebra.multivector(coefficients, grades=(0, 2, 4))
        return self.algebra.new(self._keys, coefficients)

    @cached_property
    def _by_library(self) -> dict[str, ArrayRobot]:
        return {}

    def _arrays(self, q: Any) -> ArrayRobot:
        xp = namespace(q) if is_tensor(q) else np
        robot = self._by_library.get(xp.__name__)
        return self._by_library.setdefault(xp.__name__, ArrayRobot(self._tree, xp)) if robot is None else robot

    def _by_loops(self, *arguments: Any) -> bool:
        return has_compiler() and not any(x.__class__ is not np.ndarray and is_tensor(x) for x in arguments)

    def _array(self, value: Any, name: str, owner: str) -> Any:
        """Return a configuration, or velocities ("v"), as a float64 array or the tensor that it is."""
        if type(value) is np.ndarray and value.dtype == np.float64:
            array: Any = value
        elif is_tensor(value):
            array = as_tensor(value, name, owner)
        else:
            array = np.asarray(as_real(value, name, owner, finite=False), dtype=np.float64)
        size = self._sizes["q" if name == "q" else "v"]
        if array.ndim == 0 or array.shape[-1] != size:
            raise fail(name, owner, f"of shape (..., {size})", describe(f"shape {tuple(array.shape)}"))
        if array.__class__ is np.ndarray and not math.isfinite(np.vdot(array, array)) and not np.isfinite(array).all():
            raise fail(name, owner, "finite", describe("NaN or infinite entries"))
        return array

    def _run(
        self, fill: Callable[..., None], named: dict[str, Any], shape: tuple[int, ...], owner: str
    ) -> NDArray[Any]:
        """Return an array (..., *shape) that a loop fills, in threads where there is much to do."""
        arrays = [self._array(value, name, owner) for name, value in named.items()]
        batch = arrays[0].shape[:-1]
        for array in arrays:
            if array.shape[:-1] != batch:
                batch = np.broadcast_shapes(*(array.shape[:-1] for array in arrays))
                arrays = [np.broadcast_to(array, (*batch, array.shape[-1])) for array in arrays]
                break
        count = math.prod(batch)
        rows = []
        for array in arrays:
            flags = array.flags
            if not (flags.c_contiguous and flags.writeable):  # of one kind: there is one machine code
                array = np.array(array, order="C")
            rows.append(array.reshape(count, array.shape[-1]))
        out = np.empty((count, *shape))
        if count < 2 * self._least:
            if count:
                fill(self._loops, rows, (0, count), out)
        else:
            for_each_slice(lambda part: fill(self._loops, rows, (part.start, part.stop), out), count, least=self._least)
        return out[0] if not batch else out.reshape(*batch, *shape)

    @cached_property
    def _loops(self) -> Any:
        from clifford_rand.robots import loops

        return loops

    def _motor_rows(self, q: Any, places: NDArray[Any], homes: NDArray[Any], owner: str) -> NDArray[Any]:
        tree = self._tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.link_motors(tree.joints, tree.parent, self._first, places, homes, *rows, part, out)

        return self._run(fill, {"q": q}, (len(places), 8), owner)

    def _forces(self, q: Any, v: Any, a: Any, gravity: tuple[float, ...], owner: str) -> Any:
        if not self._by_loops(q, v, a):
            like = next((x for x in (q, v, a) if is_tensor(x)), q)
            q, v, a = (self._array(x, name, owner) for x, name in ((q, "q"), (v, "v"), (a, "a")))
            return self._arrays(like).inverse_dynamics(q, v, a, gravity)
        tree = self._tree

        def fill(loops: Any, rows: Any, part: Any, out: Any) -> None:
            loops.inverse_dynamics(tree.joints, tree.parent, self._first, gravity, *rows, part, out)

        return self._run(fill, {"q": q, "v": v, "a": a}, (self._sizes["v"],), owner)


def _reverse(M: Numbers) -> Numbers:
    return (M[0], *(-x for x in M[1:7]), M[7])


def _filled(value: ArrayLike | None, name: str, shape: tuple[int, ...], default: float = 0.0) -> NDArray[Any]:
    if value is None:
        return np.full(shape, default)
    array = np.asarray(as_real(value, name, "Robot", finite=False), dtype=np.float64)
    try:
        return np.broadcast_to(array, shape)
    except ValueError:
        raise fail(name, "Robot", f"of shape {shape}", describe(f"shape {array.shape}")) from None


def _coefficients(A: Any, name: str, grade: int, of: str = "Robot") -> NDArray[Any]:
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
