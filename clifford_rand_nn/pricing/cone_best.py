r"""The best neuron of an activation cone: by projection for p = 2, for many patterns; by a linear program for p = 1.

For a pattern with signs s = ±1 and a functional (g, c) the size is the largest :math:`g\cdot u+cb` with
:math:`s_i(x_i\cdot u+b)\ge0` and :math:`||u||_2\le1`. By duality it is the least
:math:`||g+\sum\lambda_is_ix_i||_2` over :math:`\lambda\ge0`, :math:`\sum s_i\lambda_i=-c`, and the residual is the
best u times the size. This is non-negative least squares with an equation (Lawson and Hanson, "Solving Least Squares
Problems", 1974, chapter 23): the active rows always hold a row m, and with :math:`b=-x_m\cdot u` the equation gives
:math:`\lambda_m`; the rest are differences to x_m. Without an offset there is no such row.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog, nnls

from clifford_rand._threads import for_each_slice
from clifford_rand._typing import Array
from clifford_rand.compiler.decorator import compiled, has_compiler
from clifford_rand_nn.rounding import gamma

# Numbers of X that projections have read. At d = 2, n = 160 a projection takes 1.3 ms as it is, 0.08 by SciPy and
# 0.006 ms compiled; compiling takes 5 s, once on a machine, and loading 0.5 s.
_INTERPRETED_UP_TO = 100_000
_COMPILED_UP_TO = 60  # columns without an offset; beyond, SciPy's updates of a factorization are faster: 3 times at 120
_LEAST_PROJECTIONS = 64  # of a thread
_TOL = 1e-12  # violation of a constraint relative to its terms; least squares of a few rows leave some 1e-15
_DEPENDENT = 1e-14  # distance of a column from the span of those before it, relative to the first one's length
_STEPS = 10  # least-squares problems for each row and dimension; random data takes fewer than 3 d
_ON_PLANE = 1e-9  # of |x|_max |v|_1: active rows of a residual that is more than rounding are within some 1e-13
_LP_TOL = 1e-10  # the least that HiGHS takes
_ACTIVE = 1e-10  # margins, of data and directions of size 1, that the program may call zero


def project_on_cones(
    X: NDArray[Any],
    on: NDArray[Any],
    pattern: NDArray[Any],
    goals: NDArray[Any],
    bias: bool,
    residual: NDArray[Any],
    active: NDArray[Any],
) -> None:
    """Project Q goals (g, c), of shape (Q, d + 1), on the cones ``on[pattern]`` of the rows X (n, d), one by one.

    Writes ``residual`` (Q, d), the size times the best direction, whose norm is never below the size, also where the
    steps ended; and ``active`` (Q, d + 1), the rows on the hyperplane, -1 where there are fewer; with bias the first is
    the row m. No pattern may lack a row that it needs: with c > 0 one that is off, with c < 0 one that is on.
    """
    # loops over scalars alone: with expressions of arrays Numba takes 19 s instead of 5
    n, d = X.shape
    rows, blocked = np.zeros(d + 2, dtype=np.int64), np.zeros(n, dtype=np.bool_)
    weight, new, lengths = np.zeros(d + 2), np.zeros(d + 2), np.zeros(n)
    M, h, u = np.zeros((d, d + 2)), np.zeros(d), np.zeros(d)
    for i in range(n):
        for j in range(d):
            lengths[i] += X[i, j] * X[i, j]
        lengths[i] = np.sqrt(lengths[i])
    for problem in range(len(goals)):
        on_row, share = on[pattern[problem]], goals[problem, d]
        k, fixed, scale = 0, 0, np.inf
        if bias:  # start from the best single row
            for i in range(n):
                if share == 0 or on_row[i] == (share < 0):
                    # with all weight on row i, λ_i = |c| of the side that c needs, the residual is g - c x_i
                    distance = 0.0
                    for j in range(d):
                        distance += (goals[problem, j] - share * X[i, j]) ** 2
                    if distance < scale:
                        rows[0], scale = i, distance
            weight[0] = abs(share)
            k, fixed = 1, 1
        else:
            scale = 0.0
            for j in range(d):
                scale += goals[problem, j] ** 2
        scale = np.sqrt(scale)
        for j in range(d):
            u[j] = goals[problem, j]
        for i in range(n):
            blocked[i] = False
        added = False
        # the first `fixed` active rows are m, of weight |c|; invariant: all weights are ≥ 0
        for _ in range(int(_STEPS * (n + d))):
            # λ of the active rows: min ||h + Σ λ_j s_j (x_j - x_m)||², h = g - c x_m
            free = k - fixed
            for i in range(d):
                base = X[rows[0], i] if bias else 0.0
                h[i] = goals[problem, i] - share * base if bias else goals[problem, i]
                for j in range(free):
                    # columns s_j (x_j - x_m) of the least squares problem
                    M[i, j] = (X[rows[fixed + j], i] - base) * (1.0 if on_row[rows[fixed + j]] else -1.0)
            total = 0.0
            if free > 0:
                # M = Q R, and R λ = -Q^T h from below; a column in the span of those before it gets weight 0
                Q, R = np.linalg.qr(M[:, :free].copy())
                for j in range(free - 1, -1, -1):
                    value = 0.0
                    if j < d and abs(R[j, j]) > _DEPENDENT * abs(R[0, 0]):
                        for i in range(d):
                            value -= Q[i, j] * h[i]
                        for i in range(j + 1, free):
                            value -= R[j, i] * new[fixed + i]
                        value /= R[j, j]
                    new[fixed + j] = value
                    total += value if on_row[rows[fixed + j]] else -value
            if bias:
                # the equation Σ s_i λ_i = -c gives λ_m
                new[0] = -share - total if on_row[rows[0]] else share + total
            if added and new[k - 1] <= 0:  # rounding: this row cannot help, another may
                blocked[rows[k - 1]] = True
                k -= 1
            else:
                # go towards it until the first weight is 0; its row leaves
                step, leaving = 1.0, -1
                for j in range(k):
                    if new[j] < 0:
                        ratio = weight[j] / (weight[j] - new[j])
                        if ratio < step:
                            step, leaving = ratio, j
                for j in range(k):
                    weight[j] = max(weight[j] + step * (new[j] - weight[j]), 0.0)
                if added:
                    for i in range(n):
                        blocked[i] = False
                    added = False
                if leaving >= 0:
                    for j in range(leaving, k - 1):
                        rows[j], weight[j] = rows[j + 1], weight[j + 1]
                    k -= 1
                    continue
                # the residual at these weights, which is the size times the best direction
                for i in range(d):
                    u[i] = h[i]
                    for j in range(free):
                        u[i] += weight[fixed + j] * M[i, j]
            # optimal once s_i (x_i·u + b) ≥ 0 for all rows, with b = -x_m·u; else the most violated one becomes active
            offset, length = 0.0, 0.0
            if bias:
                length = lengths[rows[0]]
                for j in range(d):
                    offset -= X[rows[0], j] * u[j]
            worst, least = -1, 0.0
            for i in range(n):
                margin = offset
                for j in range(d):
                    margin += X[i, j] * u[j]
                # a constraint may be violated by a share of the size of its terms
                margin = (margin if on_row[i] else -margin) + _TOL * scale * (lengths[i] + length)
                if margin < least and not blocked[i]:
                    active_row = False
                    for j in range(k):
                        active_row = active_row or rows[j] == i
                    if not active_row:
                        worst, least = i, margin
            if worst < 0 or k > d:  # more rows than can be independent: rounding again
                break
            rows[k], weight[k] = worst, 0.0
            k += 1
            added = True
        for j in range(d):
            residual[problem, j] = u[j]
        for j in range(d + 1):
            active[problem, j] = rows[j] if j < k else -1


def project_without_offset(
    X: NDArray[Any],
    on: NDArray[Any],
    pattern: NDArray[Any],
    goals: NDArray[Any],
    bias: bool,
    residual: NDArray[Any],
    active: NDArray[Any],
) -> None:
    """Do what `project_on_cones` does where there is no offset, by SciPy's non-negative least squares.

    Its steps update a factorization, and take d(n + d) flops instead of nd + d³; what it does not end goes back.
    """
    n, d = X.shape
    last, S = -1, np.zeros((0, 0))
    for problem, goal in enumerate(goals[:, :d]):
        if pattern[problem] != last:
            last = pattern[problem]
            S = np.where(on[last], 1.0, -1.0) * X.T
        try:
            weight = nnls(S, -goal, maxiter=_STEPS * (n + d))[0]
        except RuntimeError:  # as it says, too many steps: the other way's dual value is a bound
            part = slice(problem, problem + 1)
            project_on_cones(X, on, pattern[part], goals[part], bias, residual[part], active[part])
            continue
        rows = np.flatnonzero(weight)
        residual[problem] = goal + S[:, rows] @ weight[rows]
        active[problem] = -1
        active[problem, : min(len(rows), d + 1)] = rows[: d + 1]


@cache
def _compiled() -> Callable[..., None]:
    twin: Callable[..., None] = compiled()(project_on_cones)
    return twin


class Cones:
    """The cones of patterns ``on`` (P, n) of rows ``data`` (n, d), whose hyperplanes have an offset with ``bias``."""

    def __init__(self, data: Array, on: NDArray[np.bool_], bias: bool) -> None:
        self.data, self.on, self.bias = data, on, bias
        self._read = 0

    def project(self, pattern: NDArray[np.intp], g: Array, c: Array) -> tuple[Array, NDArray[np.int64]]:
        """Return residuals (Q, d), and the rows on the hyperplane (Q, d + 1), -1 where there are fewer."""
        d = self.data.shape[1]
        residual, active = np.zeros_like(g), np.zeros((len(g), d + 1), dtype=np.int64)
        goals = np.column_stack([g, c])
        self._read += len(g) * self.data.size
        solve: Callable[..., None] = project_on_cones if self.bias else project_without_offset
        if self._read > _INTERPRETED_UP_TO and (self.bias or d <= _COMPILED_UP_TO) and has_compiler():
            solve = _compiled()

        def work(part: slice) -> None:
            solve(self.data, self.on, pattern[part], goals[part], self.bias, residual[part], active[part])

        for_each_slice(work, len(g), least=_LEAST_PROJECTIONS)
        return residual, active

    def spanned(self, residuals: Array, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which residuals (Q, d) are orthogonal to their active rows; one that is rounding alone is to none."""
        origin = self.data[rows[:, 0]] if self.bias else np.zeros_like(residuals)
        most = _ON_PLANE * float(np.abs(self.data).max(initial=0.0)) * np.abs(residuals).sum(axis=1)
        spanned = np.ones(len(residuals), dtype=bool)
        for place in rows.T:
            # |(x_i - x_m)·v| for the active row of this place in every problem
            distance = np.abs(np.einsum("qd,qd->q", self.data[place] - origin, residuals))
            spanned &= (place < 0) | (distance <= most)
        return spanned


class Vertex(NamedTuple):
    """A direction of 1-norm 1, the value, and the rows on the hyperplane; with bias the first gives the offset.

    ``bound``: of all directions, by the multipliers of the rows.
    """

    value: float
    direction: Array
    rows: list[int]
    bound: float


def best_vertex(X: Array, on: NDArray[Any], g: Array, c: float, bias: bool) -> Vertex | None:
    r"""Return the largest :math:`g\cdot u+cb` in the cone of a pattern with :math:`||u||_1\le1`.

    None if it is at most 0, or if HiGHS gives up, as it does where numbers are too far apart.

    With bias, the pattern ``on`` (n,) needs a row that is off for c > 0, and one that is on for c < 0. HiGHS promises
    1e-10 of the largest entry of (g, c); the vertices that it finds are accurate to rounding (1e-15 on 150 random and
    integer data sets, with columns of scales 1 to 1e-4), but not where the value is 1e-9 of (g, c). The bound is that
    of weak duality: what its multipliers leave of g and c, with their rounding.
    """
    n, d = X.shape
    scale = float(np.abs(X).max())
    # scaled to entries of one, for HiGHS promises absolute tolerances; without an offset each row by itself
    sizes = np.full(n, scale) if bias else np.abs(X).max(axis=1)
    goal_scale = max(float(np.abs(g).max()), abs(c) * scale)
    if scale == 0 or goal_scale == 0:
        return None
    sign = np.where(on, 1.0, -1.0)
    unit, goal, share = X / np.where(sizes > 0, sizes, 1.0)[:, None], g / goal_scale, c * scale / goal_scale
    # u = u₊ - u₋ with u₊, u₋ ≥ 0 makes ||u||_1 ≤ 1 the row 1·u₊ + 1·u₋ ≤ 1
    A = np.concatenate([-sign[:, None] * unit, sign[:, None] * unit, -sign[:, None] * int(bias)], axis=1)
    A = np.concatenate([A, np.r_[np.ones(2 * d), 0.0][None]])
    bounds = [(0, None)] * (2 * d) + [(-2, 2) if bias else (0, 0)]  # |b| ≤ |x·u| ≤ 1 for some row
    solution = linprog(
        -np.r_[goal, -goal, share],
        A_ub=A,
        b_ub=np.r_[np.zeros(n), 1.0],
        bounds=bounds,
        method="highs-ds",
        options={"primal_feasibility_tolerance": _LP_TOL, "dual_feasibility_tolerance": _LP_TOL},
    )
    if solution.x is None or solution.fun >= 0:
        return None
    u, b = solution.x[:d] - solution.x[d:-1], solution.x[-1]
    size = float(np.abs(u).sum())
    if size == 0:
        return None
    # rows on the hyperplane, and basis vectors of zero weights, span the vertex
    margin = sign * (unit @ u + b)
    touching = np.flatnonzero(margin <= _ACTIVE)
    if bias and not len(touching):
        touching = np.array([np.argmin(margin)])  # c = 0: the offset is free, and moves up to the nearest row
    (zero,) = np.nonzero(u == 0)
    # multipliers; where a pattern is on everywhere, its offset may be any, and they have to be 0
    weights = np.maximum(-solution.ineqlin.marginals[:n], 0) * sign * (not (bias and on.all()))
    left, offset = goal + unit.T @ weights, share + float(weights.sum())  # |b| <= 1, as the plane meets a row
    lost = gamma(int(np.count_nonzero(weights)) + 4) * (1 + float(np.abs(weights).sum()))
    bound = float(np.abs(left).max()) + abs(offset) * bias + (1 + bias) * lost
    value = -float(solution.fun)
    rows = [*touching.tolist(), *(n + zero).tolist()]
    return Vertex(value * goal_scale, u / size, rows, max(value, bound) * goal_scale)


def least_norm(A: Array, h: Array) -> tuple[Array, Array]:
    r"""Return g (Q, d) of nearly the least norm with :math:`Ag\ge h`, and its direction; rows A (Q, d, d) of length 1.

    By non-negative least squares, :math:`g = A^T\mu`, for all at once, with block pivoting (Portugal, Júdice, Vicente,
    "A comparison of block pivoting and interior-point algorithms for linear least squares problems with nonnegative
    variables", 1994). The rays are in one orthant: a multiple of their sum is feasible, and lifts g over rounding.
    """
    Q, d = h.shape
    gram = A @ A.transpose(0, 2, 1) + 1e-15 * np.eye(d)
    passive, mu, live, scale = np.ones((Q, d), dtype=np.bool_), np.zeros((Q, d)), np.arange(Q), np.abs(h).max(axis=1)
    for step in range(3 * d):
        free = passive[live]
        matrix = np.where(free[:, :, None] & free[:, None, :], gram[live], np.eye(d))
        mu[live] = np.linalg.solve(matrix, np.where(free, h[live], 0.0)[:, :, None])[:, :, 0]
        slack = np.einsum("qij,qj->qi", gram[live], mu[live]) - h[live]
        wrong = np.where(free, mu[live] < 0, slack < -1e-12 * scale[live, None])
        live, wrong = live[wrong.any(axis=1)], wrong[wrong.any(axis=1)]
        if step >= d:  # with one change at a time it ends
            wrong = np.arange(d) == d - 1 - wrong[:, ::-1].argmax(axis=1)[:, None]
        passive[live] ^= wrong
    peak, center = np.einsum("qi,qij->qj", np.maximum(mu, 0), A), A.sum(axis=1)
    missing = np.maximum(h - np.einsum("qij,qj->qi", A, peak), 0).max(axis=1)
    missing += gamma(3 * d) * (scale + np.linalg.norm(peak, axis=1))
    g = peak + missing[:, None] * center
    # thin cones leave mu no digits
    upright = np.maximum(h / np.einsum("qij,qj->qi", A, center), 0).max(axis=1)[:, None] * center
    better = (np.linalg.norm(upright, axis=1) < np.linalg.norm(g, axis=1))[:, None]
    return np.where(better, upright * (1 + gamma(3 * d)), g), np.where(better, center, peak)
