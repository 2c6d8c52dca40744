"""Pricing over the neurons with given activation patterns: one cone a pattern and sign."""

from collections.abc import Callable
from functools import cache, partial

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_rows, check_choice, describe, fail
from clifford_rand._threads import cached_property, for_each_slice
from clifford_rand._typing import Array
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import Priced, best_of, check_price, nothing, reach_of_rows, unbalanced
from clifford_rand_nn.pricing.cone_best import best_vertex, project_on_cones, project_without_offset
from clifford_rand_nn.pricing.outputs import Answers, climbed, longest_outputs, relaxed_lengths

# Projections. At d = 2, n = 160 one takes 0.2 ms as it is, 0.04 by SciPy and 0.02 ms compiled; compiling takes 8 s,
# once on a machine, and loading 0.5 s.
_INTERPRETED_UP_TO = 2000
_COMPILED_UP_TO = 24  # columns without an offset; beyond, SciPy's updates of a factorization are faster: twice at 65
_LEAST_PROJECTIONS = 64  # of a thread
_TOL = 1e-12  # violation of a constraint relative to its terms; least squares of a few rows leave some 1e-15
_ON_PLANE = 1e-9  # of |x|_max |v|_1: active rows of a residual that is more than rounding are within some 1e-13
_ON = 64 * 2.0**-52  # of the same: what a direction moved onto its rows is within; they count as on the hyperplane
_ROUNDING = 1e-13  # sizes below this share of Σ|θ||x| are rounding
_CLOSE = 1e-3  # a relaxation this near to what is reached is taken as it is
_PART = 2e7  # rows times squared columns of the projections between two checks of the time, half a second or less
_BLOCK = 1 << 21  # rows times patterns that are multiplied at a time, 16 MB
_RELAXED = 1 << 21  # numbers of a batch of relaxations, 16 MB
_STEPS = 10  # least-squares problems for each row and dimension; random data takes fewer than 3 d


class _LateError(Exception):
    """The time is over."""


class ConePricer:
    r"""The largest :math:`||\Theta^TD(Xv+b1)||_2` over given patterns D, with v in their cones.

    The cone is :math:`(2D-I)(Xv+b1)\ge0`, with :math:`||v||_p\le1`. For one output and p = 2 it is the length of the
    projection of :math:`\pm X^TD\theta` on it, by non-negative least squares; for p = 1 a linear program for each cone
    that the bounds :math:`||u||^2/||u||_1` and :math:`||u||_\infty`, from the projection u, do not exclude. For several
    outputs the same is asked for combinations :math:`\Theta a`, and `longest_outputs` searches the unit sphere of a:
    to 1e-9 for up to four outputs that are independent. What it returns as the size is an upper bound in every case.

    Parameters
    ----------
    X : (n, d) array
    patterns : (n, P) bool array
        One pattern a column.
    p : {1, 2}
    bias : bool
        Whether neurons have an offset, which is not penalized.
    scope : str, optional
        Words for what the patterns are, if they are more than given.

    Raises
    ------
    ArgumentError
        X is not a finite (n, d) array, ``patterns`` is not bool or not (n, P), or p is not 1 or 2.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [0.0, 1.0], [2.0, 3.0]])
    >>> pricer = ConePricer(X, np.array([[False], [False], [True], [True]]), p=2)
    >>> size, neurons = pricer.price(np.array([1.0, -1.0, -1.0, 1.0]), 1)
    >>> float(round(size, 9)), neurons.directions.T.round(3).tolist()
    (2.683281573, [[0.447, 0.894]])
    """

    def __init__(
        self, X: ArrayLike, patterns: ArrayLike, p: int = 2, bias: bool = True, scope: str | None = None
    ) -> None:
        owner = "ConePricer"
        data = as_rows(X, owner)
        D = np.asarray(patterns)
        if D.dtype != np.bool_:
            raise fail("patterns", owner, "an array of booleans", describe(f"dtype {D.dtype}"))
        if D.ndim != 2 or len(D) != len(data):
            raise fail("patterns", owner, f"of shape ({len(data)}, P), one a column", describe(f"shape {D.shape}"))
        check_choice(p, "p", owner, (1, 2))
        check_choice(bias, "bias", owner, (True, False))
        self.X, self.p, self.bias = data, p, bias
        self._projections = 0
        self._n_patterns, self._scope = int(D.shape[1]), scope
        self._on = np.ascontiguousarray(D[:, D.any(axis=0)].T)  # what is off everywhere has the value 0
        # with an offset the place of the origin is free, and the mean costs no digits
        self._data = np.ascontiguousarray(data - data.mean(axis=0)) if bias else data

    @property
    def n_atoms(self) -> int:
        """Number of patterns."""
        return self._n_patterns

    @cached_property
    def reach(self) -> Array:
        """Sizes (n,) of what is added up for a neuron on each row."""
        return reach_of_rows(self._data, self.bias)

    @property
    def scope(self) -> str:
        """In words."""
        return self._scope or f"over the {self.n_atoms:,} given patterns"

    def price(
        self, theta: ArrayLike, most: int, late: Callable[[], bool] | None = None, enough: float = np.inf
    ) -> Priced:
        r"""Return an upper bound of the supremum, and the best neurons that were met.

        Should a projection not end within its steps, its dual value counts, which is never below the supremum. Rows of
        1e8 hide neurons whose values are rounding of their sums, so the bound is never below that.

        Parameters
        ----------
        theta : (n, C) or (n,)
            With bias :math:`\sum_i\theta_i = 0`; otherwise the pattern that is on everywhere has no finite supremum.
        most : int
            Number of neurons wanted.
        late : callable, optional
            Asked between projections. If it says yes the neurons so far are returned, with a bound that knows no cones.
        enough : float
            Of several outputs: a neuron above this, met on a climb from the longest outputs that there would be without
            cones, is enough, and the bound then knows none either.

        Raises
        ------
        ArgumentError
            ``theta`` is not finite, or not of that shape.
        """
        point = check_price(theta, most, len(self.X), "ConePricer.price")
        everywhere = np.asarray(self._on.all(axis=1))
        values = _independent(point)
        d, r = self.X.shape[1], values.shape[1]
        if r == 0 or not len(self._on):
            return Priced(0.0, nothing(d))
        G, cut = self._products(values, late)
        everywhere = everywhere[: len(G)]
        c = np.where(everywhere[:, None], 0.0, self._on[: len(G)] @ values) if self.bias else np.zeros((len(G), r))
        if r > 1:  # a chamber's outputs have no more dimensions than its neurons
            axes = np.linalg.svd(np.concatenate([G, c[:, None, :]], axis=1)[:, : d + self.bias], full_matrices=False)[2]
            G, c, r = G @ axes.transpose(0, 2, 1), np.einsum("pr,psr->ps", c, axes), axes.shape[1]
        rounding = _ROUNDING * float(np.linalg.norm(np.abs(values).T @ np.linalg.norm(self._data, axis=1)))
        found: list[Answers] = []
        ask = partial(self._asked, G, c, rounding, max(1, most) if r == 1 else 1, late, found)
        try:
            if r > 1 and enough < np.inf and not self.bias and climbed(ask, _longest(G)) > enough:
                size = self._uncut(G)
            else:
                size, _ = longest_outputs(ask, partial(self._relaxed, G, c, everywhere), len(G), r, self.p)
        except _LateError:
            size = self._uncut(G)
        size = max(size, rounding)  # what is no more than rounding is not known to be less
        neurons = nothing(d)
        lengths = np.concatenate([np.zeros(0), *(np.linalg.norm(answers.images, axis=1) for answers in found)])
        order = np.argsort(-lengths, kind="stable")[: 4 * max(1, most)]  # neighbors may share the best neuron
        order = order[lengths[order] > rounding]
        if len(order):
            v, rows = (
                np.concatenate(parts)[order] for parts in zip(*((a.directions, a.rows) for a in found), strict=True)
            )
            v, on = self._moved(v, rows)
            neurons = best_of(self._neurons(v[on], rows[on]), point, self.X, most)[1] if on.any() else neurons
        infinite = cut or (self.bias and bool(everywhere.any()) and unbalanced(point))
        return Priced(np.inf if infinite else size, neurons)

    def _products(self, values: Array, late: Callable[[], bool] | None) -> tuple[Array, bool]:
        """Return the products (P, d, r) of the rows and values that each pattern keeps; fewer if it got late."""
        (n, d), r = self._data.shape, values.shape[1]
        sides = (self._data[:, :, None] * values[:, None, :]).reshape(n, d * r)
        step = max(1, _BLOCK // n)
        parts: list[Array] = []
        for start in range(0, len(self._on), step):
            if parts and late is not None and late():
                break
            parts.append(self._on[start : start + step].astype(np.float64) @ sides)
        G = np.concatenate(parts).reshape(-1, d, r)
        return G, len(G) < len(self._on)

    def _uncut(self, G: Array) -> float:
        """Return what the longest outputs would be without cones: a bound, infinite where an offset costs nothing."""
        if self.bias:
            return np.inf
        lengths = np.linalg.norm(G, ord=2, axis=(1, 2)) if self.p == 2 else np.linalg.norm(G, axis=2)
        return float(lengths.max(initial=0.0))

    def _asked(
        self,
        G: Array,
        c: Array,
        rounding: float,
        wanted: int,
        late: Callable[[], bool] | None,
        found: list[Answers],
        pattern: NDArray[np.intp],
        a: Array,
    ) -> Answers:
        """Answer in parts, the largest bounds without cones first; ``found`` keeps these answers.

        When time is over between parts, the others keep their bounds without cones, which are finite without an offset.
        """
        n, d = self._data.shape
        size = len(pattern) if late is None else max(1, int(_PART / (n * d**2)))
        goals = np.einsum("qdr,qr->qd", G[pattern], a)
        reach = np.linalg.norm(goals, ord=2 if self.p == 2 else np.inf, axis=1)
        order = np.arange(len(pattern)) if late is None else np.argsort(-reach, kind="stable")
        parts: list[Answers] = []
        for first in range(0, len(pattern), size):
            part = order[first : first + size]
            if late is not None and late():
                if self.bias or not parts:
                    raise _LateError
                part, none = order[first:], np.zeros((len(order) - first, d))
                rows, images = np.full((len(part), d + 1), -1), np.zeros((len(part), a.shape[1]))
                parts.append(Answers(pattern[part], reach[part], goals[part], none, rows, images))
                break
            parts.append(self._answers(G, c, rounding, wanted, late, pattern[part], a[part]))
            found.append(parts[-1])
        place = np.argsort(order)
        return Answers(*(np.concatenate(field)[place] for field in zip(*parts, strict=True)))

    def _answers(
        self,
        G: Array,
        c: Array,
        rounding: float,
        wanted: int,
        late: Callable[[], bool] | None,
        pattern: NDArray[np.intp],
        a: Array,
    ) -> Answers:
        """Maximize a·z over the cones of the patterns: by a projection, and a linear program if p = 1."""
        goals = np.ascontiguousarray(np.einsum("qdr,qr->qd", G[pattern], a))
        shares = np.ascontiguousarray(np.einsum("qr,qr->q", c[pattern], a))
        residuals, rows = self._project(pattern, goals, shares)
        lengths = np.linalg.norm(residuals, axis=1)
        good = lengths > rounding
        norms = np.where(good, np.linalg.norm(residuals, ord=self.p, axis=1), 1.0)
        bounds = np.where(good, lengths if self.p == 2 else np.abs(residuals).max(axis=1), 0.0)
        v = np.where((good & self._spanned(residuals, rows))[:, None], residuals / norms[:, None], 0.0)
        if self.p == 1:
            values = np.where(good, lengths**2 / norms, 0.0)  # lower bounds, until the exact value is known
            for q in np.argsort(-bounds, kind="stable"):
                threshold = np.partition(values, -min(wanted, len(values)))[-min(wanted, len(values))]
                if bounds[q] <= max(threshold, rounding) or (late is not None and late()):
                    break
                vertex = best_vertex(self._data, self._on[pattern[q]], goals[q], float(shares[q]), self.bias)
                if vertex is not None and vertex.value > values[q]:
                    kept = vertex.rows[: rows.shape[1]]
                    values[q], v[q], rows[q] = vertex.value, vertex.direction, -1
                    rows[q, : len(kept)] = kept
                bounds[q] = values[q]
        images = np.einsum("qdr,qd->qr", G[pattern], v)
        if self.bias:
            images -= np.einsum("qd,qd->q", v, self._data[rows[:, 0]])[:, None] * c[pattern]
        return Answers(pattern, bounds, residuals, v, rows, images)

    def _relaxed(
        self,
        G: Array,
        c: Array,
        everywhere: NDArray[np.bool_],
        chosen: NDArray[np.intp],
        found: list[Answers],
        lowest: float,
    ) -> Array:
        """Bounds of the chosen patterns, by the rows on which neurons lie that were found; for p = 1 those of p = 2."""
        chambers, rows, v = (
            np.concatenate(parts) for parts in zip(*((a.chambers, a.rows, a.directions) for a in found), strict=True)
        )
        n, d = self._data.shape
        D = d + self.bias
        unit = float(np.sqrt(np.mean(self._data**2))) or 1.0  # of offsets
        full = np.concatenate([self._data, np.full((n, int(self.bias)), unit)], axis=1)
        if self.bias:
            v = np.concatenate([v, -np.einsum("qd,qd->q", v, self._data[rows[:, 0]])[:, None] / unit], axis=1)
        M = np.concatenate([G, unit * c[:, None, :]], axis=1)[chosen, :D]
        bounds = np.asarray(
            np.linalg.norm(G[chosen], ord=2, axis=(1, 2))
        )  # that of a pattern whose offset has no effect
        used = [np.unique(part[(part >= 0) & (part < n)]) for part in (rows[chambers == i] for i in chosen)]
        S = np.zeros((len(chosen), D, max(map(len, used))))
        met = np.zeros((len(chosen), D, D))
        for k, i in enumerate(chosen):
            S[k, :, : len(used[k])] = np.where(self._on[i, used[k]], 1.0, -1.0) * full[used[k]].T
            mine = v[chambers == i]
            met[k] = mine.T @ mine
        step = max(1, _RELAXED // (S.shape[2] ** 2 + 4 * D**2))
        part = np.flatnonzero(~everywhere[chosen]) if self.bias else np.arange(len(chosen))
        for some in np.array_split(part, -(-len(part) // step)) if len(part) else []:
            enough = np.full(len(some), lowest * (1 + _CLOSE))
            bounds[some] = relaxed_lengths(M[some], S[some], met[some], d, enough)
        return bounds

    def _project(self, pattern: NDArray[np.intp], g: Array, c: Array) -> tuple[Array, NDArray[np.int64]]:
        """Residuals (Q, d), and the rows on the hyperplane (Q, d + 1), -1 where there are fewer."""
        n, d = self._data.shape
        residual = np.zeros_like(g)
        active = np.zeros((len(g), d + 1), dtype=np.int64)
        reached = np.zeros(len(g), dtype=bool)
        self._projections += len(g)
        solve: Callable[..., None] = project_on_cones if self.bias else project_without_offset
        if self._projections > _INTERPRETED_UP_TO and (self.bias or d <= _COMPILED_UP_TO):
            solve = _compiled()

        def work(part: slice) -> None:
            solve(
                self._data, self._on, pattern[part], g[part], c[part], self.bias, _TOL, _STEPS * (n + d),
                residual[part], active[part], reached[part],
            )  # fmt: skip

        for_each_slice(work, len(g), least=_LEAST_PROJECTIONS)
        return residual, active

    def _spanned(self, residuals: Array, rows: NDArray[np.int64]) -> NDArray[np.bool_]:
        """Tell which residuals (Q, d) are orthogonal to their active rows; one that is rounding alone is to none."""
        origin = self._data[rows[:, 0]] if self.bias else np.zeros_like(residuals)
        most = _ON_PLANE * float(np.abs(self._data).max(initial=0.0)) * np.abs(residuals).sum(axis=1)
        spanned = np.ones(len(residuals), dtype=bool)
        for place in rows.T:
            distance = np.abs(np.einsum("qd,qd->q", self._data[place] - origin, residuals))
            spanned &= (place < 0) | (distance <= most)
        return spanned

    def _moved(self, v: Array, rows: NDArray[np.int64]) -> tuple[Array, NDArray[np.bool_]]:
        """Move directions onto the rows that they are named with; tell which are there as well as rounding lets them.

        A projection that is short beside its goal leaves them off by the rounding of the goal. Their columns are zero
        on these rows, and would then be those of no neuron.
        """
        v, on = v.copy(), np.ones(len(v), dtype=bool)
        for q, named in enumerate(self._named(rows, v.shape[1])):
            data = np.array([i for i in named if i < len(self._data)], dtype=np.intp)
            normals = self._data[data[self.bias :]] - (self._data[data[0]] if self.bias and len(data) else 0.0)
            lengths = np.linalg.norm(normals, axis=1, keepdims=True)
            normals, live = np.divide(normals, lengths, out=normals, where=lengths > 0), v[q] != 0
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
        width = max(map(len, lists))
        if not all(lists):
            width = 0
        index = np.array([row + row[:1] * (width - len(row)) for row in lists], dtype=np.intp) if width else None
        if index is None:
            return Neurons.free(np.ascontiguousarray(v.T), np.zeros(len(v)))
        offsets = -np.einsum("ij,ij->i", v, self.X[index[:, 0]]) + 0.0 if self.bias else np.zeros(len(v))
        return Neurons(np.ascontiguousarray(v.T), offsets, index)

    def __repr__(self) -> str:
        return f"ConePricer({self.scope}, p={self.p}, bias={self.bias})"


def _longest(G: Array) -> Array:
    """Return the directions (P, r) of the longest outputs that there would be without cones."""
    return np.asarray(np.linalg.svd(G, full_matrices=False)[2][:, 0])


def _independent(theta: Array) -> Array:
    """Return (n, r) with the same norms of products, r the rank: the losses of classes leave one output dependent."""
    if theta.shape[1] == 1:
        return theta if theta.any() else theta[:, :0]
    _, sizes, axes = np.linalg.svd(theta, full_matrices=False)
    return np.asarray(theta @ axes[sizes > _ROUNDING * sizes[0]].T)


@cache
def _compiled() -> Callable[..., None]:
    from clifford_rand.machine.numba_code import compiled  # loads here, not at import

    twin: Callable[..., None] = compiled()(project_on_cones)
    return twin
