"""The linear map of a gated network: parameters to predictions, with its unpenalized part split off."""

from copy import copy
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._threads import cached_property
from clifford_rand._typing import Array
from clifford_rand_nn.problems.coordinates import (
    TILE,
    CsrRows,
    coordinates,
    masked_product,
    masked_transpose,
    unpenalized_basis,
)
from clifford_rand_nn.problems.penalties import GateMetric
from clifford_rand_nn.sparse_rows import row_tiles

_POWER_STEPS = 30
# With large data the steps would cost as much as a solution to 1e-2. Eight steps on a sample of the rows leave the
# estimate within about a tenth, which the solver's check of its steps corrects in an iteration or two.
_LARGE = 10**9  # multiplications of a product with F
_FEW_POWER_STEPS = 8
_SAMPLE = 4096  # rows, or more where there are many unpenalized columns:
_SAMPLE_SHARE = 8  # so many rows for each of them
_SAMPLED_GATES = 4096  # of the sum over all gates, a mean over so many gives the norm to some hundredths
_MANY = 10**7  # multiplications of a product from which fewer steps are made
_POWER_SAFETY = 1.05  # the power iteration approaches the norm from below; the solver still checks every step
# On embeddings (n = 3000, d = 384, P = 200, beta 0.1 and 0.01 of beta_max) a gap of 1e-2 took 100 and 339 iterations in
# the metric, with free biases, instead of 193 and 958; without biases 50 and 233 instead of 60 and 409. Eight leading
# directions of the gates instead of one lower the Lipschitz constant by another third, but not the iterations.
_METRIC_PAYS = 1.5  # least fall of the Lipschitz constant for which the dearer prox is worth it
_METRIC_LEAST = 1e-3  # the second eigenvalue counts as at least this share of the first


class GatedMap:
    r"""The map :math:`(U, c) \mapsto MFU + \sigma Qc` that spans the predictions of a gated network.

    A gated network predicts :math:`FU + Bb` with :math:`FU = \sum_i D_i X U_i` and B the columns that no penalty
    touches: :math:`D_i 1` for the gate biases, 1 for the intercept. With Q an orthonormal basis of span B and
    :math:`M = I - QQ^T`, the predictions are the same set, written so that the two parts are orthogonal:
    :math:`b` is recovered from :math:`Bb = \sigma Qc - QQ^TFU`. The penalty does not see c, so nothing is lost; the
    gain is that a step in c is exact, that the data are centered within every gate for free, and that a residual
    :math:`M\theta` meets the equality constraints of the dual. :math:`\sigma = ||MF||_2` gives both parts one step.

    Every product takes the precision of its argument. If X is float32, so are the rows that single-precision products
    use; double-precision ones convert X itself, tile by tile, so that they are exact to rounding of float64 and no copy
    of X in float64 is held.

    The coefficients are :math:`u_i = V\,\mathrm{diag}(w)\,U_i`:
    V is an orthonormal basis of the directions in which the (centered) rows vary, so that n < d and low rank cost less,
    and w evens out their variances. This changes no norm that is charged: the penalty knows w.

    ``X`` (n, d), or `CsrRows`. ``patterns`` (n, P). ``bias``, ``fit_intercept``: whether gates have a bias and the
    output an intercept. ``rows`` (n, r): Y = X V diag(w); float32 if X is, unless n < d; CSR if V is not needed.
    ``basis`` (d, r): V, which `CsrRows` do not hold. ``weights`` (r,): w, from 1 for the largest variance upwards.
    ``Q`` (n, q): orthonormal basis of the unpenalized columns.
    """

    rows: Any

    def __init__(self, X: Any, patterns: NDArray[np.bool_], bias: bool, fit_intercept: bool) -> None:
        self.basis: Array  # of CSR rows `CsrRows` knows it
        if isinstance(X, CsrRows):
            self.weights, self.rows = X.weights, X.rows
        else:
            self.basis, self.weights = coordinates(X, bias)
        self.mask = np.ascontiguousarray(patterns.T)
        self.patterns = self.mask.T
        self.bias = bias
        self.fit_intercept = fit_intercept
        self._X = X
        # Fewer rows than columns make a small square of rows: it is kept in double precision.
        self.is_exact = X.dtype == np.float64 or len(X) < X.shape[1]
        if not isinstance(X, CsrRows):
            self.rows = self._rotated(np.float64 if self.is_exact else np.float32)
        self.single_rows: list[Any] = [] if self.is_exact else [self.rows]  # shared with restricted maps
        self.Q, self._pseudo_inverse = unpenalized_basis(self.mask, bias, fit_intercept)
        self._Q_single: tuple[Any, Any] | None = None  # with the Q that it was made from

    @cached_property
    def sigma(self) -> float:
        """Spectral norm of MF, from a power iteration with a fixed start; for large data up to a tenth too small."""
        return self._norm()

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.rows.shape[0])

    @property
    def d(self) -> int:
        """Number of coordinates of a group, the rank of the (centered) data."""
        return int(self.rows.shape[1])

    @property
    def n_patterns(self) -> int:
        """Number of gates P."""
        return int(self.patterns.shape[1])

    @property
    def unweighted(self) -> Any:
        """Rows X V in double precision, (n, r)."""
        if isinstance(self._X, CsrRows):
            return self._X.unweighted
        return np.asarray(self._X, dtype=np.float64) @ self.basis

    def in_columns(self, U: Array) -> Array:
        """Return the weights u = V diag(w) U for the columns of X, outputs first: (r, P, C) to (C, P, d)."""
        if isinstance(self._X, CsrRows):
            r, P, C = U.shape
            coef = self._X.in_columns((self.weights[:, None, None] * U).reshape(r, P * C))
            return np.ascontiguousarray(coef.reshape(-1, P, C).transpose(2, 1, 0))
        return np.ascontiguousarray(U.transpose(2, 1, 0) @ (self.basis * self.weights).T)

    def in_coordinates(self, coef: Array) -> Array:
        """Return U (r, P, C) of weights (C, P, d), of their part in the span of the rows."""
        if isinstance(self._X, CsrRows):
            C, P, d = coef.shape
            coordinates = self._X.in_coordinates(coef.transpose(2, 1, 0).reshape(d, P * C))
            return np.asarray(coordinates.reshape(-1, P, C) / self.weights[:, None, None])
        return np.asarray(np.einsum("dr,cpd->rpc", self.basis / self.weights, coef, optimize=True))

    def gated(self, U: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`FU = \sum_i D_i X U_i`, (d, P, C) to (n, C), in the precision of U."""
        if U.dtype == np.float32:
            return masked_product(self._rows_single(), self.mask, U)
        if self.is_exact:
            return masked_product(self.rows, self.mask, U)
        return masked_product(self._X, self.mask, np.tensordot(self.basis * self.weights, U, 1))

    def gated_adjoint(self, R: NDArray[Any]) -> NDArray[Any]:
        r"""Return :math:`F^TR`, whose block i is :math:`X^TD_iR`: (n, C) to (d, P, C), in the precision of R."""
        if R.dtype == np.float32:
            return masked_transpose(self._rows_single(), self.mask, R)
        if self.is_exact:
            return masked_transpose(self.rows, self.mask, R)
        return np.tensordot((self.basis * self.weights).T, masked_transpose(self._X, self.mask, R), 1)

    def remove_unpenalized(self, R: NDArray[Any]) -> NDArray[Any]:
        """Return M R: what no bias and no intercept can explain."""
        Q = self._Q(R.dtype)
        return np.asarray(R - Q @ (Q.T @ R))

    def forward(self, U: NDArray[Any], c: Array) -> NDArray[Any]:
        """Predictions (n, C) of U (d, P, C) and c (q, C), in the precision of U."""
        f, Q = self.gated(U), self._Q(U.dtype)
        return np.asarray(f + Q @ (self.sigma * c.astype(U.dtype, copy=False) - Q.T @ f))

    def adjoint(self, R: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        """Adjoint of `forward`: R (n, C) to the shapes of U and c, in the precision of R."""
        Q = self._Q(R.dtype)
        QR = Q.T @ R
        return self.gated_adjoint(R - Q @ QR), self.sigma * QR

    @cached_property
    def metric(self) -> GateMetric | None:
        r"""Metric for the steps of a first-order solver, or None where it would hardly lengthen them.

        :math:`F^TF` is about the covariance of the rows times that of the gates, :math:`D^TD/n`. Gates are on together:
        the leading eigenvector s of that outweighs the rest and alone sets the plain step. With b + 1 the ratio of the
        two largest eigenvalues it is level with the next. :math:`\omega` is the fall of the squared norm of MF, so that
        the step in c stays exact.
        """
        if self.n_patterns < 2 or self.d == 0:
            return None
        on = self._sample().mask.astype(np.float32)
        values, vectors = np.linalg.eigh((on @ on.T).astype(np.float64))
        b = values[-1] / max(values[-2], _METRIC_LEAST * values[-1], 1.0) - 1  # whole numbers: below 1 is rounding
        if b <= 0:
            return None
        metric = GateMetric(np.ascontiguousarray(vectors[:, -1]), float(b), 1.0)
        fall = (self.sigma / self._norm(metric)) ** 2
        return metric._replace(omega=fall) if fall >= _METRIC_PAYS else None

    def restricted(self, gates: NDArray[np.intp]) -> "GatedMap":
        """Return the map of some of the gates, with the coordinates, the unpenalized columns and the biases of all."""
        return _RestrictedMap(self, gates)

    def biases(self, U: Array, c: Array) -> tuple[Array, Array]:
        """Gate biases (P, C) and intercept (C,) that give the predictions of (U, c): those of least norm."""
        return self.biases_in(self.sigma * c - self.Q.T @ self.gated(U))

    def biases_in(self, free: Array) -> tuple[Array, Array]:
        """Gate biases (P, C) and intercept (C,) of least norm that predict Q ``free``, for ``free`` (q, C)."""
        b, C = self._pseudo_inverse @ free, free.shape[1]
        gate = b[: len(b) - self.fit_intercept] if self.bias else np.zeros((self.n_patterns, C))
        return gate, (b[-1] if self.fit_intercept else np.zeros(C))

    def unpenalized(self, U: Array, gate_bias: Array, intercept: Array) -> Array:
        """Inverse of `biases`: the c (q, C) of U with the given biases."""
        free = self.patterns @ gate_bias + intercept if self.bias else np.broadcast_to(intercept, (self.n, U.shape[2]))
        return np.asarray(self.Q.T @ (self.gated(U) + free) / self.sigma)

    def _rotated(self, dtype: Any) -> NDArray[Any]:
        """Rows of X in the coordinates, made in double precision and rounded to ``dtype``."""
        frame = self.basis * self.weights
        Y = np.empty((len(self._X), frame.shape[1]), dtype)
        for tile in row_tiles(len(Y), TILE):
            Y[tile] = self._X[tile] @ frame
        return Y

    def _rows_single(self) -> Any:
        if not self.single_rows:
            self.single_rows.append(self.rows.astype(np.float32))
        return self.single_rows[0]

    def _Q(self, dtype: Any) -> Any:
        if dtype == self.Q.dtype:
            return self.Q
        if self._Q_single is None or self._Q_single[0] is not self.Q:
            self._Q_single = self.Q, self.Q.astype(dtype)
        return self._Q_single[1]

    def _norm(self, metric: GateMetric | None = None) -> float:
        """Estimate ||MF||, or ||MFA^-1/2|| in a metric, by power iteration from a fixed vector; 1 for a zero map."""
        part = self._sample() if metric is not None else self._sample().some_gates()
        v: Any = np.random.default_rng(0).standard_normal((part.n, 1)).astype(part.rows.dtype)
        v = part.remove_unpenalized(v)
        size = 0.0
        few = metric is not None or part.rows.size * part.n_patterns > _MANY
        for _ in range(_FEW_POWER_STEPS if few else _POWER_STEPS):
            length = np.linalg.norm(v)
            if length == 0:
                break
            G = part.gated_adjoint(v / length)
            v = part.remove_unpenalized(part.gated(G if metric is None else metric.solve(G)))
            size = float(np.linalg.norm(v))
        # M F = 0, where biases explain everything, comes out as rounding of F F^T, whose norm is at most P |Y|^2.
        entries = part.rows.data if issparse(part.rows) else part.rows
        negligible = size <= np.finfo(v.dtype).eps * part.n_patterns * np.linalg.norm(entries) ** 2
        share = part.n * part.n_patterns / max(1, self.n * self.n_patterns)
        return 1.0 if negligible else float(np.sqrt(_POWER_SAFETY * size / share))

    def some_gates(self) -> "GatedMap":
        """Map of a sample of very many gates, else this map; Q is that of all gates."""
        if self.n_patterns < 2 * _SAMPLED_GATES:
            return self
        part = copy(self)
        some = np.sort(np.random.default_rng(0).choice(self.n_patterns, _SAMPLED_GATES, replace=False))
        part.mask = self.mask[some]
        part.patterns = part.mask.T
        return part

    def _sample(self) -> "GatedMap":
        """Map of some of the rows of large data, else this one."""
        size = max(_SAMPLE, _SAMPLE_SHARE * self.Q.shape[1])
        if self.rows.size * self.n_patterns <= _LARGE or 2 * size > self.n:
            return self
        rows = np.sort(np.random.default_rng(0).choice(self.n, size, replace=False))
        part = copy(self)
        part.rows, part.mask, part.is_exact = self.rows[rows], self.mask[:, rows], True
        part.single_rows = [part.rows] if part.rows.dtype == np.float32 else []
        part.Q = np.linalg.qr(self.Q[rows])[0]  # what they span, and more where they are dependent
        return part


class _RestrictedMap(GatedMap):
    """The map of a subset of the gates; rows, coordinates, Q and biases are those of the whole."""

    def __init__(self, full: GatedMap, gates: NDArray[np.intp]) -> None:
        self.__dict__.update({name: value for name, value in vars(full).items() if name not in ("metric", "sigma")})
        self._full, self._gates = full, gates
        self.mask = np.ascontiguousarray(full.mask[gates])
        self.patterns = self.mask.T

    def biases(self, U: Array, c: Array) -> tuple[Array, Array]:
        return self._full.biases(self._padded(U), c * (self.sigma / self._full.sigma))

    def unpenalized(self, U: Array, gate_bias: Array, intercept: Array) -> Array:
        c = self._full.unpenalized(self._padded(U), gate_bias, intercept)
        return np.asarray(c * (self._full.sigma / self.sigma))

    def _padded(self, U: Array) -> Array:
        out = np.zeros((U.shape[0], self._full.n_patterns, U.shape[2]))
        out[:, self._gates] = U
        return out
