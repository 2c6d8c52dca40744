"""The explanation of a whole model in plain words, and as plain values."""

from typing import TYPE_CHECKING, Any

import numpy as np

from clifford_rand_nn.explanation.permutation import error_measure
from clifford_rand_nn.explanation.sums import GatedSum
from clifford_rand_nn.explanation.words import (
    aligned,
    column_notes,
    in_a_column,
    largest,
    row_name,
    rows_text,
    signed,
    speaks_for,
)

if TYPE_CHECKING:
    from clifford_rand_nn.explanation.model_summary import ModelExplanation

_COLUMNS, _NEURONS, _ROWS, _WEIGHTS = 12, 8, 8, 5  # that are written


def model_text(whole: "ModelExplanation") -> str:
    """Return it in words."""
    parts = [_headline(whole), _column_lines(whole)]
    if whole.directions:
        parts.append(_direction_lines(whole))
    if whole.neurons is not None:
        parts.append(_neuron_lines(whole))
    if whole.rows is not None:
        parts.append(_row_lines(whole))
    return "\n\n".join("\n".join(lines) for lines in parts if lines)


def _headline(whole: "ModelExplanation") -> list[str]:
    context = whole.context
    name, network, outputs = type(context.estimator).__name__, context.network, len(context.output_names)
    classes = getattr(context.estimator, "classes_", None)
    if context.several_labels:
        about = f"{outputs} labels, an output for each"
    elif classes is None:
        about = "one number" if outputs == 1 else f"{outputs} numbers"
    elif outputs == 1:
        about = f"{str(classes[0])!r} (output below 0) or {str(classes[1])!r} (above)"
    else:
        about = f"{outputs} classes, an output for each"
    if isinstance(network, GatedSum):
        return [f"{name}: {network.n_parts} neurons for {about}"]
    return [f"{name}: infinitely many gates, by {network.n_parts} rows of training, for {about}"]


def _column_lines(whole: "ModelExplanation") -> list[str]:
    context = whole.context
    shown = [one for one in whole.columns[:_COLUMNS] if one.gradient or one.permuted]
    told = bool(shown) and shown[0].permuted is not None
    where = "rows of training" if context.training else "rows that were given"
    lines = [f"Columns that matter, of {len(whole.columns)}"]
    measure = error_measure(context.route.last)
    moves, more = ("rises", "added") if measure == "log loss" else ("falls", "lost")
    heads = ["", "share of the slopes", *([f"{measure} {more} if permuted"] if told else [])]
    table = [tuple(heads)]
    for one in shown:
        extra = () if one.permuted is None else (f"{one.permuted:.3f} ± {one.permuted_error:.3f}",)
        table.append((one.name, f"{100 * one.share:.1f} %", *extra))
    lines += aligned(table, (1, 2))
    over = where if context.rows is not None else "rows that the network is made of"
    if context.rows is None and isinstance(context.network, GatedSum):
        lines.append(f"  Slopes are those at {context.measured_from} alone; give rows for their mean over these.")
    else:
        lines.append(f"  Slopes: how far the output moves if a column moves by its deviation, mean over the {over}.")
    if told:
        says = f"how much the {measure} {moves} on {where} if the entries of a column change places"
        lines.append(f"  Permuted: {says}.")
    elif context.rows is None or context.targets is None:
        lines.append("  What the predictions lose without a column can be told where rows and targets are given.")
    lines.append("  Of columns that say the same, each can stand for the others: neither number tells them apart.")
    return [*lines, *(f"  {note}" for note in column_notes(context))]


def _direction_lines(whole: "ModelExplanation") -> list[str]:
    assert whole.directions is not None
    names = getattr(whole.context.estimator, "feature_names_in_", None)
    route = whole.context.route
    if route.matrix is None:
        names = route.encoded_names
    elif names is None:
        names = [f"component {j}" for j in range(len(whole.directions[0].weights))]
    lines = ["Combinations of columns, each in its deviations, that the gates learned to turn on"]
    for one in whole.directions:
        terms = [f"{signed(float(one.weights[k]))} {names[k]}" for k in largest(one.weights, _WEIGHTS)]
        lines.append(f"  {100 * one.share:.0f} % of the squared slope along {', '.join(terms)}")
    return lines


def _neuron_lines(whole: "ModelExplanation") -> list[str]:
    assert whole.neurons is not None
    known = whole.context.rows is not None
    lines = [f"Neurons, those that give most first{'' if known else ' (by the norm of their weights)'}"]
    shown = whole.neurons[:_NEURONS]
    for one, size in zip(shown, in_a_column([one.size for one in shown]), strict=True):
        text = f"  neuron {one.number}: "
        if one.region is not None and one.variance is not None:
            text += f"active in {100 * one.region:.0f} % of the rows, gives {size[1:]} on average, "
            text += f"{100 * one.variance:.0f} % of the variance; "
        text += one.plane
        if one.rows:
            text += f"; plane through {rows_text(one.rows)}"
        lines.append(text)
    if len(whole.neurons) > len(shown):
        lines.append(f"  and {len(whole.neurons) - len(shown)} more")
    if not known:
        lines.append("  Regions and shares of the output can be told where rows are given.")
    return lines


def _row_lines(whole: "ModelExplanation") -> list[str]:
    assert whole.rows is not None
    context = whole.context
    columns = [context.route.names.index(one.name) for one in whole.columns]
    numbers = None if whole.rows[0].number is None else {one.place: one.number for one in whole.rows}
    lines = ["Rows of training of the largest influence: those that the network fits least by itself weigh most"]
    for one in whole.rows[:_ROWS]:
        c = int(np.abs(one.weights).argmax())
        text = f"  {row_name(numbers, one.place)}: {100 * one.share:.2g} % of all, "
        text += (
            f"speaks {speaks_for(context, c, float(one.weights[c]))}"
            if hasattr(context.estimator, "classes_")
            else f"{speaks_for(context, c, float(one.weights[c]))} predictions of rows like it"
        )
        known = "" if one.number is None else context.row_text(one.number, columns)
        lines.append(text + (f"; {known}" if known else ""))
    if not context.training:
        lines.append("  What is in these rows can be shown where the training rows are given.")
    return lines


def model_dict(whole: "ModelExplanation", top: int | None) -> dict[str, Any]:
    """Return everything as plain values."""
    context = whole.context
    found: dict[str, Any] = {"model": type(context.estimator).__name__, "outputs": context.output_names}
    found["columns"] = [one._asdict() for one in whole.columns]
    found["permuted_measure"] = error_measure(context.route.last)
    if whole.neurons is not None:
        names = context.route.encoded_names
        found["neurons"] = [
            one._asdict() | {"direction": dict(zip(names, one.direction.tolist(), strict=True))}
            for one in whole.neurons[:top]
        ]
    if whole.rows is not None:
        found["rows"] = [
            {"row": one.number, "share": one.share, "weights": one.weights.tolist()} for one in whole.rows[:top]
        ]
    if whole.directions is not None:
        found["directions"] = [{"share": one.share, "weights": one.weights.tolist()} for one in whole.directions]
    return found | {"note": " ".join(column_notes(context))}
