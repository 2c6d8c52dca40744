"""Penalties: value, prox and dual norm of a block of coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GroupL2"]

Array = NDArray[np.float64]

_NEWTON_STEPS = 50
_ROOT_TOL = 1e-8  # relative size of the last step, after which the error is about its square; 2 to 7 steps get there


class GroupL2:
    r"""Group lasso :math:`\beta\sum_i ||w\circ U_i||_F` over the gates of U (r, P, C), one group each over all outputs.

    The weights w (r,) belong to the coordinates: :math:`w\circ U_i` has the norm of the coefficients. Neighbours of
    equal weight are one level, so that what is done for every weight is done for few. Sums are in double precision for
    U of either.
    """

    def __init__(self, beta: float, weights: Array) -> None:
        self.beta = beta
        self.weights = weights
        steps = np.flatnonzero(np.diff(weights)) + 1
        self._starts = np.concatenate([np.zeros(min(1, weights.size), dtype=np.intp), steps])
        self._counts = np.diff(self._starts, append=weights.size)

    def norms(self, U: NDArray[Any]) -> Array:
        """Norm of each group's coefficients, (P,)."""
        return np.asarray(np.sqrt(self.weights[self._starts] ** 2 @ self._squares(U)))

    def value(self, U: NDArray[Any]) -> float:
        r"""Return :math:`\beta\sum_i||w\circ U_i||_F`."""
        return self.beta * float(self.norms(U).sum())

    def prox(self, U: NDArray[Any], step: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
        r"""Return the minimiser of :math:`\frac12||V-U||^2 + \beta\,step\sum_i||w\circ V_i||_F` over V.

        With :math:`\rho = \beta\,step` and :math:`h = w^{-2}`: :math:`V_i = 0` if :math:`||U_i/w||_F\le\rho`, else
        :math:`V_i = U_i\,h\tau/(h\tau+\rho)` where :math:`\tau = ||w\circ V_i||_F` solves
        :math:`\varphi(\tau) = \sum (U_i/w)^2/(h\tau+\rho)^2 = 1`. Newton on :math:`\varphi^{-1/2} = 1`, which is
        concave, climbs from 0 to the root (the secular equation of trust regions; Conn, Gould, Toint, section 7.3).

        It is written to ``out`` if given, which may be U.
        """
        radius, h = step * self.beta, self.weights[self._starts, None] ** -2.0
        squares = self._squares(U) * h
        active = np.flatnonzero(squares.sum(axis=0) > radius**2)
        squares, tau = squares[:, active], np.zeros(active.size)
        for _ in range(_NEWTON_STEPS):
            inverse = 1 / (h * tau + radius)
            terms = squares * inverse * inverse
            phi, slope = terms.sum(axis=0), (terms * (h * inverse)).sum(axis=0)  # half of minus the derivative
            rise = phi / slope * (np.sqrt(phi) - 1)
            tau += rise
            if (rise <= _ROOT_TOL * tau).all():
                break
        shrink = np.zeros((len(h), U.shape[1]), dtype=U.dtype)
        shrink[:, active] = h * tau / (h * tau + radius)
        return np.asarray(np.multiply(U, np.repeat(shrink, self._counts, axis=0)[:, :, None], out=out))

    def dual_norm(self, G: NDArray[Any]) -> float:
        r"""Return :math:`\max_i||G_i/w||_F`; the dual constraint is ``dual_norm <= beta``."""
        return float(np.sqrt((self.weights[self._starts] ** -2.0 @ self._squares(G)).max(initial=0.0)))

    def _squares(self, U: NDArray[Any]) -> Array:
        """Sum of squares over each level's coordinates and all outputs, (levels, P)."""
        r, P, C = U.shape
        squares = np.multiply(U, U, dtype=np.float64).reshape(r, P * C)
        return np.asarray(np.add.reduceat(squares, self._starts, axis=0).reshape(len(self._starts), P, C).sum(axis=2))
