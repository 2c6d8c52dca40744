"""The linear map of a gated network on arrays of any library: parameters to predictions, and back."""

import math
from collections.abc import Iterator
from typing import Any

from array_api_compat import device as device_of

from clifford_rand_nn.solvers.arrays.namespace import constant, tiles

__all__ = ["ArrayMap"]

# The next four are those of `problems.coordinates`, where they are explained; the last two were measured there.
_RANK_TOL = 1e-10
_GRAM_TOL = 1e-12
_FLOOR = 0.01
_LEVELS_PER_OCTAVE = 8
_POWER_STEPS = 30
_POWER_SAFETY = 1.05  # the power iteration approaches the norm from below; the solver still checks every step


class ArrayMap:
    r"""The map :math:`(U, c)\mapsto MFU+\sigma Qc` of `GatedMap`, on the device of X.

    X is (n, d), patterns (n, P) bool. ``wide`` is the dtype of everything but the products with X, which are in the
    dtype of X where ``narrow`` is asked for; wide products of narrower X convert its rows tile by tile.

    Attributes
    ----------
    frame : (d, r)
        V diag(w): columns of an orthonormal basis of the data's directions, times the weights of the coordinates.
    weights : (r,)
    levels : (l, r)
        Row k marks by 1 the coordinates of the k-th different weight.
    level_weights : (l,)
    Q : (n, q)
        Orthonormal basis of what no penalty touches.
    sigma : float
        Spectral norm of MF, from a power iteration with a fixed start.
    """

    def __init__(self, xp: Any, X: Any, patterns: Any, bias: bool, fit_intercept: bool, wide: Any) -> None:
        self.xp, self.X, self.mask, self.wide = xp, X, patterns, wide
        self.bias, self.fit_intercept = bias, fit_intercept
        self.n, self.n_patterns = int(X.shape[0]), int(patterns.shape[1])
        self.eps = float(xp.finfo(wide).eps)
        self.narrows = X.dtype != wide
        self._coordinates()
        self.rows = self._rotated()
        self._unpenalised()
        self.sigma = self._norm()

    def gated(self, U: Any, narrow: bool = False) -> Any:
        r"""Return :math:`\sum_iD_iXU_i` in the wide dtype, (r, P, C) to (n, C)."""
        xp = self.xp
        r, P, C = U.shape
        W = xp.reshape(U, (r, P * C))
        if narrow and self.narrows:
            W = xp.astype(W, self.X.dtype)
        elif self.narrows:
            W = self.frame @ W
        zero = constant(W, 0.0)
        parts = []
        for tile, rows in self._tiles(P * C, W.dtype):
            Z = rows @ W
            if C == 1:
                part = xp.sum(xp.where(self.mask[tile, :], Z, zero), axis=1, keepdims=True)
            else:
                Z = xp.reshape(Z, (Z.shape[0], P, C))
                part = xp.sum(xp.where(self.mask[tile, :, None], Z, zero), axis=1)
            parts.append(part)
        return xp.astype(xp.concat(parts, axis=0), self.wide)

    def gated_adjoint(self, R: Any, narrow: bool = False) -> Any:
        r"""Return the blocks :math:`X^TD_iR` in the wide dtype, (n, C) to (r, P, C)."""
        xp = self.xp
        C, P = R.shape[1], self.n_patterns
        inside = xp.astype(R, self.X.dtype) if narrow and self.narrows else R
        zero = constant(inside, 0.0)
        total: Any = None
        for tile, rows in self._tiles(P * C, inside.dtype):
            Z = xp.where(self.mask[tile, :, None], inside[tile, None, :], zero)
            product = rows.T @ xp.reshape(Z, (Z.shape[0], P * C))
            total = product if total is None else total + product
        total = xp.astype(total, self.wide)
        if self.narrows and not narrow:
            total = self.frame.T @ total
        return xp.reshape(total, (self.frame.shape[1], P, C))

    def remove_unpenalised(self, R: Any) -> Any:
        """Return M R: what no bias and no intercept can explain."""
        return R - self.Q @ (self.Q.T @ R)

    def forward(self, U: Any, c: Any, narrow: bool = False) -> Any:
        """Predictions (n, C)."""
        f = self.gated(U, narrow)
        return f + self.Q @ (self.sigma * c - self.Q.T @ f)

    def adjoint(self, R: Any, narrow: bool = False) -> tuple[Any, Any]:
        """Adjoint of `forward`."""
        QR = self.Q.T @ R
        return self.gated_adjoint(R - self.Q @ QR, narrow), self.sigma * QR

    def biases(self, U: Any, c: Any) -> tuple[Any, Any]:
        """Gate biases (P, C) and intercept (C,) of least norm that give the predictions of (U, c)."""
        b = self._inverse @ (self.sigma * c - self.Q.T @ self.gated(U))
        P = self.n_patterns if self.bias else 0
        gate = b[:P, :] if self.bias else self.zeros(self.n_patterns, U.shape[2])
        return gate, (b[P, :] if self.fit_intercept else self.zeros(U.shape[2]))

    def zeros(self, *shape: int) -> Any:
        """Return zeros in the wide dtype on the device of X."""
        return self.xp.zeros(shape, dtype=self.wide, device=device_of(self.X))

    def _tiles(self, width: int, dtype: Any) -> Iterator[tuple[slice, Any]]:
        """Rows for products of this dtype: rotated ones, or those of X itself, converted, for wide ones of narrow X."""
        source = self.rows if dtype == self.rows.dtype else self.X
        for tile in tiles(source, width):
            rows = source[tile, :]
            yield tile, rows if rows.dtype == dtype else self.xp.astype(rows, dtype)

    def _coordinates(self) -> None:
        """Basis of the directions in which the (centred) rows vary, with weights that even out their variances."""
        xp, X, n = self.xp, self.X, self.n
        d = int(X.shape[1])
        mean = self.zeros(d)
        if self.bias:
            for tile in tiles(X, d):
                mean = mean + xp.sum(xp.astype(X[tile, :], self.wide), axis=0) / n
        scale = max(float(xp.max(xp.abs(xp.astype(X[tile, :], self.wide) - mean))) for tile in tiles(X, d))
        scale = max(scale, float(xp.finfo(self.wide).smallest_normal))
        basis = None
        if n < d:  # the row space first: n directions instead of d
            basis, triangle = xp.linalg.qr((xp.astype(X, self.wide) - mean).T / scale)
            gram = triangle @ triangle.T
        else:
            gram = self.zeros(d, d)
            for tile in tiles(X, d):
                rows = (xp.astype(X[tile, :], self.wide) - mean) / scale
                gram = gram + rows.T @ rows
        variance, vectors = xp.linalg.eigh(gram)
        top = max(float(variance[-1]), 0.0)
        rank = int(xp.count_nonzero(variance > max(n, d) * self.eps * top))
        first = int(variance.shape[0]) - rank
        basis = vectors[:, first:] if basis is None else basis @ vectors[:, first:]
        share = xp.clip(variance[first:] / (top if top > 0 else 1.0), min=_FLOOR)
        steps = xp.round(xp.log2(share) * (-0.5 * _LEVELS_PER_OCTAVE))
        different = [k for k in range(_floor_level() + 1) if bool(xp.any(steps == k))] if rank else []
        base = 2.0 ** (1 / _LEVELS_PER_OCTAVE)
        self.weights = base**steps
        self.level_weights = xp.asarray([base**k for k in different], dtype=self.wide, device=device_of(X))
        marks = [xp.astype(steps == k, self.wide)[None, :] for k in different]
        self.levels = xp.concat(marks, axis=0) if marks else self.zeros(0, 0)
        self.frame = basis * self.weights

    def wide_rows(self) -> Any:
        """Return the rotated and weighted rows in the wide dtype."""
        return self.rows if not self.narrows else self.xp.astype(self.X, self.wide) @ self.frame

    def _rotated(self) -> Any:
        """Rows in the coordinates, in the dtype of X."""
        xp = self.xp
        frame = self.frame
        parts = [
            xp.astype(xp.astype(self.X[tile, :], self.wide) @ frame, self.X.dtype)
            for tile in tiles(self.X, int(frame.shape[1]))
        ]
        return xp.concat(parts, axis=0)

    def _unpenalised(self) -> None:
        """Set Q, and the matrix R with BR = Q, from the columns B that no penalty touches."""
        xp = self.xp
        columns = [xp.astype(self.mask, self.wide)] if self.bias else []
        if self.fit_intercept:
            columns.append(self.zeros(self.n, 1) + 1)
        B = xp.concat(columns, axis=1) if columns else self.zeros(self.n, 0)
        if B.shape[1] == 0:
            self.Q, self._inverse = B, self.zeros(0, 0)
        elif not (B.shape[1] < self.n and self._by_gram(B)):
            self._by_singular_values(B)

    def _by_singular_values(self, B: Any) -> None:
        W, s, Vt = self.xp.linalg.svd(B, full_matrices=False)
        rank = int(self.xp.count_nonzero(s > self._rank_tol() * float(s[0])))
        self.Q, self._inverse = W[:, :rank], Vt[:rank, :].T / s[:rank]

    def _rank_tol(self) -> float:
        return max(_RANK_TOL, self.n * self.eps)

    def _by_gram(self, B: Any) -> bool:
        """Eigenvectors of B^T B, then Cholesky for orthogonality to rounding; False where the rank is doubtful."""
        xp = self.xp
        variance, V = xp.linalg.eigh(B.T @ B)
        top = float(variance[-1])
        rank = int(xp.count_nonzero(variance > max(_GRAM_TOL, self.n * self.eps) * top))
        if rank == 0:
            return False
        first = int(variance.shape[0]) - rank
        R = V[:, first:] / xp.sqrt(variance[first:])
        Q = B @ R
        triangle = xp.linalg.cholesky(Q.T @ Q)
        inverse = xp.linalg.inv(triangle).T
        Q = Q @ inverse
        # What was taken for rounding must be rounding: a column outside the span would make the dual bound false.
        rest = B @ V[:, :first]
        rest = rest - Q @ (Q.T @ rest)
        if first and float(xp.max(xp.linalg.vector_norm(rest, axis=0))) > self._rank_tol() * math.sqrt(top):
            return False
        self.Q, self._inverse = Q, R @ inverse
        return True

    def _norm(self) -> float:
        """Estimate ||MF|| by power iteration; 1 for a zero map."""
        xp = self.xp
        if self.n_patterns == 0:
            return 1.0
        # A start without a random generator, which the standard lacks, that no symmetry of rows makes orthogonal.
        angle = xp.astype(xp.arange(1, self.n + 1, device=device_of(self.X)), self.wide)
        v = self.remove_unpenalised((xp.cos(angle * math.sqrt(2)) + xp.sin(angle * angle) + 0.5)[:, None])
        squares = xp.sum(xp.astype(self.rows, self.wide) ** 2)
        size = xp.linalg.vector_norm(v)
        for _ in range(_POWER_STEPS):
            v = v / xp.where(size > 0, size, xp.ones_like(size))
            v = self.remove_unpenalised(self.gated(self.gated_adjoint(v, narrow=True), narrow=True))
            size = xp.linalg.vector_norm(v)
        # M F = 0, where biases explain everything, comes out as rounding of F F^T, whose norm is at most P |rows|^2.
        noise = float(xp.finfo(self.rows.dtype).eps) * self.n_patterns * float(squares)
        return 1.0 if float(size) <= noise else math.sqrt(_POWER_SAFETY * float(size))


def _floor_level() -> int:
    """Largest number of steps that a weight can be above 1."""
    return round(-0.5 * _LEVELS_PER_OCTAVE * math.log2(_FLOOR))
