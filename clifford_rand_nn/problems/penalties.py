"""Penalties: value and prox of a block of coefficients, and the dual norm of a norm."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.functions import library, peak

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
        self.level_weights = weights[self._starts]
        self.levels = [slice(a, a + size) for a, size in zip(self._starts, self._counts, strict=True)]

    def norms(self, U: Any) -> Any:
        """Norm of each group's coefficients, (P,)."""
        return (self.level_weights**2 @ self._squares(U)) ** 0.5

    def value(self, U: Any) -> float:
        r"""Return :math:`\beta\sum_i||w\circ U_i||_F`."""
        return self.beta * float(library(U).sum(self.norms(U)))

    def prox(self, U: NDArray[Any], step: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
        r"""Return the minimiser of :math:`\frac12||V-U||^2 + \beta\,step\sum_i||w\circ V_i||_F` over V.

        With :math:`\rho = \beta\,step` and :math:`h = w^{-2}`: :math:`V_i = 0` if :math:`||U_i/w||_F\le\rho`, else
        :math:`V_i = U_i\,h\tau/(h\tau+\rho)` where :math:`\tau = ||w\circ V_i||_F` solves
        :math:`\varphi(\tau) = \sum (U_i/w)^2/(h\tau+\rho)^2 = 1`. Newton on :math:`\varphi^{-1/2} = 1`, which is
        concave, climbs from 0 to the root (the secular equation of trust regions; Conn, Gould, Toint, section 7.3).

        It is written to ``out`` if given, which may be U.
        """
        active, _, factors = self.shrinkage(self._squares(U), step)
        shrink = np.zeros((len(factors), U.shape[1]), dtype=U.dtype)
        shrink[:, active] = factors
        return np.asarray(np.multiply(U, self.spread(shrink)[:, :, None], out=out))

    def shrinkage(self, squares: Array, step: float) -> tuple[NDArray[np.intp], Array, Array]:
        r"""Return what `prox` does, from the sums of squares (levels, P) over each level's coordinates and all outputs.

        That is the indices of the A gates that stay active, their :math:`\tau` (A,), and the factors (levels, A).
        """
        radius, h = step * self.beta, self.level_weights[:, None] ** -2.0
        squares = squares * h
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
        return active, tau, h * tau / (h * tau + radius)

    def spread(self, levels: NDArray[Any]) -> NDArray[Any]:
        """Repeat what is given for each level, along the first axis, for each of its coordinates."""
        return np.repeat(levels, self._counts, axis=0)

    def dual_norm(self, G: Any) -> float:
        r"""Return :math:`\max_i||G_i/w||_F`; the dual constraint is ``dual_norm <= beta``."""
        return float(peak(self.level_weights**-2.0 @ self._squares(G)) ** 0.5)

    def _squares(self, U: NDArray[Any]) -> Array:
        """Sum of squares over each level's coordinates and all outputs, (levels, P)."""
        r, P, C = U.shape
        squares = np.multiply(U, U, dtype=np.float64).reshape(r, P * C)
        return np.asarray(np.add.reduceat(squares, self._starts, axis=0).reshape(len(self._starts), P, C).sum(axis=2))


class Ridge:
    r"""Half the squares, :math:`\frac\beta2\sum_i||w\circ U_i||_F^2`, of U (r, P, C); weights w as in `GroupL2`."""

    def __init__(self, beta: float, weights: Array) -> None:
        self.beta = beta
        self.weights = weights

    def value(self, U: NDArray[Any]) -> float:
        r"""Return :math:`\frac\beta2\sum_i||w\circ U_i||_F^2`."""
        squares = np.einsum("rpc,rpc->r", U, U, dtype=np.float64)
        return 0.5 * self.beta * float(self.weights**2 @ squares)

    def prox(self, U: NDArray[Any], step: float, out: NDArray[Any] | None = None) -> NDArray[Any]:
        r"""Return :math:`U/(1+\beta\,step\,w^2)`; it is written to ``out`` if given, which may be U."""
        factors = (1 / (1 + self.beta * step * self.weights**2)).astype(U.dtype)
        return np.asarray(np.multiply(U, factors[:, None, None], out=out))
