r"""The longest vector of outputs that cones of neurons reach: branch and bound over the directions of the outputs.

In the chamber of a pattern D a neuron u (with its offset) gives the outputs :math:`z = \Theta^TD(Xu+b)`, and
:math:`g(a) = \sup\{a\cdot z\}` over :math:`||u||_p\le1` in the cone is found by one projection or linear program. The
longest z is the largest g(a) over unit a. g is convex and homogeneous, so on the simplicial cone of
:math:`a_1,\dots,a_r`, rows of A, with :math:`a = A^T\mu`, :math:`\mu\ge0`, :math:`||a|| = 1`,

.. math:: g(a) \le \sum_k\mu_kg(a_k) \le \min\big(||A^{-1}g||,\ \max_kg(a_k)\,||A^{-T}1||\big).

The second is within :math:`O(\delta^2)` of the truth for a cone of angle :math:`\delta`. The projections also leave
multipliers, :math:`\rho_k` of norm at least :math:`g(a_k)` with :math:`g(a)\le||\sum_k\mu_k\rho_k||`, whose spectral
norm :math:`||A^{-1}R||_2` bounds the cone at once where the rows on the hyperplane do not change inside.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array

_TIGHT = 1e-9  # relative width to which the supremum is enclosed
_STEPS = 30  # of a climb; each raises the value, and some five are enough
_GAIN = 1e-9  # relative rise below which it ends
_SHORT = 3  # steps of a climb that is for a neuron and no bound
_STARTS = 4  # climbs in a chamber
_CELLS = 2**4  # cells of a chamber at the start, one for each choice of signs: more outputs are relaxed
_LEAST_SPLITS = 2000
_SPLITS = 200  # questions for each chamber that is split, on average; past them the bound is what is proved by then
# On 30 chambers of 300 digits in 20 dimensions, ten classes, the largest bound was 1.88 times what was reached before,
# 1.18 after 200 steps, 1.12 after 400, 1.09 after 600; penalties of 0.1 to 0.3 are alike, 1 and 10 are worse.
_ADMM_STEPS = 400
_PENALTY = 0.3
_OVER = 1.7  # over-relaxation
_CHECK_EVERY = 50
_ROUND = 1e-2  # least axis of the ellipsoid of neurons that becomes round, squared, of the largest; 1 ends at 5


class Answers(NamedTuple):
    r"""Answers to Q questions (a chamber, a direction a): bounds (Q,) of g(a), never below it, and the best neurons.

    ``residuals`` (Q, d) are the multipliers' :math:`\rho`, ``directions`` (Q, d) the best u, of norm 1 or 0, ``rows``
    (Q, k) those on its hyperplane, -1 where there are fewer, of which with bias the first gives the offset, and
    ``images`` (Q, r) its outputs z.
    """

    chambers: NDArray[np.intp]
    bounds: Array
    residuals: Array
    directions: Array
    rows: NDArray[np.int64]
    images: Array


Ask = Callable[[NDArray[np.intp], Array], Answers]
Relax = Callable[[NDArray[np.intp], list[Answers], float], Array]


def climbed(ask: Ask, axes: Array) -> float:
    """Return the longest output that climbs reach, one from each end of an axis (chambers, r) of every chamber."""
    chamber, a = np.tile(np.arange(len(axes)), 2), np.concatenate([axes, -axes])
    best = 0.0
    for _ in range(_SHORT):
        answers = ask(chamber, a)
        lengths = np.linalg.norm(answers.images, axis=1)
        best = max(best, float(lengths.max(initial=0.0)))
        live = lengths > 0
        chamber, a = chamber[live], answers.images[live] / lengths[live, None]
        if not len(chamber):
            break
    return best


def longest_outputs(ask: Ask, relax: Relax, chambers: int, r: int, p: int) -> tuple[float, list[Answers]]:
    """Return an upper bound of the longest output over all chambers, and every answer on the way.

    The bound is the supremum to rounding for r = 1, to 1e-9 for r ≤ 4 unless the number of questions runs out. For more
    outputs it is the least of a box around them and a relaxation, some 10 % above what is reached. ``ask`` takes
    chambers (Q,) and unit directions (Q, r); ``relax`` bounds some chambers, from the answers so far and what is
    reached, for r > 4. The dual of the norm p of neurons, the largest entry or the length, bounds by multipliers.
    """
    every = np.arange(chambers)
    axes = np.concatenate([np.eye(r), -np.eye(r)])
    first = ask(np.repeat(every, 2 * r), np.tile(axes, (chambers, 1)))
    answered = [first]
    if r == 1:
        return float(first.bounds.max(initial=0.0)), answered
    # no output is longer than the box of the support along ± the axes
    box = np.linalg.norm(first.bounds.reshape(chambers, 2, r).max(axis=1), axis=1)
    # what climbs reach is a lower bound: chambers with a box below it are done
    peaks, heights = _climb(ask, every, first, r, answered)
    lowest = float(heights.max(initial=0.0))
    open_ = np.flatnonzero(box > lowest * (1 + _TIGHT))
    bound = max(lowest, float(np.delete(box, open_).max(initial=0.0)))
    if not len(open_):
        return bound, answered
    if 2**r > _CELLS:
        return max(bound, lowest, float(np.minimum(box[open_], relax(open_, answered, lowest)).max())), answered
    # axes that one of the best outputs is one of: cells then meet where the function peaks
    frames = np.linalg.qr(np.concatenate([peaks[open_, :, None], np.tile(np.eye(r), (len(open_), 1, 1))], axis=2))[0]
    frames = frames.transpose(0, 2, 1)
    turned = np.concatenate([frames, -frames], axis=1)
    answers = ask(np.repeat(open_, 2 * r), turned.reshape(-1, r))
    answered.append(answers)
    g = answers.bounds.reshape(-1, 2 * r)
    # a cell for each orthant of the frame: a corner is + or - axis k
    signs = np.stack(np.meshgrid(*[np.arange(2)] * r), axis=-1).reshape(-1, r) * r + np.arange(r)
    owner = np.repeat(np.arange(len(open_)), len(signs))[:, None]
    corner = np.tile(signs, (len(open_), 1))
    residuals = answers.residuals.reshape(len(open_), 2 * r, -1)
    cells = _Cells(open_[owner[:, 0]], turned[owner, corner], g[owner, corner], residuals[owner, corner])
    budget = max(_LEAST_SPLITS, _SPLITS * len(open_))
    return _split(ask, cells, box[open_][owner[:, 0]], p, bound, budget, answered), answered


class _Cells(NamedTuple):
    """Simplicial cones of directions: their chambers (Q,), corners (Q, r, r), and what is known there."""

    chambers: NDArray[np.intp]
    corners: Array
    g: Array
    residuals: Array

    def take(self, index: NDArray[Any]) -> "_Cells":
        return _Cells(self.chambers[index], self.corners[index], self.g[index], self.residuals[index])

    def bounds(self, p: int) -> Array:
        inverse = np.linalg.inv(self.corners)
        # ||A⁻¹g||: the longest z with a_k·z ≤ g(a_k) on the cell
        plane = np.linalg.norm(np.einsum("qij,qj->qi", inverse, self.g), axis=1)
        # max g(a_k) ||A⁻ᵀ1||
        flat = self.g.max(axis=1) * np.linalg.norm(inverse.sum(axis=2), axis=1)
        # A⁻¹R: g(a) ≤ ||Σ μ_k ρ_k|| in the dual norm
        linear = inverse @ self.residuals
        if p == 2:
            multipliers = np.linalg.norm(linear, ord=2, axis=(1, 2))
        else:
            multipliers = np.linalg.norm(linear, axis=1).max(axis=1)
        return np.asarray(np.minimum(np.minimum(plane, flat), multipliers))


def _climb(ask: Ask, every: NDArray[np.intp], first: Answers, r: int, answered: list[Answers]) -> tuple[Array, Array]:
    """Ask for the direction of the last outputs again and again; the best (chambers, r), and the lengths there."""
    lengths = np.linalg.norm(first.images, axis=1).reshape(len(every), 2 * r)
    # climb from the axes with the longest outputs
    starts = np.argsort(-lengths, axis=1, kind="stable")[:, :_STARTS]
    index = (starts + 2 * r * every[:, None]).ravel()
    chamber = np.repeat(every, starts.shape[1])
    best, height = first.images[index], lengths.ravel()[index]
    live = np.flatnonzero(height > 0)
    for _ in range(_STEPS):
        if not len(live):
            break
        # the direction of the last outputs is the next question; lengths rise
        now = ask(chamber[live], best[live] / height[live, None])
        answered.append(now)
        reached = np.linalg.norm(now.images, axis=1)
        risen = reached > height[live] * (1 + _GAIN)
        better = reached > height[live]
        best[live[better]], height[live[better]] = now.images[better], reached[better]
        live = live[risen]
    height, best = height.reshape(starts.shape), best.reshape(*starts.shape, r)
    top = every, height.argmax(axis=1)
    return best[top], height[top]


def _split(ask: Ask, cells: _Cells, known: Array, p: int, bound: float, budget: int, answered: list[Answers]) -> float:
    """Halve the cells whose bounds, at most ``known``, are above what is reached, at their longest edges."""
    lowest = max(float(np.linalg.norm(answers.images, axis=1).max(initial=0.0)) for answers in answered)
    asked = 0
    while True:
        known = np.minimum(known, cells.bounds(p))
        live = known > lowest * (1 + _TIGHT)
        bound = max(bound, float(known[~live].max(initial=0.0)))
        if not live.any() or asked > budget:
            return max(bound, lowest, float(known.max(initial=0.0)) if live.any() else 0.0)
        cells, known = cells.take(live), known[live]
        Q, r = cells.g.shape
        # the longest edge has the least cosine
        cosines = cells.corners @ cells.corners.transpose(0, 2, 1)
        cosines[:, np.arange(r), np.arange(r)] = 2.0
        first, second = np.divmod(cosines.reshape(Q, -1).argmin(axis=1), r)
        every = np.arange(Q)
        middle = cells.corners[every, first] + cells.corners[every, second]
        middle /= np.linalg.norm(middle, axis=1)[:, None]
        keys = np.column_stack([cells.chambers, middle])  # neighbors share their edges
        _, index, which = np.unique(keys, axis=0, return_index=True, return_inverse=True)
        answers = ask(cells.chambers[index], middle[index])
        answered.append(answers)
        asked += len(index)
        lowest = max(lowest, float(np.linalg.norm(answers.images, axis=1).max()))
        which = which.ravel()
        cells, known = cells.take(np.tile(every, 2)), np.tile(known, 2)
        place = np.arange(2 * Q), np.concatenate([first, second])
        cells.corners[place] = np.tile(middle, (2, 1))
        cells.g[place] = np.tile(answers.bounds[which], 2)
        cells.residuals[place] = np.tile(answers.residuals[which], (2, 1))


@ONE_BLAS_THREAD
def relaxed_lengths(M: Array, S: Array, met: Array, charged: int, enough: Array) -> Array:
    r"""Return upper bounds (P,) of the longest outputs of P cones by semidefinite relaxations, inf where none is found.

    On the cone :math:`S^Tu\ge0` every product :math:`(s_i\cdot u)(s_j\cdot u)` is at least 0. So, with any symmetric
    :math:`\Lambda\ge0` of zero diagonal and E the squares that the norm charges,

    .. math:: \sup\{||M^Tu||^2:S^Tu\ge0,\ u^TEu\le1\}\le\lambda_{\max}(MM^T+S\Lambda S^T;\,E),

    a generalized eigenvalue. The least such bound is the dual of :math:`\max\langle MM^T,W\rangle`, W positive
    semidefinite, :math:`S^TWS\ge0` off its diagonal, :math:`\langle E,W\rangle = 1`. ADMM (Boyd et al., "Distributed
    optimization and statistical learning via the alternating direction method of multipliers", 2011, section 5) solves
    that for many cones at once: a step is one eigenvalue decomposition and one solve that the eigenvectors of
    :math:`SS^T` make diagonal. Its multipliers, which are not negative, bound the supremum wherever it ends.

    ``M`` (P, D, r): outputs are Mᵀu. ``S`` (P, D, K): normals of some of the rows that bound each cone, zeros where
    there are fewer. ``met`` (P, D, D): second moments of points of each cone; in coordinates where they are alike the
    steps are short. ``charged``: the norm of u is that of its first coordinates; at most one, the offset, is left.
    ``enough`` (P,): lengths at which a bound need not fall further, above zero.
    """
    Q = M @ M.transpose(0, 2, 1) / enough[:, None, None] ** 2
    P, D, K = S.shape
    E = np.diag((np.arange(D) < charged).astype(float))
    # coordinates in which the points of the cone are spread alike
    sizes, axes = np.linalg.eigh(met / np.einsum("pii->p", met)[:, None, None])
    T = axes * np.sqrt(np.maximum(sizes, _ROUND * sizes[:, -1:]))[:, None, :]
    lengths = np.linalg.norm(T.transpose(0, 2, 1) @ S, axis=1)
    S = S / np.where(lengths > 0, lengths, 1.0)[:, None, :]
    best = _eigenvalue_bounds(Q, S, np.zeros((P, K, K)), charged)
    live = np.flatnonzero(best > 1)
    back = T[live].transpose(0, 2, 1)
    state = _State(back @ S[live], back @ Q[live] @ T[live], back @ E @ T[live])
    for step in range(1, _ADMM_STEPS + 1):
        if not len(live):
            break
        state.step()
        if step % _CHECK_EVERY == 0:
            best[live] = np.minimum(best[live], _eigenvalue_bounds(Q[live], S[live], state.multipliers(), charged))
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
        # W of the augmented Lagrangian, then ⟨E, W⟩ = 1 by a multiple of the lift
        W = self._solve(self.Z - self.U + S @ (self.Y - self.V) @ S.transpose(0, 2, 1) + self.Q)
        W -= ((np.einsum("pij,pij->p", self.E, W) - 1) / self.charge)[:, None, None] * self.lift
        moved = _OVER * W + (1 - _OVER) * self.Z + self.U
        # Z is the projection on positive semidefinite matrices, U the scaled dual
        values, vectors = np.linalg.eigh(moved)
        self.Z = (vectors * np.maximum(values, 0)[:, None, :]) @ vectors.transpose(0, 2, 1)
        self.U = moved - self.Z
        products = _OVER * (S.transpose(0, 2, 1) @ W @ S) + (1 - _OVER) * self.Y + self.V
        # Y = max(SᵀWS, 0), so that the dual V is the negative part
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


def _eigenvalue_bounds(Q: Array, S: Array, multipliers: Array, charged: int) -> Array:
    """Roots of the eigenvalues: with an offset that is not charged, of what is left when the best one is taken."""
    N = Q + S @ multipliers @ S.transpose(0, 2, 1)
    A = N[:, :charged, :charged]
    bounded = np.ones(len(N), dtype=np.bool_)
    if charged < N.shape[1]:
        # Schur complement: the offset is free, so it takes its best value
        rest, side = N[:, charged:, :charged], -N[:, charged:, charged:]
        bounded = side[:, 0, 0] > 0
        A = A + rest.transpose(0, 2, 1) @ rest / np.where(bounded[:, None, None], side, 1.0)
    largest = np.linalg.eigvalsh(A)[:, -1]
    return np.where(bounded, np.sqrt(np.maximum(largest, 0.0)), np.inf)
