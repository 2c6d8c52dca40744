"""The Newton system of the interior-point method for the convex ReLU program: a block a unit, one matrix for all."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from clifford_rand._typing import Array
from clifford_rand_nn.solvers.relu.program import ReLUProgram

_TABLE = 1 << 22  # entries of the table of products of coordinates, 32 MB; above it the units go one by one
_SLICE = 1 << 22  # entries of a slice of Q, 32 MB
# Normal equations lose the condition number of a block, 1e10 of 1e16, before its units go through QR factors.
_CONDITION = 1e10
_REFINE = 3
_ROUNDING = 1e-14


class UnitBlocks:
    r"""The system :math:`(B + F^TWF)\Delta + F^TW1\,\delta = r,\ 1^TW(F\Delta+1\delta) = e`.

    B has one block a unit, :math:`A^T\mathrm{diag}(z/s)A + S + \rho I` from its cone, its norm and a ridge; F is the
    map to predictions and :math:`W = RR^T` the Hessian of the loss. With :math:`B_g^{-1} = L_gL_g^T` and Q the product
    :math:`R^TFL`, what is factored is :math:`I+QQ^T`, (nC, nC), or :math:`I+Q^TQ` where it is smaller.

    Towards the end the rows of a cone differ by 1e16 in weight, and :math:`A^T\mathrm{diag}(z/s)A` would lose the
    directions that stay free. Badly conditioned blocks therefore come from a QR factorisation of their weighted rows,
    heaviest first, which keeps small directions to full relative accuracy (Cox and Higham 1998).

    Parameters
    ----------
    program : ReLUProgram
    root : (2P, C·rank, C·rank)
        Symmetric roots of S.
    ratio : (n, 2P, C)
        z/s.
    R : (n, C, C)
    ridge : float
    """

    def __init__(self, program: ReLUProgram, root: Array, ratio: Array, R: Array, ridge: float) -> None:
        self.program, self.R = program, R
        n, G, C = ratio.shape
        width = program.width
        weights = (program.signs**2)[:, None, :, None] * ratio.reshape(n, 2, G // 2, C)
        weights = np.ascontiguousarray(weights.reshape(n, G * C).T)
        tail = np.zeros((G, C * (program.rank + width), C, width))
        tail[:, : C * program.rank, :, : program.rank] = root.reshape(G, C * program.rank, C, program.rank)
        tail[:, C * program.rank :] = (np.sqrt(ridge) * np.eye(C * width)).reshape(-1, C, width)
        self._blocks(weights.reshape(G, C, n), tail.reshape(G, C * (program.rank + width), C * width))
        self._factor()

    def _blocks(self, weights: Array, tail: Array) -> None:
        """Set L and the roots M with MᵀM = B: the triangle of each block."""
        Y = self.program.Y
        G, C, n = weights.shape
        width = Y.shape[1]
        if n * width**2 <= _TABLE:
            table = (Y[:, :, None] * Y[:, None, :]).reshape(n, -1)
            cones = (weights.reshape(-1, n) @ table).reshape(G, C, width, width)
        else:
            cones = np.stack([Y.T @ (w[:, None] * Y) for w in weights.reshape(-1, n)]).reshape(G, C, width, width)
        B = tail.transpose(0, 2, 1) @ tail
        for c in range(C):
            part = slice(c * width, (c + 1) * width)
            B[:, part, part] += cones[:, c]
        values = np.linalg.eigvalsh(B) if G else np.ones((0, 1))
        good = values[:, 0] * _CONDITION > values[:, -1]
        self.M = np.empty_like(B)
        self.M[good] = np.linalg.cholesky(B[good]).transpose(0, 2, 1)
        for g in np.array_split(np.flatnonzero(~good), max(1, G * C * n * width // _SLICE)):
            if g.size:
                self.M[g] = _triangles(Y, weights[g], tail[g])
        self.L: Array = np.asarray(np.linalg.inv(self.M), dtype=np.float64)

    def _factor(self) -> None:
        n, C = len(self.R), self.R.shape[1]
        G, block = self.L.shape[:2]
        self.border = self.R.transpose(0, 2, 1).reshape(n * C, C)  # Rᵀ1
        self.Q: Array | None = None
        if G * block < n * C:
            Q = self.Q = np.concatenate([self._columns(sign, slice(None)) for sign in range(2)], axis=1)
            H = np.asarray(Q.T @ Q)
            H[np.diag_indices_from(H)] += 1
            self.factor = cho_factor(H, overwrite_a=True, check_finite=False)
            along = Q.T @ self.border
            self.lifted = cho_solve(self.factor, along, check_finite=False)
            self.schur = self.border.T @ (self.border - Q @ self.lifted)
            return
        H = np.eye(n * C)
        P, size = G // 2, max(1, _SLICE // (n * C * block))
        for sign in range(2):
            for first in range(0, P, size):
                part = slice(first, min(first + size, P))
                rows = np.flatnonzero(self.program.mask[:, first]) if size == 1 else np.arange(n)
                K = self._columns(sign, part, rows)
                if rows.size == n:
                    H += K @ K.T
                else:
                    index = (rows[:, None] * C + np.arange(C)).ravel()
                    H[np.ix_(index, index)] += K @ K.T
        self.factor = cho_factor(H, overwrite_a=True, check_finite=False)
        self.lifted = cho_solve(self.factor, self.border, check_finite=False)
        self.schur = self.border.T @ self.lifted

    def _columns(self, sign: int, part: slice, rows: NDArray[np.intp] | None = None) -> Array:
        """Return the columns of ±Q that belong to some patterns, at some rows."""
        program = self.program
        rows = np.arange(len(self.R)) if rows is None else rows
        C, P, block = self.R.shape[1], program.mask.shape[1], self.L.shape[1]
        L = self.L.reshape(2, P, C, program.width, block)[sign, part]
        K = np.matmul(program.Y[rows], L.transpose(1, 0, 2, 3))  # (C, p, rows, block)
        K = K.transpose(2, 0, 1, 3) * program.mask[rows, None, part, None]
        K = np.matmul(self.R[rows].transpose(0, 2, 1), K.reshape(rows.size, C, -1)).reshape(rows.size * C, -1)
        return np.asarray(K if sign == 0 else -K)

    def solve(self, r: Array, e: Array) -> tuple[Array, Array]:
        """Solve for Δ (2P, C, width) and δ (C,), refined with the residual; ``e`` is ignored without an intercept."""
        e = e if self.program.intercept else np.zeros_like(e)
        d, dt = self._once(r, e)
        size = np.linalg.norm(r) + np.linalg.norm(e)
        last = np.inf
        for _ in range(_REFINE):
            f = self.program.forward(d) + dt
            Wf = np.matmul(self.R, np.matmul(self.R.transpose(0, 2, 1), f[:, :, None]))[:, :, 0]
            rest = r - self._times(self.M, self._times(self.M, d), transposed=True) - self.program.adjoint(Wf)
            e_rest = e - Wf.sum(axis=0) if self.program.intercept else e
            now = float(np.linalg.norm(rest) + np.linalg.norm(e_rest))
            if now <= _ROUNDING * size or now > 0.5 * last:
                break
            last = now
            dd, ddt = self._once(rest, e_rest)
            d, dt = d + dd, dt + ddt
        return d, dt

    def _once(self, r: Array, e: Array) -> tuple[Array, Array]:
        n, C = len(self.R), r.shape[1]
        short = self._times(self.L, r, transposed=True)
        dt = np.zeros(C)
        if self.Q is not None:  # (I + QᵀQ) a + QᵀRᵀ1 δ = Lᵀr
            a = cho_solve(self.factor, short.ravel(), check_finite=False)
            if self.program.intercept:
                dt = self._shift(e - self.border.T @ (self.Q @ a))
                a = a - self.lifted @ dt
            return self._times(self.L, a.reshape(r.shape)), dt
        y = self._times(self.L, short)
        v = np.matmul(self.R.transpose(0, 2, 1), self.program.forward(y)[:, :, None]).reshape(-1)
        lam = cho_solve(self.factor, v, check_finite=False)
        if self.program.intercept:
            dt = self._shift(e - self.border.T @ lam)
            lam = lam + self.lifted @ dt
        back = self.program.adjoint(np.matmul(self.R, lam.reshape(n, C, 1))[:, :, 0])
        return y - self._times(self.L, self._times(self.L, back, transposed=True)), dt

    def _shift(self, e: Array) -> Array:
        """Solve for the intercept; a softmax does not see a common shift, which makes this matrix singular."""
        return np.asarray(np.linalg.lstsq(self.schur, e, rcond=_ROUNDING)[0])

    @staticmethod
    def _times(M: Array, r: NDArray[Any], transposed: bool = False) -> Array:
        flat = r.reshape(len(r), r.shape[1] * r.shape[2], 1)
        return np.asarray(np.matmul(M.transpose(0, 2, 1) if transposed else M, flat).reshape(r.shape))


def _triangles(Y: Array, weights: Array, tail: Array) -> Array:
    """Triangular roots (G, Cw, Cw) of the blocks, by QR of the rows of a cone and then of the cones with the tail."""
    G, C, _ = weights.shape
    order = np.argsort(-weights, axis=2)
    rows = np.sqrt(np.take_along_axis(weights, order, axis=2))[..., None] * Y[order]
    cones: Array = np.asarray(np.linalg.qr(rows, mode="r"))
    height, width = cones.shape[2:]
    M = np.zeros((G, C, height, C, width))
    for c in range(C):
        M[:, c, :, c, :] = cones[:, c]
    M = np.concatenate([M.reshape(G, C * height, C * width), tail], axis=1)
    heaviest = np.argsort(-np.abs(M).max(axis=2), axis=1)
    return np.asarray(np.linalg.qr(np.take_along_axis(M, heaviest[:, :, None], axis=1), mode="r"))
