"""`explain`, and what it returns of a whole model: neurons with planes or rows with weights, and columns."""

from dataclasses import dataclass, field
from typing import Any, NamedTuple, overload

import numpy as np

from clifford_rand._checks import check_integer, describe, fail
from clifford_rand._typing import Array
from clifford_rand_nn._records import TextShown, as_table, short_repr
from clifford_rand_nn._words import printable_lines
from clifford_rand_nn.estimators.network_base import BaseConvexNetwork
from clifford_rand_nn.estimators.task import drawn_state
from clifford_rand_nn.explanation.context import ColumnImportance, Context, error_measure, importances
from clifford_rand_nn.explanation.phrases import column_notes, draw_columns, plane_text
from clifford_rand_nn.explanation.prediction import PredictionExplanation, explain_rows
from clifford_rand_nn.explanation.sums import (
    GatedSum,
    KernelSum,
    evenly,
    in_blocks,
    kept_rows,
    likeness,
    row_weights,
    spanning_rows,
)
from clifford_rand_nn.explanation.text import model_text

_AT = 1000  # rows, at most, that shares are taken over
_DIRECTIONS = 3


@short_repr
class Neuron(NamedTuple):
    r"""A neuron of a finite network, active where :math:`h\cdot x+c\ge0`."""

    number: int  # its place in the lists of the estimator
    plane: str  # where it is active, in units of the columns, the largest weights by name
    direction: Array  # h (k,), for the encoded columns
    offset: float  # c
    rows: list[int] | None  # training rows that span the plane; None where they are not known, or none do
    region: float | None  # share of the rows that were given in which it is active
    variance: float | None  # its covariance with the output over the variance of that; these shares add up to 1
    size: float  # its mean contribution by size over the rows that were given; without these the norm of its weights


@short_repr
class InfluentialRow(NamedTuple):
    """A training row by its influence: its mean share by size in the outputs of rows."""

    number: int | None  # None where the model does not know it
    place: int  # among the rows of the network
    share: float  # of the sum over all rows
    weights: Array  # (C,), α of infinitely many gates, or θ/nβ: positive ones contribute towards an output


@short_repr
class Direction(NamedTuple):
    """A combination of columns along which a network with learned gates changes."""

    share: float  # of the squared slope of the network
    weights: Array  # (d,), of the standardized columns, of length 1


@dataclass(frozen=True, eq=False, repr=False)
class ModelExplanation(TextShown):
    r"""The parts of a fitted model, over all rows.

    **Neurons** of a finite network: planes, the training rows that span them, regions and shares of the output. What
    plays their part with infinitely many gates are the **rows** of training with their dual weights, and the metric M
    of learned gates, whose entries say which columns matter and whose eigenvectors which combinations.

    **Columns**, by two measures. The gradient: how much the output moves, on average over rows, if a column moves by
    its deviation and the others stay; it is exact, local, and says nothing of what a column is good for, nor of the
    steps of gated networks at their planes. The permutation:
    how much worse the predictions of the rows that were given are if the entries of a column change places (all
    encoded columns of a table column together); it says what the model loses without it, on rows of training what it
    has learned, on new ones what serves. Of correlated columns neither tells: permuting one costs little where
    the other is left, and rows are made that cannot be, while slopes are shared between them as the training pleased.

    Attributes
    ----------
    columns : list of ColumnImportance
        The most important first: by permutation where targets were given, else by gradient.
    neurons : list of Neuron or None
        Those of the largest contribution first.
    rows : list of InfluentialRow or None
        Those of the largest influence first; of a finite network where the training rows were given.
    directions : list of Direction or None
        Eigenvectors of M, where gates were learned.
    context : Context
    """

    columns: list[ColumnImportance]
    neurons: list[Neuron] | None
    rows: list[InfluentialRow] | None
    directions: list[Direction] | None
    context: Context = field(repr=False)

    def __str__(self) -> str:
        return printable_lines(model_text(self))

    def to_dict(self, top: int | None = None) -> dict[str, Any]:
        """Return everything as plain values; of rows and neurons the ``top`` largest."""
        context = self.context
        record: dict[str, Any] = {"estimator": type(context.estimator).__name__, "outputs": context.output_names}
        record["columns"] = [item._asdict() for item in self.columns]
        record["permuted_measure"] = error_measure(context.route.last)
        if self.neurons is not None:
            names = context.route.encoded_names
            record["neurons"] = [
                item._asdict() | {"direction": dict(zip(names, item.direction.tolist(), strict=True))}
                for item in self.neurons[:top]
            ]
        if self.rows is not None:
            record["training_rows"] = [
                {"row": item.number, "share": item.share, "weights": item.weights.tolist()} for item in self.rows[:top]
            ]
        if self.directions is not None:
            record["directions"] = [{"share": item.share, "weights": item.weights.tolist()} for item in self.directions]
        return record | {"note": " ".join(column_notes(context))}

    def plot(self, ax: Any = None, *, top: int = 12) -> Any:
        """Draw the importance of columns as bars; return the Axes."""
        return draw_columns(self, ax, top)


def explain_model(context: Context, repeats: int, random_state: Any) -> ModelExplanation:
    """Return what a model is made of."""
    parts = importances(context, repeats, random_state), _neurons(context), _rows(context), _directions(context)
    columns, neurons, rows, directions = map(as_table, parts)
    return ModelExplanation(columns, neurons, rows, directions, context)


def _points(context: Context) -> Array | None:
    """Return the rows that shares are taken over, as the network sees them: some of those that were given."""
    return None if context.rows is None else context.rows.seen[evenly(len(context.rows.seen), _AT)]


def _neurons(context: Context) -> list[Neuron] | None:
    network = context.network
    if not isinstance(network, GatedSum):
        return None
    X, P = _points(context), network.n_parts
    region: Any = [None] * P
    variance: Any = [None] * P
    if X is None:
        size = np.sqrt((network.coef**2).sum(axis=(0, 2)))
    else:
        region = network.on(X).mean(axis=0)
        size, covariance, total = np.zeros(P), np.zeros(P), 0.0
        blocks = in_blocks(len(X), len(network.intercept) * P)
        mean = sum(network.parts(X[part]).sum(axis=0) for part in blocks) / len(X)
        for part in blocks:
            parts = network.parts(X[part])
            size += np.sqrt((parts**2).sum(axis=1)).sum(axis=0) / len(X)
            off = parts - mean
            f = off.sum(axis=2)
            covariance += np.einsum("mcp,mc->p", off, f)
            total += float((f**2).sum())
        variance = covariance / total if total > 0 else np.zeros(P)
    planes = spanning_rows(context.estimator, network.numbers)
    reference = context.reference
    neurons = []
    for i in range(P):
        direction = context.route.back(network.directions[:, i])
        offset = float(network.offsets[i] + network.directions[:, i] @ reference[1] - direction @ reference[0])
        rows = None if planes is None or not len(planes[i]) else planes[i].tolist()
        neurons.append(
            Neuron(
                number=int(network.numbers[i]),
                plane=plane_text(context, i),
                direction=direction,
                offset=offset,
                rows=rows,
                region=None if X is None else float(region[i]),
                variance=None if X is None else float(variance[i]),
                size=float(size[i]),
            )
        )
    return sorted(neurons, key=lambda neuron: -neuron.size)


def _rows(context: Context) -> list[InfluentialRow] | None:
    network, X = context.network, _points(context)
    if isinstance(network, KernelSum):
        points = network.own_rows(_AT) if X is None else X
        weights, numbers = network.network.alpha, context.numbers
        tiles = (network.likeness(points[part]) for part in in_blocks(len(points), network.n_parts))
    elif X is not None and context.rows is not None and context.training:
        points, training = X, context.rows.seen
        weights, numbers = row_weights(context.estimator), kept_rows(context.estimator)
        tiles = (likeness(context.estimator, training, X[part]) for part in in_blocks(len(X), len(training)))
    else:
        return None
    alike = np.zeros(len(weights))
    for K in tiles:
        alike += np.abs(K - K.mean(axis=1, keepdims=True)).sum(axis=0)
    influence = alike * np.linalg.norm(weights, axis=1)
    share = influence / (influence.sum() or 1.0)
    return [
        InfluentialRow(None if numbers is None else int(numbers[i]), int(i), float(share[i]), weights[i])
        for i in np.argsort(-share, kind="stable")
    ]


def _directions(context: Context) -> list[Direction] | None:
    """Return the eigenvectors of the metric of learned gates with the largest eigenvalues."""
    metric = getattr(context.estimator, "metric_", None)
    if not isinstance(context.estimator, BaseConvexNetwork) or metric is None:
        return None
    if len(metric) != context.estimator.n_features_in_:  # of coordinates in the span of the rows
        return None
    values, vectors = np.linalg.eigh(metric)
    total = float(values.sum()) or 1.0
    directions = []
    for i in range(1, min(_DIRECTIONS, len(values)) + 1):
        vector = vectors[:, -i]
        vector = vector * np.sign(vector[np.abs(vector).argmax()])
        directions.append(Direction(float(values[-i]) / total, vector))
    return directions


@overload
def explain(
    estimator: Any,
    X: None = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    n_repeats: int = 5,
    random_state: Any = 0,
) -> ModelExplanation: ...
@overload
def explain(
    estimator: Any, X: Any, *, X_train: Any = None, y_train: Any = None, output: int | None = None
) -> PredictionExplanation: ...
def explain(
    estimator: Any,
    X: Any = None,
    *,
    X_train: Any = None,
    y_train: Any = None,
    output: int | None = None,
    n_repeats: int = 5,
    random_state: Any = 0,
) -> ModelExplanation | PredictionExplanation:
    r"""Explain a fitted model: without X its parts and the importance of columns, with X its predictions of rows.

    Print what is returned; ``plot`` draws it, ``to_dict`` has it as plain values.

    Parameters
    ----------
    estimator : estimator of this library, `BetaCV`, or Pipeline that ends with one
        Fitted. Of a pipeline it is the columns of the table that are explained, as far as its steps can be followed:
        encoders that make each column of one, such as `TableEncoder`, OneHotEncoder and scalers, in a
        ColumnTransformer or alone, and linear maps after them, such as PCA; otherwise the columns that the network
        sees, and the text says so.
    X : rows as the model takes them, or one row: an array (d,), a Series or a dict
    X_train : table, optional
        The training rows, so that those of large contributions are shown, with planes and regions and, for finite
        networks, with contributions of rows; or other rows, on which the importance of columns is measured. Training
        rows are recognized by their number and, with infinitely many gates, by the rows in the network.
    y_train : (n,) array, optional
        Of ``X_train``: for permutation importance, and to be shown with them.
    output : int, optional
        Which output words and pictures are about; by default that of the predicted class, or the first. The arrays
        have all of them.
    n_repeats : int, default 5
        Permutations of every column, of up to 500 rows; 0 for none.
    random_state : int, default 0
        Of the permutations.

    Returns
    -------
    ModelExplanation, or with X PredictionExplanation

    Raises
    ------
    ArgumentError
        The model is of another kind, there is no such output, targets do not fit the rows, or rows are none that the
        model takes.

    Examples
    --------
    >>> import numpy as np
    >>> from clifford_rand_nn import ConvexNetworkRegressor, explain
    >>> X = np.random.default_rng(0).uniform(-1, 1, (60, 2))
    >>> model = ConvexNetworkRegressor().fit(X, np.abs(X[:, 0]))
    >>> one = explain(model, X[0], X_train=X)
    >>> bool(abs(one.base + one.columns.sum(axis=2) - one.outputs).max() < 1e-12)
    True
    >>> [column.name for column in explain(model).columns]
    ['x0', 'x1']
    """
    n_repeats = check_integer(n_repeats, "n_repeats", "explain", low=0)
    drawn_state(random_state, "explain")
    context = Context.of(estimator, X_train, y_train, X)
    if output is not None:
        output = check_integer(output, "output", "explain", low=0, high=len(context.network.intercept) - 1)
        if X is None:
            raise fail("output", "explain", "given with X", describe("no X"))
    if X is None:
        return explain_model(context, n_repeats, random_state)
    return explain_rows(context, X, output)
