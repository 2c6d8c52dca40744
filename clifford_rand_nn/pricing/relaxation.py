r"""An upper bound of the longest output of a cone, however many outputs there are: a semidefinite relaxation.

On the cone :math:`S^Tu\ge0` every product :math:`(s_i\cdot u)(s_j\cdot u)` is at least 0. So, with any symmetric
:math:`\Lambda\ge0` of zero diagonal and E the squares that the norm charges,

.. math:: \sup\{||M^Tu||^2:S^Tu\ge0,\ u^TEu\le1\}\le\lambda_{\max}(MM^T+S\Lambda S^T;\,E),

a generalised eigenvalue. The least such bound is the dual of :math:`\max\langle MM^T,W\rangle`, W positive
semidefinite, :math:`S^TWS\ge0` off its diagonal, :math:`\langle E,W\rangle = 1`. ADMM (Boyd et al., "Distributed
optimization and statistical learning via the alternating direction method of multipliers", 2011, section 5) solves
that for many cones at once: a step is one eigenvalue decomposition and one solve that the eigenvectors of
:math:`SS^T` make diagonal. Its multipliers, which are not negative, bound the supremum wherever it ends.
"""

import numpy as np
from numpy.typing import NDArray

from clifford_rand._blas import ONE_BLAS_THREAD
from clifford_rand._typing import Array

# On 30 chambers of 300 digits in 20 dimensions, ten classes, the largest bound was 1.88 times what was reached before,
# 1.18 after 200 steps, 1.12 after 400, 1.09 after 600; penalties of 0.1 to 0.3 are alike, 1 and 10 are worse.
_STEPS = 400
_PENALTY = 0.3
_OVER = 1.7  # over-relaxation
_CHECK_EVERY = 50
_ROUND = 1e-2  # least axis of the ellipsoid of neurons that becomes round, squared, of the largest; 1 ends at 5


@ONE_BLAS_THREAD
def relaxed_lengths(M: Array, S: Array, met: Array, charged: int, enough: Array) -> Array:
    """Return upper bounds (P,) of the longest outputs of P cones, inf where none is found.

    Parameters
    ----------
    M : (P, D, r)
        Outputs are Mᵀu.
    S : (P, D, K)
        Normals of some of the rows that bound each cone, zeros where there are fewer.
    met : (P, D, D)
        Second moments of points of each cone; in coordinates where they are alike the steps are short.
    charged : int
        The norm of u is that of its first coordinates; at most one, the offset, is left.
    enough : (P,)
        Lengths at which a bound need not fall further, above zero.
    """
    Q = M @ M.transpose(0, 2, 1) / enough[:, None, None] ** 2
    P, D, K = S.shape
    E = np.diag((np.arange(D) < charged).astype(float))
    sizes, axes = np.linalg.eigh(met / np.einsum("pii->p", met)[:, None, None])
    T = axes * np.sqrt(np.maximum(sizes, _ROUND * sizes[:, -1:]))[:, None, :]
    lengths = np.linalg.norm(T.transpose(0, 2, 1) @ S, axis=1)
    S = S / np.where(lengths > 0, lengths, 1.0)[:, None, :]
    best = _bounds(Q, S, np.zeros((P, K, K)), charged)
    live = np.flatnonzero(best > 1)
    back = T[live].transpose(0, 2, 1)
    state = _State(back @ S[live], back @ Q[live] @ T[live], back @ E @ T[live])
    for step in range(1, _STEPS + 1):
        if not len(live):
            break
        state.step()
        if step % _CHECK_EVERY == 0:
            best[live] = np.minimum(best[live], _bounds(Q[live], S[live], state.multipliers(), charged))
            left = best[live] > 1
            if not left.all():
                live = live[left]
                state.keep(left)
    return np.asarray(best * enough)


class _State:
    """Iterates of ADMM for cones S (P, D, K) and forms Q and E (P, D, D)."""

    def __init__(self, S: Array, Q: Array, E: Array) -> None:
        self.S, self.Q, self.E = S, Q / _PENALTY, E
        sizes, self.axes = np.linalg.eigh(S @ S.transpose(0, 2, 1))
        self.divisors = 1 + sizes[:, :, None] * sizes[:, None, :]
        P, D, K = S.shape
        self.Z = np.tile(np.eye(D), (P, 1, 1)) / np.einsum("pii->p", self.E)[:, None, None]
        self.U, self.Y, self.V = np.zeros((P, D, D)), np.zeros((P, K, K)), np.zeros((P, K, K))
        self.lift = self._solve(self.E)
        self.charge = np.einsum("pij,pij->p", self.E, self.lift)

    def _solve(self, R: Array) -> Array:
        """Return W with W + S Sᵀ W S Sᵀ = R."""
        axes = self.axes
        turned = axes.transpose(0, 2, 1) @ R @ axes
        return np.asarray(axes @ (turned / self.divisors) @ axes.transpose(0, 2, 1))

    def step(self) -> None:
        S = self.S
        W = self._solve(self.Z - self.U + S @ (self.Y - self.V) @ S.transpose(0, 2, 1) + self.Q)
        W -= ((np.einsum("pij,pij->p", self.E, W) - 1) / self.charge)[:, None, None] * self.lift
        moved = _OVER * W + (1 - _OVER) * self.Z + self.U
        values, vectors = np.linalg.eigh(moved)
        self.Z = (vectors * np.maximum(values, 0)[:, None, :]) @ vectors.transpose(0, 2, 1)
        self.U = moved - self.Z
        products = _OVER * (S.transpose(0, 2, 1) @ W @ S) + (1 - _OVER) * self.Y + self.V
        self.V = np.minimum(products, 0)
        diagonal = np.arange(S.shape[2])
        self.V[:, diagonal, diagonal] = 0  # squares bound nothing
        self.Y = products - self.V

    def multipliers(self) -> Array:
        return -_PENALTY * self.V

    def keep(self, left: NDArray[np.bool_]) -> None:
        """Go on with some of the cones."""
        for name, value in vars(self).items():
            setattr(self, name, value[left])


def _bounds(Q: Array, S: Array, multipliers: Array, charged: int) -> Array:
    """Roots of the eigenvalues: with an offset that is not charged, of what is left when the best one is taken."""
    N = Q + S @ multipliers @ S.transpose(0, 2, 1)
    A = N[:, :charged, :charged]
    found = np.ones(len(N), dtype=np.bool_)
    if charged < N.shape[1]:
        rest, side = N[:, charged:, :charged], -N[:, charged:, charged:]
        found = side[:, 0, 0] > 0
        A = A + rest.transpose(0, 2, 1) @ rest / np.where(found[:, None, None], side, 1.0)
    largest = np.linalg.eigvalsh(A)[:, -1]
    return np.where(found, np.sqrt(np.maximum(largest, 0.0)), np.inf)
