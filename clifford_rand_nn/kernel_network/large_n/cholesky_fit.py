"""Kernel regression on all rows by one Cholesky factorization for each beta, with exact leave-one-out."""

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm, strmm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, spotrf, spotrs, strtri

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.large_n.problem import FLAT, Found, ManyRows, solve_certified
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.solvers.base import Limits

# Largest diagonal entry of K over the least of the penalty's that is factorized in single precision, as in
# `clifford_rand_nn.solvers.kernel.gram`: round-off is refined in double precision.
MOST_SINGLE = 1e4
_STRIP = 512


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
