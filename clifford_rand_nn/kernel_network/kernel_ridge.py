"""Kernel regression with a free intercept by Cholesky factors: one for each beta, of fits and of leave-one-out."""

import numpy as np
from numpy.linalg import LinAlgError
from scipy.linalg import cho_solve
from scipy.linalg.lapack import dpotrf, dtrtri

from clifford_rand._typing import Array, NDArray

_FLOOR = 1e-9  # of the trace of the kernel matrix: below this n·beta near-duplicate rows are fitted apart


def spread(K: NDArray[np.floating]) -> float:
    """Return the variance of the rows in the kernel's space, tr K/n less the mean of K; 1 if they are all one."""
    return max(float(np.trace(K) / len(K) - K.mean()), 0.0) or 1.0


class KernelRidge:
    r"""Fits with one kernel matrix, one factorization each: :math:`(K+\lambda\Omega^{-1})\alpha=y-t,\ 1^T\alpha=0`."""

    def __init__(self, K: NDArray[np.floating], weights: Array | None = None) -> None:
        self.K = K
        self._inverse = np.ones(len(K)) if weights is None else 1 / weights
        self.least = _FLOOR * float(np.trace(K)) or 1.0  # λ that is taken in the place of a smaller one

    def fit(self, targets: Array, radius: float) -> tuple[Array, Array]:
        """Return alpha (n, C) and the intercept (C,) for λ = ``radius``."""
        sides = np.column_stack([targets, np.ones(len(targets))])
        solved = cho_solve((self._factor(radius), False), sides, check_finite=False)
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
        root, _ = dtrtri(self._factor(radius), overwrite_c=1)
        solved = root @ (root.T @ np.column_stack([targets, np.ones(len(root))]))
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

    def _factor(self, radius: float) -> Array:
        """Return R with RᵀR = A, upper triangular.

        SciPy's function keeps the interpreter's lock, but takes less than half of the time of NumPy's.
        """
        system = self.K.copy()
        system[np.diag_indices(len(system))] += max(radius, self.least) * self._inverse
        factor, info = dpotrf(system.T, lower=0, clean=1, overwrite_a=1)
        if info:
            raise LinAlgError(f"the leading minor of order {info} is not positive")
        return np.asarray(factor)
