"""A network of two layers, ReLU or gated, as operations of a program, with what its training charges."""

from typing import Any

import numpy as np

from clifford_rand_nn.export.program import Value, apply, constant, matmul_t, maximum, roots, where


def two_layers(
    X: Value, network: Any, p: int = 2, feature: float | None = None, squared: bool = False
) -> tuple[Value, Value]:
    r"""Return the outputs (n, C) of a `TwoLayerNetwork`, and what beta weighs in the objective that it minimises.

    Of ReLU neurons :math:`\frac12\sum_j(||W_j||_p^2+||w_{2,j}||_2^2)`; of gated ones
    :math:`\sum_i|\alpha_i|\,||W_i||_F` over units, or with ``squared`` half the squares, where gates and amplitudes
    :math:`\alpha` are not trained, so that the problem is convex as it was. With a ``feature`` c biases are weights,
    over c.
    """
    gated = network.gates is not None
    W1, b1 = constant(network.W1, "W1", trained=True), constant(network.b1, "b1", trained=True)
    w2, b2 = constant(network.w2, "w2", trained=not gated), constant(network.b2, "b2", trained=True)
    inside = matmul_t(X, W1) + b1
    if gated:
        plane = X @ constant(network.gates.directions, "gates") + constant(network.gates.offsets, "gate_offsets")
        hidden = where(plane < 0.0, 0.0, inside).named("hidden")
    else:
        hidden = maximum(inside, 0.0).named("hidden")
    outputs = (hidden @ w2 + b2).named("outputs")
    ones = constant(np.ones(network.W1.shape[1]), "ones")
    if p == 1:
        sizes = apply("abs", W1) @ ones
        sizes = sizes if feature is None else sizes + apply("abs", b1) / feature
        squares = sizes * sizes
    else:
        squares = (W1 * W1) @ ones
        squares = squares if feature is None else squares + b1 * b1 / feature**2
    if not gated:
        return outputs, 0.5 * (apply("total", squares) + apply("total", w2 * w2))
    units = np.arange(len(network.b1)) if network.units is None else network.units
    _, first, unit = np.unique(units, return_index=True, return_inverse=True)
    amplitude = constant(np.linalg.norm(network.w2[first], axis=1), "amplitude")
    of_unit = constant(np.arange(first.size)[:, None] == unit, "of_unit") @ squares
    if squared:
        return outputs, 0.5 * apply("total", amplitude * amplitude * of_unit)
    return outputs, apply("total", amplitude * roots(of_unit))
