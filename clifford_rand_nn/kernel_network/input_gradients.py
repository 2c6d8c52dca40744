"""Gradients of a kernel network with respect to its inputs, row by row."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.arccos import arc_inplace
from clifford_rand_nn.kernel_network.kernel import GateKernel
from clifford_rand_nn.kernel_network.metric.kernel_derivative import turning_inplace

_BLOCK = 2**22  # entries of a block of the kernel matrix: 32 MB


class KernelSlopes(NamedTuple):
    r"""The linear functions :math:`f_c(x)=\mathrm{constant}_c+\mathrm{columns}_c\cdot x` that hold at some rows.

    ``columns`` (m, C, d): the gradient by the columns, as the kernel takes them. ``constant`` (m, C): what the constant
    feature gives, c times the gradient by it; without the intercept.
    """

    columns: Array
    constant: Array


def kernel_slopes(
    kernel: GateKernel, rows: NDArray[np.floating], alpha: Array, at: NDArray[np.floating]
) -> KernelSlopes:
    r"""Return the gradients of :math:`f_c(x)=\sum_j\alpha_{jc}K(x,x_j)` at rows ``at`` (m, d).

    The formula is that of `gradient_outer_product`. As :math:`K(sz,z')=sK(z,z')` for s > 0, Euler's identity makes f
    the sum of its slopes: :math:`f_c(x)=\nabla_zf_c\cdot z`, exactly, for the features z of x. Where x is parallel to a
    row of the network the kernel has a kink; the mean of the slopes on its two sides is taken, for which this holds.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0], [0.0, 2.0]])
    >>> found = kernel_slopes(GateKernel(), X, np.ones((2, 1)), np.array([[3.0, 0.5]]))
    >>> f = GateKernel()(np.array([[3.0, 0.5]]), X).sum()
    >>> bool(abs(found.columns[0, 0] @ [3.0, 0.5] - f) < 1e-14)
    True
    """
    z = np.asarray(kernel.features(rows), dtype=np.float64)
    points = np.asarray(kernel.features(at), dtype=np.float64)
    A = kernel.angle
    a, b = (z, points) if A is None else (z @ A, points @ A)
    turned, back = (a, b) if A is None else (a @ A.T, b @ A.T)
    lengths = np.linalg.norm(a, axis=1)
    inverse = _inverse(lengths)
    same = 1 - 32 * np.finfo(np.float64).eps
    found = np.empty((len(points), alpha.shape[1], z.shape[1]))
    step = max(1, _BLOCK // len(z))
    for start in range(0, len(points), step):
        part = slice(start, start + step)
        turn = points[part] @ z.T
        cosines = b[part] @ a.T
        own = np.linalg.norm(b[part], axis=1)
        over = _inverse(own)
        share = np.ones_like(turn)
        arc_inplace(share, cosines, own, lengths)
        turning_inplace(turn, cosines, over, inverse, same)
        turn *= over[:, None]
        cosines *= turn
        turn *= inverse
        along = -(cosines @ alpha) * over[:, None]
        for c, coefficients in enumerate(alpha.T):
            found[part, c] = share @ (coefficients[:, None] * z) + turn @ (coefficients[:, None] * turned)
            found[part, c] += along[:, c, None] * back[part]
    constant = np.zeros(found.shape[:2])
    if kernel.bias:
        constant = kernel.bias * found[:, :, -1]
        found = found[:, :, :-1]
    return KernelSlopes(found if kernel.frame is None else found @ kernel.frame.T, constant)


def _inverse(lengths: Array) -> Array:
    """Return one over each length; 0 for a row of zeros, which has no angle."""
    return np.asarray(np.divide(1.0, lengths, out=np.zeros_like(lengths), where=lengths > 0))
