"""Motors of the projective model from and to matrices, quaternions, dual quaternions and SciPy's rotations.

Everywhere M >> point(x) = point(F x + t), F the rotation and t the translation: it turns about the origin, then moves.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand._checks import as_real, describe, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.algebra import Algebra
from clifford_rand.basis.keys import keys_of_grades, keys_of_masks
from clifford_rand.fusion.specialization import specialized
from clifford_rand.geometry.matrices import rotation_of, rotation_tolerance, rotor_of
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import euclidean, floats, refuse_tensors
from clifford_rand.presets.pga.flats import dimension_of
from clifford_rand.presets.pga.motors import parts_of_motor, unit_motor

if TYPE_CHECKING:
    from scipy.spatial.transform import Rotation


@specialized(matrix=2)
def motor_from_matrix(algebra: Algebra, matrix: ArrayLike, /, *, rtol: float | None = None) -> Multivector:
    """Return the motors of homogeneous matrices [[F, t], [0, 1]], with M ~M = 1 and ⟨M⟩_0 ≥ 0.

    Parameters
    ----------
    algebra : Algebra
        ``Algebra.pga(n)``.
    matrix : array_like of shape (..., n + 1, n + 1)
        It takes the column [x; 1] to [F x + t; 1]. The motor -M moves as M does.
    rtol : float, optional
        How far entries of FᵀF may be from those of 1, and the last row from 0, …, 0, 1, which it is taken for; 1e-6 by
        default.

    Raises
    ------
    ArgumentError
        If F is not a rotation, or the last row is not 0, …, 0, 1.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> M = pga.motor_from_matrix(alg, [[0, -1, 5], [1, 0, 0], [0, 0, 1]])
    >>> pga.coordinates(M >> pga.point(alg, [2, 0])).round(12)
    array([5., 2.])
    """
    n = dimension_of(algebra, "motor_from_matrix")
    array = as_real(matrix, "matrix", "motor_from_matrix")
    if array.ndim < 2 or array.shape[-2:] != (n + 1, n + 1):
        rule = f"an array of shape (..., {n + 1}, {n + 1})"
        raise fail("matrix", "motor_from_matrix", rule, describe(f"shape {array.shape}"))
    off = np.abs(array[..., n, :] - np.eye(n + 1)[n]).max(initial=0)
    if not off <= rotation_tolerance(rtol, array.dtype, "motor_from_matrix"):
        rule, received = f"of a rigid motion: its last row is {', '.join(['0'] * n)}, 1", f"a last row off by {off:.3g}"
        raise fail("matrix", "motor_from_matrix", rule, describe(received), "Columns are images here.")
    return moved_rotor(algebra, array[..., :n, :n], array[..., :n, n], "matrix", "motor_from_matrix", rtol)


def moved_rotor(
    algebra: Algebra, F: NDArray[Any], t: NDArray[Any], name: str, owner: str, rtol: float | None = None
) -> Multivector:
    """Return the motors that turn by the matrices F about the origin, then move by t."""
    n = F.shape[-1]
    R = lifted(algebra, rotor_of(euclidean(n), rotation_of(F, n, name, owner, rtol)), 1)
    step = algebra.vector(np.concatenate([np.zeros_like(t[..., :1]), t], axis=-1))
    M = R - (algebra.e0 ^ step) * R / 2
    return M.select_keys(keys_of_grades(n + 1, tuple(range(0, n + 2, 2))))


def lifted(algebra: Algebra, R: Multivector, first: int) -> Multivector:
    """Return a multivector of the Euclidean algebra in one where e1 is the basis vector with number ``first``."""
    masks = tuple(int(mask) << first for mask in R.keys.masks)
    return algebra.new(keys_of_masks(algebra.d, masks), R.coefficients.copy())


@specialized()
def motor_to_matrix(M: Multivector, /) -> NDArray[Any]:
    """Return the homogeneous matrices (..., n + 1, n + 1) of motors, of any scale: [[F, t], [0, 1]].

    From the images of planes: M e_i ~M = F e_i - (t·F e_i) e0.

    Raises
    ------
    ArgumentError
        If M is not a motor.

    Examples
    --------
    >>> pga.motor_to_matrix(pga.translator(cr.Algebra.pga(2), [3, 4]))
    array([[1., 0., 3.],
           [0., 1., 4.],
           [0., 0., 1.]])
    """
    n = dimension_of(M, "motor_to_matrix", "M")
    M = unit_motor(M, "motor_to_matrix")
    planes = M.new(keys_of_grades(n + 1, (1,)), np.eye(n + 1, dtype=M.dtype)[1:])
    images = ((M[..., None] if M.ndim else M) >> planes).coefficients  # row i has the image of e_i
    F = np.swapaxes(images[..., 1:], -1, -2)
    t = -(F @ images[..., :1])
    last = np.broadcast_to(np.eye(n + 1, dtype=M.dtype)[n:], (*M.shape, 1, n + 1))
    return np.concatenate([np.concatenate([F, t], axis=-1), last], axis=-2)


@specialized(q=1, t=1)
@one_batch
def motor_from_quaternion(algebra: Algebra, q: ArrayLike, t: ArrayLike | None = None, /) -> Multivector:
    """Return the motors of space of quaternions (..., 4) in the order w, x, y, z, and of translations t (..., 3).

    i = -e23, j = -e31, k = -e12: a linear map that keeps products, and the turn, right-handed. M is (1 - e0 t/2) q,
    and has the length of q.

    Parameters
    ----------
    algebra : Algebra
        ``Algebra.pga(3)``.
    q : array_like of shape (..., 4)
        Scalar first. SciPy and ROS have it last: use `motor_from_rotation`, or ``q[..., [3, 0, 1, 2]]``.
    t : array_like of shape (..., 3), optional
        The translation after the turn; none by default.

    Examples
    --------
    >>> pga.motor_from_quaternion(cr.Algebra.pga(3), [0, 0, 0, 1]).sparse()  # half a turn about e3
    -e12
    """
    _of_space(algebra, "motor_from_quaternion")
    real = _rows(q, "q", "motor_from_quaternion", 4)
    if t is None:
        return motor_from_dual_quaternion(algebra, np.concatenate([real, np.zeros_like(real)], axis=-1))
    step = _rows(t, "t", "motor_from_quaternion", 3)
    w, v = real[..., :1], real[..., 1:]
    dual = np.concatenate([-(step * v).sum(-1, keepdims=True), step * w + np.cross(step, v)], axis=-1) / 2
    real = np.broadcast_to(real, dual.shape)
    return motor_from_dual_quaternion(algebra, np.concatenate([real, dual], axis=-1))


@specialized()
def motor_to_quaternion(M: Multivector, /) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the unit quaternions (..., 4), in the order w, x, y, z, and the translations (..., 3) of motors of space.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> q, t = pga.motor_to_quaternion(pga.motor_from_quaternion(alg, [0.6, 0.8, 0, 0], [1, 2, 3]))
    >>> q, t.round(12)
    (array([0.6, 0.8, 0. , 0. ]), array([1., 2., 3.]))
    """
    w, v, t = parts_of_motor(M, "motor_to_quaternion")
    return np.concatenate([w[..., None], v], axis=-1), t


@specialized(q=1)
def motor_from_dual_quaternion(algebra: Algebra, q: ArrayLike, /) -> Multivector:
    """Return the even multivectors of dual quaternions (..., 8): w, x, y, z of the real part, then of the dual part.

    i = -e23, j = -e31, k = -e12, ε = -e0123: an isomorphism of algebras, so products, reverses and lengths carry over.
    A unit dual quaternion r + ε t r/2 is the motor that turns by r and moves by t.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> M = pga.motor_from_dual_quaternion(alg, [1, 0, 0, 0, 0, 0.5, 1, 1.5])
    >>> M.isclose(pga.translator(alg, [1, 2, 3]))
    True
    """
    _of_space(algebra, "motor_from_dual_quaternion")
    array = _rows(q, "q", "motor_from_dual_quaternion", 8)
    return algebra.new(keys_of_grades(4, (0, 2, 4)), array[..., _PLACES] * _SIGNS.astype(array.dtype))


_SCALAR_FIRST = np.array([3, 0, 1, 2])  # of SciPy's quaternions
_PLACES = np.array([0, 5, 6, 7, 3, 2, 1, 4])  # of 1, e01, e02, e03, e12, e13, e23, e0123 in a dual quaternion
_SIGNS = np.array([1, -1, -1, -1, -1, 1, -1, -1], dtype=np.int8)


@specialized()
def motor_to_dual_quaternion(M: Multivector, /) -> NDArray[Any]:
    """Return the dual quaternions (..., 8) of even multivectors, as `motor_from_dual_quaternion` takes them.

    Examples
    --------
    >>> pga.motor_to_dual_quaternion(pga.translator(cr.Algebra.pga(3), [2, 0, 0])) + 0.0
    array([1., 0., 0., 0., 0., 1., 0., 0.])
    """
    _of_space(M, "motor_to_dual_quaternion", "M")
    if any(k % 2 for k in M.sparse().grades):
        raise fail("M", "motor_to_dual_quaternion", "even", describe(f"grades {M.sparse().grades}"), "Use even().")
    values = M.select_keys(keys_of_grades(4, (0, 2, 4))).coefficients
    return (values * _SIGNS.astype(values.dtype))[..., np.argsort(_PLACES)]


@one_batch
def motor_from_rotation(algebra: Algebra, rotation: "Rotation", t: ArrayLike | None = None, /) -> Multivector:
    """Return the motors of space of SciPy's rotations, and of translations t (..., 3) after them.

    Euler angles, rotation vectors, Davenport angles and Rodrigues parameters come by SciPy's ``Rotation.from_…``.

    Examples
    --------
    >>> from scipy.spatial.transform import Rotation
    >>> alg = cr.Algebra.pga(3)
    >>> M = pga.motor_from_rotation(alg, Rotation.from_euler("z", 90, degrees=True), [0, 0, 5])
    >>> pga.coordinates(M >> pga.point(alg, [1, 0, 0])).round(12) + 0.0
    array([0., 1., 5.])
    """
    from scipy.spatial.transform import Rotation

    if not isinstance(rotation, Rotation):
        rule = "a scipy.spatial.transform.Rotation"
        raise fail("rotation", "motor_from_rotation", rule, rotation, "Use motor_from_matrix or motor_from_quaternion.")
    return motor_from_quaternion(algebra, rotation.as_quat().take(_SCALAR_FIRST, axis=-1), t)


def motor_to_rotation(M: Multivector, /) -> tuple["Rotation", NDArray[Any]]:
    """Return SciPy's rotations and the translations (..., 3) of motors of space: ``.as_euler``, ``.as_rotvec``, ….

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> rotation, t = pga.motor_to_rotation(pga.rotor(alg, alg.e23, np.pi / 2))
    >>> rotation.as_euler("xyz", degrees=True).round(9) + 0.0
    array([90.,  0.,  0.])
    """
    from scipy.spatial.transform import Rotation

    if isinstance(M, Multivector):
        refuse_tensors(M, "M", "motor_to_rotation")
    q, t = _scalar_last(M)
    return Rotation.from_quat(floats(q, "M", "motor_to_rotation")), t


@specialized()
def _scalar_last(M: Multivector, /) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return quaternions as SciPy has them, x, y, z, w, and translations."""
    w, v, t = parts_of_motor(M, "motor_to_rotation")
    return np.concatenate([v, w[..., None]], axis=-1), t


def _of_space(A: Any, owner: str, name: str = "algebra") -> None:
    if dimension_of(A, owner, name) != 3:
        raise fail(name, owner, "of 3-space, Algebra.pga(3)", getattr(A, "algebra", A), "Use matrices for other n.")


def _rows(value: ArrayLike, name: str, owner: str, n: int) -> NDArray[Any]:
    array = as_real(value, name, owner)
    if array.ndim == 0 or array.shape[-1] != n:
        raise fail(name, owner, f"an array of shape (..., {n})", describe(f"shape {array.shape}"))
    return array
