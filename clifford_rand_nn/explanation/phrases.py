"""Phrases of explanations, numbers in columns, names of rows, and explanations as bars."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from clifford_rand._typing import Array
from clifford_rand.errors import require
from clifford_rand_nn._words import literal, shortened, some_of
from clifford_rand_nn.explanation.context import Context, error_measure
from clifford_rand_nn.explanation.sums import GatedSum
from clifford_rand_nn.kernel_network.target_transform import NO_TRANSFORM
from clifford_rand_nn.problems.loss_registry import LOSSES

_HIGH = ((0.975, "unusually high"), (0.9, "high"))
_LOW = ((0.025, "unusually low"), (0.1, "low"))
_TERMS = 4  # of a plane that are written
_NAMED = 6  # training rows whose numbers are written
_ROUNDING = 1e-12  # of the largest entry


def output_scale(estimator: Any) -> str | None:
    """Return the scale of the outputs of a regressor, where they are not in units of the target."""
    if LOSSES[estimator.certificate_.loss].is_log:
        return "on the scale log(mean)"
    transform = getattr(estimator, "target_transform_", NO_TRANSFORM)
    return None if transform.name == "none" else f"on the scale {transform.formula}"


def towards(context: Context, output: int, amount: float) -> str:
    """Return the effect of a contribution of this sign to an output: which class it is for, or whether it raises it."""
    classes = getattr(context.estimator, "classes_", None)
    if classes is None:
        return "raises" if amount > 0 else "lowers" if amount < 0 else ""
    if amount == 0:
        return ""
    if context.several_labels:
        return f"{'towards' if amount > 0 else 'against'} {context.output_names[output]}"
    if len(context.output_names) == 1:
        return f"towards {str(classes[int(amount > 0)])!r}"
    return f"{'towards' if amount > 0 else 'against'} {context.output_names[output]!r}"


def rank_text(share: float) -> str:
    """Return whether an entry is high or low, by the share of known rows with a smaller one.

    >>> rank_text(0.99), rank_text(0.5), rank_text(0.05)
    ('unusually high', '', 'low')
    """
    for edge, word in _HIGH:
        if share >= edge:
            return word
    for edge, word in _LOW:
        if share <= edge:
            return word
    return ""


def signed(value: float) -> str:
    """Return a number with its sign, to three digits.

    >>> signed(0.12345), signed(-2.0), signed(0.0)
    ('+0.123', '-2', '0')
    """
    return "0" if value == 0 else f"{value:+.3g}"


def in_a_column(values: Sequence[float]) -> list[str]:
    """Return numbers with their signs and as many decimals as give the largest three digits.

    >>> in_a_column([-0.327, 0.0041, 0.0])
    ['-0.327', '+0.004', '0.000']
    """
    top = max((abs(value) for value in values), default=0.0)
    if not 1e-4 <= top < 1e5:
        return [signed(value) for value in values]
    decimals = max(0, 2 - int(np.floor(np.log10(top))))
    texts = [f"{value:+.{decimals}f}" for value in values]
    return [text if text.strip("+-0.") else text[1:] for text in texts]


def plane_text(context: Context, neuron: int) -> str:
    """Return where a neuron is active, in the units of the table: the largest weights by name.

    The weight of the first column is 1; the largest are those of weight times standard deviation of the column.
    """
    network, route = context.network, context.route
    assert isinstance(network, GatedSum)
    direction = network.directions[:, neuron]
    weights = route.back(direction)
    encoded, seen = context.reference
    level = float(network.offsets[neuron] + direction @ seen - weights @ encoded)
    if not weights.any():
        return "active everywhere" if level >= 0 else "active nowhere"
    spread = context.spread()
    size = np.abs(weights) * (1.0 if spread is None or not (weights * spread).any() else spread)
    terms, constant = route.in_table_units(weights)
    terms = sorted((term for term in terms if term[1]), key=lambda term: -float(size[term[2]].sum()))
    unit = abs(terms[0][1])
    text = _sum_text([(weight / unit, name) for name, weight, _ in terms[:_TERMS]])
    remaining = len(terms) - _TERMS
    more = f" + {remaining} smaller" if remaining > 0 else ""
    scale = float(np.abs(weights * encoded).max(initial=0.0)) + float(np.abs(network.offsets[neuron])) + abs(constant)
    border = 0.0 if abs(level + constant) <= _ROUNDING * scale else -(level + constant) / unit
    return f"active where {text}{more} ≥ {border:.4g}"


def _sum_text(terms: Sequence[tuple[float, str]]) -> str:
    """Return weights times names as a sum.

    >>> _sum_text([(1.0, "age"), (-0.31, "income")])
    'age - 0.31·income'
    """
    text = ""
    for weight, name in terms:
        size = abs(weight)
        factor = "" if abs(size - 1) < 1e-12 else f"{size:.3g}·"
        sign = ("-" if weight < 0 else "") if not text else (" - " if weight < 0 else " + ")
        text += f"{sign}{factor}{name}"
    return text


def others_text(count: int) -> str:
    """Return the name of columns that are not written.

    >>> others_text(1), others_text(3)
    ('1 other column', '3 other columns')
    """
    return f"{count} other column{'s' if count > 1 else ''}"


def column_notes(context: Context) -> list[str]:
    """Return notes about the gradients of columns."""
    jumps = isinstance(context.network, GatedSum) and context.network.jumps
    note = "A gated network also jumps where a row crosses a plane: gradients do not see it, shares of neurons do."
    return [note] * jumps + [context.route.note] * bool(context.route.note)


def rows_text(numbers: Any) -> str:
    """Return training rows by their numbers.

    >>> rows_text([4]), rows_text([4, 7]), rows_text(range(9))
    ('row 4', 'rows 4, 7', 'rows 0, 1, 2, 3, 4, 5, … (9 in all)')
    """
    return f"row{'s' if len(numbers) != 1 else ''} {some_of([str(int(i)) for i in numbers], _NAMED)}"


def largest(values: Array, top: int) -> list[int]:
    """Return the places of the entries of largest size, those left out that are 0 but for rounding."""
    size = np.abs(values)
    least = _ROUNDING * float(size.max(initial=0.0))
    return [int(i) for i in np.argsort(-size, kind="stable")[:top] if size[i] > least]


def row_name(numbers: Any, i: int) -> str:
    """Return the name of a training row."""
    return "a training row" if numbers is None else f"row {int(numbers[i])}"


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
        scale = output_scale(row.context.estimator) or "in units of the target"
        predicted = float(np.atleast_1d(row.predictions[0])[c])
        ax.set(title=literal(f"Prediction {predicted:.4g}{about}"), xlabel=literal(f"contribution, {scale}"))
    else:
        up, down = (towards(row.context, c, sign) for sign in (1.0, -1.0))
        sure = "" if row.probabilities is None else f", probability {row.probabilities[0].max():.2f}"
        title = f"Prediction {str(row.predictions[0])!r}{sure}"
        if row.context.several_labels and row.probabilities is not None:
            title = f"{row.output_names[c]}, probability {row.probabilities[0, c]:.2f}"
        gap = 8 * " "
        ax.set(title=literal(title), xlabel=literal(f"← {down}{gap}contribution{gap}{up} →"))
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
        shift, side = (4, "left") if value >= 0 else (-4, "right")
        ax.annotate(
            text,
            (value, place),
            xytext=(shift, 0),
            textcoords="offset points",
            ha=side,
            va="center",
            fontsize="small",
        )
    for edge in ("top", "right"):
        ax.spines[edge].set_visible(False)
    return ax


def _short(text: str) -> str:
    return literal(shortened(text, _WIDE))
