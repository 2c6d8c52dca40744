"""Candidates of gates: costs of adding, removing and turning one."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from clifford_rand._typing import Array

_BLOCK = 256  # gates priced at a time: a few arrays of n numbers each
# Ten gates that climbed, added to 30 on text embeddings (n = 1500, d = 50), lowered the objective by 21 and 28 %
# (without and with biases), the ten best of 500 that did not by 11 and 21 %, ten at random by 7 and 14 %.
_STEPS = 20
_STRIDES = (0.5, 0.05)  # first and last step, in units of the plane's unit vector, falling geometrically
_SOFTNESS = 0.3  # width of the soft gate, in standard deviations of its margins: a quarter of the rows have a say
_SPANNED = 1e-10  # of a square: what a projection leaves of a column below this share is rounding


class GatePrices(NamedTuple):
    r"""Prices :math:`||X^TD\theta||_F/(n\beta)` (K,) of gates on their own, θ balanced on the gate if it brings a bias.

    Above 1 the gate lowers the objective, by the ``gain`` (K,) at least: of the step along the gradient, after the step
    in the gate's bias.
    """

    price: Array
    gain: Array


def price_gates(
    X: Array, patterns: NDArray[np.bool_], theta: Array, Q: Array, beta: float, curvature: float, bias: bool
) -> GatePrices:
    r"""Price gates that a model does not have.

    With θ minus the gradients of the losses (n times that of their mean) and κ a bound of their curvature, moving
    predictions by δ lowers the mean loss by at least :math:`(\theta\cdot\delta - \tfrac\kappa2||\delta||^2)/n`. A new
    gate D moves them in two steps, both refitted by the biases there are, :math:`M = I - QQ^T`:

    .. math:: \delta_b = m\,\frac{m^T\theta}{\kappa||m||^2},\ m = MD1\quad(\text{bias}),\qquad
              \delta_u = s\,M_DDXv,\ v = X^TDM_D\theta,

    where :math:`M_D` also projects off m. At the best s ≥ 0, less the penalty :math:`\beta s||v||`, the gain is

    .. math:: \frac1{2n\kappa}\left(\frac{||m^T\theta||^2}{||m||^2} +
              \frac{(||v||^2 - n\beta||v||)_+^2}{||M_DDXv||^2}\right).

    ``patterns`` (n, K). ``theta`` (n, C): with :math:`Q^T\theta = 0`. ``Q`` (n, q): orthonormal basis of what the
    biases there are span. ``bias``: whether a gate brings a bias of its own.
    """
    K = patterns.shape[1]
    price, gain = np.zeros(K), np.zeros(K)
    for first in range(0, K, _BLOCK):
        block = slice(first, first + _BLOCK)
        price[block], gain[block] = _prices(X, patterns[:, block].astype(np.float64), theta, Q, beta, curvature, bias)
    return GatePrices(price, gain)


def _prices(
    X: Array, D: Array, theta: Array, Q: Array, beta: float, curvature: float, bias: bool
) -> tuple[Array, Array]:
    n, C = theta.shape
    gain = np.zeros(D.shape[1])
    m = np.zeros_like(D)
    if bias:
        # m = M D 1 of unit length, or 0 where the biases there span it
        m = D - Q @ (Q.T @ D)
        lengths = np.linalg.norm(m, axis=0)
        m = np.where(lengths**2 > _SPANNED * D.sum(axis=0), m / np.where(lengths > 0, lengths, 1.0), 0.0)
        gain = np.sum((theta.T @ m) ** 2, axis=0)
    Dm = X.T @ (D * m) if bias else None
    V = []
    for c in range(C):
        v = X.T @ (D * theta[:, c : c + 1])
        # v = Xᵀ D M_D θ, an output at a time
        V.append(v if Dm is None else v - Dm * (theta[:, c] @ m))
    norms = np.sqrt(sum(np.sum(v * v, axis=0) for v in V))
    squares, whole = np.zeros_like(norms), np.zeros_like(norms)
    for v in V:
        z = D * (X @ v)
        # ||M_D D X v||² = ||D X v||² - ||Qᵀ D X v||² - (m·D X v)²
        whole += np.sum(z * z, axis=0)
        squares -= np.sum((Q.T @ z) ** 2, axis=0) + np.sum(m * z, axis=0) ** 2
    squares += whole
    # ||v||² - nβ||v||, which the step along v gains before its curvature
    rise = norms * np.maximum(norms - n * beta, 0)
    real = squares > _SPANNED * whole  # else the biases span the move, up to rounding, and it brings nothing
    gain = gain + np.where(real, rise**2 / np.where(real, squares, 1.0), 0.0)
    with np.errstate(over="ignore"):  # beside a beta that is next to nothing every price is beyond float64
        return norms / (n * beta), gain / (2 * n * curvature)


def removal_costs(
    X: Array,
    patterns: NDArray[np.bool_],
    weights: tuple[Array, Array],
    Q: Array,
    curvature: float,
    bias: bool,
    fit_intercept: bool,
) -> Array:
    r"""By how much an optimum rises at most if a gate goes, with its bias and its penalty, to second order in the loss.

    Without gate i the predictions lose :math:`h_i = D_i(XU_i + b_i)`, of which the other biases make up all but
    :math:`M_{-i}h_i`. At the optimum the slope of the loss along :math:`U_i` is its penalty, and the two cancel, which
    leaves :math:`\frac\kappa{2n}||M_{-i}h_i||^2`. Here :math:`||M_{-i}h||^2 = ||Mh||^2 + ||q_i^Th||^2` with q_i the
    unit vector in the span of the biases that is orthogonal to all but that of gate i: along row i of the
    pseudo-inverse of their columns, if these are independent.

    ``weights`` are U (C, P, d) and b (C, P), the columns of Q (n, q) an orthonormal basis of what the biases span.
    """
    D = patterns.astype(np.float64)
    n, P = D.shape
    own: Array = np.zeros((P, n))
    if bias:
        B = np.hstack([D, np.ones((n, 1))]) if fit_intercept else D
        # rows of the pseudo-inverse are orthogonal to the columns of all other biases
        own = np.asarray(np.linalg.pinv(B)[:P], dtype=np.float64)
        lengths = np.linalg.norm(own, axis=1, keepdims=True)
        own = own / np.where(lengths > 0, lengths, 1.0)
    total = np.zeros(P)
    for U, b in zip(*weights, strict=True):
        h = D * (X @ U.T + b)
        # ||Mh||² + (q_i·h)²
        total += np.sum(h * h, axis=0) - np.sum((Q.T @ h) ** 2, axis=0) + np.einsum("pn,np->p", own, h) ** 2
    return np.asarray(curvature / (2 * n) * total)


def climbed(X: Array, directions: Array, offsets: Array, theta: Array, bias: bool) -> tuple[Array, Array]:
    r"""Move hyperplanes (d, K), (K,) so that their gates have a higher price: gradient ascent on a soft gate.

    The sides :math:`1(z\ge0)` of the margins z = Xh + c become :math:`S = \mathrm{expit}(z/w)`, w a share of the spread
    of z, and :math:`||X_c^TS\theta||_F^2 + \bar s^2||S^T\theta||^2` climbs by steps of given length in (h, c) of unit
    norm; :math:`X_c` are the centered rows, :math:`\bar s` their root mean square, for a bias moves predictions like a
    feature of that size. Without a bias the rows are not centered and planes stay through 0. The offset of the last
    planes lies halfway between the two nearest rows.
    """
    mean = X.mean(axis=0) if bias else np.zeros(X.shape[1])
    size = float(np.linalg.norm(X - mean)) / np.sqrt(len(X))
    if size == 0:
        return directions, offsets
    A = (X - mean) / size
    if bias:
        A = np.hstack([A, np.ones((len(X), 1))])
    H = np.vstack([size * directions, offsets + mean @ directions]) if bias else directions
    H = H / np.linalg.norm(H, axis=0)
    K = H.shape[1]
    for stride in np.geomspace(*_STRIDES, _STEPS):
        for first in range(0, K, _BLOCK):
            block = slice(first, first + _BLOCK)
            h = H[:, block]
            Z = A @ h
            # S = expit(z / w), w a share of the spread of each margin
            width = np.maximum(_SOFTNESS * Z.std(axis=0), np.finfo(np.float64).tiny)
            S = expit(Z / width)
            pull = np.zeros_like(Z)
            for c in range(theta.shape[1]):
                t = theta[:, c : c + 1]
                pull += t * (A @ (A.T @ (S * t)))
            # chain rule through dS/dz = S (1 - S) / w; lengths of steps are given, so w drops out
            slope = A.T @ (pull * S * (1 - S))
            length = np.linalg.norm(slope, axis=0)
            h = h + slope * (stride / np.where(length > 0, length, 1.0))
            H[:, block] = h / np.linalg.norm(h, axis=0)
    if not bias:
        return H, np.zeros(K)
    directions = H[:-1] / size
    return directions, _halfway(X @ directions, H[-1] - mean @ directions)


def _halfway(margins: Array, offsets: Array) -> Array:
    """Offsets that leave the nearest rows on both sides equally far: rounding then cannot move a row."""
    z = margins + offsets
    on = z >= 0
    above = np.where(on, z, np.inf).min(axis=0)
    below = np.where(on, -np.inf, z).max(axis=0)
    both = np.isfinite(above) & np.isfinite(below)
    # move the plane to the middle of the gap between the nearest rows
    return np.asarray(offsets - np.where(both, (np.where(both, above, 0.0) + np.where(both, below, 0.0)) / 2, 0.0))
