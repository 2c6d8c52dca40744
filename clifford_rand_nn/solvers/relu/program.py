"""The convex ReLU program in scaled units, and the Newton system of the interior-point method for it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from clifford_rand._typing import Array
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients

_TABLE = 1 << 22  # entries of the table of products of coordinates, 32 MB; above it the units go one by one
_SLICE = 1 << 22  # entries of a slice of Q, 32 MB
# Normal equations lose the condition number of a block, 1e10 of 1e16, before its units go through QR factors.
_CONDITION = 1e10
_REFINE = 3
_ROUNDING = 1e-14
# In units of the data a penalty below the first is far beyond the rounding of the loss, and one above the second leaves
# a constant. Solvers stay between them; objective and bound have the problem's own beta.
_KAPPAS = 1e-24, 1e24


class ReLUProgram:
    r"""A `ConvexReLUProblem` with centred rows of mean square 1 and targets of largest deviation 1.

    With biases the rows are centred, which changes b_i only. For p = 2 they are written in the basis of their singular
    vectors, and the ``rank`` non-zero ones are kept: n < d and low rank cost less. Units are U (2P, C, width), those
    with positive sign first: ``rank`` weights, and the bias if there is one. A cone is signs·(YU) ≥ 0 with the rows of
    signs·Y of length 1 or, for a row of zeros, 0. The objective is n/scale² times that of the problem, or n times it
    for losses of a margin, whose scale is 1.

    Attributes
    ----------
    Y : (n, width)
    signs : (n, P)
        ±1 over the length of the row, or 0.
    kappa : float
        What a unit norm costs, between 1e-24 and 1e24.
    scale : float
        Unit of predictions and residuals.
    """

    def __init__(self, problem: ConvexReLUProblem) -> None:
        X, y = problem.X, problem.datafit.y
        self.problem = problem
        self.bias, self.intercept = problem.bias, problem.fit_intercept
        self.middle = X.mean(axis=0) if self.bias else np.zeros(X.shape[1])
        centred = X - self.middle
        peak = float(np.abs(centred).max())
        if peak <= np.finfo(np.float64).eps * float(np.abs(X).max()):  # all rows are equal: rounding of their mean
            centred, peak = np.zeros_like(X), 1.0
        centred /= peak  # first, so that squares neither overflow nor vanish
        unit = float(np.sqrt(np.mean(np.sum(centred**2, axis=1)))) or 1.0
        self.unit = peak * unit
        Y = centred / unit
        self.basis = np.eye(X.shape[1])
        if problem.p == 2:
            _, sizes, Vt = np.linalg.svd(Y, full_matrices=False)
            kept = sizes > max(Y.shape) * np.finfo(np.float64).eps * max(float(sizes[0]), np.finfo(np.float64).tiny)
            self.basis = np.ascontiguousarray(Vt[kept].T)
            Y = Y @ self.basis
        self.rank = int(Y.shape[1])
        self.Y = np.ascontiguousarray(np.hstack([Y, np.ones((len(Y), 1))]) if self.bias else Y)
        self.width = int(self.Y.shape[1])
        self.mask = problem.patterns.astype(np.float64)
        lengths = np.linalg.norm(self.Y, axis=1)
        self.zero_rows = lengths <= np.finfo(np.float64).eps * max(float(lengths.max()), np.finfo(np.float64).tiny)
        signs = np.where(problem.patterns, 1.0, -1.0)
        self.signs = np.where(self.zero_rows, 0.0, 1 / np.where(self.zero_rows, 1.0, lengths))[:, None] * signs
        self.scale = 1.0
        self.level = np.zeros(problem.outputs)
        if problem.datafit.loss.labels is None:
            level = (problem.datafit.weights * y).mean(axis=0) if self.intercept else np.zeros(problem.outputs)
            self.scale = float(np.abs(y - level).max()) or 1.0
            self.level = level / self.scale
        self.kappa = float(np.clip(problem.n * problem.beta / (self.unit * self.scale), *_KAPPAS))

    def inputs(self, U: Array) -> Array:
        """Return what units (G, C, width) see: (n, G, C)."""
        G, C, width = U.shape
        return np.asarray((self.Y @ U.reshape(G * C, width).T).reshape(len(self.Y), G, C))

    def gated(self, Z: Array) -> Array:
        """Sum what is on of Z (n, P, C) over the patterns: (n, C)."""
        return np.asarray(np.matmul(self.mask[:, None, :], Z)[:, 0, :])

    def forward(self, U: Array) -> Array:
        """Predictions (n, C) of units (2P, C, width)."""
        P = self.mask.shape[1]
        return self.gated(self.inputs(U[:P] - U[P:]))

    def adjoint(self, R: Array) -> Array:
        """Adjoint of `forward`: (n, C) to (2P, C, width)."""
        n, C = R.shape
        P = self.mask.shape[1]
        masked = (self.mask[:, :, None] * R[:, None, :]).reshape(n, P * C)
        half = (self.Y.T @ masked).T.reshape(P, C, self.width)
        return np.concatenate([half, -half])

    def signed(self, Z: Array) -> Array:
        """Multiply (n, 2P, C) by the signs of the cones."""
        n, G, C = Z.shape
        return np.asarray((self.signs[:, None, :, None] * Z.reshape(n, 2, G // 2, C)).reshape(Z.shape))

    def cones(self, U: Array) -> Array:
        """Return what has to be ≥ 0, (n, 2P, C)."""
        return self.signed(self.inputs(U))

    def cones_adjoint(self, z: Array) -> Array:
        """Adjoint of `cones`."""
        n, G, C = z.shape
        return np.asarray((self.Y.T @ self.signed(z).reshape(n, G * C)).T.reshape(G, C, self.width))

    def coefficients(self, U: Array, t: Array) -> ReLUCoefficients:
        """Return the coefficients of the problem."""
        W = (U[:, :, : self.rank] @ self.basis.T) * (self.scale / self.unit)
        b = self.scale * U[:, :, -1] - W @ self.middle if self.bias else np.zeros(U.shape[:2])
        P = self.mask.shape[1]
        plus, minus = (np.ascontiguousarray(half.transpose(1, 0, 2)) for half in (W[:P], W[P:]))
        return ReLUCoefficients(plus, minus, b[:P].T.copy(), b[P:].T.copy(), self.scale * t)

    def constant(self) -> ReLUCoefficients:
        """Return the network that is the starting intercept alone."""
        return self.coefficients(np.zeros((2 * self.mask.shape[1], self.problem.outputs, self.width)), self.level)

    def units(self, c: ReLUCoefficients) -> tuple[Array, Array]:
        """Inverse of `coefficients`, of their part in the span of the data."""
        W = np.concatenate([c.coef_plus.transpose(1, 0, 2), c.coef_minus.transpose(1, 0, 2)])
        U = (W @ self.basis) * (self.unit / self.scale)
        if self.bias:
            b = np.concatenate([c.bias_plus.T, c.bias_minus.T]) + W @ self.middle
            U = np.concatenate([U, b[:, :, None] / self.scale], axis=2)
        return U, c.intercept / self.scale

    def multipliers(self, z: Array) -> Array:
        """Cone multipliers (n, 2, P, C) of the problem, from those of `cones`."""
        n, G, C = z.shape
        return np.asarray(self.scale * np.abs(self.signs)[:, None, :, None] * z.reshape(n, 2, G // 2, C))


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
