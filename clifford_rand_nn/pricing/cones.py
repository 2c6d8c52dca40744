"""Pricing over the neurons with given activation patterns: one cone a pattern and sign."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from clifford_rand._checks import as_rows, check_choice, describe, fail
from clifford_rand._threads import for_each_slice
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.pricing.base import Array, Priced, best_of, check_price, nothing, unbalanced
from clifford_rand_nn.pricing.cone_projection import project_on_cones
from clifford_rand_nn.pricing.cone_vertex import best_vertex

__all__ = ["ConePricer"]

# Projections. At d = 2, n = 160 one takes 0.2 ms as it is and 0.02 ms compiled; compiling takes 8 s, once on a machine,
# and loading 0.5 s.
_INTERPRETED_UP_TO = 2000
_LEAST_PROJECTIONS = 64  # of a thread
_TOL = 1e-12  # violation of a constraint relative to its terms; least squares of a few rows leave some 1e-15
_ROUNDING = 1e-13  # sizes below this share of Σ|θ||x| are rounding
_STEPS = 10  # least-squares problems for each row and dimension; random data takes fewer than 3 d


class _Projected(NamedTuple):
    """The projections of Q functionals: residuals (Q, d), active rows (Q, d + 1), -1 for none."""

    residual: Array
    active: NDArray[np.int64]


class ConePricer:
    r"""The largest :math:`|\theta^TD(Xv+b1)|` over given patterns D, with v in their cones.

    The cone is :math:`(2D-I)(Xv+b1)\ge0`, with :math:`||v||_p\le1`; there is one output. p = 2: the length of the
    projection of :math:`\pm X^TD\theta` on it, by non-negative least squares.
    p = 1: a linear program for each cone that the bounds :math:`||u||^2/||u||_1` and :math:`||u||_\infty`, from the
    projection u, do not exclude.

    Parameters
    ----------
    X : (n, d) array
    patterns : (n, P) bool array
        One pattern a column.
    p : {1, 2}
    bias : bool
        Whether neurons have an offset, which is not penalised.
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
        self._n_patterns, self._scope = int(D.shape[1]), scope
        self._on = np.ascontiguousarray(D[:, D.any(axis=0)].T)  # what is off everywhere has the value 0
        # with an offset the place of the origin is free, and the mean costs no digits
        self._data = np.ascontiguousarray(data - data.mean(axis=0)) if bias else data

    @property
    def n_atoms(self) -> int:
        """Number of patterns."""
        return self._n_patterns

    @property
    def scope(self) -> str:
        """In words."""
        return self._scope or f"over the {self.n_atoms:,} given patterns"

    def price(self, theta: ArrayLike, most: int) -> Priced:
        r"""Return the supremum over the patterns and the best neurons, one a pattern and sign.

        For several outputs atoms are the vector-valued units of `ConvexReLUProblem`, :math:`D(XV+1b^T)` with every
        column of V (d, C) in the cone and :math:`||V||_p\le1` over all entries: the columns are projected one by one.
        Those are no neurons with one direction, so that only the supremum is returned.

        Should a projection not end within its steps, its dual value counts, which is never below the supremum.

        Parameters
        ----------
        theta : (n, C) or (n,)
            With bias :math:`\sum_i\theta_i = 0`; otherwise the pattern that is on everywhere has no finite supremum.
        most : int
            Number of neurons wanted.

        Raises
        ------
        ArgumentError
            ``theta`` is not finite, or not of that shape.
        """
        point = check_price(theta, most, len(self.X), "ConePricer.price")
        everywhere = np.asarray(self._on.all(axis=1))
        infinite = self.bias and bool(everywhere.any()) and unbalanced(point)
        if point.shape[1] > 1:
            return Priced(np.inf if infinite else self._units(point, everywhere), nothing(self.X.shape[1]))
        g, c, found, least = self._column(point[:, 0], everywhere)
        size, neurons = self._inscribed(g, c, found, least, max(1, most))
        neurons = best_of(neurons, point, self.X, most)[1] if len(neurons) else neurons
        return Priced(np.inf if infinite else size, neurons)

    def _units(self, theta: Array, everywhere: NDArray[np.bool_]) -> float:
        """Supremum over vector-valued units: the Frobenius norm of the projections, or the best column for p = 1."""
        columns = [self._column(values, everywhere) for values in theta.T]
        if self.p == 1:
            return max(self._inscribed(*column, 1)[0] for column in columns)
        squares = np.sum([np.sum(found.residual**2, axis=1) for _, _, found, _ in columns], axis=0)
        return float(np.sqrt(squares.max(initial=0.0)))

    def _column(self, values: Array, everywhere: NDArray[np.bool_]) -> tuple[Array, Array, _Projected, float]:
        """Functionals of one output for all patterns, both signs, their projections, and what is rounding."""
        G = (self._on * values) @ self._data
        c = np.where(everywhere, 0.0, self._on @ values) if self.bias else np.zeros(len(G))
        g, c = np.concatenate([G, -G]), np.concatenate([c, -c])
        least = _ROUNDING * float(np.abs(values) @ np.linalg.norm(self._data, axis=1))
        return g, c, self._project(g, c), least

    def _project(self, g: Array, c: Array) -> _Projected:
        n, d = self._data.shape
        pattern = np.tile(np.arange(len(self._on)), 2)
        residual = np.zeros_like(g)
        active = np.zeros((len(g), d + 1), dtype=np.int64)
        reached = np.zeros(len(g), dtype=bool)
        if len(g) <= _INTERPRETED_UP_TO:
            solve = project_on_cones
        else:
            from clifford_rand_nn.pricing.cone_kernel import project_on_cones_compiled as solve  # Numba loads here

        def work(part: slice) -> None:
            solve(
                self._data, self._on, pattern[part], g[part], c[part], self.bias, _TOL, _STEPS * (n + d),
                residual[part], active[part], reached[part],
            )  # fmt: skip

        for_each_slice(work, len(g), least=_LEAST_PROJECTIONS)
        return _Projected(residual, active)

    def _inscribed(self, g: Array, c: Array, found: _Projected, least: float, wanted: int) -> tuple[float, Neurons]:
        """Return the supremum over the balls of the p-norm, and the neurons that have the ``wanted`` largest values."""
        lengths = np.linalg.norm(found.residual, axis=1)
        good = lengths > least
        if not good.any():
            return 0.0, nothing(self.X.shape[1])
        if self.p == 2:
            order = np.argsort(-lengths, kind="stable")[: 2 * wanted]  # neighbours may share the best neuron
            order = order[good[order]]
            v = found.residual[order] / lengths[order, None]
            return float(lengths.max()), self._neurons(v, found.active[order])
        norms = np.where(good, np.abs(found.residual).sum(axis=1), 1.0)
        values = np.where(good, lengths**2 / norms, 0.0)  # lower bounds, until the exact value is known
        bounds = np.where(good, np.abs(found.residual).max(axis=1), 0.0)
        v = found.residual / norms[:, None]
        rows = [[int(i) for i in active if i >= 0] for active in found.active]
        for q in np.argsort(-bounds, kind="stable"):
            threshold = np.partition(values, -min(wanted, len(values)))[-min(wanted, len(values))]
            if bounds[q] <= max(threshold, least):
                break
            vertex = best_vertex(self._data, self._on[q % len(self._on)], g[q], c[q], self.bias)
            if vertex is not None and vertex.value > values[q]:
                values[q], v[q], rows[q] = vertex.value, vertex.direction, vertex.rows
            bounds[q] = values[q]
        order = np.argsort(-values, kind="stable")[: 2 * wanted]
        order = order[values[order] > least]
        return float(values.max()), self._neurons(v[order], [rows[q] for q in order])

    def _neurons(self, v: Array, rows: Sequence[Sequence[int]] | NDArray[np.int64]) -> Neurons:
        """Neurons through their active rows; where there are fewer than the others have, the first is named again."""
        v = v + 0.0  # turns -0 to 0
        lists = [[int(i) for i in row if i >= 0][: v.shape[1] - 1 + self.bias] for row in rows]
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
