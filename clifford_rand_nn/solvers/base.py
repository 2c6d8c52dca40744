"""What every solver returns."""

from dataclasses import dataclass
from typing import Generic, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

__all__ = ["HistoryRow", "Result"]

Solution = TypeVar("Solution")


class HistoryRow(NamedTuple):
    """State of a solver when it checked its gap."""

    n_iter: int
    seconds: float
    objective: float
    relative_gap: float


@dataclass(frozen=True, eq=False)
class Result(Generic[Solution]):
    """A solution, how far from the optimum it is at most, and how it was reached.

    Attributes
    ----------
    objective : float
        Primal value at ``coefficients``, in the 1/n scale.
    duality_gap : float
        Objective minus a proved lower bound of the optimum, ≥ 0.
    relative_gap : float
        ``duality_gap / objective``.
    n_iter : int
    status : str
        "optimal", or what stopped the solver and what to do about it.
    history : tuple of HistoryRow
        One row for each check of the gap.
    solver : str
    seconds : float
    coefficients : Coefficients, ReLUCoefficients, Weights or WeightedNeurons
        What was found, in the form of the problem: gated, constrained ReLU, Lasso, or neurons of a family.
    fitted : (n, C)
        The solver's own predictions on the training rows.
    dual_point : (n, C)
        The feasible dual point that proves the bound.
    reason : str
        Why this solver, if it was chosen automatically.
    """

    objective: float
    duality_gap: float
    relative_gap: float
    n_iter: int
    status: str
    history: tuple[HistoryRow, ...]
    solver: str
    seconds: float
    coefficients: Solution
    fitted: NDArray[np.float64]
    dual_point: NDArray[np.float64]
    reason: str = ""

    @property
    def converged(self) -> bool:
        """Whether the tolerance was reached."""
        return self.status == "optimal"

    @property
    def stuck(self) -> bool:
        """Whether rounding, or its number of steps, ended the solver; another solver may go on from here."""
        return not self.converged and not any(why in self.status for why in ("max_time", "interrupt"))

    @property
    def interrupted(self) -> bool:
        """Whether Ctrl-C ended the solver."""
        return "interrupt" in self.status

    def __repr__(self) -> str:
        return (
            f"Result(objective={self.objective:.8g}, relative_gap={self.relative_gap:.1e}, n_iter={self.n_iter}, "
            f"status={self.status!r}, solver={self.solver!r}, seconds={self.seconds:.2f})"
        )
