r"""A lower bound of networks of any width, in any number of columns, for the problem of a certificate.

It is that of the training problem over all neurons, relaxed to moments of their directions. A network of one output is
a sum of :math:`\pm\alpha(x\cdot u)_+` with directions u of length 1. Of the neurons of one sign, weighted by
:math:`\alpha`, the relaxation knows the mass :math:`\mu`, the mean m and the second moments U, and for row i a mean
activation :math:`(x_i\cdot m + s_i)/2`:

.. math:: \begin{pmatrix}\mu&m^T\\m&U\end{pmatrix}\succeq0,\quad \mathrm{tr}\,U\le\mu,\quad
          \max\big(|x_i\cdot m|,\ x_i^TUx_i/||x_i||\big) \le s_i \le \sqrt{\mu\,x_i^TUx_i}.

The penalty is :math:`\beta\mu`, for several outputs :math:`\beta` times the norm of their masses. The dual point of its
optimum is the best one that the multipliers of `clifford_rand_nn.pricing.moments` can bound.

Directions are then split into cells by the sides of rows. Each cell has moments of its own: on a side :math:`\sigma`,
:math:`s_i=\sigma x_i\cdot m` and :math:`||Ux_i||\le\sigma x_i\cdot m`. The program of all cells is a sharper one. Each
cell that has a mass at its optimum is split by the row whose mean activation the relaxation overstates most.
"""

import time
import warnings
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from typing import Any, NamedTuple, cast

import cvxpy as cp
import numpy as np

from clifford_rand._typing import Array, NDArray
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.certificates.claims import NetworkClaim
from clifford_rand_nn.certificates.values import in_units, with_network_values
from clifford_rand_nn.pricing.family import Family
from clifford_rand_nn.pricing.moments import Multipliers, lifted_rows
from clifford_rand_nn.problems.datafit import Datafit
from clifford_rand_nn.problems.loss_registry import loss_of
from clifford_rand_nn.solvers.cvxpy_reference import units_of, weighted_loss
from clifford_rand_nn.sparse_rows import with_feature

_TINY = np.finfo(np.float64).tiny
_LARGEST_RATE = 1e6  # reciprocal of a mean |t|, which is at most 1; larger ones of rows without weight only round off
_SMALL = 1e-3  # of the mass of all cells: below it a cell is not split
_NEGLIGIBLE = 1e-4  # of the sum of |weights|, which the activation of a row has to be off for a split
_SURE = 0.1  # of the largest |weight|: above it the sign of a weight is taken for granted, which halves the constraints
MOST_CELLS = 500  # of a program of some minutes
_GROWTH = 1.5  # of the time of a program by a split
# The relaxation loses more than the solver's last digits are worth.
_TOLERANCES = {"solver": "CLARABEL", "tol_gap_rel": 1e-4, "tol_gap_abs": 1e-9, "tol_feas": 1e-6}
_FIRST_ORDER = {"solver": "SCS", "eps": 1e-5}
_LARGEST = 2e5  # rows times squared columns times outputs, some seconds


def of_any_width(
    certificate: Certificate,
    X: Array,
    targets: Array,
    weights: Array | None,
    seconds: float = np.inf,
    most_cells: int = MOST_CELLS,
) -> Certificate:
    """Return the certificate of the same network with a bound over all neurons, by `moment_relaxations`.

    ``X`` (n, d) are the rows that count, ``targets`` (n, C) as the loss takes them, ``weights`` (n,) of mean 1. Cells
    are split while the next program is expected to end within these ``seconds``, and there are at most ``most_cells``.
    """
    began = now = time.perf_counter()
    units, scaled, rows, moved = in_units(certificate, X, targets, "certify")
    family = cast(NetworkClaim, scaled.claim).family
    lifted = lifted_rows(with_feature(rows, family.feature), family.bias)
    datafit = Datafit(loss_of(scaled), moved, weights)
    claim, proofs = cast(NetworkClaim, certificate.claim), []
    for point, multipliers in moment_relaxations(lifted, datafit, scaled.beta, certificate.fit_intercept, most_cells):
        family = Family("moments", family.p, family.bias, multipliers, claim.family.feature)
        pricer = family.pricer(X)
        proof = replace(
            certificate,
            claim=replace(claim, family=family),
            dual_point=np.ldexp(point, units.y),
            scope=pricer.scope,
            n_patterns=pricer.n_atoms,
        )
        proofs.append(with_network_values(proof, X, targets, weights, bound=True))
        previous, now = now, time.perf_counter()
        if now - began + _GROWTH * (now - previous) > seconds:
            break
    if not proofs:
        raise RuntimeError("CVXPY did not solve the relaxation of networks of any width")
    return max(proofs, key=lambda proof: proof.lower_bound)


class _Moments(NamedTuple):
    """Moments of weighted directions in a cell, for unit rows (m, k)."""

    path: tuple[int, ...]
    free: NDArray[np.intp]  # rows whose sides are open
    above: NDArray[np.intp]  # of these, those whose sizes are bounded from above
    below: NDArray[np.intp]
    mass: Any
    mean: Any  # (k,)
    sizes: Any  # of |t| of free rows
    total: Any  # (m,): of t + |t|
    constraints: list[Any]

    @classmethod
    def of(cls, rows: Array, path: tuple[int, ...], signs: Array) -> "_Moments":
        """Return variables with their constraints, for the signs (m,) that weights of rows have; 0: both."""
        m, k = rows.shape
        sides, fixed = np.zeros(m), np.abs(path).astype(np.intp) - 1
        sides[fixed] = np.sign(path)
        free = np.flatnonzero(sides == 0)
        above, below = np.flatnonzero(signs[free] >= 0), np.flatnonzero(signs[free] <= 0)
        matrix, sizes = cp.Variable((k + 1, k + 1), PSD=True), cp.Variable(len(free))
        U, mean, mass, own = matrix[:k, :k], matrix[:k, k], matrix[k, k], rows[free]
        squares = (own[:, :, None] * own[:, None]).reshape(len(own), -1) @ cp.vec(U, order="C")
        constraints = [cp.trace(U) <= mass]
        if len(below):
            t = own[below] @ mean
            constraints += [t <= sizes[below], -t <= sizes[below], squares[below] <= sizes[below]]
        if len(above):
            u = squares[above]
            constraints.append(cp.SOC(mass + u, cp.vstack([2 * sizes[above], mass - u])))
        if path:
            normals = sides[fixed, None] * rows[fixed]
            constraints.append(cp.SOC(normals @ mean, U @ normals.T))
        total = (rows * (1 + sides)[:, None]) @ mean + np.eye(m)[:, free] @ sizes
        return cls(path, free, above, below, mass, mean, sizes, total, constraints)

    def multipliers(self, m: int, scale: float) -> tuple[Array, Array, Array, Array]:
        """Return w, ν and κ of all m rows, and cuts (K, 1 + k) times a scale."""
        duals = [constraint.dual_value for constraint in self.constraints[1:]]
        rates, slopes, squares, cuts = np.ones(m), np.zeros(m), np.zeros(m), np.zeros((0, 1 + self.mean.size))
        if len(self.below):
            up, down, square = (np.maximum(dual, 0) for dual in duals[:3])
            weights, rows = np.maximum(up + down + square, _TINY), self.free[self.below]
            slopes[rows], squares[rows] = (up - down) / weights, square / weights
            duals = duals[3:]
        if len(self.above):
            level, (_, part) = duals.pop(0)
            ratios = np.maximum(level - part, _TINY) / np.maximum(level + part, _TINY)
            rates[self.free[self.above]] = np.clip(np.sqrt(ratios), 1.0, _LARGEST_RATE)
        if self.path:
            level, vectors = duals.pop()
            cuts = scale * np.column_stack([level, vectors.T])
        return rates, slopes, squares, cuts

    def halves(self, rows: Array, weights: Array, least: float) -> list[tuple[int, ...]]:
        """Return the paths of its two halves, or its own if it has less than a ``least`` mass.

        ``weights`` (m,) are those of the activations of rows.
        """
        gains = weights[self.free] * (self.sizes.value - np.abs(rows[self.free] @ self.mean.value))
        best = int(np.argmax(gains))
        enough = self.mass.value > least and gains[best] > _NEGLIGIBLE * self.mass.value * np.abs(weights).sum()
        if not enough or len(self.free) == 1:
            return [self.path]
        return [(*self.path, side * (int(self.free[best]) + 1)) for side in (1, -1)]


def moment_relaxations(
    rows: Array, datafit: Datafit, beta: float, intercept: bool, most_cells: int = MOST_CELLS
) -> Iterator[tuple[Array, Multipliers]]:
    """Solve relaxations for rows (n, D) without biases, each of more cells, up to ``most_cells``.

    Yields dual points (n, C) and multipliers for them.
    """
    n, C = datafit.y.shape
    kept = _chosen(n, rows.shape[1], C)
    basis = np.linalg.qr(rows[kept].T)[0] if len(kept) < rows.shape[1] else np.eye(rows.shape[1])
    own = rows[kept] @ basis
    lengths = np.linalg.norm(own, axis=1)
    axis = np.eye(1, own.shape[1])  # of rows that are zero
    directions = np.where(lengths[:, None] > 0, own, axis) / np.where(lengths > 0, lengths, 1.0)[:, None]
    weights = None if datafit.sample_weight is None else datafit.sample_weight[kept]
    part = Datafit(datafit.loss, datafit.y[kept], weights)
    size, unit = units_of(own, part)
    paths: list[list[tuple[int, ...]]] = [[()]] * 2 * C
    signs = np.zeros((2 * C, len(kept)))
    while True:
        trees = [[_Moments.of(directions, path, signs[k]) for path in cells] for k, cells in enumerate(paths)]
        totals = [sum(cell.total for cell in cells) for cells in trees]
        f = cp.vstack([cp.multiply(lengths / (2 * size), totals[k] - totals[k + 1]) for k in range(0, 2 * C, 2)]).T
        level = cp.Variable((1, C)) if intercept else np.zeros((1, C))
        predictions = f + np.ones((len(kept), 1)) @ level
        masses = cp.hstack([sum(cell.mass for cells in trees[k : k + 2] for cell in cells) for k in range(0, 2 * C, 2)])
        objective = weighted_loss(part, predictions, unit) + n * beta / (size * unit) * cp.norm(masses)
        constraints = [constraint for cells in trees for cell in cells for constraint in cell.constraints]
        solvers = (_TOLERANCES,) if any(map(any, paths)) else (_TOLERANCES, _FIRST_ORDER)  # of many cells it is slow
        if not _is_solved(cp.Problem(cp.Minimize(objective), constraints), solvers):
            return
        point = part.residual(predictions.value * unit)
        theta = np.zeros((n, C))
        theta[kept] = point
        weighted = np.repeat(point.T, 2, axis=0) * np.tile([[1], [-1]], (C, 1)) * lengths
        signs = np.where(np.abs(weighted) > _SURE * np.abs(weighted).max(), np.sign(weighted), 0)
        yield theta, _multipliers(trees, [size * unit / max(np.abs(g).sum(), _TINY) for g in weighted], n, kept, basis)
        least = _SMALL * sum(cell.mass.value for cells in trees for cell in cells)
        split = [
            [path for cell in cells for path in cell.halves(directions, weighted[k], least)]
            for k, cells in enumerate(trees)
        ]
        if split == paths or sum(map(len, split)) > most_cells:
            return
        paths = split


def _multipliers(
    trees: list[list[_Moments]], scales: list[float], n: int, kept: NDArray[np.intp], basis: Array
) -> Multipliers:
    """Return the multipliers of cells of trees, of rows ``kept`` of n in a ``basis`` (D, k) of their directions."""
    cells = [(k, cell) for k, own in enumerate(trees) for cell in own]
    T, K = len(cells), max(len(cell.path) for _, cell in cells)
    rates, slopes, squares = np.ones((T, n)), np.zeros((T, n)), np.zeros((T, n))
    paths, cuts = np.zeros((T, K), dtype=np.intp), np.zeros((T, K, 1 + len(basis)))
    for t, (k, cell) in enumerate(cells):
        *parts, own = cell.multipliers(len(kept), scales[k])
        for whole, part in zip((rates, slopes, squares), parts, strict=True):
            whole[t, kept] = part
        steps = np.array(cell.path, dtype=np.intp)
        paths[t, : len(steps)] = np.sign(steps) * (kept[np.abs(steps) - 1] + 1)
        cuts[t, : len(steps)] = np.column_stack([own[:, 0], own[:, 1:] @ basis.T])
    return Multipliers(rates, slopes, squares, np.array([k for k, _ in cells]), paths, cuts)


def _is_solved(problem: cp.Problem, solvers: tuple[dict[str, Any], ...]) -> bool:
    """Solve by the first solver that can; whatever the accuracy, what is found is a bound once it is priced."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Solution may be inaccurate")
        for options in solvers:
            with suppress(cp.SolverError):  # steps too short, of exponential cones
                problem.solve(**options)
            if problem.value is not None and np.isfinite(problem.value):
                return True
    return False


def _chosen(n: int, d: int, outputs: int) -> NDArray[np.intp]:
    """Return the rows of a relaxation in time: without the loss of the others the optimum is no larger."""
    m = int(max(_LARGEST / (outputs * d**2), np.cbrt(_LARGEST / outputs)))  # rows span min(m, d) directions
    return np.arange(n) if m >= n else np.sort(np.random.default_rng(0).choice(n, m, replace=False))
