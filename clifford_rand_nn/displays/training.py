"""Displays of the training: the certificate, and the convergence of the solver. Neither is about new rows."""

import textwrap
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from clifford_rand._checks import check_bool, check_listed, describe, fail
from clifford_rand_nn.certificates.certificate import Certificate
from clifford_rand_nn.displays.style import FIRST, SECOND, axes_of, network_of
from clifford_rand_nn.shards.certificate import ShardCertificate
from clifford_rand_nn.solvers.base import HistoryRow

_WIDTH = 48  # characters of a line of the title
_FLOOR = 1e-16  # of a gap: smaller ones are rounding, and 0 has no logarithm
_STEPS = "steps-post"  # what is known stays so until the next check


class CertificateDisplay:
    """Primal value, dual value and gap of a certificate as two bars, and what family the bound is over.

    It is about training alone, nothing of it is about new rows.

    Parameters
    ----------
    certificate : Certificate

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from clifford_rand_nn import CertificateDisplay, GatedReLUClassifier, spiral
    >>> model = GatedReLUClassifier(n_gates=20, beta=1e-3, random_state=0).fit(*spiral())
    >>> drawn = CertificateDisplay.from_estimator(model, ax=Figure().subplots())
    >>> [bool(bar.get_width() == value) for bar, value in zip(drawn.ax_.patches, (model.certificate_.objective,
    ...     model.certificate_.lower_bound), strict=True)]
    [True, True]
    """

    ax_: Any
    figure_: Any

    def __init__(self, certificate: Certificate | ShardCertificate) -> None:
        if not isinstance(certificate, Certificate | ShardCertificate):
            raise fail("certificate", type(self).__name__, "a Certificate", certificate)
        self.certificate = certificate

    @classmethod
    def from_estimator(cls, estimator: Any, *, ax: Any = None, **kwargs: Any) -> Self:
        """Draw the certificate of a fitted estimator, the last step of a pipeline, or what `BetaCV` trained.

        Raises ArgumentError if it has no certificate.
        """
        model = network_of(estimator)
        proof = getattr(model, "certificate_", None)
        if proof is None:
            value = describe(f"a {type(model).__name__} without a certificate")
            raise fail("estimator", cls.__name__, "a fitted estimator of clifford_rand_nn", value)
        return cls(proof).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot."""
        self.ax_ = ax = axes_of(ax)
        self.figure_, proof = ax.figure, self.certificate
        bars = ax.barh([1, 0], [proof.objective, proof.lower_bound], height=0.55, color=[FIRST, SECOND])
        ax.bar_label(bars, [f"{proof.objective:.6g}", f"{proof.lower_bound:.6g}"], padding=4, fontsize=9)
        ax.set_yticks([1, 0], ["objective of\nthis network", "lower\nbound"])
        low, high = min(proof.lower_bound, 0.0), max(proof.objective, 0.0)
        ax.set_xlim(1.25 * low, 1.25 * high if high > 0 else 1.0)
        ax.locator_params(axis="x", nbins=5)
        ax.set_xlabel("training objective: mean loss and penalty")
        for side in ("top", "right"):
            ax.spines[side].set_visible(False)
        scope = proof.scope if proof.scope.startswith("over") else f"over {proof.scope}"
        words = f"gap {proof.relative_gap:.1e} of the objective, {scope}"
        ax.set_title("\n".join(textwrap.wrap(words, _WIDTH)), fontsize=8)
        return self


class ConvergenceDisplay:
    """The relative gap that is proved, on a logarithmic scale, and the objective, at each check of a solver.

    It is about training alone: how near the optimum of its own problem the network is, not how good it is on new rows.

    Parameters
    ----------
    history : sequence of HistoryRow
        ``result_.history`` of the estimator.
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

        Raises ArgumentError if nothing was recorded: the file that the estimator comes from has no history.
        """
        model = network_of(estimator)
        history = getattr(getattr(model, "result_", None), "history", ())
        if not history:
            hint = "Model files of older versions, and those of other estimators, hold no history."
            value = describe(f"a {type(model).__name__} without a history")
            raise fail("estimator", cls.__name__, "one that was fitted here", value, hint)
        return cls(history, seconds=seconds).plot(ax=ax, **kwargs)

    def plot(self, *, ax: Any = None, objective: bool = True) -> Self:
        """Draw on ``ax``, or on a new figure of pyplot; the objective too, if asked for."""
        objective = check_bool(objective, "objective", type(self).__name__)
        self.ax_ = ax = axes_of(ax)
        self.figure_, self.objective_ax_ = ax.figure, None
        across = np.array([row.seconds if self.seconds else row.n_iter for row in self.history], dtype=np.float64)
        gaps = np.array([row.relative_gap for row in self.history], dtype=np.float64)
        shown = np.isfinite(gaps)
        marker, look = "o" if len(self.history) <= 40 else "", {"markersize": 4, "drawstyle": _STEPS}
        ax.plot(across[shown], np.maximum(gaps[shown], _FLOOR), color=FIRST, marker=marker, **look)
        ax.set(yscale="log", xlabel="seconds" if self.seconds else "iterations")
        ax.set_ylabel("relative duality gap", color=FIRST)
        ax.locator_params(axis="x", nbins=6)
        ax.grid(axis="y", alpha=0.25)
        if objective:
            self.objective_ax_ = right = ax.twinx()
            values = [row.objective for row in self.history]
            right.plot(across, values, color=SECOND, linestyle="--", marker=marker and "s", **look)
            right.set_ylabel("objective", color=SECOND)
        return self
