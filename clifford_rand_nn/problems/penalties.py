"""Penalties: value, prox and dual norm of a block of coefficients."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["GroupL2"]


class GroupL2:
    r"""Group lasso :math:`\beta\sum_i ||U_i||_F` over the gates of U (d, P, C), one group each over all outputs."""

    def __init__(self, beta: float) -> None:
        self.beta = beta

    @staticmethod
    def norms(U: NDArray[Any]) -> NDArray[Any]:
        """Norm of each group, (P,)."""
        return np.asarray(np.sqrt(np.einsum("dpc,dpc->p", U, U)))

    def value(self, U: NDArray[Any]) -> float:
        r"""Return :math:`\beta\sum_i||U_i||_F`."""
        return self.beta * float(self.norms(U).sum())

    def prox(self, U: NDArray[Any], step: float) -> NDArray[Any]:
        r"""Shrink each group: :math:`U_i (1 - \beta\,step/||U_i||_F)_+`."""
        norms, radius = self.norms(U), step * self.beta
        shrink = np.where(norms > radius, 1 - radius / np.maximum(norms, radius), 0)
        return np.asarray(U * shrink[:, None])

    def dual_norm(self, G: NDArray[Any]) -> float:
        r"""Return :math:`\max_i||G_i||_F`; the dual constraint is ``dual_norm <= beta``."""
        return float(self.norms(G).max(initial=0.0))
