"""Joint values for a given motor of the tool: steps of damped least squares. Any n."""

from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import as_real, check_integer, check_number, describe, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import lengths, of_algebra, with_floats
from clifford_rand.presets.pga.flats import has_e0
from clifford_rand.presets.pga.kinematics import body_jacobian, forward_kinematics

DAMPING = 1e-3  # of the first step, relative to the largest singular value of the Jacobian
FALL, RISE = 0.1, 10.0  # of the damping after a step that helps, and after one that does not (Marquardt 1963)
STALLED = 1e8  # damping, relative to the Jacobian, at which no step helps any more


@one_batch
def damped_step(
    screws: Multivector,
    q: ArrayLike,
    target: Multivector,
    home: Multivector | None = None,
    *,
    damping: ArrayLike = 0.0,
    length: float = 1.0,
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return Δq = Jᵀ (J Jᵀ + λ² 1)⁻¹ V of damped least squares, and |V|, how far the tool is from its target.

    V = -2 log(~M target) is the twist that takes the tool there in unit time, in its own coordinates, and J has the
    axes of `body_jacobian`: Δq minimizes |J Δq - V|² + λ²|Δq|². Parts with e0 are divided by ``length``.

    Parameters
    ----------
    screws : Multivector of shape (..., k)
    q : array_like of shape (..., k)
    target : Multivector
        Motors of the tool; batches broadcast.
    home : Multivector, optional
    damping : float or array_like, default=0
        λ, in the units of J. With 0 it is the least-norm step of Newton.
    length : float, default=1
        The length that counts as much as a radian.

    References
    ----------
    C. W. Wampler, IEEE Transactions on Systems, Man and Cybernetics 16, 1986; Y. Nakamura and H. Hanafusa, 1986.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> slides = pga.slide_axis(alg, [[1, 0], [0, 2]])
    >>> step, error = pga.damped_step(slides, [0.0, 0.0], pga.translator(alg, [3, 4]))
    >>> step.round(12), float(error)
    (array([3., 2.]), 5.0)
    """
    owner = "damped_step"
    screws, target, home = _numbers(screws, target, home, owner)
    M = forward_kinematics(screws, q, home)
    V = _twist(M, target, length, owner)
    J = _columns(body_jacobian(screws, q, home), length)
    lam = np.asarray(as_real(damping, "damping", owner), dtype=np.float64)
    if (lam < 0).any():
        raise fail("damping", owner, "numbers ≥ 0", damping)
    return _step(J, V, lam), lengths(V)


def _numbers(screws: Any, target: Any, home: Any, owner: str) -> tuple[Any, Any, Any]:
    return with_floats(screws, "screws", owner), with_floats(target, "target", owner), with_floats(home, "home", owner)


def _twist(M: Multivector, target: Multivector, length: float, owner: str) -> NDArray[Any]:
    """Return V (..., m), the nearer of those to target and -target."""
    of_algebra(target, M.algebra, "target", owner)
    between = ~M * target  # the motion that is left, in coordinates of the tool
    sign = np.where(np.asarray(between.scalar_part()) < 0, -1, 1)
    B = (between * sign).log().select_keys(keys_of_grades(M.algebra.d, (2,)))
    return _weighted(B, length) * -2


def _weighted(B: Any, length: float) -> NDArray[Any]:
    rule = "a number from 1e-100 to 1e100"
    length = check_number(length, "length", "clifford_rand.presets.pga", rule, lambda value: 1e-100 <= value <= 1e100)
    return np.asarray(B.coefficients * np.where(has_e0(B), 1 / length, 1))


def _columns(axes: Any, length: float) -> NDArray[Any]:
    """Return J (..., m, k)."""
    return np.swapaxes(_weighted(axes, length), -1, -2)


def _step(J: NDArray[Any], V: NDArray[Any], damping: NDArray[Any]) -> NDArray[Any]:
    if not (np.isfinite(J).all() and np.isfinite(V).all()):
        rule = "with a target and q of a usual size"
        raise fail("screws", "clifford_rand.presets.pga", rule, describe("NaN or overflow"))
    U, S, Wt = np.linalg.svd(J, full_matrices=False)
    small = float(np.finfo(S.dtype).eps) * S[..., :1]  # singular directions of the Jacobian get no step
    size = np.maximum(np.hypot(S, damping[..., None]), np.finfo(S.dtype).tiny)
    gain = np.where(small < S, S / size / size, 0)  # S/(S² + λ²), of which squares may overflow
    along = gain * (np.swapaxes(U, -1, -2) @ V[..., None])[..., 0]
    return np.asarray((np.swapaxes(Wt, -1, -2) @ along[..., None])[..., 0])


class InverseKinematics(NamedTuple):
    """Joint values and their error, the result of `inverse_kinematics`.

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)
    >>> joints = pga.screw_axis(alg, pga.point(alg, [[0, 0], [1, 0]]))
    >>> found = pga.inverse_kinematics(joints, pga.rotor(alg, alg.e12, 0.5), [0.0, 0.4])  # both links turned as one
    >>> (found.q.round(6) + 0.0).tolist(), bool(found.converged), bool(found.error < 1e-6)
    ([0.5, 0.0], True, True)
    """

    q: NDArray[Any]
    """(..., k): joint values of the least error that was reached."""
    error: NDArray[Any]
    """|V|: radians, and lengths over ``length``."""
    steps: int
    converged: NDArray[np.bool_]
    """Whether the error is at most the tolerance: a target out of reach never is."""


@one_batch
def inverse_kinematics(
    screws: Multivector,
    target: Multivector,
    q: ArrayLike,
    home: Multivector | None = None,
    *,
    length: float = 1.0,
    tolerance: float = 1e-10,
    max_steps: int = 100,
) -> InverseKinematics:
    """Return joint values that bring the tool to its target, from ``q`` on by steps of `damped_step`.

    The damping is Levenberg's and Marquardt's: a tenth after a step that helps, ten times after one that does not and
    is not taken; it ends where none helps. A local method: of several postures the one near ``q``, and of a target out
    of reach one where the error is least nearby. Every element of a batch has its own damping.

    Parameters
    ----------
    screws : Multivector of shape (..., k)
    target : Multivector
    q : array_like of shape (..., k)
        Where to start; batches broadcast.
    home : Multivector, optional
    length : float, default=1
        The length that counts as much as a radian, such as that of the tool.
    tolerance : float, default=1e-10
        Of the error, in radians and lengths over ``length``.
    max_steps : int, default=100

    Examples
    --------
    >>> alg = cr.Algebra.pga(2)  # three links of length 1 in the plane
    >>> joints = pga.screw_axis(alg, pga.point(alg, [[0, 0], [1, 0], [2, 0]]))
    >>> home = pga.translator(alg, [3, 0])
    >>> found = pga.inverse_kinematics(joints, pga.translator(alg, [1, 1]), [0.3, 0.3, 0.3], home)
    >>> tool = pga.forward_kinematics(joints, found.q, home)
    >>> bool(found.converged), pga.coordinates(tool >> pga.point(alg, [0, 0])).round(9)
    (True, array([1., 1.]))
    """
    owner = "inverse_kinematics"
    max_steps = check_integer(max_steps, "max_steps", owner)
    rule = "a finite number ≥ 0"
    tolerance = check_number(tolerance, "tolerance", owner, rule, lambda value: 0 <= value < np.inf)
    screws, target, home = _numbers(screws, target, home, owner)
    M = forward_kinematics(screws, q, home)
    of_algebra(target, M.algebra, "target", owner)
    batch = np.broadcast_shapes(M.shape, target.shape)
    at = np.array(np.broadcast_to(as_real(q, "q", owner), (*batch, screws.shape[-1])), dtype=np.float64)
    V = _twist(forward_kinematics(screws, at, home), target, length, owner)
    error = lengths(V)
    J = _columns(body_jacobian(screws, at, home), length)
    finite = np.isfinite(J).all(axis=(-2, -1))  # LAPACK prints what it thinks of others
    size_of_J = np.where(finite, np.linalg.norm(np.where(finite[..., None, None], J, 0), 2, axis=(-2, -1)), np.nan)
    damping, least, most = (k * size_of_J for k in (DAMPING, np.finfo(np.float64).eps, STALLED))
    steps = 0
    while steps < max_steps and ((error > tolerance) & (damping < most)).any():
        trial = at + _step(J, V, damping)
        V_trial = _twist(forward_kinematics(screws, trial, home), target, length, owner)
        size = lengths(V_trial)
        better = size < error  # a step that does not help is not taken
        at = np.where(better[..., None], trial, at)
        V, error = np.where(better[..., None], V_trial, V), np.where(better, size, error)
        damping = np.clip(damping * np.where(better, FALL, RISE), least, most)
        J = _columns(body_jacobian(screws, at, home), length)
        steps += 1
    return InverseKinematics(at, error[()], steps, np.asarray(error <= tolerance)[()])
