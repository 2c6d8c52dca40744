"""Two-layer networks, and the way from convex variables to them."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.problems.problem import Coefficients

__all__ = ["TwoLayerNetwork", "gated_predictions"]

Array = NDArray[np.float64]

_BLOCK_BYTES = 64 * 2**20


def gated_predictions(X: NDArray[Any], gates: Gates, coefficients: Coefficients) -> Array:
    r"""Return :math:`f(x) = \sum_i 1[h_i^Tx+c_i\ge0]\,(x^TU_i + b_i) + t`, (n, C), in blocks of rows."""
    coef, gate_intercept, intercept = coefficients
    C, _, d = coef.shape
    active = np.flatnonzero(coef.any(axis=(0, 2)) | gate_intercept.any(axis=0))
    kept, U, b = gates.take(active), coef[:, active].reshape(C * active.size, d).T, gate_intercept[:, active]
    out = np.empty((len(X), C))
    block = max(1, _BLOCK_BYTES // (8 * max(1, U.shape[1] + d)))
    for start in range(0, len(X), block):
        rows = np.asarray(X[start : start + block], dtype=np.float64)
        inside = (rows @ U).reshape(len(rows), C, active.size) + b
        out[start : start + block] = np.einsum("ncp,np->nc", inside, kept.on(rows).astype(np.float64)) + intercept
    return out


@dataclass(frozen=True, eq=False)
class TwoLayerNetwork:
    r"""A two-layer network with ReLU or gated-ReLU neurons.

    .. math:: f(x) = \sum_{j=1}^m w_{2,j}\,\sigma_j(W_{1,j}^Tx + b_{1,j}) + b_2,

    with :math:`\sigma_j(s) = \max(s, 0)`, or :math:`\sigma_j(s) = s\,1[h_j^Tx + c_j \ge 0]` if there are gates.

    Attributes
    ----------
    W1 : (m, d)
    b1 : (m,)
    w2 : (m, outputs)
    b2 : (outputs,)
    gates : Gates or None
        One for each neuron; None for ReLU.
    units : (m,) int
        Neurons with the same number share one gate and one amplitude: the outputs of a vector-valued unit.

    Examples
    --------
    >>> import numpy as np
    >>> network = TwoLayerNetwork(np.array([[1.0], [-1.0]]), np.zeros(2), np.ones((2, 1)), np.zeros(1))
    >>> network.predict(np.array([[-3.0], [2.0]])).tolist()  # |x|
    [3.0, 2.0]
    """

    W1: Array
    b1: Array
    w2: Array
    b2: Array
    gates: Gates | None = None
    units: NDArray[np.intp] | None = None

    @classmethod
    def from_gated(cls, coefficients: Coefficients, gates: Gates) -> "TwoLayerNetwork":
        r"""Balance a gated solution: :math:`W_i = U_i/\sqrt{||U_i||_F}`, :math:`\alpha_i = \sqrt{||U_i||_F}`.

        It makes the same predictions, and :math:`\frac12\sum_i(||W_i||_F^2+\alpha_i^2) = \sum_i||U_i||_F`. A gate with
        :math:`U_i = 0` and a bias becomes a neuron with zero weights and amplitude 1, which the penalty (in its form
        :math:`\sum_i ||W_i||_F|\alpha_i|`) does not charge. Each output of a gate is one neuron.
        """
        coef, gate_intercept, intercept = coefficients
        C, _, d = coef.shape
        size = np.sqrt(np.einsum("cpd,cpd->p", coef, coef))
        active = np.flatnonzero((size > 0) | gate_intercept.any(axis=0))
        amplitude = np.where(size > 0, np.sqrt(size), 1.0)[active]
        W1 = (coef[:, active] / amplitude[:, None]).transpose(1, 0, 2).reshape(-1, d)
        b1 = (gate_intercept[:, active] / amplitude).T.reshape(-1)
        w2 = (amplitude[:, None, None] * np.eye(C)).reshape(-1, C)
        owner = np.repeat(np.arange(active.size), C)
        return cls(W1, b1, w2, intercept.copy(), gates.take(active[owner]), owner)

    @property
    def n_neurons(self) -> int:
        """Number of neurons m."""
        return len(self.b1)

    def predict(self, X: NDArray[Any]) -> Array:
        """Return the outputs for rows X (n, d): (n,), or (n, outputs) if there are several."""
        data = as_real(X, "X", "TwoLayerNetwork.predict")
        if data.ndim != 2 or data.shape[1] != self.W1.shape[1]:
            rule = f"of shape (n, {self.W1.shape[1]})"
            raise fail("X", "TwoLayerNetwork.predict", rule, describe(f"shape {data.shape}"))
        hidden = np.asarray(data, dtype=np.float64) @ self.W1.T + self.b1
        hidden = np.maximum(hidden, 0) if self.gates is None else hidden * self.gates.on(data)
        out = hidden @ self.w2 + self.b2
        return np.asarray(out[:, 0] if out.shape[1] == 1 else out)

    def penalty(self) -> float:
        r"""Return :math:`\sum_i ||W_i||_F|\alpha_i|` over units, the least :math:`\frac12\sum(||W_i||_F^2+\alpha_i^2)`.

        Rescaling :math:`(W_i, \alpha_i) \to (sW_i, \alpha_i/s)` changes neither the predictions nor this value.
        """
        units = np.arange(self.n_neurons) if self.units is None else self.units
        squares = np.bincount(units, weights=np.einsum("md,md->m", self.W1, self.W1))
        _, first = np.unique(units, return_index=True)
        return float(np.sqrt(squares) @ np.linalg.norm(self.w2[first], axis=1))

    def __repr__(self) -> str:
        kind = "relu" if self.gates is None else "gated relu"
        return f"TwoLayerNetwork(d={self.W1.shape[1]}, neurons={self.n_neurons}, outputs={len(self.b2)}, {kind})"
