"""How a solver came to the optimum: objective and duality gap against seconds."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from clifford_rand._checks import check_bool, check_listed, describe, fail
from clifford_rand_nn.displays.style import FIRST, SECOND, axes_of, network_of
from clifford_rand_nn.solvers.base import HistoryRow

_FLOOR = 1e-16  # of a gap: smaller ones are rounding, and 0 has no logarithm
_STEPS = "steps-post"  # what is known stays so until the next check


class ConvergenceDisplay:
    """The relative gap that is proved, on a logarithmic scale, and the objective, at each check of a solver.

    It is about training alone: how near the optimum of its own problem the network is, not how good it is on new rows.

    Parameters
    ----------
    history : sequence of HistoryRow
        ``history_`` of a tuning-free network, ``result_.history`` of the others.
    seconds : bool
        Whether the horizontal axis is seconds, or iterations.

    Attributes
    ----------
    ax_ : matplotlib Axes
        Of the gap.
    objective_ax_ : matplotlib Axes or None
        Of the objective, on the right.
    figure_ : matplotlib Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import ConvergenceDisplay, GatedReLUClassifier, spiral
    >>> model = GatedReLUClassifier(n_gates=20, beta=1e-3, random_state=0).fit(*spiral())
    >>> drawn = ConvergenceDisplay.from_estimator(model, ax=Figure().subplots())
    >>> drawn.ax_.get_yscale(), abs(drawn.history[-1].relative_gap - model.certificate_.relative_gap) < 1e-9
    ('log', True)
    """

    ax_: Any
    objective_ax_: Any
    figure_: Any

    def __init__(self, history: Sequence[HistoryRow], *, seconds: bool = True) -> None:
        owner, rule = type(self).__name__, "a sequence of HistoryRow, one or more"
        rows = check_listed(history, "history", owner, rule)
        if not rows or not all(isinstance(row, HistoryRow) for row in rows):
            raise fail("history", owner, rule, history)
        self.history, self.seconds = tuple(rows), check_bool(seconds, "seconds", owner)

    @classmethod
    def from_estimator(cls, estimator: Any, *, seconds: bool = True, ax: Any = None, **kwargs: Any) -> Self:
        """Draw what a fitted estimator, the last step of a pipeline or what `BetaCV` trained, has recorded.

        Raises
        ------
        ArgumentError
            Nothing was recorded: the file that the estimator comes from has no history.
        """
        model = network_of(estimator)
        history = getattr(model, "history_", ()) or getattr(getattr(model, "result_", None), "history", ())
        if not history:
            hint = "Model files of older versions, and those of other estimators, hold no history."
            found = describe(f"a {type(model).__name__} without a history")
            raise fail("estimator", cls.__name__, "one that was fitted here", found, hint)
        return cls(history, seconds=seconds).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, objective: bool = True) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot; the objective too, if asked for."""
        objective = check_bool(objective, "objective", type(self).__name__)
        self.ax_ = ax = axes_of(ax)
        self.figure_, self.objective_ax_ = ax.figure, None
        across = np.array([row.seconds if self.seconds else row.n_iter for row in self.history], dtype=np.float64)
        gaps = np.array([row.relative_gap for row in self.history], dtype=np.float64)
        shown = np.isfinite(gaps)
        marker = "o" if len(self.history) <= 40 else ""
        ax.plot(
            across[shown], np.maximum(gaps[shown], _FLOOR), color=FIRST, marker=marker, markersize=4, drawstyle=_STEPS
        )
        ax.set(yscale="log", xlabel="seconds" if self.seconds else "iterations")
        ax.set_ylabel("relative duality gap", color=FIRST)
        ax.locator_params(axis="x", nbins=6)
        ax.grid(axis="y", alpha=0.25)
        if objective:
            self.objective_ax_ = right = ax.twinx()
            values = [row.objective for row in self.history]
            right.plot(
                across, values, color=SECOND, linestyle="--", marker=marker and "s", markersize=4, drawstyle=_STEPS
            )
            right.set_ylabel("objective", color=SECOND)
        return self
