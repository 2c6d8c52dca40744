"""Average gradient outer product (AGOP) of a fitted network, in closed form."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_real, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.arccos import slope_factors
from clifford_rand_nn.kernel_network.kernel_problem import GateKernel

_BLOCK = 2**19  # entries of a block of the kernel matrix: 4 MB, within a cache
_COLUMNS = 512  # of a product with the kernel matrix, which is read once for all of them


def gradient_outer_product(
    kernel: GateKernel, X: ArrayLike, alpha: ArrayLike, rows: ArrayLike | None = None, weights: ArrayLike | None = None
) -> Array:
    r"""Return :math:`M = \frac1m\sum_{i\le m}\omega_i\sum_c\nabla f_c(x_i)\,\nabla f_c(x_i)^T`, (d, d).

    With z the features of the kernel, a = Aᵀz (z itself without A) and :math:`\kappa = (\pi-\theta)/(2\pi)`,

    .. math:: f_c(x) = \sum_j\alpha_{jc}K(x, x_j),\qquad \nabla_zK(z, z') = \kappa z' + \frac{z\cdot z'}{2\pi\sin\theta}
              A\Big(\frac{a'}{|a||a'|} - \cos\theta\,\frac{a}{|a|^2}\Big),\qquad \nabla_x = F\,\nabla_z.

    Where rows are parallel, as a row is to itself, the kernel has a kink, and the second term, which changes sign
    there, is left out. With P the factors of :math:`z_j`, so that :math:`\nabla f_c(x_i)=\sum_jP_{ij}\alpha_{jc}z_j+…`,
    all outputs together are :math:`Z^T(P^TP\circ\alpha\alpha^T)Z+…`: whichever takes less work is done, that or one
    product with P for each output. No array is larger than n × n or m × d.

    ``X`` (n, d): rows of the fit, as the kernel takes them. ``alpha`` (n, C): coefficients of the fit. ``rows`` (m, d):
    where the gradients are taken; None for X. ``weights`` (m,): ω, with mean 1. Return value: in
    (units of f / units of x)².

    References
    ----------
    Radhakrishnan, Beaglehole, Pandit, Belkin, "Mechanism for feature learning in neural networks and backpropagation-
    free machine learning models", Science 383 (2024), eq. 2: the average gradient outer product.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    >>> alpha = np.array([1.0, -1.0, 0.0, 0.0])  # f = x[0] / 2: one share of gates for x, the other for -x
    >>> gradient_outer_product(GateKernel(), X, alpha, rows=[[0.6, 0.8]]).round(6).tolist()
    [[0.25, 0.0], [0.0, 0.0]]
    """
    owner = "gradient_outer_product"
    z = kernel.features(X)
    coefficients = np.asarray(as_real(alpha, "alpha", owner), dtype=z.dtype)
    coefficients = coefficients[:, None] if coefficients.ndim == 1 else coefficients
    if coefficients.ndim != 2 or len(coefficients) != len(z):
        raise fail("alpha", owner, f"of shape ({len(z)}, C)", describe(f"shape {coefficients.shape}"))
    at = z if rows is None else kernel.features(rows)
    share = np.full(len(at), 1 / len(at))
    if weights is not None:
        share = share * as_real(weights, "weights", owner)
    slopes = Slopes(z, coefficients, kernel.angle)
    M = np.asarray(slopes.outer_product(at, np.sqrt(share).astype(z.dtype)), dtype=np.float64)
    if kernel.bias:
        M = M[:-1, :-1]
    if kernel.frame is not None:
        M = kernel.frame @ M @ kernel.frame.T
    return np.asarray((M + M.T) / 2)


class Slopes:
    r"""Slopes :math:`\nabla_zf_c` of :math:`f_c=\sum_j\alpha_{jc}K(\cdot,z_j)`, at features (m, r) of rows."""

    def __init__(self, z: NDArray[np.floating], alpha: NDArray[np.floating], angle: Array | None) -> None:
        self._z, self._alpha = z, alpha
        self._A = A = None if angle is None else angle.astype(z.dtype, copy=False)
        self._a = z if A is None else z @ A
        self._turned = z if A is None else self._a @ A.T  # A a' of each row
        self._lengths = np.linalg.norm(self._a, axis=1)

    def of_outputs(self, at: NDArray[np.floating]) -> Iterator[tuple[slice, slice, NDArray[np.floating]]]:
        """Yield some rows, some outputs and their slopes (k, c, r)."""
        each = max(1, _COLUMNS // self._z.shape[1])
        for part, share, turn, back, own in self._blocks(at):
            for c in range(0, self._alpha.shape[1], each):
                taken = slice(c, c + each)
                slopes = share @ self._times(self._z, taken)
                if self._A is not None:
                    slopes += turn @ self._times(self._turned, taken)
                yield part, taken, slopes.reshape(len(own), -1, own.shape[1]) + back[:, taken, None] * own[:, None, :]

    def outer_product(self, at: NDArray[np.floating], root: NDArray[np.floating]) -> NDArray[np.floating]:
        """Return the sum (r, r) of outer products of slopes, each with the square of its row's ``root`` as a weight."""
        z, alpha, (n, r) = self._z, self._alpha, self._z.shape
        outer = np.zeros((r, r), dtype=z.dtype)
        if self._A is not None or n + 2 * r >= 2 * alpha.shape[1] * r:
            for part, _, slopes in self.of_outputs(at):
                slopes *= root[part, None, None]
                slopes = slopes.reshape(-1, r)
                outer += slopes.T @ slopes
            return outer
        pairs = np.zeros((n, n), dtype=z.dtype)  # PᵀP, which takes less work of many outputs
        for part, share, _, back, own in self._blocks(at):
            share *= root[part, None]
            back *= root[part, None]
            pairs += share.T @ share
            share *= back @ alpha.T
            mixed = (share @ z).T @ own
            outer += mixed + mixed.T + (own * np.einsum("ic,ic->i", back, back)[:, None]).T @ own
        return np.asarray(outer + z.T @ ((pairs * (alpha @ alpha.T)) @ z))

    def _blocks(self, at: NDArray[np.floating]) -> Iterator[tuple[slice, Any, Any, Any, Any]]:
        """Yield some rows with factors (k, n) of z and of A a', added up without A, and (k, C) of own A a (k, r)."""
        A, size = self._A, max(1, _BLOCK // len(self._z))
        for part in (slice(start, start + size) for start in range(0, len(at), size)):
            turn = at[part] @ self._z.T
            a = at[part] if A is None else at[part] @ A
            cosines = turn.copy() if A is None else a @ self._a.T
            share, inverse = slope_factors(turn, cosines, np.linalg.norm(a, axis=1), self._lengths)
            if A is None:
                share += turn
            yield part, share, turn, (cosines @ self._alpha) * -inverse[:, None], a if A is None else a @ A.T

    def _times(self, rows: NDArray[np.floating], taken: slice) -> NDArray[np.floating]:
        """Return rows (n, r) times alpha of some outputs, side by side."""
        return (self._alpha[:, taken, None] * rows[:, None, :]).reshape(len(rows), -1)
