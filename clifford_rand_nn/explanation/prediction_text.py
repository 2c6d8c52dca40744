"""The explanation of a prediction in plain words, and as plain values."""

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.optimize import brentq

from clifford_rand_nn._words import shortened
from clifford_rand_nn.explanation.context import cell
from clifford_rand_nn.explanation.sums import KernelSum
from clifford_rand_nn.explanation.training import spanning_rows
from clifford_rand_nn.explanation.words import (
    aligned,
    column_notes,
    in_a_column,
    largest,
    others_text,
    plane_text,
    rank_text,
    row_name,
    rows_text,
    signed,
    speaks_for,
)

if TYPE_CHECKING:
    from clifford_rand_nn.explanation.prediction import PredictionExplanation

_COLUMNS, _ROWS, _NEURONS, _PRINTED = 8, 4, 6, 5  # that are written: columns, rows a side, neurons, explanations
_ROWS_HEAD = "Rows of training: weight of the row, times how much more than an average one it is like this one"
_WIDE = 40  # characters of an entry
_CANCEL = (
    20  # times what the neurons give, beyond which shares of rows cancel: 2 to 10 where neurons are few, 500 with gates
)
_FAR = 1e6  # an output beyond which no border is looked for


def prediction_text(one: "PredictionExplanation") -> str:
    """Return the explanations in words, those of the first rows if there are many."""
    parts = [_of_one(one[i]) for i in range(min(len(one), _PRINTED))]
    if len(one) > _PRINTED:
        parts.append(f"… and {len(one) - _PRINTED} more; explanation[i] is one of them.")
    return "\n\n".join(parts)


def _of_one(one: "PredictionExplanation") -> str:
    c = one.output_of(0)
    lines = [*_headline(one, c), "", *_column_lines(one, c)]
    if one.neurons is not None:
        lines += ["", *_neuron_lines(one, c)]
    if one.rows is not None:
        lines += ["", *_row_lines(one, c)]
    elif one.neurons is not None:
        lines += ["", "Rows of training that speak for it and against it can be told where these are given."]
    return "\n".join(lines)


def _headline(one: "PredictionExplanation", c: int) -> list[str]:
    context, f = one.context, signed(float(one.outputs[0, c]))
    classes = getattr(context.estimator, "classes_", None)
    if classes is None:
        shown = np.atleast_1d(one.predictions[0])
        about = f" of {one.output_names[c]}, of {len(shown)}" if len(shown) > 1 else ""
        lines = [f"Prediction{about}: {float(shown[c]):.5g}"]
        if one.intervals is not None:
            low, high = one.intervals[0]
            lines.append(f"Nine in ten new values are expected between {low:.5g} and {high:.5g}.")
        return lines
    if context.several_labels and one.probabilities is not None:
        there = [name for name, on in zip(one.output_names, one.predictions[0], strict=True) if on]
        lines = [f"Prediction: {', '.join(there) or 'no label'}"]
        lines.append(f"Output of the network for {one.output_names[c]}: {f}; probability {one.probabilities[0, c]:.2f}")
        return [*lines, "Calibration makes a probability of each output, as rows left out of training teach it."]
    lines = [f"Prediction: {str(one.predictions[0])!r}"]
    if one.probabilities is not None:
        p = one.probabilities[0]
        told = ", ".join(f"{str(classes[i])!r} {p[i]:.2f}" for i in np.argsort(-p, kind="stable")[:3])
        lines[0] += f"; probabilities {told}"
    if len(one.output_names) > 1:
        lines.append(f"Output of the network for {one.output_names[c]!r}: {f}")
    else:
        border, (low, high) = _border(one), (str(label) for label in classes)
        where = "" if border is None else f", for {low!r} below {cell(round(border, 3))} and {high!r} above"
        lines.append(f"Output of the network: {f}{where}")
    return [*lines, *_calibration_lines(one)]


def _border(one: "PredictionExplanation") -> float | None:
    """Return the output of a network for two classes at which odds are even, by its calibration; None without one."""
    found = getattr(one.context.estimator, "calibration_", None)
    if found is None or found.keeps_order:
        return 0.0
    variance = one.spread_out if found.share else None

    def log_odds(f: float) -> float:
        logs = found.log_probabilities([[f]], variance)[0]
        return float(logs[1] - logs[0])

    ends = [-1.0, 1.0]
    while log_odds(ends[0]) > 0 or log_odds(ends[1]) < 0:
        ends = [2 * ends[0], 2 * ends[1]]
        if ends[1] > _FAR:
            return None
    return float(brentq(log_odds, *ends))


def _calibration_lines(one: "PredictionExplanation") -> list[str]:
    estimator, single = one.context.estimator, len(one.output_names) == 1
    found = getattr(estimator, "calibration_", None)
    if found is None or found.is_softmax:
        if one.probabilities is None:
            return []
        return [f"The probability is {'1/(1 + exp(-output))' if single else 'the softmax of the outputs'}."]
    text = "Probabilities are calibrated on outputs for held-out rows: "
    text += "they rise with the output" if single else "a larger output is more probable"
    if not found.keeps_order:
        text += ", from a border of its own" if single else ", less a constant of each class"
    if one.spread_out is not None and found.share:
        ratio = float(one.spread_out[0] / found.scale)
        here = "about as much as on average" if 0.8 < ratio < 1.25 else "less than on average"
        here = here if ratio > 0.8 else "more than on average"
        text += f", and are nearer to even odds where training rows say little; here they say {here}"
    return [text + "."]


def _column_lines(one: "PredictionExplanation", c: int) -> list[str]:
    context, parts = one.context, one.columns[0, c]
    head = f"Columns: how the row differs from {context.measured_from}, times the slope of the network here"
    if isinstance(context.network, KernelSum) and context.network.network.standard.bound:
        head += "; far entries are drawn in, as the network takes them"
    shown = largest(parts, _COLUMNS)
    others = [j for j in range(len(parts)) if j not in shown]
    amounts = [float(parts[j]) for j in shown] + ([float(parts[others].sum())] if others else [])
    sums = [float(one.base[0, c]), float(one.outputs[0, c])]
    names = [_entry(one, j) for j in shown] + ([others_text(len(others))] if others else [])
    says = [speaks_for(context, c, amount) for amount in amounts] + ["", ""]
    says[: len(shown)] = [say + _per_unit(one, c, j) for say, j in zip(says, shown, strict=False)]
    names += [f"{context.measured_from}, by these slopes", "together, the output"]
    table = list(zip(names, in_a_column(amounts + sums), says, strict=True))
    return [head, *aligned(table, (1,)), *column_notes(context)]


def _entry(one: "PredictionExplanation", j: int) -> str:
    """Return a column with its entry, and whether that is a high or low one."""
    value, rank = one.values[0][j], rank_text(float(one.ranks[0, j]))
    return f"{one.column_names[j]} {shortened(value, _WIDE)}" + (f" ({rank})" if rank else "")


def _per_unit(one: "PredictionExplanation", c: int, j: int) -> str:
    """Return the slope along a column of many values, in units of the table, where these are those of the network."""
    own = one.number_places[j]
    if own is None:
        return ""
    slope = float(one.slopes[0, c, own] * one.context.route.rate[own])
    return "" if np.isnan(slope) else f"; {signed(slope)} for one more"


def _neuron_lines(one: "PredictionExplanation", c: int) -> list[str]:
    assert one.neurons is not None
    assert one.active is not None
    assert one.neuron_numbers is not None
    context, parts = one.context, one.neurons[0, c]
    count, total = int(one.active[0].sum()), len(parts)
    planes = spanning_rows(context.estimator, one.neuron_numbers)
    shown = largest(parts, _NEURONS)
    others = count - len(shown)
    amounts, names, says = [float(parts[i]) for i in shown], [f"neuron {one.neuron_numbers[i]}" for i in shown], []
    for i in shown:
        through = "" if planes is None or not len(planes[i]) else f"; plane through {rows_text(planes[i])}"
        says.append(plane_text(context, i) + through)
    if others > 0:
        amounts.append(float(parts.sum() - parts[shown].sum()))
        names.append(f"{others} other{'s' if others > 1 else ''}")
        says.append("")
    table = zip(
        [*names, "intercept", "the output"],
        in_a_column([*amounts, float(one.intercept[c]), float(one.outputs[0, c])]),
        [*says, "", ""],
        strict=True,
    )
    return [f"Neurons: {count} of {total} are active at this row", *aligned(list(table), (1,))]


def _row_lines(one: "PredictionExplanation", c: int) -> list[str]:
    assert one.rows is not None
    assert one.row_weights is not None
    context, parts = one.context, one.rows[0, c]
    columns = largest(one.columns[0, c], len(one.column_names))
    lines, told = [_ROWS_HEAD], list[int]()
    for sign in (1.0, -1.0) if one.outputs[0, c] >= 0 else (-1.0, 1.0):
        shown = largest(np.where(np.sign(parts) == sign, parts, 0.0), _ROWS)
        told += shown
        for i, amount in zip(shown, in_a_column([float(parts[i]) for i in shown]), strict=True):
            known = "" if one.row_numbers is None else context.row_text(int(one.row_numbers[i]), columns)
            unlike = " (less alike)" if sign * one.row_weights[i, c] < 0 else ""
            text = f"  {amount}  {speaks_for(context, c, sign)}: {row_name(one.row_numbers, i)}{unlike}"
            lines.append(text + (f", which {known}" if known else ""))
    left = [float(parts.sum() - parts[told].sum()), float(one.intercept[c] + one.rest[0, c])]
    rest, constant, f = in_a_column([*left, float(one.outputs[0, c])])
    lines.append(f"  {rest}  {len(parts) - len(told)} other rows; {constant} the intercept; together {f}, the output")
    if one.neurons is not None and np.abs(parts).sum() > _CANCEL * np.abs(one.neurons[0, c]).sum():
        lines.append("  These are far larger than what the neurons give, and cancel: one alone says little here.")
    if not context.training:
        lines.append("  What is in these rows can be shown where the training rows are given.")
    return lines


def prediction_dict(one: "PredictionExplanation", top: int | None) -> list[dict[str, Any]]:
    """Return what is known of each row as plain values: numbers, texts, lists."""
    return [_dict_of_one(one[i], top) for i in range(len(one))]


def _dict_of_one(one: "PredictionExplanation", top: int | None) -> dict[str, Any]:
    outputs = []
    planes = None if one.neuron_numbers is None else spanning_rows(one.context.estimator, one.neuron_numbers)
    for c, name in enumerate(one.output_names):
        found: dict[str, Any] = {"speaks_for": name, "output": float(one.outputs[0, c]), "base": float(one.base[0, c])}
        found["columns"] = dict(zip(one.column_names, one.columns[0, c].tolist(), strict=True))
        found["slopes"] = dict(zip(one.encoded_names, one.slopes[0, c].tolist(), strict=True))
        found["intercept"] = float(one.intercept[c])
        if one.neurons is not None and one.neuron_numbers is not None:
            found["neurons"] = [
                {
                    "neuron": int(one.neuron_numbers[i]),
                    "contribution": float(one.neurons[0, c, i]),
                    "on": plane_text(one.context, i),
                }
                | ({} if planes is None else {"rows": planes[i].tolist()})
                for i in largest(one.neurons[0, c], top or one.neurons.shape[2])
            ]
        if one.rows is not None:
            found["rest"] = float(one.rest[0, c])
            found["rows"] = [
                {
                    "row": None if one.row_numbers is None else int(one.row_numbers[i]),
                    "contribution": float(one.rows[0, c, i]),
                }
                for i in largest(one.rows[0, c], top or one.rows.shape[2])
            ]
        outputs.append(found)
    told: dict[str, Any] = {"prediction": _plain(one.predictions[0])}
    if one.probabilities is not None:
        labels = [str(label) for label in one.context.estimator.classes_]
        told["probabilities"] = dict(zip(labels, one.probabilities[0].tolist(), strict=True))
    if one.intervals is not None:
        told["interval"] = one.intervals[0].tolist()
    told |= {
        "measured_from": one.context.measured_from,
        "values": dict(zip(one.column_names, one.values[0], strict=True)),
    }
    return told | {"outputs": outputs, "note": " ".join(column_notes(one.context))}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else cell(value) if value != value else value
