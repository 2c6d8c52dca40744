r"""The linear system of a Newton step over a kernel matrix.

To minimize :math:`\frac1n\sum_i\omega_i\ell(f_i, y_i)+\frac\beta2||f||_K^2`, :math:`f=K\theta/\lambda+1t^T`, λ = nβ,
with Hessians W of the rows' weighted losses, a step takes the matrix

.. math:: B = (W^{-1}+K/\lambda)^{-1} = S\hat BS, \qquad SS\ \text{the diagonal of}\ W,

so that nothing is divided by a vanishing curvature, and, from which the intercepts T are eliminated,
:math:`\tilde B=\hat B-\hat BST(T^TS\hat BST)^{-1}T^TS\hat B`.

References
----------
Rasmussen, Williams, "Gaussian processes for machine learning" (2006), algorithms 3.1 and 3.3.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymm, dtrsm
from scipy.linalg.lapack import dpotrf, dpotri, dpotrs, spotrf, spotri, spotrs

from clifford_rand._typing import Array
from clifford_rand_nn.kernel_network.logistic.triangle import add_scaled, mirror, scaled_plus_identity

_LEAST_CURVATURE = 1e-10  # of a prediction 23 on the far side; below it 1 - h w is rounding
_MOST_IN_SINGLE = 1e4  # largest diagonal entry of a matrix, of least eigenvalue 1, that single precision serves


class NewtonSystem:
    r"""Solves with :math:`B`, and leaves rows out of it.

    Parameters
    ----------
    K : (n, n) array in C order
    mass : (n, C)
        The diagonals of W: :math:`\omega p(1-p)` of the logistic loss, :math:`\omega p_c` of the softmax, whose W is
        :math:`\omega(\mathrm{diag}(p)-pp^T)`.
    radius : float
        λ.
    store : (`layers`, n, n) array
        Memory, written over.

    Raises
    ------
    numpy.linalg.LinAlgError
        K is not positive semidefinite.
    """

    free: int  # intercepts; of a softmax the last output is the gauge

    def __init__(self, K: Any, mass: Array, radius: float, store: Any) -> None:
        self.roots = np.sqrt(np.maximum(mass, _LEAST_CURVATURE))
        self._store = store
        n, C = mass.shape
        for c in range(C):
            scaled_plus_identity(K, np.asarray(self.roots[:, c] / np.sqrt(radius), store.dtype), store[c])
            _cholesky(store[c])
        self._prepare()
        T = np.zeros((n, C, self.free))
        T[:, np.arange(self.free), np.arange(self.free)] = 1.0
        half = self._scaled(T)
        gram = np.einsum("nca,nc->ca", half, self.roots)[: self.free]
        self._corner = np.linalg.cholesky((gram + gram.T) / 2)
        self._border = solve_triangular(self._corner, half.reshape(n * C, -1).T, lower=True).T.reshape(n, C, -1)

    @staticmethod
    def layers(outputs: int) -> int:
        """Return how many matrices of order n the system takes."""
        raise NotImplementedError

    def _prepare(self) -> None:
        """Do what solving needs beside the factors."""

    def _scaled(self, b: Array) -> Array:
        r"""Return :math:`\hat BSb` for b (n, C, k)."""
        raise NotImplementedError

    def open(self) -> None:
        """Turn the factors into entries, for the methods below; `solve` is over then."""
        raise NotImplementedError

    def _block(self, rows: NDArray[np.intp]) -> Array:
        r"""Return :math:`\hat B` of these rows, (..., m, C, m, C) for rows (..., m); regular."""
        raise NotImplementedError

    def _spread(self, rows: NDArray[np.intp], starts: NDArray[np.intp], y: Array) -> Array:
        r"""Return :math:`\sum_{i\in g}\hat B_{ji}y_i`, (n, C, k), for k groups that begin at ``starts`` of ``rows``."""
        raise NotImplementedError

    def _gather(self, rows: NDArray[np.intp], of: NDArray[np.intp], T: Array) -> Array:
        r"""Return :math:`\sum_j\hat B_{ij}T_j`, (m, C), the i-th row with column ``of`` of T (n, C, k)."""
        raise NotImplementedError

    def solve(self, u: Array, sums: Array) -> tuple[Array, Array]:
        r"""Return :math:`x=B(u-1t^T)` (n, C), and t (C,) such that the columns of x sum to ``sums`` (C,)."""
        x = self._scaled(u[:, :, None])[:, :, 0]
        excess = (np.einsum("nc,nc->c", self.roots, x) - sums)[: self.free]
        half = solve_triangular(self._corner, excess, lower=True)
        t = np.zeros(len(sums))
        t[: self.free] = solve_triangular(self._corner, half, lower=True, trans=1)
        return self.roots * (x - self._border @ half), t

    def block(self, rows: NDArray[np.intp]) -> Array:
        r"""Return :math:`\tilde B` of these rows, (..., m, C, m, C) for rows (..., m).

        That of a softmax has 1 added on what it does not see, shifts of all outputs of a row, so that it is regular.
        """
        Z = self._border[rows]
        return np.asarray(self._block(rows) - np.einsum("...ica,...jda->...icjd", Z, Z))

    def spread(self, rows: NDArray[np.intp], starts: NDArray[np.intp], y: Array) -> Array:
        r"""Return :math:`\sum_{i\in g}\tilde B_{ji}y_i`, (n, C, k), for k groups, ``starts`` in ``rows``."""
        Z = self._border
        sums = np.add.reduceat(np.einsum("mca,mc->ma", Z[rows], y), starts)
        return np.asarray(self._spread(rows, starts, y) - np.einsum("nca,ka->nck", Z, sums))

    def gather(self, rows: NDArray[np.intp], of: NDArray[np.intp], T: Array) -> Array:
        r"""Return :math:`\sum_j\tilde B_{ij}T_j`, (m, C), the i-th row with column ``of`` of T (n, C, k)."""
        Z = self._border
        sums = np.einsum("nca,nck->ka", Z, T)
        return np.asarray(self._gather(rows, of, T) - np.einsum("mca,ma->mc", Z[rows], sums[of]))


class LogisticSystem(NewtonSystem):
    r""":math:`\hat B=(I+SKS/\lambda)^{-1}`: one factor, and one inverse; K and store may be in single precision."""

    free = 1

    @classmethod
    def in_single(cls, K: Any, store: Any, mass: Array, radius: float) -> "LogisticSystem | None":
        """Return the system in single precision, if the matrix allows it."""
        largest = float((mass[:, 0] * K.diagonal()).max()) / radius
        return cls(K, mass, radius, store) if largest < _MOST_IN_SINGLE else None

    @staticmethod
    def layers(outputs: int) -> int:
        """Return 1."""
        return 1

    def _scaled(self, b: Array) -> Array:
        M = self._store[0]
        potrs = spotrs if M.dtype == np.float32 else dpotrs
        x, _ = potrs(M.T, np.asarray(self.roots * b[:, 0], M.dtype), lower=1)
        return np.asarray(x, np.float64)[:, None]

    def open(self) -> None:
        """Invert."""
        M = self._store[0]
        (spotri if M.dtype == np.float32 else dpotri)(M.T, lower=1, overwrite_c=1)
        mirror(M)

    def _block(self, rows: NDArray[np.intp]) -> Array:
        return np.asarray(self._store[0][rows[..., :, None], rows[..., None, :]][..., :, None, :, None])

    def _spread(self, rows: NDArray[np.intp], starts: NDArray[np.intp], y: Array) -> Array:
        return np.asarray(np.add.reduceat(self._store[0][rows] * y, starts).T[:, None])

    def _gather(self, rows: NDArray[np.intp], of: NDArray[np.intp], T: Array) -> Array:
        return np.asarray(np.einsum("mn,mn->m", self._store[0][rows], T[:, 0].T[of])[:, None])


class SoftmaxSystem(NewtonSystem):
    r"""Solve and leave out with :math:`\hat B_{cc'}=\delta_{cc'}M_c^{-1}-V_c^TV_{c'}`: C + 1 factors and C inverses.

    Here :math:`M_c=I+S_cKS_c/\lambda` and :math:`V_c=L^{-1}S_cM_c^{-1}`, :math:`LL^T=\sum_cS_cM_c^{-1}S_c`.
    """

    def __init__(self, K: Array, mass: Array, radius: float, store: Array) -> None:
        C = mass.shape[1]
        self.free = C - 1
        self._inverses, self._V, self._total = store[:C], store[C:-1], store[-1]
        super().__init__(K, mass, radius, store)

    @staticmethod
    def layers(outputs: int) -> int:
        """Return 2C + 1."""
        return 2 * outputs + 1

    def _prepare(self) -> None:
        self._total[:] = 0.0
        for c, M in enumerate(self._inverses):
            dpotri(M.T, lower=1, overwrite_c=1)
            add_scaled(M, self.roots[:, c], self._total)
        _cholesky(self._total)

    def _scaled(self, b: Array) -> Array:
        x = self._each(b)
        nu, _ = dpotrs(self._total.T, np.einsum("nc,nck->nk", self.roots, x), lower=1)
        return x - self._each(np.broadcast_to(nu[:, None], b.shape))

    def _each(self, b: Array) -> Array:
        """Return :math:`M_c^{-1}S_cb_c` for every output."""
        out = np.empty(b.shape)
        for c, M in enumerate(self._inverses):
            out[:, c] = dsymm(1.0, M.T, np.asfortranarray(self.roots[:, c, None] * b[:, c]), lower=1)
        return out

    def open(self) -> None:
        """Write the inverses' lower triangles, and V."""
        self._null = self.roots / np.linalg.norm(self.roots, axis=1, keepdims=True)
        for c, (M, V) in enumerate(zip(self._inverses, self._V, strict=True)):
            mirror(M)
            np.multiply(M, self.roots[:, c], out=V)  # a row for each column of V_c
            dtrsm(1.0, self._total.T, V.T, lower=1, overwrite_b=1)

    def _block(self, rows: NDArray[np.intp]) -> Array:
        *outer, m = rows.shape
        V, q, C = np.moveaxis(self._V[:, rows], 0, -2), self._null[rows], len(self._V)
        V = V.reshape(*outer, m * C, -1)
        B = -(V @ np.swapaxes(V, -1, -2)).reshape(*outer, m, C, m, C)
        for c, M in enumerate(self._inverses):
            B[..., :, c, :, c] += M[rows[..., :, None], rows[..., None, :]]
        for i in range(m):
            B[..., i, :, i, :] += q[..., i, :, None] * q[..., i, None, :]
        return B

    def _spread(self, rows: NDArray[np.intp], starts: NDArray[np.intp], y: Array) -> Array:
        U = sum(V[rows] * y[:, c, None] for c, V in enumerate(self._V))
        U = np.add.reduceat(U, starts).T
        found = [
            np.add.reduceat(M[rows] * y[:, c, None], starts).T - V @ U
            for c, (M, V) in enumerate(zip(self._inverses, self._V, strict=True))
        ]
        return np.stack(found, axis=1)

    def _gather(self, rows: NDArray[np.intp], of: NDArray[np.intp], T: Array) -> Array:
        P = sum(V.T @ T[:, c] for c, V in enumerate(self._V)).T[of]
        found = [
            np.einsum("mn,mn->m", M[rows], T[:, c].T[of]) - np.einsum("mn,mn->m", V[rows], P)
            for c, (M, V) in enumerate(zip(self._inverses, self._V, strict=True))
        ]
        return np.stack(found, axis=1)


def _cholesky(M: Any) -> None:
    """Factorize what is in the upper triangle, in place."""
    _, info = (spotrf if M.dtype == np.float32 else dpotrf)(M.T, lower=1, clean=0, overwrite_a=1)
    if info:
        raise np.linalg.LinAlgError(f"the leading minor of order {info} is not positive")
