r"""Pricing over all neurons by branch and bound over simplicial cones of directions.

On the cone of rays :math:`a_1,\dots,a_d` a row is on (:math:`x_i\cdot a_k\ge0` for all k), off (:math:`\le0`) or
undecided. For :math:`u = \sum_k\mu_ka_k`, :math:`\mu\ge0`, its activation, which is convex, is between two linear
functions, :math:`\sum_k\mu_kS_{ik}\le(x_i\cdot u)_+\le\sum_k\mu_kP_{ik}`, with :math:`P_{ik} = (x_i\cdot a_k)_+`, and
:math:`S_{ik} = x_i\cdot a_k` if the row is on at a reference direction, else 0. So, with the parts
:math:`\Theta = \Theta^+-\Theta^-`, (n, C),

.. math:: \Theta^T(Xu)_+ = \sum_k\mu_kz_k,\quad
          \sum_i\theta_i^+S_{ik}-\theta_i^-P_{ik} = L_k \le z_k \le U_k = \sum_i\theta_i^+P_{ik}-\theta_i^-S_{ik}.

Let :math:`h_k = ||\max(U_k,-L_k)||_2`, or :math:`U_k` for one output, whose two signs are searched apart. A vector g
with :math:`g\cdot a_k\ge h_k` for all k proves :math:`||\Theta^T(Xu)_+||_2\le\sum_k\mu_kh_k\le g\cdot u\le||g||_q` for
:math:`||u||_p\le1`, 1/p + 1/q = 1. The error is of second order in the angle of the cone; for one output none is left
when all rows are decided. Cones with the largest bounds are split at the edge where activations bend most: the new ray
is the sum of two, one of them times a power of two, so rays are integers.
"""

import heapq
from collections.abc import Callable
from itertools import combinations, product
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_array

from clifford_rand._checks import as_rows, check_choice, check_integer, check_positive, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import Priced, Pricer, best_of, check_price
from clifford_rand_nn.pricing.cone_best import least_norm
from clifford_rand_nn.rounding import rounding_of_norm

MAX_D = 10  # 2^d orthants to begin with
_GENERATIONS = 208  # of rays: each is a sum of two of similar lengths, and their entries end at `_LARGEST_RAY`
_LARGEST_RAY = 2.0**52  # a sum of integers up to this is exact
_GRID = 2.0**30  # reference directions are multiples of 1 / _GRID, for a file
_OFF_PLANES = np.array([347.0, -211, 587, -919, 131, -463, 743, -269, 809, -617])  # of 1 / _GRID: no row is orthogonal
_NEARLY = 2.0**-30  # a row whose products have this ratio is nearly on or off, whatever rounding does to the small one
_BATCH = 2**17  # cones and their undecided rows split at a time
_MAX_ROWS = 2**25  # undecided rows in the queue, 40 bytes each in five dimensions
_PARTS = 2  # of a batch in the queue, by their bounds
_REFERENCES = 2  # of a cone, the center and the maximum of its first bound
_STARTS = 64  # climbs from the cones of a batch with the largest bounds
_STEPS, _HALVINGS = 4, 3  # of a climb, and of a step that descends
_EXCESS = 0.05  # of what a neuron exceeds ``enough`` by: the width to which the supremum is then enclosed
_TINY = 1e-300


class SimplicialCones(NamedTuple):
    """Q cones of d rays, with their undecided rows: those of cone q are rows[start[q]:start[q + 1]]."""

    start: NDArray[np.intp]  # (Q + 1,)
    rows: NDArray[np.int32]  # (N,)
    products: Array  # (d, N): x·a_k
    rays: Array  # (Q, d, d): a_k in row k
    gradients: Array  # (Q, d, C): the sum of xθᵀ over rows that are on
    signs: Array  # (Q, 1): of the output
    bounds: Array  # (Q,)
    vectors: Array  # (Q, d): g
    references: Array  # (Q, d)
    peaks: Array  # (Q, d): where the bound is largest
    nodes: NDArray[np.intp]  # (Q,): numbers in the tree

    @property
    def owner(self) -> NDArray[np.intp]:
        """Cone (N,) of each undecided row."""
        return np.repeat(np.arange(len(self.bounds)), np.diff(self.start))

    def take(self, index: NDArray[Any]) -> "SimplicialCones":
        """Return the cones at ``index``, integers or booleans."""
        counts = np.diff(self.start)[index]
        start = np.concatenate([[0], np.cumsum(counts)])
        at = np.repeat(self.start[:-1][index] - start[:-1], counts) + np.arange(start[-1])
        return SimplicialCones(start, self.rows[at], self.products[:, at], *(field[index] for field in self[3:]))

    @classmethod
    def joined(cls, parts: list["SimplicialCones"]) -> "SimplicialCones":
        """Return all cones of ``parts``."""
        start = np.cumsum(np.concatenate([[0], *(np.diff(part.start) for part in parts)]))
        fields = [np.concatenate(field, axis=int(k == 2)) for k, field in enumerate(zip(*parts, strict=True))]
        return cls(*fields)._replace(start=start)


Trees = tuple[NDArray[np.intp], SimplicialCones]  # splits and leaves, see `SimplexPricer.witness`


class SimplexPricer(Pricer):
    r"""The largest :math:`||\Theta^T(Xu)_+||_2` over all :math:`||u||_p\le1` for rows X (n, d), by branch and bound.

    No patterns are listed. The search ends at the relative width ``tol`` or after ``max_splits`` splits of cones, and
    the size returned is an upper bound in any case. A bias is inside the norm, the weight of a constant column, or
    absent.

    Examples
    --------
    >>> X = np.array([[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0], [-1.0, 1.0, 0.0]])
    >>> size, neurons = SimplexPricer(X).price(np.array([1.0, 1.0, -1.0, 1.0]), 1)
    >>> float(round(size, 6)), neurons.directions.T.round(3).tolist()
    (3.162278, [[-0.316, 0.949, 0.0]])
    """

    scope = "global: all neurons, by branch and bound"

    def __init__(self, X: ArrayLike, p: int = 2, tol: float = 1e-8, max_splits: int = 300_000) -> None:
        owner = "SimplexPricer"
        data = as_rows(X, owner)
        if data.shape[1] > MAX_D:
            hint = "A search in more dimensions does not end; price sampled patterns by ConePricer."
            raise fail("X", owner, f"of at most {MAX_D} columns", describe(f"shape {data.shape}"), hint)
        check_choice(p, "p", owner, (1, 2))
        self.X, self.p, self.tol = data, p, check_positive(tol, "tol", owner)
        self.max_splits = check_integer(max_splits, "max_splits", owner, low=0)

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        r"""Return an upper bound of the supremum, and the ``most`` best neurons met, for theta (n, C) or (n,).

        The search also ends when ``late`` says so, or when no bound is above ``enough``. If a neuron is above
        ``enough``, a width of a twentieth of the excess is sufficient.
        """
        point = check_price(theta, most, len(self.X), "SimplexPricer.price")
        search = _Search(self.X, point, self.p, enough if enough < np.inf else 0.0)
        size = search.run(self.tol, self.max_splits, late)
        values, directions = (np.concatenate(parts) for parts in zip(*search.met, strict=True))
        order = np.argsort(-values, kind="stable")[: 4 * max(1, most)]  # climbs may end at the same one
        neurons = Neurons.free(np.ascontiguousarray(directions[order].T), np.zeros(len(order)))
        return Priced(size, best_of(neurons, point, self.X, most)[1])

    def witness(self, theta: ArrayLike, radius: float, max_splits: int) -> Trees | None:
        r"""Return splits and leaves of trees of cones which prove that no neuron has a value above ``radius``, or None.

        Where that is within the rounding of sums, it is left to a check that is exact.

        The roots, nodes 0, 1, …, are orthants with rays :math:`\pm e_k`, signs in the order of ``product((1, -1),
        repeat=d)``; for one output first all with its sign +, then with -. A row (node, i, j, s, t, child) of the
        splits: the ray :math:`2^sa_i+2^ta_j` replaces :math:`a_i` in the node ``child``, :math:`a_j` in ``child + 1``.
        """
        point = check_price(theta, 0, len(self.X), "SimplexPricer.witness")
        search = _Search(self.X, point, self.p, check_positive(radius, "radius", "SimplexPricer.witness"), tree=True)
        if search.run(0.0, max_splits, None) > radius + np.ldexp(search.rounding, search.exponent):
            return None
        leaves = SimplicialCones.joined(search.closed)
        shares = np.minimum(1.0, search.enough / np.maximum(leaves.bounds, _TINY))  # a check that is exact decides
        splits = np.concatenate([np.zeros((0, 6), dtype=np.intp), *search.splits])
        return splits, leaves._replace(vectors=np.ldexp(shares[:, None] * leaves.vectors, search.exponent))

    def __repr__(self) -> str:
        return f"SimplexPricer({self.scope}, p={self.p}, tol={self.tol:.1e})"


class _Search:
    """The search for the supremum of a dual point theta (n, C), on data scaled by powers of two."""

    def __init__(self, X: Array, theta: Array, p: int, enough: float, tree: bool = False) -> None:
        (n, d), C = X.shape, theta.shape[1]
        exponents = [int(np.frexp(np.abs(values).max())[1]) for values in (X, theta)]
        self.exponent = sum(exponents)
        X, theta = self.X, self.theta = np.ldexp(X, -exponents[0]), np.ldexp(theta, -exponents[1])
        self.p, self.enough, self.tree = p, float(np.ldexp(enough, -self.exponent)), tree
        self.parts = np.concatenate([np.maximum(theta, 0), np.maximum(-theta, 0)], axis=1)
        self.moments = (X[:, :, None] * theta[:, None, :]).reshape(n, d * C)
        self.sizes = np.linalg.norm(theta, axis=1)
        # an undecided row is in two sums, that of its reference and that of its gap; a tree is checked exactly
        lengths, roundings = 2 * np.linalg.norm(X, axis=1), n + _GENERATIONS + 2 * d + C + 4
        self.rounding = rounding_of_norm(lengths, theta, 1 if tree else roundings)
        self.edges = np.array(list(combinations(range(d), 2)) or [(0, 0)])
        self.lowest = self.least = self.width = 0.0  # reached by a neuron, the largest bound of closed cones, tol
        self.met, self.splits, self.closed = list[tuple[Array, Array]](), list[Any](), list[SimplicialCones]()
        orthants = np.array(list(product([1.0, -1.0], repeat=d)))
        signs = np.repeat([1.0, -1.0][: 2 if C == 1 else 1], len(orthants))
        orthants = np.tile(orthants, (len(signs) // len(orthants), 1))
        Q = self.nodes = len(signs)
        rows, blank = np.tile(np.arange(n, dtype=np.int32), Q), np.zeros((3, Q, d))
        products, rays = (orthants.T[:, :, None] * X.T[:, None, :]).reshape(d, -1), orthants[:, :, None] * np.eye(d)
        known = np.zeros((Q, d, C)), signs[:, None], np.full(Q, np.inf), *blank, np.arange(Q)
        self.roots = SimplicialCones(n * np.arange(Q + 1), rows, products, rays, *known)

    @property
    def target(self) -> float:
        """Bounds up to this need not be lower."""
        width = self.width * self.lowest
        if self.lowest > self.enough > 0:
            width = max(width, _EXCESS * (self.lowest - self.enough))
        # a bound is never below the rounding of its sums, times √d at most
        return max(self.lowest + width, self.enough if self.lowest <= self.enough else 0.0, 4 * self.rounding)

    @ONE_BLAS_THREAD
    def run(self, width: float, most: int, late: Callable[[], bool] | None) -> float:
        """Split cones until no bound is above the target, or the limits are reached; return the largest bound."""
        self.width, queue, splits = width, list[tuple[float, int, SimplicialCones]](), 0
        first = self.X[np.argsort(-self.sizes, kind="stable")[:_STARTS]]
        self._climb(np.concatenate([first, -first, self.roots.rays.sum(axis=1)]))
        self._push(queue, self._bounded(self.roots))
        while queue and -queue[0][0] > self.target and splits < most and not (late is not None and late()):
            is_disproved = self.tree and self.lowest + 4 * self.rounding > self.enough
            if is_disproved or sum(len(cones.rows) for *_, cones in queue) > _MAX_ROWS:
                break
            parts = [heapq.heappop(queue)[2]]
            while queue and sum(len(part.bounds) + len(part.rows) for part in parts) < _BATCH:
                parts.append(heapq.heappop(queue)[2])
            cones = SimplicialCones.joined(parts)
            cones = self._split(self._without(cones, cones.bounds <= self.target))
            splits += len(cones.bounds) // 2
            self._push(queue, self._bounded(cones))
        rest = [cones for _, _, cones in queue]
        self.closed += rest
        size = max([self.lowest, self.least, *(float(cones.bounds.max()) for cones in rest)])
        return float(np.ldexp(size, self.exponent))

    def _push(self, queue: list[tuple[float, int, SimplicialCones]], cones: SimplicialCones) -> None:
        """Climb from the largest bounds, and queue the cones that are not done."""
        cones = cones.take(np.argsort(-cones.bounds, kind="stable"))
        # for one output the bound is the supremum where every row is decided
        exact = (np.diff(cones.start) == 0) & (self.theta.shape[1] == 1)
        good = cones.bounds > self.lowest
        self._climb(np.concatenate([cones.peaks[good & ~exact][:_STARTS], cones.peaks[good & exact]]))
        cones = self._without(cones, (cones.bounds <= self.target) | (exact & (not self.tree)))
        count = 1 + (_PARTS * (len(cones.bounds) + len(cones.rows))) // _BATCH
        for piece in filter(len, np.array_split(np.arange(len(cones.bounds)), count)):
            heapq.heappush(queue, (-float(cones.bounds[piece[0]]), int(cones.nodes[piece[0]]), cones.take(piece)))

    def _without(self, cones: SimplicialCones, done: NDArray[np.bool_]) -> SimplicialCones:
        """Close the cones that are done; return the others."""
        self.least = max(self.least, float(cones.bounds[done].max(initial=0.0)))
        if self.tree:
            self.closed.append(cones.take(done)._replace(rows=cones.rows[:0], products=cones.products[:, :0]))
        return cones.take(~done) if done.any() else cones

    def _climb(self, u: Array) -> None:
        """Ascend from directions u (m, d) along gradients; a step that descends is halved."""
        u = self._unit(u[u.any(axis=1)])
        values, gradients = self._values(u)
        for _ in range(_STEPS if len(u) else 0):
            new = self._unit(gradients)
            for _ in range(_HALVINGS):
                new_values = self._values(new)[0]
                low = new_values <= values
                new[low] = self._unit(new[low] + u[low])
            better = new_values > values
            if not better.any():
                break
            new = np.where(better[:, None], new, u)
            u, (values, gradients) = new, self._values(new)
        self.lowest = max(self.lowest, float(values.max(initial=0.0)))
        self.met.append((values, u))

    def _unit(self, u: Array) -> Array:
        lengths = np.linalg.norm(u, ord=self.p, axis=1, keepdims=True)
        return np.asarray(u / np.maximum(lengths, _TINY))

    def _values(self, u: Array) -> tuple[Array, Array]:
        """Values (m,) and gradients (m, d) at directions u (m, d)."""
        activations = np.maximum(self.X @ u.T, 0)
        outputs = activations.T @ self.theta
        values = np.linalg.norm(outputs, axis=1)
        weights = self.theta @ (outputs / np.maximum(values, _TINY)[:, None]).T
        return values, (self.X.T @ (weights * (activations > 0))).T

    def _split(self, cones: SimplicialCones) -> SimplicialCones:
        """Halve cones at the edge where activations and norms bend most; close those whose new ray is not exact."""
        Q, N, owner, every = len(cones.bounds), len(cones.rows), cones.owner, np.arange(len(cones.bounds))
        lengths, (first, second) = np.linalg.norm(cones.rays, axis=2), self.edges.T
        units, on, weights = np.abs(cones.products) / lengths.T[:, owner], cones.products > 0, self.sizes[cones.rows]
        bends = [
            np.bincount(owner, weights * np.minimum(units[i], units[j]) * (on[i] != on[j]), Q) for i, j in self.edges
        ]
        outputs = cones.rays @ cones.gradients / lengths[:, :, None]
        sizes, sums = np.linalg.norm(outputs, axis=2), np.linalg.norm(outputs[:, first] + outputs[:, second], axis=2)
        i, j = self.edges[(np.array(bends).T + (sizes[:, first] + sizes[:, second] - sums)).argmax(axis=1)].T
        # powers of two bring the ends to similar lengths
        shift = np.rint(np.log2(lengths[every, i] / lengths[every, j])).astype(np.intp)
        s, t = np.maximum(-shift, 0), np.maximum(shift, 0)
        new = np.ldexp(cones.rays[every, i], s[:, None]) + np.ldexp(cones.rays[every, j], t[:, None])
        inexact = np.abs(new).max(axis=1, initial=0.0) >= _LARGEST_RAY
        if inexact.any():
            return self._split(self._without(cones, inexact))
        children = self.nodes + np.arange(2 * Q).reshape(Q, 2).T
        self.nodes += 2 * Q
        self.splits += [np.column_stack([cones.nodes, i, j, s, t, children[0]])] if self.tree else []
        at, parents = np.arange(N), cones
        cones = SimplicialCones.joined([parents, parents])._replace(nodes=children.ravel())
        cones.rays[every, i], cones.rays[Q + every, j] = new, new
        i, j, s, t = i[owner], j[owner], s[owner], t[owner]
        new = np.ldexp(parents.products[i, at], s) + np.ldexp(parents.products[j, at], t)
        cones.products[i, at], cones.products[j, N + at] = new, new
        return cones

    def _bounded(self, cones: SimplicialCones) -> SimplicialCones:
        """Decide rows, and bound the cones."""
        (Q, d, C), n, owner = cones.gradients.shape, len(self.X), cones.owner
        on, off = cones.products.min(axis=0) >= 0, cones.products.max(axis=0) <= 0

        def start(rows: NDArray[np.bool_]) -> NDArray[np.intp]:
            return np.concatenate([[0], np.cumsum(np.bincount(owner[rows], minlength=Q))])

        sums = csr_array((np.ones(np.count_nonzero(on)), cones.rows[on], start(on)), shape=(Q, n)) @ self.moments
        undecided = ~(on | off)
        cones = cones._replace(
            start=start(undecided),
            rows=cones.rows[undecided],
            products=cones.products[:, undecided],
            gradients=cones.gradients + sums.reshape(Q, d, C),
            bounds=np.full(Q, np.inf) if self.tree else cones.bounds,  # each leaf of a proof has its own vector
        )
        lengths = np.linalg.norm(cones.rays, axis=2)
        live, part, peaks = np.arange(Q), cones, (cones.rays / lengths[:, :, None]).sum(axis=1)
        for _ in range(_REFERENCES):
            scales = _GRID / np.linalg.norm(peaks, axis=1)
            references = (np.rint(peaks * scales[:, None]) + _OFF_PLANES[:d]) / _GRID
            heights = self._heights(part, references) + self.rounding * lengths[live]
            if self.p == 2:
                g, peaks = least_norm(part.rays / lengths[live][:, :, None], heights / lengths[live])
                bounds = np.linalg.norm(g, axis=1)
            else:  # |u|_1 is linear on an orthant
                ratios = heights / np.abs(part.rays).sum(axis=2)
                bounds, peaks = ratios.max(axis=1), part.rays[np.arange(len(live)), ratios.argmax(axis=1)]
                g = bounds[:, None] * np.sign(part.rays.sum(axis=1))
            lower = bounds < cones.bounds[live]
            at = live[lower]
            cones.bounds[at], cones.vectors[at] = bounds[lower], g[lower]
            cones.references[at], cones.peaks[at] = references[lower], peaks[lower]
            more = (cones.bounds[live] > self.target) & peaks.any(axis=1)
            live, peaks = live[more], peaks[more]
            part = cones.take(live)
        return cones

    def _heights(self, cones: SimplicialCones, references: Array) -> Array:
        """Return h (Q, d), bounds of the outputs at the rays."""
        (Q, d, C), n = cones.gradients.shape, len(self.X)
        least, largest = -cones.products.min(axis=0, initial=0.0), cones.products.max(axis=0, initial=0.0)
        side = np.einsum("nd,nd->n", self.X[cones.rows], references[cones.owner]) > 0
        side = (least <= _NEARLY * largest) | (side & (largest > _NEARLY * least))
        base, heights = cones.rays @ cones.gradients, np.empty((Q, d))
        for k, products in enumerate(cones.products):
            low = side * products
            sums = base[:, k] + csr_array((low, cones.rows, cones.start), shape=(Q, n)) @ self.theta
            gaps = csr_array((np.maximum(products, 0) - low, cones.rows, cones.start), shape=(Q, n)) @ self.parts
            ends = sums + gaps[:, :C], gaps[:, C:] - sums
            signed = np.where(cones.signs > 0, *ends)[:, 0]
            heights[:, k] = signed if C == 1 else np.linalg.norm(np.maximum(*ends), axis=1)
        return heights
