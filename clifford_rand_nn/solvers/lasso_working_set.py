"""Column generation: the Lasso over a family of atoms too large to write down, solved on those that matter."""

from collections.abc import Callable
from copy import copy
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Unpack

import numpy as np

from clifford_rand._checks import as_rows, check_integer, check_size, describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array, ArrayLike, NDArray
from clifford_rand_nn.neurons import Neurons, WeightedNeurons
from clifford_rand_nn.pricing.base import Pricer
from clifford_rand_nn.problems.duality import DualBound, TargetOptions, dual_bound
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.rounding import block_products
from clifford_rand_nn.solvers.base import Limits, Result, Status
from clifford_rand_nn.solvers.lasso_interior_point import InteriorPoint, polished
from clifford_rand_nn.solvers.lasso_majorize_minimize import MajorizeMinimize
from clifford_rand_nn.solvers.lasso_proximal_newton import ProximalNewton
from clifford_rand_nn.solvers.stopping import Watch, handed_over

# How many times as many columns of a matrix as are added the sample of them is drawn from. On the spiral 4 took 19
# rounds, 16 and 64 took 14, and the largest columns themselves took 25.
_DEPTH = 64
_CENTRAL = 0.1  # the first masters are solved to this gap: their dual points are central, which saves rounds
_SHARE = 0.1  # of the gap so far: the tolerance of the next master; and of tol, that of the last one
_ENOUGH = 0.1  # of tol: the least violation that ends a search for larger ones
_ORDER = 600  # rows × outputs of a softmax up to which the interior point factors a matrix of that order
_VIOLATED = 1e-13  # of the bound: an atom that is above it by less is so by rounding
_MOST = 1000  # atoms a round by default, where 2n is more; a master with more of them takes longer than a pricing
_CROWDED = 8  # atoms in use per one that matters, above which half of them are dropped
_ROOM = 1.5  # growth of that limit with every drop, so that in the end nothing is dropped and the method converges


@dataclass(frozen=True, eq=False)
class PricedNeurons:
    """Neurons of a pricer on the rows of X, and those in use with their columns K (n, m)."""

    X: Array
    pricer: Pricer
    neurons: Neurons
    K: Array

    def price(
        self, theta: Array, most: int, above: float, enough: float, late: Callable[[], bool] | None
    ) -> tuple[float, float, tuple[Neurons, Array]]:
        """Return a bound of |k^T theta| over the family, the largest that was met, and new atoms with values ``above``.

        A pass through a list may take minutes, so it ends when it is ``late``. A value that is ``enough`` ends the
        search for larger ones among cones of several outputs, and by branch and bound: the bound is then a rough one.
        """
        size, neurons = self.pricer.price(theta, most, late, enough)
        columns = neurons.training_columns(self.X)
        values = np.linalg.norm(columns.T @ theta, axis=1)
        new = np.flatnonzero(values > above)
        return size, float(values.max(initial=0.0)), (neurons.take(new), columns[:, new])

    @property
    def reach(self) -> Array:
        """Sizes (n,) of what is added up for an atom on each row."""
        return self.pricer.reach

    def added(self, priced: tuple[Neurons, Array]) -> "PricedNeurons":
        """Return the set with what `price` found."""
        parts = [part for part in (self.neurons, priced[0]) if len(part)]  # an empty one knows no spanning rows
        neurons = Neurons.joined(parts) if parts else self.neurons
        return PricedNeurons(self.X, self.pricer, neurons, np.concatenate([self.K, priced[1]], axis=1))

    def kept(self, index: NDArray[np.intp]) -> "PricedNeurons":
        """Return the set with only the columns at ``index`` in use."""
        return PricedNeurons(self.X, self.pricer, self.neurons.take(index), self.K[:, index])

    def solution(self, weights: Weights) -> WeightedNeurons:
        """Return the neurons with their weights."""
        return WeightedNeurons(self.neurons.take(weights.columns), weights.values, weights.intercept)


@dataclass(frozen=True, eq=False)
class MatrixColumns:
    """Columns of a dictionary (n, N), the largest entry of each row (n,), and which are in use."""

    dictionary: Array
    reach: Array
    index: NDArray[np.intp]
    K: Array = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "K", self.dictionary[:, self.index])

    def price(
        self, theta: Array, most: int, above: float, enough: float, late: Callable[[], bool] | None
    ) -> tuple[float, float, NDArray[np.intp]]:
        """Correlate with every column; of the violated ones take a quarter from the top, and a sample of the others.

        The largest ones are neighbors of each other, and adding them all helps little more than adding one.
        """
        sizes = np.linalg.norm(block_products(theta, self.dictionary), axis=0)
        violated = np.flatnonzero(sizes > above)
        violated = violated[np.argsort(-sizes[violated], kind="stable")]
        top, rest = np.split(violated, [-(-most // 4)])
        rest = rest[: _DEPTH * most]
        sample = rest[np.unique(np.linspace(0, rest.size - 1, min(rest.size, most - most // 4)).astype(np.intp))]
        size = float(sizes.max(initial=0.0))
        return size, size, np.setdiff1d(np.concatenate([top, sample])[:most], self.index)

    def added(self, columns: NDArray[np.intp]) -> "MatrixColumns":
        """Return the set with what `price` found."""
        return MatrixColumns(self.dictionary, self.reach, np.concatenate([self.index, columns]))

    def kept(self, index: NDArray[np.intp]) -> "MatrixColumns":
        """Return the set with only the columns at ``index`` in use."""
        return MatrixColumns(self.dictionary, self.reach, self.index[index])

    def solution(self, weights: Weights) -> Weights:
        """Return the weights with their columns in the dictionary, in its order."""
        columns = self.index[weights.columns]
        order = np.argsort(columns)
        return Weights(columns[order], weights.values[order], weights.intercept)


@dataclass(frozen=True, kw_only=True)
class WorkingSet(Limits):
    r"""Solve the Lasso over a family of atoms by column generation, with a bound that holds for the whole family.

    A round solves the problem over the atoms in use (the master, by `InteriorPoint`, or by `ProximalNewton` for the
    squared loss of several outputs), prices its dual point over the family, and adds atoms with
    :math:`||k^T\theta||_2 > n\beta`. Scaled by :math:`\min(1, n\beta/\mathrm{size})` the dual point is feasible for the
    family, so every round gives a lower bound. A master is solved to a tenth of the gap so far and no further: its dual
    point is then central, and cuts off more (primal-dual column generation). At the end the solution is made basic and,
    for one output, solved to rounding on its atoms.

    An iteration is a round. A pass through the columns of a dictionary takes half of the time that is left at most;
    one that is cut short adds the best atoms so far, and proves nothing. The matrix of the atoms in use, and what a
    master takes, grow up to ``max_memory``.

    References
    ----------
    Gondzio, González-Brevis, Munari, "New developments in the primal-dual column generation technique", European J.
    Oper. Res. 224 (2013).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> problem = LassoProblem(rng.random((20, 500)), rng.random(20), beta=1e-3)
    >>> result = WorkingSet(tol=1e-9).solve_columns(problem)
    >>> result.status, result.coefficients.columns.size < 20
    (<Status.OPTIMAL: 'optimal'>, True)
    """

    tol: float = 1e-8
    max_iter: int = 200
    most: int | None = None  # atoms added in a round; None for 2n, at most 1000

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.most is not None:
            check_integer(self.most, "most", "WorkingSet")

    @handed_over
    def solve(
        self,
        X: ArrayLike,  # (n, d)
        y: ArrayLike,
        beta: float,
        pricer: Pricer,  # decides what the optimum and the gap are over: see its ``scope``
        *,
        start: Neurons | None = None,  # atoms to begin with; they must belong to the family
        **options: Unpack[TargetOptions],
    ) -> Result[WeightedNeurons]:
        r"""Train :math:`\sum_jZ_j(x^Tv_j+b_j)_++t` over all atoms (v, b) of a pricer.

        ``y``, ``beta``, ``options``: as in `LassoProblem`. Raises ArgumentError: as `LassoProblem`; X is not an (n, d)
        array, or ``start`` has another d.
        """
        owner = "WorkingSet.solve"
        data = as_rows(X, owner)
        check_size(data, "X", owner)
        d = data.shape[1]
        neurons = Neurons.free(np.zeros((d, 0)), np.zeros(0)) if start is None else start
        if neurons.d != d:
            raise fail("start", owner, f"neurons of dimension {d}, that of X", describe(f"dimension {neurons.d}"))
        atoms = PricedNeurons(data, pricer, neurons, neurons.training_columns(data))
        return self._solve(LassoProblem(atoms.K, y, beta, **options), atoms)

    @handed_over
    def solve_columns(self, problem: LassoProblem, start: Weights | None = None) -> Result[Weights]:
        """Minimize a problem whose family is the columns of its K, from other weights if there are some."""
        index = np.zeros(0, dtype=np.intp) if start is None else start.columns
        start = start and start._replace(columns=np.arange(len(index)))
        return self._solve(problem, MatrixColumns(problem.K, problem.reach, index), start)

    def _solve(self, family: LassoProblem, atoms: Any, start: Weights | None = None) -> Result[Any]:
        watch = Watch[Any](self, family.relative_gap)
        with watch:
            if start is not None:
                watch.check(0, *self._judged(family, atoms, start, watch))
            if watch.status is None:
                self._rounds(family, atoms, watch, start)
        with watch, ONE_BLAS_THREAD:
            self._make_basic(family, watch)
        atoms, weights = watch.point
        return watch.result("working_set", atoms.solution(weights))

    def _rounds(self, family: LassoProblem, atoms: Any, watch: Watch[Any], start: Weights | None) -> None:
        """Solve masters and add atoms until the watch or rounding ends it."""
        radius = family.n * family.beta
        most = min(2 * family.n, _MOST) if self.most is None else self.most
        tol, room = max(_CENTRAL, self.tol), 2 * most
        for k in count(1):
            master = _over(family, atoms.K)
            limits = tol, self.after(watch.seconds).max_time
            inner = _solver_of(master, *limits)
            if self.max_memory is not None and inner.memory(master) > self.max_memory and k > 1:
                return watch.stop(Status.MAX_MEMORY)
            result = solved_master(master, start, *limits)
            bound, hoped, new, cut = self._priced(family, atoms, result.dual_point, most, watch, _ENOUGH * self.tol)
            watch.check(k, result.objective, bound, (atoms, result.coefficients), result.fitted)
            if result.status.ends_all:
                watch.stop(result.status)
            if watch.status is not None:
                return None
            more, start = atoms.added(new), result.coefficients
            gap = min(watch.gap, family.relative_gap(max(watch.objective, hoped), hoped))  # as far as neurons were met
            near = result.converged and tol <= _SHARE * gap  # then the gap is the pricer's, not the master's
            if more.K.shape[1] == atoms.K.shape[1] and (near or tol <= _SHARE * self.tol):
                advice = "rounding, or a pricer that only bounds, leaves no atom to add; try a larger tol"
                return watch.stop(Status.MAX_TIME) if cut else watch.stop(Status.STALLED, advice)
            sizes = np.linalg.norm(master.K.T @ result.dual_point, axis=1)
            room = max(room, _CROWDED * _matter(result.coefficients, sizes, radius))
            if sizes.size > room:
                kept = np.sort(np.argsort(-sizes, kind="stable")[: room // 2])
                more, start = atoms.kept(kept).added(new), _among(start, kept)
                room = int(_ROOM * room)
            stuck = _SHARE if more.K.shape[1] == atoms.K.shape[1] else 1.0
            tol = max(min(stuck * tol, _SHARE * gap), _SHARE * self.tol)
            atoms = more
        return None

    def _make_basic(self, family: LassoProblem, watch: Watch[Any]) -> None:
        """Take a basic form of the best point."""
        atoms, weights = watch.point
        weights = polished(_over(family, atoms.K), weights, watch, self.tol)
        # Solved to rounding, the residual bounds better than a master's dual point, which only comes near.
        watch.polish(*self._judged(family, atoms, weights, watch))

    def _judged(self, family: LassoProblem, atoms: Any, weights: Weights, watch: Watch[Any]) -> tuple[Any, ...]:
        """Return the objective of weights, the bound that their residual gives, the point and its predictions."""
        master = _over(family, atoms.K)
        fitted = master.predictions(weights)
        bound, *_ = self._priced(family, atoms, family.datafit.residual(fitted), 1, watch, np.inf)
        return master.objective(weights, fitted), bound, (atoms, weights), fitted

    def _priced(
        self, family: LassoProblem, atoms: Any, theta: Array, most: int, watch: Watch[Any], enough: float
    ) -> tuple[DualBound, float, Any, bool]:
        """Price the dual point of a master over the family.

        Return a lower bound; what it would be, were no values larger than those met; atoms that cut the point off; and
        whether time ran out. A value above the bound by the share ``enough`` ends the search for larger ones.
        """
        radius, limit = family.n * family.beta, self.max_time
        end = None if limit is None else 0.5 * (watch.seconds + limit)
        late = None if end is None else lambda: watch.seconds > end
        results: list[Any] = []

        def size(theta: Array) -> float:
            value, met, new = atoms.price(theta, most, radius * (1 + _VIOLATED), radius * (1 + enough), late)
            results.append((met, new, late is not None and late()))
            return float(value)

        bound = dual_bound(family.datafit, theta, family.Q, size, radius, atoms.reach)
        met, new, cut = results[-1]
        hoped = dual_bound(family.datafit, theta, family.Q, lambda _: met, radius, atoms.reach)
        return bound, hoped.value, new, cut


def solved_master(master: LassoProblem, start: Weights | None, tol: float, max_time: float | None) -> Result[Weights]:
    """Solve a problem over a few columns, from ``start`` where the method can; nothing is made basic."""
    inner = _solver_of(master, tol, max_time)
    return inner.solve(master) if isinstance(inner, InteriorPoint) else inner.solve(master, start)


def _solver_of(
    master: LassoProblem, tol: float, max_time: float | None
) -> InteriorPoint | ProximalNewton | MajorizeMinimize:
    """Return the method: for several outputs one without a matrix of order rows × outputs, unless these are few."""
    limits: dict[str, Any] = {"tol": tol, "max_time": max_time}
    if ProximalNewton.suits(master):
        return ProximalNewton(basic=False, **limits)
    if not master.datafit.loss.separable and master.n * master.outputs > _ORDER:
        return MajorizeMinimize(**limits)
    return InteriorPoint(basic=False, **limits)


def _over(problem: LassoProblem, K: Array) -> LassoProblem:
    """Return the same problem over other columns."""
    smaller = copy(problem)
    smaller.K = K
    return smaller


def _among(weights: Weights, kept: NDArray[np.intp]) -> Weights:
    """Return the weights of the columns that are kept, by their new places."""
    stays = np.isin(weights.columns, kept)
    return Weights(np.searchsorted(kept, weights.columns[stays]), weights.values[stays], weights.intercept)


def _matter(weights: Weights, sizes: Array, radius: float) -> int:
    """Count the columns whose weight is larger, relative to the largest, than their slack relative to the bound."""
    norms = np.zeros(sizes.size)
    norms[weights.columns] = np.linalg.norm(weights.values, axis=1)
    return int(np.count_nonzero(norms * radius > (radius - sizes) * norms.max(initial=0.0)))
