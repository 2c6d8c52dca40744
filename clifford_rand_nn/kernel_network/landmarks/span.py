"""Functions in the span of landmarks, by coordinates whose length is their norm; and the choice of landmarks."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.linalg.lapack import dpstrf

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles
from clifford_rand_nn.kernel_network.standardization import Standardization

_EPS = float(np.finfo(np.float64).eps)
_ORDER = 0  # seed of the one permutation that all choices of rows begin with
_PIVOT = 1e-11  # of the largest diagonal entry: what a landmark adds to those before it; less is rounding


def spread_rows(n: int, m: int) -> NDArray[np.intp]:
    """Return m of n rows, spread as by chance: the first of one fixed permutation, so that no seed is in a result."""
    return np.random.default_rng(_ORDER).permutation(n)[:m]


def independent(kernel: GateKernel, rows: Array) -> tuple[NDArray[np.intp], float]:
    """Return landmarks (m,) among rows that are independent but for rounding, and what the last of them adds.

    They are in the order of the pivots, in which Cholesky's factorization meets no smaller one. Rows whose angle is
    some 1e-8 are one to the kernel, and then its matrix has negative eigenvalues of that size. The second number is a
    squared pivot, as a share of the largest one.
    """
    gram = np.asarray(kernel(rows))
    largest = float(gram.diagonal().max())
    if largest <= 0:
        return np.zeros(1, dtype=np.intp), 1.0
    with ONE_BLAS_THREAD:
        factor, pivots, rank, _ = dpstrf(gram.T, tol=_PIVOT * largest, lower=1, overwrite_a=1)
    return np.asarray(pivots[:rank] - 1, dtype=np.intp), float(factor[rank - 1, rank - 1]) ** 2 / largest


class LandmarkRows:
    """The kernel of stored rows with m landmarks, in one thread, for all that happens in a pass.

    ``Z`` (m, d): the landmarks, standardized. ``standard``: how stored rows come to those of the kernel; None if they
    are the same.
    """

    def __init__(
        self, kernel: GateKernel, Z: Array, standard: Standardization | None = None, dtype: Any = np.float64
    ) -> None:
        self._standard, self.tiles = standard, KernelTiles(kernel, Z, dtype)

    @property
    def m(self) -> int:
        """Number of landmarks."""
        return self.tiles.n

    @property
    def dtype(self) -> np.dtype[Any]:
        """Type of the kernel's entries."""
        dtype: np.dtype[Any] = self.tiles.dtype
        return dtype

    def diagonal(self, X: NDArray[Any]) -> Array:
        """Return K(x, x) of rows (k, d), (k,)."""
        return self.tiles.kernel.diagonal(self._standardized(X))

    def kernel(self, X: NDArray[Any]) -> NDArray[Any]:
        """Return K (k, m) of rows (k, d), in the type of the tiles."""
        return self.tiles.matrix_from(self._standardized(X), threads=False)

    def _standardized(self, X: NDArray[Any]) -> Array:
        X = X.astype(np.float64)
        return X if self._standard is None else self._standard.rows(X)


class LandmarkSpan:
    r"""Functions :math:`\sum_jK(\cdot,z_j)a_j` of m landmarks, with :math:`u=L^Ta`, whose length is their norm.

    L is the Cholesky factor of :math:`K_{mm}+J`, J a diagonal of :math:`4m\epsilon K(z_j,z_j)`, without which there may
    be none. It is made in double precision by one BLAS thread, so that it does not depend on how many there are.

    ``rows`` (m, d): the landmarks.
    """

    def __init__(self, kernel: GateKernel, rows: Array) -> None:
        gram = np.asarray(kernel(rows))
        self.m = len(gram)
        self._diagonal = gram.diagonal().copy()
        # J = 4mε diag K: the least that keeps the factorization from a negative pivot
        gram.flat[:: self.m + 1] *= 1 + 4 * self.m * _EPS
        with ONE_BLAS_THREAD:
            self.factor = cholesky(gram, lower=True, overwrite_a=True, check_finite=False)

    def coefficients(self, u: Array) -> Array:
        """Return a of u (m, C)."""
        return np.asarray(solve_triangular(self.factor, u, lower=True, trans="T", check_finite=False))

    def whitened(self, b: Array) -> Array:
        r"""Return :math:`L^{-1}b`, b (m, C)."""
        return np.asarray(solve_triangular(self.factor, b, lower=True, check_finite=False))

    def rounding_of_form(self, w: Array, size: Array) -> Array:
        r"""Return how much more than :math:`|w_c|^2` a form :math:`\theta_c^TK_{nm}K_{mm}^{-1}K_{mn}\theta_c` may be.

        .. math:: \epsilon\Big(s_c+\sqrt{8m\sum_jK(z_j,z_j)a_{jc}^2}\Big)^2,\qquad w=L^{-1}K_{mn}\theta,\quad a=L^{-T}w

        Entries of :math:`b=K_{mn}\theta_c` have errors up to :math:`\epsilon\sqrt{K(z_j,z_j)}s_c`, which change
        :math:`b^T(K_{mm}+J)^{-1}b` by twice their product with a, and by a square of at most :math:`\epsilon s_c^2/4`,
        because the matrix is at least J. Substitution takes no more than that product. J itself takes :math:`a^TJa`,
        counted twice for what follows it in the series.

        ``w`` (m, C). ``size`` (C,): :math:`s_c`, at least :math:`\sum_i\sqrt{K(x_i,x_i)}|\theta_{ic}|`.
        """
        return np.asarray(_EPS * (size + self._reach(w)) ** 2)

    def rounding_of_forms(self, w: Array, size: float) -> float:
        r"""Return `rounding_of_form` of all outputs together, for :math:`\sqrt{\sum_cs_c^2}` or more."""
        return float(_EPS * (size + np.linalg.norm(self._reach(w))) ** 2)

    def _reach(self, w: Array) -> Array:
        return np.asarray(np.sqrt(8 * self.m * (self._diagonal @ self.coefficients(w) ** 2)))
