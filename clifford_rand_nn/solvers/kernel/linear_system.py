"""The Newton system of the dual variable: curvature of the loss plus the weighted kernel, factorised once a step."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, spotrf, spotrs

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.kernel.gram import GatedKernel

# Largest diagonal entry of a matrix, whose least eigenvalue is 1, that is factorised in single precision.
_MOST = 1e4
MANY_ROWS = 1000  # from which single precision is worth it


class KernelSystem:
    r"""Solves :math:`\mathrm{diag}(h_c)\,x_c + Kx_c = b_c` for every output c, with :math:`K = \sum_i\eta_iK_i`.

    Written as :math:`x = S(I+SKS)^{-1}Sb`, :math:`S = h^{-1/2}`, whose matrix has no eigenvalue below 1. Outputs with
    the same h share a factor.

    With ``balanced`` the rows of x sum to zero, as the dual of a softmax does: :math:`x_c = R_c(b_c-\nu)`,
    :math:`\sum_cR_c\,\nu = \sum_cR_cb_c`, where :math:`R_c` are the inverses (Rasmussen, Williams, "Gaussian processes
    for machine learning", algorithm 3.3).

    Parameters
    ----------
    kernel : GatedKernel
    eta : (P,)
    h : (n, C)
    balanced : bool
    buffers : dict of (n, n) arrays
        Memory that is used again from call to call; it grows as needed.
    single : bool
        Whether to factorise in single precision, if the matrix allows it; not with ``balanced``.
    """

    def __init__(
        self,
        kernel: GatedKernel,
        eta: Array,
        h: Array,
        balanced: bool,
        buffers: dict[Any, NDArray[Any]],
        single: bool = False,
    ) -> None:
        self._balanced = balanced
        self._roots = 1 / np.sqrt(h)
        self._factors: list[NDArray[Any]] = []
        n, C = h.shape
        of = [c if balanced else next(a for a in range(c + 1) if np.array_equal(h[:, a], h[:, c])) for c in range(C)]
        total: Array | None = None
        for c in range(C):
            if of[c] < c:
                self._factors.append(self._factors[of[c]])
                continue
            for dtype in (np.float32, np.float64) if single and not balanced else (np.float64,):
                if (c, dtype) not in buffers:
                    buffers[c, dtype] = np.zeros((n, n), dtype, order="F")  # what memory held may overflow
                matrix = kernel.weighted(eta, self._roots[:, c], buffers[c, dtype])
                if dtype == np.float32 and not matrix.diagonal().max() < _MOST:
                    continue
                potrf = spotrf if dtype == np.float32 else dpotrf
                factor, info = potrf(matrix, lower=1, clean=0, overwrite_a=1)
                if info == 0:
                    break
            else:
                raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive")
            self._factors.append(factor)
            if balanced:
                inverse, _ = dpotri(factor, lower=1, overwrite_c=0)
                inverse *= self._roots[:, c] * self._roots[:, c, None]
                total = inverse if total is None else np.add(total, inverse, out=total)
        if total is not None:
            self._total, _ = dpotrf(total, lower=1, clean=0, overwrite_a=1)

    def solve(self, b: Array) -> Array:
        """Solve for right-hand sides b (n, C, k)."""
        x = self._each(b)
        if self._balanced:
            nu, _ = dpotrs(self._total, np.asfortranarray(x.sum(axis=1)), lower=1, overwrite_b=1)
            x -= self._each(np.broadcast_to(nu[:, None, :], b.shape))
        return x

    def _each(self, b: Array) -> Array:
        out = np.empty(b.shape)
        for c, factor in enumerate(self._factors):
            root = self._roots[:, c, None]
            potrs = spotrs if factor.dtype == np.float32 else dpotrs
            x, _ = potrs(factor, np.asfortranarray(root * b[:, c, :], dtype=factor.dtype), lower=1, overwrite_b=1)
            out[:, c, :] = root * x
        return out
