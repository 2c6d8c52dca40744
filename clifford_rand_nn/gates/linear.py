"""The gate that is always on: with it a gated network contains the linear model."""

import numpy as np

from clifford_rand_nn.gates.hyperplanes import Gates

__all__ = ["with_linear_gate"]


def with_linear_gate(gates: Gates) -> Gates:
    r"""Return the gates and, last, one with h = 0 and c = 1, which is on at every x.

    Its part of the network is :math:`x^TU`, the linear model, which the penalty charges like any other neuron: where
    nothing else pays, the optimum is a ridge-like linear fit. The result names no incident rows, as this gate has none.

    Examples
    --------
    >>> gates = with_linear_gate(Gates.given(np.array([[1.0]])))
    >>> gates.on(np.array([[-2.0], [3.0]])).astype(int).tolist()
    [[0, 1], [1, 1]]
    """
    directions = np.concatenate([gates.directions, np.zeros((gates.d, 1))], axis=1)
    return Gates.without_incidence(directions, np.append(gates.offsets, 1.0), gates.method)
