"""Pricing over the neurons with given activation patterns: one cone a pattern and sign."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from clifford_rand._checks import as_rows, check_choice
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.gates.hyperplanes import checked_patterns
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import Priced, Pricer, best_of, check_price, nothing, unbalanced
from clifford_rand_nn.pricing.cone_best import Cones, best_vertex
from clifford_rand_nn.pricing.outputs import Answers, climbed, longest_outputs, relaxed_lengths
from clifford_rand_nn.rounding import block_products

_ON = 64 * 2.0**-52  # of the same: what a direction moved onto its rows is within; they count as on the hyperplane
_ROUNDING = 1e-13  # sizes below this share of Σ|θ||x| are rounding
_CLOSE = 1e-3  # a relaxation this near to what is reached is taken as it is
_PART = 2e7  # rows times squared columns of the projections between two checks of the time, half a second or less
_BLOCK = 1 << 21  # rows times patterns that are multiplied at a time, 16 MB
_RELAXED = 1 << 21  # numbers of a batch of relaxations, 16 MB


class _LateError(Exception):
    """The time is over."""


class ConePricer(Pricer):
    r"""The largest :math:`||\Theta^TD(Xv+b1)||_2` over given patterns D, columns of (n, P) bool, with v in their cones.

    The cone is :math:`(2D-I)(Xv+b1)\ge0`, with :math:`||v||_p\le1`. For one output and p = 2 it is the length of the
    projection of :math:`\pm X^TD\theta` on it, by non-negative least squares; for p = 1 a linear program for each cone
    that the bounds :math:`||u||^2/||u||_1` and :math:`||u||_\infty`, from the projection u, do not exclude. For several
    outputs the same is asked for combinations :math:`\Theta a`, and `longest_outputs` searches the unit sphere of a:
    to 1e-9 for up to four outputs that are independent. What it returns as the size is an upper bound in every case.
    With ``bias`` neurons have an offset, which is not penalized; ``scope`` are words for the patterns.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    >>> pricer = ConePricer(X, np.array([[False], [False], [True], [True]]), p=2)
    >>> size, neurons = pricer.price(np.array([1.0, -1.0, -1.0, 1.0]), 1)
    >>> float(round(size, 9)), neurons.directions.T.round(3).tolist()
    (2.683281573, [[0.447, 0.894]])
    """

    centers = True

    def __init__(
        self, X: ArrayLike, patterns: ArrayLike, p: int = 2, bias: bool = True, scope: str | None = None
    ) -> None:
        owner = "ConePricer"
        data = as_rows(X, owner)
        D = checked_patterns(patterns, len(data), owner)
        check_choice(p, "p", owner, (1, 2))
        check_choice(bias, "bias", owner, (True, False))
        self.X, self.p, self.bias = data, p, bias
        self._n_patterns, self.scope = int(D.shape[1]), scope or f"over the {D.shape[1]:,} given patterns"
        # with an offset the place of the origin is free, and the mean costs no digits
        centered = np.ascontiguousarray(data - data.mean(axis=0)) if bias else data
        self._cones = Cones(centered, np.ascontiguousarray(D[:, D.any(axis=0)].T), bias)  # all off has the value 0

    @property
    def n_atoms(self) -> int:
        """Number of patterns."""
        return self._n_patterns

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        r"""Return an upper bound of the supremum, and the ``most`` best neurons met, for theta (n, C) or (n,).

        With bias :math:`\sum_i\theta_i = 0`; otherwise the pattern that is on everywhere has no finite supremum. Should
        a projection not end within its steps, its dual value counts, which is never below the supremum. Rows of 1e8
        hide neurons whose values are rounding of their sums, so the bound is never below that. ``late`` is asked
        between projections: if it says yes the neurons so far are returned, with a bound that knows no cones. Of
        several outputs a neuron above ``enough``, met on a climb from the longest outputs without cones, ends the
        search, and the bound then knows none either.
        """
        point = check_price(theta, most, len(self.X), "ConePricer.price")
        values = _independent(point, self.reach)
        d, r = self.X.shape[1], values.shape[1]
        if r == 0 or not len(self._cones.on):
            return Priced(0.0, nothing(d))
        search = _Search.of(self._cones, values, self.p, max(1, most), late)
        size, rounding = search.supremum(enough), search.rounding
        neurons = nothing(d)
        lengths = np.concatenate([np.zeros(0), *(np.linalg.norm(a.images, axis=1) for a in search.answered)])
        order = np.argsort(-lengths, kind="stable")[: 4 * max(1, most)]  # neighbors may share the best neuron
        order = order[lengths[order] > rounding]
        if len(order):
            fields = zip(*((a.directions, a.rows) for a in search.answered), strict=True)
            v, rows = (np.concatenate(parts)[order] for parts in fields)
            v, on = self._moved(v, rows)
            neurons = best_of(self._neurons(v[on], rows[on]), point, self.X, most)[1] if on.any() else neurons
        infinite = search.cut or (self.bias and bool(search.everywhere.any()) and unbalanced(point))
        return Priced(np.inf if infinite else size, neurons)

    def _moved(self, v: Array, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """Move directions onto the rows that they are named with; tell which are there as well as rounding lets them.

        A projection that is short beside its goal leaves them off by the rounding of the goal. Their columns are zero
        on these rows, and would then be those of no neuron.
        """
        v, on = v.copy(), np.ones(len(v), dtype=bool)
        data = self._cones.data
        for q, named in enumerate(self._named(rows, v.shape[1])):
            index = np.array([i for i in named if i < len(data)], dtype=np.intp)
            normals = data[index[self.bias :]] - (data[index[0]] if self.bias and len(index) else 0.0)
            lengths = np.linalg.norm(normals, axis=1, keepdims=True)
            normals, live = np.divide(normals, lengths, out=normals, where=lengths > 0), v[q] != 0
            # subtract the part along the normals, on the coordinates that are not exactly zero
            v[q, live] -= np.linalg.lstsq(normals[:, live], normals @ v[q], rcond=None)[0]
            size = float(np.linalg.norm(v[q], ord=self.p))
            v[q] /= size or 1.0
            on[q] = size > 0 and bool((np.abs(normals @ v[q]) <= _ON * np.abs(normals) @ np.abs(v[q])).all())
        return v, on

    def _named(self, rows: NDArray[np.int64], d: int) -> list[list[int]]:
        """Return the rows that span each hyperplane, no more than span one."""
        return [[int(i) for i in row if i >= 0][: d - 1 + self.bias] for row in rows]

    def _neurons(self, v: Array, rows: NDArray[np.int64]) -> Neurons:
        """Neurons through their active rows; where there are fewer than the others have, the first is named again."""
        v = v + 0.0  # turns -0 to 0
        lists = self._named(rows, v.shape[1])
        if not all(lists):
            return Neurons.free(np.ascontiguousarray(v.T), np.zeros(len(v)))
        width = max(map(len, lists))
        index = np.array([row + row[:1] * (width - len(row)) for row in lists], dtype=np.intp)
        offsets = -np.einsum("ij,ij->i", v, self.X[index[:, 0]]) + 0.0 if self.bias else np.zeros(len(v))
        return Neurons(np.ascontiguousarray(v.T), offsets, index)

    def __repr__(self) -> str:
        return f"ConePricer({self.scope}, p={self.p}, bias={self.bias})"


def _independent(theta: Array, reach: Array) -> Array:
    """Return (n, r) with the same norms of products, r the rank: the losses of classes leave one output dependent.

    Outputs that are dependent up to rounding of the products are left out, so rows count by their sizes ``reach`` (n,).
    """
    if theta.shape[1] == 1:
        return theta if theta.any() else theta[:, :0]
    _, sizes, axes = np.linalg.svd(theta * reach[:, None], full_matrices=False)
    return np.asarray(theta @ axes[sizes > _ROUNDING * sizes[0]].T)


@dataclass(frozen=True, eq=False)
class _Search:
    """The search for the longest outputs over some cones: goals G (P, d, r) and c (P, r), and what was answered."""

    cones: Cones
    p: int
    G: Array
    c: Array
    everywhere: NDArray[np.bool_]
    cut: bool
    rounding: float
    wanted: int
    late: Callable[[], bool] | None
    answered: list[Answers]

    @classmethod
    def of(cls, cones: Cones, values: Array, p: int, wanted: int, late: Callable[[], bool] | None) -> "_Search":
        """Return the search for outputs of the values (n, r); over some of the patterns if it gets late."""
        d, r = cones.data.shape[1], values.shape[1]
        G, cut = _products(cones, values, late)
        on = cones.on[: len(G)]
        everywhere = np.asarray(on.all(axis=1))
        # what an offset adds, 1ᵀDθ; for a pattern that is on everywhere it is 0 if θ is balanced
        c = np.where(everywhere[:, None], 0.0, on @ values) if cones.bias else np.zeros((len(G), r))
        if r > 1:  # a chamber's outputs have no more dimensions than its neurons
            whole = np.concatenate([G, c[:, None, :]], axis=1)[:, : d + cones.bias]
            axes = np.linalg.svd(whole, full_matrices=False)[2]
            G, c, r = G @ axes.transpose(0, 2, 1), np.einsum("pr,psr->ps", c, axes), axes.shape[1]
        rounding = _ROUNDING * float(np.linalg.norm(np.abs(values).T @ np.linalg.norm(cones.data, axis=1)))
        return cls(cones, p, G, c, everywhere, cut, rounding, wanted if r == 1 else 1, late, [])

    def supremum(self, enough: float) -> float:
        """Return an upper bound of the longest outputs, see `ConePricer.price`."""
        r, size = self.G.shape[2], self._uncut()
        try:
            reached = 0.0
            if r > 1 and enough < np.inf and not self.cones.bias:
                # climb from the directions (P, r) of the longest outputs that there would be without cones
                reached = climbed(self.ask, np.linalg.svd(self.G, full_matrices=False)[2][:, 0])
            if reached <= enough:
                size, _ = longest_outputs(self.ask, self._relaxed, len(self.G), r, self.p)
        except _LateError:
            pass  # the bound without cones stays
        return max(size, self.rounding)  # what is no more than rounding is not known to be less

    def _uncut(self) -> float:
        """Return what the longest outputs would be without cones: a bound, infinite where an offset costs nothing."""
        if self.cones.bias:
            return np.inf
        lengths = np.linalg.norm(self.G, ord=2, axis=(1, 2)) if self.p == 2 else np.linalg.norm(self.G, axis=2)
        return float(lengths.max(initial=0.0))

    def ask(self, pattern: NDArray[np.intp], a: Array) -> Answers:
        """Answer in parts, the largest bounds without cones first; ``answered`` keeps these answers.

        When time is over between parts, the others keep their bounds without cones, which are finite without an offset.
        """
        n, d = self.cones.data.shape
        size = len(pattern) if self.late is None else max(1, int(_PART / (n * d**2)))
        # without its cone the answer of a pattern is the dual norm of G a
        goals = np.einsum("qdr,qr->qd", self.G[pattern], a)
        reach = np.linalg.norm(goals, ord=2 if self.p == 2 else np.inf, axis=1)
        order = np.arange(len(pattern)) if self.late is None else np.argsort(-reach, kind="stable")
        parts: list[Answers] = []
        for first in range(0, len(pattern), size):
            part = order[first : first + size]
            if self.late is not None and self.late():
                if self.cones.bias or not parts:
                    raise _LateError
                part, none = order[first:], np.zeros((len(order) - first, d))
                rows, images = np.full((len(part), d + 1), -1), np.zeros((len(part), a.shape[1]))
                parts.append(Answers(pattern[part], reach[part], goals[part], none, rows, images))
                break
            parts.append(self._answers(pattern[part], a[part]))
            self.answered.append(parts[-1])
        place = np.argsort(order)
        return Answers(*(np.concatenate(field)[place] for field in zip(*parts, strict=True)))

    def _answers(self, pattern: NDArray[np.intp], a: Array) -> Answers:
        """Maximize a·z over the cones of the patterns: by a projection, and a linear program if p = 1."""
        goals = np.ascontiguousarray(np.einsum("qdr,qr->qd", self.G[pattern], a))
        shares = np.ascontiguousarray(np.einsum("qr,qr->q", self.c[pattern], a))
        # the residual u of the projection bounds the size by ||u||_2, and for p = 1 by ||u||_∞
        residuals, rows = self.cones.project(pattern, goals, shares)
        lengths = np.linalg.norm(residuals, axis=1)
        good = lengths > self.rounding
        norms = np.where(good, np.linalg.norm(residuals, ord=self.p, axis=1), 1.0)
        bounds = np.where(good, lengths if self.p == 2 else np.abs(residuals).max(axis=1), 0.0)
        v = np.where((good & self.cones.spanned(residuals, rows))[:, None], residuals / norms[:, None], 0.0)
        if self.p == 1:
            values = np.where(good, lengths**2 / norms, 0.0)  # lower bounds, until the exact value is known
            # by falling bounds, until no cone that is left can be among the wanted ones
            for q in np.argsort(-bounds, kind="stable"):
                threshold = np.partition(values, -min(self.wanted, len(values)))[-min(self.wanted, len(values))]
                if bounds[q] <= max(threshold, self.rounding) or (self.late is not None and self.late()):
                    break
                on, c = self.cones.on[pattern[q]], float(shares[q])
                vertex = best_vertex(self.cones.data, on, goals[q], c, self.cones.bias)
                if vertex is None:
                    continue
                bounds[q] = min(bounds[q], vertex.bound)
                if vertex.value > values[q]:
                    kept = vertex.rows[: rows.shape[1]]
                    values[q], v[q], rows[q] = vertex.value, vertex.direction, -1
                    rows[q, : len(kept)] = kept
        images = np.einsum("qdr,qd->qr", self.G[pattern], v)
        if self.cones.bias:
            # the offset b = -x_m·v adds b c
            images -= np.einsum("qd,qd->q", v, self.cones.data[rows[:, 0]])[:, None] * self.c[pattern]
        return Answers(pattern, bounds, residuals, v, rows, images)

    def _relaxed(self, chosen: NDArray[np.intp], answered: list[Answers], lowest: float) -> Array:
        """Bounds of the chosen patterns, by the rows on which neurons lie that were found; for p = 1 those of p = 2."""
        chambers, rows, v = (
            np.concatenate(parts) for parts in zip(*((a.chambers, a.rows, a.directions) for a in answered), strict=True)
        )
        n, d = self.cones.data.shape
        D = d + self.cones.bias
        unit = float(np.sqrt(np.mean(self.cones.data**2))) or 1.0  # of offsets
        full = np.concatenate([self.cones.data, np.full((n, int(self.cones.bias)), unit)], axis=1)
        if self.cones.bias:
            v = np.concatenate([v, -np.einsum("qd,qd->q", v, self.cones.data[rows[:, 0]])[:, None] / unit], axis=1)
        # coordinates (v, b / unit), in which the offset is of the size of the weights
        M = np.concatenate([self.G, unit * self.c[:, None, :]], axis=1)[chosen, :D]
        # without cones, which is right for a pattern whose offset has no effect
        bounds = np.asarray(np.linalg.norm(self.G[chosen], ord=2, axis=(1, 2)))
        used = [np.unique(part[(part >= 0) & (part < n)]) for part in (rows[chambers == i] for i in chosen)]
        S = np.zeros((len(chosen), D, max(map(len, used))))
        met = np.zeros((len(chosen), D, D))
        for k, i in enumerate(chosen):
            # normals of the rows that neurons of this chamber touched bound its cone
            S[k, :, : len(used[k])] = np.where(self.cones.on[i, used[k]], 1.0, -1.0) * full[used[k]].T
            mine = v[chambers == i]
            met[k] = mine.T @ mine
        step = max(1, _RELAXED // (S.shape[2] ** 2 + 4 * D**2))
        part = np.flatnonzero(~self.everywhere[chosen]) if self.cones.bias else np.arange(len(chosen))
        for some in np.array_split(part, -(-len(part) // step)) if len(part) else []:
            enough = np.full(len(some), lowest * (1 + _CLOSE))
            bounds[some] = relaxed_lengths(M[some], S[some], met[some], d, enough)
        return bounds


def _products(cones: Cones, values: Array, late: Callable[[], bool] | None) -> tuple[Array, bool]:
    """Return the products (P, d, r) of the rows and values that each pattern keeps; fewer if it got late."""
    (n, d), r = cones.data.shape, values.shape[1]
    sides = (cones.data[:, :, None] * values[:, None, :]).reshape(n, d * r)
    step = max(1, _BLOCK // n)
    parts: list[Array] = []
    for start in range(0, len(cones.on), step):
        if parts and late is not None and late():
            break
        parts.append(block_products(cones.on[start : start + step].astype(np.float64).T, sides))
    G = np.concatenate(parts).reshape(-1, d, r)
    return G, len(G) < len(cones.on)
