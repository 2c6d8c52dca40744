"""A whole regularization path of the Lasso: breakpoints, and everything between them by interpolation."""

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import fail
from clifford_rand._typing import Array
from clifford_rand_nn.neurons import WeightedNeurons
from clifford_rand_nn.problems.lasso import LassoProblem, Weights
from clifford_rand_nn.solvers.base import HistoryRow, Result, Status
from clifford_rand_nn.solvers.stopping import as_interrupted
from clifford_rand_nn.sparse_rows import merged_rows

SO_FAR = "this is the path so far"


class PathPoint(NamedTuple):
    """A solution: the columns in use (m,), ascending, their weights (m,), the intercept."""

    columns: NDArray[np.intp]
    values: Array
    intercept: float


@dataclass(frozen=True, eq=False)
class LassoPath:
    r"""Solutions of a Lasso for every β from ``betas[0]`` down to ``betas[-1]``.

    .. math:: p(\beta) = \min_{z,t}\ \frac1{2n}||Kz+t-y||^2+\beta||z||_1

    Weights and intercept are linear in β between two breakpoints, and constant above the first.

    ``betas`` (B,): breakpoints, falling; the first is the least β without a column, the last the end of what was
    computed. ``columns``, ``values`` (M,): breakpoint k uses ``columns[starts[k]:starts[k + 1]]`` with these values.

    Examples
    --------
    >>> from clifford_rand_nn.solvers.lasso_path_following import homotopy
    >>> path = homotopy(LassoProblem(np.eye(2), [3.0, 1.0], beta=1.0, fit_intercept=False), 0.0)
    >>> path.betas.tolist()
    [1.5, 0.5, 0.0]
    >>> columns, values, intercept = path.at(1.0)
    >>> columns.tolist(), values.tolist()
    ([0], [1.0])
    """

    betas: Array
    objectives: Array  # (B,), optimal values
    relative_gaps: Array  # (B,), (primal - dual)/primal, with the residual, scaled to be feasible, as dual point
    n_active: NDArray[np.intp]  # (B,), number of weights that are not 0
    intercepts: Array  # (B,)
    columns: NDArray[np.intp]
    values: Array
    starts: NDArray[np.intp]  # (B + 1,)
    status: Status  # "optimal" if ``betas[-1]`` is the β that was asked for, or what stopped the path
    seconds: float
    message: str = ""  # where it stopped, and what to do about it

    def __len__(self) -> int:
        return int(self.betas.size)

    @property
    def converged(self) -> bool:
        """Whether the path reaches the β that was asked for."""
        return self.status is Status.OPTIMAL

    def point(self, k: int) -> PathPoint:
        """Return the solution at breakpoint k."""
        k = range(len(self))[k]
        part = slice(self.starts[k], self.starts[k + 1])
        return PathPoint(self.columns[part], self.values[part], float(self.intercepts[k]))

    def at(self, beta: float) -> PathPoint:
        """Return the solution at ``beta``.

        Raises ArgumentError: ``beta`` is below the end of the path.
        """
        if not beta >= self.betas[-1]:
            rule = f"a number ≥ {self.betas[-1]:.6g}, where the path ends"
            raise fail("beta", "LassoPath", rule, beta, "Compute the path with a smaller beta_min.")
        k = int(np.searchsorted(-self.betas, -beta, side="right")) - 1
        if k < 0 or self.betas[k] == beta:
            return self.point(max(k, 0))
        share = float((self.betas[k] - beta) / (self.betas[k] - self.betas[k + 1]))
        before, two = self.point(k), self.point(k + 1)
        columns, place = np.unique(np.concatenate([before.columns, two.columns]), return_inverse=True)
        parts = np.concatenate([(1 - share) * before.values, share * two.values])
        values = np.asarray(np.bincount(place, parts, minlength=columns.size), dtype=np.float64)
        return PathPoint(columns, values, (1 - share) * before.intercept + share * two.intercept)

    def __repr__(self) -> str:
        return (
            f"LassoPath({len(self)} breakpoints, beta={self.betas[0]:.6g}…{self.betas[-1]:.6g}, "
            f"n_active={self.n_active[-1]}, status={self.status.value!r}, seconds={self.seconds:.2f})"
        )


@as_interrupted.register
def _(path: LassoPath) -> LassoPath:
    return replace(path, status=Status.INTERRUPTED, message=f"stopped at beta = {path.betas[-1]:.6g}, {SO_FAR}")


def solution_at(path: LassoPath, problem: LassoProblem, tol: float) -> Result[Weights]:
    """Read the solution of ``problem`` at its beta from the path of its columns, and judge it by the problem's own gap.

    If the path ends above that beta, its last solution is judged, and the status says why it ended.
    """
    columns, values, intercept = path.at(max(problem.beta, float(path.betas[-1])))
    weights = Weights(columns, values[:, None], np.array([intercept]))
    f = problem.predictions(weights)
    objective, bound = problem.objective(weights, f), problem.dual_bound(f)
    gap = problem.relative_gap(objective, bound.value)
    if gap <= tol and not path.status.ends_all:
        status, message = Status.OPTIMAL, ""
    else:
        status = Status.STALLED if path.converged else path.status
        message = f"a relative gap of {gap:.1e} at the end of the path: {path.message or 'try a larger tol'}"
    return Result(
        objective=objective,
        duality_gap=max(objective - bound.value, 0.0),
        relative_gap=gap,
        n_iter=len(path),
        status=status,
        history=(HistoryRow(len(path), path.seconds, objective, gap),),
        solver="homotopy",
        seconds=path.seconds,
        coefficients=weights,
        fitted=f,
        dual_point=bound.theta,
        message=message,
    )


class DistinctRows:
    """Rows of X (n, d) with targets y (n, C), each once, in lexicographic order; for `WorkingSet` and `homotopy`.

    A pricer and a dictionary of these rows make a solution equal to the last bit, not only within its gap.

    ``X``, ``y`` (m, d). ``weights`` (m,): sums of the weights of equal rows, of mean 1.
    """

    def __init__(self, X: Array, y: Array, sample_weight: Array | None) -> None:
        self._first, self._place = merged_rows(np.hstack([X, y]))
        self._own = np.ones(len(X)) if sample_weight is None else sample_weight
        mass = np.bincount(self._place, self._own)
        self.X, self.y, self.weights = X[self._first], y[self._first], mass / mass.mean()

    def restored(self, result: Result[WeightedNeurons]) -> Result[WeightedNeurons]:
        """Return a result on the distinct rows as one on all rows: indices of rows, predictions, dual point."""
        neurons, values, intercept = result.coefficients
        spanning = np.concatenate([self._first, len(self._place) + np.arange(self.X.shape[1])])[neurons.rows]
        theta = result.dual_point[self._place] * (self._own / self.weights[self._place])[:, None]
        kept = WeightedNeurons(replace(neurons, rows=spanning), values, intercept)
        return replace(result, coefficients=kept, fitted=result.fitted[self._place], dual_point=theta)
