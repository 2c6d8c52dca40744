r"""Projection on the cone of an activation pattern, for many patterns: one function, run by NumPy or compiled.

For a pattern with signs s = ±1 and a functional (g, c) the size is the largest :math:`g\cdot u+cb` with
:math:`s_i(x_i\cdot u+b)\ge0` and :math:`||u||_2\le1`. By duality it is the least
:math:`||g+\sum\lambda_is_ix_i||_2` over :math:`\lambda\ge0`, :math:`\sum s_i\lambda_i=-c`, and the residual is the
best u times the size. This is non-negative least squares with an equation (Lawson and Hanson, "Solving Least Squares
Problems", 1974, chapter 23): the active rows always hold a row m, and with :math:`b=-x_m\cdot u` the equation gives
:math:`\lambda_m`; the rest are differences to x_m. Without an offset there is no such row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray


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
