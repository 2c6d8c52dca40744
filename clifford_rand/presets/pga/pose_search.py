"""Joint values for a given motor of the tool: steps of damped least squares. Any n."""

from typing import Any

import numpy as np

from clifford_rand._checks import as_real, check_integer, check_number, fail, one_batch
from clifford_rand._typing import ArrayLike, NDArray
from clifford_rand.basis.keys import keys_of_grades
from clifford_rand.multivector.multivector import Multivector
from clifford_rand.presets.inputs import lengths, of_algebra, with_floats
from clifford_rand.presets.pga.flats import has_e0
from clifford_rand.presets.pga.kinematics import body_jacobian, forward_kinematics
from clifford_rand.robots.search import InverseKinematics, damped_least_squares, search


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
    return damped_least_squares(J, V, lam), lengths(V)


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

    def errors(q: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        V = _twist(forward_kinematics(screws, q, home), target, length, owner)
        return V, _columns(body_jacobian(screws, q, home), length)

    return search(errors, at, lengths, tolerance, max_steps)
