"""The convex ReLU program in scaled units, and the Newton system of the interior-point method for it."""

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
    r"""A `ConvexReLUProblem` with centered rows of mean square 1 and targets of largest deviation 1.

    With biases the rows are centered, which changes b_i only. For p = 2 they are written in the basis of their singular
    vectors, and the ``rank`` non-zero ones are kept: n < d and low rank cost less. Units are U (2P, width), those
    with positive sign first: ``rank`` weights, and the bias if there is one. A cone is signs·(YU) ≥ 0 with the rows of
    signs·Y of length 1 or, for a row of zeros, 0. The objective is n/scale² times that of the problem, or n times it
    for losses of a margin, whose scale is 1.

    ``Y`` (n, width). ``signs`` (n, P): ±1 over the length of the row, or 0. ``kappa``: what a unit norm costs, between
    1e-24 and 1e24. ``scale``: unit of predictions and residuals.
    """

    def __init__(self, problem: ConvexReLUProblem) -> None:
        X, y = problem.X, problem.datafit.y
        self.problem = problem
        self.bias, self.intercept = problem.bias, problem.fit_intercept
        self.middle = X.mean(axis=0) if self.bias else np.zeros(X.shape[1])
        centered = X - self.middle
        peak = float(np.abs(centered).max())
        if peak <= np.finfo(np.float64).eps * float(np.abs(X).max()):  # all rows are equal: rounding of their mean
            centered, peak = np.zeros_like(X), 1.0
        centered /= peak  # first, so that squares neither overflow nor vanish
        unit = float(np.sqrt(np.mean(np.sum(centered**2, axis=1)))) or 1.0
        self.unit = peak * unit
        Y = centered / unit
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
        self.level = np.zeros(1)
        if problem.datafit.loss.has_units:
            level = (problem.datafit.weights * y).mean(axis=0) if self.intercept else np.zeros(1)
            self.scale = float(np.abs(y - level).max()) or 1.0
            self.level = level / self.scale
        elif self.intercept:
            self.level = problem.datafit.loss.first_predictions(y).mean(axis=0)
        self.kappa = float(np.clip(problem.n * problem.beta / (self.unit * self.scale), *_KAPPAS))

    def inputs(self, U: Array) -> Array:
        """Return what units (G, width) see: (n, G)."""
        return np.asarray(self.Y @ U.T)

    def gated(self, Z: Array) -> Array:
        """Sum what is on of Z (n, P) over the patterns: (n, 1)."""
        return np.asarray(np.einsum("np,np->n", self.mask, Z)[:, None])

    def forward(self, U: Array) -> Array:
        """Predictions (n, 1) of units (2P, width)."""
        P = self.mask.shape[1]
        return self.gated(self.inputs(U[:P] - U[P:]))

    def adjoint(self, r: Array) -> Array:
        """Adjoint of `forward`: (n, 1) to (2P, width)."""
        half = (self.mask * r).T @ self.Y
        return np.concatenate([half, -half])

    def signed(self, Z: Array) -> Array:
        """Multiply (n, 2P) by the signs of the cones."""
        return np.asarray((self.signs[:, None] * Z.reshape(len(Z), 2, -1)).reshape(Z.shape))

    def cones(self, U: Array) -> Array:
        """Return what has to be ≥ 0, (n, 2P)."""
        return self.signed(self.inputs(U))

    def cones_adjoint(self, z: Array) -> Array:
        """Adjoint of `cones`."""
        return np.asarray(self.signed(z).T @ self.Y)

    def coefficients(self, U: Array, t: Array) -> ReLUCoefficients:
        """Return the coefficients of the problem."""
        W = (U[:, : self.rank] @ self.basis.T) * (self.scale / self.unit)
        b = self.scale * U[:, -1] - W @ self.middle if self.bias else np.zeros(len(U))
        P = self.mask.shape[1]
        return ReLUCoefficients(W[None, :P], W[None, P:], b[None, :P], b[None, P:], self.scale * t)

    def constant(self) -> ReLUCoefficients:
        """Return the network that is the starting intercept alone."""
        return self.coefficients(np.zeros((2 * self.mask.shape[1], self.width)), self.level)

    def units(self, c: ReLUCoefficients) -> tuple[Array, Array]:
        """Inverse of `coefficients`, of their part in the span of the data."""
        W = np.concatenate([c.coef_plus[0], c.coef_minus[0]])
        U = (W @ self.basis) * (self.unit / self.scale)
        if self.bias:
            b = np.concatenate([c.bias_plus[0], c.bias_minus[0]]) + W @ self.middle
            U = np.column_stack([U, b / self.scale])
        return U, c.intercept / self.scale

    def multipliers(self, z: Array) -> Array:
        """Cone multipliers (n, 2, P) of the problem, from those of `cones`."""
        return np.asarray(self.scale * np.abs(self.signs)[:, None] * z.reshape(len(z), 2, -1))


class UnitBlocks:
    r"""The system :math:`(B + F^TWF)\Delta + F^TW1\,\delta = r,\ 1^TW(F\Delta+1\delta) = e`.

    B has one block a unit, :math:`A^T\mathrm{diag}(z/s)A + S + \rho I` from its cone, its norm and a ridge; F is the
    map to predictions and W the second derivatives of the loss. With :math:`B_g^{-1} = L_gL_g^T` and Q the product
    :math:`W^{1/2}FL`, what is factored is :math:`I+QQ^T`, (n, n), or :math:`I+Q^TQ` where it is smaller.

    Towards the end the rows of a cone differ by 1e16 in weight, and :math:`A^T\mathrm{diag}(z/s)A` would lose the
    directions that stay free. Badly conditioned blocks therefore come from a QR factorization of their weighted rows,
    heaviest first, which keeps small directions to full relative accuracy (Cox and Higham 1998).

    ``root`` (2P, rank, rank): symmetric roots of S. ``ratio`` (n, 2P): z/s. ``R`` (n, 1): roots of W.
    """

    def __init__(self, program: ReLUProgram, root: Array, ratio: Array, R: Array, ridge: float) -> None:
        self.program, self.R = program, R
        G, width, rank = len(root), program.width, program.rank
        weights = ((program.signs**2)[:, None] * ratio.reshape(len(ratio), 2, -1)).reshape(ratio.shape)
        tail = np.zeros((G, rank + width, width))
        tail[:, :rank, :rank] = root
        tail[:, rank:] = np.sqrt(ridge) * np.eye(width)
        self._blocks(np.ascontiguousarray(weights.T), tail)
        self._factor()

    def _blocks(self, weights: Array, tail: Array) -> None:
        """Set L and the roots M with MᵀM = B: the triangle of each block."""
        Y = self.program.Y
        (G, n), width = weights.shape, Y.shape[1]
        if n * width**2 <= _TABLE:
            table = (Y[:, :, None] * Y[:, None, :]).reshape(n, -1)
            cones = (weights @ table).reshape(G, width, width)
        else:
            cones = np.stack([Y.T @ (w[:, None] * Y) for w in weights])
        B = tail.transpose(0, 2, 1) @ tail + cones
        values = np.linalg.eigvalsh(B) if B.size else np.ones((G, 1))  # rows of zeros have no width
        good = values[:, 0] * _CONDITION > values[:, -1]
        self.M = np.empty_like(B)
        self.M[good] = np.linalg.cholesky(B[good]).transpose(0, 2, 1)
        for g in np.array_split(np.flatnonzero(~good), max(1, G * n * width // _SLICE)):
            if g.size:
                self.M[g] = _triangles(Y, weights[g], tail[g])
        self.L: Array = np.asarray(np.linalg.inv(self.M), dtype=np.float64)

    def _factor(self) -> None:
        n = len(self.R)
        G, block = self.L.shape[:2]
        self.Q: Array | None = None
        if G * block < n:
            Q = self.Q = np.concatenate([self._columns(sign, slice(None)) for sign in range(2)], axis=1)
            H = np.asarray(Q.T @ Q)
            H[np.diag_indices_from(H)] += 1
            self.factor = cho_factor(H, overwrite_a=True, check_finite=False)
            along = Q.T @ self.R
            self.lifted = cho_solve(self.factor, along, check_finite=False)
            self.schur = self.R.T @ (self.R - Q @ self.lifted)
            return
        H = np.eye(n)
        P, size = G // 2, max(1, _SLICE // (n * block))
        for sign in range(2):
            for first in range(0, P, size):
                part = slice(first, min(first + size, P))
                rows = np.flatnonzero(self.program.mask[:, first]) if size == 1 else np.arange(n)
                K = self._columns(sign, part, rows)
                if rows.size == n:
                    H += K @ K.T
                else:
                    H[np.ix_(rows, rows)] += K @ K.T
        self.factor = cho_factor(H, overwrite_a=True, check_finite=False)
        self.lifted = cho_solve(self.factor, self.R, check_finite=False)
        self.schur = self.R.T @ self.lifted

    def _columns(self, sign: int, part: slice, rows: NDArray[np.intp] | slice = slice(None)) -> Array:
        """Return the columns of ±Q that belong to some patterns, at some rows."""
        program, P = self.program, self.program.mask.shape[1]
        K = np.matmul(program.Y[rows], self.L[sign * P : (sign + 1) * P][part]).transpose(1, 0, 2)  # (rows, p, block)
        K = (K * (program.mask * self.R)[rows, part, None]).reshape(len(K), -1)
        return np.asarray(K if sign == 0 else -K)

    def solve(self, r: Array, e: Array) -> tuple[Array, Array]:
        """Solve for Δ (2P, width) and δ (1,), refined with the residual; ``e`` is ignored without an intercept."""
        e = e if self.program.intercept else np.zeros_like(e)
        d, dt = self._once(r, e)
        size = np.linalg.norm(r) + np.linalg.norm(e)
        last = np.inf
        for _ in range(_REFINE):
            Wf = self.R**2 * (self.program.forward(d) + dt)
            rest = r - _times(self.M.transpose(0, 2, 1), _times(self.M, d)) - self.program.adjoint(Wf)
            e_rest = e - Wf.sum(axis=0) if self.program.intercept else e
            now = float(np.linalg.norm(rest) + np.linalg.norm(e_rest))
            if now <= _ROUNDING * size or now > 0.5 * last:
                break
            last = now
            dd, ddt = self._once(rest, e_rest)
            d, dt = d + dd, dt + ddt
        return d, dt

    def _once(self, r: Array, e: Array) -> tuple[Array, Array]:
        short = _times(self.L.transpose(0, 2, 1), r)
        dt = np.zeros(1)
        if self.Q is not None:  # (I + QᵀQ) a + QᵀW^½1 δ = Lᵀr
            a = cho_solve(self.factor, short.ravel(), check_finite=False)
            if self.program.intercept:
                dt = self._shift(e - self.R.T @ (self.Q @ a))
                a = a - self.lifted @ dt
            return _times(self.L, a.reshape(r.shape)), dt
        y = _times(self.L, short)
        lam = cho_solve(self.factor, self.R * self.program.forward(y), check_finite=False)
        if self.program.intercept:
            dt = self._shift(e - self.R.T @ lam[:, 0])
            lam = lam + self.lifted * dt
        back = self.program.adjoint(self.R * lam)
        return y - _times(self.L, _times(self.L.transpose(0, 2, 1), back)), dt

    def _shift(self, e: Array) -> Array:
        """Solve for the intercept, which a loss that is flat everywhere does not see."""
        return np.asarray(np.linalg.lstsq(self.schur, e, rcond=_ROUNDING)[0])


def _times(M: Array, r: Array) -> Array:
    return np.asarray(np.matmul(M, r[:, :, None])[:, :, 0])


def _triangles(Y: Array, weights: Array, tail: Array) -> Array:
    """Triangular roots (G, w, w) of the blocks, by QR of the rows of a cone and then of that triangle with the tail."""
    order = np.argsort(-weights, axis=1)
    rows = np.sqrt(np.take_along_axis(weights, order, axis=1))[..., None] * Y[order]
    M = np.concatenate([np.linalg.qr(rows, mode="r"), tail], axis=1)
    heaviest = np.argsort(-np.abs(M).max(axis=2), axis=1)
    return np.asarray(np.linalg.qr(np.take_along_axis(M, heaviest[:, :, None], axis=1), mode="r"))
