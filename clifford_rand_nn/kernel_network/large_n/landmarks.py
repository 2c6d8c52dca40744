r"""Kernel functions in the span of some rows, the landmarks: chosen without a seed, and as features of all rows."""

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import strsm

from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.landmark_span import LandmarkSpan
from clifford_rand_nn.kernel_network.large_n.tiles import KernelTiles

STRIP = 4096  # rows of a strip of features
_ORDER = 0  # of the one permutation that all choices of rows begin with


def spread_rows(n: int, m: int) -> NDArray[np.intp]:
    """Return m of n rows, spread as by chance: the first of one fixed permutation, so that no seed is in a result."""
    return np.random.default_rng(_ORDER).permutation(n)[:m]


class LandmarkFeatures:
    r"""Features V (n, m) with :math:`VV^T = K_{nm}K_{mm}^{-1}K_{mn}`, by strips of rows in single precision.

    :math:`V = K_{nm}L^{-T}`, L that of `LandmarkSpan`, in double precision. A function with coefficients u on the
    features is :math:`\sum_jK(x, z_j)a_j` with :math:`a = L^{-T}u` and :math:`||f||_K^2=||u||^2`.

    Parameters
    ----------
    kernel : GateKernel
    X : (n, d) array
    rows : (m,) array of integers
        Landmarks among the rows of X; of equal rows one is kept.

    Attributes
    ----------
    rows : (m,) array of integers
    span : LandmarkSpan
    """

    def __init__(self, kernel: GateKernel, X: NDArray[np.floating], rows: NDArray[np.intp]) -> None:
        _, first = np.unique(X[rows], axis=0, return_index=True)
        self.rows = rows[np.sort(first)]
        self.m, self.n = len(self.rows), len(X)
        self._kernel, self._X = kernel, X
        self._tiles = KernelTiles(kernel, X[self.rows], np.float32)
        self.span = LandmarkSpan(kernel, np.asarray(X[self.rows], dtype=np.float64))
        self._single = np.asfortranarray(self.span.factor, dtype=np.float32)

    def strips(self) -> Iterator[tuple[slice, NDArray[np.float32]]]:
        """Yield strips of rows, and their features."""
        for i in range(0, self.n, STRIP):
            part = slice(i, min(i + STRIP, self.n))
            yield part, self.of(self._X[part])

    def of(self, X: NDArray[np.floating]) -> NDArray[np.float32]:
        """Return the features of rows (k, d), (k, m)."""
        inner = self._tiles.matrix_from(X)
        out = strsm(1.0, self._single, inner.T, lower=1, overwrite_b=1)  # L⁻¹ K_mk
        return np.asarray(out.T)
