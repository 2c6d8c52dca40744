"""The linear map of a gated network: parameters to predictions, with its unpenalised part split off."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GatedMap"]

Array = NDArray[np.float64]

_RANK_TOL = 1e-10  # singular values of the 0/1 bias columns below this share of the largest are zero
# Directions of less than this share of the largest variance are scaled up no further. Iterations of FISTA to a gap of
# 1e-6 on six problems (n = 2000, P = 50; text, pixels, reports): over 18,700 unscaled, 13,000 at 0.1, 10,600 at 0.03,
# 10,400 at 0.01.
_FLOOR = 0.01
_POWER_STEPS = 30
_POWER_SAFETY = 1.05  # the power iteration approaches the norm from below; the solver still checks every step


class GatedMap:
    r"""The map :math:`(U, c) \mapsto MFU + \sigma Qc` that spans the predictions of a gated network.

    A gated network predicts :math:`FU + Bb` with :math:`FU = \sum_i D_i X U_i` and B the columns that no penalty
    touches: :math:`D_i 1` for the gate biases, 1 for the intercept. With Q an orthonormal basis of span B and
    :math:`M = I - QQ^T`, the predictions are the same set, written so that the two parts are orthogonal:
    :math:`b` is recovered from :math:`Bb = \sigma Qc - QQ^TFU`. The penalty does not see c, so nothing is lost; the
    gain is that a step in c is exact, that the data are centred within every gate for free, and that a residual
    :math:`M\theta` meets the equality constraints of the dual. :math:`\sigma = ||MF||_2` gives both parts one step.

    The coefficients are :math:`u_i = V\,\mathrm{diag}(w)\,U_i`:
    V is an orthonormal basis of the directions in which the (centred) rows vary, so that n < d and low rank cost less,
    and w evens out their variances. This changes no norm that is charged: the penalty knows w.

    Parameters
    ----------
    X : (n, d) float64
    patterns : (n, P) bool
    bias, fit_intercept : bool
        Whether gates have a bias and the output an intercept.

    Attributes
    ----------
    basis : (d, r) float64
        V.
    weights : (r,) float64
        w, from 1 for the largest variance upwards.
    Q : (n, q) float64
        Orthonormal basis of the unpenalised columns.
    sigma : float
        Spectral norm of MF, from a power iteration with a fixed start.
    """

    def __init__(self, X: Array, patterns: NDArray[np.bool_], bias: bool, fit_intercept: bool) -> None:
        self.basis, self.weights = _coordinates(X, bias)
        self._Y = np.ascontiguousarray(X @ (self.basis * self.weights))
        self.patterns = patterns
        self.bias = bias
        self.fit_intercept = fit_intercept
        self._mask = np.ascontiguousarray(patterns, dtype=np.float64)
        columns = [self._mask] if bias else []
        if fit_intercept:
            columns.append(np.ones((len(X), 1)))
        B = np.hstack(columns) if columns else np.zeros((len(X), 0))
        self.Q, self._pseudo_inverse = _range_and_inverse(B)
        self.sigma = self._norm()

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self._Y.shape[0])

    @property
    def d(self) -> int:
        """Number of coordinates of a group, the rank of the (centred) data."""
        return int(self._Y.shape[1])

    @property
    def n_patterns(self) -> int:
        """Number of gates P."""
        return int(self._mask.shape[1])

    def gated(self, U: Array) -> Array:
        r"""Return :math:`FU = \sum_i D_i X U_i`, (d, P, C) to (n, C)."""
        d, P, C = U.shape
        Z = self._Y @ U.reshape(d, P * C)
        if C == 1:
            return np.asarray(np.einsum("np,np->n", Z, self._mask))[:, None]
        return np.asarray(np.matmul(self._mask[:, None, :], Z.reshape(self.n, P, C))[:, 0, :])

    def gated_adjoint(self, R: Array) -> Array:
        r"""Return :math:`F^TR`, whose block i is :math:`X^TD_iR`: (n, C) to (d, P, C)."""
        n, C = R.shape
        masked = self._mask * R if C == 1 else (self._mask[:, :, None] * R[:, None, :]).reshape(n, -1)
        return np.asarray(self._Y.T @ masked).reshape(self.d, self.n_patterns, C)

    def remove_unpenalised(self, R: Array) -> Array:
        """Return M R: what no bias and no intercept can explain."""
        return np.asarray(R - self.Q @ (self.Q.T @ R))

    def forward(self, U: Array, c: Array) -> Array:
        """Predictions (n, C) of U (d, P, C) and c (q, C)."""
        f = self.gated(U)
        return np.asarray(f + self.Q @ (self.sigma * c - self.Q.T @ f))

    def adjoint(self, R: Array) -> tuple[Array, Array]:
        """Adjoint of `forward`: R (n, C) to the shapes of U and c."""
        QR = self.Q.T @ R
        return self.gated_adjoint(R - self.Q @ QR), self.sigma * QR

    def biases(self, U: Array, c: Array) -> tuple[Array, Array]:
        """Gate biases (P, C) and intercept (C,) that give the predictions of (U, c): those of least norm."""
        b = self._pseudo_inverse @ (self.sigma * c - self.Q.T @ self.gated(U))
        P = self.n_patterns if self.bias else 0
        gate = b[:P] if self.bias else np.zeros((self.n_patterns, U.shape[2]))
        return gate, (b[P] if self.fit_intercept else np.zeros(U.shape[2]))

    def unpenalised(self, U: Array, gate_bias: Array, intercept: Array) -> Array:
        """Inverse of `biases`: the c (q, C) of U with the given biases."""
        free = self._mask @ gate_bias + intercept if self.bias else np.broadcast_to(intercept, (self.n, U.shape[2]))
        return np.asarray(self.Q.T @ (self.gated(U) + free) / self.sigma)

    def _norm(self) -> float:
        """Estimate ||MF|| by power iteration from a fixed random vector; 1 for a zero map."""
        v: Any = np.random.default_rng(0).standard_normal((self.n, 1))
        v = self.remove_unpenalised(v)
        size = 0.0
        for _ in range(_POWER_STEPS):
            length = np.linalg.norm(v)
            if length == 0:
                break
            v = self.remove_unpenalised(self.gated(self.gated_adjoint(v / length)))
            size = float(np.linalg.norm(v))
        # M F = 0, where biases explain everything, comes out as rounding of F F^T, whose norm is at most P |Y|^2.
        negligible = size <= np.finfo(np.float64).eps * self.n_patterns * np.linalg.norm(self._Y) ** 2
        return 1.0 if negligible else float(np.sqrt(_POWER_SAFETY * size))


def _coordinates(X: Array, centred: bool) -> tuple[Array, Array]:
    """Orthonormal basis (d, r) of the directions in which the rows vary, and the weight (r,) of each coordinate."""
    Y = X - X.mean(axis=0) if centred else X
    Y = Y / max(float(np.abs(Y).max()), np.finfo(np.float64).tiny)
    frame = None
    if len(Y) < Y.shape[1]:
        frame, triangle = np.linalg.qr(Y.T)  # the row space first: n directions instead of d
        Y = triangle.T
    variance, vectors = np.linalg.eigh(Y.T @ Y)
    top = max(float(variance[-1]), 0.0)
    keep = variance > max(X.shape) * np.finfo(np.float64).eps * top
    basis = vectors[:, keep] if frame is None else frame @ vectors[:, keep]
    return basis, 1 / np.sqrt(np.maximum(variance[keep] / top, _FLOOR) if top > 0 else variance[keep])


def _range_and_inverse(B: Array) -> tuple[Array, Array]:
    """Orthonormal basis Q (n, q) of the columns of B (n, p), and the (p, q) matrix R with B R = Q."""
    if B.shape[1] == 0:
        return B, np.zeros((0, 0))
    W, s, Vt = np.linalg.svd(B, full_matrices=False)
    keep = s > _RANK_TOL * s[0]
    return np.ascontiguousarray(W[:, keep]), Vt[keep].T / s[keep]
