"""Distance of the finite dictionary of unit l2 cross products from the optimum, at most."""

import numpy as np
from scipy.optimize import nnls

from clifford_rand._checks import as_real, check_squares, describe, fail
from clifford_rand._typing import Array, ArrayLike
from clifford_rand_nn.dictionaries.dictionary import cross_product_dictionary
from clifford_rand_nn.gates.enumeration import enumerate_gates

_ON_CONE = 1e-9  # a ray is in a closed cone if it leaves it by no more than this share of |x|; rows within it are on


def bracket_factor(X: ArrayLike, *, max_patterns: int = 100_000) -> float:
    r"""Return Γ, by which the Lasso over unit l2 cross products of rows brackets the network's optimum; no bias.

    .. math:: \Gamma = \max_C\frac1{\min||\mathrm{conv}(\text{unit extreme rays of }C)||_2}

    over the chambers C of the rows of X. Every u in C is a sum of its rays with total weight at most
    :math:`\Gamma||u||`, so that, with L2 the optimum of the Lasso over the rows' cross products and NC that of the
    two-layer network with per-neuron l2 norms (or of column generation over all patterns),

    .. math:: L2(\beta/\Gamma)\le NC(\beta)\le L2(\beta)\le NC(\Gamma\beta)\le\Gamma\,NC(\beta).

    In the plane :math:`\Gamma = 1/\cos(\theta_{\max}/2)` with the widest chamber's angle.

    Parameters
    ----------
    X : (n, d) array
        Of rank d: otherwise chambers contain lines, which no rays span.
    max_patterns : int
        Chambers to enumerate at most.

    Returns
    -------
    float
        At least 1.

    Raises
    ------
    ArgumentError
        X is not of full column rank, or its chambers are too many.

    Examples
    --------
    >>> round(bracket_factor(np.eye(2)), 12)  # quadrants
    1.414213562373
    """
    owner = "bracket_factor"
    data = np.asarray(as_real(X, "X", owner), dtype=np.float64)
    check_squares(data, "X", owner)
    if data.ndim != 2 or 0 in data.shape or np.linalg.matrix_rank(data) < data.shape[1]:
        rule = "an (n, d) array of rank d"
        raise fail("X", owner, rule, describe(f"shape {data.shape}"), "Chambers of lower rank contain lines.")
    d = data.shape[1]
    if d == 1:
        return 1.0
    rays = cross_product_dictionary(data, "l2", bias=False).neurons().directions
    # a ray off everywhere has no column but bounds chambers all the same
    rays = np.unique(np.round(np.concatenate([rays, -rays], axis=1), 12), axis=1)
    rows = data[np.linalg.norm(data, axis=1) > 0]
    margins = rows @ rays / np.linalg.norm(rows, axis=1)[:, None]
    gates = enumerate_gates(rows, False, max_patterns=max_patterns).gates
    signs = np.sign(rows @ gates.directions)  # (n, P)
    worst = 1.0
    for s in signs.T:
        inside = rays[:, (s[:, None] * margins >= -_ON_CONE).all(axis=0)]
        worst = min(worst, _least_norm(inside))
    return 1.0 / worst


def _least_norm(rays: Array) -> float:
    r"""Norm of the shortest vector in the convex hull of the columns.

    The non-negative least squares solution of [R; 1ᵀ]λ = (0, 1) is a multiple of the weights of that vector, with
    residual :math:`||R\lambda||^2+(1-1^T\lambda)^2 = \mu^2/(1+\mu^2)` at the shortest length µ.
    """
    system = np.vstack([rays, np.ones(rays.shape[1])])
    weights, _ = nnls(system, np.append(np.zeros(len(rays)), 1.0))
    return float(np.linalg.norm(rays @ weights) / weights.sum())
