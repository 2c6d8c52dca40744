"""Approximate leave-one-out predictions, from the linear system of the last Newton step."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from clifford_rand._typing import Array
from clifford_rand_nn.datafits.datafit import Datafit
from clifford_rand_nn.kernel_network.logistic.newton_system import NewtonSystem
from clifford_rand_nn.problems.duality import shrinkage

_TILE = 64  # rows whose columns are formed at once
_MOST = 0.5  # of the first shift that the second may be; beyond, the expansion tells little
_FAR = 1.0  # shift, in units of a logit, from which a group is worth more than two terms
_REFINED = 48  # groups, those that move most, that get it
_FREE = 100  # predictions whose curvature is then free
_STEPS = 20
_DONE = 1e-4  # move of a prediction that ends it

Groups = Sequence[NDArray[np.intp]]


def left_out(system: NewtonSystem, datafit: Datafit, f: Array, groups: Groups | None = None) -> Array:
    r"""Return the predictions (n, C) of every row, or of the rows of every group, without their losses.

    With the matrix of `NewtonSystem` at the optimum f, without the losses of g the quadratic model moves

    .. math:: f_g\ \text{by}\ -S_g^{-1}(\tilde B_{gg}^{-1}-I)S_g^{-1}r_g,\qquad
              f_j\ \text{by}\ \Delta_j=S_j^{-1}\tilde B_{jg}y_g,\quad y_g=\tilde B_{gg}^{-1}S_g^{-1}r_g,

    r being minus the gradient. The curvature of the others changes by that, which in second order moves :math:`f_g` by
    :math:`\frac12S_g^{-1}\tilde B_{gg}^{-1}\sum_{j\notin g}\tilde B_{gj}S_j^{-1}\ell^{(3)}_j[\Delta_j,\Delta_j]`.
    The groups that move most are refitted by Newton's method where the losses of the rows that move them most
    are what they are, and only those of the others quadratic: with few rows, by a fit to all.

    Parameters
    ----------
    system : NewtonSystem
        Used up.
    datafit : Datafit
    f : (n, C)
        The optimum.
    groups : sequence of index arrays, optional

    References
    ----------
    Rad, Maleki, "A scalable estimate of the out-of-sample prediction error via approximate leave-one-out
    cross-validation", J. R. Stat. Soc. B 82 (2020), eq. 9, the first term.
    """
    system.open()
    return _LeftOut(system, datafit, f).run(groups)


class _LeftOut:
    def __init__(self, system: NewtonSystem, datafit: Datafit, f: Array) -> None:
        self._system, self._datafit, self._f = system, datafit, f
        self._residual = datafit.residual(f)
        self._scaled = self._residual / system.roots

    def run(self, groups: Groups | None) -> Array:
        system, (n, C) = self._system, self._f.shape
        parts: Groups = list(np.arange(n)[:, None]) if groups is None else groups
        sizes = np.array([len(g) for g in parts])
        shifts = np.empty((n, C))
        far: list[tuple[float, NDArray[np.intp], NDArray[np.intp]]] = []
        bend = third_derivatives(self._datafit, self._f)
        for first, last in _tiles(sizes):
            rows = np.concatenate(parts[first:last])
            of = np.repeat(np.arange(last - first), sizes[first:last])
            starts = np.searchsorted(of, np.arange(last - first))
            inverse = self._inverse_blocks(parts[first:last], rows)
            y = inverse(self._scaled[rows])
            moved = system.spread(rows, starts, y) / system.roots[:, :, None]
            moved[rows, :, of] = 0.0
            turned = bend(moved) / system.roots[:, :, None]
            one, two = y - self._scaled[rows], 0.5 * inverse(system.gather(rows, of, turned))
            size, more = np.linalg.norm(one, axis=1), np.linalg.norm(two, axis=1)
            two *= shrinkage(more, _MOST * size)[:, None]
            shifts[rows] = (one - two) / system.roots[rows]
            most = np.maximum.reduceat(np.abs(one / system.roots[rows]).max(axis=1), starts)
            for k in np.flatnonzero(most > _FAR):
                g = parts[first + int(k)]
                others = max(1, min(n - len(g), _FREE // C))
                felt = np.abs(np.einsum("nc,nc->n", moved[:, :, k], turned[:, :, k]))
                felt[g] = -1.0
                far.append((float(most[k]), g, np.argpartition(-felt, others - 1)[:others]))
        for _, g, others in sorted(far, key=lambda one: -one[0])[:_REFINED]:
            shifts[g] = self._refined(g, others)
        return self._f - shifts

    def _inverse_blocks(self, parts: Groups, rows: NDArray[np.intp]) -> Callable[[Array], Array]:
        r"""Return what solves with :math:`\tilde B_{gg}`, group by group: (m, C) to (m, C)."""
        system, C = self._system, self._f.shape[1]
        if len(parts) == len(rows):
            B = system.block(rows[:, None]).reshape(-1, C, C)
            return lambda b: np.asarray(np.linalg.solve(B, b[:, :, None])[:, :, 0])
        factors = [cho_factor(system.block(g).reshape(len(g) * C, -1)) for g in parts]
        cuts = np.cumsum([len(g) for g in parts])[:-1]

        def solve(b: Array) -> Array:
            pairs = zip(factors, np.split(b, cuts), strict=True)
            return np.concatenate([cho_solve(factor, part.ravel()).reshape(-1, C) for factor, part in pairs])

        return solve

    def _refined(self, g: NDArray[np.intp], others: NDArray[np.intp]) -> Array:
        r"""Return the shifts of a group, :math:`\Delta_J = \Delta^1_J+H_{JJ}N(\Delta_J)` being solved for ``others`` J.

        N is what their residuals differ from the quadratic model's, and H the covariance without the group.
        """
        C, m, k = self._f.shape[1], len(g), len(others)
        rows = np.concatenate([g, others])
        B = self._system.block(rows).reshape((m + k) * C, -1)
        own, rest = slice(m * C), slice(m * C, None)
        S = self._system.roots[rows].ravel()
        factor, s = cho_factor(B[own, own]), self._scaled[g].ravel()
        y, G = cho_solve(factor, s), cho_solve(factor, B[own, rest])
        start = (B[rest, own] @ y) / S[rest]
        H = (np.eye(k * C) - B[rest, rest] + B[rest, own] @ G) / S[rest, None] / S[rest]
        weights = self._datafit.sample_weight
        part = Datafit(self._datafit.loss, self._datafit.y[others], None if weights is None else weights[others])
        model = _hessians(self._system.roots[others] ** 2)

        def excess(x: Array) -> tuple[Array, Array, Array]:
            at = self._f[others] + x.reshape(k, C)
            N = part.residual(at) - self._residual[others] + np.einsum("kab,kb->ka", model, x.reshape(k, C))
            return x - start - H @ N.ravel(), N.ravel(), at

        x = start
        miss, N, at = excess(x)
        for _ in range(_STEPS):
            p = part.loss.probabilities(at)
            change = model - _hessians(part.weights * (p if C > 1 else p[:, :1] * p[:, 1:]))
            bent = np.einsum("akc,kcd->akd", H.reshape(-1, k, C), change).reshape(k * C, -1)
            try:
                step = np.linalg.solve(np.eye(k * C) - bent, miss)
            except np.linalg.LinAlgError:  # singular, as where rows repeat and beta is tiny: what is reached stands
                break
            length = 1.0
            while True:
                found = excess(x - length * step)
                if np.linalg.norm(found[0]) < np.linalg.norm(miss) or length < 1e-3:
                    break
                length /= 2
            x, (miss, N, at) = x - length * step, found
            if np.abs(step).max() <= _DONE:
                break
        return np.asarray((y - s + G @ (N / S[rest])) / S[own]).reshape(m, C)


def _hessians(mass: Array) -> Array:
    """Return the Hessians (k, C, C) with these diagonals of W: of the logistic loss, or of the softmax."""
    if mass.shape[1] == 1:
        return mass[:, :, None]
    return np.asarray(mass[:, :, None] * (np.eye(mass.shape[1]) - mass[:, None, :] / mass.sum(axis=1)[:, None, None]))


def third_derivatives(datafit: Datafit, f: Array) -> Callable[[Array], Array]:
    r"""Return what takes Δ (n, C, k) to :math:`\ell^{(3)}[\Delta,\Delta]` of the rows' weighted losses at f."""
    p = datafit.loss.probabilities(f)
    if f.shape[1] == 1:
        third = (datafit.weights * (p[:, :1] * p[:, 1:] * (p[:, :1] - p[:, 1:])))[:, :, None]
        return lambda moves: np.asarray(third * moves**2)
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
