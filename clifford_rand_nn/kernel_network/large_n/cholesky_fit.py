"""Kernel regression on all rows by one Cholesky factorization for each beta, with exact leave-one-out."""

import time
from typing import NamedTuple

import numpy as np

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.large_n.certified import solve_certified
from clifford_rand_nn.kernel_network.large_n.factor import MOST_SINGLE, KernelFactor, left_out
from clifford_rand_nn.kernel_network.large_n.problem import FLAT, Found, ManyRows, Tried
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.solvers.base import Limits

_AROUND = (
    0.25,
    4.0,
    1.0,
)  # of the radius from the subset; the likeliest is the last, so that its factor is still there
_JUDGED = 2000  # rows whose leave-one-out compares betas
_MORE = 3.5  # factors whose time the end takes: one more, two for the inverse, and products


class _Factored(NamedTuple):
    factor: KernelFactor
    radius: float
    precision: str


def factor_bytes(n: int) -> float:
    """Return the memory of a factor in double precision, of which one triangle is touched, and of its leave-one-out."""
    return 4.0 * n**2 + 8.0 * min(n, _JUDGED) ** 2


def factor_rows(max_memory: float | None) -> float:
    """Return the largest order of a factor whose `factor_bytes` are at most ``max_memory``."""
    if max_memory is None:
        return np.inf
    few = (max_memory / 12.0) ** 0.5
    return int(few if few <= _JUDGED else (max_memory / 4.0 - 2.0 * _JUDGED**2) ** 0.5)


def by_factor(problem: ManyRows, limits: Limits, began: float, beta: float | None) -> Found:
    """Solve by a factor of order n; with beta None for the best of three, by leave-one-out of some of the rows.

    The factor is in single precision where that is safe. It only preconditions: what is certified is in double
    precision. If time runs short, fewer betas are compared, the one from the subset always.
    """
    tried: list[Tried] = []
    radius, now = problem.n * (beta or 1.0), None
    if beta is None:
        radius, first = problem.subset_radius()
        end = np.inf if limits.max_time is None else began + limits.max_time
        radius, tried, now = compare(problem, radius, problem.n, end)
        tried.insert(0, first)
    regression = problem.regression(radius)
    with regression.watch(limits, began) as watch:
        if now is None or now.radius != radius:
            now = _factored(problem, radius, now)
        factor = now.factor
        exact = KernelTiles(problem.kernel, problem.X)
        solve_certified(regression, exact.multiply, factor.solve, watch, limits)
        ones = factor.solve(np.ones((problem.n, 1)))[:, 0]
        unseen = problem.targets - left_out(watch.point.alpha, factor.inverse_diagonal(), ones)
        remark = f"one factor of order {problem.n} a beta, in {now.precision} precision"
        return Found(watch, radius / problem.n, tuple(tried), problem.n, unseen, remark=remark)
    return Found(watch, radius / problem.n, tuple(tried), 0, problem.targets[:0])


def compare(problem: ManyRows, radius: float, n: int, end: float) -> tuple[float, list[Tried], _Factored | None]:
    """Return the best of three radii, all that were compared (beta for n rows), and the last factor.

    The best is the largest with a loss within `FLAT` of the least. ``end`` is when the time is over: of the three only
    as many are taken as leave enough of it.
    """
    now: _Factored | None = None
    losses: list[tuple[float, float]] = []
    tried: list[Tried] = []
    taken = 0.0
    for share in _AROUND:
        start = time.perf_counter()
        if share != 1.0 and end - start < (_MORE + 2) * taken:
            continue
        now = _factored(problem, share * radius, now)
        loss, rows = _judged(problem, now.factor)
        taken = time.perf_counter() - start
        losses.append((loss, share * radius))
        tried.append(Tried(share * radius / n, loss, rows, f"leave-one-out on a factor of order {problem.n}"))
    least = min(losses)[0]
    return max(r for loss, r in losses if loss <= (1 + FLAT) * least), tried, now


def _factored(problem: ManyRows, radius: float, last: _Factored | None) -> _Factored:
    """Return the factor for a radius, in the memory of the last one if it may be."""
    share = radius / problem.weights
    largest = 0.5 * float(np.square(problem.kernel.features(problem.X)).sum(axis=1).max())
    precisions = ["double"] if largest > MOST_SINGLE * share.min() else ["single", "double"]
    for precision in precisions:
        if last is not None and last.precision == precision:
            factor = last.factor
        else:
            last = None  # the old one goes before the new one comes
            dtype = np.float32 if precision == "single" else np.float64
            factor = KernelFactor(KernelTiles(problem.kernel, problem.X, dtype))
        if factor.factorize(share):
            return _Factored(factor, radius, precision)
    rule = "so large that the kernel with n beta on its diagonal is positive definite in floating point"
    raise fail("beta", "solve_many", rule, radius / problem.n)


def _judged(problem: ManyRows, factor: KernelFactor) -> tuple[float, int]:
    """Return the leave-one-out loss of the last rows, and how many."""
    sides = factor.solve(np.column_stack([problem.targets, np.ones(problem.n)]))
    alpha, ones = sides[:, :-1], sides[:, -1]
    alpha = alpha - np.outer(ones, alpha.sum(axis=0) / ones.sum())
    s = min(problem.n, _JUDGED)
    unseen: Array = problem.targets[-s:] - left_out(alpha, factor.inverse_diagonal(s), ones)
    return problem.loss(unseen), s
