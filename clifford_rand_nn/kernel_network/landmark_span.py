"""Functions in the span of landmarks, by coordinates whose length is their norm."""

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel import GateKernel

_EPS = float(np.finfo(np.float64).eps)


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
