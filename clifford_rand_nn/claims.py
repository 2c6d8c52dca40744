"""What a certificate speaks of: a network, and the family of neurons that it is compared with."""

from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.problems.gated import Coefficients

__all__ = ["Claim", "GatedClaim", "NetworkClaim"]

Array = NDArray[np.float64]


class Claim(Protocol):
    """What a certificate needs to recompute itself from the rows X (n, d)."""

    @property
    def d(self) -> int:
        """Number of columns of X."""

    def outcome(self, X: Array) -> tuple[Array, float]:
        """Return the predictions (n, C) and the penalty, without beta."""

    def pressure(self, X: Array, theta: Array, bias: bool) -> tuple[float, float]:
        """Return the size of ``theta`` (at most n beta if feasible), and the largest sum that should vanish."""

    def charge(self, X: Array, theta: Array) -> float:
        """Return what a squared penalty takes from the dual value of ``theta``, times n² beta; 0 for a norm."""


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

    def outcome(self, X: Array) -> tuple[Array, float]:
        """Predictions and the sum of the Frobenius norms, or of half their squares."""
        U, b, t = self.coefficients
        on, f, penalty = self.gates.on(X), np.tile(t, (len(X), 1)), 0.0
        for i in range(on.shape[1]):
            f[on[:, i]] += X[on[:, i]] @ U[:, i].T + b[:, i]
            norm = float(np.linalg.norm(U[:, i]))
            penalty += 0.5 * norm**2 if self.squared else norm
        return f, penalty

    def pressure(self, X: Array, theta: Array, bias: bool) -> tuple[float, float]:
        r"""Return :math:`\max_i||X^TD_i\theta||_F`, and the largest :math:`|1^TD_i\theta|` if gates have a bias.

        A squared penalty bounds nothing: then the first is 0.
        """
        on, size, excess = self.gates.on(X), 0.0, 0.0
        for i in range(on.shape[1]):
            if not self.squared:
                size = max(size, float(np.linalg.norm(X[on[:, i]].T @ theta[on[:, i]])))
            if bias:
                excess = max(excess, float(np.abs(theta[on[:, i]].sum(axis=0)).max()))
        return size, excess

    def charge(self, X: Array, theta: Array) -> float:
        r"""Return :math:`\frac12\sum_i||X^TD_i\theta||_F^2` if the penalty is squared."""
        if not self.squared:
            return 0.0
        on = self.gates.on(X)
        return 0.5 * sum(float(np.sum((X[gate].T @ theta[gate]) ** 2)) for gate in on.T)


class NetworkClaim(NamedTuple):
    """A ReLU network against a family of neurons, from the weights of the network and by pricing the family again."""

    network: TwoLayerNetwork
    family: Family

    @property
    def d(self) -> int:
        """Number of columns of X."""
        return int(self.network.W1.shape[1])

    def outcome(self, X: Array) -> tuple[Array, float]:
        r"""Predictions and :math:`\sum_i||W_i||_p|\\alpha_i|`."""
        return self.network.predict(X).reshape(len(X), -1), self.network.penalty(self.family.p)

    def pressure(self, X: Array, theta: Array, bias: bool) -> tuple[float, float]:
        """Return the largest correlation of ``theta`` with a unit neuron of the family."""
        return self.family.pricer(X).price(theta, 1).size, 0.0

    def charge(self, X: Array, theta: Array) -> float:
        """Return 0: the penalty is a norm."""
        return 0.0
