"""Penalties: value, prox and dual norm of a block of coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GroupL2"]

Array = NDArray[np.float64]

_NEWTON_STEPS = 50
_ROOT_TOL = 1e-14  # relative; Newton's method gets there in 2 to 8 steps


class GroupL2:
    r"""Group lasso :math:`\beta\sum_i ||w\circ U_i||_F` over the gates of U (r, P, C), one group each over all outputs.

    The weights w (r,) belong to the coordinates: :math:`w\circ U_i` has the norm of the coefficients.
    """

    def __init__(self, beta: float, weights: Array) -> None:
        self.beta = beta
        self.weights = weights

    def norms(self, U: NDArray[Any]) -> Array:
        """Norm of each group's coefficients, (P,)."""
        return np.asarray(np.sqrt(np.einsum("r,rpc,rpc->p", self.weights**2, U, U)))

    def value(self, U: NDArray[Any]) -> float:
        r"""Return :math:`\beta\sum_i||w\circ U_i||_F`."""
        return self.beta * float(self.norms(U).sum())

    def prox(self, U: NDArray[Any], step: float) -> Array:
        r"""Return the minimiser of :math:`\frac12||V-U||^2 + \beta\,step\sum_i||w\circ V_i||_F` over V.

        With :math:`\rho = \beta\,step` and :math:`h = w^{-2}`: :math:`V_i = 0` if :math:`||U_i/w||_F\le\rho`, else
        :math:`V_i = U_i\,h\tau/(h\tau+\rho)` where :math:`\tau = ||w\circ V_i||_F` solves
        :math:`\varphi(\tau) = \sum (U_i/w)^2/(h\tau+\rho)^2 = 1`. Newton on :math:`\varphi^{-1/2} = 1`, which is
        concave, climbs from 0 to the root (the secular equation of trust regions; Conn, Gould, Toint, section 7.3).
        """
        radius, h = step * self.beta, self.weights[:, None] ** -2.0
        squares = np.einsum("rpc,rpc->rp", U, U) * h
        active = np.flatnonzero(squares.sum(axis=0) > radius**2)
        squares, tau = squares[:, active], np.zeros(active.size)
        for _ in range(_NEWTON_STEPS):
            inverse = 1 / (h * tau + radius)
            terms = squares * inverse**2
            phi, slope = terms.sum(axis=0), -2 * (terms * h * inverse).sum(axis=0)
            rise = 2 * phi / slope * (1 - np.sqrt(phi))
            tau = tau + rise
            if np.all(rise <= _ROOT_TOL * tau):
                break
        out = np.zeros_like(U)
        out[:, active] = U[:, active] * (h * tau / (h * tau + radius))[:, :, None]
        return out

    def dual_norm(self, G: NDArray[Any]) -> float:
        r"""Return :math:`\max_i||G_i/w||_F`; the dual constraint is ``dual_norm <= beta``."""
        return float(np.sqrt(np.einsum("r,rpc,rpc->p", self.weights**-2.0, G, G)).max(initial=0.0))
