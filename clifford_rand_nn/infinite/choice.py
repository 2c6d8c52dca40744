r"""Which rows, which constant feature and which beta: every candidate by leave-one-out, the best of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._typing import Array
from clifford_rand_nn.infinite.kernel import GateKernel
from clifford_rand_nn.infinite.leave_one_out import LeaveOneOut
from clifford_rand_nn.infinite.standard import SCALINGS, Standardisation

BIASES = (1.0, 0.3, 3.0, 0.0)  # constant features, in root mean square lengths of a row; the first is tried first
_N_BETAS = 40
_REFINED = 9  # betas between the neighbours of the best of the grid

Score = Callable[[Array], Array]  # leave-one-out predictions (B, n, C) to scores (B,), the less the better


class Candidate(NamedTuple):
    """What was compared.

    Attributes
    ----------
    scaling : str
        How rows are scaled, one of `SCALINGS`.
    bias : float
        The constant feature, in root mean square lengths of a row.
    beta : float
        The best for it, in the 1/n scale of all rows.
    score : float
        By leave-one-out, the less the better.
    n : int
        Rows that it was compared on.
    """

    scaling: str
    bias: float
    beta: float
    score: float
    n: int


@dataclass(frozen=True, eq=False)
class Problem:
    """Rows (n, d) as they come, targets (n, C), weights with mean 1 or None, and groups of rows or None."""

    X: NDArray[np.floating]
    targets: Array
    weights: Array | None
    groups: NDArray[np.intp] | None

    def take(self, rows: NDArray[np.intp]) -> "Problem":
        """Return the problem of some rows."""
        w = None if self.weights is None else self.weights[rows] / self.weights[rows].mean()
        return Problem(self.X[rows], self.targets[rows], w, None if self.groups is None else self.groups[rows])

    def kernel_rows(self, scaling: str, bias: float) -> tuple[Standardisation, Array, GateKernel]:
        """Return the scaling, the rows it makes, and the kernel with the constant feature on them."""
        standard = Standardisation.of(self.X, scaling, self.weights)
        rows = standard.rows(self.X)
        length = np.average(np.einsum("ij,ij->i", rows, rows), weights=self.weights)
        return standard, rows, GateKernel(bias=float(bias * np.sqrt(length)))


def best_beta(loo: LeaveOneOut, score: Score) -> tuple[float, float]:
    """Return the beta of the least score, from a grid over all that makes a difference and one between its best."""
    betas = loo.grid(_N_BETAS)
    scores = score(loo.predictions(betas))
    best = int(np.nanargmin(scores))
    finer = np.geomspace(betas[max(best - 1, 0)], betas[min(best + 1, len(betas) - 1)], _REFINED + 2)
    again = score(loo.predictions(finer))
    k = int(np.nanargmin(again))
    return float(finer[k]), float(again[k])


def candidates(problem: Problem, score: Score) -> list[Candidate]:
    """Compare scalings with the first constant feature, then constant features with the best scaling; best first."""
    found: list[Candidate] = []

    def compare(scaling: str, bias: float) -> None:
        _, rows, kernel = problem.kernel_rows(scaling, bias)
        loo = LeaveOneOut(kernel(rows), problem.targets, problem.weights, problem.groups)
        found.append(Candidate(scaling, bias, *best_beta(loo, score), len(rows)))

    for scaling in SCALINGS:
        compare(scaling, BIASES[0])
    best = min(found, key=lambda one: one.score)
    for bias in BIASES[1:]:
        compare(best.scaling, bias)
    return sorted(found, key=lambda one: one.score)
