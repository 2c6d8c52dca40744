"""Two-layer networks, and the balanced networks of convex solutions."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from clifford_rand._checks import (
    as_real,
    as_rows,
    check_array,
    check_choice,
    check_number,
    check_squares,
    describe,
    fail,
)
from clifford_rand._typing import Array
from clifford_rand_nn.export.methods import Exported
from clifford_rand_nn.export.program import Program, apply, rows, two_layers
from clifford_rand_nn.gates.hyperplanes import Gates, distinct_columns
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.relu import ReLUCoefficients
from clifford_rand_nn.solvers.base import Result

_BLOCK_BYTES = 2**20  # of rows and neurons at a time, within a cache: 2.3 times as fast as 64 MiB of fresh pages
_FEWEST = 64  # rows, so that a product of matrices remains one
_ON_PLANE = 1e-12  # of |x| |w| + |b|: a row within it lies on the hyperplane, and its side is rounding


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


def balanced_gated(coefficients: Coefficients, gates: Gates, feature: float | None = None) -> TwoLayerNetwork:
    r"""Return the balanced network of a gated solution.

    :math:`W_i = U_i/\sqrt{||U_i||_F}` and :math:`\alpha_i = \sqrt{||U_i||_F}`.

    It makes the same predictions, and :math:`\frac12\sum_i(||W_i||_F^2+\alpha_i^2) = \sum_i||U_i||_F`. Each output
    of a gate is one neuron. A gate with :math:`U_i = 0` and a bias becomes a neuron with zero weights and amplitude
    1, which `TwoLayerNetwork.penalty` does not charge; with a ``feature`` c norms are as there.
    """
    coef, gate_intercept, intercept = coefficients
    C, _, d = coef.shape
    square = np.einsum("cpd,cpd->p", coef, coef)
    if feature is not None:
        square = square + np.einsum("cp,cp->p", gate_intercept / feature, gate_intercept / feature)
    size = np.sqrt(square)
    active = np.flatnonzero((size > 0) | gate_intercept.any(axis=0))
    amplitude = np.where(size > 0, np.sqrt(size), 1.0)[active]
    W1 = (coef[:, active] / amplitude[:, None]).transpose(1, 0, 2).reshape(-1, d)
    b1 = (gate_intercept[:, active] / amplitude).T.reshape(-1)
    w2 = (amplitude[:, None, None] * np.eye(C)).reshape(-1, C)
    owner = np.repeat(np.arange(active.size), C)
    return TwoLayerNetwork(W1, b1, w2, intercept.copy(), gates.take(active[owner]), owner)


def balanced_relu(coefficients: ReLUCoefficients, p: int = 2) -> TwoLayerNetwork:
    r"""Return the balanced network of a constrained solution.

    :math:`w_i = U_i/\sqrt{||U_i||_p}`, :math:`\alpha_i = \pm\sqrt{||U_i||_p}`.

    On the training rows it makes the same predictions, as far as the cones hold, and
    :math:`\frac12\sum_i(||w_i||_p^2+\alpha_i^2) = \sum_i(||U_i||_p+||U_i'||_p)`. Of several outputs each is one
    neuron. A unit with :math:`U_i = 0` and a bias is a constant and goes into the intercept.
    """
    neurons, values, intercept = coefficients.neurons(p)
    live = neurons.directions.any(axis=0)
    constant = np.maximum(neurons.offsets[~live], 0) @ values[~live]
    return balanced_network(WeightedNeurons(neurons.take(live), values[live], intercept + constant), p)


def balanced_network(solution: WeightedNeurons, p: int = 2) -> TwoLayerNetwork:
    r"""Return the balanced network of a sum over atoms.

    :math:`W_j=v_js_j`, :math:`w_{2,j}=Z_j/s_j` with :math:`s_j^2=||Z_j||/||v_j||_p`.

    It makes the same predictions, and :math:`\frac12\sum_j(||W_j||_p^2+||w_{2,j}||_2^2)=\sum_j||v_j||_p||Z_j||_2`,
    the penalty of the Lasso for unit atoms. Atoms of weight 0 are left out.
    """
    size = np.linalg.norm(solution.values, axis=1)
    active = np.flatnonzero(size)
    atoms, values = solution.neurons.take(active), solution.values[active]
    s = np.sqrt(size[active] / atoms.norms(p))
    return TwoLayerNetwork((atoms.directions * s).T, atoms.offsets * s, values / s[:, None], solution.intercept.copy())


def unit_atoms(network: TwoLayerNetwork, p: int = 2, owner: str = "unit_atoms") -> WeightedNeurons:
    r"""Return a network as a sum over unit atoms: :math:`v_j=W_j/||W_j||_p`, :math:`Z_j=||W_j||_pw_{2,j}`.

    The inverse of `balanced_network` for balanced networks; of any others it gives the balanced one's atoms, with the
    same predictions. A ReLU neuron with zero weights is a constant and goes into the intercept.

    Raises
    ------
    ArgumentError
        The neurons have gates of their own: they are not atoms :math:`(x^Tv+b)_+`.
    """
    _require_relu(network, owner)
    p = check_choice(p, "p", owner, (1, 2))
    norms = np.linalg.norm(network.W1, ord=p, axis=1)
    live = norms > 0
    constant = np.maximum(network.b1[~live], 0) @ network.w2[~live]
    atoms = Neurons.free((network.W1[live] / norms[live, None]).T, network.b1[live] / norms[live])
    return WeightedNeurons(atoms, norms[live, None] * network.w2[live], network.b2 + constant)


def gated_coefficients(network: TwoLayerNetwork) -> tuple[Coefficients, Gates]:
    r"""Return the coefficients of a gated network and its gates: :math:`U_i = \sum_jW_jw_{2,j}^T` over the unit i.

    The inverse of `balanced_gated`: the same predictions, and :math:`\sum_i||U_i||_F` is the network's `penalty` where,
    as there, every output of a unit has a neuron of its own.

    Raises
    ------
    ArgumentError
        The neurons are ReLU.
    """
    if network.gates is None:
        value = describe("a network of ReLU neurons")
        raise fail("network", "gated_coefficients", "gated", value)
    units = np.arange(len(network.b1)) if network.units is None else network.units
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    C, d = len(network.b2), network.W1.shape[1]
    coef, bias = np.zeros((first.size, C, d)), np.zeros((first.size, C))
    np.add.at(coef, unit, network.w2[:, :, None] * network.W1[:, None, :])
    np.add.at(bias, unit, network.w2 * network.b1[:, None])
    coefficients = Coefficients(np.ascontiguousarray(coef.transpose(1, 0, 2)), bias.T.copy(), network.b2.copy())
    return coefficients, network.gates.take(first)


def relu_coefficients(
    network: TwoLayerNetwork, X: NDArray[Any], patterns: NDArray[np.bool_] | None = None
) -> tuple[ReLUCoefficients, Any]:
    r"""Return variables of the constrained program on the rows X, and the patterns (n, P) they belong to.

    The inverse of `balanced_relu`. A neuron goes to the unit of its activation pattern and of the sign of its output
    weight, :math:`U_i = \sum_j|w_{2,j}|W_j`, so that predictions on X stay and the penalty does not rise; it is the
    same if no two neurons (of one output) share both.

    Parameters
    ----------
    X : (n, d) array
    patterns : (n, P) bool array, optional
        Patterns to use. A neuron whose hyperplane passes through rows has several; None takes those that count a
        row on the plane as off.

    Raises
    ------
    ArgumentError
        The network is gated, a neuron feeds several outputs, or none of ``patterns`` is one of a neuron's.
    """
    name = "relu_coefficients"
    _require_relu(network, name)
    if (np.count_nonzero(network.w2, axis=1) > 1).any():
        rule = "one whose neurons feed one output each"
        raise fail("network", name, rule, describe("neurons with several output weights"))
    data = as_rows(X, name)
    if data.shape[1] != network.W1.shape[1]:
        raise fail("X", name, f"of shape (n, {network.W1.shape[1]})", describe(f"shape {data.shape}"))
    check_squares(data, "X", name)
    inside = data @ network.W1.T + network.b1
    slack = _ON_PLANE * (
        np.linalg.norm(data, axis=1)[:, None] * np.linalg.norm(network.W1, axis=1) + np.abs(network.b1)
    )
    if patterns is None:
        first, owner = distinct_columns(inside > slack)
        patterns = inside[:, first] > slack[:, first]
    else:
        wrong = (patterns.T[:, :, None] & (inside < -slack)) | (~patterns.T[:, :, None] & (inside > slack))
        fits = ~wrong.any(axis=1)  # (P, m)
        if not fits.any(axis=0).all():
            lost = int(np.flatnonzero(~fits.any(axis=0))[0])
            raise fail("patterns", name, "such that every neuron has one", describe(f"none of neuron {lost}"))
        owner = fits.argmax(axis=0)
    C, P, d = len(network.b2), patterns.shape[1], data.shape[1]
    coef, bias = np.zeros((2, C, P, d)), np.zeros((2, C, P))
    neuron, output = np.nonzero(network.w2)
    weight = network.w2[neuron, output]
    where = (np.where(weight > 0, 0, 1), output, owner[neuron])
    np.add.at(coef, where, np.abs(weight)[:, None] * network.W1[neuron])
    np.add.at(bias, where, np.abs(weight) * network.b1[neuron])
    return ReLUCoefficients(coef[0], coef[1], bias[0], bias[1], network.b2.copy()), patterns


def _require_relu(network: TwoLayerNetwork, owner: str) -> None:
    if network.gates is not None:
        raise fail("network", owner, "of ReLU neurons", describe("a gated network"))
