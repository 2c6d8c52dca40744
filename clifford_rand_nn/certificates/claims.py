"""Claims of certificates: a network with the family of networks that it is compared with.

Its outputs are products in twice the digits of double precision.
"""

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import issparse

from clifford_rand._typing import Array
from clifford_rand_nn._records import short_repr
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.kernel_network.network import KernelNetwork
from clifford_rand_nn.kernel_network.standardization import Standardization
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.rounding import (
    Pair,
    additions,
    block_products,
    exact_parts,
    gamma,
    product,
    rounding_of_norm,
    square_above,
    two_sum,
)
from clifford_rand_nn.sparse_rows import row_lengths, with_feature

_PRODUCT = 16  # roundings of an entry of K: its angle, and its inner product


class Residuals(NamedTuple):
    """Predictions less targets (n, C), and what rounding usually still moves these and the penalty by."""

    values: Array
    lost: Array | float = 0.0
    cost: float = 0.0


@short_repr
@dataclass(frozen=True, eq=False)
class GatedClaim:
    """A gated network against everything on the same gates, gate by gate from the coefficients.

    The penalty is the norms, or half their squares if ``squared``; with a ``feature`` c, where biases are penalized,
    norms are those of (U, b/c), the weights on the rows [X c].
    """

    gates: Gates
    coefficients: Coefficients
    squared: bool = False
    feature: float | None = None

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return self.gates.d

    @property
    def intercept(self) -> Array:
        """The intercept (C,) of the network."""
        return self.coefficients.intercept

    def predictions_and_cost(self, X: Any, beta: float) -> tuple[Array, float]:
        """Predictions and beta times the sum of the Frobenius norms, or of half their squares; X is dense or CSR."""
        U, b, t = self.coefficients
        on, f, penalty = self.gates.activations(X), np.tile(t, (X.shape[0], 1)), 0.0
        for i in range(on.shape[1]):
            f[on[:, i]] += X[on[:, i]] @ U[:, i].T + b[:, i]
            norm = float(np.linalg.norm(U[:, i]))
            if self.feature is not None:
                norm = float(np.hypot(norm, np.linalg.norm(b[:, i] / self.feature)))
            penalty += 0.5 * norm**2 if self.squared else norm
        return f, beta * penalty

    def rounding_of_predictions(self, X: Any) -> float:
        r"""Return what rounding may move a prediction by, :math:`\epsilon(\max|x|\sum_i||U_i||+\sum_i|b_i|+|t|)`."""
        U, b, t = self.coefficients
        size = row_lengths(X).max(initial=0.0) * np.linalg.norm(U, axis=2).sum() + np.abs(b).sum() + np.abs(t).max()
        return float(np.finfo(np.float64).eps * size)

    def residuals(self, X: Any, targets: Array) -> Residuals:
        """Return predictions less targets (n, C), of dense rows in twice the digits of double precision."""
        U, b, t = self.coefficients
        high, low = two_sum(t, -targets)
        for i, on in enumerate(self.gates.activations(X).T):
            rows, own, offset = X[on], U[:, i].T, b[:, i]
            part = Pair(rows @ own + offset, 0 * low[on]) if issparse(X) else product(Pair(rows, 0 * rows), own, offset)
            high[on], missed = two_sum(high[on], part.high)
            low[on] += missed + part.low
        return Residuals(high + low)

    def dual_norm(self, X: Any, theta: Array) -> float:
        r"""Return :math:`\max_i||X^TD_i\theta||_F`, no less by rounding; a squared penalty bounds nothing."""
        if self.squared:
            return 0.0
        norms, lost = self._norms(X, theta)
        return max(norms, default=0.0) + lost

    def dual_penalty(self, X: Any, theta: Array) -> float:
        r"""Return :math:`\frac12\sum_i||X^TD_i\theta||_F^2`, no less by rounding, if the penalty is squared."""
        if not self.squared:
            return 0.0
        norms, lost = self._norms(X, theta)
        return 0.5 * square_above(sum(norm**2 for norm in norms), len(norms), lost)

    def _norms(self, X: Any, theta: Array) -> tuple[list[float], float]:
        r"""Return the norms of :math:`(X-1m^T)^TD_i\theta+m\,1^TD_i\theta`, and what rounding may take from each.

        With the mean m of dense rows far from 0 it is little, as the sums of theta are made to a rounding.
        """
        rows, on, (high, low) = with_feature(X, self.feature), self.gates.activations(X).T, exact_parts(theta)
        mean = np.zeros(rows.shape[1]) if issparse(rows) else rows.mean(axis=0)
        rows = rows if issparse(rows) else rows - mean
        sums = (np.outer(mean, high[gate].sum(axis=0) + low[gate].sum(axis=0)) for gate in on)
        products = (block_products(rows[gate], theta[gate]) for gate in on)
        above = 1 + gamma(rows.shape[1] * theta.shape[1] + 16)
        norms = [above * float(np.linalg.norm(A + B)) for A, B in zip(products, sums, strict=True)]
        of_sums = rounding_of_norm(np.linalg.norm(mean), low, len(theta))
        return norms, rounding_of_norm(row_lengths(rows), theta, additions(len(theta)) + 8) + of_sums


@dataclass(frozen=True, eq=False)
class NetworkClaim:
    """A ReLU network against a family of neurons, both for rows that are standardized, if ``standard`` is given."""

    network: TwoLayerNetwork
    family: Family
    standard: Standardization | None = None

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return int(self.network.W1.shape[1])

    @property
    def intercept(self) -> Array:
        """The intercept (C,) of the network."""
        return np.reshape(self.network.b2, -1)

    def predictions_and_cost(self, X: Array, beta: float) -> tuple[Array, float]:
        r"""Predictions and :math:`\beta\sum_i||W_i||_p|\alpha_i|`."""
        penalty = self.network.penalty(self.family.p, bias_feature=self.family.feature)
        return self.network.predict(self.rows(X)).reshape(len(X), -1), beta * penalty

    def rounding_of_predictions(self, X: Array) -> float:
        r"""Return :math:`\epsilon(\max|x|\sum_i||W_i|||\alpha_i|+\sum_i|b_i||\alpha_i|+|t|)`."""
        W1, b1, w2, b2 = (np.abs(getattr(self.network, name)) for name in ("W1", "b1", "w2", "b2"))
        each = row_lengths(self.rows(X)).max(initial=0.0) * np.linalg.norm(W1, axis=1) + b1
        return float(np.finfo(np.float64).eps * (each @ w2 + b2).max())

    def residuals(self, X: Array, targets: Array) -> Residuals:
        """Return predictions less targets (n, C), in twice the digits of double precision."""
        network, rows = self.network, np.asarray(self.rows(X), dtype=np.float64)
        hidden = product(Pair(rows, np.zeros_like(rows)), network.W1.T, network.b1)
        on = hidden.high > 0
        active = Pair(np.where(on, hidden.high, 0.0), np.where(on, hidden.low, 0.0))
        f = product(active, np.reshape(network.w2, (len(network.b1), targets.shape[1])), network.b2)
        return Residuals((f.high - targets) + f.low)

    def dual_norm(self, X: Array, theta: Array) -> float:
        """Return the largest correlation of ``theta`` with a unit neuron of the family, no less by rounding."""
        return self.family.dual_norm(self.rows(X), theta)

    def dual_penalty(self, X: Array, theta: Array) -> float:
        """Return 0: the penalty is a norm."""
        return 0.0

    def network_on_rows(self) -> TwoLayerNetwork:
        r"""Return the network for unscaled rows: :math:`W\circ r` and :math:`b-W(r\circ m)`, mean m and rate r."""
        if self.standard is None:
            return self.network
        W1 = self.network.W1 * self.standard.rate
        return replace(self.network, W1=W1, b1=self.network.b1 - W1 @ self.standard.mean)

    def rows(self, X: Array) -> Array:
        """Return rows as network and family take them."""
        return X if self.standard is None else self.standard.rows(X)


@dataclass(frozen=True, eq=False)
class KernelClaim:
    """A gated network with infinitely many gates against every other one with gates of the same law.

    With ``landmarks`` the others are those in the span of the network's own rows.
    """

    network: KernelNetwork
    landmarks: bool = False

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return self.network.d

    @property
    def intercept(self) -> Array:
        """The intercept (C,) of the network."""
        return np.asarray(self.network.intercept)

    def predictions_and_cost(self, X: Any, beta: float) -> tuple[Array, float]:
        r"""Predictions and :math:`\frac\beta2||f||_K^2`, also where the square is beyond the range of float64."""
        half = int(np.frexp(beta)[1]) // 2  # beta of a quantile grows as 1/y: by it the square of f is of the size of y
        scaled = replace(self.network, alpha=np.ldexp(self.network.alpha, half))
        return self.network.outputs(X), float(np.ldexp(beta, -2 * half)) * scaled.penalty()

    def rounding_of_predictions(self, X: Array) -> float:
        r"""Return what rounding may move a prediction by: :math:`K\alpha`, usually, and adding :math:`\epsilon|t|`."""
        intercept = np.finfo(np.float64).eps * np.abs(self.network.intercept)
        return float((self._rounding_of_products(X).max(axis=0, initial=0.0) + intercept).max())

    def _rounding_of_products(self, X: Array) -> Array:
        r"""Return what rounding usually moves :math:`K\alpha` by at most, (n, C).

        .. math:: 16u\sqrt{K_{ii}}\Big(\sum_jK_{jj}\alpha_j^2\Big)^{1/2}

        An angle loses 14u at most, where rows are nearly parallel, and roundings of entries seldom add up.
        """
        network = self.network
        reach, own = (np.sqrt(network.kernel.diagonal(Z)) for Z in (network.standard.rows(X), network.rows))
        return gamma(_PRODUCT) * np.outer(reach, np.linalg.norm(own[:, None] * network.alpha, axis=0))

    def residuals(self, X: Array, targets: Array) -> Residuals:
        """Return predictions less targets (n, C), to which intercept and targets add their difference."""
        network = replace(self.network, intercept=0 * self.network.intercept)
        between, lost = two_sum(self.network.intercept, -targets), self._rounding_of_products(X)
        values = np.asarray(network.outputs(X) + between.high + between.low)
        sizes = np.abs(network.alpha).sum(axis=0)
        return Residuals(values, lost, 0.5 * float(lost.max(axis=0, initial=0.0) @ sizes))

    def dual_norm(self, X: Array, theta: Array) -> float:
        """Return 0: a squared penalty bounds nothing."""
        return 0.0

    def dual_penalty(self, X: Array, theta: Array) -> float:
        r"""Return :math:`\frac12\sum_c\theta_c^TK\theta_c`."""
        return self.network.dual_penalty(X, theta, self.landmarks)


Claim = GatedClaim | NetworkClaim | KernelClaim
