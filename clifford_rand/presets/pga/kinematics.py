"""Chains of joints: the product of exponentials, and Jacobians as screw axes. Any n.

A joint is a bivector S, its screw axis: the joint moves by exp(-q S/2), as `rotor` does for a line and `translator` for
e0 ∧ u. All axes are those of the chain at rest, q = 0, in coordinates of the base, and the tool is moved by

    M(q) = exp(-q₁ S₁/2) … exp(-q_k S_k/2) M₀,  M₀ = ``home``.
"""

from typing import Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.fusion.specialization import specialized
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import Vectors, blade_of, coordinates_of, numbers_of, of_algebra, refuse_tensors
from clifford_rand.presets.pga.flats import dimension_of, meet, norm


@specialized()
def screw_axis(alg: Algebra, axis: Multivector, pitch: ArrayLike = 0.0) -> Multivector:
    """Return the screw axes S of joints that turn about an axis, and shift by ``pitch`` along it for each radian.

    Parameters
    ----------
    alg : Algebra
        ``Algebra.pga(n)``.
    axis : Multivector
        Of grade 2: a line of space, right-handed, a point of the plane. Its scale does not count.
    pitch : float or array_like, default=0
        Only in space. A prismatic joint, which only slides, is `slide_axis`.

    Returns
    -------
    Multivector
        axis/|axis| + pitch e0 ∧ u: exp(-q S/2) is the motor of the turn q and the shift q·pitch.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> line = pga.line(alg, [1, 0, 0], [1, 0, 1])
    >>> (-np.pi / 2 / 2 * pga.screw_axis(alg, line, 0.1)).exp().isclose(pga.motor(alg, line, np.pi / 2, np.pi / 20))
    True
    """
    n = dimension_of(alg, "screw_axis")
    B = blade_of(of_algebra(axis, alg, "axis", "screw_axis"), "axis", "screw_axis", "an axis", grade=2)
    size = np.asanyarray(norm(B))
    if (size == 0).any():
        hint = "slide_axis takes a direction."
        raise fail("axis", "screw_axis", "not ideal", describe("an axis at infinity"), hint)
    B = B.new(B.keys, B.coefficients / size[..., None])
    h = numbers_of(pitch, B.dtype, "pitch", "screw_axis")
    if not h.any():
        return B.new(B.keys, B.coefficients * np.ones_like(h)[..., None])
    if n != 3:
        raise fail("pitch", "screw_axis", "0 but in space", pitch, "Add slide_axis(alg, u) to the axis.")
    u = B.coefficients[..., [5, 4, 3]] * np.array([1, -1, 1], dtype=np.int8)
    return B + h * slide_axis(alg, u)


@specialized(u=1)
def slide_axis(alg: Algebra, u: Vectors) -> Multivector:
    """Return the axes e0 ∧ u of prismatic joints, which slide by q u; u of any length.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> (-2 / 2 * pga.slide_axis(alg, [0, 1])).exp().isclose(pga.translator(alg, [0, 2]))
    True
    """
    n = dimension_of(alg, "slide_axis")
    along = coordinates_of(u, n, "u", "slide_axis")
    return meet(alg.e0, alg.vector(np.concatenate([np.zeros_like(along[..., :1]), along], axis=-1)))


def _chain(screws: Multivector, q: ArrayLike, owner: str) -> tuple[Multivector, NDArray[Any]]:
    """Return bivectors (..., k) and joint values (..., k)."""
    n = dimension_of(screws, owner, "screws")
    refuse_tensors(screws, "screws", owner)
    if not screws.ndim or set(screws.grades) - {2}:
        received = describe(f"grades {screws.grades}, shape {screws.shape}")
        raise fail("screws", owner, "a batch of bivectors, the last batch axis along the chain", received)
    values = as_real(q, "q", owner)
    if values.ndim == 0 or values.shape[-1] != screws.shape[-1]:
        rule = f"of shape (..., {screws.shape[-1]}), a value a joint"
        raise fail("q", owner, rule, describe(f"shape {values.shape}"))
    return screws.on_keys(keys_of_grades(n + 1, (2,))), values


@specialized(screws=1, q=1)
def joint_motors(screws: Multivector, q: ArrayLike) -> Multivector:
    """Return exp(-q₁ S₁/2) … exp(-q_i S_i/2) for i = 1, …, k: what each link is moved by from where it rests.

    Parameters
    ----------
    screws : Multivector of shape (..., k)
        `screw_axis` and `slide_axis` of the chain at rest, from the base on.
    q : array_like of shape (..., k)
        Angles, or shifts of joints that slide. Leading axes broadcast.

    Returns
    -------
    Multivector of shape (..., k)

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> joints = pga.screw_axis(alg, pga.point(alg, [[0, 0], [1, 0]]))
    >>> links = pga.joint_motors(joints, [np.pi / 2, -np.pi / 2])
    >>> pga.coordinates(links >> pga.point(alg, [[1, 0], [2, 0]])).round(12) + 0.0  # the ends of both links
    array([[0., 1.],
           [1., 1.]])
    """
    axes, values = _chain(screws, q, "joint_motors")
    steps = (axes * (-values / 2)).exp()  # exp(-q_i S_i/2)
    parts = [steps[..., 0]]
    for i in range(1, steps.shape[-1]):
        parts.append(parts[-1] * steps[..., i])  # P_i = P_{i-1} exp(-q_i S_i/2)
    keys = keys_of_grades(axes.algebra.d, tuple(range(0, axes.algebra.d + 1, 2)))
    return axes.new(keys, np.stack([part.select_keys(keys).coefficients for part in parts], axis=-2))


@specialized(screws=1, q=1)
def forward_kinematics(screws: Multivector, q: ArrayLike, home: Multivector | None = None) -> Multivector:
    """Return the motors M(q) of the tool, the product of exponentials.

    Parameters
    ----------
    screws : Multivector of shape (..., k)
    q : array_like of shape (..., k)
    home : Multivector, optional
        The motor of the tool at rest, from the frame of the base; 1 by default.

    References
    ----------
    R. W. Brockett, "Robotic manipulators and the product of exponentials formula", 1984; K. M. Lynch and F. C. Park,
    Modern Robotics, 2017, eq. 4.14.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)  # two links of length 1 in the plane
    >>> joints = pga.screw_axis(alg, pga.point(alg, [[0, 0], [1, 0]]))
    >>> M = pga.forward_kinematics(joints, [np.pi / 2, -np.pi / 2], pga.translator(alg, [2, 0]))
    >>> pga.coordinates(M >> pga.point(alg, [0, 0])).round(12)
    array([1., 1.])
    """
    M = joint_motors(screws, q)[..., -1]
    return M if home is None else M * of_algebra(home, M.algebra, "home", "forward_kinematics")


@specialized(screws=1, q=1)
def space_jacobian(screws: Multivector, q: ArrayLike) -> Multivector:
    """Return the screw axes of the joints where they are now, in coordinates of the base: P_i S_i ~P_i.

    They are the columns of the Jacobian: dM/dt = -½ Σ (dq_i/dt) S_i(q) M.

    References
    ----------
    K. M. Lynch and F. C. Park, Modern Robotics, 2017, eq. 5.11.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> joints = pga.screw_axis(alg, pga.point(alg, [[0, 0], [1, 0]]))
    >>> pga.coordinates(pga.space_jacobian(joints, [np.pi / 2, 1.0])).round(12) + 0.0  # the elbow is above the base
    array([[0., 0.],
           [0., 1.]])
    """
    axes, _ = _chain(screws, q, "space_jacobian")
    P = joint_motors(screws, q)
    return (P * axes * ~P).select_keys(axes.keys)  # a joint's own motor leaves its axis where it is


@specialized(screws=1, q=1)
def body_jacobian(screws: Multivector, q: ArrayLike, home: Multivector | None = None) -> Multivector:
    """Return the screw axes of the joints as the tool sees them: ~M S_i(q) M, so dM/dt = -½ M Σ (dq_i/dt) S_i.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> joints = pga.screw_axis(alg, pga.point(alg, [[0, 0], [1, 0]]))
    >>> home = pga.translator(alg, [2, 0])
    >>> pga.coordinates(pga.body_jacobian(joints, [0.3, 0.0], home)).round(12) + 0.0  # base and elbow, from the tool
    array([[-2.,  0.],
           [-1.,  0.]])
    """
    S = space_jacobian(screws, q)
    M = forward_kinematics(screws, q, home)
    M = M[..., None] if M.ndim else M
    return (~M * S * M).select_keys(S.keys)  # in the frame of the tool
