r"""Normal equations of functions in the span of landmarks, from their sums: every beta by one eigendecomposition."""

from typing import Any

import numpy as np
from numpy.linalg import eigh
from numpy.typing import NDArray
from scipy.linalg.lapack import dpstrf

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.landmark_span import LandmarkSpan
from clifford_rand_nn.row_sums.sums import Sums
from clifford_rand_nn.shards.landmarks.terms import square_of

_PIVOT = 1e-11  # of the largest diagonal entry: what a landmark adds to those before it; less is rounding


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


class Normal:
    r"""The minimizers u of :math:`\sum_i\omega_i\tfrac12||y_i-f_u(x_i)-t||^2+\frac\rho2||u||^2` for every ρ.

    Parameters
    ----------
    span : LandmarkSpan
    sums : arrays
        Of `NormalSum`, overwritten.
    centre, centre_y : (m,), (C,)
        As it was given.

    Attributes
    ----------
    weight : float
        Sum of the weights.
    """

    def __init__(self, span: LandmarkSpan, sums: Sums, centre: Array, centre_y: Array) -> None:
        *panels, cross, moments = sums
        self.weight = float(moments[0, -1])
        mean, mean_y = cross[:, -1] / self.weight, moments[0, :-1] / self.weight
        inner = square_of(tuple(panels))
        del panels, sums
        inner -= self.weight * np.outer(mean, mean)
        right = cross[:, :-1] - self.weight * np.outer(mean, mean_y)
        with ONE_BLAS_THREAD:
            inner = span.whitened(span.whitened(inner).T)
            values, self._Q = eigh(inner)
        self._values, self._span = np.maximum(values, 0.0)[:, None], span
        self._right = self._Q.T @ span.whitened(right)
        self._mean = self._Q.T @ span.whitened((mean + centre)[:, None])[:, 0]
        self._mean_y = mean_y + centre_y

    def fit(self, radius: float) -> tuple[Array, Array]:
        """Return u (m, C) and the intercept (C,)."""
        turned = self._right / (self._values + radius)
        return np.asarray(self._Q @ turned), np.asarray(self._mean_y - self._mean @ turned)

    def inverse(self, b: Array, radius: float) -> Array:
        """Return the inverse of the matrix of the normal equations times b (m, C)."""
        return np.asarray(self._Q @ ((self._Q.T @ b) / (self._values + radius)))

    def solved(self, b: Array, b_t: Array, radius: float) -> tuple[Array, Array]:
        r"""Return x (m, C) and s (C,), :math:`(V^T\Omega V+\rho I)x+V^T\Omega1s=b`, :math:`1^T\Omega(Vx+1s)=b_t`."""
        mean = self._mean[:, None]
        turned = (self._Q.T @ b - mean * b_t) / (self._values + radius)
        return np.asarray(self._Q @ turned), b_t / self.weight - (mean * turned).sum(axis=0)

    def predictions(self, K: NDArray[Any], radii: Array) -> Any:
        """Yield predictions (h, C) of rows with the kernel K (h, m), for each radius."""
        E = self._span.whitened(K.T).T @ self._Q
        for radius in radii:
            turned = self._right / (self._values + radius)
            yield np.asarray(E @ turned + (self._mean_y - self._mean @ turned))
