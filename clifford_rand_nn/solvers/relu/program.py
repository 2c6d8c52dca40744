"""The convex ReLU program in units of its own, as its solvers see it: maps to predictions and cones, both adjoints."""

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.problems.relu import ConvexReLUProblem, ReLUCoefficients


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
        What a unit norm costs.
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
        self.kappa = problem.n * problem.beta / (self.unit * self.scale)

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
