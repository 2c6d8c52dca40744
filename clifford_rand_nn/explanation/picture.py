"""Explanations as bars: what columns and rows add to an output, and which columns matter."""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from clifford_rand._optional import require
from clifford_rand_nn._words import shortened
from clifford_rand_nn.explanation.permutation import error_measure
from clifford_rand_nn.explanation.words import in_a_column, largest, others_text, rank_text, speaks_for

if TYPE_CHECKING:
    from clifford_rand_nn.explanation.model_summary import ModelExplanation
    from clifford_rand_nn.explanation.prediction import PredictionExplanation

# Of Okabe and Ito's palette, made for color-blind readers: what raises an output, what lowers it, and sums.
_UP, _DOWN, _SUM = "#0072B2", "#E69F00", "#7F7F7F"
_WIDE = 34  # characters of a name
_ROOM = 0.18  # of the axis, on both sides, for numbers at the bars


def draw_prediction(one: "PredictionExplanation", ax: Any, top: int) -> Any:
    """Draw what the columns add to the output of one row; return the Axes."""
    c = one.output_of(0)
    parts = one.columns[0, c]
    shown = largest(parts, top)
    others = [j for j in range(len(parts)) if j not in shown]
    names = []
    for j in shown:
        rank = rank_text(float(one.ranks[0, j]))
        names.append(_short(f"{one.column_names[j]} {one.values[0][j]}") + (f"\n({rank})" if rank else ""))
    amounts = [float(parts[j]) for j in shown]
    if others:
        names.append(others_text(len(others)))
        amounts.append(float(parts[others].sum()))
    base, f = float(one.base[0, c]), float(one.outputs[0, c])
    names += [f"{one.context.measured_from},\nby these slopes", "together, the output"]
    colors = [_UP if amount > 0 else _DOWN for amount in amounts] + [_SUM, _SUM]
    ax = _bars(ax, names, [*amounts, base, f], colors)
    classes = getattr(one.context.estimator, "classes_", None)
    if classes is None:
        about = "" if len(one.output_names) == 1 else f", {one.output_names[c]}"
        ax.set(title=f"Prediction {f:.4g}{about}", xlabel="contribution, in units of the target")
    else:
        up, down = (speaks_for(one.context, c, sign) for sign in (1.0, -1.0))
        sure = "" if one.probabilities is None else f", probability {one.probabilities[0].max():.2f}"
        title = f"Prediction {str(one.predictions[0])!r}{sure}"
        if one.context.several_labels and one.probabilities is not None:
            title = f"{one.output_names[c]}, probability {one.probabilities[0, c]:.2f}"
        gap = 8 * " "
        ax.set(title=_literal(title), xlabel=_literal(f"← {down}{gap}contribution{gap}{up} →"))
    ax.axhline(1.5, color="0.8", linewidth=0.8)
    return ax


def draw_columns(whole: "ModelExplanation", ax: Any, top: int) -> Any:
    """Draw which columns matter; return the Axes."""
    shown = whole.columns[:top]
    permuted = bool(shown) and shown[0].permuted is not None
    values = [float(one.permuted or 0.0) if permuted else one.share for one in shown]
    errors = [float(one.permuted_error or 0.0) for one in shown] if permuted else None
    ax = _bars(ax, [_short(one.name) for one in shown], values, [_UP] * len(shown), errors)
    measure = error_measure(whole.context.route.last)
    more = "added" if measure == "log loss" else "lost"
    what = f"{measure} {more} where its entries change places" if permuted else "share of the slopes"
    ax.set(title="Columns that matter", xlabel=what)
    return ax


def _bars(
    ax: Any,
    names: Sequence[str],
    values: Sequence[float],
    colors: Sequence[str],
    errors: Sequence[float] | None = None,
) -> Any:
    """Draw horizontal bars, the first on top, with their numbers at the ends."""
    require("matplotlib", extra="app", purpose="drawing")
    if ax is None:
        from matplotlib import pyplot as plt

        ax = plt.subplots(figsize=(7.0, 1.2 + 0.38 * len(names)), layout="constrained")[1]
    places = list(range(len(names) - 1, -1, -1))
    ax.barh(places, values, color=colors, xerr=errors, error_kw={"ecolor": "0.3", "capsize": 2}, height=0.7)
    ax.set_yticks(places, names)
    ax.axvline(0.0, color="0.3", linewidth=0.8)
    ax.margins(x=_ROOM)
    texts = in_a_column(values) if errors is None else ["" for _ in values]
    for place, value, text in zip(places, values, texts, strict=True):
        side = 1 if value >= 0 else -1
        ax.annotate(
            text,
            (value, place),
            xytext=(4 * side, 0),
            textcoords="offset points",
            ha="left" if side > 0 else "right",
            va="center",
            fontsize="small",
        )
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(False)
    return ax


def _short(text: str) -> str:
    return _literal(shortened(text, _WIDE))


def _literal(text: str) -> str:
    """Return text in which a dollar sign begins no formula."""
    return text.replace("$", r"\$")
