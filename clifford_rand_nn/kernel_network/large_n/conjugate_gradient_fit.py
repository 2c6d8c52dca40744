"""Kernel regression on all rows by conjugate gradients; beta is selected on a few held-out rows first."""

import numpy as np

from clifford_rand_nn.kernel_network.large_n.certified import solve_certified
from clifford_rand_nn.kernel_network.large_n.cholesky_fit import compare, factor_rows
from clifford_rand_nn.kernel_network.large_n.nystrom import LandmarkFeatures, Nystrom
from clifford_rand_nn.kernel_network.large_n.problem import Found, ManyRows, Tried
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.solvers.base import Limits, Status

_COMPARED = 6000  # rows of a factor that compares betas: 1 s each
_HELD = 2000  # rows that are left out at first, or a tenth
_FIRST_GAP = 0.1  # to which the fit without them goes
_SHARE = 0.5  # of the time for it


def by_gradients(problem: ManyRows, limits: Limits, began: float, beta: float | None, landmarks: int) -> Found:
    """Solve by conjugate gradients in single precision, judged in double; beta None is chosen on a part.

    A fit without the last rows, to a gap of 10 %, gives predictions of them that they had no part in; all rows go on
    from its coefficients.
    """
    tried: list[Tried] = []
    radius = problem.n * (beta or 1.0)
    held = min(_HELD, problem.n // 10)
    if beta is None:
        part = problem.leading(problem.n - held)
        radius, first = part.subset_radius()
        end = np.inf if limits.max_time is None else began + _SHARE * limits.max_time
        some = part.leading(int(min(_COMPARED, factor_rows(limits.max_memory))))
        best, tried = compare(some, radius, problem.n, end)[:2]  # its factor goes
        tried.insert(0, first._replace(beta=radius / problem.n))
        radius = best
    regression = problem.regression(radius)
    unseen, used = problem.targets[:0], 0
    with regression.watch(limits, began) as watch:
        tiles = KernelTiles(problem.kernel, problem.X, np.float32)
        whole = Nystrom(
            LandmarkFeatures(problem.kernel, problem.X, np.arange(landmarks)), tiles.diagonal(), regression.radius
        )
        rest = problem.n - held
        early_part = problem.regression(radius, rest)
        early_tiles = KernelTiles(problem.kernel, problem.X[:rest], np.float32)
        seconds = None if limits.max_time is None else watch.seconds + _SHARE * (limits.max_time - watch.seconds)
        sooner = Limits(tol=max(_FIRST_GAP, limits.tol), max_iter=limits.max_iter, max_time=seconds)
        early = early_part.watch(sooner, began)
        solve_certified(early_part, early_tiles.multiply, whole.without_last(held), early, sooner)
        unseen = early_tiles.multiply_from(problem.X[rest:], early.point.alpha) + early.point.intercept
        tried.append(Tried(radius / problem.n, problem.loss(unseen), held, "held-out rows"))
        used = early.n_iter
        start = np.concatenate([early.point.alpha, np.zeros((held, problem.targets.shape[1]))])
        exact = KernelTiles(problem.kernel, problem.X)
        if early.status is Status.INTERRUPTED:
            regression.check(watch, used, start, exact.multiply(start))
            watch.stop(Status.INTERRUPTED)
        else:
            solve_certified(regression, exact.multiply, whole, watch, limits, fast=tiles.multiply, start=start)
    remark = f"{used} products with the kernel without {held} rows, {watch.n_iter} with all"
    return Found(watch, radius / problem.n, tuple(tried), len(unseen), unseen, remark=remark)
