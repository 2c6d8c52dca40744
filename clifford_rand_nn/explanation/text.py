"""Explanations as text: of a model, and of its predictions for rows."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.optimize import brentq

from clifford_rand_nn._words import aligned, shortened
from clifford_rand_nn.explanation.context import Context, cell, error_measure
from clifford_rand_nn.explanation.phrases import (
    column_notes,
    in_a_column,
    largest,
    others_text,
    output_scale,
    plane_text,
    rank_text,
    row_name,
    rows_text,
    signed,
    towards,
)
from clifford_rand_nn.explanation.sums import GatedSum, KernelSum, spanning_rows

_COLUMNS, _NEURONS, _ROWS, _WEIGHTS = 12, 8, 8, 5  # of a model that are written
_ROW_COLUMNS, _ROW_NEURONS, _ROWS_A_SIDE, _PRINTED = 8, 6, 4, 5  # of predictions that are written
_WIDE = 40  # characters of an entry
_CANCEL = 20  # times the contributions of neurons, beyond which those of rows cancel: 2 to 10 without gates, 500 with
_FAR = 1e6  # an output beyond which no decision boundary is looked for
_GIVE_ROWS = "  The entries of these rows are shown where the training rows are given."


def model_text(whole: Any) -> str:
    """Return a `ModelExplanation` as text."""
    parts = [[_model_line(whole.context)], _importance_lines(whole)]
    if whole.directions:
        parts.append(_direction_lines(whole))
    if whole.neurons is not None:
        parts.append(_model_neuron_lines(whole))
    if whole.rows is not None:
        parts.append(_influence_lines(whole))
    return "\n\n".join("\n".join(lines) for lines in parts)


def _model_line(context: Context) -> str:
    network, outputs = context.network, len(context.output_names)
    classes = getattr(context.estimator, "classes_", None)
    if context.several_labels:
        about = f"{outputs} labels, an output for each"
    elif classes is None:
        about = "one number" if outputs == 1 else f"{outputs} numbers"
    elif outputs == 1:
        about = f"{str(classes[0])!r} (output below 0) or {str(classes[1])!r} (above)"
    else:
        about = f"{outputs} classes, an output for each"
    parts = f"{network.n_parts} neurons" if isinstance(network, GatedSum) else f"kernel on {network.n_parts} rows"
    return f"{type(context.estimator).__name__}: {parts}, for {about}"


def _importance_lines(whole: Any) -> list[str]:
    context = whole.context
    shown = [column for column in whole.columns[:_COLUMNS] if column.gradient or column.permuted]
    is_permuted = bool(shown) and shown[0].permuted is not None
    data = "training set" if context.training else "given rows"
    measure = error_measure(context.route.last)
    change = "increase" if measure == "log loss" else "decrease"
    heads = ("", "share of gradients", *([f"{change} of {measure} if permuted"] if is_permuted else []))
    table = [heads]
    for column in shown:
        permuted = () if column.permuted is None else (f"{column.permuted:.3f} ± {column.permuted_error:.3f}",)
        table.append((column.name, f"{100 * column.share:.1f} %", *permuted))
    lines = [f"Importance of columns, {len(whole.columns)} in all", *aligned(table, (1, 2))]
    if context.rows is None and isinstance(context.network, GatedSum):
        lines.append(f"  Gradients are those at {context.measured_from} alone; give rows for their mean over these.")
    else:
        over = data if context.rows is not None else "rows of the kernel"
        text = "the change of the output if a column changes by its standard deviation, mean over the"
        lines.append(f"  Gradients: {text} {over}.")
    if is_permuted:
        lines.append(
            f"  Permuted: the {change} of the {measure} on the {data} if the entries of a column are permuted."
        )
    elif context.rows is None or context.targets is None:
        lines.append("  Give rows and targets for the permutation importance.")
    lines.append("  Correlated columns can replace each other: neither measure tells them apart.")
    return [*lines, *(f"  {note}" for note in column_notes(context))]


def _direction_lines(whole: Any) -> list[str]:
    names = getattr(whole.context.estimator, "feature_names_in_", None)
    route = whole.context.route
    if route.matrix is None:
        names = route.encoded_names
    elif names is None:
        names = [f"component {j}" for j in range(len(whole.directions[0].weights))]
    lines = ["Directions of the learned metric, in standardized columns"]
    for direction in whole.directions:
        terms = [f"{signed(float(direction.weights[k]))} {names[k]}" for k in largest(direction.weights, _WEIGHTS)]
        lines.append(f"  {100 * direction.share:.0f} % of the squared gradient along {', '.join(terms)}")
    return lines


def _model_neuron_lines(whole: Any) -> list[str]:
    known = whole.context.rows is not None
    lines = [f"Neurons, the largest {'mean contribution' if known else 'norm of weights'} first"]
    shown = whole.neurons[:_NEURONS]
    for neuron, size in zip(shown, in_a_column([neuron.size for neuron in shown]), strict=True):
        text = f"  neuron {neuron.number}: "
        if neuron.region is not None and neuron.variance is not None:
            text += f"active for {100 * neuron.region:.0f} % of the rows, mean contribution {size[1:]}, "
            text += f"{100 * neuron.variance:.0f} % of the variance; "
        text += neuron.plane
        lines.append(text + (f"; plane through {rows_text(neuron.rows)}" if neuron.rows else ""))
    if len(whole.neurons) > len(shown):
        lines.append(f"  and {len(whole.neurons) - len(shown)} more")
    if not known:
        lines.append("  Give rows for regions and shares of the output.")
    return lines


def _influence_lines(whole: Any) -> list[str]:
    context = whole.context
    columns = [context.route.names.index(column.name) for column in whole.columns]
    numbers = None if whole.rows[0].number is None else {row.place: row.number for row in whole.rows}
    lines = ["Training rows by influence: rows that the network fits least without them weigh most"]
    for row in whole.rows[:_ROWS]:
        c = int(np.abs(row.weights).argmax())
        effect = towards(context, c, float(row.weights[c]))
        if not hasattr(context.estimator, "classes_"):
            effect += " predictions of similar rows"
        known = "" if row.number is None else context.row_text(row.number, columns)
        text = f"  {row_name(numbers, row.place)}: {100 * row.share:.2g} % of all, {effect}"
        lines.append(text + (f"; {known}" if known else ""))
    return lines if context.training else [*lines, _GIVE_ROWS]


def prediction_text(explained: Any) -> str:
    """Return a `PredictionExplanation` as text, its first rows if there are many."""
    parts = [_of_row(explained[i]) for i in range(min(len(explained), _PRINTED))]
    if len(explained) > _PRINTED:
        parts.append(f"… and {len(explained) - _PRINTED} more; explanation[i] is one of them.")
    return "\n\n".join(parts)


def _of_row(row: Any) -> str:
    c = row.output_of(0)
    lines = [*_prediction_lines(row, c), "", *_column_lines(row, c)]
    if row.neurons is not None:
        lines += ["", *_neuron_lines(row, c)]
    if row.rows is not None:
        lines += ["", *_row_lines(row, c)]
    elif row.neurons is not None:
        lines += ["", "Give the training rows for their contributions."]
    return "\n".join(lines)


def _prediction_lines(row: Any, c: int) -> list[str]:
    context, f, name = row.context, signed(float(row.outputs[0, c])), row.output_names[c]
    classes = getattr(context.estimator, "classes_", None)
    if classes is None:
        shown = np.atleast_1d(row.predictions[0])
        about = f" of {name}, of {len(shown)}" if len(shown) > 1 else ""
        scale = output_scale(context.estimator)
        lines = [f"Prediction{about}: {float(shown[c]):.5g}{f'; output {f}, {scale}' if scale else ''}"]
        if row.intervals is not None:
            low, high = row.intervals[0]
            lines.append(f"90 % interval: {low:.5g} to {high:.5g}")
        return lines
    if context.several_labels and row.probabilities is not None:
        there = [label for label, on in zip(row.output_names, row.predictions[0], strict=True) if on]
        lines = [f"Prediction: {', '.join(there) or 'no label'}"]
        lines.append(f"Output of the network for {name}: {f}; probability {row.probabilities[0, c]:.2f}")
        return [*lines, "Probabilities are calibrated on leave-one-out predictions."]
    lines = [f"Prediction: {str(row.predictions[0])!r}"]
    if row.probabilities is not None:
        p = row.probabilities[0]
        most = ", ".join(f"{str(classes[i])!r} {p[i]:.2f}" for i in np.argsort(-p, kind="stable")[:3])
        lines[0] += f"; probabilities {most}"
    if len(row.output_names) > 1:
        lines.append(f"Output of the network for {name!r}: {f}")
    else:
        boundary, (low, high) = _boundary(row), (str(label) for label in classes)
        where = "" if boundary is None else f", for {low!r} below {cell(round(boundary, 3))} and {high!r} above"
        lines.append(f"Output of the network: {f}{where}")
    return [*lines, *_calibration_lines(row)]


def _boundary(row: Any) -> float | None:
    """Return the output of a network for two classes at which odds are even, by its calibration; None without any."""
    calibration = getattr(row.context.estimator, "calibration_", None)
    if calibration is None or calibration.keeps_order:
        return 0.0
    variance = row.spread_out if calibration.share else None

    def log_odds(f: float) -> float:
        logs = calibration.log_probabilities([[f]], variance)[0]
        return float(logs[1] - logs[0])

    ends = [-1.0, 1.0]
    while log_odds(ends[0]) > 0 or log_odds(ends[1]) < 0:
        ends = [2 * ends[0], 2 * ends[1]]
        if ends[1] > _FAR:
            return None
    return float(brentq(log_odds, *ends))


def _calibration_lines(row: Any) -> list[str]:
    single = len(row.output_names) == 1
    calibration = getattr(row.context.estimator, "calibration_", None)
    if calibration is None or calibration.is_softmax:
        if row.probabilities is None:
            return []
        return [f"The probability is {'1/(1 + exp(-output))' if single else 'the softmax of the outputs'}."]
    text = "Probabilities are calibrated on outputs for held-out rows: "
    text += "they rise with the output" if single else "a larger output is more probable"
    if not calibration.keeps_order:
        text += ", from a decision boundary of its own" if single else ", less a constant of each class"
    if row.spread_out is not None and calibration.share:
        ratio = float(row.spread_out[0] / calibration.scale)
        here = "about average" if 0.8 < ratio < 1.25 else "below average" if ratio <= 0.8 else "above average"
        text += f". They are nearer to even odds where the predictive variance is large; here it is {here}"
    return [text + "."]


def _column_lines(row: Any, c: int) -> list[str]:
    context, parts = row.context, row.columns[0, c]
    head = f"Columns: the difference of the row from {context.measured_from}, times the gradient of the network here"
    if isinstance(context.network, KernelSum):
        standard = context.network.network.standard
        if standard.bound:
            head += "; outliers are clipped, as the network takes them"
        elif getattr(standard, "scores", None) is not None:
            head += "; columns are mapped to normal scores of their ranks, as the network takes them"
    shown = largest(parts, _ROW_COLUMNS)
    remaining = [j for j in range(len(parts)) if j not in shown]
    amounts = [float(parts[j]) for j in shown] + ([float(parts[remaining].sum())] if remaining else [])
    sums = [float(row.base[0, c]), float(row.outputs[0, c])]
    names = [_entry(row, j) for j in shown] + ([others_text(len(remaining))] if remaining else [])
    effects = [towards(context, c, amount) for amount in amounts] + ["", ""]
    effects[: len(shown)] = [effect + _per_unit(row, c, j) for effect, j in zip(effects, shown, strict=False)]
    names += [f"{context.measured_from}, by this gradient", "together, the output"]
    table = list(zip(names, in_a_column(amounts + sums), effects, strict=True))
    return [head, *aligned(table, (1,)), *column_notes(context)]


def _entry(row: Any, j: int) -> str:
    """Return a column with its entry, and whether that is a high or low one."""
    value, rank = row.values[0][j], rank_text(float(row.ranks[0, j]))
    return f"{row.column_names[j]} {shortened(value, _WIDE)}" + (f" ({rank})" if rank else "")


def _per_unit(row: Any, c: int, j: int) -> str:
    """Return the gradient along a column of many values in units of the table, where the network has them."""
    own = row.number_places[j]
    if own is None:
        return ""
    slope = float(row.slopes[0, c, own] * row.context.route.rate[own])
    return "" if np.isnan(slope) else f"; {signed(slope)} per unit"


def _neuron_lines(row: Any, c: int) -> list[str]:
    context, parts = row.context, row.neurons[0, c]
    count, total = int(row.active[0].sum()), len(parts)
    planes = spanning_rows(context.estimator, row.neuron_numbers)
    shown = largest(parts, _ROW_NEURONS)
    lines: list[tuple[str, float, str]] = []
    for i in shown:
        through = "" if planes is None or not len(planes[i]) else f"; plane through {rows_text(planes[i])}"
        lines.append((f"neuron {row.neuron_numbers[i]}", float(parts[i]), plane_text(context, i) + through))
    remaining = count - len(shown)
    if remaining > 0:
        rest = float(parts.sum() - parts[shown].sum())
        lines.append((f"{remaining} other{'s' if remaining > 1 else ''}", rest, ""))
    lines += [("intercept", float(row.intercept[c]), ""), ("the output", float(row.outputs[0, c]), "")]
    return [f"Neurons: {count} of {total} are active for this row", *_amounts(lines)]


def _amounts(lines: Sequence[tuple[str, float, str]]) -> list[str]:
    """Return names, numbers with the same decimals, and notes as lines of a table."""
    numbers = in_a_column([amount for _, amount, _ in lines])
    return aligned([(name, text, note) for (name, _, note), text in zip(lines, numbers, strict=True)], (1,))


def _row_lines(row: Any, c: int) -> list[str]:
    context, parts = row.context, row.rows[0, c]
    columns = largest(row.columns[0, c], len(row.column_names))
    lines = ["Training rows: weight of the row, times its similarity to this one beyond that of an average row"]
    written: list[int] = []
    for sign in (1.0, -1.0) if row.outputs[0, c] >= 0 else (-1.0, 1.0):
        shown = largest(np.where(np.sign(parts) == sign, parts, 0.0), _ROWS_A_SIDE)
        written += shown
        for i, amount in zip(shown, in_a_column([float(parts[i]) for i in shown]), strict=True):
            known = "" if row.row_numbers is None else context.row_text(int(row.row_numbers[i]), columns)
            unlike = " (less similar)" if sign * row.row_weights[i, c] < 0 else ""
            text = f"  {amount}  {towards(context, c, sign)}: {row_name(row.row_numbers, i)}{unlike}"
            lines.append(text + (f", which {known}" if known else ""))
    left = [float(parts.sum() - parts[written].sum()), float(row.intercept[c] + row.rest[0, c])]
    rest, constant, f = in_a_column([*left, float(row.outputs[0, c])])
    lines.append(f"  {rest}  {len(parts) - len(written)} other rows; {constant} the intercept; {f} the output")
    if row.neurons is not None and np.abs(parts).sum() > _CANCEL * np.abs(row.neurons[0, c]).sum():
        lines.append("  These contributions are far larger than those of the neurons, and cancel.")
    return lines if context.training else [*lines, _GIVE_ROWS]
