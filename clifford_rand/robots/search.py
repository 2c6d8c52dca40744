"""Joint values for a pose: steps of damped least squares (Levenberg and Marquardt), within limits."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from clifford_rand._checks import describe, fail
from clifford_rand._typing import NDArray
from clifford_rand.print_options import record_text
from clifford_rand.robots.formulas import frame_of

DAMPING = 1e-3  # of the first step, relative to the largest singular value of the Jacobian
FALL, RISE = 0.1, 10.0  # of the damping after a step that helps, and after one that does not (Marquardt 1963)
STALLED = 1e8  # damping, relative to the Jacobian, at which no step helps any more

Errors = Callable[[NDArray[Any]], tuple[NDArray[Any], NDArray[Any]]]


class InverseKinematicsResult(NamedTuple):
    """Joint values and their error, the result of `Robot.inverse_kinematics`.

    Examples
    --------
    >>> alg = cr.Algebra.pga(3)
    >>> lift = pga.Robot(pga.slide_axis(alg, [[0, 0, 1]]))
    >>> found = lift.inverse_kinematics(pga.translator(alg, [0, 0, 2]))
    >>> found.q.round(6).tolist(), bool(found.converged), bool(found.error < 1e-9)
    ([2.0], True, True)
    """

    q: NDArray[Any]
    """(..., k): joint values of the least error that was reached."""
    error: NDArray[Any]
    """|V|: radians, and lengths over ``length``."""
    n_iter: int
    converged: NDArray[np.bool_]
    """Whether the error is at most the tolerance: a target out of reach never is."""

    def __repr__(self) -> str:
        return record_text(self)


def damped_least_squares(J: NDArray[Any], V: NDArray[Any], damping: NDArray[Any]) -> NDArray[Any]:
    """Return Jᵀ (J Jᵀ + λ² 1)⁻¹ V of J (..., m, k) and V (..., m) by singular values."""
    if not (np.isfinite(J).all() and np.isfinite(V).all()):
        raise fail("q", "inverse_kinematics", "such that all motors are finite", describe("an overflow"))
    U, S, Wt = np.linalg.svd(J, full_matrices=False)
    small = float(np.finfo(S.dtype).eps) * S[..., :1]  # singular directions of the Jacobian get no step
    size = np.maximum(np.hypot(S, damping[..., None]), np.finfo(S.dtype).tiny)
    gain = np.where(small < S, S / size / size, 0)  # S/(S² + λ²), of which squares may overflow
    along = gain * (np.swapaxes(U, -1, -2) @ V[..., None])[..., 0]
    return np.asarray((np.swapaxes(Wt, -1, -2) @ along[..., None])[..., 0])


def search(
    errors: Errors,
    q: NDArray[Any],
    limits: tuple[NDArray[Any], NDArray[Any]],
    tol: float,
    max_iter: int,
) -> InverseKinematicsResult:
    """Lower |V(q)| by damped steps, each element of a batch with its own damping; ``errors`` returns V and J.

    A joint at a limit that a step would pass stays there, and the others take the step without it.
    """
    V, J = errors(q)
    error = np.asarray(np.linalg.norm(V, axis=-1))
    finite = np.asarray(np.isfinite(J).all(axis=(-2, -1)))  # LAPACK prints what it thinks of others
    size_of_J = np.where(finite, np.linalg.norm(np.where(finite[..., None, None], J, 0), 2, axis=(-2, -1)), np.nan)
    damping, least, most = (k * size_of_J for k in (DAMPING, np.finfo(np.float64).eps, STALLED))
    (lower, upper), n_iter = limits, 0
    while n_iter < max_iter and ((error > tol) & (damping < most)).any():
        step = damped_least_squares(J, V, damping)
        stuck = ((q <= lower) & (step < 0)) | ((q >= upper) & (step > 0))
        step = damped_least_squares(np.where(stuck[..., None, :], 0, J), V, damping) if stuck.any() else step
        trial = np.clip(q + step, lower, upper)
        V_trial, J_trial = errors(trial)
        size = np.asarray(np.linalg.norm(V_trial, axis=-1))
        better = np.asarray(size < error)  # a step that does not help is not taken
        q, V = np.where(better[..., None], trial, q), np.where(better[..., None], V_trial, V)
        error, J = np.where(better, size, error), np.where(better[..., None, None], J_trial, J)
        damping = np.clip(damping * np.where(better, FALL, RISE), least, most)
        n_iter += 1
    return InverseKinematicsResult(q, error[()], n_iter, np.asarray(error <= tol)[()])


def motion_twist(M: NDArray[Any]) -> NDArray[Any]:
    """Return the twists (..., 6) that make the motions of unit motors (..., 8) in unit time, by at most half a turn.

    With the rotation vector r = θ u and the translation p: (r, p - r×p/2 + (1 - (θ/2) cot(θ/2)) r×(r×p)/θ²).
    """
    M = M * np.where(M[..., :1] < 0, -1, 1)
    u = M[..., [6, 5, 4]] * np.array([-1, 1, -1])
    sine = np.sqrt((u * u).sum(-1, keepdims=True))
    half = np.arctan2(sine, M[..., :1])
    near = half < 1e-4  # the first terms of both series are exact
    safe = np.where(near, 1, half)
    r = 2 * u * np.where(near, 1 + half * half / 6, half / np.where(near, 1, sine))
    p = np.stack(frame_of(tuple(np.moveaxis(M, -1, 0)))[9:], axis=-1)
    across = np.cross(r, p)
    cotangent = np.where(near, 1 / 12 + half * half / 180, (1 - safe / np.tan(safe)) / (4 * safe * safe))
    return np.concatenate([r, p - across / 2 + cotangent * np.cross(r, across)], axis=-1)
