r"""Sums over the rows that judge a gated network: loss, gradient, dual values; and of its intercept.

The network is :math:`f(x)=\sum_i1[h_i\cdot x+c_i\ge0]\,(x, c)\cdot U_i+t`, with U (d', P, C) in the columns of
[X c], and :math:`\theta_j=-\omega_j\ell'(f(x_j))` its residual. Rows may be tensors: all but the decision of the
patterns is in the array API.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.problems.duality import balanced_bound, imbalance
from clifford_rand_nn.problems.loss import Loss
from clifford_rand_nn.problems.loss_functions import cast, library, zeros
from clifford_rand_nn.rounding import BLOCK, FORMULA, additions, gamma, square_above
from clifford_rand_nn.row_sums import Block, Kept, RowMap, RowSum, Sums, Targets
from clifford_rand_nn.shards.scan import lifted, masked, masked_sums

# 385 columns, 50 gates, two threads: 2048 rows take .60 s for a million, 1024 .69 (Python), 4096 .71 (the cache).
_ENTRIES = 2**20
_LEAST_ROWS = 256  # of a block
_FEW = 0.75  # share of gates in use below which the others are left out of the forward product


def block_rows(width: int, dtype: Any = np.float32) -> int:
    """Return how many rows of so many numbers stay in the cache between the two products: a power of two."""
    singles = width * np.dtype(dtype).itemsize / 4
    return int(np.clip(2 ** np.floor(np.log2(_ENTRIES / singles)), _LEAST_ROWS, 2**13))


class Network(NamedTuple):
    """Coefficients U (d', P, C) and intercept t (C,), in the columns of [X c] as they are stored."""

    U: Array
    t: Array


class Patterns(RowMap):
    """Activation patterns of the rows, decided once, in double precision, a bit each."""

    def __init__(self, gates: Gates) -> None:
        self.gates = gates
        self.rows = block_rows(gates.d + len(gates), np.float64)

    def of(self, block: Block) -> NDArray[np.uint8]:
        """Return (k, ⌈P/8⌉) bytes."""
        return np.packbits(self.gates.activations(lifted(block.X, np.float64)), axis=1)


class _Forward(RowSum):
    tensors = True
    _gates: Gates | None = None

    def __init__(self, network: Network, targets: Targets, feature: float | None, dtype: Any) -> None:
        self.intercept, self.targets, self.feature, self.dtype = network.t, targets, feature, np.dtype(dtype)
        U = network.U
        self._shape = U.shape  # and not U itself: the term is sent around
        active = np.flatnonzero(U.any(axis=(0, 2)))
        self._active = active if active.size < _FEW * U.shape[1] else None
        part = U if self._active is None else U[:, active]
        self.rows = block_rows(len(U) + U[0].size)
        if self.dtype == np.float64:
            self.rows = min(self.rows, BLOCK)
        self._columns = np.ascontiguousarray(part.reshape(len(U), -1), dtype=self.dtype)

    def deciding(self, gates: Gates) -> Self:
        """Let NumPy decide the patterns anew, where none were kept."""
        self._gates, self.tensors = gates, False
        return self

    def placed(self, place: Callable[[NDArray[Any]], Any]) -> Self:
        """Return a copy on a device; of U only the columns in use go there."""
        term = super().placed(place)
        term.targets = self.targets.placed(place)
        return term

    def _rows(self, block: Block) -> Any:
        """Return [X c] in the precision of the products."""
        xp = library(block.X)
        if xp is np:
            return lifted(block.X, self.dtype, self.feature)
        X: Any = cast(block.X, getattr(xp, self.dtype.name))
        return X if self.feature is None else xp.concat([X, xp.full_like(X[:, :1], self.feature)], axis=1)

    def _on(self, block: Block, kept: Kept) -> Any:
        """Return the patterns (k, P) as zeros and ones: bytes of NumPy's, else in the precision of the products."""
        if self._gates is not None:
            return self._gates.activations(lifted(block.X, np.float64)).astype(np.float64)
        bits, P = kept[0], self._shape[1]
        xp = library(bits)
        if xp is np:
            return np.unpackbits(bits, axis=1, count=P)
        shifts = xp.arange(7, -1, -1, dtype=bits.dtype, device=bits.device)
        ones = xp.reshape((bits[:, :, None] >> shifts) & 1, (bits.shape[0], -1))
        return cast(ones[:, :P], getattr(xp, self.dtype.name))

    def _gated(self, X: Any, on: Any) -> Any:
        """Return the predictions (k, C) less the intercept."""
        C = self._shape[2]
        xp = library(X)
        on = on if self._active is None else xp.take(on, self._active, axis=1)  # indexing would lay it out by columns
        if on.shape[1] == 0:
            return zeros(X, (len(X), C), xp.float64)
        Z = X @ self._columns
        if xp is np and C == 1:
            return masked_sums(Z, on)[:, None]
        Z = Z.reshape((len(X), on.shape[1], C))
        if xp is np:
            return np.einsum("kpc,kp->kc", Z, on.astype(self.dtype)).astype(np.float64)
        return cast((on[:, None, :] @ Z)[:, 0, :], xp.float64)

    def _gated_residuals(self, on: Any, theta: Any) -> Any:
        """Return on[j, p] theta[j, c], (k, PC), in the precision of the products."""
        xp, (k, C) = library(theta), theta.shape
        if xp is np and C == 1:
            return masked(on, theta[:, 0], self.dtype)
        dtype = self.dtype if xp is np else on.dtype
        return (cast(on, dtype)[:, :, None] * cast(theta, dtype)[:, None, :]).reshape((k, -1))


class Judged(NamedTuple):
    r"""Sums over all rows: :math:`\sum\omega\ell`, :math:`\sum\theta` and :math:`\sum|\theta|` (C,), and four more.

    ``duals`` are :math:`-\sum_j(\omega_j\ell_j)^*(-s\theta_j)` for each scale s, ``gradient`` is
    :math:`\sum_jD_{i,jj}(x_j, c)\theta_j^T` (d', P, C), ``reach`` :math:`\sum_j||(x_j,c)||\,||\theta_j||`. The last,
    ``terms``, is :math:`\sum_j\omega_j\ell_j+|\theta_j\cdot f(x_j)|`, no less than the sum of the absolute dual values.
    """

    loss: Array
    balance: Array
    size: Array
    duals: Array
    gradient: Array
    reach: Array
    terms: Array

    def mean(self, n: int) -> "Judged":
        """Return the sums over n."""
        return Judged(*(values / n for values in self))

    def bound(self, n: int, scale: float, dual: float, beta: float, squared: bool, intercept: bool) -> float:
        r"""Return a lower bound of the optimum from means of n rows, with all that rounding and an imbalance may take.

        The loss has the dual value ``dual`` at :math:`s\theta`. A free intercept requires :math:`1^T\theta=0`. The
        entries of one sign, lessened by a share :math:`\tau`, sum to those of the other; they stay in the domain of the
        loss, and the dual value, which is concave, falls by at most :math:`\tau` times the absolute values of its
        terms.
        """
        sums = additions(n, _LEAST_ROWS) + len(self.gradient) * self.gradient.shape[2]
        # the part of θ that 1ᵀθ = 0 costs
        share = imbalance(np.abs(self.balance) + gamma(sums) * self.size, self.size) if intercept else 0.0
        lost = scale * (gamma(sums) + share) * float(self.reach)
        dual -= (gamma(sums + FORMULA) + share) * float(self.terms)
        norms = scale * np.linalg.norm(self.gradient, axis=(0, 2))
        if squared:
            # the conjugate of half squared norms: Σ|X_iᵀθ|²/(2β)
            dual -= square_above(float(norms @ norms), len(norms), lost) / (2 * beta)
        else:
            # norms ≤ β: the dual point is scaled down by the largest
            largest = float(norms.max(initial=0.0)) + lost
            dual *= min(1.0, beta / largest) if largest > 0 else 1.0
        return balanced_bound(dual, self.balance, self.size) if intercept else dual


class Judge(_Forward):
    """Loss, gradient, and dual values at some scales of the residual: a forward and a backward product."""

    def __init__(
        self, network: Network, targets: Targets, feature: float | None, scales: Array, dtype: Any = np.float32
    ) -> None:
        super().__init__(network, targets, feature, dtype)
        self.scales = scales

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return the fields of `Judged` for a block."""
        X, on = self._rows(block), self._on(block, kept)
        y, w = self.targets.of(block), self.targets.weights(block)
        f = self._gated(X, on) + self.intercept
        loss = self.targets.loss
        # passes that prove, in double precision, are made of the plain formulas of the loss
        rays = loss.along_rays if self.dtype == np.float32 else partial(Loss.along_rays, loss)
        value, theta, duals = rays(f, y, w, self.scales)
        xp = library(theta)
        # Σ_j D_i,jj x_j θ_jᵀ of every gate: one product with the masked residuals
        gradient = (X.T @ self._gated_residuals(on, theta)).reshape((X.shape[1], on.shape[1], -1))
        reach = xp.sum(xp.linalg.vector_norm(X, axis=1) * xp.linalg.vector_norm(theta, axis=1))
        terms = value + xp.sum(xp.abs(theta * f))
        sums = xp.sum(theta, axis=0), xp.sum(xp.abs(theta), axis=0)
        return (xp.asarray(value), *sums, duals, gradient, xp.asarray(reach), xp.asarray(terms))


class Balance(_Forward):
    r"""Loss, :math:`\sum\theta`, :math:`\sum|\theta|` and Hessian (C, C) of several intercepts: a forward product."""

    def __init__(
        self, network: Network, targets: Targets, feature: float | None, intercepts: Array, dtype: Any = np.float64
    ) -> None:
        super().__init__(network, targets, feature, dtype)
        self.intercepts = intercepts
        self.columns = 0 not in self._columns.shape  # of a constant nothing is read but targets

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return the sums for every intercept, in a row."""
        loss, y, w = self.targets.loss, self.targets.of(block), self.targets.weights(block)
        xp = library(y)
        g = self._gated(self._rows(block), self._on(block, kept)) if self.columns else xp.zeros_like(y)
        sums_of: list[Sums] = []
        for t in self.intercepts:
            f = g + t
            plain = loss.residual(f, y)
            # the best intercept t has Σθ = 0
            theta = w * plain
            value, size = xp.sum(w * loss.value(f, y)), xp.sum(xp.abs(theta))
            sums_of.append((value, xp.sum(theta, axis=0), size, _hessian(loss, plain, y, w)))
        return tuple(xp.stack(values) for values in zip(*sums_of, strict=True))


def _hessian(loss: Loss, theta: Any, y: Any, w: Any) -> Any:
    """Return the Hessian (C, C) of the loss in the intercept; rows beyond a corner of the loss have none."""
    xp, C = library(y), y.shape[1]
    if loss.separable:
        low, high = loss.domain(y)
        inside = xp.where((theta > low) & (theta < high), loss.curvature_at(theta, y), xp.zeros_like(theta))
        return xp.sum(w * inside, axis=0) * xp.eye(C, dtype=y.dtype, device=y.device)
    units = xp.eye(C, dtype=y.dtype, device=y.device)
    columns = [loss.hessian_product(theta, y, xp.broadcast_to(units[i], y.shape)) for i in range(C)]
    return xp.stack([xp.sum(w * column, axis=0) for column in columns])


class Verify(Judge):
    """A `Judge` in double precision that knows nothing but the gates and the rows, and the loss of the zero network."""

    def __init__(self, network: Network, targets: Targets, feature: float | None, scale: float, gates: Gates) -> None:
        super().__init__(network, targets, feature, np.array([scale]), np.float64)
        self.deciding(gates)

    def of(self, block: Block, kept: Kept) -> Sums:
        """Return the fields of `Judged`, the loss of the zero network, and the number of rows that count."""
        y, w = self.targets.of(block), self.targets.weights(block)
        zero = float(np.sum(w * self.targets.loss.value(np.zeros_like(y), y)))
        rows = len(y) if block.weights is None else np.count_nonzero(block.weights)
        return (*super().of(block, kept), np.array(zero), np.array(float(rows)))
