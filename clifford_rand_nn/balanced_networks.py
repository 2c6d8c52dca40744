"""Balanced two-layer networks of convex solutions, and convex variables of a network."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import as_rows, check_choice, check_squares, describe, fail
from clifford_rand_nn.gates.hyperplanes import Gates, distinct_columns
from clifford_rand_nn.networks import TwoLayerNetwork
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.problems.gated import Coefficients
from clifford_rand_nn.problems.relu import ReLUCoefficients

_ON_PLANE = 1e-12  # of |x| |w| + |b|: a row within it lies on the hyperplane, and its side is rounding


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
