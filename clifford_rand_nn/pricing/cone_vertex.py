"""The best neuron of a cone in the 1-norm: a linear program."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from clifford_rand._typing import Array

_LP_TOL = 1e-10  # the least that HiGHS takes
_ACTIVE = 1e-10  # margins, of data and directions of size 1, that the program may call zero


class Vertex(NamedTuple):
    """A direction of 1-norm 1, the value, and the rows on the hyperplane; with bias the first gives the offset."""

    value: float
    direction: Array
    rows: list[int]


def best_vertex(X: Array, on: NDArray[Any], g: Array, c: float, bias: bool) -> Vertex | None:
    r"""Return the largest :math:`g\cdot u+cb` in the cone of the pattern with :math:`||u||_1\le1`; None if it is ≤ 0.

    HiGHS promises 1e-10 of the largest entry of (g, c); the vertices that it finds are accurate to rounding (1e-15 on
    150 random and integer data sets, with columns of scales 1 to 1e-4).

    Parameters
    ----------
    X : (n, d)
    on : (n,) bool
    g : (d,)
    c : float
        With bias, it needs a row that is off if positive, one that is on if negative.
    bias : bool

    Raises
    ------
    RuntimeError
        HiGHS gave up.
    """
    n, d = X.shape
    scale = float(np.abs(X).max())
    goal_scale = max(float(np.abs(g).max()), abs(c) * scale)
    if scale == 0 or goal_scale == 0:
        return None
    sign = np.where(on, 1.0, -1.0)
    unit, goal, share = X / scale, g / goal_scale, c * scale / goal_scale
    A = np.concatenate([-sign[:, None] * unit, sign[:, None] * unit, -sign[:, None] * int(bias)], axis=1)
    A = np.concatenate([A, np.r_[np.ones(2 * d), 0.0][None]])
    bounds = [(0, None)] * (2 * d) + [(-2, 2) if bias else (0, 0)]  # |b| ≤ |x·u| ≤ 1 for some row
    found = linprog(
        -np.r_[goal, -goal, share],
        A_ub=A,
        b_ub=np.r_[np.zeros(n), 1.0],
        bounds=bounds,
        method="highs-ds",
        options={"primal_feasibility_tolerance": _LP_TOL, "dual_feasibility_tolerance": _LP_TOL},
    )
    if found.x is None:
        raise RuntimeError(f"HiGHS did not solve the linear program of a pattern: {found.message}")
    u, b = found.x[:d] - found.x[d:-1], found.x[-1]
    size = float(np.abs(u).sum())
    if found.fun >= 0 or size == 0:
        return None
    margin = sign * (unit @ u + b)
    touching = np.flatnonzero(margin <= _ACTIVE)
    if bias and not len(touching):
        touching = np.array([np.argmin(margin)])  # c = 0: the offset is free, and moves up to the nearest row
    (zero,) = np.nonzero(u == 0)
    return Vertex(-float(found.fun) * goal_scale, u / size, [*touching.tolist(), *(n + zero).tolist()])
