"""From a hyperplane through sampled rows to one strictly inside a chamber next to it.

The rows that span a cross product lie on its plane, so the sign of ``x·v`` there is rounding noise. Their sides are
chosen instead, and the plane is moved until every row is clearly on its side.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import lapack

__all__ = ["Move", "move_into_chamber"]

# A margin |x·v + b| counts as zero below this share of |x - x_ref| |v| (double precision leaves 1e-16 times the
# condition number of the sampled rows); rows nearer than that get their side from the move, like the sampled ones.
_ON_PLANE = 1e-11
# A final margin must exceed this share of |x||w| + |b|, so that another order of summation cannot flip its sign.
_CLEAR = 64 * np.finfo(np.float64).eps
_TIE = 1e-6  # a dependent row moves less than this, where the sampled ones move by 1: no side is implied for it
_TRIES = 4


class Move(NamedTuple):
    """A gate inside its chamber: direction (d,), offset, further rows on the plane, and whether it is safe."""

    direction: NDArray[np.float64]
    offset: float
    n_dependent: int
    safe: bool


def move_into_chamber(
    X: NDArray[np.float64],
    rows: NDArray[np.intp],
    v: NDArray[np.float64],
    sides: NDArray[np.bool_],
    bias: bool,
    rng: np.random.Generator,
) -> Move:
    r"""Move the plane of unit normal ``v`` through the rows ``rows`` of X into the chamber that ``sides`` names.

    Without bias the gate is :math:`v + \varepsilon\delta` with :math:`\delta` the least-norm solution of
    :math:`x_j\cdot\delta = s_j` on the incident rows (:math:`s_j = \pm1`, the side). With bias the plane passes through
    the last incident row :math:`x_l`: :math:`(x_j - x_l)\cdot\delta = s_j - s_l`, and the offset
    :math:`-w\cdot x_l + \varepsilon s_l` is free. :math:`\varepsilon` is at most :math:`|m_i|/(1+|q_i|)` for every
    other row, with margin :math:`m_i` and motion :math:`q_i = x_i\cdot\delta`: no other row changes side, and each ends
    at least :math:`\varepsilon` away.

    If another row on the plane would not move, the targets are redrawn as :math:`s_j t_j`, :math:`t_j` uniform on
    [1/2, 3/2], and a random vector orthogonal to the sampled rows is added to :math:`\delta`.
    """
    reference = X[rows[-1]] if bias else np.zeros(X.shape[1])
    A = X[rows[:-1]] - reference if bias else X[rows]  # (k, d): what v is orthogonal to
    v = v - _least_norm(A, A @ v)  # one step of refinement: the sampled rows are on the plane to rounding
    v /= np.linalg.norm(v)
    Y = X - reference
    length = np.linalg.norm(Y, axis=1)
    margin = Y @ v
    on_plane = np.abs(margin) <= _ON_PLANE * length
    on_plane[rows] = True
    still = np.zeros(len(X), dtype=bool) if bias else length == 0  # the origin is on for every gate without offset
    n_dependent = int(np.count_nonzero(on_plane & ~still)) - len(rows)

    sign = np.where(sides, 1.0, -1.0)
    targets = sign
    for attempt in range(_TRIES):
        if attempt:
            targets = sign * rng.uniform(0.5, 1.5, size=sign.size)
        shift = targets[-1] if bias else 0.0
        delta = _least_norm(A, targets[:-1] - shift if bias else targets)
        if attempt:
            g = rng.standard_normal(v.size) / max(1.0, float(length.max(initial=0.0)))
            delta += g - _least_norm(A, A @ g)
        motion = Y @ delta + shift
        if np.all(np.abs(motion[on_plane & ~still]) > _TIE):
            break

    other = ~on_plane
    if other.any():
        epsilon = float(np.min(np.abs(margin[other]) / (1 + np.abs(motion[other]))))
    else:
        epsilon = float(max(length.max(initial=0.0), 1.0))
    w = v + epsilon * delta
    b = float(epsilon * shift - w @ reference) if bias else 0.0
    final = X @ w + b
    noise = _CLEAR * (np.linalg.norm(X, axis=1) * np.linalg.norm(w) + abs(b))
    safe = bool(np.all((np.abs(final) > noise) | still)) and bool(np.array_equal(final[rows] >= 0, sides))
    return Move(w, b, n_dependent, safe)


def _least_norm(A: NDArray[np.float64], b: NDArray[np.float64]) -> NDArray[Any]:
    """Least-norm solution of the wide, full-rank system A x = b (LAPACK gels: one LQ factorisation)."""
    k, d = A.shape
    if k == 0:
        return np.zeros(d)
    rhs = np.zeros((d, 1))
    rhs[:k, 0] = b
    _, x, _ = lapack.dgels(A, rhs)
    return np.asarray(x[:, 0])
