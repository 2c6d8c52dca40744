"""Hyperplanes of linear models of the targets, from both sides."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from clifford_rand._typing import Array
from clifford_rand_nn.gates.hyperplanes import Gates, joined_gates
from clifford_rand_nn.neurons import Neurons

_SHARES = (0.1,)  # of the mean variance of the columns: the weight of the squares
_CLEAR = 1e-9  # of |x||w| + |c|: nearer rows have no side, and w of this share of what it could be is rounding


def fitted_gates(
    X: Array, targets: Array, bias: bool, weights: Array | None = None, shares: Sequence[float] = _SHARES
) -> Gates:
    r"""Gates (w, c) and (-w, -c) of linear least-squares fits of every output, up to 2C of them for each share.

    .. math:: \min_{w,t}\ \sum_i\omega_i(w\cdot x_i+t-y_i)^2+\lambda\sum_i\omega_i\,||w||^2,\qquad c=-w\cdot\bar x,

    for X (n, d), targets (n, C) and weights :math:`\omega` (n,), :math:`\lambda` a share, one tenth, of the mean
    variance of the columns: planes through the mean row, or the origin, and t = 0, without bias. As :math:`z =
    (z)_+-(-z)_+`, ReLU neurons of two patterns make this linear model. A plane without a direction, or through a row,
    is left out.
    """
    d = X.shape[1]
    share = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    mean, level = (share @ X, share @ targets) if bias else (np.zeros(d), np.zeros(targets.shape[1]))
    Z, T = X - mean, targets - level
    C = Z.T @ (share[:, None] * Z)
    size = float(np.trace(C)) / d
    if size == 0:
        return Gates.without_incidence(np.zeros((d, 0)), np.zeros(0), "fitted")
    towards = Z.T @ (share[:, None] * T)
    W = np.hstack([np.linalg.solve(C + s * size * np.eye(d), towards) for s in shares])
    return planes_of(X, W, bias, weights, np.tile(np.sqrt(share @ T**2), len(shares)))


def planes_of(
    X: Array, W: Array, bias: bool, weights: Array | None = None, spread: Array | float | None = None
) -> Gates:
    """Gates (w, c) and (-w, -c) of the columns w of W (d, C), through the mean row or, without bias, the origin.

    A plane through a row is left out, and one whose w changes predictions by a rounding of the ``spread`` of targets.
    """
    d = X.shape[1]
    share = np.full(len(X), 1.0 / len(X)) if weights is None else weights / weights.sum()
    mean = share @ X if bias else np.zeros(d)
    size = float(share @ ((X - mean) ** 2).sum(axis=1)) / d
    c = -mean @ W
    lengths = np.linalg.norm(W, axis=0)
    least = lengths.max(initial=0.0) * np.sqrt(size) if spread is None else spread
    some = lengths * np.sqrt(size) > _CLEAR * least
    near = np.linalg.norm(X, axis=1)[:, None] * lengths + np.abs(c)
    exact = (near == 0) & (not bias)  # a row 0 is on a central plane, however it is summed
    some &= ((np.abs(X @ W + c) > _CLEAR * near) | exact).all(axis=0)
    W, c = W[:, some], c[some]
    return Gates.without_incidence(np.hstack([W, -W]), np.concatenate([c, -c]), "fitted")


def fitted_neurons(gates: Gates, p: int, feature: float | None, bias: bool, k: int) -> Neurons:
    r"""Neurons :math:`(v\cdot x+b)_+` of gates, :math:`||v||_p=1`; no rows span them, which k times -1 stands for.

    With a ``feature`` c they are of the rows [X c], the offset over c among the weights; else b is there with ``bias``.
    """
    V, b = gates.directions, gates.offsets
    if feature is not None:
        V = np.vstack([V, b / feature])
    lengths = np.linalg.norm(V, ord=p, axis=0)
    offsets = b / lengths if bias and feature is None else np.zeros(len(gates))
    return Neurons(np.ascontiguousarray(V / lengths), offsets, np.full((len(gates), k), -1, dtype=np.intp))


def with_fitted(gates: Gates, fitted: Gates) -> Gates:
    """Return the fitted gates and, after them, the others with what is known of them; their incident rows are -1."""
    return replace(joined_gates([fitted, gates], known=gates), method="fitted")
