"""Newton's system in the coefficients of a design: a factor that stands for it, and conjugate gradients with that."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm, strsm
from scipy.linalg.lapack import dpotrf, spotrf

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.gram.design import GatedDesign
from clifford_rand_nn.solvers.gram.terms import Linearised

# On a diagonal of ones or more, and the least eigenvalue of the matrix of the directions, which lies in (0, 1].
_RIDGE = {np.float32: 1e-6, np.float64: 1e-13}
_GROUPS = 8  # of gates, whose columns are solved together
_ROOM = {np.float32: 1e-5, np.float64: 1e-12}


class Preconditioner:
    r"""The inverse of :math:`I_C\otimes(G+\mathrm{diag}(d)) - \sum_iv_iv_i^T`, with d = 0 for the free columns.

    G is scaled by :math:`S = d^{-1/2}`, so that no eigenvalue of :math:`I+SGS = LL^T` is below 1 and single precision
    serves; the directions of the gates go through the small matrix :math:`I - Y^TY`, :math:`Y = L^{-1}Sv`.

    Parameters
    ----------
    design : GatedDesign
    G : (N + q, N + q)
        In single or double precision; it is not changed.
    terms : Linearised
    balanced : bool
        Whether the rows of a solution sum to zero, as those of a softmax do.

    Raises
    ------
    LinAlgError
        The matrix is not positive definite in this precision.
    """

    def __init__(self, design: GatedDesign, G: NDArray[Any], terms: Linearised, balanced: bool) -> None:
        self._kind: Any = np.float32 if G.dtype == np.float32 else np.float64
        self._balanced = balanced
        N, free = design.N, G.diagonal()[design.N :].astype(np.float64)
        scale = np.concatenate([np.repeat(terms.diagonal, design.r), np.where(free > 0, free, 1.0)]) ** -0.5
        self._scale: NDArray[Any] = np.asarray(scale.astype(self._kind)[:, None])
        matrix = np.multiply(G.T, self._scale, order="F")  # the transpose is in LAPACK's order as it is
        matrix *= self._scale.T
        diagonal = np.einsum("ii->i", matrix)
        diagonal[:N] += 1.0
        diagonal[N:] += _RIDGE[self._kind] + (free <= 0)
        self._factor, info = (spotrf if self._kind is np.float32 else dpotrf)(matrix, lower=1, clean=0, overwrite_a=1)
        if info:
            raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive")
        self._Y: NDArray[Any] | None = None
        if terms.directions is not None and terms.directions.any():
            self._take(design, terms.directions)

    def _take(self, design: GatedDesign, directions: Array) -> None:
        """Take in the directions of the gates."""
        P, r, C = directions.shape
        scaled: Any = np.multiply(directions, self._scale[: design.N].reshape(P, r, 1))
        Y: Any = np.zeros((design.N + design.q, C, P), self._kind)
        few = max(1, -(-P // _GROUPS))
        for first in range(0, P, few):  # columns of a gate are zero above its block, and stay so
            gates = range(first, min(first + few, P))
            columns = np.zeros((len(Y) - first * r, C, len(gates)), self._kind)
            for i in gates:
                columns[(i - first) * r : (i - first + 1) * r, :, i - first] = scaled[i]
            solved = self._solved(columns.reshape(len(columns), -1), False, first * r)
            Y[first * r :, :, first : first + few] = solved.reshape(columns.shape)
        Y = Y.reshape(-1, P)
        wide = Y.astype(np.float64, copy=False)
        values, vectors = np.linalg.eigh(np.eye(P) - wide.T @ wide)
        inverse = (vectors / np.maximum(values, _ROOM[self._kind])) @ vectors.T
        self._Y, self._small = Y, inverse.astype(self._kind)

    def _solved(self, b: NDArray[Any], turned: bool, first: int = 0) -> NDArray[Any]:
        """Return L⁻¹b, or L⁻ᵀb, with the factor from row and column ``first`` on."""
        trsm = strsm if self._kind is np.float32 else dtrsm
        b = np.asfortranarray(b, dtype=self._kind)
        factor = self._factor if first == 0 else np.asfortranarray(self._factor[first:, first:])
        return np.asarray(trsm(1.0, factor, b, lower=1, trans_a=int(turned), overwrite_b=1))

    def __call__(self, b: Array) -> Array:
        """Apply the inverse to b (N + q, C)."""
        x: Any = self._solved(np.multiply(b, self._scale), False)
        if self._Y is not None:
            along = self._small @ (self._Y.T @ np.ascontiguousarray(x).ravel())
            x = x + (self._Y @ along).reshape(x.shape)
        x = (self._scale * self._solved(x, True)).astype(np.float64)
        return np.asarray(x - x.mean(axis=1, keepdims=True) if self._balanced else x)


def conjugate_gradients(
    product: Callable[[Array], Array], precondition: Callable[[Array], Array], b: Array, share: float, most: int
) -> tuple[Array, int]:
    """Solve product(x) = b until the residual, in the metric of the preconditioner, is a share of b's.

    Returns x and the number of products. Where a direction has no curvature, or rounding leaves none, it ends there.
    """
    x, rest = np.zeros_like(b), b
    p = z = precondition(b)
    size = float(np.vdot(rest, z))
    least, k = share**2 * size, 0
    while k < most and size > max(least, 0.0):
        image = product(p)
        k += 1
        bend = float(np.vdot(p, image))
        if not bend > 0:
            return (x if k > 1 else z), k
        length = size / bend
        x = x + length * p
        rest = rest - length * image
        z = precondition(rest)
        last, size = size, float(np.vdot(rest, z))
        p = z + (size / last) * p
    return x, k
