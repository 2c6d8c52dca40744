"""Kernel regression with a free intercept by Cholesky factors: one for each beta, of fits and of leave-one-out."""

import time
from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from numpy.typing import NDArray
from scipy.linalg import cho_solve, get_lapack_funcs
from scipy.linalg.blas import dtrmm, strmm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, spotrf, spotrs, strtri

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel_products import KernelTiles
from clifford_rand_nn.kernel_network.many_rows_problem import FLAT, Found, ManyRows, solve_certified
from clifford_rand_nn.solvers.base import Limits

_FLOOR = 1e-9  # of the trace of the kernel matrix: below this n·beta near-duplicate rows are fitted apart
# Of the trace, from which n·beta on fits are compared in single precision: on 34 tables this moved the mean squared
# errors of leave-one-out by up to 5e-4 of them, by 1e-6 in the median.
_SINGLE = 1e-7
_RANGE = 1e-12, 1e12  # of numbers in single precision, whose squares and products are in its range, too
# Largest diagonal entry of K over the least of the penalty's that is factorized in single precision, as in
# `clifford_rand_nn.solvers.gate_kernel`: round-off is refined in double precision.
MOST_SINGLE = 1e4
_STRIP = 512
_JUDGED = 2000  # rows whose leave-one-out compares betas
_MORE = 3.5  # factors whose time the end takes: one more, two for the inverse, and products


def spread(K: NDArray[np.floating]) -> float:
    """Return the variance of the rows in the kernel's space, tr K/n less the mean of K; 1 if they are all one."""
    return max(float(np.trace(K) / len(K) - K.mean()), 0.0) or 1.0


class LeftOutFit(NamedTuple):
    """A fit to all rows, and what is known of fits without one of them, or without its group."""

    outputs: Array  # (k, C), of k rows, each by the fit without it
    left: Array  # (k,), (I - H)_ii, what a row is left of its residual by the fit; 1 of rows not left out alone
    alpha: Array  # (n, C), of the fit to all rows
    by_factor: bool = True  # or by an eigendecomposition


class KernelRidge:
    r"""Fits with one kernel matrix, one factorization each: :math:`(K+\lambda\Omega^{-1})\alpha=y-t,\ 1^T\alpha=0`.

    ``single``: in single precision, which takes half of the time, where λ is large enough to compare fits by it.
    """

    def __init__(self, K: NDArray[np.floating], weights: Array | None = None, *, single: bool = False) -> None:
        self.K = K
        self._inverse = np.ones(len(K)) if weights is None else 1 / weights
        trace = float(np.trace(K))
        self.least = _FLOOR * trace or 1.0  # λ that is taken in the place of a smaller one
        self._single = _SINGLE * trace if single and _RANGE[0] < trace / len(K) < _RANGE[1] else np.inf

    def fit(self, targets: Array, radius: float) -> tuple[Array, Array]:
        """Return alpha (n, C) and the intercept (C,) for λ = ``radius``."""
        return self._solve(self._factor(targets, radius), targets)[:2]

    def left_out(self, targets: Array, radius: float, rows: NDArray[np.intp], belongs: NDArray[np.intp]) -> LeftOutFit:
        r"""Return the fit for λ = ``radius``, and what k rows are predicted to be without all that belongs with them.

        ``belongs`` (n,): a number for each row, the same for those that are left out together.

        With :math:`B=A^{-1}-A^{-1}11^TA^{-1}/1^TA^{-1}1`, :math:`A=K+\lambda\Omega^{-1}`, alpha is By, and a set g is
        left a residual of :math:`B_{gg}^{-1}(By)_g`.
        """
        if not len(rows):
            return LeftOutFit(targets[:0], np.ones(0), self.fit(targets, radius)[0])
        inside = np.isin(belongs, belongs[rows])
        order = np.argsort(inside, kind="stable")
        first = len(order) - int(inside.sum())
        members = order[first:]
        factor = self._factor(targets, radius, order if first else None)
        alpha, ones = np.empty(targets.shape), np.empty(len(order))
        alpha[order], _, ones[order] = self._solve(factor, targets[order])
        shares = ones / ones.sum()
        # A = RᵀR, so A⁻¹ = R⁻¹R⁻ᵀ: its last rows and columns are those of the last block of R alone
        block = np.asfortranarray(factor[first:, first:])
        root, _ = get_lapack_funcs("trtri", (block,))(block, overwrite_c=1)
        at = np.searchsorted(members, rows)
        diagonal = np.einsum("ij,ij->i", root, root)[at] - (ones * shares)[rows]
        outputs = targets[rows] - alpha[rows] / diagonal[:, None]
        size = np.bincount(belongs)
        together = size[belongs[rows]] > 1
        left = np.where(together, 1.0, diagonal * max(radius, self.least) * self._inverse[rows])
        for unit in np.unique(belongs[rows[together]]):
            own, mine = np.flatnonzero(belongs == unit), np.flatnonzero(belongs[rows] == unit)
            of_unit = root[np.searchsorted(members, own)]
            missed = np.linalg.solve(of_unit @ of_unit.T - np.outer(ones[own], shares[own]), alpha[own])
            outputs[mine] = targets[rows[mine]] - missed[np.searchsorted(own, rows[mine])]
        return LeftOutFit(outputs, left, alpha)

    def _solve(self, factor: NDArray[np.floating], targets: Array) -> tuple[Array, Array, Array]:
        """Return alpha (n, C), the intercept (C,) and A⁻¹1 (n,)."""
        sides = np.column_stack([targets, np.ones(len(targets))]).astype(factor.dtype, copy=False)
        solved = cho_solve((factor, False), sides, check_finite=False).astype(np.float64, copy=False)
        alpha, ones = solved[:, :-1], solved[:, -1]
        intercept = alpha.sum(axis=0) / ones.sum()
        return np.asarray(alpha - np.outer(ones, intercept)), np.asarray(intercept), ones

    def _factor(self, targets: Array, radius: float, order: NDArray[np.intp] | None = None) -> NDArray[np.floating]:
        """Return R with RᵀR = A, upper triangular, of the rows in an order if one is given.

        SciPy's function keeps the interpreter's lock, but takes less than half of the time of NumPy's.
        """
        exact = radius < self._single or not _RANGE[0] < np.abs(targets).max() < _RANGE[1]
        K, inverse = self.K, self._inverse
        if order is not None:
            K, inverse = K[np.ix_(order, order)], inverse[order]
        for dtype in (np.float64,) if exact else (np.float32, np.float64):
            system: NDArray[Any] = K.astype(dtype)
            system[np.diag_indices(len(system))] += (max(radius, self.least) * inverse).astype(dtype)
            factor, info = get_lapack_funcs("potrf", (system,))(system.T, lower=0, clean=1, overwrite_a=1)
            if not info:
                return np.asarray(factor)
        raise LinAlgError(f"the leading minor of order {info} is not positive")


class KernelFactor:
    r"""The Cholesky factor of :math:`K+\mathrm{diag}(\rho)`, n × n numbers of the tiles' type and nothing else.

    Only one triangle is ever touched: a system that gives memory by the page holds little more than half of the array.

    With :math:`A^{-1}` its inverse and :math:`G = A^{-1}-A^{-1}11^TA^{-1}/1^TA^{-1}1`, coefficients are
    :math:`\alpha = Gy`, and the residual of row i without it is :math:`\alpha_i/G_{ii}`. The last s rows need only
    the last s × s block of the factor, as :math:`(A^{-1})_{SS} = (L_{SS}L_{SS}^T)^{-1}`: their leave-one-out, each from
    all other n - 1 rows, costs :math:`s^3/3` operations where all rows cost as much as the factor.

    ``tiles``: in single precision to factorize in it.
    """

    def __init__(self, tiles: KernelTiles) -> None:
        self._tiles, self.n = tiles, tiles.n
        self._single = tiles.dtype == np.float32
        self._A: NDArray[np.floating] = np.empty((self.n, self.n), dtype=tiles.dtype)
        self._inverted = False

    def factorize(self, radius: Array) -> bool:
        r"""Factorize the kernel with :math:`\rho` = ``radius`` (n,) on the diagonal; tell whether rounding let it."""
        self._tiles.fill_upper(self._A)
        self._A.flat[:: self.n + 1] += radius.astype(self._A.dtype)
        factor, info = (spotrf if self._single else dpotrf)(self._A.T, lower=1, clean=0, overwrite_a=1)
        self._A, self._inverted = factor.T, False
        return not info

    def solve(self, b: Array) -> Array:
        r"""Return :math:`(K+\mathrm{diag}(\rho))^{-1}b` for b (n, C), rounded as the factor is."""
        right = np.asfortranarray(b, dtype=self._A.dtype)
        if self._inverted:
            multiply = strmm if self._single else dtrmm
            half = multiply(1.0, self._A.T, right, lower=1)
            return np.asarray(multiply(1.0, self._A.T, half, lower=1, trans_a=1, overwrite_b=1), dtype=np.float64)
        x, _ = (spotrs if self._single else dpotrs)(self._A.T, right, lower=1)
        return np.asarray(x, dtype=np.float64)

    def inverse_diagonal(self, last: int | None = None) -> Array:
        r"""Return the diagonal of the inverse: of the last rows, (last,), or of all.

        All rows overwrite the factor by its inverse, with which `solve` goes on.
        """
        if last is not None:
            with np.errstate(invalid="ignore"):  # of the triangle that holds nothing
                block = np.array(self._A.T[self.n - last :, self.n - last :], dtype=np.float64, order="F")
            inverse, _ = dtrtri(block, lower=1, overwrite_c=1)
            return _squares_of_rows(inverse.T)
        if not self._inverted:
            inverse, _ = (strtri if self._single else dtrtri)(self._A.T, lower=1, overwrite_c=1)
            self._A, self._inverted = inverse.T, True
        return _squares_of_rows(self._A)


def _squares_of_rows(U: NDArray[np.floating]) -> Array:
    """Return the squared norms of the rows of the upper triangle of U, a strip of them at a time."""
    out = np.empty(len(U))
    for i in range(0, len(U), _STRIP):
        strip = np.triu(U[i : i + _STRIP, i:])
        out[i : i + _STRIP] = np.einsum("ik,ik->i", strip, strip, dtype=np.float64)
    return out


def left_out(alpha: Array, diagonal: Array, ones: Array) -> tuple[Array, Array]:
    r"""Return residuals of the last rows without each of them, :math:`\alpha_i/G_{ii}`, (s, C), and G_ii (s,).

    ``alpha`` (n, C): columns sum to zero. ``diagonal`` (s,): of the inverse, at the last rows. ``ones`` (n,): the
    inverse times 1.
    """
    s = len(diagonal)
    G = diagonal - ones[-s:] ** 2 / ones.sum()
    return np.asarray(alpha[-s:] / G[:, None]), G


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


def by_factor(problem: ManyRows, limits: Limits, began: float, betas: tuple[float, ...]) -> Found:
    """Solve by a factor of order n, for the best of some betas by leave-one-out of some of the rows.

    The factor is in single precision where that is safe. It only preconditions: what is certified is in double
    precision. If time runs short, fewer betas are compared, the last one always.
    """
    radius, now = problem.n * betas[-1], None
    if len(betas) > 1:
        end = np.inf if limits.max_time is None else began + limits.max_time
        radius, now = compare(problem, betas, end)
    regression = problem.regression(radius)
    with regression.watch(limits, began) as watch:
        if now is None or now.radius != radius:
            now = _factored(problem, radius, now)
        factor = now.factor
        exact = KernelTiles(problem.kernel, problem.X)
        solve_certified(regression, exact.multiply, factor.solve, watch, limits)
        ones = factor.solve(np.ones((problem.n, 1)))[:, 0]
        missed, G = left_out(watch.point.alpha, factor.inverse_diagonal(), ones)
        left = radius * G / problem.weights
        remark = f"one factor of order {problem.n} a beta, in {now.precision} precision"
        return Found(watch, radius / problem.n, problem.n, problem.targets - missed, remark=remark, left=left)
    return Found(watch, radius / problem.n, 0, problem.targets[:0])


def compare(problem: ManyRows, betas: tuple[float, ...], end: float) -> tuple[float, _Factored | None]:
    r"""Return :math:`n\beta` of the best of some betas, and the last factor, which is that of the last beta.

    The best is the largest with a loss within `FLAT` of the least. ``end`` is when the time is over: only as many are
    taken as leave enough of it, the last one always.
    """
    now: _Factored | None = None
    losses: list[tuple[float, float]] = []
    taken = 0.0
    for radius in (problem.n * beta for beta in betas):
        start = time.perf_counter()
        if radius != problem.n * betas[-1] and end - start < (_MORE + 2) * taken:
            continue
        now = _factored(problem, radius, now)
        losses.append((_judged(problem, now.factor), radius))
        taken = time.perf_counter() - start
    least = min(losses)[0]
    return max(r for loss, r in losses if loss <= (1 + FLAT) * least), now


def _factored(problem: ManyRows, radius: float, last: _Factored | None) -> _Factored:
    """Return the factor for a radius, in the memory of the last one if it may be."""
    share = radius / problem.weights
    largest = float(problem.kernel.diagonal(problem.X).max())
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


def _judged(problem: ManyRows, factor: KernelFactor) -> float:
    """Return the leave-one-out loss of the last rows."""
    sides = factor.solve(np.column_stack([problem.targets, np.ones(problem.n)]))
    alpha, ones = sides[:, :-1], sides[:, -1]
    # α = A⁻¹y - A⁻¹1 (1ᵀA⁻¹y)/(1ᵀA⁻¹1)
    alpha = alpha - np.outer(ones, alpha.sum(axis=0) / ones.sum())
    s = min(problem.n, _JUDGED)
    return problem.loss(problem.targets[-s:] - left_out(alpha, factor.inverse_diagonal(s), ones)[0])
