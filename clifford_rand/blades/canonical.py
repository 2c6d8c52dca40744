"""The form of a blade that depends on the blade alone, and join and meet, which are oriented by it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand.blades.rows import broadcast, frame_of, relative
from clifford_rand.blades.subspace import common_part, pivots

_Floats = NDArray[np.float64]


def _pivots(Q: _Floats) -> NDArray[np.int64]:
    """Return the pivots (..., k) of each matrix of a batch."""
    found = np.empty(Q.shape[:-1], dtype=np.int64)
    for index in np.ndindex(*Q.shape[:-2]):
        found[index] = pivots(Q[index])
    return found


def orientation(Q: _Floats) -> Any:
    """Return the sign (...) of the coefficient that q1∧…∧qk has at its pivots."""
    place = _pivots(Q)
    return np.sign(np.linalg.det(np.take_along_axis(Q, place[..., None, :], axis=-1)))


def canonical(blade: Any) -> Any:
    """Return the blade in reduced echelon form: the identity at the pivots, whose coefficient is the scalar."""
    frame = blade._frame
    place = _pivots(frame.basis)[..., None, :]
    square = np.take_along_axis(frame.basis, place, axis=-1)
    rows = np.linalg.solve(square, frame.basis)
    np.put_along_axis(rows, place, np.eye(blade.grade), axis=-1)
    rows = np.where((frame.sign == 0)[..., None, None], 0.0, rows) + 0.0
    sign, log = np.linalg.slogdet(square)
    sign = sign * frame.sign
    return blade._make(rows, sign, np.where(sign == 0, -np.inf, log + frame.log_volume))


def join_and_meet(A: Any, B: Any, rtol: float, owner: str) -> tuple[Any, Any]:
    """Return the blades J and M of the sum and the intersection, J = A'∧M∧B' for A = A'∧M and B = M∧B'.

    Of unit blades a'∧m, m∧b' with A = α a'∧m, B = β m∧b', and a'∧m∧b' = v J: M = α β v m.
    """
    A._need_subspace(owner)
    B._need_subspace(owner, "b")
    dtype = np.result_type(A.factors, B.factors)
    P, Q = A._frame, B._frame
    parts = common_part(P.basis, Q.basis, relative(dtype, rtol), owner)
    whole = np.concatenate([parts.only_a, parts.common, parts.only_b], axis=-2)
    frame = frame_of(whole, 0.0)
    turn = orientation(frame.basis)
    sign = P.sign * parts.sign_a * Q.sign * parts.sign_b * frame.sign * turn
    log = P.log_volume + Q.log_volume + frame.log_volume
    shape = whole.shape[:-2]
    join = A._make(broadcast(frame.basis, shape), turn, 0.0, dtype)
    meet = A._make(parts.common, sign, log, dtype)
    return join, meet
