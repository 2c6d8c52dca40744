"""Robots as trees of screws: kinematics, dynamics and inverse kinematics for one configuration or batches."""

from collections.abc import Sequence
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
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.coefficients import is_linalg_error, is_tensor, namespace
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.robots.evaluation import Evaluation, check_regular
from clifford_rand.robots.formulas import frame_of, motor_product, reverse
from clifford_rand.robots.search import InverseKinematicsResult, motion_twist, search
from clifford_rand.robots.tree import Tree, coefficients_of, read_urdf, tree_of, tree_of_screws

FRAMES = ("space", "body", "mixed")

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
        inertial = (masses, centers, inertias)
        self._set(tree_of_screws(screws, home, parents, inertial, (lower, upper), base), gravity)

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
        FileNotFoundError
            There is no such file.

        Examples
        --------
        >>> arm = pga.Robot.from_urdf("arm.urdf")  # doctest: +SKIP
        >>> arm.inverse_dynamics(q, v, a)  # doctest: +SKIP
        """
        file = check_path(path, "path", "Robot.from_urdf")
        links, joints, root = read_urdf(file)
        robot = cls.__new__(cls)
        robot._set(tree_of(links, joints, root, base, "Robot.from_urdf"), gravity)
        return robot

    def _set(self, tree: Tree, gravity: ArrayLike) -> None:
        self._of = Evaluation(tree)
        self.algebra = Algebra.pga(3)
        self.joint_names, self.link_names = tree.joint_names, tree.link_names
        self.lower, self.upper = tree.lower, tree.upper
        g = np.asarray(as_real(gravity, "gravity", "Robot"), dtype=np.float64)
        if g.shape != (3,):
            raise fail("gravity", "Robot", "of shape (3,)", describe(f"shape {g.shape}"))
        self._gravity: tuple[float, ...] = tuple(g.tolist())
        self._keys = keys_of_grades(4, (0, 2, 4))

    def __repr__(self) -> str:
        base = ", floating" if self._of.first else ""
        return f"<Robot: {len(self.joint_names)} joints, {len(self.link_names)} links{base}>"

    # ---- kinematics

    def forward_kinematics(self, q: Configuration, /, link: str | None = None) -> Multivector:
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
        (q,) = self._of.arrays("forward_kinematics", q=q)
        return self._motors(self._of.motors(q, k)[..., 0, :])

    def link_motors(self, q: Configuration, /) -> Multivector:
        """Return the motors (..., links) of all links, in the order of ``link_names``.

        Examples
        --------
        >>> arm = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1], [0, 0, 1]]))
        >>> arm.link_names, abs(pga.motor_to_matrix(arm.link_motors([1.0, 2.0]))[:, 2, 3]).tolist()
        (('base', 'link_1', 'link_2'), [0.0, 1.0, 3.0])
        """
        (q,) = self._of.arrays("link_motors", q=q)
        return self._motors(self._of.motors(q, None))

    def link_matrix(self, q: Configuration, /, link: str | None = None) -> Any:
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

    def jacobian(self, q: Configuration, /, link: str | None = None, *, frame: str = "space") -> Any:
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
        (q,) = self._of.arrays("jacobian", q=q)
        return self._of.jacobian(q, k, view)

    def manipulability(self, q: Configuration, /, link: str | None = None) -> Any:
        """Return √det(J Jᵀ) (...) of a link, zero where it cannot move in all directions (Yoshikawa 1985).

        With fewer than six velocities it is √det(Jᵀ J), in both cases the product of the singular values of J, which
        is computed: it has a gradient at zero, too. J is that of frame "mixed": units of length count.

        Examples
        --------
        >>> float(pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 3.0]])).manipulability([0.0]).round(12))
        3.0
        """
        J = self.jacobian(q, link, frame="mixed")
        xp = namespace(J) if is_tensor(J) else np
        return xp.prod(xp.linalg.svdvals(J), axis=-1)

    @one_batch
    def inverse_kinematics(
        self,
        target: Multivector,
        q: ArrayLike | None = None,
        /,
        link: str | None = None,
        *,
        length: float = 1.0,
        tol: float = 1e-10,
        max_iter: int = 100,
        n_restarts: int = 0,
        rng: Any = None,
    ) -> InverseKinematicsResult:
        """Return joint values within the limits that bring a link to its target, from ``q`` on.

        Damped least squares: Δq minimizes |J Δq - V|² + λ²|Δq|², V the twist that takes the link to its target in unit
        time. λ is a tenth after a step that helps and ten times after one that does not and is not taken (Marquardt
        1963). A joint at its limit stays there while the step would pass it. A local method: it ends at the solution
        near ``q``, or where the error is least nearby. Every element of a batch has its own λ.

        Parameters
        ----------
        target : Multivector of shape (...)
        q : array_like of shape (..., n), optional
            Where to start; the middle of the limits, or 0, by default.
        link : str, optional
        length : float, default=1
            The length that counts as much as a radian.
        tol : float, default=1e-10
            Of the error, in radians and lengths over ``length``.
        max_iter : int, default=100
        n_restarts : int, default=0
            How often the search starts again, from random values within the limits, where the target was not reached.
        rng : Generator or int, optional
            Of the starts.

        References
        ----------
        C. W. Wampler, IEEE Transactions on Systems, Man and Cybernetics 16, 1986; Y. Nakamura and H. Hanafusa, 1986.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> gantry = pga.Robot(pga.slide_axis(alg, [[1, 0, 0], [0, 1, 0]]), upper=[1, 1])
        >>> found = gantry.inverse_kinematics(pga.translator(alg, [[0.5, 1, 0], [2, 1, 0]]))
        >>> found.q.round(6).tolist(), found.converged.tolist()
        ([[0.5, 1.0], [1.0, 1.0]], [True, False])
        """
        owner = "inverse_kinematics"
        max_iter = check_integer(max_iter, "max_iter", owner)
        n_restarts = check_integer(n_restarts, "n_restarts", owner, low=0)
        rule = "a number from 1e-100 to 1e100"
        length = check_number(length, "length", owner, rule, lambda value: 1e-100 <= value <= 1e100)
        tol = check_positive(tol, "tol", owner)
        if self._of.first:
            raise fail("base", owner, "'fixed' or 'planar'", "floating", "A base that floats reaches every pose.")
        goal, name = coefficients_of(target, "target", 0, of=owner), self.link_names[self._link(link, owner)]
        goal = goal if target.ndim else goal[0]
        limits = self.lower, self.upper
        low, high = (np.where(np.isfinite(x), x, y) for x, y in zip(limits, (-np.pi, np.pi), strict=True))
        start = np.clip((low + high) / 2 if q is None else self._of.arrays(owner, q=q)[0], *limits)
        goal = np.broadcast_to(goal, (*np.broadcast_shapes(goal.shape[:-1], start.shape[:-1]), 8))
        start = np.broadcast_to(start, (*goal.shape[:-1], start.shape[-1]))
        weights = np.repeat([1.0, 1 / length], 3)

        def errors(at: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
            M = self.forward_kinematics(at, name).coefficients
            left = motor_product(reverse(tuple(np.moveaxis(M, -1, 0))), tuple(np.moveaxis(goal, -1, 0)))
            V = motion_twist(np.stack(left, axis=-1))
            return V * weights, self.jacobian(at, name, frame="body") * weights[:, None]

        found = search(errors, start, limits, tol, max_iter)
        generator = as_generator(rng, owner)
        for _ in range(n_restarts):
            if np.all(found.converged):
                break
            again = search(errors, generator.uniform(low, high, start.shape), limits, tol, max_iter)
            better = again.error < found.error
            found = InverseKinematicsResult(
                np.where(better[..., None], again.q, found.q),
                np.where(better, again.error, found.error)[()],
                found.n_iter + again.n_iter,
                np.where(better, again.converged, found.converged)[()],
            )
        return found

    # ---- dynamics

    @one_batch
    def inverse_dynamics(self, q: Configuration, v: Configuration, a: Configuration, /) -> Any:
        """Return the forces and torques (..., n) of the joints that cause accelerations: M(q) a + bias(q, v).

        By the recursion of Newton and Euler, in the frames of the bodies.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> lift = pga.Robot(pga.slide_axis(alg, [[0, 0, 1]]), masses=[2.0])
        >>> lift.inverse_dynamics([0.0], [0.0], [1.0]).round(12)
        array([21.62])
        """
        q, v, a = self._of.arrays("inverse_dynamics", q=q, v=v, a=a)
        return self._of.forces(q, v, a, self._gravity)

    def bias_forces(self, q: Configuration, v: Configuration, /) -> Any:
        """Return the forces (..., n) that keep all accelerations zero: gravity, centrifugal and Coriolis forces.

        Examples
        --------
        >>> lift = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1]]), masses=[2.0])
        >>> lift.bias_forces([0.0], [5.0]).round(12)
        array([19.62])
        """
        q, v = self._of.arrays("bias_forces", q=q, v=v)
        return self._of.forces(q, v, None, self._gravity)

    def gravity_forces(self, q: Configuration, /) -> Any:
        """Return the forces (..., n) that hold the robot at rest.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> arm = pga.Robot(pga.screw_axis(alg, pga.line(alg, [[0, 0, 0]], pga.direction(alg, [0, -1, 0]))),
        ...                 masses=[1.0], centers=[[0.5, 0, 0]])
        >>> arm.gravity_forces([[0.0], [np.pi / 2]]).round(12).tolist()
        [[4.905], [0.0]]
        """
        (q,) = self._of.arrays("gravity_forces", q=q)
        return self._of.forces(q, None, None, self._gravity)

    def mass_matrix(self, q: Configuration, /) -> Any:
        """Return the mass matrices (..., n, n), symmetric: the kinetic energy is vᵀ M v / 2.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> pga.Robot(pga.slide_axis(alg, [[0, 0, 1], [1, 0, 0]]), masses=[2.0, 1.0]).mass_matrix([0.0, 0.0])
        array([[3., 0.],
               [0., 1.]])
        """
        (q,) = self._of.arrays("mass_matrix", q=q)
        return self._of.mass_matrix(q)

    @one_batch
    def forward_dynamics(self, q: Configuration, v: Configuration, tau: Configuration, /) -> Any:
        """Return the accelerations (..., n) that forces of the joints cause: M(q)⁻¹ (tau - bias(q, v)).

        Raises
        ------
        ArgumentError
            If the mass matrix is singular to rounding: a joint moves no mass, or two joints move the same bodies alike.
            That of tensors only where the solver of their library finds it singular.

        Examples
        --------
        >>> alg = cr.Algebra.pga(3)
        >>> lift = pga.Robot(pga.slide_axis(alg, [[0, 0, 1]]), masses=[2.0])
        >>> lift.forward_dynamics([0.0], [0.0], [0.0])
        array([-9.81])
        """
        q, v, tau = self._of.arrays("forward_dynamics", q=q, v=v, tau=tau)
        M, rest = self._of.mass_matrix(q), tau - self._of.forces(q, v, None, self._gravity)
        xp = namespace(M) if is_tensor(M) else np
        try:
            if xp is np:
                check_regular(M)
            return xp.linalg.solve(M, rest[..., None])[..., 0]
        except Exception as error:
            if not is_linalg_error(error):
                raise
            hint = "Every joint has to move a mass or an inertia, and no two the same bodies alike."
            raise fail("q", "forward_dynamics", "of a regular mass matrix", describe("a singular one"), hint) from None

    def energy(self, q: Configuration, v: Configuration, /) -> Any:
        """Return the kinetic and potential energy (...), vᵀ M v / 2 - Σ m g·c, of all bodies that move.

        Examples
        --------
        >>> lift = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1]]), masses=[2.0])
        >>> float(lift.energy([1.0], [3.0]).round(12))
        28.62
        """
        q, v = self._of.arrays("energy", q=q, v=v)
        kinetic = (v * (self._of.mass_matrix(q) @ v[..., None])[..., 0]).sum(-1) / 2
        tree, motors = self._of.tree, self._of.body_motors(q)
        for i in range(0 if tree.is_floating else 1, len(tree.parent)):
            X, H = frame_of(tuple(motors[..., i, k] for k in range(8))), tree.joints[39:43, i].tolist()
            for k, g in enumerate(self._gravity):
                if g:
                    kinetic = kinetic - g * (sum(X[3 * k + j] * H[1 + j] for j in range(3)) + H[0] * X[9 + k])
        return kinetic

    @one_batch
    def moved(self, q: Configuration, /, step: Configuration) -> Any:
        """Return configurations after a step (..., n), v times a time: q + step but for the motor of a floating base.

        That is M exp(-B/2), B the bivector of its part of the step.

        Examples
        --------
        >>> body = pga.Robot(pga.slide_axis(cr.Algebra.pga(3), [[0, 0, 1.0]]), base="floating")
        >>> body.moved([1, 0, 0, 0, 0, 0, 0, 0, 5.0], [0, 0, 0, 2, 0, 0, 1.0]).tolist()
        [1.0, -1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 6.0]
        """
        q, step = self._of.arrays("moved", q=q, step=step)
        if not self._of.first:
            return q + step
        xp, new = (namespace(q), self.algebra.new_tensor) if is_tensor(q) else (np, self.algebra.new)
        v1, v2, v3, w3, w2, w1 = (step[..., k] / -2 for k in (3, 4, 5, 2, 1, 0))
        B = new(keys_of_grades(4, (2,)), xp.stack([v1, v2, v3, w3, -w2, w1], -1))
        factor = B.exp().select_keys(self._keys).coefficients
        M = motor_product(*(tuple(x[..., k] for k in range(8)) for x in (q, factor)))
        rest = q[..., 8:] + step[..., 6:]
        return xp.concat([xp.stack(M, -1), rest], axis=-1)

    # ---- names and motors

    def _link(self, link: str | None, owner: str) -> int:
        if link is None:
            return len(self.link_names) - 1
        return self.link_names.index(check_choice(link, "link", owner, self.link_names))

    def _motors(self, coefficients: Any) -> Multivector:
        if is_tensor(coefficients):
            return self.algebra.multivector(coefficients, grades=(0, 2, 4))
        return self.algebra.new(self._keys, coefficients)
