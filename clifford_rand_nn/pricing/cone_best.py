r"""The best neuron of an activation cone: by projection for p = 2, for many patterns; by a linear program for p = 1.

For a pattern with signs s = ±1 and a functional (g, c) the size is the largest :math:`g\cdot u+cb` with
:math:`s_i(x_i\cdot u+b)\ge0` and :math:`||u||_2\le1`. By duality it is the least
:math:`||g+\sum\lambda_is_ix_i||_2` over :math:`\lambda\ge0`, :math:`\sum s_i\lambda_i=-c`, and the residual is the
best u times the size. This is non-negative least squares with an equation (Lawson and Hanson, "Solving Least Squares
Problems", 1974, chapter 23): the active rows always hold a row m, and with :math:`b=-x_m\cdot u` the equation gives
:math:`\lambda_m`; the rest are differences to x_m. Without an offset there is no such row.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from clifford_rand._typing import Array

_LP_TOL = 1e-10  # the least that HiGHS takes
_ACTIVE = 1e-10  # margins, of data and directions of size 1, that the program may call zero


def project_on_cones(
    X: NDArray[Any],
    on: NDArray[Any],
    pattern: NDArray[Any],
    g: NDArray[Any],
    c: NDArray[Any],
    bias: bool,
    tol: float,
    limit: int,
    residual: NDArray[Any],
    active: NDArray[Any],
    reached: NDArray[Any],
) -> None:
    """Solve Q problems one by one; no pattern needs a row that it has not: with c > 0 one that is off, c < 0 on.

    Parameters
    ----------
    X : (n, d)
    on : (P, n) bool
    pattern : (Q,) int
        The pattern of each problem.
    g : (Q, d)
    c : (Q,)
    bias : bool
    tol : float
        Constraints may be violated by this share of the size of their terms.
    limit : int
        Most least-squares problems solved for one projection.
    residual : (Q, d), output
        Size times best direction. Its norm is never below the size, also where the limit was met.
    active : (Q, d + 1) int, output
        Rows on the hyperplane, -1 where there are fewer; with bias the first is a row m.
    reached : (Q,) bool, output
        Whether no constraint is violated.
    """
    n, d = X.shape
    lengths = np.sqrt((X * X).sum(axis=1))
    rows = np.zeros(d + 2, dtype=np.int64)
    weight, new = np.zeros(d + 2), np.zeros(d + 2)
    M = np.zeros((d + 2, d))
    blocked = np.zeros(n, dtype=np.bool_)
    for problem in range(len(g)):
        sign = np.where(on[pattern[problem]], 1.0, -1.0)
        goal, share = g[problem], c[problem]
        k, fixed = 0, 0
        if bias:  # start from the best single row
            start = goal - share * X
            distance = (start * start).sum(axis=1)
            rows[0] = np.argmin(np.where(share * sign <= 0, distance, np.inf))
            weight[0] = abs(share)
            k, fixed = 1, 1
            scale = np.sqrt(distance[rows[0]])
        else:
            scale = np.sqrt((goal * goal).sum())
        blocked[:] = False
        added = False
        u = goal
        reached[problem] = False
        for _ in range(limit):
            # least squares over the active rows
            if bias:
                base = X[rows[0]]
                h = goal - share * base
            else:
                base = np.zeros(d)
                h = goal
            free = k - fixed
            for j in range(free):
                i = rows[fixed + j]
                M[j] = sign[i] * (X[i] - base)
            total = 0.0
            if free > 0:
                solution = np.linalg.lstsq(np.ascontiguousarray(M[:free].T), -h, -1.0)[0]
                for j in range(free):
                    new[fixed + j] = solution[j]
                    total += sign[rows[fixed + j]] * solution[j]
            if bias:
                new[0] = sign[rows[0]] * (-share - total)
            if added and new[k - 1] <= 0:  # rounding: this row cannot help, another may
                blocked[rows[k - 1]] = True
                k -= 1
            else:
                step, leaving = 1.0, -1
                for j in range(k):
                    if new[j] < 0:
                        ratio = weight[j] / (weight[j] - new[j])
                        if ratio < step:
                            step, leaving = ratio, j
                for j in range(k):
                    weight[j] = max(weight[j] + step * (new[j] - weight[j]), 0.0)
                if added:
                    blocked[:] = False
                    added = False
                if leaving >= 0:
                    for j in range(leaving, k - 1):
                        rows[j], weight[j] = rows[j + 1], weight[j + 1]
                    k -= 1
                    continue
                u = h.copy()
                for j in range(free):
                    u = u + weight[fixed + j] * M[j]
            margin = X @ u
            if bias:
                margin = margin - margin[rows[0]]
                margin = margin * sign + tol * scale * (lengths + lengths[rows[0]])
            else:
                margin = margin * sign + tol * scale * lengths
            for j in range(k):
                margin[rows[j]] = 0.0
            margin = np.where(blocked, 0.0, margin)
            worst = np.argmin(margin)
            if margin[worst] >= 0:
                reached[problem] = True
                break
            if k > d:  # more rows than can be independent: rounding again
                reached[problem] = True
                break
            rows[k], weight[k] = worst, 0.0
            k += 1
            added = True
        residual[problem] = u
        active[problem] = -1
        for j in range(min(k, d + 1)):
            active[problem, j] = rows[j]


def project_without_offset(
    X: NDArray[Any],
    on: NDArray[Any],
    pattern: NDArray[Any],
    g: NDArray[Any],
    c: NDArray[Any],
    bias: bool,
    tol: float,
    limit: int,
    residual: NDArray[Any],
    active: NDArray[Any],
    reached: NDArray[Any],
) -> None:
    """Do what `project_on_cones` does where there is no offset, by SciPy's non-negative least squares.

    Its steps update a factorization, and take d(n + d) flops instead of nd + d³; what it does not end goes back.
    """
    d = X.shape[1]
    last, S = -1, np.zeros((0, 0))
    for problem in range(len(g)):
        if pattern[problem] != last:
            last = pattern[problem]
            S = np.where(on[last], 1.0, -1.0) * X.T
        try:
            weight = nnls(S, -g[problem], maxiter=limit)[0]
        except RuntimeError:  # as it says, too many steps: the other way's dual value is a bound
            one = slice(problem, problem + 1)
            project_on_cones(
                X, on, pattern[one], g[one], c[one], bias, tol, limit, residual[one], active[one], reached[one]
            )
            continue
        rows = np.flatnonzero(weight)
        residual[problem] = g[problem] + S[:, rows] @ weight[rows]
        active[problem] = -1
        active[problem, : min(len(rows), d + 1)] = rows[: d + 1]
        reached[problem] = True


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
