"""Explanations of predictions: contributions of columns, neurons and training rows to the output."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._records import TextShown
from clifford_rand_nn._words import printable_lines
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.explanation.context import Context, cell
from clifford_rand_nn.explanation.phrases import column_notes, draw_prediction, largest, plane_text
from clifford_rand_nn.explanation.preprocessing import named
from clifford_rand_nn.explanation.sums import (
    GatedSum,
    KernelSum,
    Numbers,
    kept_rows,
    likeness,
    row_weights,
    shares,
    spanning_rows,
)
from clifford_rand_nn.explanation.text import prediction_text

_MOST = 2**27  # numbers that an explanation may hold: 1 GB


@dataclass(frozen=True, eq=False, repr=False)
class PredictionExplanation(TextShown):
    r"""Predictions for m rows x, as sums of contributions to the outputs of the network.

    Outputs are those before calibration; every sum is exact to rounding:

    .. math:: f_c(x) = \mathrm{base}_c+\sum_t\mathrm{columns}_{ct}
                     = \mathrm{intercept}_c+\sum_i\mathrm{neurons}_{ci}
                     = \mathrm{intercept}_c+\mathrm{rest}_c+\sum_r\mathrm{rows}_{cr}.

    **Columns**: the linear function that holds at x, its slopes times the distance from a reference row, which is the
    mean of the training rows where that is known; base is what this function, not the network, says of that row.
    In a finite network it holds in the region of x, whose neurons are the active ones; with infinitely many gates it
    is the tangent at x. **Neurons**: what each one gives at x, 0 if it is not active. **Rows**:
    :math:`\alpha_r(K(x_r,x)-\bar K(x))` of a network with infinitely many gates: weights sum to zero beside an
    intercept, so that only a likeness K beyond that of an average row, :math:`\bar K`, tells. For a finite one, where
    the training rows are given, it is the same by its dual point (`likeness`). The rest is 0 but for biases that are
    not penalized, what training left open, and networks without an intercept.

    Printed it is words; ``explanation[i]`` is one row of it; ``to_dict`` is for machines, ``plot`` a picture.

    Attributes
    ----------
    outputs : (m, C)
    output_names : list of str
        The class or target of each output; with two classes, where C = 1, a negative one is for the first class.
    predictions : (m,) or (m, C)
    probabilities : (m, n_classes) or None
    column_names : list of str
        Of the table.
    values : list of m lists of str
        The entries of x in them.
    columns : (m, C, t)
    base : (m, C)
    slopes : (m, C, k)
        By the encoded columns, named ``encoded_names``, in units of an output over theirs.
    encoded_names : list of str
    intercept : (C,)
    neurons : (m, C, P) or None
        None for infinitely many gates.
    active : (m, P) bool or None
    neuron_numbers : (P,) int or None
        Places of the neurons in the lists of the estimator.
    rows : (m, C, n) or None
    row_weights : (n, C) or None
        Their dual weights: α, or θ/nβ of a finite network. A row that is less like x than an average one has the
        opposite sign.
    row_numbers : (n,) int or None
        Numbers of the training rows, counted from 0; None where the model does not know them.
    rest : (m, C)
    ranks : (m, t)
        The share of known rows whose entry is smaller; 0.5, which says nothing, for columns of few values.
    number_places : list of t int or None
        The encoded column that these are of; None where they say nothing.
    spread_out : (m,) or None
        The predictive variance, where calibration uses it.
    intervals : (m, 2) or None
        That hold nine of ten new values, where the model has them.
    shown : int or None
        The output that words and pictures are about; None for that of the predicted class, or the first; of several
        labels the most probable one.
    context : Context
    """

    outputs: Array
    output_names: list[str]
    predictions: NDArray[Any]
    probabilities: Array | None
    column_names: list[str]
    values: list[list[str]]
    columns: Array
    base: Array
    slopes: Array
    encoded_names: list[str]
    intercept: Array
    neurons: Array | None
    active: NDArray[np.bool_] | None
    neuron_numbers: Numbers | None
    rows: Array | None
    row_weights: Array | None
    row_numbers: Numbers | None
    rest: Array
    ranks: Array
    number_places: list[int | None]
    spread_out: Array | None
    intervals: Array | None
    shown: int | None
    context: Context = field(repr=False)

    def __len__(self) -> int:
        return len(self.outputs)

    def __getitem__(self, index: Any) -> "PredictionExplanation":
        """Return the explanation of one row, or of some."""
        if isinstance(index, int | np.integer):
            i = check_integer(int(index), "index", "PredictionExplanation", low=-len(self), high=len(self) - 1)
            part = slice(i, None if i == -1 else i + 1)
        else:
            part = index
        of_rows = ("outputs", "predictions", "columns", "base", "slopes", "rest", "ranks")
        of_some = ("probabilities", "neurons", "active", "rows", "spread_out", "intervals")
        taken = {name: getattr(self, name)[part] for name in of_rows}
        taken |= {name: value[part] for name in of_some if (value := getattr(self, name)) is not None}
        places = np.arange(len(self))[part]
        return replace(self, **taken, values=[self.values[i] for i in places])

    def output_of(self, i: int) -> int:
        """Return the output that the words on row i are about: the one asked for, or that of the predicted class."""
        if self.shown is not None:
            return self.shown
        if self.context.several_labels and self.probabilities is not None:
            return int(self.probabilities[i].argmax())
        classes = getattr(self.context.estimator, "classes_", None)
        if classes is None or len(self.output_names) == 1:
            return 0
        return int(np.flatnonzero(classes == self.predictions[i])[0])

    def __str__(self) -> str:
        return printable_lines(prediction_text(self))

    def to_dict(self, top: int | None = None) -> list[dict[str, Any]]:
        """Return what is known of each row as plain values; of rows of training and neurons the ``top`` largest."""
        return [_row_dict(self[i], top) for i in range(len(self))]

    def plot(self, ax: Any = None, *, top: int = 8) -> Any:
        """Draw the contributions of the columns to the output of one row as bars; return the Axes.

        Raises ArgumentError if there are several rows: take one of them, ``explanation[i]``.
        """
        if len(self) != 1:
            raise fail("explanation", "plot", "that of one row", describe(f"{len(self)} rows"), "Take explanation[i].")
        return draw_prediction(self, ax, top)


def explain_rows(context: Context, x: Any, output: int | None) -> PredictionExplanation:
    """Return the explanation of what a model says of rows x."""
    route, network, estimator = context.route, context.network, context.estimator
    rows, _ = route.rows(x)
    m, outputs = len(rows.seen), len(network.intercept)
    finite = isinstance(network, GatedSum)
    extra = len(context.rows.seen) if context.training and finite and context.rows is not None else 0
    width = outputs * (network.n_parts + extra + route.origin.size + rows.seen.shape[1])
    if m * width > _MOST:
        hint = f"Explain some {max(1, _MOST // width):,} at a time."
        raise fail("X", "explain", "fewer rows", describe(f"{m:,} rows, {m * width * 8 / 1e9:.1f} GB"), hint)
    encoded_reference, seen_reference = context.reference
    local = network.local(rows.seen, seen_reference)
    columns = route.back(local.secants) * (rows.encoded - encoded_reference)[:, None, :]
    neurons, row_parts, weights, numbers, rest = None, None, None, context.numbers, np.zeros((m, outputs))
    if isinstance(network, KernelSum):
        K, weights = network.likeness(rows.seen), network.network.alpha
        f = K @ weights + network.intercept
        row_parts, rest = shares(K, weights, 0.0)
    else:
        neurons = network.parts(rows.seen)
        f = neurons.sum(axis=2) + network.intercept
    if extra and context.rows is not None:
        numbers, weights = kept_rows(estimator), row_weights(estimator)
        K = likeness(estimator, context.rows.seen, rows.seen)
        row_parts, rest = shares(K, weights, f - network.intercept - K @ weights)
    below = context.shares_below(rows.encoded, rows.seen)
    places = [_number_place(below, route.origin == j) for j in range(len(route.names))]
    ranks = np.stack([np.full(m, 0.5) if k is None else below[:, k] for k in places], axis=1)
    entries = [[cell(v) for v in route.column(rows.table, j).tolist()] for j in range(len(route.names))]
    return PredictionExplanation(
        outputs=f,
        output_names=context.output_names,
        column_names=list(route.names),
        values=[list(row) for row in zip(*entries, strict=True)],
        columns=route.summed(columns),
        base=local.base,
        slopes=route.back(local.slopes),
        encoded_names=list(route.encoded_names),
        intercept=network.intercept,
        neurons=neurons,
        active=network.on(rows.seen) if isinstance(network, GatedSum) else None,
        neuron_numbers=network.numbers if isinstance(network, GatedSum) else None,
        rows=row_parts,
        row_weights=weights,
        row_numbers=numbers,
        rest=rest,
        ranks=ranks,
        number_places=places,
        shown=output,
        context=context,
        **_results(context, rows.seen),
    )


def _results(context: Context, seen: Array) -> dict[str, Any]:
    """Return the predictions of the estimator, and what goes with them."""
    estimator = context.estimator
    result: dict[str, Any] = dict.fromkeys(("probabilities", "spread_out", "intervals"))
    data = named(estimator, seen)
    result["predictions"] = np.asarray(estimator.predict(data))
    if hasattr(estimator, "predict_proba"):
        result["probabilities"] = np.asarray(estimator.predict_proba(data))
    if isinstance(estimator, BaseConvexNetwork):
        result["spread_out"] = estimator._variance_at(seen)
        if hasattr(estimator, "predict_interval") and len(context.network.intercept) == 1:
            ends = estimator.predict_interval(data)
            result["intervals"] = np.column_stack([np.ravel(end) for end in ends])
    return result


def _number_place(below: Array, own: NDArray[np.bool_]) -> int | None:
    """Return the encoded column of a table column that has many values, if there is one."""
    known = np.flatnonzero(own & ~np.isnan(below).all(axis=0))
    return int(known[0]) if len(known) == 1 else None


def _row_dict(row: PredictionExplanation, top: int | None) -> dict[str, Any]:
    outputs = []
    planes = None if row.neuron_numbers is None else spanning_rows(row.context.estimator, row.neuron_numbers)
    for c, name in enumerate(row.output_names):
        record: dict[str, Any] = {
            "contributes_towards": name,
            "output": float(row.outputs[0, c]),
            "base": float(row.base[0, c]),
        }
        record["columns"] = dict(zip(row.column_names, row.columns[0, c].tolist(), strict=True))
        record["slopes"] = dict(zip(row.encoded_names, row.slopes[0, c].tolist(), strict=True))
        record["intercept"] = float(row.intercept[c])
        if row.neurons is not None and row.neuron_numbers is not None:
            record["neurons"] = [
                {
                    "neuron": int(row.neuron_numbers[i]),
                    "contribution": float(row.neurons[0, c, i]),
                    "on": plane_text(row.context, i),
                }
                | ({} if planes is None else {"spanning_rows": planes[i].tolist()})
                for i in largest(row.neurons[0, c], top or row.neurons.shape[2])
            ]
        if row.rows is not None:
            record["rest"] = float(row.rest[0, c])
            some = largest(row.rows[0, c], top or row.rows.shape[2])
            numbers = [None if row.row_numbers is None else int(row.row_numbers[i]) for i in some]
            parts = row.rows[0, c, some].tolist()
            pairs = zip(numbers, parts, strict=True)
            record["training_rows"] = [{"row": number, "contribution": part} for number, part in pairs]
        outputs.append(record)
    result: dict[str, Any] = {"prediction": _plain(row.predictions[0])}
    if row.probabilities is not None:
        labels = [str(label) for label in row.context.estimator.classes_]
        result["probabilities"] = dict(zip(labels, row.probabilities[0].tolist(), strict=True))
    if row.intervals is not None:
        result["interval"] = row.intervals[0].tolist()
    result["measured_from"] = row.context.measured_from
    result["values"] = dict(zip(row.column_names, row.values[0], strict=True))
    return result | {"outputs": outputs, "note": " ".join(column_notes(row.context))}


def _plain(value: Any) -> Any:
    return value.tolist() if isinstance(value, np.ndarray | np.generic) else cell(value) if value != value else value
