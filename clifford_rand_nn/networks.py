"""Two-layer networks."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._checks import as_real, check_array, check_choice, check_number, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.export.methods import Exported
from clifford_rand_nn.export.program import Program, apply, rows, two_layers
from clifford_rand_nn.gates.hyperplanes import Gates
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.solvers.base import Result

_BLOCK_BYTES = 2**20  # of rows and neurons at a time, within a cache: 2.3 times as fast as 64 MiB of fresh pages
_FEWEST = 64  # rows, so that a product of matrices remains one


def gated_predictions(X: Any, gates: Gates, coefficients: Coefficients) -> Array:
    r"""Return :math:`f(x) = \sum_i 1[h_i^Tx+c_i\ge0]\,(x^TU_i + b_i) + t`, (n, C), in blocks of rows, dense or CSR."""
    coef, gate_intercept, intercept = coefficients
    C, _, d = coef.shape
    active = np.flatnonzero(coef.any(axis=(0, 2)) | gate_intercept.any(axis=0))
    kept, U, b = gates.take(active), coef[:, active].reshape(C * active.size, d).T, gate_intercept[:, active]
    n, sparse = X.shape[0], issparse(X)
    out = np.empty((n, C))
    block = max(_FEWEST, _BLOCK_BYTES // (8 * max(1, U.shape[1] + (0 if sparse else d))))
    for start in range(0, n, block):
        rows = X[start : start + block]
        rows = rows if sparse else np.asarray(rows, dtype=np.float64)
        inside = (rows @ U).reshape(rows.shape[0], C, active.size) + b
        out[start : start + block] = (
            np.einsum("ncp,np->nc", inside, kept.activations(rows).astype(np.float64)) + intercept
        )
    return out


def without_feature(value: Any, feature: float | None) -> Any:
    r"""Return for the rows X what was found for [X c]: :math:`U_c` of the last column becomes the bias :math:`cU_c`.

    ``value`` is Coefficients, Neurons, WeightedNeurons, a TwoLayerNetwork of ReLU neurons, or a Result of them.
    Without a feature it is returned as it is.
    """
    if feature is None:
        return value
    match value:
        case Coefficients(coef, gate_intercept, intercept):
            weights = np.ascontiguousarray(coef[:, :, :-1])
            return Coefficients(weights, gate_intercept + feature * coef[:, :, -1], intercept)
        case WeightedNeurons(neurons, values, intercept):
            return WeightedNeurons(without_feature(neurons, feature), values, intercept)
        case Neurons(directions=V, offsets=b):
            return Neurons(np.ascontiguousarray(V[:-1]), b + feature * V[-1], value.rows)
        case TwoLayerNetwork(W1=W1, b1=b1):
            return replace(value, W1=np.ascontiguousarray(W1[:, :-1]), b1=b1 + feature * W1[:, -1])
        case Result(coefficients=coefficients):
            return replace(value, coefficients=without_feature(coefficients, feature))
        case _:
            return value  # columns of a matrix, which know no rows


@dataclass(frozen=True, eq=False)
class TwoLayerNetwork(Exported):
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
        Neurons with the same number share one gate and one amplitude: the outputs of a gate. None for ReLU.

    Raises
    ------
    ArgumentError
        The arrays do not fit each other, or are not of float64 (``units`` of integers).

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

    def __post_init__(self) -> None:
        owner = "TwoLayerNetwork"
        m, d = check_array(self.W1, "W1", owner, (None, None)).shape
        check_array(self.b1, "b1", owner, (m,))
        outputs = check_array(self.w2, "w2", owner, (m, None)).shape[1]
        check_array(self.b2, "b2", owner, (outputs,))
        if self.units is not None:
            check_array(self.units, "units", owner, (m,), np.intp)
        if self.gates is not None and not (isinstance(self.gates, Gates) and (len(self.gates), self.gates.d) == (m, d)):
            raise fail("gates", owner, f"None or {m} gates in dimension {d}", self.gates)

    @property
    def n_neurons(self) -> int:
        """Number of neurons with input weights.

        A gated unit without weights, which is there for its bias alone, is none: it has a row in the arrays, and the
        penalty does not charge it.
        """
        return int(np.count_nonzero(self.W1.any(axis=1)))

    def predict(self, X: NDArray[Any]) -> Array:
        """Return the outputs for rows X (n, d), before labels: (n,), or (n, outputs) if there are several."""
        data = as_real(X, "X", "TwoLayerNetwork.predict")
        if data.ndim != 2 or data.shape[1] != self.W1.shape[1]:
            rule = f"of shape (n, {self.W1.shape[1]})"
            raise fail("X", "TwoLayerNetwork.predict", rule, describe(f"shape {data.shape}"))
        out = np.empty((len(data), len(self.b2)))
        block = max(_FEWEST, _BLOCK_BYTES // (8 * max(1, len(self.b1) + self.W1.shape[1])))
        for start in range(0, len(data), block):
            rows = np.asarray(data[start : start + block], dtype=np.float64)
            hidden = rows @ self.W1.T + self.b1
            hidden = np.maximum(hidden, 0) if self.gates is None else hidden * self.gates.activations(rows)
            out[start : start + block] = hidden @ self.w2 + self.b2
        return np.asarray(out[:, 0] if out.shape[1] == 1 else out)

    def penalty(self, p: int = 2, *, bias_feature: float | None = None) -> float:
        r"""Return :math:`\sum_i||W_i||_p|\alpha_i|` over units, the least :math:`\frac12\sum(||W_i||_p^2+\alpha_i^2)`.

        The norm is that of all the weights of a unit (p = 2 is Frobenius'); with a ``bias_feature`` c, where biases
        are penalized, that of :math:`(W_i, b_i/c)`, the weights on the rows [X c]. Rescaling
        :math:`(W_i, b_i, \alpha_i) \to (sW_i, sb_i, \alpha_i/s)` changes neither the predictions nor this value.
        """
        p = check_choice(p, "p", "penalty", (1, 2))
        if bias_feature is not None:
            rule = "None or a number from 1e-100 to 1e100"
            bias_feature = check_number(bias_feature, "bias_feature", "penalty", rule, lambda c: 1e-100 <= c <= 1e100)
        units = np.arange(len(self.b1)) if self.units is None else self.units
        powers = np.sum(np.abs(self.W1) ** p, axis=1)
        if bias_feature is not None:
            powers = powers + np.abs(self.b1 / bias_feature) ** p
        norms = np.bincount(units, weights=powers) ** (1 / p)
        _, first = np.unique(units, return_index=True)
        return float(norms @ np.linalg.norm(self.w2[first], axis=1))

    def _program(self, coverage: float | None) -> Program:
        outputs, penalty = two_layers(rows(), self)
        results = {"predict": apply("first", outputs) if len(self.b2) == 1 else outputs}
        return Program("TwoLayerNetwork", self.W1.shape[1], results, penalty, width=len(self.b1))

    def __repr__(self) -> str:
        kind = "relu" if self.gates is None else "gated relu"
        return f"TwoLayerNetwork(d={self.W1.shape[1]}, neurons={self.n_neurons}, outputs={len(self.b2)}, {kind})"
