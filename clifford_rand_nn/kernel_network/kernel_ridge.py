"""Kernel regression with a free intercept by Cholesky factors: one for each beta, of fits and of leave-one-out."""

from typing import Any, NamedTuple

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_solve, get_lapack_funcs

from clifford_rand._typing import Array, NDArray

_FLOOR = 1e-9  # of the trace of the kernel matrix: below this n·beta near-duplicate rows are fitted apart
# Of the trace, from which n·beta on fits are compared in single precision: on 34 tables this moved the mean squared
# errors of leave-one-out by up to 5e-4 of them, by 1e-6 in the median.
_SINGLE = 1e-7
_RANGE = 1e-12, 1e12  # of numbers in single precision, whose squares and products are in its range, too


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
