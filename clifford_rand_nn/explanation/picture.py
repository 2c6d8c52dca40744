"""Explanations as bars: contributions of columns to an output, and the importance of columns."""

from collections.abc import Sequence
from typing import Any

from clifford_rand._optional import require
from clifford_rand_nn._words import shortened
from clifford_rand_nn.explanation.importance import error_measure
from clifford_rand_nn.explanation.phrases import in_a_column, largest, others_text, rank_text, towards

# Of Okabe and Ito's palette, made for color-blind readers: what raises an output, what lowers it, and sums.
_UP, _DOWN, _SUM = "#0072B2", "#E69F00", "#7F7F7F"
_WIDE = 34  # characters of a name
_ROOM = 0.18  # of the axis, on both sides, for numbers at the bars


def draw_prediction(row: Any, ax: Any, top: int) -> Any:
    """Draw the contributions of the columns to the output of one row; return the Axes."""
    c = row.output_of(0)
    parts = row.columns[0, c]
    shown = largest(parts, top)
    remaining = [j for j in range(len(parts)) if j not in shown]
    names = []
    for j in shown:
        rank = rank_text(float(row.ranks[0, j]))
        names.append(_short(f"{row.column_names[j]} {row.values[0][j]}") + (f"\n({rank})" if rank else ""))
    amounts = [float(parts[j]) for j in shown]
    if remaining:
        names.append(others_text(len(remaining)))
        amounts.append(float(parts[remaining].sum()))
    base, f = float(row.base[0, c]), float(row.outputs[0, c])
    names += [f"{row.context.measured_from},\nby this gradient", "together, the output"]
    colors = [_UP if amount > 0 else _DOWN for amount in amounts] + [_SUM, _SUM]
    ax = _bars(ax, names, [*amounts, base, f], colors)
    classes = getattr(row.context.estimator, "classes_", None)
    if classes is None:
        about = "" if len(row.output_names) == 1 else f", {row.output_names[c]}"
        ax.set(title=f"Prediction {f:.4g}{about}", xlabel="contribution, in units of the target")
    else:
        up, down = (towards(row.context, c, sign) for sign in (1.0, -1.0))
        sure = "" if row.probabilities is None else f", probability {row.probabilities[0].max():.2f}"
        title = f"Prediction {str(row.predictions[0])!r}{sure}"
        if row.context.several_labels and row.probabilities is not None:
            title = f"{row.output_names[c]}, probability {row.probabilities[0, c]:.2f}"
        gap = 8 * " "
        ax.set(title=_literal(title), xlabel=_literal(f"← {down}{gap}contribution{gap}{up} →"))
    ax.axhline(1.5, color="0.8", linewidth=0.8)
    return ax


def draw_columns(whole: Any, ax: Any, top: int) -> Any:
    """Draw the importance of columns; return the Axes."""
    shown = whole.columns[:top]
    permuted = bool(shown) and shown[0].permuted is not None
    values = [float(column.permuted or 0.0) if permuted else column.share for column in shown]
    errors = [float(column.permuted_error or 0.0) for column in shown] if permuted else None
    ax = _bars(ax, [_short(column.name) for column in shown], values, [_UP] * len(shown), errors)
    measure = error_measure(whole.context.route.last)
    change = "increase" if measure == "log loss" else "decrease"
    what = f"{change} of {measure} if the column is permuted" if permuted else "share of gradients"
    ax.set(title="Importance of columns", xlabel=what)
    return ax


def _bars(
    ax: Any, names: Sequence[str], values: Sequence[float], colors: Sequence[str], errors: Sequence[float] | None = None
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
