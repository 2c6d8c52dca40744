"""The curvature of a metric: Riemann's tensor, Ricci's, the scalar."""

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from clifford_rand.calculus.coordinates import Coordinates


def christoffel_first(chart: "Coordinates") -> NDArray[Any]:
    """Return Γ_kij = Σ_l g_kl Γ^l_ij at [k, i, j].

    Examples
    --------
    >>> import clifford_rand as cr
    >>> cr.Coordinates.named("polar").christoffel_first()[1]  # of theta
    array([[0, r],
           [r, 0]], dtype=object)
    """
    from clifford_rand.symbolic import simplified

    return simplified(np.einsum("kl,lij->kij", chart.gram, chart.christoffel), chart._simplify)


def riemann(chart: "Coordinates") -> NDArray[Any]:
    """Return R^k_lij = ∂_i Γ^k_jl - ∂_j Γ^k_il + Σ_m (Γ^k_im Γ^m_jl - Γ^k_jm Γ^m_il) at [k, l, i, j].

    (D_i D_j - D_j D_i) e_l = Σ_k R^k_lij e_k.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> bool(cr.Coordinates.named("polar").riemann().any())
    False
    """
    from clifford_rand.symbolic import derivative, simplified

    G = chart.christoffel
    slopes = np.stack([derivative(G, symbol) for symbol in chart.symbols])  # [i, k, j, l]
    first = np.einsum("ikjl->klij", slopes) + np.einsum("kim,mjl->klij", G, G)
    return simplified(first - np.swapaxes(first, 2, 3), chart._simplify)


def ricci(chart: "Coordinates") -> NDArray[Any]:
    """Return R_lj = Σ_k R^k_lkj.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> black_hole = cr.Coordinates("t r theta phi", metric=["1-2/r", "-1/(1-2/r)", "-r**2", "-r**2*sin(theta)**2"])
    >>> bool(black_hole.ricci().any())  # Schwarzschild's metric solves Einstein's equations without matter
    False
    """
    from clifford_rand.symbolic import simplified

    return simplified(np.einsum("klkj->lj", riemann(chart)), chart._simplify)


def scalar_curvature(chart: "Coordinates") -> Any:
    """Return Σ g^lj R_lj.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> cr.Coordinates.named("sphere").scalar_curvature()
    2/R**2
    """
    from clifford_rand.symbolic import simplified

    total = np.einsum("lj,lj->", chart._inverse_gram, ricci(chart))
    return simplified(np.array([total], dtype=object), chart._simplify)[0]


def is_flat(chart: "Coordinates") -> bool:
    """Tell whether Riemann's tensor is seen to be zero: covariant derivatives then commute.

    Examples
    --------
    >>> import clifford_rand as cr
    >>> cr.Coordinates.named("polar").is_flat(), cr.Coordinates.named("sphere").is_flat()
    (True, False)
    """
    if "_flat" not in chart.__dict__:
        from clifford_rand.symbolic import vanishes

        varies = np.any(chart.christoffel != 0)
        chart.__dict__["_flat"] = not varies or all(vanishes(value) for value in riemann(chart).ravel().tolist())
    return bool(chart.__dict__["_flat"])
