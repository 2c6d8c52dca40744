r"""One Cholesky factor of :math:`K+n\beta\,\Omega^{-1}`, in place: solves, and leave-one-out from it."""

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrmm, strmm
from scipy.linalg.lapack import dpotrf, dpotrs, dtrtri, spotrf, spotrs, strtri

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles

# Largest diagonal entry of K over the least of the penalty's that is factorized in single precision, as in
# `clifford_rand_nn.solvers.kernel.gram`: what rounding leaves is refined in double precision.
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


def left_out(alpha: Array, diagonal: Array, ones: Array) -> Array:
    r"""Return residuals of the last rows without each of them, :math:`\alpha_i/G_{ii}`, (s, C).

    ``alpha`` (n, C): columns sum to zero. ``diagonal`` (s,): of the inverse, at the last rows. ``ones`` (n,): the
    inverse times 1.
    """
    s = len(diagonal)
    return np.asarray(alpha[-s:] / (diagonal - ones[-s:] ** 2 / ones.sum())[:, None])
