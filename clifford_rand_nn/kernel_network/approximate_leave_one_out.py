r"""Approximate leave-one-out predictions, from the linear system of the last Newton step.

To minimise :math:`\frac1n\sum_i\omega_i\ell(f_i, y_i)+\frac\beta2||f||_K^2`, :math:`f=K\theta/\lambda+1t^T`, λ = nβ,
with Hessians W of the rows' weighted losses, a step takes the matrix

.. math:: B = (W^{-1}+K/\lambda)^{-1} = S\hat BS, \qquad SS\ \text{the diagonal of}\ W,

and, from which the intercepts T are eliminated,
:math:`\tilde B=\hat B-\hat BST(T^TS\hat BST)^{-1}T^TS\hat B`.

References: Rasmussen, Williams, "Gaussian processes for machine learning" (2006), algorithms 3.1 and 3.3.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve, solve_triangular
from scipy.linalg.lapack import dpotri, spotri

from clifford_rand._typing import Array
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.duality import shrinkage
from clifford_rand_nn.solvers.gate_kernel import KernelSystem

_TILE = 64  # rows whose columns are formed at once
_MOST = 0.5  # of the first shift that the second may be; beyond, the expansion tells little
_FAR = 1.0  # shift, in units of a logit, from which a group is worth more than two terms
_REFINED = 48  # groups, those that move most, that get it
_FREE = 100  # predictions whose curvature is then free
_STEPS = 20
_DONE = 1e-4  # move of a prediction that ends it

_STRIP = 256  # columns that are mirrored at a time

Groups = Sequence[NDArray[np.intp]]


class InverseBlocks:
    r"""Entries of :math:`\tilde B`, and products with some of its columns.

    Of one output :math:`\hat B=M^{-1}`, :math:`M=I+SKS/\lambda`; of a softmax
    :math:`\hat B_{cc'}=\delta_{cc'}M_c^{-1}-V_c^TV_{c'}`, :math:`V_c=L^{-1}S_cM_c^{-1}`,
    :math:`LL^T=\sum_cS_cM_c^{-1}S_c`.

    ``system``: used up: its matrices are written over. ``border`` (n, C, a): S-weighted intercepts T; of a softmax the
    last output is the gauge.
    """

    def __init__(self, system: KernelSystem, border: Array) -> None:
        self.roots = system.roots
        n, C, free = border.shape
        half = system.solve(border) / self.roots[:, :, None]
        gram = np.einsum("nca,nc,ncb->ab", half, self.roots, border)
        corner = np.linalg.cholesky((gram + gram.T) / 2)
        self._border = solve_triangular(corner, half.reshape(n * C, free).T, lower=True).T.reshape(n, C, free)
        self._inverses: list[Any] = []
        self._V: list[Array] = []  # a row for each column of V_c
        for c, matrix in enumerate(system.matrices):
            if system.total is None:
                matrix, _ = (spotri if matrix.dtype == np.float32 else dpotri)(matrix, lower=1, overwrite_c=1)
            for a in range(0, n, _STRIP):
                part = slice(a, a + _STRIP)
                below = np.tril(matrix[part, part])
                matrix[part, a:] = matrix[a:, part].T
                matrix[part, part] = below + np.tril(below, -1).T
            self._inverses.append(matrix.T)
            if system.total is not None:
                scaled = self.roots[:, c, None] * matrix
                self._V.append(solve_triangular(system.total, scaled, lower=True, overwrite_b=True).T)
        self._null = self.roots / np.linalg.norm(self.roots, axis=1, keepdims=True)

    def block(self, rows: NDArray[np.intp]) -> Array:
        r"""Return :math:`\tilde B` of these rows, (..., m, C, m, C) for rows (..., m).

        That of a softmax has 1 added on what it does not see, shifts of all outputs of a row, so that it is regular.
        """
        *outer, m = rows.shape
        C, Z = len(self._inverses), self._border[rows]
        B = -np.einsum("...ica,...jda->...icjd", Z, Z)
        for c, M in enumerate(self._inverses):
            B[..., :, c, :, c] += M[rows[..., :, None], rows[..., None, :]]
        if self._V:
            V = np.stack([V[rows] for V in self._V], axis=-2).reshape(*outer, m * C, -1)
            B -= (V @ np.swapaxes(V, -1, -2)).reshape(*outer, m, C, m, C)
            q = self._null[rows]
            for i in range(m):
                B[..., i, :, i, :] += q[..., i, :, None] * q[..., i, None, :]
        return np.asarray(B)

    def spread(self, rows: NDArray[np.intp], starts: NDArray[np.intp], y: Array) -> Array:
        r"""Return :math:`\sum_{i\in g}\tilde B_{ji}y_i`, (n, C, k), for k groups, ``starts`` in ``rows``."""
        sums = np.add.reduceat(np.einsum("mca,mc->ma", self._border[rows], y), starts)
        out = -np.einsum("nca,ka->nck", self._border, sums)
        for c, M in enumerate(self._inverses):
            out[:, c] += np.add.reduceat(M[rows] * y[:, c, None], starts).T
        if self._V:
            U = np.add.reduce([np.add.reduceat(V[rows] * y[:, c, None], starts).T for c, V in enumerate(self._V)])
            for c, V in enumerate(self._V):
                out[:, c] -= V @ U
        return np.asarray(out)

    def gather(self, rows: NDArray[np.intp], of: NDArray[np.intp], T: Array) -> Array:
        r"""Return :math:`\sum_j\tilde B_{ij}T_j`, (m, C), the i-th row with column ``of`` of T (n, C, k)."""
        sums = np.einsum("nca,nck->ka", self._border, T)
        out = -np.einsum("mca,ma->mc", self._border[rows], sums[of])
        for c, M in enumerate(self._inverses):
            out[:, c] += np.einsum("mn,mn->m", M[rows], T[:, c].T[of])
        if self._V:
            P = np.add.reduce([V.T @ T[:, c] for c, V in enumerate(self._V)])
            for c, V in enumerate(self._V):
                out[:, c] -= np.einsum("mn,nm->m", V[rows], P[:, of])
        return np.asarray(out)


class LeftOut:
    r"""The predictions (n, C) of every row, or of the rows of every group, without their losses.

    With :math:`\tilde B` at the optimum f, without the losses of g the quadratic model moves

    .. math:: f_g\ \text{by}\ -S_g^{-1}(\tilde B_{gg}^{-1}-I)S_g^{-1}r_g,\qquad
              f_j\ \text{by}\ \Delta_j=S_j^{-1}\tilde B_{jg}y_g,\quad y_g=\tilde B_{gg}^{-1}S_g^{-1}r_g,

    r being minus the gradient. The curvature of the others changes by that, which in second order moves :math:`f_g` by
    :math:`\frac12S_g^{-1}\tilde B_{gg}^{-1}\sum_{j\notin g}\tilde B_{gj}S_j^{-1}\ell^{(3)}_j[\Delta_j,\Delta_j]`.
    The groups that move most are refitted by Newton's method where the losses of the rows that move them most
    are what they are, and only those of the others quadratic: with few rows, by a fit to all.

    Without a share s of the loss of a row, which is one of several observations there, :math:`I-s(I-\tilde B_{gg})` is
    in the place of :math:`\tilde B_{gg}`, and :math:`\Delta_j` is s times as long; nothing is refitted.

    ``f`` (n, C): the optimum. ``share`` (n,): s, without groups.

    References: Rad, Maleki, "A scalable estimate of the out-of-sample prediction error via approximate leave-one-out
    cross-validation", J. R. Stat. Soc. B 82 (2020), eq. 9, the first term.
    """

    def __init__(self, system: InverseBlocks, datafit: Datafit, f: Array, share: Array | None) -> None:
        self._system, self._datafit, self._f = system, datafit, f
        self._share = np.ones(len(f)) if share is None else share
        self._residual = datafit.residual(f)
        self._scaled = self._residual / system.roots

    def run(self, groups: Groups | None, asked: NDArray[np.bool_]) -> Array:
        """Return them, of every row if there are no groups; NaN where none of the rows left out is ``asked`` for."""
        system, (n, C) = self._system, self._f.shape
        parts: Groups = list(np.arange(n)[:, None]) if groups is None else groups
        parts = [g for g in parts if asked[g].any()]
        sizes = np.array([len(g) for g in parts])
        shifts: Array = np.full((n, C), np.nan)
        far: list[tuple[float, NDArray[np.intp], NDArray[np.intp]]] = []
        bend = third_derivatives(self._datafit, self._f)
        for first, last in _tiles(sizes):
            rows = np.concatenate(parts[first:last])
            of = np.repeat(np.arange(last - first), sizes[first:last])
            starts = np.searchsorted(of, np.arange(last - first))
            inverse = self._inverse_blocks(parts[first:last], rows)
            y = inverse(self._scaled[rows])
            moved = system.spread(rows, starts, self._share[rows, None] * y) / system.roots[:, :, None]
            moved[rows, :, of] = 0.0
            turned = bend(moved) / system.roots[:, :, None]
            first_order, two = y - self._scaled[rows], 0.5 * inverse(system.gather(rows, of, turned))
            size, more = np.linalg.norm(first_order, axis=1), np.linalg.norm(two, axis=1)
            two *= shrinkage(more, _MOST * size)[:, None]
            shifts[rows] = (first_order - two) / system.roots[rows]
            most = np.maximum.reduceat(np.abs(first_order / system.roots[rows]).max(axis=1), starts)
            for k in np.flatnonzero((most > _FAR) & (self._share[rows[starts]] == 1)):
                g = parts[first + int(k)]
                neighbors = max(1, min(n - len(g), _FREE // C))
                felt = np.abs(np.einsum("nc,nc->n", moved[:, :, k], turned[:, :, k]))
                felt[g] = -1.0
                far.append((float(most[k]), g, np.argpartition(-felt, neighbors - 1)[:neighbors]))
        for _, g, neighbors in sorted(far, key=lambda entry: -entry[0])[:_REFINED]:
            shifts[g] = self._refined(g, neighbors)
        return self._f - shifts

    def _inverse_blocks(self, parts: Groups, rows: NDArray[np.intp]) -> Callable[[Array], Array]:
        r"""Return what solves with :math:`\tilde B_{gg}`, group by group: (m, C) to (m, C)."""
        system, C = self._system, self._f.shape[1]
        if len(parts) == len(rows):
            s = self._share[rows, None, None]
            B = (1 - s) * np.eye(C) + s * system.block(rows[:, None]).reshape(-1, C, C)
            return lambda b: np.asarray(np.linalg.solve(B, b[:, :, None])[:, :, 0])
        factors = [cho_factor(system.block(g).reshape(len(g) * C, -1)) for g in parts]
        cuts = np.cumsum([len(g) for g in parts])[:-1]

        def solve(b: Array) -> Array:
            pairs = zip(factors, np.split(b, cuts), strict=True)
            return np.concatenate([cho_solve(factor, part.ravel()).reshape(-1, C) for factor, part in pairs])

        return solve

    def _refined(self, g: NDArray[np.intp], neighbors: NDArray[np.intp]) -> Array:
        r"""Return the shifts of a group, :math:`\Delta_J = \Delta^1_J+H_{JJ}N(\Delta_J)` being solved for ``others`` J.

        N is what their residuals differ from the quadratic model's, and H the covariance without the group.
        """
        C, m, k = self._f.shape[1], len(g), len(neighbors)
        rows = np.concatenate([g, neighbors])
        B = self._system.block(rows).reshape((m + k) * C, -1)
        own, rest = slice(m * C), slice(m * C, None)
        S = self._system.roots[rows].ravel()
        factor, s = cho_factor(B[own, own]), self._scaled[g].ravel()
        y, G = cho_solve(factor, s), cho_solve(factor, B[own, rest])
        start = (B[rest, own] @ y) / S[rest]
        H = (np.eye(k * C) - B[rest, rest] + B[rest, own] @ G) / S[rest, None] / S[rest]
        weights = self._datafit.sample_weight
        part = Datafit(self._datafit.loss, self._datafit.y[neighbors], None if weights is None else weights[neighbors])
        model = _hessians(self._system.roots[neighbors] ** 2)

        def excess(x: Array) -> tuple[Array, Array, Array]:
            at = self._f[neighbors] + x.reshape(k, C)
            N = part.residual(at) - self._residual[neighbors] + np.einsum("kab,kb->ka", model, x.reshape(k, C))
            return x - start - H @ N.ravel(), N.ravel(), at

        x = start
        miss, N, at = excess(x)
        for _ in range(_STEPS):
            change = model - _hessians(part.weights * part.loss.curvature_at(part.loss.residual(at, part.y), part.y))
            bent = np.einsum("akc,kcd->akd", H.reshape(-1, k, C), change).reshape(k * C, -1)
            try:
                step = np.linalg.solve(np.eye(k * C) - bent, miss)
            except np.linalg.LinAlgError:  # singular, as where rows repeat and beta is tiny: what is reached stands
                break
            length = 1.0
            while True:
                trial = excess(x - length * step)
                if np.linalg.norm(trial[0]) < np.linalg.norm(miss) or length < 1e-3:
                    break
                length /= 2
            x, (miss, N, at) = x - length * step, trial
            if np.abs(step).max() <= _DONE:
                break
        return np.asarray((y - s + G @ (N / S[rest])) / S[own]).reshape(m, C)


def _hessians(mass: Array) -> Array:
    """Return the Hessians (k, C, C) with these diagonals of W: of one output, or of the softmax."""
    if mass.shape[1] == 1:
        return mass[:, :, None]
    return np.asarray(mass[:, :, None] * (np.eye(mass.shape[1]) - mass[:, None, :] / mass.sum(axis=1)[:, None, None]))


def third_derivatives(datafit: Datafit, f: Array) -> Callable[[Array], Array]:
    r"""Return what takes Δ (n, C, k) to :math:`\ell^{(3)}[\Delta,\Delta]` of the rows' weighted losses at f."""
    loss, y = datafit.loss, datafit.y
    if f.shape[1] == 1:
        third = (datafit.weights * loss.third_derivative_at(loss.residual(f, y), y))[:, :, None]
        return lambda moves: np.asarray(third * moves**2)
    p = loss.probabilities(f)
    mass = (datafit.weights * p)[:, :, None]

    def softmax(moves: Array) -> Array:
        square = (moves - np.einsum("nc,nck->nk", p, moves)[:, None]) ** 2
        return np.asarray(mass * (square - np.einsum("nc,nck->nk", p, square)[:, None]))

    return softmax


def _tiles(sizes: NDArray[np.intp]) -> Iterator[tuple[int, int]]:
    """Yield bounds of runs of groups, with `_TILE` rows or one group each."""
    first = 0
    while first < len(sizes):
        last = first + max(1, int(np.searchsorted(np.cumsum(sizes[first:]), _TILE, side="right")))
        yield first, last
        first = last
