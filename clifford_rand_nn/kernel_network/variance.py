"""How far the function at a row is left open by the rows of training."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import LinAlgError, cholesky, solve_triangular

from clifford_rand._blas import blas_threads
from clifford_rand._checks import as_real, describe, fail
from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn.export.program import Value, apply, constant, matmul_t, maximum
from clifford_rand_nn.kernel_network.kernel import GateKernel, StatedKernel

_ROUNDING = 4 * float(np.finfo(np.float64).eps)
_TILE = 2**22  # entries of a kernel matrix that are held at a time


class PredictiveVariance:
    r"""The variance of f(x) given the training rows, K being the covariance of a Gaussian process.

    .. math:: v(x) = K(x,x) - k^TA^{-1}k + \frac{(1-1^TA^{-1}k)^2}{1^TA^{-1}1},\qquad A = K+\mathrm{diag}(\sigma^2),

    with k the kernel of x and the training rows, and an intercept of which nothing is known before. `LeaveOneOut` has
    the same of each training row without it.

    ``rows`` (n, d). ``noise`` (n,): :math:`\sigma^2 = n\beta/\omega`.

    References
    ----------
    Rasmussen, Williams, "Gaussian processes for machine learning", 2006, eq. 2.26 and 2.42.
    """

    def __init__(self, kernel: GateKernel, rows: Array, noise: Array) -> None:
        self._kernel, self._rows, self._noise = kernel, rows, noise

    @cached_property
    def _solved(self) -> tuple[Array, Array, float]:
        """The factor, :math:`L^{-1}1` and its squared norm: made when they are needed, n³/3 steps of them."""
        with blas_threads(len(self._rows)):
            try:
                factor = self._factor(0.0)
            except LinAlgError:  # rows that are alike to rounding, and less noise than that
                factor = self._factor(_ROUNDING * len(self._rows))
            ones = solve_triangular(factor, np.ones(len(factor)), lower=True, check_finite=False)
        return factor, ones, float(ones @ ones)

    def _factor(self, least: float) -> Array:
        """Return L with L Lᵀ = A; ``least`` is added to the noise, a share of the largest K(x, x)."""
        A = self._kernel(self._rows)
        more = least * float(A.diagonal().max())
        A[np.diag_indices_from(A)] += self._noise + more
        return np.asarray(cholesky(A.T, lower=True, overwrite_a=True, check_finite=False))

    def __reduce__(self) -> tuple[type, tuple[Any, ...]]:
        return type(self), (self._kernel, self._rows, self._noise)  # the factor is made again

    def __call__(self, rows: NDArray[np.floating]) -> Array:
        """Return the variance (m,) at rows (m, d), standardized as those of training."""
        factor, ones, size = self._solved
        out = self._kernel.diagonal(rows)
        step = max(1, _TILE // len(self._rows))
        with blas_threads(len(self._rows)):
            for start in range(0, len(rows), step):
                part = slice(start, start + step)
                known = solve_triangular(factor, self._kernel(self._rows, rows[part]), lower=True, check_finite=False)
                out[part] += (1 - ones @ known) ** 2 / size - np.einsum("ij,ij->j", known, known)
        return np.maximum(out, 0.0)

    def stated(self, kernel: StatedKernel) -> Value:
        """Return the variance (m, 1) at new rows, of whose kernel with those of training it is a function."""
        factor, ones, size = self._solved
        inverse = solve_triangular(factor, np.eye(len(self._rows)), lower=True, check_finite=False)
        known = matmul_t(kernel.matrix, constant(inverse, "inverse_factor")).named("known")
        level = (1.0 - kernel.matrix @ constant((inverse.T @ ones)[:, None], "level_weights")).named("level")
        left = (kernel.diagonal - apply("row_sums", known * known) + level * level / size).named("left")
        return maximum(left, 0.0).named("variance")


def as_variances(variance: ArrayLike, n: int, owner: str) -> Array:
    """Return variances (n,), those that rounding made negative being 0."""
    v = np.asarray(as_real(variance, "variance", owner), dtype=np.float64)
    if v.shape != (n,):
        raise fail("variance", owner, f"of shape ({n},)", describe(f"shape {v.shape}"))
    return np.maximum(v, 0.0)
