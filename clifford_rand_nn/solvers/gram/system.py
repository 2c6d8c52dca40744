"""Newton's system in the coefficients of a design: its preconditioner, and the product of the penalty."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.blas import dtrsm, dtrsv, strsm, strsv
from scipy.linalg.lapack import dpotrf, spotrf

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.gram.design import GatedDesign
from clifford_rand_nn.solvers.gram.terms import Linearized

# Least squared pivot of a free column of unit diagonal: without curvature a step is rounding noise over the pivot.
_DAMPING = 1e-6
_GROUPS = 8  # of gates, whose columns are solved together
_ROOM = {np.float32: 1e-5, np.float64: 1e-12}


class Preconditioner:
    r"""The inverse of :math:`\mathrm{blockdiag}_c(G_c+\mathrm{diag}(d)) - \sum_iv_iv_i^T`, with d = 0 for free columns.

    Each G is scaled by :math:`S = d^{-1/2}`, so that no eigenvalue of :math:`I+SGS = LL^T` is below 1 and single
    precision serves; directions of gates go through the small matrix :math:`I - Y^TY`, :math:`Y = L^{-1}Sv`.

    ``grams`` (N + q, N + q): one for all outputs or one for each, in single or double precision; they are not changed.
    ``balanced``: whether the rows of a solution sum to zero, as those of a softmax do. Raises LinAlgError: A matrix has
    entries that are not finite.
    """

    def __init__(self, design: GatedDesign, grams: list[NDArray[Any]], terms: Linearized, balanced: bool) -> None:
        self._kind: Any = np.float32 if grams[0].dtype == np.float32 else np.float64
        self._balanced, self._made_of = balanced, (grams, terms)
        scales, self._factors = zip(*(self._factorized(design, G, terms) for G in grams), strict=True)
        self._scale = np.concatenate(scales, axis=1)
        self._Y: NDArray[Any] | None = None
        if terms.directions is not None and terms.directions.any():
            self._take(design, terms.directions)

    def serves(self, grams: list[NDArray[Any]], terms: Linearized) -> bool:
        """Tell whether this is the inverse for these matrices and a penalty without directions."""
        of, made = self._made_of
        return of is grams and terms.directions is None and np.array_equal(terms.diagonal, made.diagonal)

    def _factorized(self, design: GatedDesign, G: NDArray[Any], terms: Linearized) -> tuple[Any, Any]:
        """Return S and L, of a matrix whose diagonal is raised until no pivot is rounding noise."""
        N, free = design.N, G.diagonal()[design.N :].astype(np.float64)
        scale = np.concatenate([np.repeat(terms.diagonal, design.r), np.where(free > 0, free, 1.0)]) ** -0.5
        S = np.asarray(scale.astype(self._kind)[:, None])
        noise = float(np.finfo(self._kind).eps) * len(S) ** 0.5
        least = np.ones(len(S))  # of the squared pivots
        least[N:] = max(10 * noise, _DAMPING) + (free <= 0)
        for shift in noise * np.array([0, 1, 10, 100, 1e3, 1e4]):
            matrix = np.multiply(G.T, S, order="F")  # the transpose is in LAPACK's order as it is
            matrix *= S.T
            diagonal = np.einsum("ii->i", matrix)
            diagonal += least + shift * diagonal
            factor, info = (spotrf if self._kind is np.float32 else dpotrf)(matrix, lower=1, clean=0, overwrite_a=1)
            if not info and (2 * factor.diagonal() ** 2 >= least).all():
                return S, factor
        raise np.linalg.LinAlgError("the matrix has entries that are not finite")

    def _take(self, design: GatedDesign, directions: Array) -> None:
        """Take in the directions of the gates."""
        P, r, C = directions.shape
        scaled: Any = (directions.reshape(P * r, C) * self._scale[: design.N]).reshape(P, r, C)
        Y: Any = np.zeros((design.N + design.q, C, P), self._kind)
        few = max(1, -(-P // _GROUPS))
        for first in range(0, P, few):  # columns of a gate are zero above its block, and stay so
            gates = range(first, min(first + few, P))
            columns = np.zeros((len(Y) - first * r, C, len(gates)), self._kind)
            for i in gates:
                columns[(i - first) * r : (i - first + 1) * r, :, i - first] = scaled[i]
            Y[first * r :, :, first : first + few] = self._solved(columns, False, first * r)
        Y = Y.reshape(-1, P)
        wide = Y.astype(np.float64, copy=False)
        values, vectors = np.linalg.eigh(np.eye(P) - wide.T @ wide)
        inverse = (vectors / np.maximum(values, _ROOM[self._kind])) @ vectors.T
        self._Y, self._small = Y, inverse.astype(self._kind)

    def _solved(self, b: NDArray[Any], turned: bool, first: int = 0) -> NDArray[Any]:
        """Return L⁻¹b, or L⁻ᵀb, of b (·, C, k), with the factors from row and column ``first`` on."""
        trsm, trsv = (strsm, strsv) if self._kind is np.float32 else (dtrsm, dtrsv)
        parts = np.split(b, len(self._factors), axis=1)
        for i, whole in enumerate(self._factors):
            sides = np.asfortranarray(parts[i].reshape(len(b), -1), dtype=self._kind)
            factor = whole if first == 0 else np.asfortranarray(whole[first:, first:])
            if sides.shape[1] == 1:  # a sixth of the time at order 1800
                sides = trsv(factor, sides[:, 0], lower=1, trans=int(turned), overwrite_x=1)
            else:
                sides = trsm(1.0, factor, sides, lower=1, trans_a=int(turned), overwrite_b=1)
            parts[i] = sides.reshape(parts[i].shape)
        return np.concatenate(parts, axis=1)

    def __call__(self, b: Array) -> Array:
        """Apply the inverse to b (N + q, C)."""
        x: Any = self._solved((b * self._scale)[:, :, None], False)[:, :, 0]
        if self._Y is not None:
            along = self._small @ (self._Y.T @ np.ascontiguousarray(x).ravel())
            x = x + (self._Y @ along).reshape(x.shape)
        x = (self._scale * self._solved(x[:, :, None], True)[:, :, 0]).astype(np.float64)
        return np.asarray(x - x.mean(axis=1, keepdims=True) if self._balanced else x)


def penalty_product(design: GatedDesign, linear: Linearized, p: Array) -> Array:
    """Return what the penalty's part of the system makes of p (N + q, C)."""
    out = np.zeros_like(p)
    blocks, to = design.blocks(p), design.blocks(out)
    np.multiply(blocks, linear.diagonal[:, None, None], out=to)
    if linear.directions is not None:
        to -= linear.directions * np.einsum("prc,prc->p", linear.directions, blocks)[:, None, None]
    return out
