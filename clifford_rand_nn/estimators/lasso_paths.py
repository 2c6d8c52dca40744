"""The Lasso and the group Lasso over a list of neurons along decreasing beta."""

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg.lapack import dposv
from sklearn.linear_model import enet_path

from clifford_rand._checks import describe, fail
from clifford_rand._threads import ONE_BLAS_THREAD
from clifford_rand._typing import Array
from clifford_rand_nn.gates.dictionary import CrossProductDictionary, cross_product_dictionary
from clifford_rand_nn.gates.subsets import count_subsets
from clifford_rand_nn.neurons import Neurons
from clifford_rand_nn.problems.datafit import Datafit, unpenalized_fit
from clifford_rand_nn.problems.duality import constant_columns
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import Limits, Result
from clifford_rand_nn.solvers.lasso_path import MAX_BREAKPOINTS, homotopy, solution_at

_TOL, _PASSES = 1e-4, 300  # gap as a share of the squared targets, passes over the columns
# Steps of other losses, passes of each, and the share of the objective that the last one gains, of Newton's method and
# of bounds, which converge slowly. With 300 passes and 1e-4 the same beta is chosen on banana in 10.9 CPU s, not 1.8.
_STEPS, _STEP_PASSES, _GAIN, _BOUND_GAIN = 30, 30, 1e-3, 1e-4
_HALVINGS = 10
_FLAT = 1e-4  # least curvature of a row, as a share of the largest there is
MOST_ACTIVE = 100  # neurons at which a path ends: a finite network is asked for by those who want few
_ENTRIES, _PLANES = 2e6, 1000  # of the matrix of planes that are drawn, and planes at most
_ALL_ENTRIES = 1e6  # of the matrix of all of them, up to which none is drawn
_FREE_PLANES = 300  # beside neurons that climb
_STARTS, _CLIMBS, _TAKEN = 50, 8, 60  # planes that climb, their steps, and the best of them that are taken
_ALIKE = 1e-3  # one less the cosine of two neurons of which one does
_SETS, _NEW = 12, 50  # working sets, and columns that one adds
_CHANGE, _REWEIGHTINGS = 1e-3, 40  # of the norms that squares follow, as a share of the largest, and steps at most
_ON_PLANE = 1e-12  # of the length of a row: a margin below is rounding, and the row that spans a plane is off
_SLACK, _LEAST = 1.01, 1e-3  # of a correlation over the radius, and of the largest norm, for columns that stay
_TINY, _EPS = np.finfo(np.float64).tiny, float(np.finfo(np.float64).eps)
_SEED = 0  # of what is drawn, always the same: no seed is in a result


class LassoCoordinateDescent:
    r"""Weights of columns K (n, m) of ``atoms`` for falling beta, each from the last ones.

    .. math:: \min_{Z,t}\ \frac1n\sum_i\omega_i\ell\Big(\sum_jK_{ij}Z_j+t,\ y_i\Big)+\beta\sum_j||Z_j||_2

    The squared loss takes one run of coordinate descent (scikit-learn's). The logistic one and the softmax are replaced
    by squares with a weight :math:`h_i` for each row, the curvature of the loss there, and a step goes towards their
    minimum: Newton's method for one output, and with a bound of the row's eigenvalues for more.
    """

    def __init__(self, atoms: Neurons, K: Array, datafit: Datafit, fit_intercept: bool) -> None:
        self.atoms, self._K, self._datafit, self._intercept = atoms, K, datafit, fit_intercept
        start = unpenalized_fit(datafit, constant_columns(len(K), fit_intercept))
        self._t = start[0] if fit_intercept else np.zeros(start.shape[1])
        self._values: Array = np.zeros((K.shape[1], start.shape[1]))
        self._f = np.broadcast_to(self._t, start.shape)
        self._squares: tuple[Array, Array, Array, Array] | None = None

    @ONE_BLAS_THREAD  # probabilities are calibrated on these outputs, whose last bits several threads change
    def at(self, beta: float) -> tuple[Array, Array]:
        """Return the weights (m, C) and the intercept (C,)."""
        if not self._K.shape[1]:
            return self._values, self._t
        quadratic = self._datafit.loss.is_quadratic
        objective = self._objective(self._f, self._values, beta)
        for _ in range(1 if quadratic else _STEPS):
            values, t = self._towards(beta)
            move, shift = values - self._values, t - self._t
            turn, length = self._K @ move + shift, 1.0
            for _ in range(0 if quadratic else _HALVINGS):
                if self._objective(self._f + length * turn, self._values + length * move, beta) <= objective:
                    break
                length /= 2
            self._f, self._t = self._f + length * turn, self._t + length * shift
            self._values = self._values + length * move
            last, objective = objective, self._objective(self._f, self._values, beta)
            if last - objective <= (_GAIN if self._datafit.loss.separable else _BOUND_GAIN) * objective:
                break
        return self._values, self._t

    def _objective(self, f: Array, values: Array, beta: float) -> float:
        return self._datafit.value(f) + beta * float(np.linalg.norm(values, axis=1).sum())

    def _towards(self, beta: float) -> tuple[Array, Array]:
        """Return the minimum of the squares that touch the loss where the weights are."""
        A, mean, root, share = self._rows()
        response = self._f + self._datafit.residual(self._f) / root**2
        level = share @ response
        solution = enet_path(
            A,
            np.asfortranarray(root * (response - level)),
            l1_ratio=1.0,
            alphas=[beta],
            coef_init=np.array(self._values.T, order="F"),  # it is written to
            tol=_TOL,
            max_iter=_PASSES if self._datafit.loss.is_quadratic else _STEP_PASSES,
            check_input=False,
        )[1]
        values = np.ascontiguousarray(solution[:, :, 0].T)
        return values, np.asarray(level - mean @ values)

    def _rows(self) -> tuple[Array, Array, Array, Array]:
        """Columns centered and scaled by the roots of the rows' curvature, their mean, these roots, and the shares."""
        if self._squares is not None:
            return self._squares
        h = self._curvature()
        root = np.sqrt(h)[:, None]
        share = h / h.sum() if self._intercept else np.zeros(len(h))
        mean = share @ self._K
        squares = np.asfortranarray(root * (self._K - mean)), mean, root, share
        if self._datafit.loss.is_quadratic:
            self._squares = squares
        return squares

    def _curvature(self) -> Array:
        datafit, loss = self._datafit, self._datafit.loss
        weights = np.ones(len(self._K)) if datafit.sample_weight is None else datafit.sample_weight
        if loss.is_quadratic:
            return weights
        theta = loss.residual(self._f, datafit.y)
        rows = loss.row_curvature_at(theta, datafit.y)[:, 0]
        return np.asarray(weights * np.maximum(rows, _FLAT * min(loss.curvature, float(rows.max()))))


def on_exact_path(model: Any, task: Any, problem: LassoProblem) -> Result[Weights]:
    """Return the solution at the beta of an estimator, read from the exact path of its problem."""
    if not problem.datafit.loss.is_quadratic or problem.outputs > 1:
        rule = "'homotopy' only for loss='squared' and one output"
        value = describe(f"loss={problem.loss!r}, {problem.outputs} outputs")
        raise fail("solver", type(model).__name__, rule, value, "Use solver='auto'.")
    max_time = Limits(max_time=model.max_time).after(task.seconds).max_time
    path = homotopy(problem, model.beta_, max_iter=model.max_iter or MAX_BREAKPOINTS, max_time=max_time)
    return solution_at(path, problem, model._tolerance())


def planes(rows: Array, gates: str) -> CrossProductDictionary:
    """Return hyperplanes through rows (n, d): all, if few and ``gates`` is "row_spanned", or some of them."""
    n, d = rows.shape
    total = count_subsets(n, d, "mixed", False)
    few = max(2 * d, min(_PLANES, int(_ENTRIES // (2 * n))))
    if gates == "optimized":
        few = min(few, max(2 * d, _FREE_PLANES))
    every = gates == "row_spanned" and (total <= few or 2 * total * n <= _ALL_ENTRIES)
    drawn = None if every else min(few, total)
    return cross_product_dictionary(rows, "l1", bias=False, subsample=drawn, random_state=_SEED, sparse_first=True)


def climbed(rows: Array, theta: Array, directions: Array) -> Array:
    r"""Return unit neurons (d, m) that are better correlated with theta (n, C), each by :math:`v\gets X^TD_v\theta a`.

    :math:`a=\theta^T(Xv)_+/||\theta^T(Xv)_+||`. Where it stands still v is a stationary point of
    :math:`||\theta^T(Xv)_+||_2` on the sphere, as a neuron of an optimal network is for its dual point. A row
    on a plane, as those that span it, is off: by the sign of its margin rounding would decide where a climb leads.
    """
    V, least = directions, _ON_PLANE * np.linalg.norm(rows, axis=1)[:, None]
    for _ in range(_CLIMBS):
        K = rows @ V
        K = np.where(least < K, K, 0.0)
        a = _unit(theta.T @ K)
        V = _unit(rows.T @ (theta @ a * (K > 0)))
    return V


class GroupLassoPath:
    r"""The group Lasso :math:`\frac1{2n}\sum_i\omega_i||Z^TK_i+t-y_i||^2+\beta\sum_j||Z_j||_2` for falling beta.

    It is solved for rows (n, d), with the constant feature if there is one, targets (n, C) and weights of mean 1 or
    None, to a gap enough to judge, each time from the last solution. With ``gates="optimized"`` every beta begins with
    new neurons that climb from the residuals, beside planes through the rows; with "row_spanned" the neurons are these
    planes.
    """

    def __init__(self, rows: Array, targets: Array, weights: Array | None, gates: str) -> None:
        self.rows, self.dictionary = rows, planes(rows, gates)
        self.p, self._grows = 1 if gates == "row_spanned" else 2, gates == "optimized"
        n = len(rows)
        self._root = np.ones(n) if weights is None else np.sqrt(weights)
        self._share = self._root**2 / n
        self._level = self._share @ targets
        self._y = np.asfortranarray(self._root[:, None] * (targets - self._level))
        atoms = self.dictionary.neurons()
        if self._grows:
            atoms = Neurons.free(_unit(atoms.directions), atoms.offsets)
        self.atoms = Neurons.free(np.zeros((rows.shape[1], 0)), np.zeros(0))
        self._K, self._means = np.zeros((n, 0), order="F"), np.zeros(0)
        self._values = np.zeros((0, targets.shape[1]))
        self._add(atoms)
        self._starts = np.random.default_rng(_SEED).standard_normal((rows.shape[1], _STARTS))
        if self._grows:
            self._grow()
        sizes = np.linalg.norm(self._K.T @ self._y, axis=1)
        self.top = float(sizes.max(initial=0.0)) / n

    def at(self, beta: float) -> Weights:
        """Return the solution at the next beta."""
        if self._grows:
            self._grow()
        self._values = descended(self._K, self._y, len(self._y) * beta, self._values)
        active = np.flatnonzero(self._values.any(axis=1))
        return self._chosen(active, self._values[active])

    def refitted(self, chosen: Weights, beta: float, most: int | None) -> Weights:
        """Return what a smaller beta makes of the neurons that are chosen, or of the best ``most`` of them."""
        kept = np.arange(len(chosen.columns))
        if most is not None and len(kept) > most:
            kept = self._eliminated(chosen, beta, most)
        columns = chosen.columns[kept]
        if not len(columns):
            return chosen
        values = _shrunk(self._K[:, columns], self._y, len(self._y) * beta, chosen.values[kept])
        some = np.flatnonzero(values.any(axis=1))
        return self._chosen(columns[some], values[some])

    def predictions(self, chosen: Weights, rows: Array) -> Array:
        """Return the outputs (m, C) on rows (m, d)."""
        return np.asarray(self.atoms.take(chosen.columns).columns(rows) @ chosen.values + chosen.intercept)

    def _eliminated(self, chosen: Weights, beta: float, most: int) -> NDArray[np.intp]:
        r"""Return the places of the neurons that stay when the one that is missed least goes, again and again.

        With the norms replaced by the squares that touch them, H the curvature of the rest, :math:`Z=H^{-1}K^Ty`,
        the objective rises by :math:`||Z_j||^2/(2(H^{-1})_{jj})` without j (optimal brain surgeon).
        """
        K = self._K[:, chosen.columns]
        sizes = np.linalg.norm(chosen.values, axis=1)
        G = np.linalg.inv(_ridged(K.T @ K, len(K) * beta / sizes))
        towards, kept = K.T @ self._y, np.arange(len(sizes))
        while len(kept) > most:
            Z = G @ towards[kept]
            j = int((np.einsum("jc,jc->j", Z, Z) / G.diagonal()).argmin())
            rest = np.delete(np.arange(len(kept)), j)
            G = G[np.ix_(rest, rest)] - np.outer(G[rest, j], G[j, rest]) / G[j, j]
            kept = kept[rest]
        return kept

    def _chosen(self, columns: NDArray[np.intp], values: Array) -> Weights:
        return Weights(columns, values.copy(), self._level - self._means[columns] @ values)

    def _residual(self) -> Array:
        active = np.flatnonzero(self._values.any(axis=1))
        return np.asarray(self._y - self._K[:, active] @ self._values[active])

    def _grow(self) -> None:
        """Add neurons that climb from random planes and from those in use."""
        theta = self._root[:, None] * self._residual()
        active = np.flatnonzero(self._values.any(axis=1))
        directions = climbed(self.rows, theta, np.hstack([self._starts, self.atoms.directions[:, active]]))
        sizes = np.linalg.norm(theta.T @ np.maximum(self.rows @ directions, 0), axis=0)
        directions = directions[:, np.argsort(-sizes, kind="stable")[:_TAKEN]]
        known = (self.atoms.directions.T @ directions).max(axis=0, initial=-1.0)
        cosines = np.triu(directions.T @ directions, 1).max(axis=0, initial=-1.0)
        new = directions[:, (known < 1 - _ALIKE) & (cosines < 1 - _ALIKE) & directions.any(axis=0)]
        if new.shape[1]:
            self._add(Neurons.free(np.ascontiguousarray(new), np.zeros(new.shape[1])))

    def _add(self, new: Neurons) -> None:
        columns = new.training_columns(self.rows)
        means = self._share @ columns
        self._K = np.asfortranarray(np.hstack([self._K, self._root[:, None] * (columns - means)]))
        self._means = np.append(self._means, means)
        self.atoms = Neurons.joined([part for part in (self.atoms, new) if len(part)] or [new])
        self._values = np.vstack([self._values, np.zeros((len(new), self._y.shape[1]))])


def descended(K: Array, y: Array, radius: float, values: Array) -> Array:
    r"""Return Z (N, C) of :math:`\frac12||KZ-y||^2+r\sum_j||Z_j||_2` from other values on, by sets of columns."""
    Z = values.copy()
    active = np.flatnonzero(Z.any(axis=1))
    for turn in range(_SETS):
        sizes = np.linalg.norm(K.T @ (y - K[:, active] @ Z[active]), axis=1)
        sizes[active] = 0
        new = np.argsort(-sizes, kind="stable")[:_NEW]
        new = new[sizes[new] > radius * _SLACK]
        if turn and not len(new):
            break
        active = np.union1d(active, new)
        if len(active):
            Z[active] = _shrunk(K[:, active], y, radius, Z[active])
            active = np.flatnonzero(Z.any(axis=1))
    return Z


def _shrunk(K: Array, y: Array, radius: float, values: Array) -> Array:
    r"""Return weights of a few columns by squares that touch the norms, :math:`||Z||\le||Z||^2/2s+s/2`.

    Each step takes the least value of that bound for the last norms s; a norm whose column should be 0 shrinks by the
    square of its correlation over the radius, since by the first power is slow. Columns correlate, and where they do
    coordinate descent takes thousands of passes.
    """
    G, towards = K.T @ K, K.T @ y
    s = np.linalg.norm(values, axis=1)
    fresh = np.linalg.norm(towards - G @ values, axis=1) / np.maximum(G.diagonal(), _TINY)
    s = np.where(s > 0, s, np.minimum(fresh, s.max(initial=0.0) or np.inf))
    on, Z = np.flatnonzero(s), np.zeros_like(values)
    while len(on):
        Z[on], s[on] = _touched(G[np.ix_(on, on)], towards[on], radius, s[on])
        slack = np.linalg.norm(towards - G[:, on] @ Z[on], axis=1)
        stay = on[(slack[on] * _SLACK >= radius) & (s[on] > _LEAST * s[on].max())]
        Z[np.setdiff1d(on, stay)] = 0
        if len(stay) == len(on):
            break
        on = stay
    return Z


def _touched(G: Array, towards: Array, radius: float, s: Array) -> tuple[Array, Array]:
    """Return weights, and norms for the next squares, from norms s > 0 on; all of them stay."""
    Z = towards
    for _ in range(_REWEIGHTINGS):
        root = np.sqrt(s)
        A = _ridged(root[:, None] * G * root, radius)
        Z = root[:, None] * _solved(A, root[:, None] * towards)
        norms = np.linalg.norm(Z, axis=1)
        moved = np.abs(norms - s).max()
        s = np.where(norms < s, norms * np.divide(norms, s, out=np.zeros_like(s), where=s > 0), norms)
        if moved <= _CHANGE * norms.max():
            break
    return Z, s


def _ridged(G: Array, ridge: Array | float) -> Array:
    """Return G with a ridge, and no less than its rounding: near copies of a column would make it singular."""
    least = len(G) * _EPS * float(G.diagonal().max(initial=0.0))
    ridged = G.copy()
    ridged.flat[:: len(G) + 1] += np.maximum(ridge, least)
    return ridged


def _solved(A: Array, b: Array) -> Array:
    """Return the solution of a positive definite system, half as costly as one of any kind."""
    _, solution, info = dposv(A, b, lower=1)
    return np.asarray(solution if info == 0 else np.linalg.solve(A, b))  # rounding can take more than the ridge


def _unit(V: Array) -> Array:
    norms = np.linalg.norm(V, axis=0)
    return np.asarray(np.divide(V, norms, out=np.zeros_like(V), where=norms > 0))
