"""Kernel regression with a free intercept by Cholesky factors: one for each beta, of fits and of leave-one-out."""

from typing import Any

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
        factor = self._factor(targets, radius)
        sides = np.column_stack([targets, np.ones(len(targets))]).astype(factor.dtype, copy=False)
        solved = cho_solve((factor, False), sides, check_finite=False).astype(np.float64, copy=False)
        alpha, ones = solved[:, :-1], solved[:, -1]
        intercept = alpha.sum(axis=0) / ones.sum()
        return np.asarray(alpha - np.outer(ones, intercept)), np.asarray(intercept)

    def left_out(
        self, targets: Array, radius: float, rows: NDArray[np.intp], belongs: NDArray[np.intp]
    ) -> tuple[Array, Array]:
        r"""Return what some rows (k,) are predicted to be by fits without all that ``belongs`` (n,) puts with them.

        The second array is :math:`(I-H)_{ii}` (k,), 1 of rows that are not left out alone.

        With :math:`B=A^{-1}-A^{-1}11^TA^{-1}/1^TA^{-1}1`, :math:`A=K+\lambda\Omega^{-1}`, a set g is left a residual of
        :math:`B_{gg}^{-1}(By)_g`.
        """
        # A = RᵀR, so A⁻¹ = R⁻¹R⁻ᵀ, and its diagonal are the squared lengths of the rows of R⁻¹
        factor = self._factor(targets, radius)
        root, _ = get_lapack_funcs("trtri", (factor,))(factor, overwrite_c=1)
        sides = np.column_stack([targets, np.ones(len(root))]).astype(root.dtype, copy=False)
        solved = (root @ (root.T @ sides)).astype(np.float64, copy=False)
        ones = solved[:, -1]
        shares = ones / ones.sum()
        residual = solved[:, :-1] - np.outer(ones, shares @ targets)
        diagonal = np.einsum("ij,ij->i", root, root)[rows] - (ones * shares)[rows]
        predictions = targets[rows] - residual[rows] / diagonal[:, None]
        size = np.bincount(belongs)
        together = size[belongs[rows]] > 1
        left = np.where(together, 1.0, diagonal * max(radius, self.least) * self._inverse[rows])
        for unit in np.unique(belongs[rows[together]]):
            members, mine = np.flatnonzero(belongs == unit), np.flatnonzero(belongs[rows] == unit)
            block = root[members] @ root[members].T
            missed = np.linalg.solve(block - np.outer(ones[members], shares[members]), residual[members])
            predictions[mine] = targets[rows[mine]] - missed[np.searchsorted(members, rows[mine])]
        return np.asarray(predictions), left

    def _factor(self, targets: Array, radius: float) -> NDArray[np.floating]:
        """Return R with RᵀR = A, upper triangular.

        SciPy's function keeps the interpreter's lock, but takes less than half of the time of NumPy's.
        """
        exact = radius < self._single or not _RANGE[0] < np.abs(targets).max() < _RANGE[1]
        for dtype in (np.float64,) if exact else (np.float32, np.float64):
            system: NDArray[Any] = self.K.astype(dtype)
            system[np.diag_indices(len(system))] += (max(radius, self.least) * self._inverse).astype(dtype)
            factor, info = get_lapack_funcs("potrf", (system,))(system.T, lower=0, clean=1, overwrite_a=1)
            if not info:
                return np.asarray(factor)
        raise LinAlgError(f"the leading minor of order {info} is not positive")
