"""What a certificate speaks of: a network, and the family of neurons that it is compared with."""

from typing import NamedTuple, Protocol

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import Coefficients


class Claim(Protocol):
    """What a certificate needs to recompute itself from the rows X (n, d)."""

    @property
    def d(self) -> int:
        """Number of columns of X."""

    def predictions_and_penalty(self, X: Array) -> tuple[Array, float]:
        """Return the predictions (n, C) and the penalty, without beta."""

    def dual_norm(self, X: Array, theta: Array) -> float:
        """Return the dual norm of ``theta``, at most n beta if it is feasible; 0 if the penalty is no norm."""

    def bias_residual(self, X: Array, theta: Array) -> float:
        """Return the largest sum of ``theta`` that free biases require to be 0."""

    def dual_penalty(self, X: Array, theta: Array) -> float:
        """Return the conjugate of a squared penalty at ``theta``, times n² beta; 0 for a norm."""


class GatedClaim(NamedTuple):
    """A gated network against everything on the same gates, gate by gate from the coefficients.

    Attributes
    ----------
    gates : Gates
    coefficients : Coefficients
    squared : bool
        Whether the penalty is half the squared norms, instead of the norms.
    """

    gates: Gates
    coefficients: Coefficients
    squared: bool = False

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return self.gates.d

    def predictions_and_penalty(self, X: Array) -> tuple[Array, float]:
        """Predictions and the sum of the Frobenius norms, or of half their squares."""
        U, b, t = self.coefficients
        on, f, penalty = self.gates.on(X), np.tile(t, (len(X), 1)), 0.0
        for i in range(on.shape[1]):
            f[on[:, i]] += X[on[:, i]] @ U[:, i].T + b[:, i]
            norm = float(np.linalg.norm(U[:, i]))
            penalty += 0.5 * norm**2 if self.squared else norm
        return f, penalty

    def dual_norm(self, X: Array, theta: Array) -> float:
        r"""Return :math:`\max_i||X^TD_i\theta||_F`; a squared penalty bounds nothing."""
        return 0.0 if self.squared else max(self._norms(X, theta), default=0.0)

    def bias_residual(self, X: Array, theta: Array) -> float:
        r"""Return the largest :math:`|1^TD_i\theta|`."""
        return max((float(np.abs(theta[gate].sum(axis=0)).max()) for gate in self.gates.on(X).T), default=0.0)

    def dual_penalty(self, X: Array, theta: Array) -> float:
        r"""Return :math:`\frac12\sum_i||X^TD_i\theta||_F^2` if the penalty is squared."""
        return 0.5 * sum(norm**2 for norm in self._norms(X, theta)) if self.squared else 0.0

    def _norms(self, X: Array, theta: Array) -> list[float]:
        return [float(np.linalg.norm(X[gate].T @ theta[gate])) for gate in self.gates.on(X).T]


class NetworkClaim(NamedTuple):
    """A ReLU network against a family of neurons, from the weights of the network and by pricing the family again."""

    network: TwoLayerNetwork
    family: Family

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return int(self.network.W1.shape[1])

    def predictions_and_penalty(self, X: Array) -> tuple[Array, float]:
        r"""Predictions and :math:`\sum_i||W_i||_p|\alpha_i|`."""
        return self.network.predict(X).reshape(len(X), -1), self.network.penalty(self.family.p)

    def dual_norm(self, X: Array, theta: Array) -> float:
        """Return the largest correlation of ``theta`` with a unit neuron of the family."""
        return self.family.pricer(X).price(theta, 1).size

    def bias_residual(self, X: Array, theta: Array) -> float:
        """Return 0: the constant that biases add up to is the intercept."""
        return 0.0

    def dual_penalty(self, X: Array, theta: Array) -> float:
        """Return 0: the penalty is a norm."""
        return 0.0
