"""Average gradient outer product (AGOP) of a fitted network, in closed form."""

from collections.abc import Iterator

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
    A = None if kernel.angle is None else kernel.angle.astype(z.dtype, copy=False)
    total = _Sum(z, coefficients, A)
    for part in _blocks(len(at), len(z)):
        total.add(at[part], np.sqrt(share[part]).astype(z.dtype))
    M = np.asarray(total.total(), dtype=np.float64)
    if kernel.bias:
        M = M[:-1, :-1]
    if kernel.frame is not None:
        M = kernel.frame @ M @ kernel.frame.T
    return np.asarray((M + M.T) / 2)


def _blocks(m: int, n: int) -> Iterator[slice]:
    size = max(1, _BLOCK // n)
    return (slice(start, start + size) for start in range(0, m, size))


class _Sum:
    """The sum over rows, a block of rows at a time, in the coordinates of the features."""

    def __init__(self, z: NDArray[np.floating], alpha: NDArray[np.floating], A: NDArray[np.floating] | None) -> None:
        self.z, self.alpha, self.A = z, alpha, A
        self.a = z if A is None else z @ A
        self.turned = z if A is None else self.a @ A.T  # A a' of each row
        self.lengths = np.linalg.norm(self.a, axis=1)
        self.outer = np.zeros((z.shape[1],) * 2, dtype=z.dtype)
        self.pairs: NDArray[np.floating] | None = None  # P'P, where that takes less work
        n, r = z.shape
        if A is None and n + 2 * r < 2 * alpha.shape[1] * r:
            self.pairs = np.zeros((n, n), dtype=z.dtype)

    def add(self, at: NDArray[np.floating], root: NDArray[np.floating]) -> None:
        """Add the rows ``at`` (m, r), each with the square of its ``root`` as a weight."""
        turn = at @ self.z.T
        a = at if self.A is None else at @ self.A
        cosines = turn.copy() if self.A is None else a @ self.a.T
        share, inverse = slope_factors(turn, cosines, np.linalg.norm(a, axis=1), self.lengths)
        back = (cosines @ self.alpha) * -(root * inverse)[:, None]
        turn *= root[:, None]
        share *= root[:, None]
        self._join(share, turn, back, a if self.A is None else a @ self.A.T)

    def _join(
        self,
        share: NDArray[np.floating],
        turn: NDArray[np.floating],
        back: NDArray[np.floating],
        a: NDArray[np.floating],
    ) -> None:
        """Add gradients: share (m, n) of z, turn (m, n) of A a', back (m, C) of the row's own a (m, r)."""
        if self.A is None:
            share += turn
        if self.pairs is None:
            each = max(1, _COLUMNS // self.z.shape[1])
            for c in range(0, self.alpha.shape[1], each):
                taken = slice(c, c + each)
                gradient = share @ self._times(self.z, taken)
                if self.A is not None:
                    gradient += turn @ self._times(self.turned, taken)
                gradients = gradient.reshape(len(a), -1, a.shape[1]) + back[:, taken, None] * a[:, None, :]
                gradients = gradients.reshape(-1, a.shape[1])
                self.outer += gradients.T @ gradients
            return
        self.pairs += share.T @ share
        share *= back @ self.alpha.T
        mixed = (share @ self.z).T @ a
        self.outer += mixed + mixed.T + (a * np.einsum("ic,ic->i", back, back)[:, None]).T @ a

    def _times(self, rows: NDArray[np.floating], taken: slice) -> NDArray[np.floating]:
        """Return rows (n, r) times alpha of some outputs, side by side."""
        scaled = self.alpha[:, taken, None] * rows[:, None, :]
        return scaled.reshape(len(rows), -1)

    def total(self) -> NDArray[np.floating]:
        """Return the sum (r, r)."""
        if self.pairs is None:
            return self.outer
        return np.asarray(self.outer + self.z.T @ ((self.pairs * (self.alpha @ self.alpha.T)) @ self.z))
